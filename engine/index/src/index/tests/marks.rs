//! The mark that a writer keeps with its documents.

use std::time::Duration;

use lamina_segment::storage::MemoryDirectory;
use serde_json::json;

use super::*;
use crate::index::{At, Marking, Selector};

fn marked(from: Option<&str>, to: &str, operation: Operation) -> Operation {
    Operation::Marked(Marking::Move { from: from.map(Arc::from), to: to.into() }, Box::new(operation))
}

fn mark(index: &Index) -> Option<String> {
    index.snapshot().mark.as_deref().map(str::to_owned)
}

fn all() -> Operation {
    Operation::DeleteMatching(Selector::new(|snapshot, _| {
        Ok(snapshot.segments.iter().map(|segment| segment.live_set()).collect())
    }))
}

#[test]
fn a_mark_is_kept_with_the_documents_of_its_writer() {
    let files = MemoryDirectory::new();
    let index = create(&files);
    apply_one(&index, marked(None, "a", add(&[json!({"id": 1})]))).expect("no mark is expected");
    apply_one(&index, marked(Some("a"), "a", update(&[json!({"id": 1, "b": 2})]))).expect("it stays");
    apply_one(&index, marked(Some("a"), "b", delete(&["7"]))).expect("it moves, also without a document");
    apply_one(&index, marked(Some("a"), "b", delete(&["7"]))).expect("a repetition");
    apply_one(&index, settings(json!({"sortableAttributes": ["b"]}))).expect("settings write no documents");
    apply_one(&index, Operation::Marked(Marking::Keep, Box::new(all()))).expect("what the index does by itself");
    assert_eq!(mark(&index).as_deref(), Some("b"));
    drop(index);
    let index = Index::open_in(Arc::new(files), options()).expect("opens");
    assert_eq!(mark(&index).as_deref(), Some("b"), "the manifest has it");
}

#[test]
fn who_does_not_know_the_mark_removes_it_and_who_expects_it_is_refused() {
    let values = || Operation::UpdateValues(payload(&[json!({"id": "1", "set": {"b": 2}})]));
    let foreign: [fn() -> Operation; 4] = [|| add(&[json!({"id": 2})]), || delete(&["1"]), all, || Operation::Clear];
    for write in foreign.into_iter().chain([values as fn() -> Operation]) {
        let index = create(&MemoryDirectory::new());
        apply_one(&index, marked(None, "a", add(&[json!({"id": 1, "b": 1})]))).expect("written");
        apply_one(&index, write()).expect("anyone may write");
        assert_eq!(mark(&index), None);
        let before = documents(&index.snapshot());
        for expecting in [add(&[json!({"id": 3})]), Operation::Clear] {
            match apply_one(&index, marked(Some("a"), "b", expecting)) {
                Err(OperationError::Mark { expected, present: None }) => assert_eq!(expected, "a"),
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(documents(&index.snapshot()), before);
    }
    // An operation that fails changes nothing, and in a batch each sees the mark after those before.
    let index = create(&MemoryDirectory::new());
    apply_one(&index, marked(None, "a", add(&[json!({"id": 1})]))).expect("written");
    apply_one(&index, add(&[json!({"id": {}})])).expect_err("no id");
    let results = apply(
        &index,
        &[
            marked(Some("a"), "b", add(&[json!({"id": 2})])),
            marked(Some("a"), "c", add(&[json!({"id": 3})])),
            marked(Some("b"), "c", add(&[json!({"id": 4})])),
        ],
    );
    assert_eq!(results.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!((mark(&index).as_deref(), documents(&index.snapshot()).len()), (Some("c"), 3));
}

#[test]
fn an_earlier_state_has_its_mark() {
    let files = MemoryDirectory::new();
    let keeping = IndexOptions { keep: Duration::from_secs(3600), ..options() };
    let index = Index::create_in(Arc::new(files), keeping).expect("new");
    apply_one(&index, marked(None, "a", add(&[json!({"id": 1})]))).expect("written");
    let first = index.snapshot().generation;
    apply_one(&index, marked(Some("a"), "b", add(&[json!({"id": 2})]))).expect("written");
    let note = CommitNote::new(9, |_| Vec::new());
    index.restore(At::Generation(first), note).expect("restored");
    assert_eq!(mark(&index).as_deref(), Some("a"), "its documents are those of that time");
}
