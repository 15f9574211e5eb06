//! `repair`: each section of a segment is damaged in turn. What can be read is there afterwards, in the same order, and
//! answers are those of an index that never had the rest.

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_engine::filter::Filter;
use lamina_engine::index::repair::{ManifestFound, RepairOptions, RepairReport, repair};
use lamina_engine::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, SettingsPatch, Snapshot, Upsert, WriteMethod,
};
use lamina_engine::search::{SearchRequest, SearchResult, SemanticQuery, search, search_semantic};
use lamina_engine::storage::MemoryDirectory;
use serde_json::{Value, json};

fn options() -> IndexOptions {
    // One thread writes one segment a batch.
    IndexOptions { background_merges: false, indexing_threads: 1, ..IndexOptions::default() }
}

fn apply(index: &Index, operations: &[Operation]) {
    let results =
        index.apply(operations, CommitNote::new(1, |_| Vec::new()), &Progress::new(), &AtomicBool::new(false));
    for result in results.expect("a disk without faults") {
        result.expect("valid");
    }
}

fn upsert(documents: &[Value]) -> Operation {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    Operation::Upsert(Upsert {
        payload: Payload::Bytes(lines.into_bytes().into()),
        method: WriteMethod::Replace,
        primary_key: None,
        skip_creation: false,
    })
}

fn settings(patch: Value) -> Operation {
    let patch: SettingsPatch = serde_json::from_value(patch).expect("valid");
    Operation::Settings(Box::new(patch))
}

const NOUNS: [&str; 8] = ["river", "mountain", "harbour", "library", "station", "garden", "castle", "bridge"];

fn city(id: u64) -> Value {
    let (noun, other) = (NOUNS[(id % 8) as usize], NOUNS[(id * 5 / 8 % 8) as usize]);
    let mut document = json!({
        "id": format!("p{id}"),
        "title": format!("the {noun} of {other} {id}"),
        "text": format!("a {noun} in the {other}, {} of them, and a view to the {}", id * 31 % 1009, NOUNS[(id / 64 % 8) as usize]),
        "rating": id * 37 % 50,
        "tags": [noun, format!("level {}", id % 4)],
        "_geo": {"lat": (id * 13 % 120) as i64 - 60, "lng": (id * 29 % 300) as i64 - 150},
        "_vectors": {"own": [id % 7, id % 11, 1]},
    });
    if id.is_multiple_of(3) {
        let (west, south) = ((id % 100) as i64 - 50, (id % 60) as i64 - 30);
        let ring = [[west, south], [west + 2, south], [west + 2, south + 2], [west, south + 2], [west, south]];
        document["_geojson"] = json!({"type": "Polygon", "coordinates": [ring]});
    }
    document
}

fn first_settings() -> Operation {
    settings(json!({
        "filterableAttributes": ["tags", "_geo", "_geojson"],
        "sortableAttributes": ["title"],
        "embedders": {"own": {"source": "userProvided", "dimensions": 3}},
    }))
}

fn last_settings() -> Operation {
    settings(
        json!({"filterableAttributes": ["tags", "_geo", "_geojson", "rating"], "sortableAttributes": ["title", "rating"]}),
    )
}

/// Documents 0 to 599 in a segment with a column that was added, 600 to 619 in another; some are deleted, some replaced.
fn fill(index: &Index) {
    apply(index, &[Operation::SetPrimaryKey(Some("id".into())), first_settings()]);
    apply(index, &[upsert(&(0..600).map(city).collect::<Vec<_>>())]);
    apply(index, &[last_settings()]);
    apply(index, &[upsert(&(600..620).map(city).collect::<Vec<_>>())]);
    let deleted = (0..600).step_by(50).map(|id| format!("p{id}")).collect();
    apply(index, &[Operation::DeleteIds(deleted), upsert(&[city(7), city(77)])]);
}

fn ids(snapshot: &Snapshot) -> Vec<String> {
    let id = |address| {
        let document: Value = serde_json::from_slice(&snapshot.document(address).unwrap()).unwrap();
        document["id"].as_str().unwrap().to_owned()
    };
    snapshot.documents(0, u64::MAX).into_iter().map(id).collect()
}

/// An index that never had other documents, in the same order.
fn reference(kept: &[String]) -> Index {
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), options()).unwrap();
    apply(&index, &[Operation::SetPrimaryKey(Some("id".into())), first_settings(), last_settings()]);
    let documents: Vec<Value> = kept.iter().map(|id| city(id[1..].parse().unwrap())).collect();
    apply(&index, &[upsert(&documents)]);
    index
}

