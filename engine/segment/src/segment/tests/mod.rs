//! Segments against a plain model: whatever is written reads back, from every section, before and after merging, and
//! damage is reported instead of a panic.

mod text;
mod values;

use super::*;
use crate::bits::{BitsetBuilder, DocSet};
use crate::document::{Part, Position, Shape};
use crate::storage::{Directory, MemoryDirectory};
use lamina_text::id::{FIRST_TERM, FieldId, GAP, Gap, HOLE, InternalId, SegmentId};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use text::check_text;
use values::{check_column, check_points, check_shapes};

/// A value of a column.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
    Null,
    Empty,
    Exists,
}

/// A document as the writer gets it. Words: `None` is the start of the next value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Doc {
    pub(super) id: InternalId,
    pub(super) key: String,
    pub(super) json: String,
    pub(super) words: Vec<(FieldId, Option<(String, Gap)>)>,
    pub(super) values: Vec<(FieldId, Value)>,
    pub(super) point: Option<(f64, f64)>,
}

/// A token as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Token {
    Gap,
    Hole,
    Word(String),
}

impl Doc {
    pub(super) fn write(&self, writer: &mut SegmentWriter) {
        writer.begin_document(self.id, &self.key, self.json.as_bytes());
        for (field, word) in &self.words {
            match word {
                Some((word, gap)) => writer.word(*field, word, *gap),
                None => writer.next_value(*field),
            }
        }
        for (field, value) in &self.values {
            match value {
                Value::Number(number) => writer.column_number(*field, *number),
                Value::Text(text) => writer.column_string(*field, &text.to_lowercase(), text),
                Value::Null => writer.column_null(*field),
                Value::Empty => writer.column_empty(*field),
                Value::Exists => writer.column_exists(*field),
            }
        }
        if let Some((lat, lng)) = self.point {
            writer.geo(lat, lng);
        }
        if let Some(shape) = self.shape() {
            writer.shape(&shape);
        }
    }

    /// A line that starts at the point.
    fn shape(&self) -> Option<Shape> {
        let (lat, lng) = self.point?;
        let line = vec![Position { x: lng, y: lat }, Position { x: lng + 1.0, y: lat + 2.0 }];
        Some(Shape { parts: vec![Part::Line(line)] })
    }

    /// The runs as the plan of the token column defines them.
    fn runs(&self) -> BTreeMap<FieldId, Vec<Token>> {
        let mut runs: BTreeMap<FieldId, Vec<Token>> = BTreeMap::new();
        let mut next_value = BTreeSet::new();
        for (field, word) in &self.words {
            let Some((word, gap)) = word else {
                next_value.insert(*field);
                continue;
            };
            let is_next_value = next_value.remove(field);
            let run = runs.entry(*field).or_default();
            if !run.is_empty() && (is_next_value || *gap == Gap::Hard) {
                run.push(Token::Gap);
            }
            run.push(if word.len() > 250 { Token::Hole } else { Token::Word(word.clone()) });
        }
        runs
    }
}

/// Merges as [`write_segment`] writes.
pub(super) fn small_lists() -> MergeOptions<'static> {
    MergeOptions { list_thresholds: ListThresholds::SMALL, ..MergeOptions::default() }
}

/// With small thresholds, so that some thousand documents have lists of every kind.
pub(super) fn write_segment(directory: &dyn Directory, id: u64, docs: &[Doc]) -> SegmentMeta {
    let mut writer = SegmentWriter::new(SegmentWriterOptions {
        column_fields: vec![40],
        list_thresholds: ListThresholds::SMALL,
        ..Default::default()
    });
    for doc in docs {
        doc.write(&mut writer);
        writer.end_document();
    }
    assert_eq!(writer.doc_count() as usize, docs.len());
    writer.finish(directory, SegmentId(id)).unwrap()
}

/// Documents in the order in which a segment holds them.
pub(super) fn in_order(docs: &[Doc]) -> Vec<&Doc> {
    let by_id: BTreeMap<InternalId, &Doc> = docs.iter().map(|doc| (doc.id, doc)).collect();
    by_id.into_values().collect()
}

/// Compares every section with the documents.
pub(super) fn check_segment(segment: &SegmentReader, docs: &[&Doc]) {
    segment.verify().unwrap();
    assert_eq!(segment.doc_count() as usize, docs.len());
    check_documents(segment, docs);
    check_text(segment, docs);
    let fields: BTreeSet<FieldId> = docs.iter().flat_map(|doc| doc.values.iter().map(|v| v.0)).collect();
    for field in fields {
        check_column(&segment.columns().get(field).expect("a column for each field with values"), field, docs);
    }
    check_points(segment, docs);
    check_shapes(segment, docs);
}

