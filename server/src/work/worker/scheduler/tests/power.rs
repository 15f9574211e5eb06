//! The power fails between the end of a batch and its being synced.

use super::*;

/// Copies a folder as a power failure would leave it: all of it, but the log of the store only up to its last sync.
fn after_a_loss_of_power(folder: &Path, log: &[u8]) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) {
        std::fs::create_dir_all(to).unwrap();
        for entry in std::fs::read_dir(from).unwrap() {
            let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
            match path.is_dir() {
                true => copy(&path, &to),
                false => assert!(std::fs::copy(&path, to).is_ok()),
            }
        }
    }
    let after = tempfile::tempdir().unwrap();
    copy(folder, after.path());
    std::fs::remove_file(after.path().join("tasks.sqlite-shm")).unwrap();
    std::fs::write(after.path().join("tasks.sqlite-wal"), log).unwrap();
    after
}

#[test]
fn an_end_that_was_shown_before_it_was_synced_comes_back_after_a_loss_of_power() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1), document(2)]);
    server.run();
    let deletion = server.enqueue("films", Content::DeleteIds { ids: vec!["1".into()], mark: None });
    let failure = server.add("films", &[json!({"title": "without an id"})]);
    let log = std::fs::read(folder.path().join("tasks.sqlite-wal")).unwrap();
    let (mut worker, live, tasks) = begun(&server);
    let done = worker.carry_out(&live, &tasks).unwrap();
    assert!(worker.is_remembered(&live, &done));
    assert_eq!(worker.conclude(&live, &tasks, done), Some(Stage::Ended));
    // Seen, and left to be synced.
    let shown = server.task(deletion);
    assert_eq!((&shown["status"], server.code(failure)), (&json!("succeeded"), json!("missing_document_id")));

    let after = after_a_loss_of_power(folder.path(), &log);
    let again = Server::open(after.path());
    assert_eq!(again.task(deletion)["status"], "enqueued");
    assert_eq!(again.run(), [[0u32; 0]; 0], "nothing is left to do");
    let task = again.task(deletion);
    for same in ["status", "batchUid", "details", "enqueuedAt", "startedAt"] {
        assert_eq!(task[same], shown[same], "{same}");
    }
    assert_eq!(again.code(failure), "missing_document_id");
    assert_eq!(again.document_count("films"), 1);

    // Synced: what the log holds by then is enough.
    worker.make_durable(&live);
    let log = std::fs::read(folder.path().join("tasks.sqlite-wal")).unwrap();
    let after = after_a_loss_of_power(folder.path(), &log);
    assert_eq!(Server::open(after.path()).task(deletion), shown);
}

#[test]
fn what_leads_to_an_index_is_not_remembered_by_its_commit() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    let rename = Content::UpdateIndex { primary_key: None, new_uid: Some("books".into()) };
    // The second one fails: no commit holds that.
    let create = || Content::CreateIndex { primary_key: None };
    for (uid, content) in [("films", create()), ("films", create()), ("films", rename), ("books", Content::DeleteIndex)]
    {
        let task = server.enqueue(uid, content);
        let (mut worker, live, tasks) = begun(&server);
        let done = worker.carry_out(&live, &tasks).unwrap();
        assert!(!worker.is_remembered(&live, &done), "task {task}");
        assert_eq!(worker.conclude(&live, &tasks, done), Some(Stage::Ended));
    }
}
