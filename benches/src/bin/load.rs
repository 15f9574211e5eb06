//! What the engine alone does with a corpus: the counterpart of `compare-tantivy`, to be run in the same sitting.
//!
//! Measured: bulk load in one commit with the settings of the measurements (six searchable, eight filterable, five
//! sortable fields), the size of each section, opening, the top 20 with the count for a few kinds of queries, best of
//! 20 runs, and documents by their keys, in process, on the threads of the machine.
//!
//! `cargo run --release -p lamina-benches --bin load -- corpus.ndjson [indexing memory in bytes]`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lamina_benches::CORPUS_SETTINGS;
use lamina_engine::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, Snapshot, Upsert, WriteMethod,
};
use lamina_engine::search::{MatchingStrategy, SearchRequest, search};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const RUNS: usize = 20;
const READ_DOCUMENTS: u64 = 50_000;
/// A query that ends with a space has no prefix.
const QUERIES: [(&str, &str); 9] = [
    ("one frequent word", "young "),
    ("two words", "young detective "),
    ("four frequent words", "the and of in "),
    ("six words", "a young woman falls in love "),
    ("one prefix", "detectiv"),
    ("a typo and a prefix", "yuong detectiv"),
    ("prefix of one letter", "d"),
    ("phrase", "\"new york city\""),
    ("placeholder", ""),
];

fn load(corpus: &Path, folder: &Path, indexing_memory_bytes: usize) -> Result<()> {
    let options = IndexOptions { indexing_memory_bytes, ..IndexOptions::default() };
    let index = Index::create(folder, options)?;
    let upsert = Upsert {
        payload: Payload::File(corpus.to_owned()),
        method: WriteMethod::Replace,
        primary_key: Some("id".into()),
        skip_creation: false,
    };
    let operations = [Operation::Settings(Box::new(serde_json::from_str(CORPUS_SETTINGS)?)), Operation::Upsert(upsert)];
    let start = Instant::now();
    let note = CommitNote::new(0, |_| Vec::new());
    let results = index.apply(&operations, note, &Progress::new(), &AtomicBool::new(false))?;
    let seconds = start.elapsed().as_secs_f64();
    for result in results {
        result?;
    }
    index.wait_for_merges();
    let merged_seconds = start.elapsed().as_secs_f64();

    let report = index.report();
    let raw = std::fs::metadata(corpus)?.len() as f64;
    println!(
        "load: {} documents in {seconds:.1} s, {:.0}/s, {:.1} MB/s, merges until {merged_seconds:.1} s; disk / raw {:.3}",
        report.document_count,
        report.document_count as f64 / seconds,
        raw / 1e6 / seconds,
        report.segment_bytes as f64 / raw
    );
    let mut sections: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, bytes) in report.segments.iter().flat_map(|segment| &segment.sections) {
        *sections.entry(name).or_default() += bytes;
    }
    println!("{} segments; sections in MB and as a share of the raw text:", report.segments.len());
    for (name, bytes) in sections {
        println!("  {name:<24} {:>9.2} {:>7.4}", bytes as f64 / 1e6, bytes as f64 / raw);
    }
    Ok(())
}

fn measure(snapshot: &Snapshot, name: &str, query: &str) -> Result<()> {
    let request =
        SearchRequest { query: Some(query.to_owned()), matching: MatchingStrategy::All, ..SearchRequest::default() };
    let mut best = Duration::MAX;
    let mut total = 0;
    for _ in 0..RUNS {
        let request = SearchRequest { received: Instant::now(), ..request.clone() };
        let start = Instant::now();
        total = search(snapshot, &request)?.total;
        best = best.min(start.elapsed());
    }
    println!("{name:<28} {:>9.3} ms {total:>9} found", best.as_secs_f64() * 1e3);
    Ok(())
}

/// Reads documents all over the index, by their keys.
fn read_documents(snapshot: &Snapshot) -> Result<()> {
    let count = snapshot.document_count();
    let mut bytes = 0;
    let start = Instant::now();
    for number in 0..READ_DOCUMENTS {
        let key = (number * 7919 % count).to_string();
        bytes += snapshot.get_document(&key)?.map_or(0, |json| json.len());
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "a document by its key: {:.2} us, {:.0} bytes",
        seconds * 1e6 / READ_DOCUMENTS as f64,
        bytes as f64 / READ_DOCUMENTS as f64
    );
    Ok(())
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let corpus = PathBuf::from(arguments.next().ok_or("usage: load corpus.ndjson [indexing memory in bytes]")?);
    let indexing_memory_bytes = arguments.next().map_or(Ok(1 << 30), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    load(&corpus, folder.path(), indexing_memory_bytes)?;

    let start = Instant::now();
    let index = Index::open(folder.path(), IndexOptions { background_merges: false, ..IndexOptions::default() })?;
    println!("open: {:.1} ms", start.elapsed().as_secs_f64() * 1e3);
    let snapshot = index.snapshot();
    for (name, query) in QUERIES {
        measure(&snapshot, name, query)?;
    }
    read_documents(&snapshot)?;
    Ok(())
}
