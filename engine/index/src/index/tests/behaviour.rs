//! What operations do, one rule at a time.

use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use lamina_segment::bits::DocSet;
use lamina_segment::document::IdError;
use lamina_segment::storage::{MappedDirectory, MemoryDirectory};
use serde_json::json;

use super::*;
use crate::index::{MergeLimit, Selector};

fn new_index() -> (MemoryDirectory, Index) {
    let directory = MemoryDirectory::default();
    let index = create(&directory);
    (directory, index)
}

fn ids(index: &Index) -> Vec<String> {
    documents(&index.snapshot()).iter().map(id_of).collect()
}

#[test]
fn adding_replaces_and_updating_merges_in_place() {
    let (_directory, index) = new_index();
    apply_one(&index, add(&[json!({"id": 1, "a": "x", "b": 1}), json!({"id": "two", "a": "y"})])).expect("added");
    apply_one(&index, update(&[json!({"id": "1", "b": {"c": 2}}), json!({"id": 3})])).expect("updated");
    apply_one(&index, add(&[json!({"id": "two", "z": null})])).expect("replaced");
    let expected = [json!({"id": "1", "a": "x", "b": {"c": 2}}), json!({"id": "two", "z": null}), json!({"id": 3})];
    let found: Vec<Value> = documents(&index.snapshot()).into_iter().map(Value::Object).collect();
    assert_eq!(found, expected);
    let distribution: Vec<_> = observe(&index.snapshot()).field_distribution;
    let counts = [("a", 1), ("b", 1), ("id", 3), ("z", 1)];
    assert_eq!(distribution, counts.map(|(name, count)| (name.to_owned(), count)));
}

#[test]
fn the_same_id_twice_in_a_payload_is_one_document() {
    let (_directory, index) = new_index();
    let twice = [json!({"id": 1, "a": 1}), json!({"id": 2}), json!({"id": "1", "b": 2})];
    assert_eq!(apply_one(&index, add(&twice)).expect("added"), Outcome::Upserted { received: 3, indexed: 2 });
    assert_eq!(Value::Object(documents(&index.snapshot())[0].clone()), json!({"id": "1", "b": 2}));
    assert_eq!(index.snapshot().segments[0].reader.doc_count(), 2, "a document is indexed once");

    let (_directory, index) = new_index();
    apply_one(&index, update(&twice)).expect("merged in order");
    assert_eq!(Value::Object(documents(&index.snapshot())[0].clone()), json!({"id": "1", "a": 1, "b": 2}));
}

#[test]
fn skipping_creation_touches_existing_documents_only() {
    let (_directory, index) = new_index();
    apply_one(&index, add(&[json!({"id": 1, "a": 1})])).expect("added");
    let upsert = Upsert {
        payload: payload(&[json!({"id": 1, "b": 1}), json!({"id": 2, "b": 1})]),
        method: WriteMethod::Update,
        primary_key: None,
        skip_creation: true,
    };
    let outcome = apply_one(&index, Operation::Upsert(upsert)).expect("applied");
    assert_eq!(outcome, Outcome::Upserted { received: 2, indexed: 2 });
    let found: Vec<Value> = documents(&index.snapshot()).into_iter().map(Value::Object).collect();
    assert_eq!(found, [json!({"id": 1, "a": 1, "b": 1})]);
}

#[test]
fn later_operations_of_a_batch_see_the_earlier_ones() {
    let (_directory, index) = new_index();
    let results = apply(
        &index,
        &[
            add(&[json!({"id": 1, "a": 1}), json!({"id": 2})]),
            delete(&["1", "9"]),
            update(&[json!({"id": 1, "b": 1}), json!({"id": 3})]),
            Operation::DeleteMatching(Selector::new(|snapshot, _| {
                assert_eq!(snapshot.document_count(), 3);
                Ok(snapshot.segments.iter().map(|segment| DocSet::full(segment.reader.doc_count())).collect())
            })),
            add(&[json!({"id": 4})]),
            Operation::Clear,
            add(&[json!({"id": 5}), json!({"id": 1})]),
        ],
    );
    let outcomes: Vec<Outcome> = results.into_iter().map(|result| result.expect("applied")).collect();
    assert_eq!(
        outcomes,
        [
            Outcome::Upserted { received: 2, indexed: 2 },
            Outcome::Deleted { deleted: 1 },
            Outcome::Upserted { received: 2, indexed: 2 },
            Outcome::Deleted { deleted: 3 },
            Outcome::Upserted { received: 1, indexed: 1 },
            Outcome::Deleted { deleted: 1 },
            Outcome::Upserted { received: 2, indexed: 2 },
        ]
    );
    assert_eq!(ids(&index), ["5", "1"]);
    assert_eq!(index.snapshot().segments.len(), 1, "segments without live documents are not kept");
}

