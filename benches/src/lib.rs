//! What the criterion suites share: a corpus that ships with the repository, and indexes made of it.
//!
//! The corpus is the sample of 4,000 films, repeated under new ids until there are enough documents: real text with its
//! natural distribution of words, and no randomness, so two runs measure the same thing.

pub mod vectors;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};

/// Settings of the measurements on catalogue documents, as a client would send them.
pub const CORPUS_SETTINGS: &str = r#"{
    "searchableAttributes": ["title", "brand", "author", "category", "description", "sku"],
    "filterableAttributes": ["category", "tags", "brand", "price", "rating", "in_stock", "released", "_geo"],
    "sortableAttributes": ["price", "rating", "released", "reviews", "_geo"]
}"#;

/// `count` films as ndjson with the ids `0..count`.
pub fn films(count: usize) -> Vec<u8> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/sample/films.ndjson.zst");
    let sample = std::fs::read(sample).expect("the sample ships with the repository");
    let sample = zstd::decode_all(&sample[..]).expect("the sample is a zstd file");
    let text = String::from_utf8(sample).expect("the sample is text");
    let mut films = Vec::new();
    for (id, line) in text.lines().cycle().take(count).enumerate() {
        let (_, rest) = line.split_once(',').expect("a film begins with its id and goes on");
        writeln!(films, "{{\"id\":{id},{rest}").expect("a Vec takes everything");
    }
    films
}

/// The texts of the films: what a tokenizer is given.
pub fn overviews(count: usize) -> Vec<String> {
    let films = String::from_utf8(films(count)).expect("films are text");
    let overview = |line: &str| {
        let (_, rest) = line.split_once("\"overview\":\"")?;
        Some(rest.split_once("\",\"")?.0.to_owned())
    };
    films.lines().filter_map(overview).collect()
}

/// An empty index without background merges, so that what is measured is what was asked for.
pub fn new_index(folder: &Path) -> Index {
    let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
    Index::create(folder, options).expect("the folder is empty")
}

/// Adds the documents in one commit.
pub fn add(index: &Index, batch: u64, ndjson: &[u8]) {
    let upsert = Upsert {
        payload: Payload::Bytes(ndjson.into()),
        method: WriteMethod::Replace,
        primary_key: Some("id".into()),
        skip_creation: false,
    };
    let note = CommitNote::new(batch, |_| Vec::new());
    let results = index
        .apply(&[Operation::Upsert(upsert)], note, &Progress::new(), &AtomicBool::new(false))
        .expect("a batch of films commits");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}

/// Changes settings in one commit; `patch` is their public JSON.
pub fn set(index: &Index, batch: u64, patch: &str) {
    let patch = serde_json::from_str(patch).expect("the settings are valid");
    let note = CommitNote::new(batch, |_| Vec::new());
    let results = index
        .apply(&[Operation::Settings(Box::new(patch))], note, &Progress::new(), &AtomicBool::new(false))
        .expect("settings commit");
    assert!(results.iter().all(Result::is_ok), "{results:?}");
}
