//! A merged segment equals one that was written from the same documents.

use super::*;
use crate::bits::DocSet;
use crate::segment::tests::{Doc, check_segment, docs, in_order, many_docs, small_lists, write_segment};
use crate::storage::{Fault, FaultyDirectory, MemoryDirectory};
use proptest::prelude::*;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

/// Writes the parts, deletes some documents, merges, and compares with the documents that stay.
fn check_merge(parts: &[Vec<Doc>], is_deleted: impl Fn(&Doc) -> bool) -> SegmentMeta {
    let directory = MemoryDirectory::new();
    let metas: Vec<SegmentMeta> = parts.iter().zip(1..).map(|(docs, id)| write_segment(&directory, id, docs)).collect();
    let segments: Vec<SegmentReader> =
        metas.iter().map(|meta| SegmentReader::open(&directory, meta).unwrap()).collect();
    let deleted: Vec<DocSet> = parts
        .iter()
        .map(|docs| in_order(docs).iter().zip(0..).filter(|(doc, _)| is_deleted(doc)).map(|(_, n)| n).collect())
        .collect();
    let inputs: Vec<MergeInput<'_>> = segments
        .iter()
        .zip(&deleted)
        .map(|(segment, deleted)| MergeInput { segment, deleted: Some(deleted) })
        .collect();
    let merged = merge(&inputs, &directory, SegmentId(99_999), &small_lists()).unwrap();
    let all: Vec<Doc> = parts.iter().flatten().filter(|doc| !is_deleted(doc)).cloned().collect();
    let expected = in_order(&all);
    let meta = merged.meta.expect("some documents stay");
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    check_segment(&segment, &expected);
    assert_eq!(meta.raw_bytes, expected.iter().map(|doc| doc.json.len() as u64).sum::<u64>());
    for ((docs, map), deleted) in parts.iter().zip(&merged.doc_maps).zip(&deleted) {
        for (old, doc) in in_order(docs).iter().enumerate() {
            let new = map.get(old as u32);
            assert_eq!(new.is_none(), deleted.contains(old as u32));
            assert!(new.is_none_or(|new| expected[new as usize].key == doc.key));
        }
    }
    meta
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn merging_equals_writing(docs in docs(4..60), assigned in prop::collection::vec(0usize..4, 60), deleted in 1u64..9) {
        let mut parts: Vec<Vec<Doc>> = vec![Vec::new(); 4];
        docs.into_iter().zip(assigned).for_each(|(doc, part)| parts[part].push(doc));
        parts.retain(|part| !part.is_empty());
        let first = parts[0][0].id;
        check_merge(&parts, |doc| doc.id != first && doc.id % (deleted + 2) == 0);
    }
}

#[test]
fn large_segments_merge() {
    let docs = many_docs(5_000);
    let parts: Vec<Vec<Doc>> = docs.chunks(2_000).map(<[Doc]>::to_vec).collect();
    check_merge(&parts, |_| false);
    check_merge(&parts, |doc| doc.id % 10 == 0);
    // Interleaved in chunks, as threads that share one payload leave them.
    let mut parts = vec![Vec::new(); 3];
    docs.chunks(500).enumerate().for_each(|(i, chunk)| parts[i % 3].extend_from_slice(chunk));
    check_merge(&parts, |doc| doc.id == 2_500);
}

#[test]
fn keys_that_are_numbers_merge_with_others() {
    let numbers = many_docs(500);
    let mut texts = many_docs(500);
    texts.iter_mut().for_each(|doc| (doc.id, doc.key) = (doc.id + 10_000, format!("k{}", doc.key)));
    check_merge(&[numbers.clone(), texts.clone()], |_| false);
    check_merge(&[texts[..200].to_vec(), numbers[..100].to_vec(), texts[200..].to_vec()], |doc| doc.id % 4 == 0);
    // Those that are left are numbers again, but a merge looks at all.
    check_merge(&[texts, numbers], |doc| doc.id >= 10_000);
}

#[test]
fn single_documents_merge_into_full_blocks() {
    let docs = many_docs(300);
    let parts: Vec<Vec<Doc>> = docs.iter().map(|doc| vec![doc.clone()]).collect();
    let merged = check_merge(&parts, |_| false);
    let written = write_segment(&MemoryDirectory::new(), 1, &docs);
    assert!(merged.file.bytes < written.file.bytes * 11 / 10, "{} {}", merged.file.bytes, written.file.bytes);
}

#[test]
fn nothing_left() {
    let directory = MemoryDirectory::new();
    let meta = write_segment(&directory, 1, &many_docs(3));
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    let deleted = DocSet::full(3);
    let inputs = [MergeInput { segment: &segment, deleted: Some(&deleted) }];
    let merged = merge(&inputs, &directory, SegmentId(2), &small_lists()).unwrap();
    assert!(merged.meta.is_none());
    assert_eq!(merged.doc_maps[0].get(0), None);
    assert_eq!(directory.list().unwrap().len(), 1);
}

