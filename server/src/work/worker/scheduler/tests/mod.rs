//! The scheduler with real indexes: tasks are carried out in order, once, also when the process dies in between.

use std::path::Path;

use lamina_base::error::ErrorDocs;
use lamina_base::options::EventsInBackups;
use lamina_base::outbound::IpPolicy;
use lamina_base::stored_names::PayloadName;
use lamina_data::tasks::content::{Method, PayloadPlace, Swap, Upsert};
use lamina_data::tasks::store::Attempt;
use lamina_data::tasks::{NewTask, UidSet};
use lamina_engine::index::{IndexOptions, SettingsPatch};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::work::backup::Attached;

mod deaths;
mod unpublished;

const LIMITS: Limits = Limits { tasks: None, bytes: u64::MAX, inline_bytes: u64::MAX, cleans_up: true, is_held: false };

/// A database folder and what a server has open of it.
struct Server {
    queue: Arc<TaskQueue>,
    instance: Arc<Instance>,
}

impl Server {
    fn open(folder: &Path) -> Server {
        let options = IndexOptions {
            indexing_threads: 1,
            indexing_memory_bytes: 64 << 20,
            keep: Duration::from_secs(3600),
            ..IndexOptions::default()
        };
        let (instance, store) = Instance::open(folder, options, false).unwrap();
        Server { queue: Arc::new(TaskQueue::new(store).after_abort(true)), instance: Arc::new(instance) }
    }

    fn places(&self) -> BackupPlaces {
        BackupPlaces {
            snapshots: self.instance.folder().join("snapshots"),
            snapshots_kept: 1,
            dumps: self.instance.folder().join("dumps"),
            events: EventsInBackups::Snapshots,
            attached: Attached::Folder(self.instance.folder().join("attach")),
            database_name: "data".to_owned(),
            remote: None,
        }
    }

    fn outbound(&self) -> Outbound {
        // No task of these tests sends requests, so the runtime need not stay.
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _guard = runtime.enter();
        Outbound::new(IpPolicy::Global).unwrap()
    }

    fn worker(&self) -> Worker {
        let (queue, instance) = (Arc::clone(&self.queue), Arc::clone(&self.instance));
        let (places, outbound) = (self.places(), self.outbound());
        Worker {
            queue,
            instance,
            places,
            outbound,
            limits: LIMITS,
            next_batch: 0,
            background: Background::default(),
            retention: Retention::default(),
            patience: Patience::default(),
            holds_memory: false,
            crash_loop: None,
            refused_together: None,
            stop: Arc::default(),
        }
    }

    fn enqueue(&self, index: &str, content: Content) -> u32 {
        self.queue.enqueue_now(NewTask::for_index(index, content)).unwrap().uid
    }

    fn add(&self, index: &str, documents: &[Value]) -> u32 {
        let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
        let content = Content::Upsert(Upsert {
            method: Method::Replace,
            primary_key: None,
            skip_creation: false,
            may_create_index: true,
            received: documents.len() as u64,
            payload: PayloadPlace::Inline,
            payload_bytes: lines.len() as u64,
            payload_checksum: xxh3_64(lines.as_bytes()),
            mark: None,
        });
        let task = NewTask { inline_payload: Some(lines.into_bytes()), ..NewTask::for_index(index, content) };
        self.queue.enqueue_now(task).unwrap().uid
    }

    /// Carries out everything that is enqueued; returns the tasks of each batch.
    fn run(&self) -> Vec<Vec<u32>> {
        let mut worker = self.worker();
        worker.recover().unwrap();
        let mut batches = Vec::new();
        while let Some(plan) = worker.plan().unwrap() {
            batches.push(plan.tasks.iter().map(|task| task.uid).collect());
            worker.process(plan);
        }
        batches
    }

    fn task(&self, uid: u32) -> Value {
        serde_json::to_value(self.queue.task(uid).unwrap().view(&ErrorDocs::default())).unwrap()
    }

    fn code(&self, uid: u32) -> Value {
        self.task(uid)["error"]["code"].clone()
    }

    fn document_count(&self, index: &str) -> u64 {
        self.instance.snapshot(index).unwrap().document_count()
    }
}

fn document(id: u32) -> Value {
    json!({"id": id, "title": "a film"})
}

