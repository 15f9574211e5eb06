//! The store on a real file: uids, filters, ends of batches, restarts.

use std::sync::Arc;

use lamina_base::budget::AnswerBudget;
use lamina_base::stored_names::PayloadName;
use lamina_base::timestamp::Timestamp;
use lamina_protocol::wire::tasks::{Bounds, Paging, TaskFilter};
use serde_json::json;

use super::*;
use crate::tasks::content::{Content, Method, PayloadPlace, Upsert};
use crate::tasks::kind::{Kind, Status};
use crate::tasks::live::LiveBatch;
use crate::tasks::new_task::NewTask;
use crate::tasks::task::StoredError;
use crate::tasks::uid_set::UidSet;

struct Fixture {
    store: Store,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        Fixture { store: Store::open(&folder.path().join("tasks.sqlite")).unwrap(), folder }
    }

    fn reopened(self) -> Fixture {
        let Fixture { store, folder } = self;
        drop(store);
        Fixture { store: Store::open(&folder.path().join("tasks.sqlite")).unwrap(), folder }
    }

    /// Registers a deletion by ids in each of the indexes.
    fn enqueue(&self, indexes: &[&str]) -> Vec<u32> {
        let task = |index: &&str| NewTask::for_index(*index, Content::DeleteIds { ids: vec!["1".into()], mark: None });
        indexes.iter().map(|index| self.store.enqueue(task(index)).unwrap().uid).collect()
    }

    fn uids(&self, filter: TaskFilter) -> Vec<u32> {
        self.uids_with(filter, None)
    }

    fn uids_with(&self, filter: TaskFilter, live: Option<&LiveBatch>) -> Vec<u32> {
        let page = self
            .store
            .list_tasks(&filter, Paging { limit: 1000, from: None, reverse: true }, live, &AnswerBudget::UNLIMITED)
            .unwrap();
        assert_eq!(page.total, page.results.len() as u64);
        page.results.iter().map(|task| task.uid).collect()
    }

    fn status(&self, uid: u32) -> Status {
        self.store.task(uid).unwrap().unwrap().status
    }
}

/// Values that a crafted database may hold in place of a name.
const BAD_NAMES: [&str; 6] = ["", "..", "../../x", "/path/file", "a\\b", "4BC0887A-0E41-4F3B-935D-0C451DCEE9C8"];

fn finished(uid: u32, tasks: &[(u32, TaskResult)]) -> FinishedBatch {
    let started_at = Timestamp::from_nanos(1_000 * i64::from(uid + 1));
    let tasks = tasks.iter().map(|(uid, result)| FinishedTask { uid: *uid, result: result.clone() }).collect();
    let batch = FinishedBatch::now(uid, started_at, "because".into(), tasks);
    FinishedBatch { finished_at: batch.started_at + 500, ..batch }
}

fn live(uid: u32, tasks: &[u32]) -> LiveBatch {
    LiveBatch { started_at: Timestamp::from_nanos(7_000), ..LiveBatch::bare(uid, tasks) }
}

fn ok(count: u64) -> TaskResult {
    TaskResult::Succeeded(Some(count))
}

