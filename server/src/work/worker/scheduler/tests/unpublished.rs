//! What only one server can carry out ends when it is published, where others may take over.

use std::collections::BTreeSet;

use lamina_data::tasks::store::Store;
use lamina_data::tasks::task::Task;
use lamina_data::tasks::{Acceptance, StoreError};
use parking_lot::Mutex;

use super::*;

/// Tasks are published when a test says so.
#[derive(Debug, Default)]
struct Group {
    covered: Mutex<BTreeSet<u32>>,
}

impl Acceptance for Group {
    fn accept(&self, new: NewTask, store: &Store) -> Result<Task, StoreError> {
        store.enqueue(new)
    }

    fn covers(&self, task: u32) -> bool {
        self.covered.lock().contains(&task)
    }
}

impl Group {
    fn publish(&self, task: u32) {
        self.covered.lock().insert(task);
    }

    /// A server of the group, after some batches; the state before the last one, and a restore of it that waits.
    fn restoring(self: &Arc<Group>, folder: &Path) -> (Server, u32) {
        let server = self.open(folder);
        server.add("films", &[document(1)]);
        server.run();
        let before = server.instance.snapshot("films").unwrap().contents();
        server.add("films", &[document(2)]);
        server.run();
        let restore = server.enqueue("films", Content::RestoreIndex { at: before.into() });
        (server, restore)
    }

    fn open(self: &Arc<Group>, folder: &Path) -> Server {
        let server = Server::open(folder);
        server.queue.accept_at(Arc::clone(self) as Arc<dyn Acceptance>);
        server
    }
}

/// Carries out what can be.
fn go_on(worker: &mut Worker) {
    worker.tend();
    while let Some(plan) = worker.plan().unwrap() {
        worker.process(plan);
        worker.tend();
    }
}

impl Server {
    fn status(&self, uid: u32) -> String {
        self.task(uid)["status"].as_str().unwrap().to_owned()
    }

    fn begin(&self) -> Worker {
        let mut worker = self.worker();
        worker.recover().unwrap();
        worker
    }
}

#[test]
fn a_restore_ends_when_it_is_published_and_what_rests_on_it_comes_after() {
    let (folder, group) = (tempfile::tempdir().unwrap(), Arc::new(Group::default()));
    let (server, restore) = group.restoring(folder.path());
    let later = server.add("films", &[document(3)]);
    let swaps = vec![Swap { indexes: ["films".to_owned(), "books".to_owned()], rename: true }];
    let swap = server.queue.enqueue_now(NewTask::global(Content::SwapIndexes { swaps })).unwrap().uid;
    let other = server.add("plays", &[document(1)]);
    let stages = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&stages);
    let mut worker = server.begin();
    server.queue.on_stage(move |batch, stage| seen.lock().push((batch, stage)));
    let cancel = |tasks: &[u32]| Content::CancelTasks { filter: String::new(), tasks: tasks.iter().copied().collect() };
    go_on(&mut worker);
    // These come before others.
    let compaction = server.enqueue("films", Content::CompactIndex);
    let cancelation = server.queue.enqueue_now(NewTask::global(cancel(&[restore]))).unwrap().uid;
    let canceled = server.add("films", &[document(4)]);
    let passing = server.queue.enqueue_now(NewTask::global(cancel(&[canceled]))).unwrap().uid;
    go_on(&mut worker);
    assert_eq!(server.document_count("films"), 1, "it is carried out");
    let statuses = |tasks: &[u32]| tasks.iter().map(|uid| server.status(*uid)).collect::<Vec<_>>();
    assert_eq!(
        statuses(&[restore, later, compaction, swap, cancelation]),
        ["processing", "enqueued", "enqueued", "enqueued", "enqueued"]
    );
    assert_eq!(statuses(&[other, canceled, passing]), ["succeeded", "canceled", "succeeded"]);
    assert_eq!(stages.lock().first(), Some(&(2, Stage::Unpublished)));
    assert_eq!(server.queue.background()[0].steps.open()[0].name, "publishing");
    let moment = server.queue.store().moment().unwrap();
    assert!(!moment.waiting.contains(restore), "a root covers what is carried out");
    assert!(moment.waiting.contains(later), "a root covers what is carried out");

    group.publish(restore);
    go_on(&mut worker);
    assert_eq!(statuses(&[restore, later, compaction, swap, cancelation]), ["succeeded"; 5]);
    assert_eq!(server.task(cancelation)["details"]["canceledTasks"], 0);
    assert_eq!(server.document_count("books"), 2);
    let batch = |uid: u32| server.task(uid)["batchUid"].as_u64().unwrap() as u32;
    let ends: Vec<u32> =
        stages.lock().iter().filter(|(_, stage)| *stage == Stage::Ended).map(|(batch, _)| *batch).collect();
    let place = |uid: u32| ends.iter().position(|ended| *ended == batch(uid)).unwrap();
    assert!(place(restore) < place(later));
    assert!(worker.background.unpublished.is_empty());
    assert!(server.queue.background().is_empty());
}

