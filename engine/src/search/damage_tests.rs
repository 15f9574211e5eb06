//! Flipped bits in every section of an index that has sections of all kinds: what is answered is right, or an error.
//!
//! `LAMINA_FLIPS` is the number of flips for each section and each round; CI has time for few.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use lamina_index::index::{Index, IndexError, IndexOptions, Operation, Payload, Snapshot, Upsert, verify_folder};
use lamina_segment::segment::ListThresholds;
use lamina_segment::storage::{Directory, MemoryDirectory};
use lamina_text::filter::Filter;
use serde_json::{Value, json};

use crate::search::{SearchRequest, SemanticQuery, search, search_semantic};
use crate::sort::SortCriterion;

const DOCUMENTS: u64 = 4500;
const FOOTER_BYTES: usize = 24;
const ENTRY_BYTES: usize = 24;
const DIMENSIONS: usize = 32;

fn options() -> IndexOptions {
    IndexOptions {
        indexing_memory_bytes: 256 << 20,
        indexing_threads: 2,
        background_merges: false,
        list_thresholds: ListThresholds::SMALL,
        // Damage in sections that are small is met by what reads them.
        compared_at_opening_max: 64,
        ..IndexOptions::default()
    }
}

fn add(documents: &[Value]) -> Operation {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    Operation::Upsert(Upsert::replacing(Payload::Bytes(lines.into_bytes().into())))
}

fn settings(json: Value) -> Operation {
    Operation::Settings(Box::new(serde_json::from_value(json).expect("valid patch")))
}

fn apply(index: &Index, operations: &[Operation]) {
    drop(index.write(operations).expect("a disk without faults"));
}

/// Returns kind and place of each section of a segment, as `segment-format.md` describes the table at the end of the file.
fn sections(bytes: &[u8]) -> Vec<(u16, Range<usize>)> {
    let number = |at: usize, length: usize| {
        bytes[at..at + length].iter().rev().fold(0, |all, &byte| all << 8 | usize::from(byte))
    };
    let footer = bytes.len() - FOOTER_BYTES;
    let (table, count) = (number(footer, 8), number(footer + 8, 4));
    (0..count)
        .map(|entry| table + entry * ENTRY_BYTES)
        .map(|at| (number(at, 2) as u16, number(at + 8, 8)..number(at + 8, 8) + number(at + 16, 8)))
        .collect()
}

fn vector(id: u64) -> Vec<f32> {
    let number = |place: u64| (id * 2_654_435_761 + place * 40_503) % 1009;
    (0..DIMENSIONS as u64).map(|place| number(place) as f32 / 504.5 - 1.0).collect()
}

/// Words that many documents have, in rows, beside such that few have.
fn document(id: u64) -> Value {
    let row = if id % 4 == 1 { "the best of the west" } else { "the best of west" };
    let again = if id % 40 == 3 { "the" } else { "" };
    let (rare, some) = (format!("rare{id}"), format!("some{}", id * 7 % 300));
    // Too long for a word, and long enough for a store that is worth a dictionary.
    let blob = format!("{id:0>260}");
    json!({
        "id": id,
        "title": format!("{row} {again} {rare}"),
        "text": format!("{some} book{} of bread and butter", id % 50),
        "year": 1900 + id % 97,
        "genre": if id.is_multiple_of(3) { "Drama" } else { "Noir" },
        "blob": blob,
        "_geo": {"lat": (id % 170) as f64 - 85.0, "lng": (id * 7 % 360) as f64 - 180.0},
        "_geojson": {"type": "Point", "coordinates": [(id % 170) as f64, (id % 80) as f64]},
        "_vectors": {"e": vector(id)},
    })
}

/// Each batch becomes one segment.
fn one_thread() -> IndexOptions {
    IndexOptions { indexing_threads: 1, ..options() }
}