#[test]
fn documents_create_their_index_and_share_batches() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1), document(2), document(2)]);
    server.add("books", &[document(1)]);
    server.add("films", &[document(3)]);
    server.enqueue("films", Content::DeleteIds { ids: vec!["1".into(), "9".into()], mark: None });
    assert_eq!(server.run(), [vec![0, 2, 3], vec![1]]);
    assert_eq!(server.document_count("films"), 2);
    let task = server.task(0);
    assert_eq!((&task["status"], &task["batchUid"]), (&json!("succeeded"), &json!(0)));
    assert_eq!(task["details"], json!({"receivedDocuments": 3, "indexedDocuments": 2}));
    assert_eq!(server.task(3)["details"], json!({"providedIds": 2, "deletedDocuments": 1, "originalFilter": null}));
    assert_eq!(server.instance.uids(), ["books", "films"]);
}

#[test]
fn a_bad_payload_hurts_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1)]);
    server.add("films", &[json!({"title": "without an id"})]);
    server.add("films", &[document(2)]);
    assert_eq!(server.run(), [vec![0, 1, 2]]);
    assert_eq!(server.code(1), "missing_document_id");
    assert_eq!(server.task(1)["details"]["indexedDocuments"], 0);
    assert_eq!(server.document_count("films"), 2);
}

#[test]
fn what_needs_an_index_fails_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.enqueue("none", Content::Clear { mark: None });
    server.enqueue("none", Content::DeleteIndex);
    server.enqueue("none", Content::UpdateIndex { primary_key: Some("id".into()), new_uid: None });
    let settings = Content::Settings { patch: Box::new(SettingsPatch::reset_all()), may_create_index: false };
    server.enqueue("none", settings);
    server.run();
    for uid in 0..4 {
        assert_eq!(server.code(uid), "index_not_found", "task {uid}");
    }
    assert!(server.instance.uids().is_empty());
}

#[test]
fn deletions_report_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1), document(2)]);
    server.run();
    let clear = server.enqueue("films", Content::Clear { mark: None });
    server.run();
    assert_eq!(server.task(clear)["details"], json!({"deletedDocuments": 2}));
    server.add("films", &[document(1)]);
    server.run();
    let absorbed = server.add("films", &[document(7)]);
    let deletion = server.enqueue("films", Content::DeleteIndex);
    assert_eq!(server.run(), [vec![absorbed, deletion]]);
    assert_eq!(server.task(absorbed)["status"], "succeeded");
    assert_eq!(server.task(deletion)["details"], json!({"deletedDocuments": 1}));
    assert!(server.instance.uids().is_empty());
    assert_eq!(std::fs::read_dir(folder.path().join("indexes")).unwrap().count(), 0);
}

#[test]
fn indexes_are_created_renamed_and_swapped() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.enqueue("a", Content::CreateIndex { primary_key: Some("key".into()) });
    server.enqueue("a", Content::CreateIndex { primary_key: None });
    server.enqueue("a", Content::UpdateIndex { primary_key: None, new_uid: Some("b".into()) });
    server.add("c", &[document(1)]);
    let swap = Content::SwapIndexes { swaps: vec![Swap { indexes: ["b".into(), "c".into()], rename: false }] };
    server.queue.enqueue_now(NewTask::global(swap)).unwrap();
    let after = server.add("b", &[document(2)]);
    server.run();
    assert_eq!(server.code(1), "index_already_exists");
    assert_eq!(server.task(2)["details"], json!({"primaryKey": null, "oldIndexUid": "a", "newIndexUid": "b"}));
    assert_eq!(server.task(4)["status"], "succeeded");
    assert_eq!(server.task(after)["status"], "succeeded", "{}", server.task(after));
    // The documents of `c` are now in `b`, and what came after the swap joined them there.
    assert_eq!((server.document_count("b"), server.document_count("c")), (2, 0));
    assert_eq!(server.instance.snapshot("c").unwrap().primary_key.as_deref(), Some("key"));
    drop(server);
    let server = Server::open(folder.path());
    assert_eq!((server.document_count("b"), server.document_count("c")), (2, 0));
}

#[test]
fn a_swap_is_not_overtaken() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("a", &[document(1)]);
    server.add("b", &[document(1)]);
    server.run();
    server.add("a", &[document(2)]);
    let swap = Content::SwapIndexes { swaps: vec![Swap { indexes: ["a".into(), "b".into()], rename: false }] };
    server.queue.enqueue_now(NewTask::global(swap)).unwrap();
    server.add("a", &[document(3)]);
    assert_eq!(server.run(), [vec![2], vec![3], vec![4]]);
    assert_eq!((server.document_count("a"), server.document_count("b")), (2, 2));
}

