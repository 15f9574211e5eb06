//! Latency of a list of queries over an index folder, in process, and the answers, to compare two builds.
//!
//! `cargo run --release -p lamina-benches --bin queries -- folder corpus.ndjson queries.tsv [answers.txt]`
//!
//! The folder is made from the corpus when it is not there. Each line of the list is a kind, a tab and the text of a
//! query; kinds whose names begin with `any` are asked with the strategy of that name, `any-plain` without other forms of
//! words. `first` is the time of the first run, which fills caches; then the best of three runs counts. All in milliseconds,
//! on the threads of the machine. `read` is the mean number of documents that the last rule read, which no other work on the
//! machine changes by much.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lamina_benches::CORPUS_SETTINGS;
use lamina_engine::index::{
    CommitNote, Index, IndexOptions, Operation, Payload, Progress, Snapshot, Upsert, WriteMethod,
};
use lamina_engine::search::{Explain, MatchingStrategy, SearchRequest, SearchResult, search};
use lamina_engine::text::Language;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Runs of which the best counts: other work on the machine makes single ones slower.
const RUNS: usize = 3;

fn make(folder: &Path, corpus: &Path) -> Result<()> {
    let index = Index::create(folder, IndexOptions::default())?;
    let upsert = Upsert {
        payload: Payload::File(corpus.to_owned()),
        method: WriteMethod::Replace,
        primary_key: Some("id".into()),
        skip_creation: false,
    };
    let operations = [Operation::Settings(Box::new(serde_json::from_str(CORPUS_SETTINGS)?)), Operation::Upsert(upsert)];
    let note = CommitNote::new(0, |_| Vec::new());
    for result in index.apply(&operations, note, &Progress::new(), &AtomicBool::new(false))? {
        result?;
    }
    index.wait_for_merges();
    Ok(())
}

/// Milliseconds of one query.
struct Timing<'a> {
    best: f64,
    first: f64,
    read: u64,
    text: &'a str,
}

/// Asks a query, and how it was answered.
fn ask<'a>(snapshot: &Snapshot, kind: &str, text: &'a str) -> Result<(Timing<'a>, SearchResult)> {
    let matching = if kind.starts_with("any") { MatchingStrategy::Any } else { MatchingStrategy::Last };
    // A language without stems.
    let languages: Vec<Language> = Language::parse("jpn").filter(|_| kind == "any-plain").into_iter().collect();
    let request = || SearchRequest {
        query: Some(text.to_owned()),
        matching,
        languages: languages.clone(),
        ..SearchRequest::default()
    };
    let start = Instant::now();
    let result = search(snapshot, &request())?;
    let first = start.elapsed().as_secs_f64() * 1e3;
    let mut best = f64::MAX;
    for _ in 0..RUNS {
        let request = request();
        let start = Instant::now();
        std::hint::black_box(search(snapshot, &request)?);
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    let explained = search(snapshot, &SearchRequest { explain: Some(Explain::default()), ..request() })?;
    let rules = explained.explanation.as_ref().map_or(&[][..], |explanation| &explanation.rules);
    let read = rules.iter().rev().find_map(|rule| rule.read).unwrap_or(0);
    Ok((Timing { best, first, read, text }, result))
}

fn percentile(sorted: &[f64], share: f64) -> f64 {
    sorted[((sorted.len() as f64 * share) as usize).min(sorted.len() - 1)]
}

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [folder, corpus, list, answers @ ..] = arguments.as_slice() else {
        return Err("usage: queries folder corpus.ndjson queries.tsv [answers.txt]".into());
    };
    if !folder.exists() {
        make(folder, corpus)?;
    }
    let index = Index::open(folder, IndexOptions { background_merges: false, ..IndexOptions::default() })?;
    let snapshot = index.snapshot();
    println!("{} segments", snapshot.segments.len());
    let mut results = String::new();
    let mut kinds: Vec<(&str, Vec<Timing<'_>>)> = Vec::new();
    let list = std::fs::read_to_string(list)?;
    for (kind, text) in list.lines().filter_map(|line| line.split_once('\t')) {
        let (timing, result) = ask(&snapshot, kind, text)?;
        match kinds.last_mut().filter(|k| k.0 == kind) {
            Some((_, times)) => times.push(timing),
            None => kinds.push((kind, vec![timing])),
        }
        writeln!(results, "{kind}\t{text}\t{}", result.total)?;
        for hit in &result.hits {
            writeln!(results, "\t{:?} {:.6} {:?}", hit.address, hit.score, hit.details)?;
        }
    }
    for (kind, mut times) in kinds {
        let read = times.iter().map(|timing| timing.read).sum::<u64>() as f64 / times.len() as f64;
        for (label, pick) in [("", (|t| t.best) as fn(&Timing<'_>) -> f64), ("first", |t| t.first)] {
            times.sort_by(|a, b| pick(a).total_cmp(&pick(b)));
            let ms: Vec<f64> = times.iter().map(pick).collect();
            let slowest: Vec<String> =
                times.iter().rev().take(4).map(|t| format!("{} {:.1}", t.text, pick(t))).collect();
            println!(
                "{kind:<12} {label:<5} p50 {:>8.3} p90 {:>8.3} p99 {:>8.3} mean {:>8.3} read {read:>7.1}  {}",
                percentile(&ms, 0.5),
                percentile(&ms, 0.9),
                percentile(&ms, 0.99),
                ms.iter().sum::<f64>() / ms.len() as f64,
                slowest.join(" | ")
            );
        }
    }
    if let [file, ..] = answers {
        std::fs::write(file, results)?;
    }
    Ok(())
}