#[test]
fn uids_ascend_over_restarts_and_deletions() {
    let fixture = Fixture::new();
    assert_eq!(fixture.enqueue(&["a", "b"]), [0, 1]);
    let fixture = fixture.reopened();
    assert_eq!(fixture.enqueue(&["a"]), [2]);
    fixture.store.finish(&finished(0, &[(0, ok(1)), (1, ok(1)), (2, ok(1))])).unwrap();
    let tasks: UidSet = [0, 1, 2].into_iter().collect();
    let deletion = NewTask::global(Content::DeleteTasks { filter: "?uids=*".into(), tasks: tasks.clone() });
    assert_eq!(fixture.store.enqueue(deletion).unwrap().uid, 3);
    let mut batch = finished(1, &[(3, TaskResult::Succeeded(None))]);
    batch.deleted = vec![(3, tasks)];
    fixture.store.finish(&batch).unwrap();
    let details = fixture.store.task(3).unwrap().unwrap().details.unwrap();
    assert_eq!(details.get(), r#"{"matchedTasks":3,"deletedTasks":3,"originalFilter":"?uids=*"}"#);
    assert!(fixture.store.task(1).unwrap().is_none());
    assert!(fixture.store.batch(0).unwrap().is_none(), "a batch without tasks goes with them");
    let fixture = fixture.reopened();
    assert_eq!(fixture.enqueue(&["a"]), [4]);
    assert_eq!(fixture.store.next_batch_uid().unwrap(), 2);
}

#[test]
fn requests_that_meet_share_a_transaction_and_get_uids_of_their_own() {
    let fixture = Arc::new(Fixture::new());
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let fixture = Arc::clone(&fixture);
            std::thread::spawn(move || fixture.enqueue(&["a"; 25]))
        })
        .collect();
    let mut uids: Vec<u32> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    uids.sort_unstable();
    assert_eq!(uids, (0..200).collect::<Vec<_>>());
    assert_eq!(fixture.uids(TaskFilter::default()).len(), 200);
}

#[test]
fn filters_are_alternatives_within_and_conditions_between() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a", "b", "a", "c"]);
    fixture.store.enqueue(NewTask::global(Content::SwapIndexes { swaps: vec![] })).unwrap();
    let error = StoredError::from(&ApiError::index_not_found("b"));
    fixture.store.finish(&finished(0, &[(0, ok(1))])).unwrap();
    fixture.store.finish(&finished(1, &[(1, TaskResult::Failed(error))])).unwrap();
    let of = |filter: TaskFilter| fixture.uids(filter);
    assert_eq!(of(TaskFilter::default()), [0, 1, 2, 3, 4]);
    let indexes = Some(vec!["a".to_owned(), "b".to_owned()]);
    assert_eq!(of(TaskFilter { index_uids: indexes.clone(), ..Default::default() }), [0, 1, 2]);
    let statuses = Some(vec![Status::Failed, Status::Enqueued]);
    assert_eq!(of(TaskFilter { statuses: statuses.clone(), ..Default::default() }), [1, 2, 3, 4]);
    assert_eq!(of(TaskFilter { statuses, index_uids: indexes, ..Default::default() }), [1, 2]);
    assert_eq!(of(TaskFilter { kinds: Some(vec![Kind::IndexSwap]), ..Default::default() }), [4]);
    assert_eq!(of(TaskFilter { batch_uids: Some(vec![1, 9]), ..Default::default() }), [1]);
    assert_eq!(of(TaskFilter { uids: Some(vec![]), ..Default::default() }), [0u32; 0]);
    let started = |after, before| {
        let bound = |nanos: Option<i64>| nanos.map(Timestamp::from_nanos);
        of(TaskFilter { started: Bounds { after: bound(after), before: bound(before) }, ..Default::default() })
    };
    // Bounds are exclusive; tasks that did not start match none.
    assert_eq!(started(Some(999), None), [0, 1]);
    assert_eq!(started(Some(1_000), None), [1]);
    assert_eq!(started(Some(999), Some(2_000)), [0]);
}

#[test]
fn the_running_batch_counts_as_processing() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a", "b", "a"]);
    let live = live(5, &[0, 2]);
    let lives = Lives { under_way: Some(&live), background: &[] };
    let of = |filter: TaskFilter| fixture.uids_with(filter, Some(&live));
    let statuses = |statuses: &[Status]| TaskFilter { statuses: Some(statuses.to_vec()), ..Default::default() };
    assert_eq!(of(statuses(&[Status::Enqueued])), [1]);
    assert_eq!(of(statuses(&[Status::Processing])), [0, 2]);
    assert_eq!(of(statuses(&[Status::Enqueued, Status::Processing])), [0, 1, 2]);
    assert_eq!(of(statuses(&[Status::Succeeded])), [0u32; 0]);
    assert_eq!(of(TaskFilter { batch_uids: Some(vec![5]), ..Default::default() }), [0, 2]);
    let after = Bounds { after: Some(Timestamp::from_nanos(6_999)), before: None };
    assert_eq!(of(TaskFilter { started: after, ..Default::default() }), [0, 2]);
    let page = Paging { limit: 10, from: None, reverse: false };
    assert_eq!(
        fixture.store.list_batches(&TaskFilter::default(), page, lives, &AnswerBudget::UNLIMITED).unwrap().total,
        1
    );
    let other = TaskFilter { uids: Some(vec![1]), ..Default::default() };
    assert_eq!(fixture.store.list_batches(&other, page, lives, &AnswerBudget::UNLIMITED).unwrap().total, 0);
}