fn check_documents(segment: &SegmentReader, docs: &[&Doc]) {
    let mut json = Vec::new();
    for (doc, expected) in docs.iter().enumerate() {
        let doc = doc as u32;
        assert_eq!(segment.internal_id(doc), expected.id);
        assert_eq!(segment.doc_of_internal_id(expected.id), Some(doc));
        assert_eq!(segment.keys().get(expected.key.as_bytes()), Some(doc));
        segment.store().get(doc, &mut json).unwrap();
        assert_eq!(json, expected.json.as_bytes());
    }
    assert_eq!(segment.doc_of_internal_id(u64::MAX >> 8), None);
    assert_eq!(segment.keys().get(b"no such key"), None);
    assert!(segment.store().get(docs.len() as u32, &mut json).is_err());
    let mut seen = 0;
    let all = 0..docs.len() as u32;
    segment
        .store()
        .for_each(all, |doc, json| {
            assert_eq!(json, docs[doc as usize].json.as_bytes());
            seen += 1;
            Ok(())
        })
        .unwrap();
    assert_eq!(seen, docs.len());
}

pub(super) fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ab]{1,3}",
        2 => "[a-d]{2,5}",
        1 => "[é日本ß]{1,3}",
        1 => Just("x".repeat(251)),
        1 => Just("y".repeat(250)),
    ]
}

pub(super) fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-5i32..20).prop_map(|n| Value::Number(f64::from(n))),
        (-500i32..500).prop_map(|n| Value::Number(f64::from(n) / 100.0)),
        any::<i32>().prop_map(|n| Value::Number(f64::from(n) * 1e-17)),
        "[A-C]{1,2}|[a-zé]{0,4}".prop_map(Value::Text),
        Just(Value::Null),
        Just(Value::Empty),
        Just(Value::Exists),
    ]
}

pub(super) fn point() -> impl Strategy<Value = (f64, f64)> {
    prop_oneof![
        (-900i32..900, -1800i32..1800).prop_map(|(lat, lng)| (f64::from(lat) / 10.0, f64::from(lng) / 10.0)),
        (-90.0..90.0, -180.0..180.0f64),
    ]
}

fn doc() -> impl Strategy<Value = Doc> {
    let words = prop::collection::vec(
        (0u16..5, prop::option::weighted(0.9, (word(), prop_oneof![3 => Just(Gap::Soft), 1 => Just(Gap::Hard)]))),
        0..25,
    );
    let values = prop::collection::vec((10u16..13, value()), 0..5);
    ("[ -~]{0,80}", words, values, prop::option::of(point())).prop_map(|(text, words, values, point)| Doc {
        json: format!("{{\"text\":\"{text}\"}}"),
        words,
        values,
        point,
        ..Doc::default()
    })
}

