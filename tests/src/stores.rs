//! Groups whose store loses or damages objects, and servers that come back with another history.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use crate::replication::{Group, KEY, after, film};
use crate::server::{Server, binary, until};

/// The numbers of the segment files of all indexes, by the folders that there are.
fn segments(server: &Server) -> (usize, BTreeSet<u64>) {
    let folders: Vec<PathBuf> =
        std::fs::read_dir(server.data_folder().join("indexes")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let files = folders.iter().flat_map(|folder| std::fs::read_dir(folder).unwrap().flatten());
    let segments = files.filter(|file| file.file_name().to_str().unwrap().starts_with("seg-"));
    (folders.len(), segments.filter_map(|file| Some(file.metadata().ok()?.ino())).collect())
}

/// The writer follows the other history, with the files that both have.
#[test]
fn a_writer_that_was_overtaken_keeps_what_is_common() {
    let group = Group::new();
    let (mut first, mut second) = (group.writer(), group.replica());
    let task = first.add("films", Value::Array((0..500).map(|id| film(id, "Alien")).collect()));
    first.add("others", json!([film(1, "Emma")]));
    after(&second, &task, "/indexes");
    assert!(first.terminate().success());
    // Commits that are in no store.
    let mut first = first.with_other_options(&["--master-key", KEY]);
    first.add("films", json!([film(1000, "Unseen")]));
    first.add("drafts", json!([film(1, "Unseen")]));
    assert!(first.terminate().success());
    assert!(second.terminate().success());
    let second = second.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    let task = second.add("films", json!([film(501, "Brazil")]));
    let (_, before) = segments(&first);
    let mut first = first.with_other_options(&["--master-key", KEY, "--follow", &group.address()]);
    assert_eq!(after(&first, &task, "/indexes/films/search?q=brazil")["hits"][0]["id"], 501);
    assert_eq!(first.document_count("films"), 501);
    assert_eq!(first.get("/indexes/films/documents").ok(), second.get("/indexes/films/documents").ok());
    first.get("/indexes/drafts").refused(404, "index_not_found");
    // The folder of before goes, and that of the index which no other server has.
    until(|| segments(&first).0 == 2);
    let (_, now) = segments(&first);
    assert!(now.intersection(&before).count() > 0, "{now:?} {before:?}");
    assert!(first.terminate().success());
    first.start_again();
    assert_eq!(first.document_count("films"), 501);
    assert!(!first.data_folder().join("quarantine").exists(), "{}", first.log());
}

/// A writer that starts again puts what is missing, whatever it was.
#[test]
fn a_writer_publishes_again_what_its_store_has_lost() {
    let group = Group::new();
    let mut writer = group.writer();
    writer.add("films", json!([film(1, "Alien")]));
    writer.done(&writer.put("/aliases/movies", json!({"indexUid": "films"})));
    assert!(writer.terminate().success());
    for object in group.objects("i/") {
        std::fs::remove_file(object).unwrap();
    }
    // The manifest that the newest root names is another one than that of its next publication.
    let mut writer = writer.with_other_options(&["--master-key", KEY]);
    let task = writer.add("films", json!([film(2, "Brazil")]));
    assert!(writer.terminate().success());
    let writer = writer.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    let replica = group.replica();
    assert_eq!(after(&replica, &task, "/indexes/movies/search?q=brazil")["hits"][0]["id"], 2);
    assert_eq!(replica.document_count("films"), 2);
    drop(writer);
}

/// In the store and on replicas it is a manifest, as it is on the writer.
#[test]
fn a_clone_is_not_sent_again() {
    let group = Group::new();
    let (mut writer, replica) = (group.writer(), group.replica());
    writer.add("films", Value::Array((0..500).map(|id| film(id, "Alien")).collect()));
    let task = writer.done(&writer.post("/indexes/films/compact", Value::Null));
    after(&replica, &task, "/indexes");
    let segments_in_store = || {
        let objects = group.objects("i/").into_iter();
        objects.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("seg-")).collect::<BTreeSet<_>>()
    };
    let (before, (_, numbers)) = (segments_in_store(), segments(&replica));
    let task = writer.done(&writer.post("/indexes/films/clone", json!({"uid": "copy"})));
    assert_eq!(after(&replica, &task, "/indexes/copy/search?q=alien&limit=0")["estimatedTotalHits"], 500);
    assert_eq!(segments_in_store(), before);
    assert!(segments(&replica).1.is_subset(&numbers));
    // What both have stays while one of them has it, also for another writer.
    let task = writer.done(&writer.delete("/indexes/films"));
    after(&replica, &task, "/indexes/copy");
    assert!(writer.terminate().success());
    let mut replica = replica;
    assert!(replica.terminate().success());
    let writer = replica.with_other_options(&["--master-key", KEY, "--publish", &group.address()]);
    let task = writer.add("copy", json!([film(501, "Brazil")]));
    let other = group.replica();
    assert_eq!(after(&other, &task, "/indexes/copy/search?q=brazil")["hits"][0]["id"], 501);
    assert_eq!(other.document_count("copy"), 501);
    assert!(segments_in_store().is_superset(&before));
}