/// An index of one segment with all kinds of sections, and a column file.
fn sound() -> MemoryDirectory {
    let directory = MemoryDirectory::new();
    let index = Index::create_in(Arc::new(directory.clone()), one_thread()).unwrap();
    let embedders = json!({"e": {"source": "userProvided", "dimensions": DIMENSIONS}});
    apply(
        &index,
        &[settings(json!({
            "filterableAttributes": ["year", "_geo", "_geojson"],
            "sortableAttributes": ["year", "_geo"],
            "embedders": embedders,
        }))],
    );
    apply(&index, &[add(&(0..DOCUMENTS).map(document).collect::<Vec<_>>())]);
    apply(&index, &[settings(json!({"filterableAttributes": ["year", "_geo", "_geojson", "genre"]}))]);
    assert_eq!(index.snapshot().segments.len(), 1);
    directory
}

/// Collects the answers of an index: `Err` where it reports damage.
fn answers(snapshot: &Snapshot) -> Vec<Result<String, IndexError>> {
    let words = |query: &str| SearchRequest { query: Some(query.to_owned()), limit: 30, ..SearchRequest::default() };
    let filtered =
        |filter: &str| SearchRequest { filter: Filter::parse(filter).unwrap(), limit: 30, ..SearchRequest::default() };
    let sorted = |sort: &str| SearchRequest {
        sort: vec![SortCriterion::parse(sort).unwrap()],
        limit: 30,
        ..SearchRequest::default()
    };
    let requests = [
        words("the best"),
        words("best of the west"),
        words("of west"),
        words("the"),
        words("\"the best of\""),
        words("the b"),
        words("rare77"),
        words("rare7"),
        words("raer4321"),
        words("some7 book7"),
        words("bread buter"),
        words("b"),
        words("west the"),
        filtered("year > 1950 AND year < 1960"),
        filtered("genre = Drama"),
        filtered("year IN [1901, 1955, 1977]"),
        filtered("_geoRadius(10, 10, 900000)"),
        filtered("_geoBoundingBox([20, 20], [0, 0])"),
        filtered("_geoPolygon([0,0],[0,60],[60,60],[60,0])"),
        sorted("year:asc"),
        sorted("year:desc"),
        sorted("_geoPoint(10,10):asc"),
    ];
    let found = |result: Result<crate::search::SearchResult, crate::search::SearchError>| match result {
        Ok(result) => Ok(format!("{:?} {}", result.hits, result.total)),
        Err(crate::search::SearchError::Damaged(error)) => Err(error),
        Err(other) => panic!("{other}"),
    };
    let mut answers: Vec<Result<String, IndexError>> =
        requests.iter().map(|request| found(search(snapshot, request))).collect();
    for id in [5, 1234, 4000] {
        let semantic = SemanticQuery::new("e", vector(id));
        answers.push(found(search_semantic(snapshot, &SearchRequest::default(), &semantic)));
    }
    let exact = SemanticQuery::new("e", vector(9));
    answers.push(found(search_semantic(snapshot, &filtered("year > 1980"), &exact)));
    let text = |json: Vec<u8>| String::from_utf8_lossy(&json).into_owned();
    for address in snapshot.documents(0, u64::MAX).into_iter().step_by(37) {
        answers.push(snapshot.document_with_vectors(address).map(text));
    }
    for id in [0u64, 17, 4499] {
        answers.push(snapshot.get_document(&id.to_string()).map(|json| text(json.unwrap_or_default())));
    }
    answers
}

/// Sections whose blocks are compared when they are read.
const IN_BLOCKS: [u16; 3] = [20, 32, 33];