#[test]
fn pages_follow_one_another() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a"; 5]);
    let page = |limit, from, reverse| {
        let page = fixture
            .store
            .list_tasks(&TaskFilter::default(), Paging { limit, from, reverse }, None, &AnswerBudget::UNLIMITED)
            .unwrap();
        assert_eq!((page.total, page.limit), (5, limit));
        (page.results.iter().map(|task| task.uid).collect::<Vec<_>>(), page.from, page.next)
    };
    assert_eq!(page(2, None, false), (vec![4, 3], Some(4), Some(2)));
    assert_eq!(page(2, Some(2), false), (vec![2, 1], Some(2), Some(0)));
    assert_eq!(page(2, Some(0), false), (vec![0], Some(0), None));
    assert_eq!(page(3, Some(1), true), (vec![1, 2, 3], Some(1), Some(4)));
    assert_eq!(page(0, None, false), (vec![], None, Some(4)));
}

#[test]
fn cancelations_end_what_waits_and_nothing_else() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a", "a", "a"]);
    fixture.store.finish(&finished(0, &[(0, ok(1))])).unwrap();
    let tasks: UidSet = [0, 1, 2].into_iter().collect();
    let cancelation = NewTask::global(Content::CancelTasks { filter: "?uids=0,1,2".into(), tasks: tasks.clone() });
    let by = fixture.store.enqueue(cancelation).unwrap().uid;
    let mut batch = finished(1, &[(by, TaskResult::Succeeded(None))]);
    batch.canceled = Some((by, tasks));
    fixture.store.finish(&batch).unwrap();
    assert_eq!([0, 1, 2].map(|uid| fixture.status(uid)), [Status::Succeeded, Status::Canceled, Status::Canceled]);
    let canceled = fixture.store.task(1).unwrap().unwrap();
    assert_eq!((canceled.canceled_by, canceled.batch_uid), (Some(by), Some(1)));
    assert_eq!(canceled.details.unwrap().get(), r#"{"providedIds":1,"deletedDocuments":0,"originalFilter":null}"#);
    let details = fixture.store.task(by).unwrap().unwrap().details.unwrap();
    assert_eq!(details.get(), r#"{"matchedTasks":3,"canceledTasks":2,"originalFilter":"?uids=0,1,2"}"#);
    assert_eq!(fixture.uids(TaskFilter { canceled_by: Some(vec![by]), ..Default::default() }), [1, 2]);
}

/// Changes the file of a store as another program might.
fn tampered(fixture: &Fixture, sql: &str, value: &str) {
    let connection = Connection::open(fixture.folder.path().join("tasks.sqlite")).unwrap();
    assert_eq!(connection.execute(sql, [value]).unwrap(), 1);
}

#[test]
fn names_that_lead_elsewhere_are_damage() {
    let fixture = Fixture::new();
    tampered(&fixture, "INSERT INTO indexes (uid, folder) VALUES ('films', ?1)", folder_of("a").as_str());
    assert_eq!(fixture.store.indexes().unwrap().len(), 1);
    let upsert = |payload| {
        Content::Upsert(Upsert {
            method: Method::Replace,
            primary_key: None,
            skip_creation: false,
            may_create_index: true,
            received: 1,
            payload,
            payload_bytes: 9,
            payload_checksum: 0,
            mark: None,
        })
    };
    let task = NewTask::for_index("films", upsert(PayloadPlace::File(PayloadName::random())));
    fixture.store.enqueue(task).unwrap();
    assert_eq!(fixture.store.payload_files().unwrap().len(), 1);
    for bad in BAD_NAMES {
        tampered(&fixture, "UPDATE indexes SET folder = ?1", bad);
        let error = fixture.store.indexes().unwrap_err();
        assert!(matches!(error, StoreError::Index { .. }), "{bad:?}: {error}");
        let sql = "UPDATE tasks SET content = json_set(content, '$.payload.file', ?1)";
        tampered(&fixture, sql, bad);
        let error = fixture.store.payload_files().unwrap_err();
        assert!(matches!(error, StoreError::Corrupt { what: "content", .. }), "{bad:?}: {error}");
        assert!(error.to_string().contains("is not a valid name of a payload"), "{error}");
    }
    tampered(&fixture, "UPDATE indexes SET folder = ?1", folder_of("a").as_str());
    tampered(&fixture, "UPDATE indexes SET uid = ?1", "../../x");
    assert!(matches!(fixture.store.indexes().unwrap_err(), StoreError::Index { .. }));
}

fn folder_of(uid: &str) -> FolderName {
    uuid::Uuid::from_u128(u128::from(uid.as_bytes()[0])).to_string().try_into().unwrap()
}

#[test]
fn swaps_move_the_history() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a", "b"]);
    let created = |uid: &str| IndexChange::Created { uid: uid.into(), folder: folder_of(uid) };
    let mut batch = finished(0, &[(0, ok(0)), (1, ok(0))]);
    batch.index_changes = vec![created("a"), created("b")];
    fixture.store.finish(&batch).unwrap();
    let swap = fixture.store.enqueue(NewTask::global(Content::SwapIndexes { swaps: vec![] })).unwrap().uid;
    let later = fixture.enqueue(&["a"])[0];
    let mut batch = finished(1, &[(swap, TaskResult::Succeeded(None))]);
    batch.index_changes = vec![IndexChange::Swapped { one: "a".into(), other: "b".into(), task: swap }];
    fixture.store.finish(&batch).unwrap();
    let index = |uid: u32| fixture.store.task(uid).unwrap().unwrap().index_uid.unwrap();
    assert_eq!((index(0), index(1), index(later)), ("b".to_owned(), "a".to_owned(), "a".to_owned()));
    let folder = |uid: &str| (uid.to_owned(), folder_of(if uid == "a" { "b" } else { "a" }));
    assert_eq!(fixture.store.indexes().unwrap(), [folder("a"), folder("b")]);
    let mut batch = finished(2, &[]);
    batch.index_changes =
        vec![IndexChange::Renamed { from: "a".into(), to: "c".into() }, IndexChange::Deleted { uid: "b".into() }];
    fixture.store.finish(&batch).unwrap();
    assert_eq!(fixture.store.indexes().unwrap(), [("c".to_owned(), folder_of("b"))]);
}