#[test]
fn many_small_operations_make_one_segment() {
    let (_directory, index) = new_index();
    let operations: Vec<Operation> = (0..100).map(|id| add(&[json!({"id": id, "title": "one word"})])).collect();
    apply(&index, &operations);
    assert_eq!(index.snapshot().segments.len(), 1);
    assert_eq!(index.snapshot().document_count(), 100);
}

#[test]
fn a_document_deleted_and_added_again_goes_to_the_end() {
    let (_directory, index) = new_index();
    apply_one(&index, add(&[json!({"id": 1}), json!({"id": 2})])).expect("added");
    apply(&index, &[delete(&["1"]), add(&[json!({"id": 1})])]);
    assert_eq!(ids(&index), ["2", "1"]);
    apply_one(&index, add(&[json!({"id": 2, "new": true})])).expect("replaced");
    assert_eq!(ids(&index), ["2", "1"], "replacing keeps the place");
}

#[test]
fn an_unusable_id_fails_its_operation_only() {
    let (_directory, index) = new_index();
    let results = apply(
        &index,
        &[
            add(&[json!({"id": 1}), json!({"id": 1.5})]),
            add(&[json!({"name": "without id", "id": 2}), json!({"name": "no id"})]),
            add(&[json!({"id": 3})]),
        ],
    );
    assert!(matches!(&results[0], Err(OperationError::Id(IdError::Invalid { value })) if value == "1.5"));
    assert!(
        matches!(&results[1], Err(OperationError::Id(IdError::Missing { primary_key, .. })) if primary_key == "id")
    );
    assert_eq!(ids(&index), ["3"]);
    assert_eq!(index.snapshot().primary_key.as_deref(), Some("id"));
}

#[test]
fn the_primary_key_is_named_inferred_or_refused() {
    let (_directory, index) = new_index();
    let results = apply(
        &index,
        &[
            add(&[json!({"name": "no one"})]),
            add(&[json!({"a_id": 1, "b_id": 2})]),
            add(&[]),
            add(&[json!({"uuID": "x"}), json!({"uuID": "not valid!"})]),
        ],
    );
    assert!(matches!(&results[0], Err(OperationError::Infer(_))));
    assert!(matches!(&results[1], Err(OperationError::Infer(_))));
    assert!(matches!(&results[2], Ok(Outcome::Upserted { received: 0, indexed: 0 })));
    assert!(matches!(&results[3], Err(OperationError::Id(_))));
    assert_eq!(index.snapshot().primary_key, None, "a failed operation leaves the key unset");

    let named = |key: &str| {
        Operation::Upsert(Upsert {
            payload: payload(&[json!({"sku": "a", "id": 1})]),
            method: WriteMethod::Replace,
            primary_key: Some(key.to_owned()),
            skip_creation: false,
        })
    };
    let results = apply(&index, &[named("sku"), named("id"), named("sku")]);
    assert!(results[0].is_ok());
    assert!(results[2].is_ok());
    assert!(matches!(&results[1], Err(OperationError::PrimaryKeyAlreadyExists { current }) if current == "sku"));

    let set = |key: &str| Operation::SetPrimaryKey(Some(key.to_owned()));
    assert!(apply_one(&index, set("sku")).is_ok());
    assert!(matches!(apply_one(&index, set("id")), Err(OperationError::PrimaryKeyAlreadyExists { .. })));
    let results = apply(&index, &[Operation::Clear, set("id")]);
    assert!(results.iter().all(Result::is_ok), "an empty index may change its key");
    assert_eq!(index.snapshot().primary_key.as_deref(), Some("id"));
}

#[test]
fn a_cancelled_batch_changes_nothing() {
    let (directory, index) = new_index();
    apply_one(&index, add(&[json!({"id": 1})])).expect("added");
    let before = observe(&index.snapshot());
    let files = directory.list().expect("lists");
    let note = CommitNote::new(7, |_| Vec::new());
    let result = index.apply(&[add(&[json!({"id": 2})])], note, &Progress::new(), &AtomicBool::new(true));
    assert!(matches!(result, Err(IndexError::Cancelled)));
    assert_eq!(observe(&index.snapshot()), before);
    assert_eq!(directory.list().expect("lists"), files, "no file is left behind");
}

