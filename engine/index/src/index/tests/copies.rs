//! Copies of an index give numbers of their own.

use std::path::Path;

use serde_json::json;

use super::super::{At, epoch_of, first_number, leave_numbers_to_original};
use super::*;

fn index(folder: &Path) -> Index {
    let index = Index::create(folder, IndexOptions::default()).expect("new");
    apply(&index, &[add(&[json!({"id": 1})])]);
    index
}

#[test]
fn a_clone_has_numbers_of_its_own() {
    let (one, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let options = IndexOptions::default();
    options.first_number.raise(first_number(3).expect("few writers"));
    let source = Index::create(one.path(), options).expect("new");
    source.clone_to(other.path(), "copy", 7).expect("linked");
    let clone = Index::open(other.path(), IndexOptions::default()).expect("an index").snapshot();
    assert_eq!((clone.contents(), &*clone.ancestors), (clone.generation, &[][..]));
    assert!(clone.generation.abs_diff(source.snapshot().generation) > 1);
    assert_eq!(epoch_of(clone.generation), 3, "the writer gave it");
}

#[test]
fn a_copy_goes_on_with_numbers_that_its_original_does_not_reach() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = index(folder.path()).snapshot();
    leave_numbers_to_original(folder.path()).expect("written");
    let copy = Index::open(folder.path(), IndexOptions::default()).expect("an index");
    let now = copy.snapshot();
    assert_eq!((now.contents(), now.committed_at()), (before.contents(), before.committed_at()), "the same state");
    assert!(now.generation > before.generation);
    apply(&copy, &[add(&[json!({"id": 2})])]);
    assert!(copy.snapshot().contents() > now.generation);
    for number in before.generation..before.generation + 3 {
        assert!(matches!(copy.generation(At::Generation(number)), Err(IndexError::GenerationNotFound { .. })));
    }
    assert_eq!(
        std::fs::read_dir(folder.path())
            .expect("a folder")
            .filter(|entry| {
                entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("manifest-"))
            })
            .count(),
        1
    );
}
