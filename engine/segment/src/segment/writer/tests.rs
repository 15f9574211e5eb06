//! Writers that are joined.

use super::*;
use crate::segment::SegmentReader;
use crate::segment::tests::{Doc, check_segment, docs, in_order, many_docs, write_segment};
use crate::storage::{Fault, FaultyDirectory, MemoryDirectory};
use proptest::prelude::*;

/// A thread more.
struct Scoped;

impl TwoThreads for Scoped {
    fn run<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> std::io::Result<(A, B)> {
        std::thread::scope(|scope| {
            let beside = scope.spawn(beside);
            let here = here();
            Ok((beside.join().unwrap(), here))
        })
    }
}

/// Two writers that get runs of the documents in turns, and are joined.
fn write_joined(directory: &dyn Directory, id: u64, docs: &[Doc], run_length: usize, is_swapped: bool) -> SegmentMeta {
    let options =
        SegmentWriterOptions { column_fields: vec![40], list_thresholds: ListThresholds::SMALL, ..Default::default() };
    let mut writers = [SegmentWriter::new(options.clone()), SegmentWriter::new(options)];
    for (number, run) in docs.chunks(run_length).enumerate() {
        let writer = &mut writers[number % 2];
        for doc in run {
            doc.write(writer);
            writer.end_document();
        }
        writer.end_run();
    }
    let [mut first, mut second] = writers;
    if is_swapped {
        std::mem::swap(&mut first, &mut second);
    }
    assert!(first.can_join(&second));
    first.finish_joined(second, &Scoped, &NEVER, directory, SegmentId(id)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_two_writers_have_reads_back_as_one_segment(docs in docs(9..40), run_length in 1usize..8, is_swapped: bool) {
        let directory = MemoryDirectory::new();
        let meta = write_joined(&directory, 7, &docs, run_length, is_swapped);
        let segment = SegmentReader::open(&directory, &meta).unwrap();
        check_segment(&segment, &in_order(&docs));
    }
}

#[test]
fn large_writers_are_joined() {
    let mut docs = many_docs(8_000);
    for (doc, number) in docs.iter_mut().zip(0u64..) {
        let words = (0..60).map(|i| format!("word{:03}", (number * 7919 + i * i * 31) % 997));
        doc.json = format!("{{\"id\":{number},\"text\":\"{}\"}}", words.collect::<Vec<_>>().join(" "));
    }
    let alone = [3_000, 8_000].map(|count| (count, write_segment(&MemoryDirectory::new(), 2, &docs[..count])));
    // Enough for a dictionary in each of the two, in the first only, in the second only, and in both together.
    for (run_length, count, is_swapped) in
        [(256, 8_000, false), (6_000, 8_000, false), (6_000, 8_000, true), (1_500, 3_000, false)]
    {
        let (directory, docs) = (MemoryDirectory::new(), &docs[..count]);
        let meta = write_joined(&directory, 1, docs, run_length, is_swapped);
        let segment = SegmentReader::open(&directory, &meta).unwrap();
        check_segment(&segment, &docs.iter().collect::<Vec<_>>());
        assert!(segment.store().has_dictionary());
        let (_, alone) = alone.iter().find(|(of, _)| *of == count).expect("both counts are there");
        assert_eq!((meta.term_count, meta.token_count), (alone.term_count, alone.token_count));
        assert_eq!(meta.raw_bytes, alone.raw_bytes);
        assert!(meta.file.bytes <= alone.file.bytes * 102 / 100, "{} {}", meta.file.bytes, alone.file.bytes);
    }
}

#[test]
fn a_document_that_two_writers_have_is_that_of_the_one_taken_in() {
    let directory = MemoryDirectory::new();
    let (old, mut new) = (many_docs(9), many_docs(4));
    new.iter_mut().for_each(|doc| doc.json = "{\"new\":true}".to_owned());
    let [first, second] = [&old, &new].map(|docs| {
        let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
        docs.iter().for_each(|doc| {
            doc.write(&mut writer);
            writer.end_document();
        });
        writer
    });
    let meta = first.finish_joined(second, &Scoped, &NEVER, &directory, SegmentId(1)).unwrap();
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    check_segment(&segment, &new.iter().chain(&old[4..]).collect::<Vec<_>>());
}

#[test]
fn a_writer_with_vectors_is_not_joined() {
    let mut with_vectors = SegmentWriter::new(SegmentWriterOptions::default());
    with_vectors.vectors("default", VectorShape { dimensions: 2, binary: false });
    let without = SegmentWriter::new(SegmentWriterOptions::default());
    assert!(!with_vectors.can_join(&without));
    assert!(!without.can_join(&with_vectors));
}

#[test]
fn a_full_disk_stops_both_threads_that_finish_a_segment() {
    let docs = many_docs(6_000);
    let mut writes = 0;
    loop {
        let directory = FaultyDirectory::new(Fault::NoSpaceAtWrite(writes));
        let options = SegmentWriterOptions { list_thresholds: ListThresholds::SMALL, ..Default::default() };
        let [first, second] = [&docs[..3_000], &docs[3_000..]].map(|docs| {
            let mut writer = SegmentWriter::new(options.clone());
            docs.iter().for_each(|doc| {
                doc.write(&mut writer);
                writer.end_document();
            });
            writer
        });
        match first.finish_joined(second, &Scoped, &NEVER, &directory, SegmentId(1)) {
            Err(refused) => assert!(matches!(refused, SegmentError::Io { .. }), "{refused}"),
            Ok(_) => break,
        }
        writes += 1;
    }
    assert!(writes > 3, "{writes}");
}