#[test]
fn the_later_input_wins() {
    let directory = MemoryDirectory::new();
    let old = many_docs(6);
    let mut new = many_docs(6);
    new.retain(|doc| doc.id % 4 == 0);
    new.iter_mut().for_each(|doc| doc.json = "{\"new\":true}".to_owned());
    let metas = [write_segment(&directory, 1, &old), write_segment(&directory, 2, &new)];
    let segments = metas.map(|meta| SegmentReader::open(&directory, &meta).unwrap());
    let inputs = segments.each_ref().map(|segment| MergeInput { segment, deleted: None });
    let merged = merge(&inputs, &directory, SegmentId(3), &small_lists()).unwrap();
    let merged = SegmentReader::open(&directory, &merged.meta.unwrap()).unwrap();
    let expected: Vec<&Doc> = old.iter().map(|doc| new.iter().find(|n| n.id == doc.id).unwrap_or(doc)).collect();
    check_segment(&merged, &expected);
}

#[test]
fn columns_of_any_input_stay_unless_dropped() {
    let directory = MemoryDirectory::new();
    let docs = many_docs(20);
    let mut without = docs[10..].to_vec();
    without.iter_mut().for_each(|doc| {
        doc.values.retain(|value| value.0 != 11);
        doc.point = None;
    });
    let metas = [write_segment(&directory, 1, &docs[..10]), write_segment(&directory, 2, &without)];
    let segments = metas.map(|meta| SegmentReader::open(&directory, &meta).unwrap());
    let inputs = segments.each_ref().map(|segment| MergeInput { segment, deleted: None });
    let options = MergeOptions { drop_columns: vec![12], ..small_lists() };
    let meta = merge(&inputs, &directory, SegmentId(3), &options).unwrap().meta.unwrap();
    assert_eq!(meta.column_fields, [10, 11, 40]);
    assert!(meta.geo);
    assert!(meta.shapes);
    let options = MergeOptions { drop_geo: true, drop_shapes: true, ..options };
    let meta = merge(&inputs, &directory, SegmentId(4), &options).unwrap().meta.unwrap();
    assert!(!meta.geo);
    assert!(!meta.shapes);
}

#[test]
fn a_cancelled_or_failed_merge_leaves_no_file() {
    let directory = FaultyDirectory::new(Fault::None);
    let docs = many_docs(2_000);
    let metas = [write_segment(&directory, 1, &docs[..1_000]), write_segment(&directory, 2, &docs[1_000..])];
    let segments = metas.map(|meta| SegmentReader::open(&directory, &meta).unwrap());
    let inputs = segments.each_ref().map(|segment| MergeInput { segment, deleted: None });
    let flag = AtomicBool::new(true);
    let options = MergeOptions { cancelled: Some(&flag), ..small_lists() };
    let refused = merge(&inputs, &directory, SegmentId(3), &options).unwrap_err();
    assert!(matches!(refused, SegmentError::Cancelled));
    for step in 0..4 {
        directory.set_fault(Fault::NoSpaceAtWrite(step));
        let refused = merge(&inputs, &directory, SegmentId(3), &small_lists());
        if let Err(refused) = refused {
            assert!(matches!(refused, SegmentError::Io { .. }), "{refused}");
            assert_eq!(directory.list().unwrap().len(), 2);
        } else {
            assert!(step > 1, "the file takes more than one write");
            break;
        }
    }
}

/// The steps with their units and how many of them were reported.
#[derive(Debug, Default)]
struct Recorded(Mutex<Vec<(MergeStep, u64, u64)>>);

impl MergeWatch for Recorded {
    fn enter(&self, step: MergeStep, total: u64) {
        self.0.lock().unwrap().push((step, total, 0));
    }

    fn advance(&self, units: u64) {
        self.0.lock().unwrap().last_mut().unwrap().2 += units;
    }
}

#[test]
fn a_merge_reports_how_far_it_is() {
    let directory = MemoryDirectory::new();
    let docs = many_docs(2_000);
    let metas = [write_segment(&directory, 1, &docs[..1_500]), write_segment(&directory, 2, &docs[1_500..])];
    let segments = metas.map(|meta| SegmentReader::open(&directory, &meta).unwrap());
    let deleted = DocSet::from_sorted((0..100).collect());
    let mut inputs = segments.each_ref().map(|segment| MergeInput { segment, deleted: None });
    inputs[0].deleted = Some(&deleted);
    let recorded = Recorded::default();
    merge(&inputs, &directory, SegmentId(3), &MergeOptions { watch: Some(&recorded), ..small_lists() }).unwrap();
    let recorded = recorded.0.into_inner().unwrap();
    assert_eq!(recorded.iter().map(|(step, ..)| *step).collect::<Vec<_>>(), MergeStep::ALL);
    for (step, total, units) in &recorded {
        assert_eq!(total, units, "{step:?}");
        match step {
            MergeStep::Keys | MergeStep::Documents | MergeStep::Tokens => assert_eq!(*total, 1_900, "{step:?}"),
            MergeStep::Columns | MergeStep::Postings => assert!(*total > 0, "{step:?}"),
            MergeStep::Vectors => {}
        }
    }
}