/// Documents with distinct internal ids in a random order.
pub(super) fn docs(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Doc>> {
    prop::collection::vec((doc(), any::<u32>()), count).prop_map(|docs| {
        let mut docs: Vec<(Doc, u32)> = docs;
        let are_numbers = docs.len().is_multiple_of(3);
        for (number, (doc, _)) in docs.iter_mut().enumerate() {
            doc.id = 1000 + 3 * number as u64;
            doc.key = if are_numbers { (number * 7919 % 1009).to_string() } else { format!("key-{number}") };
        }
        if docs.len().is_multiple_of(2) {
            docs.sort_by_key(|entry| entry.1);
        }
        docs.into_iter().map(|entry| entry.0).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn what_is_written_reads_back(docs in docs(1..40)) {
        let directory = MemoryDirectory::new();
        let meta = write_segment(&directory, 7, &docs);
        let segment = SegmentReader::open(&directory, &meta).unwrap();
        check_segment(&segment, &in_order(&docs));
    }
}

/// Documents enough for dense lists, several blocks, dictionaries and prefix unions.
pub(super) fn many_docs(count: u64) -> Vec<Doc> {
    (0..count)
        .map(|n| {
            let mut words = Vec::new();
            for i in 0..n % 7 + 1 {
                words.push((1, Some((format!("a{}", (n * i) % 300), Gap::Soft))));
                words.push(((i % 3) as u16, Some((format!("b{i}"), if i == 3 { Gap::Hard } else { Gap::Soft }))));
            }
            words.push((2, Some((format!("unique{n}"), Gap::Soft))));
            // Both pairs of three frequent words, and mostly the three in a row.
            let row: &[&str] = if n % 4 == 1 { &["t0", "t1", "u", "t1", "t2"] } else { &["t0", "t1", "t2", "u"] };
            // Some have the first near the last.
            let again = (n % 40 == 3).then_some("t0");
            let row = row.iter().copied().filter(|_| n % 8 > 0).chain(again);
            words.extend(row.map(|word| (3, Some((word.to_owned(), Gap::Soft)))));
            let values = vec![
                (10, Value::Number((n % 97) as f64 / 10.0)),
                (11, Value::Text(if n % 2 == 0 { "Even" } else { "odd" }.to_owned())),
                (12, Value::Number(n as f64)),
                (12, Value::Number((n / 2) as f64)),
            ];
            let point = (n % 3 != 0).then(|| ((n % 170) as f64 - 85.0, (n * 7 % 360) as f64 - 180.0));
            let json = format!("{{\"id\":{n},\"text\":\"the quick brown fox number {n} of {count}\",\"x\":{}}}", n * n);
            Doc { id: n * 2, key: n.to_string(), json, words, values, point }
        })
        .collect()
}

#[test]
fn a_large_segment_reads_back() {
    let directory = MemoryDirectory::new();
    let docs = many_docs(15_000);
    let meta = write_segment(&directory, 1, &docs);
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    check_segment(&segment, &docs.iter().collect::<Vec<_>>());
    assert!(segment.store().has_dictionary(), "more than a megabyte of documents");
    assert!(segment.postings().union_prefixes().next().is_some(), "b is a crowded prefix");
    assert!(segment.columns().get(40).is_some(), "a planned column exists without values");
}

#[test]
fn texts_that_are_no_json_are_kept() {
    let directory = MemoryDirectory::new();
    let mut docs = many_docs(3000);
    // One as it stands for a piece, two in a row, one of many blocks.
    for (number, doc) in docs.iter_mut().enumerate() {
        doc.json = match number % 1000 {
            7 => "\u{1}".to_owned(),
            500 | 501 => format!("{{\"a\":\"{}\"}}", "\u{2}b".repeat(number)),
            _ => {
                format!("{{\"id\":{number},\"text\":\"{}\",\"x\":null}}", format!("word {} ", number * 7919).repeat(40))
            }
        };
    }
    let expected: Vec<&Doc> = docs.iter().collect();
    let meta = write_segment(&directory, 1, &docs);
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    assert!(segment.store().has_dictionary());
    check_segment(&segment, &expected);
    let deleted = DocSet::from_sorted(vec![8, 502]);
    let inputs = [MergeInput { segment: &segment, deleted: Some(&deleted) }];
    let merged = merge(&inputs, &directory, SegmentId(2), &small_lists()).unwrap().meta.unwrap();
    let merged = SegmentReader::open(&directory, &merged).unwrap();
    let left = expected.iter().enumerate().filter(|(number, _)| ![8, 502].contains(number));
    check_segment(&merged, &left.map(|(_, doc)| *doc).collect::<Vec<_>>());
}

#[test]
fn long_documents_read_back() {
    let directory = MemoryDirectory::new();
    // Few words, so that many places agree in part, and words of every class; fields end at any place of a byte.
    let word = |doc: u64, at: u64| match (doc * 31 + at * at * 7 + at) % 11 {
        rare @ 0 => format!("r{rare}{doc}{at}"),
        common => format!("c{}", common / 3),
    };
    let docs: Vec<Doc> = (0..120)
        .map(|doc| Doc {
            id: doc,
            key: doc.to_string(),
            words: (0..3)
                .flat_map(|field| (0..(doc * 7 + u64::from(field) * 13) % 97).map(move |at| (field, at)))
                .map(|(field, at)| {
                    let gap = if at % 29 == 28 { Gap::Hard } else { Gap::Soft };
                    (field, Some((word(doc, at + 100 * u64::from(field)), gap)))
                })
                .collect(),
            ..Doc::default()
        })
        .collect();
    let meta = write_segment(&directory, 1, &docs);
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    check_segment(&segment, &docs.iter().collect::<Vec<_>>());
}

#[test]
fn shuffled_documents_are_sorted() {
    let directory = MemoryDirectory::new();
    let mut docs = many_docs(3_000);
    docs.sort_by_key(|doc| doc.id.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let meta = write_segment(&directory, 1, &docs);
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    check_segment(&segment, &in_order(&docs));
}

#[test]
fn the_later_document_of_an_internal_id_wins() {
    let directory = MemoryDirectory::new();
    let mut docs = many_docs(10);
    docs.extend(many_docs(20).into_iter().rev().filter(|doc| doc.id % 3 == 0));
    let meta = write_segment(&directory, 1, &docs);
    check_segment(&SegmentReader::open(&directory, &meta).unwrap(), &in_order(&docs));
}

#[test]
fn positions_past_the_limit_are_not_written() {
    let directory = MemoryDirectory::new();
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    writer.begin_document(1, "1", b"{}");
    for _ in 0..70_000 {
        writer.word(3, "again", Gap::Soft);
    }
    writer.word(4, "other", Gap::Soft);
    writer.end_document();
    let meta = writer.finish(&directory, SegmentId(1)).unwrap();
    let segment = SegmentReader::open(&directory, &meta).unwrap();
    segment.verify().unwrap();
    assert_eq!(segment.tokens().doc(0).field(3).unwrap().len(), 65_536);
    assert_eq!(segment.tokens().doc(0).field(4).unwrap().len(), 1);
}

#[test]
fn two_documents_with_one_key_are_refused() {
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    for id in 0..2 {
        writer.begin_document(id, "same", b"{}");
        writer.end_document();
    }
    let refused = writer.finish(&MemoryDirectory::new(), SegmentId(1)).unwrap_err();
    assert!(matches!(refused, SegmentError::DuplicateKey { key } if key == "same"));
    let mut writer = SegmentWriter::new(SegmentWriterOptions::default());
    for (id, key) in ["8", "7", "8"].into_iter().enumerate() {
        writer.begin_document(id as u64, key, b"{}");
        writer.end_document();
    }
    let refused = writer.finish(&MemoryDirectory::new(), SegmentId(1)).unwrap_err();
    assert!(matches!(refused, SegmentError::DuplicateKey { key } if key == "8"));
}

#[test]
fn columns_can_be_added() {
    let directory = MemoryDirectory::new();
    let docs = many_docs(2_000);
    let mut meta = write_segment(
        &directory,
        5,
        &docs.iter().map(|doc| Doc { values: vec![], point: None, ..doc.clone() }).collect::<Vec<_>>(),
    );
    assert!(!meta.has_column(10));
    assert!(!meta.has_geo());
    for (fields, geo) in [(vec![10, 11], false), (vec![12], true)] {
        let mut writer = ColumnFileWriter::new(&fields, geo);
        if geo {
            writer = writer.with_shapes();
        }
        for doc in &docs {
            writer.begin_document();
            for (field, value) in doc.values.iter().filter(|v| fields.contains(&v.0)) {
                match value {
                    Value::Number(number) => writer.column_number(*field, *number),
                    Value::Text(text) => writer.column_string(*field, &text.to_lowercase(), text),
                    _ => unreachable!("many_docs has numbers and texts"),
                }
            }
            if let Some((lat, lng)) = doc.point.filter(|_| geo) {
                writer.geo(lat, lng);
            }
            if let Some(shape) = doc.shape().filter(|_| geo) {
                writer.shape(&shape);
            }
        }
        let added = writer.finish(&directory, &meta, 0).unwrap();
        meta.column_files.push(added);
    }
    assert_eq!(directory.list().unwrap().len(), 3);
    assert!(meta.has_column(10));
    assert!(meta.has_column(12));
    assert!(meta.has_geo());
    check_segment(&SegmentReader::open(&directory, &meta).unwrap(), &docs.iter().collect::<Vec<_>>());
}

/// Checks that threads that add columns to the same segment at the same time get files with different names. The writer
/// and work done beside it both name files of a segment.
#[test]
fn columns_that_are_added_at_the_same_time_get_files_of_their_own() {
    let directory = MemoryDirectory::new();
    let meta = write_segment(&directory, 5, &many_docs(3));
    let (threads, rounds) = (4, 200);
    let start = std::sync::Barrier::new(threads);
    let add = || {
        start.wait();
        let mut writer = ColumnFileWriter::new(&[10], false);
        (0..meta.doc_count).for_each(|_| writer.begin_document());
        writer.finish(&directory, &meta, 0).map(|added| added.file.name)
    };
    let names: Vec<String> = std::thread::scope(|scope| {
        let adding: Vec<_> =
            (0..threads).map(|_| scope.spawn(|| (0..rounds).map(|_| add()).collect::<Vec<_>>())).collect();
        adding.into_iter().flat_map(|thread| thread.join().unwrap()).map(Result::unwrap).collect()
    });
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), threads * rounds);
    assert_eq!(directory.list().unwrap().len(), 1 + threads * rounds);
}