#[test]
fn a_restore_that_failed_or_that_nothing_takes_over_from_ends_at_once() {
    let (folder, group) = (tempfile::tempdir().unwrap(), Arc::new(Group::default()));
    let server = Server::open(folder.path());
    server.add("films", &[document(1)]);
    server.run();
    let restore = |at: u64| server.enqueue("films", Content::RestoreIndex { at: at.into() });
    let alone = restore(server.instance.snapshot("films").unwrap().contents());
    server.run();
    server.queue.accept_at(Arc::clone(&group) as Arc<dyn Acceptance>);
    let failing = restore(1 << 40);
    server.run();
    assert_eq!((server.status(alone), server.code(failing)), ("succeeded".to_owned(), json!("generation_not_found")));
}

#[test]
fn a_restore_waits_over_restarts_and_for_the_role_of_its_server() {
    let (folder, group) = (tempfile::tempdir().unwrap(), Arc::new(Group::default()));
    let (server, restore) = group.restoring(folder.path());
    // The process dies between the commit and its record, and after it.
    let (worker, live, tasks) = begun(&server);
    assert!(worker.carry_out(&live, &tasks).is_some());
    drop((worker, live, server));
    for deaths in 0..12 {
        let server = group.open(folder.path());
        let mut worker = server.begin();
        go_on(&mut worker);
        assert_eq!(server.status(restore), "processing", "{deaths}");
        assert_eq!(server.document_count("films"), 1);
        server.queue.store().background_at_start(4).unwrap();
    }
    // It may follow, or be the writer.
    let server = Server::open(folder.path());
    let mut worker = server.begin();
    worker.limits = Limits { is_held: true, ..LIMITS };
    go_on(&mut worker);
    assert_eq!(server.status(restore), "processing");
    drop((worker, server));
    group.publish(restore);
    let server = group.open(folder.path());
    go_on(&mut server.begin());
    let task = server.task(restore);
    assert_eq!((&task["status"], task["details"]["generation"].is_u64()), (&json!("succeeded"), true));
}

#[test]
fn a_restored_index_that_is_damaged_fails_its_task_and_holds_up_nothing() {
    let (folder, group) = (tempfile::tempdir().unwrap(), Arc::new(Group::default()));
    let (server, restore) = group.restoring(folder.path());
    let mut worker = server.begin();
    go_on(&mut worker);
    let snapshot = server.instance.state("films").unwrap();
    let file = snapshot.named_files().unwrap().into_iter().find(|file| file.name.starts_with("seg-")).unwrap().name;
    snapshot.scrub_file(&file, "it is cut", true);
    let clear = server.enqueue("films", Content::Clear { mark: None });
    go_on(&mut worker);
    let task = server.task(restore);
    assert_eq!(task["status"], "failed");
    assert!(task["error"]["message"].as_str().unwrap().contains("cannot be published"), "{task}");
    assert_eq!(server.status(clear), "succeeded");
}

#[test]
fn settings_that_need_a_model_end_when_they_are_published() {
    let (folder, group) = (tempfile::tempdir().unwrap(), Arc::new(Group::default()));
    let server = group.open(folder.path());
    let settings = |patch: Value| {
        let patch = serde_json::from_value(patch).unwrap();
        server.enqueue("films", Content::Settings { patch: Box::new(patch), may_create_index: true })
    };
    let searchable = json!({"searchableAttributes": ["title"]});
    let without = settings(searchable.clone());
    let mut worker = server.begin();
    go_on(&mut worker);
    assert_eq!(server.status(without), "succeeded", "there are no embedders");
    let with = settings(json!({"embedders": {"own": {"source": "userProvided", "dimensions": 2}}}));
    go_on(&mut worker);
    assert_eq!(server.status(with), "processing");
    group.publish(with);
    go_on(&mut worker);
    assert_eq!(server.status(with), "succeeded");
}