#[test]
fn payloads_go_when_their_task_is_final() {
    let fixture = Fixture::new();
    let documents = b"{\"id\":1}\n".to_vec();
    let new =
        NewTask { inline_payload: Some(documents.clone()), ..NewTask::for_index("a", Content::Clear { mark: None }) };
    let uid = fixture.store.enqueue(new).unwrap().uid;
    let fixture = fixture.reopened();
    assert_eq!(fixture.store.inline_payload(uid).unwrap(), Some(documents));
    fixture.store.finish(&finished(0, &[(uid, ok(1))])).unwrap();
    assert_eq!(fixture.store.inline_payload(uid).unwrap(), None);
}

#[test]
fn a_finished_batch_reports_its_tasks() {
    let fixture = Fixture::new();
    fixture.enqueue(&["a", "a"]);
    let error = StoredError::from(&ApiError::index_not_found("a"));
    fixture.store.finish(&finished(0, &[(0, ok(2)), (1, TaskResult::Failed(error))])).unwrap();
    let batch = serde_json::to_value(fixture.store.batch(0).unwrap().unwrap()).unwrap();
    assert_eq!(
        batch["stats"],
        json!({
            "totalNbTasks": 2,
            "status": {"succeeded": 1, "failed": 1},
            "types": {"documentDeletion": 2},
            "indexUids": {"a": 2}
        })
    );
    // Null keys are dropped at the end.
    assert_eq!(batch["details"], json!({"providedIds": 2, "deletedDocuments": 2}));
    assert_eq!(batch["duration"], "PT0.000000500S");
    let failed = fixture.store.task(1).unwrap().unwrap();
    assert_eq!(failed.error.unwrap(), ApiError::index_not_found("a"));
}