fn hits(snapshot: &Snapshot, result: &SearchResult) -> (u64, Vec<Vec<u8>>) {
    (result.total, result.hits.iter().map(|hit| snapshot.document(hit.address).unwrap()).collect())
}

fn answers(snapshot: &Snapshot) -> Vec<(u64, Vec<Vec<u8>>)> {
    let texts = ["river", "mountian", "the castle", "\"view to the bridge\"", "li", "of river 7"];
    let mut requests: Vec<SearchRequest> = texts
        .iter()
        .map(|text| SearchRequest { query: Some((*text).to_owned()), ..SearchRequest::default() })
        .collect();
    let filters = [
        "tags = castle AND rating > 20",
        "rating < 7",
        "_geoRadius(0, 0, 3000000)",
        "_geoPolygon([-5, -5], [-5, 5], [5, 5], [5, -5])",
    ];
    requests.extend(filters.iter().map(|text| SearchRequest {
        filter: Filter::parse(text).unwrap(),
        limit: 1000,
        ..SearchRequest::default()
    }));
    let mut found: Vec<_> =
        requests.iter().map(|request| hits(snapshot, &search(snapshot, request).unwrap())).collect();
    let near = search_semantic(snapshot, &SearchRequest::default(), &SemanticQuery::new("own", vec![1.0, 2.0, 0.5]));
    found.push(hits(snapshot, &near.unwrap()));
    found
}

/// Kind and place of each section of a segment file.
fn sections(bytes: &[u8]) -> Vec<(u16, Range<usize>)> {
    let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) as usize;
    let footer = bytes.len() - 24;
    (u64_at(footer)..footer)
        .step_by(24)
        .map(|entry| {
            let kind = u16::from_le_bytes(bytes[entry..entry + 2].try_into().unwrap());
            (kind, u64_at(entry + 8)..u64_at(entry + 8) + u64_at(entry + 16))
        })
        .collect()
}

fn mend(folder: &Path, aside: Option<&Path>) -> RepairReport {
    repair(folder, RepairOptions { aside, memory_bytes: 64 << 20, progress: &|_| {} }).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Names and contents.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// Documents themselves; everything else is made of them, but for vectors.
const STORE: u16 = 20;
const VECTORS: u16 = 32;

#[test]
fn whatever_section_is_damaged_the_rest_is_there_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    fill(&Index::create(&whole, options()).unwrap());
    let all = ids(&Index::open(&whole, options()).unwrap().snapshot());
    assert_eq!(all.len(), 608);
    assert!(mend(&whole, None).is_sound());
    let mut seen = BTreeSet::new();
    for file in ["seg-0000000000000000.lam", "seg-0000000000000000-c1.lam"] {
        let bytes = fs::read(whole.join(file)).unwrap();
        for (kind, section) in sections(&bytes).into_iter().filter(|(_, section)| !section.is_empty()) {
            let place = format!("section {kind} of {file}");
            seen.insert(kind);
            let (damaged, aside) = (folder.path().join("damaged"), folder.path().join("aside"));
            copy(&whole, &damaged);
            let mut bytes = bytes.clone();
            bytes[section.start + section.len() / 2] ^= 0x10;
            fs::write(damaged.join(file), &bytes).unwrap();

            let before = files(&damaged);
            let expected = mend(&damaged, None);
            assert_eq!(files(&damaged), before, "{place}: nothing is changed unless it is asked for");
            let report = mend(&damaged, Some(&aside));
            assert_eq!(report, expected, "{place}: what is done was said before");
            let [segment] = &report.segments[..] else { panic!("{place}: {report:?}") };
            assert!(segment.damage.iter().any(|damage| damage.contains(file)), "{place}: {segment:?}");
            assert!(fs::read(aside.join(file)).unwrap() == bytes, "{place}: the damaged file is kept");
            assert_eq!(segment.lost_without_id, 0, "{place}");
            assert_eq!(segment.lost_vectors.is_empty(), kind != VECTORS, "{place}");
            if kind != STORE {
                assert_eq!(segment.lost_ids, [""; 0], "{place}: nothing is lost with what is made of documents");
            }
            assert!(kind != STORE || (1..200).contains(&segment.lost_ids.len()), "{place}: other blocks are read");

            let index = Index::open(&damaged, options()).unwrap();
            index.verify().unwrap();
            let snapshot = index.snapshot();
            let kept: Vec<String> = all.iter().filter(|id| !segment.lost_ids.contains(id)).cloned().collect();
            assert_eq!(ids(&snapshot), kept, "{place}");
            assert_eq!(report.document_count, kept.len() as u64, "{place}");
            let reference = reference(&kept).snapshot();
            let distribution = &reference.field_distribution;
            assert_eq!(&snapshot.field_distribution, distribution, "{place}");
            let (found, expected) = (answers(&snapshot), answers(&reference));
            let by_words_and_columns = found.len() - usize::from(kind == VECTORS);
            assert_eq!(found[..by_words_and_columns], expected[..by_words_and_columns], "{place}");
            // It goes on as if nothing had been.
            apply(&index, &[upsert(&[city(3)]), Operation::DeleteIds(vec!["p4".into()])]);
            index.compact(&AtomicBool::new(false)).unwrap();
            index.verify().unwrap();
            drop(index);
            fs::remove_dir_all(&damaged).unwrap();
            fs::remove_dir_all(&aside).unwrap();
            assert!(mend(&whole, None).is_sound());
        }
    }
    for kind in [1, 2, 3, 4, 5, 6, 8, 9, 10, 16, 17, 18, 20, 21, 24, 25, 32] {
        assert!(seen.contains(&kind), "section {kind} was damaged");
    }
}