#[test]
fn a_malformed_position_fails_the_batch_and_leaves_no_trace() {
    let (directory, index) = new_index();
    apply(&index, &[settings(json!({"filterableAttributes": ["_geo"]})), add(&[json!({"id": 1, "_geo": null})])]);
    let before = observe(&index.snapshot());
    let files = directory.list().expect("lists");
    let bad = add(&[json!({"id": "a", "_geo": {"lat": 1}})]);
    let error = try_apply(&index, 9, &[add(&[json!({"id": 2})]), bad]).expect_err("refused");
    let IndexError::Geo(geo) = error else { panic!("{error}") };
    assert_eq!(
        geo,
        crate::index::GeoError::Missing {
            document_id: "\"a\"".to_owned(),
            missing: crate::index::GeoCoordinates::Longitude
        }
    );
    assert_eq!(observe(&index.snapshot()), before);
    assert_eq!(directory.list().expect("lists"), files);
}

#[test]
fn readers_keep_their_snapshot_and_its_files() {
    let (directory, index) = new_index();
    apply_one(&index, add(&[json!({"id": 1}), json!({"id": 2})])).expect("added");
    let old = index.snapshot();
    let file = old.segments[0].reader.meta().file.name.clone();
    apply(&index, &[Operation::Clear]);
    assert_eq!(old.document_count(), 2);
    assert_eq!(documents(&old).len(), 2);
    assert!(directory.list().expect("lists").contains(&file));
    drop(old);
    assert!(!directory.list().expect("lists").contains(&file), "the last reader's leave removes the file");
}

#[test]
fn compacting_leaves_one_segment_without_deleted_documents() {
    let (_directory, index) = new_index();
    for id in 0..10 {
        apply_one(&index, add(&[json!({"id": id, "n": id})])).expect("added");
    }
    apply(&index, &[delete(&["3", "4"]), update(&[json!({"id": 0, "m": 1})])]);
    let before = observe(&index.snapshot());
    assert!(index.snapshot().segments.len() > 1);
    index.compact(&AtomicBool::new(false)).expect("merges");
    let snapshot = index.snapshot();
    assert_eq!(observe(&snapshot), before);
    assert_eq!(snapshot.segments.len(), 1);
    assert_eq!(snapshot.segments[0].deleted_count(), 0);
    let cancelled = index.compact(&AtomicBool::new(true));
    assert!(cancelled.is_ok(), "nothing to do is nothing to cancel");
}

#[test]
fn background_merges_keep_segments_few_while_writers_go_on() {
    let directory = MemoryDirectory::default();
    let options = IndexOptions { background_merges: true, merge_limit: Arc::new(MergeLimit::new(1)), ..options() };
    let index = Index::create_in(Arc::new(directory), options).expect("empty directory");
    for id in 0..200 {
        apply(&index, &[add(&[json!({"id": id, "title": "some words"})]), delete(&[&(id / 2).to_string()])]);
    }
    index.wait_for_merges();
    let status = index.merge_status();
    assert_eq!((status.last_error, status.running.len()), (None, 0));
    // A starved merge thread finds more segments at a time.
    assert!(status.merge_count > 2, "{} merges", status.merge_count);
    let snapshot = index.snapshot();
    assert!(snapshot.segments.len() <= 12, "{} segments", snapshot.segments.len());
    // Id 0 went with the first batch, every other id is deleted by the batch of twice its number.
    let expected: Vec<String> = (100..200).map(|id: u32| id.to_string()).collect();
    assert_eq!(ids(&index), expected);
    assert_eq!(snapshot.field_distribution["title"], 100);
}

#[test]
fn one_process_at_a_time_and_a_place_that_is_free() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("films");
    assert!(matches!(Index::open(&path, options()), Err(IndexError::NotFound)));
    assert!(!path.exists(), "opening creates nothing");
    let index = Index::create(&path, options()).expect("free place");
    assert!(matches!(Index::open(&path, options()), Err(IndexError::Locked { .. })));
    apply_one(&index, add(&[json!({"id": 1, "title": "kept"})])).expect("added");
    drop(index);
    assert!(matches!(Index::create(&path, options()), Err(IndexError::AlreadyExists)));
    let index = Index::open(&path, options()).expect("opens");
    assert_eq!(ids(&index), ["1"]);
    index.verify().expect("whole");
}