#[test]
fn cancelations_come_first() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    let first = server.add("films", &[document(1)]);
    let second = server.add("films", &[document(2)]);
    let tasks: UidSet = [first].into_iter().collect();
    let cancelation = Content::CancelTasks { filter: "?uids=0".into(), tasks };
    let cancelation = server.queue.enqueue_now(NewTask::global(cancelation)).unwrap().uid;
    assert_eq!(server.run(), [vec![cancelation], vec![second]]);
    assert_eq!(server.task(first)["status"], "canceled");
    assert_eq!(server.task(first)["canceledBy"], cancelation);
    assert_eq!(server.document_count("films"), 1);
}

/// A worker that has begun its next batch, and carried out nothing of it.
fn begun(server: &Server) -> (Worker, Arc<LiveBatch>, Vec<Queued>) {
    let mut worker = server.worker();
    worker.recover().unwrap();
    let plan = worker.plan().unwrap().unwrap();
    let live = worker.live(worker.next_batch, &plan.tasks, plan.strategy.to_string());
    (worker, Arc::new(live), plan.tasks)
}

#[test]
fn a_batch_that_was_committed_before_a_crash_is_not_carried_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1), document(2)]);
    server.run();
    let deletion = server.enqueue("films", Content::DeleteIds { ids: vec!["1".into()], mark: None });
    // The engine commits; the process dies before the end is stored.
    let (worker, live, tasks) = begun(&server);
    assert!(worker.carry_out(&live, &tasks).is_some());
    drop((worker, live));
    drop(server);

    let server = Server::open(folder.path());
    assert_eq!(server.task(deletion)["status"], "enqueued");
    assert_eq!(server.run(), [[0u32; 0]; 0], "nothing is left to do");
    let task = server.task(deletion);
    assert_eq!((&task["status"], &task["batchUid"]), (&json!("succeeded"), &json!(1)));
    // SharedState out again, it would have found nothing to delete.
    assert_eq!(task["details"]["deletedDocuments"], 1);
    // Batches go on after the recorded one.
    server.add("films", &[document(3)]);
    server.run();
    assert_eq!(server.task(2)["batchUid"], 2);
}

/// Enqueues one document in a file, carries it out and frees payloads, and lets the process die before the end is stored.
/// Whether the file was there at the end; the task.
fn die_with_a_file(server: Server) -> (bool, u32) {
    let name = PayloadName::random();
    let payload = server.instance.payload_folder().join(&name);
    std::fs::write(&payload, "{\"id\":2}\n").unwrap();
    let content = Content::Upsert(Upsert {
        method: Method::Replace,
        primary_key: None,
        skip_creation: false,
        may_create_index: true,
        received: 1,
        payload: PayloadPlace::File(name),
        payload_bytes: 9,
        payload_checksum: xxh3_64(b"{\"id\":2}\n"),
        mark: None,
    });
    let uid = server.enqueue("films", content);
    let (worker, live, tasks) = begun(&server);
    let nothing = Done::from(all_failed(&live, &ApiError::internal("not carried out")));
    worker.free_payloads(&live, &tasks, &nothing);
    assert!(payload.exists(), "what no index has committed is needed again");
    let done = worker.carry_out(&live, &tasks).unwrap();
    worker.publish(&done);
    worker.free_payloads(&live, &tasks, &done);
    (payload.exists(), uid)
}

#[test]
fn a_document_that_is_refused_fails_only_the_task_that_brought_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    let patch = serde_json::from_value(json!({"sortableAttributes": ["_geo"]})).unwrap();
    server.enqueue("films", Content::Settings { patch: Box::new(patch), may_create_index: true });
    server.run();
    for id in 0..9 {
        server.add("films", &[document(id)]);
    }
    let bad = server.add("films", &[document(100), json!({"id": 101, "_geo": "nowhere"})]);
    let last = (10..20).map(|id| server.add("films", &[document(id)])).max().unwrap();
    let batches = server.run();
    assert_eq!(server.document_count("films"), 19);
    assert_eq!(server.code(bad), "invalid_document_geo_field");
    for uid in (0..=last).filter(|&uid| uid != bad) {
        assert_eq!(server.task(uid)["status"], "succeeded", "task {uid}");
    }
    // Halved after each refusal, doubled after each success.
    assert!(batches.contains(&vec![bad]), "{batches:?}");
    assert!(batches.len() < 16, "{batches:?}");
    let strategy = server.queue.batch(server.task(bad)["batchUid"].as_u64().unwrap() as u32);
    assert!(format!("{strategy:?}").contains("a larger batch was refused"), "{strategy:?}");
}