#[test]
fn lists_of_frequent_words_are_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let index = Index::create(&whole, options()).unwrap();
    let document = |id: u64| json!({"id": id, "text": format!("the {} of {}", NOUNS[(id % 8) as usize], NOUNS[(id / 8 % 8) as usize])});
    apply(&index, &[upsert(&(0..4200).map(document).collect::<Vec<_>>())]);
    drop(index);
    let file = "seg-0000000000000000.lam";
    let bytes = fs::read(whole.join(file)).unwrap();
    let lists: Vec<_> =
        sections(&bytes).into_iter().filter(|(kind, section)| (7..16).contains(kind) && section.len() > 100).collect();
    assert!(lists.iter().any(|(kind, _)| *kind == 11), "the segment has pairs");
    for (kind, section) in lists {
        let damaged = folder.path().join(format!("section {kind}"));
        copy(&whole, &damaged);
        let mut bytes = bytes.clone();
        bytes[section.start + section.len() / 2] ^= 0x10;
        fs::write(damaged.join(file), &bytes).unwrap();
        let report = mend(&damaged, Some(&folder.path().join(format!("aside {kind}"))));
        assert_eq!((report.segments.len(), report.document_count), (1, 4200), "section {kind}");
        Index::open(&damaged, options()).unwrap().verify().unwrap();
    }
}

#[test]
fn a_lost_file_loses_its_documents_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let (index, aside) = (folder.path().join("index"), folder.path().join("aside"));
    fill(&Index::create(&index, options()).unwrap());
    fs::remove_file(index.join("seg-0000000000000001.lam")).unwrap();
    let report = mend(&index, Some(&aside));
    assert_eq!((report.segments[0].lost_without_id, report.document_count), (20, 588));
    let index = Index::open(&index, options()).unwrap();
    index.verify().unwrap();
    assert_eq!(index.snapshot().document_count(), 588);
}

#[test]
fn without_a_manifest_segments_say_what_they_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (path, aside) = (folder.path().join("index"), folder.path().join("aside"));
    fill(&Index::create(&path, options()).unwrap());
    let is_manifest = |path: &Path| path.file_name().unwrap().to_string_lossy().starts_with("manifest-");
    let manifest = files(&path).into_iter().map(|(path, _)| path).find(|path| is_manifest(path)).unwrap();
    let mut bytes = fs::read(&manifest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&manifest, bytes).unwrap();
    assert!(Index::open(&path, options()).is_err());
    let before = files(&path);
    let expected = mend(&path, None);
    assert_eq!(files(&path), before);
    let report = mend(&path, Some(&aside));
    assert_eq!(report, expected);
    let ManifestFound::Lost { primary_key, .. } = &report.manifest else { panic!("{report:?}") };
    assert_eq!(primary_key.as_deref(), Some("id"));
    assert!(aside.join(manifest.file_name().unwrap()).exists());
    let index = Index::open(&path, options()).unwrap();
    index.verify().unwrap();
    // What was deleted is there again, and each document once.
    let found: BTreeSet<String> = ids(&index.snapshot()).into_iter().collect();
    assert_eq!(found, (0..620).map(|id| format!("p{id}")).collect());
    assert_eq!(index.snapshot().document_count(), 620);
    apply(&index, &[upsert(&[city(1), city(10_000)])]);
    assert_eq!(index.snapshot().document_count(), 621);
}
