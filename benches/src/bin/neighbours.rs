//! How many of the nearest documents a search by vectors finds, and how fast: in process, one query after the other,
//! without a filter and under filters that keep a tenth and a hundredth. Also what loading costs, and one more vector.
//!
//! Queries are made like the documents: see [`VectorCorpus`].
//!
//! `cargo run --release -p lamina-benches --bin neighbours -- documents dimensions [clustered|random] [binary] [FILE]`
//!
//! A FILE gets the vectors and after them the queries, as little-endian `f32` in rows: `benches/compare-usearch.py` measures
//! another engine with the same ones.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lamina_benches::vectors::{VectorCorpus, line, settings};
use lamina_benches::{add, new_index, set};
use lamina_engine::filter::Filter;
use lamina_engine::index::{Index, Snapshot};
use lamina_engine::search::{SearchRequest, SemanticQuery, search_semantic};

/// Each is also compared with all vectors, which takes most of the time.
const QUERIES: usize = 300;
const QUERIES_OF_MANY: usize = 100;
const MANY: usize = 500_000;
const WANTED: usize = 10;
/// Each query is searched for so often.
const PASSES: usize = 5;
/// Documents of one commit.
const BATCH: usize = 100_000;

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    format!("p50 {:.3} ms, p99 {:.3} ms", at(0.5), at(0.99))
}

fn measure(snapshot: &Snapshot, name: &str, keeps: usize, vectors: &[Vec<f32>], queries: &[Vec<f32>]) {
    let filter = match keeps {
        1 => None,
        10 => Some("tenth = 3"),
        _ => Some("hundredth = 3"),
    };
    let filter = filter.map(|filter| Filter::parse(filter).expect("it is a filter").expect("it is not empty"));
    let mut best = vec![Duration::MAX; queries.len()];
    let mut results = Vec::new();
    // What is measured last has been searched for before; work of others on the machine is in none of the best.
    for _ in 0..PASSES {
        results.clear();
        for (query, best) in queries.iter().zip(&mut best) {
            let request = SearchRequest { filter: filter.clone(), limit: WANTED, ..SearchRequest::default() };
            let semantic = SemanticQuery::new("e", query.clone());
            let start = Instant::now();
            results.push(search_semantic(snapshot, &request, &semantic).expect("the search is right"));
            *best = start.elapsed().min(*best);
        }
    }
    let mut found = 0;
    for (query, result) in queries.iter().zip(&results) {
        let mut hits = Vec::new();
        for hit in &result.hits {
            let document = snapshot.document(hit.address).expect("a hit is a document");
            let text = String::from_utf8(document).expect("documents are text");
            let id = text.trim_start_matches(r#"{"id":"#).split(',').next().expect("there is an id");
            hits.push(id.parse::<usize>().expect("ids are numbers"));
        }
        let kept = vectors.iter().enumerate().filter(|(id, _)| keeps == 1 || id % keeps == 3);
        let mut all: Vec<(f32, usize)> =
            kept.map(|(id, vector)| (vector.iter().zip(query).map(|(a, b)| a * b).sum(), id)).collect();
        all.select_nth_unstable_by(WANTED - 1, |one, other| other.0.total_cmp(&one.0));
        found += all[..WANTED].iter().filter(|(_, id)| hits.contains(id)).count();
    }
    let recall = found as f64 / (queries.len() * WANTED) as f64;
    println!("{name:<22} recall@{WANTED} {recall:.4}, {} (best of {PASSES})", percentiles(best));
}

fn save(file: &str, rows: &[&[Vec<f32>]]) -> std::io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for value in rows.iter().copied().flatten().flatten() {
        out.write_all(&value.to_le_bytes())?;
    }
    out.flush()
}

/// Adds the vectors, and says what that took.
fn load(index: &Index, folder: &Path, vectors: &[Vec<f32>]) {
    let (documents, dimensions) = (vectors.len(), vectors[0].len());
    let mut took = Duration::ZERO;
    for (batch, part) in vectors.chunks(BATCH).enumerate() {
        let mut lines = String::new();
        part.iter().enumerate().for_each(|(place, vector)| line(batch * BATCH + place, vector, &mut lines));
        let start = Instant::now();
        add(index, 1 + batch as u64, lines.as_bytes());
        took += start.elapsed();
    }
    let bytes: u64 = std::fs::read_dir(folder)
        .expect("the index has a folder")
        .map(|entry| entry.expect("an entry").metadata().expect("of a file").len())
        .sum();
    let raw = documents * dimensions * 4;
    println!(
        "{documents} x {dimensions}: {:.0} documents/s, disk {:.2} of the raw numbers, {} segments",
        documents as f64 / took.as_secs_f64(),
        bytes as f64 / raw as f64,
        index.snapshot().segments.len()
    );
}

/// Adds one vector after the other, and says what that took.
fn add_more(index: &Index, documents: usize, corpus: &mut VectorCorpus) {
    let mut times = Vec::new();
    for more in 0..50 {
        let mut one = String::new();
        line(documents + more, &corpus.vector(), &mut one);
        let start = Instant::now();
        add(index, (1000 + more) as u64, one.as_bytes());
        times.push(start.elapsed());
    }
    println!("one more vector: {}", percentiles(times));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<usize>().ok());
    let (Some(documents), Some(dimensions)) = (number(0), number(1)) else {
        eprintln!("usage: neighbours documents dimensions [clustered|random] [binary] [FILE]");
        std::process::exit(2);
    };
    let is_random = arguments.iter().any(|argument| argument == "random");
    let is_binary = arguments.iter().any(|argument| argument == "binary");
    let mut corpus = VectorCorpus::new(dimensions, !is_random);
    let vectors: Vec<Vec<f32>> = (0..documents).map(|_| corpus.vector()).collect();
    let queries = if documents < MANY { QUERIES } else { QUERIES_OF_MANY };
    let queries: Vec<Vec<f32>> = (0..queries).map(|_| corpus.vector()).collect();
    let words = ["clustered", "random", "binary"];
    if let Some(file) = arguments[2..].iter().find(|argument| !words.contains(&argument.as_str())) {
        save(file, &[&vectors, &queries]).expect("the vectors can be saved");
    }

    let folder = tempfile::tempdir().expect("a folder for the index");
    let index = new_index(folder.path());
    set(&index, 0, &settings(dimensions, is_binary));
    load(&index, folder.path(), &vectors);
    let ways = [("no filter", 1), ("a tenth", 10), ("a hundredth", 100)];
    let measure_all = |snapshot: &Snapshot| {
        ways.iter().for_each(|(name, keeps)| measure(snapshot, name, *keeps, &vectors, &queries));
    };
    if is_binary {
        println!("(recall against the full vectors says nothing of a search among bits: none is lost there)");
    }
    measure_all(&index.snapshot());
    let start = Instant::now();
    index.compact(&AtomicBool::new(false)).expect("segments merge");
    println!("merged into one in {:.2} s", start.elapsed().as_secs_f64());
    measure_all(&index.snapshot());

    add_more(&index, documents, &mut corpus);
}