#[test]
fn payload_files_are_read_in_pieces_by_all_threads() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let path = folder.path().join("payload");
    let text = "words of a sentence ".repeat(20);
    let lines: String =
        (0..30_000).map(|id| format!("{{\"id\":{id},\"title\":\"{text}\",\"n\":{}}}\n", id % 7)).collect();
    assert!(lines.len() > 12 << 20, "long enough for several rounds");
    std::fs::write(&path, &lines).expect("writes");
    let directory = MappedDirectory::open(folder.path().join("index")).expect("creates");
    let index = create(&directory);
    let upsert = |file: &std::path::Path| {
        Operation::Upsert(Upsert {
            payload: Payload::File(file.to_owned()),
            method: WriteMethod::Replace,
            primary_key: None,
            skip_creation: false,
        })
    };
    let expected = Outcome::Upserted { received: 30_000, indexed: 30_000 };
    assert_eq!(apply_one(&index, upsert(&path)).expect("added"), expected);
    assert_eq!(apply_one(&index, upsert(&path)).expect("replaced"), expected);
    let snapshot = index.snapshot();
    assert_eq!(snapshot.document_count(), 30_000);
    assert_eq!(snapshot.field_distribution["n"], 30_000);
    let some = snapshot.documents(12_344, 2);
    let json = snapshot.document(some[1]).expect("readable");
    assert!(json.starts_with(b"{\"id\":12345,"), "listings follow the payload");

    let broken = folder.path().join("broken");
    std::fs::write(&broken, format!("{lines}{{\"id\":\"not valid!\"}}\n")).expect("writes");
    let results = apply(&index, &[delete(&["7"]), upsert(&broken), delete(&["8"])]);
    assert!(results[0].is_ok());
    assert!(results[1].is_err());
    assert!(results[2].is_ok());
    assert_eq!(index.snapshot().document_count(), 29_998);
}

#[test]
fn a_linked_copy_is_an_index_of_its_own() {
    let folder = tempfile::tempdir().expect("temporary folder");
    let index = Index::create(&folder.path().join("original"), options()).expect("creates");
    apply(&index, &[add(&[json!({"id": 1}), json!({"id": 2})]), delete(&["1"])]);
    apply(&index, &[add(&[json!({"id": 3})])]);
    let snapshot = index.snapshot();
    let copy = folder.path().join("copy");
    std::fs::create_dir(&copy).expect("creates");
    snapshot.link_to(index.directory(), &copy).expect("links");
    apply(&index, &[Operation::Clear]);
    let copied = Index::open(&copy, options()).expect("opens");
    assert_eq!(observe(&copied.snapshot()), observe(&snapshot));
    copied.verify().expect("whole");
}

#[test]
fn a_document_takes_no_more_memory_than_the_limit_allows() {
    let options = IndexOptions { indexing_memory_bytes: 128 << 20, ..options() };
    let index = Index::create_in(Arc::new(MemoryDirectory::default()), options).expect("empty directory");
    let fields = |word: &dyn Fn(usize) -> usize| -> Value {
        let text = |field: usize| (0..5_000).map(|n| format!("{:x} ", word(field * 5_000 + n))).collect::<String>();
        (0..100).map(|field| (format!("f{field}"), Value::from(text(field)))).collect::<Map<_, _>>().into()
    };
    let with_id = |id: u32, mut document: Value| {
        document["id"] = id.into();
        document
    };
    let different = fields(&|n| n + 0x10_000);
    let same = fields(&|n| n % 100 + 0x10_000);
    let error = try_apply(&index, 0, &[add(&[with_id(1, same.clone()), with_id(2, different)])]).expect_err("too much");
    assert!(matches!(error, IndexError::DocumentMemory { bytes_max: 30_000_000..70_000_000 }), "{error:?}");
    assert_eq!(index.snapshot().document_count(), 0, "nothing is half done");
    let several: Vec<Value> = (0..3).map(|id| with_id(id, same.clone())).collect();
    assert!(apply(&index, &[add(&several)])[0].is_ok());
    assert_eq!(index.snapshot().document_count(), 3);
    assert_eq!(index.snapshot().segments.len(), 3, "each had a segment of its own");
}