#[test]
fn a_payload_is_gone_before_its_task_has_ended_and_the_end_is_known_without_it() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1)]);
    server.run();
    let (is_there, uid) = die_with_a_file(server);
    assert!(!is_there);
    let server = Server::open(folder.path());
    assert_eq!(server.task(uid)["status"], "enqueued");
    assert_eq!(server.run(), [[0u32; 0]; 0], "nothing is left to do");
    assert_eq!(server.task(uid)["status"], "succeeded");
    assert_eq!(server.document_count("films"), 2);
}

#[test]
fn a_payload_that_makes_its_index_is_kept_until_the_end_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let (is_there, uid) = die_with_a_file(Server::open(folder.path()));
    assert!(is_there);
    let server = Server::open(folder.path());
    assert_eq!(server.run(), [[uid]], "the index is not known, so it is made again");
    assert_eq!(server.task(uid)["status"], "succeeded");
    assert_eq!(server.document_count("films"), 1);
}

#[test]
fn a_new_index_whose_name_was_not_stored_is_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    server.add("films", &[document(1)]);
    let (worker, live, tasks) = begun(&server);
    assert!(worker.carry_out(&live, &tasks).is_some());
    drop((worker, live));
    drop(server);
    assert_eq!(std::fs::read_dir(folder.path().join("indexes")).unwrap().count(), 1);

    let server = Server::open(folder.path());
    assert!(server.instance.uids().is_empty());
    server.run();
    assert_eq!(server.document_count("films"), 1);
    assert_eq!(std::fs::read_dir(folder.path().join("indexes")).unwrap().count(), 1, "the orphan is gone");
}

#[test]
fn a_cancelation_that_comes_while_a_batch_is_planned_is_heard() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    let (canceled, left) = (server.add("films", &[document(1)]), server.add("films", &[document(2)]));
    let mut worker = server.worker();
    worker.recover().unwrap();
    let plan = worker.plan().unwrap().unwrap();
    let content = Content::CancelTasks { tasks: std::iter::once(canceled).collect(), filter: String::new() };
    let cancelation = server.queue.enqueue_now(NewTask::global(content)).unwrap().uid;
    worker.process(plan);
    drop(worker);
    assert_eq!(server.run(), [[cancelation], [left]]);
    assert_eq!((&server.task(canceled)["status"], server.document_count("films")), (&json!("canceled"), 1));
}

#[test]
fn old_tasks_are_deleted_by_a_task() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    for id in 0..6 {
        server.add("films", &[document(id)]);
    }
    server.run();
    let mut worker = server.worker();
    worker.retention = Retention::for_tests(7, 4);
    worker.clean_up().unwrap();
    assert!(worker.plan().unwrap().is_none(), "six tasks are not too many");
    worker.retention = Retention::for_tests(6, 4);
    worker.clean_up().unwrap();
    drop(worker);
    assert_eq!(server.run(), [vec![6]]);
    let details = &server.task(6)["details"];
    assert_eq!((&details["matchedTasks"], &details["deletedTasks"]), (&json!(4), &json!(4)));
    assert!(details["originalFilter"].as_str().unwrap().ends_with("&statuses=succeeded,failed,canceled"));
    assert!(server.queue.task(3).is_err());
    assert!(server.queue.task(4).is_ok());
}

#[test]
fn the_thread_wakes_for_work_and_stops_when_asked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(folder.path());
    let (queue, instance) = (Arc::clone(&server.queue), Arc::clone(&server.instance));
    let scheduler = Scheduler::start(queue, instance, server.places(), server.outbound(), LIMITS).unwrap();
    let uid = server.add("films", &[document(1)]);
    let deadline = Instant::now() + Duration::from_secs(60);
    while server.task(uid)["finishedAt"].is_null() {
        assert!(Instant::now() < deadline, "the task is not carried out");
        // Between looks.
        std::thread::sleep(Duration::from_millis(1));
    }
    scheduler.stop(Duration::from_secs(10));
    let late = server.add("films", &[document(2)]);
    assert_eq!(server.task(late)["status"], "enqueued");
}