#[test]
fn newer_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks.sqlite");
    drop(Store::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert!(Store::open(&path).unwrap_err().to_string().contains("version 99"));
}

#[test]
fn a_full_store_takes_only_what_makes_room() {
    let fixture = Fixture::new();
    let done: Vec<u32> = (0..200).flat_map(|_| fixture.enqueue(&["a"])).collect();
    let ends: Vec<(u32, TaskResult)> = done.iter().map(|&uid| (uid, TaskResult::Succeeded(None))).collect();
    fixture.store.finish(&finished(0, &ends)).unwrap();
    let before = fixture.store.room().used_bytes;
    fixture.store.limit(before - 1);

    let refused = fixture.store.enqueue(NewTask::for_index("a", Content::Clear { mark: None })).unwrap_err();
    assert!(matches!(refused, StoreError::Full));
    let public = ApiError::from(refused);
    assert_eq!(public.code, Code::NoSpaceLeftOnDevice);
    assert!(public.message.starts_with("Lamina cannot receive write operations because the limit of the task "));
    let none = Content::DeleteTasks { filter: "?uids=9999".into(), tasks: UidSet::default() };
    assert!(fixture.store.enqueue(NewTask::global(none)).is_err(), "it would free nothing");

    let tasks: UidSet = done.iter().copied().collect();
    let deletion = Content::DeleteTasks { filter: "?uids=*".into(), tasks: tasks.clone() };
    let uid = fixture.store.enqueue(NewTask::global(deletion)).unwrap().uid;
    let batch = FinishedBatch { deleted: vec![(uid, tasks)], ..finished(1, &[(uid, TaskResult::Succeeded(None))]) };
    fixture.store.finish(&batch).unwrap();
    assert!(fixture.store.room().used_bytes < before);
    fixture.enqueue(&["a"]);
}

#[test]
fn an_upgrade_that_failed_is_enqueued_again() {
    let fixture = Fixture::new();
    assert_eq!(fixture.store.retry_failed_upgrade().unwrap(), None);
    let upgrade = || NewTask::global(Content::UpgradeDatabase { from: "0.0.1".into(), to: "0.1.0".into() });
    let uid = fixture.store.enqueue(upgrade()).unwrap().uid;
    assert_eq!(fixture.store.retry_failed_upgrade().unwrap(), None, "it waits already");
    let failure = StoredError::from(&ApiError::internal("broken"));
    fixture.store.finish(&finished(0, &[(uid, TaskResult::Failed(failure))])).unwrap();
    assert_eq!(fixture.store.retry_failed_upgrade().unwrap(), Some(uid));
    let task = fixture.store.task(uid).unwrap().unwrap();
    assert_eq!((task.status, task.batch_uid, task.started_at, &task.error), (Status::Enqueued, None, None, &None));
    let queued = fixture.store.enqueued_of_kind(Kind::UpgradeDatabase).unwrap();
    assert_eq!(queued[0].content, upgrade().content);
    fixture.store.finish(&finished(fixture.store.next_batch_uid().unwrap(), &[(uid, ok(0))])).unwrap();
    assert_eq!(fixture.store.retry_failed_upgrade().unwrap(), None, "it succeeded");
}
