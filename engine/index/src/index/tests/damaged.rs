//! Indexes of which a segment cannot be used.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_segment::storage::MemoryDirectory;
use serde_json::{Value, json};

use super::*;

fn films(ids: std::ops::Range<u32>) -> Vec<Value> {
    ids.map(|id| json!({"id": id, "title": format!("film {id}")})).collect()
}

/// An index with segments of 20, 6 and 4 documents, of which two are deleted.
fn three_segments() -> MemoryDirectory {
    let directory = MemoryDirectory::new();
    let index = create(&directory);
    apply(&index, &[add(&films(0..20))]);
    apply(&index, &[add(&films(20..26))]);
    apply(&index, &[add(&films(26..30))]);
    apply(&index, &[delete(&["3", "21"])]);
    directory
}

/// Flips a bit of the first section of terms, which is compared when a segment is opened.
fn damage(directory: &MemoryDirectory, segment: u64) -> String {
    let name = format!("seg-{segment:016x}.lam");
    let bytes = directory.open_read(&name).unwrap().to_vec();
    directory.overwrite(&name, bytes[..bytes.len() - 100].to_vec());
    name
}

fn open(directory: &MemoryDirectory) -> Index {
    Index::open_in(Arc::new(directory.clone()), options()).unwrap()
}

#[test]
fn the_other_segments_answer_and_the_manifest_stays_what_it_was() {
    let directory = three_segments();
    let name = damage(&directory, 1);
    let before = directory.list().unwrap();
    let index = open(&directory);
    assert_eq!(directory.list().unwrap(), before);
    let snapshot = index.snapshot();
    let [damaged] = snapshot.damaged() else { panic!("one segment is damaged") };
    assert_eq!((damaged.damage().file.as_str(), damaged.damage().section, damaged.live_count()), (&*name, None, 5));
    assert_eq!((snapshot.document_count(), snapshot.readable_count()), (28, 23));
    assert!(snapshot.is_degraded());
    assert!(snapshot.check_searchable().is_ok());
    assert!(snapshot.check_whole().unwrap_err().to_string().contains(&name));
    assert!(snapshot.get_document("5").unwrap().is_some());
    assert!(snapshot.get_document("22").unwrap().is_none());
    assert!(index.verify().unwrap_err().to_string().contains(&name));
    assert!(matches!(index.compact(&AtomicBool::new(false)), Err(IndexError::DamagedSegment { .. })));

    // Nothing is written, not even what is new for certain, and the damaged segment is still named afterwards.
    let refused = apply(&index, &[add(&films(100..101)), delete(&["5"])]);
    assert!(refused.iter().all(|result| matches!(result, Err(OperationError::Damaged(_)))), "{refused:?}");
    drop((index, snapshot));
    let snapshot = open(&directory).snapshot();
    assert_eq!((snapshot.damaged().len(), snapshot.document_count()), (1, 28));
    assert!(directory.list().unwrap().contains(&name));
}

#[test]
fn half_of_the_documents_is_too_much_to_miss() {
    let directory = three_segments();
    damage(&directory, 0);
    let snapshot = open(&directory).snapshot();
    assert_eq!((snapshot.document_count(), snapshot.readable_count()), (28, 9));
    assert!(matches!(snapshot.check_searchable(), Err(IndexError::DamagedSegment { .. })));
}

#[test]
fn clearing_makes_an_index_whole() {
    let directory = three_segments();
    let name = damage(&directory, 0);
    let index = open(&directory);
    let results = apply(&index, &[Operation::Clear, add(&films(50..52))]);
    assert!(matches!(results[0], Ok(Outcome::Deleted { deleted: 28 })), "{results:?}");
    assert!(results[1].is_ok());
    let snapshot = index.snapshot();
    assert!(!snapshot.is_degraded());
    assert_eq!(snapshot.document_count(), 2);
    drop((index, snapshot));
    assert!(!directory.list().unwrap().contains(&name));
    open(&directory).verify().unwrap();
}

#[test]
fn lost_files_are_damage_too() {
    let directory = three_segments();
    directory.delete("seg-0000000000000002.lam").unwrap();
    let index = open(&directory);
    let snapshot = index.snapshot();
    assert_eq!((snapshot.damaged().len(), snapshot.readable_count()), (1, 24));
    assert_eq!(snapshot.damaged()[0].damage().file, "seg-0000000000000002.lam");
}

#[test]
fn a_format_of_the_future_is_no_damage() {
    let directory = three_segments();
    let name = "seg-0000000000000001.lam";
    let mut bytes = directory.open_read(name).unwrap().to_vec();
    bytes[8] = 200;
    directory.overwrite(name, bytes);
    let refused = Index::open_in(Arc::new(directory.clone()), options()).unwrap_err();
    assert!(refused.to_string().contains("format version 200"), "{refused}");
}

#[test]
fn damage_that_is_found_later_is_kept_aside() {
    let directory = three_segments();
    let index = open(&directory);
    let held = index.snapshot();
    let found = |reader: &lamina_segment::segment::SegmentReader| {
        (reader.meta().id == 2).then(|| {
            IndexError::Segment(lamina_segment::segment::SegmentError::Corrupt {
                file: reader.meta().file.name.clone(),
                section: "tokens",
                what: "a test says so",
            })
        })
    };
    index.set_aside(found);
    let snapshot = index.snapshot();
    assert_eq!((snapshot.damaged().len(), snapshot.readable_count(), held.readable_count()), (1, 24, 28));
    assert_eq!(snapshot.damaged()[0].damage().section, Some("tokens"));
    index.set_aside(found);
    assert_eq!(index.snapshot().damaged().len(), 1);
    apply(&index, &[Operation::SetPrimaryKey(Some("id".to_owned()))]);
    drop((index, snapshot, held));
    assert!(!open(&directory).snapshot().is_degraded(), "the manifest names it as before");
}