/// A store that is not there any more, or was put back, is no reason to take over, nor to be level.
#[test]
fn a_store_that_goes_back_is_named_and_taken_over_by_none() {
    let group = Group::new();
    let writer_options = ["--master-key", KEY, "--publish", &group.address(), "--takeover-after", "1s"];
    let writer = Server::with_options(&writer_options).with_key(KEY);
    let options = ["--master-key", KEY, "--follow", &group.address(), "--standby", "--takeover-after", "1s"];
    let standby = Server::with_options(&options).with_key(KEY);
    let task = writer.add("films", json!([film(1, "Alien")]));
    after(&standby, &task, "/indexes");
    let (store, aside) = (group.folder.path().join("store"), group.folder.path().join("aside"));
    std::fs::rename(&store, &aside).unwrap();
    // As where a file system is no longer mounted.
    std::fs::create_dir(&store).unwrap();
    standby.wait_for_log("to which this server has followed");
    // Nothing must happen, for longer than it takes to notice that the writer is silent.
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(std::fs::read_dir(&store).unwrap().count(), 0, "neither of them makes another store");
    assert_eq!(standby.document_count("films"), 1);
    assert_eq!(standby.get("/replicas").status, 200);
    assert!(!standby.log().contains("takes over"), "{}", standby.log());
}

/// Checks that files in a store that are no objects are named: files of interrupted uploads, and pipes.
#[test]
fn files_that_are_no_objects_are_named() {
    let group = Group::new();
    let mut writer = group.writer();
    let task = writer.add("films", json!([film(1, "Alien")]));
    let replica = group.replica();
    after(&replica, &task, "/indexes");
    assert!(writer.terminate().success());
    let store = group.folder.path().join("store");
    for (name, age) in [("unfinished-old", 25), ("unfinished-new", 1)] {
        let file = std::fs::File::create(store.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_secs(age * 3600)).unwrap();
    }
    let lamina = |arguments: &[&str]| {
        let output = std::process::Command::new(binary()).arg("store").args(arguments).arg(group.address()).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(lamina(&["ls"]).contains("2 unfinished files (unfinished-…, 0 B), 1 of them left"), "{}", lamina(&["ls"]));
    assert!(lamina(&["gc"]).contains("unfinished-old\n"));
    assert!(store.join("unfinished-old").exists());
    lamina(&["gc", "--apply"]);
    assert!(!store.join("unfinished-old").exists());
    assert!(store.join("unfinished-new").exists());
    // A writer removes them as well.
    let file = std::fs::File::create(store.join("unfinished-old")).unwrap();
    file.set_modified(std::time::SystemTime::now() - Duration::from_secs(25 * 3600)).unwrap();
    writer.start_again();
    until(|| !store.join("unfinished-old").exists());
    // No process writes into the pipe: it is named, and nothing waits for it.
    let pipe = store.join("root/00000000000000900000");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    replica.wait_for_log("this is a pipe, and no file");
    std::fs::remove_file(&pipe).unwrap();
    let task = writer.add("films", json!([film(2, "Brazil")]));
    assert_eq!(after(&replica, &task, "/indexes/films/stats")["numberOfDocuments"], 2);
}