#[test]
fn ids_that_do_not_fit_into_memory_are_planned_in_parts() {
    let directory = MemoryDirectory::default();
    let options = IndexOptions { indexing_memory_bytes: 2 << 20, ..options() };
    let index = Index::create_in(Arc::new(directory.clone()), options).expect("empty directory");
    let lines = |ids: std::ops::Range<u32>, tag: &str| -> String {
        ids.map(|id| format!("{{\"id\":{id},\"title\":\"{}\",\"tag\":\"{tag}\"}}\n", "long ".repeat(10))).collect()
    };
    let upsert = |lines: String, method: WriteMethod| {
        Operation::Upsert(Upsert {
            payload: Payload::Bytes(lines.into_bytes().into()),
            method,
            primary_key: None,
            skip_creation: false,
        })
    };
    // The second half comes twice: ids of parts already carried out are not counted again.
    let twice = lines(0..20_000, "a") + &lines(10_000..20_000, "b");
    let results = apply(&index, &[add(&[json!({"id": 5, "old": 1})]), upsert(twice.clone(), WriteMethod::Replace)]);
    assert!(matches!(results[1], Ok(Outcome::Upserted { received: 30_000, indexed: 20_000 })), "{:?}", results[1]);
    let snapshot = index.snapshot();
    assert!(snapshot.segments.len() > 2, "the memory was respected");
    assert_eq!(snapshot.document_count(), 20_000);
    let distribution = observe(&snapshot).field_distribution;
    assert_eq!(distribution.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [20_000; 3]);
    let last = snapshot.get_document("19999").expect("readable").expect("there");
    assert!(last.ends_with(b"\"tag\":\"b\"}"));
    assert_eq!(id_of(&documents(&snapshot)[0]), "5", "the first place is kept");

    // An unusable document at the very end undoes the parts before it.
    let files = directory.list().expect("lists").len();
    let broken = twice + "{\"id\":\"not valid!\"}\n";
    let results = apply(&index, &[delete(&["1"]), upsert(broken, WriteMethod::Update), delete(&["2"])]);
    assert!(matches!(results[1], Err(OperationError::Id(_))));
    assert_eq!(index.snapshot().document_count(), 19_998);
    assert_eq!(directory.list().expect("lists").len(), files);
}

#[test]
fn one_document_costs_three_syncs() {
    let directory = lamina_segment::storage::FaultyDirectory::new(lamina_segment::storage::Fault::None);
    let index = Index::create_in(Arc::new(directory.clone()), options()).expect("empty directory");
    apply_one(&index, add(&[json!({"id": 1, "title": "one"}), json!({"id": 2})])).expect("added");
    let before = directory.sync_count();
    apply_one(&index, add(&[json!({"id": 1, "title": "changed"})])).expect("replaced");
    assert_eq!(directory.sync_count() - before, 3, "segment, manifest, folder");
    apply_one(&index, delete(&["2"])).expect("deleted");
    assert_eq!(directory.sync_count() - before, 5, "manifest, folder");
}

#[test]
fn readers_never_see_half_of_a_batch() {
    let directory = MemoryDirectory::default();
    let options = IndexOptions { background_merges: true, ..options() };
    let index = Index::create_in(Arc::new(directory), options).expect("empty directory");
    let all = |version: u32| -> Operation {
        add(&(0..20).map(|id| json!({"id": id, "version": version})).collect::<Vec<_>>())
    };
    apply_one(&index, all(0)).expect("added");
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut snapshot_count = 0;
            while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                let found = documents(&index.snapshot());
                assert_eq!(found.len(), 20);
                assert!(found.windows(2).all(|pair| pair[0]["version"] == pair[1]["version"]), "{found:?}");
                snapshot_count += 1;
            }
            snapshot_count
        });
        for version in 1..100 {
            apply_one(&index, all(version)).expect("replaced");
        }
        is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(reader.join().expect("no panic") > 0);
    });
}

#[test]
fn the_callback_runs_when_nothing_is_left_to_merge() {
    static SEEN: AtomicUsize = AtomicUsize::new(usize::MAX);
    let when_merged = Some((|snapshot: &Snapshot| SEEN.store(snapshot.segments.len(), Relaxed)) as fn(&Snapshot));
    let options = IndexOptions { background_merges: true, when_merged, ..options() };
    let index = Index::create_in(Arc::new(MemoryDirectory::default()), options).expect("empty directory");
    apply_one(&index, add(&[json!({"id": 0})])).expect("added");
    assert_eq!(SEEN.load(Relaxed), usize::MAX, "nothing was merged");
    for id in 1..40 {
        apply_one(&index, add(&[json!({ "id": id })])).expect("added");
    }
    let patience = Instant::now() + Duration::from_secs(60);
    // It may have been called in between too.
    while index.snapshot().segments.len() > 10 || SEEN.load(Relaxed) != index.snapshot().segments.len() {
        assert!(Instant::now() < patience, "it was not called");
        // Between looks.
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn two_threads_leave_one_segment() {
    // Enough for dictionaries of languages too, which other tests may have read.
    let options = IndexOptions { indexing_memory_bytes: 1 << 30, ..options() };
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options).expect("empty directory");
    let text = "a quiet story about two people who share what they have ".repeat(8);
    let films: Vec<Value> = (0..8_000).map(|n| json!({"id": n, "title": format!("film {n}"), "text": text})).collect();
    apply(&index, &[add(&films)]);
    let snapshot = index.snapshot();
    assert_eq!(snapshot.segments.len(), 1, "of some four megabytes");
    assert_eq!(documents(&snapshot).len(), films.len());
}