/// Counts the answers that are errors if the index has this damaged file in place of the original. Fails if an answer
/// is wrong. Returns `None` if the index is not searchable.
fn errors(
    directory: &MemoryDirectory,
    scrubs: bool,
    right: &[Result<String, IndexError>],
    what: &str,
) -> Option<usize> {
    let index =
        Index::open_in(Arc::new(directory.clone()), options()).unwrap_or_else(|error| panic!("{what}: {error}"));
    let snapshot = index.snapshot();
    if snapshot.check_searchable().is_err() {
        return None;
    }
    if scrubs {
        let scrubbed = snapshot.scrub_next(None, &mut |_| true).expect("nothing was compared yet");
        assert!(!scrubbed.found.is_empty(), "{what} is not found");
        assert!(snapshot.scrub_next(None, &mut |_| true).is_none(), "once is enough");
    }
    let found = answers(&snapshot);
    assert_eq!(found.len(), right.len());
    for (place, (found, right)) in found.iter().zip(right).enumerate() {
        match found {
            Ok(found) => assert!(Ok(found) == right.as_ref().map_err(drop), "{what}: answer {place} is wrong"),
            Err(error) => assert!(matches!(error, IndexError::Segment(_)), "{what}: {error}"),
        }
    }
    if scrubs && snapshot.check_health().is_err() {
        index.set_damaged_aside();
        index.snapshot().check_searchable().expect_err("it is the only segment");
    }
    Some(found.iter().filter(|answer| answer.is_err()).count())
}

#[test]
fn a_flipped_bit_gives_right_answers_or_errors() {
    let flips: usize = std::env::var("LAMINA_FLIPS").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let directory = sound();
    let index = Index::open_in(Arc::new(directory.clone()), options()).unwrap();
    let right = answers(&index.snapshot());
    assert!(right.iter().all(Result::is_ok));
    drop(index);
    let (mut seen, mut refused) = (BTreeMap::new(), 0);
    for name in directory.list().unwrap().into_iter().filter(|name| name.starts_with("seg-")) {
        let whole = directory.open_read(&name).unwrap().to_vec();
        for (kind, section) in sections(&whole).into_iter().filter(|(_, section)| !section.is_empty()) {
            for flip in 0..flips {
                // Spread over the section, never twice the same bit.
                let at = section.start + section.len() * (2 * flip + 1) / (2 * flips);
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << (flip % 8);
                directory.overwrite(&name, damaged);
                let what = format!("byte {at} of section {kind} of {name}");
                if IN_BLOCKS.contains(&kind) {
                    errors(&directory, false, &right, &what);
                }
                let errors = errors(&directory, true, &right, &what);
                refused += usize::from(errors.is_none_or(|count| count == right.len()));
                *seen.entry(kind).or_insert(0) += 1;
            }
        }
        directory.overwrite(&name, whole);
    }
    let kinds: Vec<u16> = seen.keys().copied().collect();
    assert_eq!(kinds, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 20, 21, 22, 23, 27, 32, 33, 34, 35]);
    assert!(refused > seen.values().sum::<usize>() / 2, "{refused} of {seen:?}: the test shows little");
}

#[test]
fn verifying_finds_all_damage_of_an_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = Index::create(folder.path(), one_thread()).unwrap();
    apply(&index, &[add(&(0..300).map(document).collect::<Vec<_>>())]);
    apply(&index, &[add(&(300..400).map(document).collect::<Vec<_>>())]);
    drop(index);
    let verify = |deep| verify_folder(folder.path(), deep, &()).unwrap();
    for deep in [false, true] {
        let verified = verify(deep);
        assert_eq!((verified.damages.len(), verified.segment_count), (0, 2), "{:?}", verified.damages);
    }
    let mut files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.file_name().unwrap().to_str().unwrap().starts_with("seg-"));
    files.sort();
    // Three sections of two files.
    for (file, kinds) in files.iter().zip([&[5u16, 20][..], &[8]]) {
        let mut bytes = std::fs::read(file).unwrap();
        for (_, section) in sections(&bytes).into_iter().filter(|(kind, ..)| kinds.contains(kind)) {
            bytes[section.start] ^= 1;
        }
        std::fs::write(file, bytes).unwrap();
    }
    let said: Vec<String> = verify(true).damages.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    for section in ["postings", "store", "tokens"] {
        let named = |said: &&String| said.contains("seg-") && said.contains(&format!("section {section} "));
        assert_eq!(said.iter().filter(named).count(), 1, "{section}: {said:?}");
    }
    // Also of a file that is gone.
    std::fs::remove_file(&files[0]).unwrap();
    let said: Vec<String> = verify(false).damages.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("seg-"), "{said:?}");
    assert!(said[1].contains("tokens"), "{said:?}");
}
