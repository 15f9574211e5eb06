//! How many of the nearest documents a search by vectors finds, and how fast: in process, one query after the other,
//! without a filter and under filters that keep a tenth, a hundredth and a thousandth. Also what loading costs, and one more
//! vector.
//!
//! Queries are made like the documents: see [`VectorCorpus`].
//!
//! `cargo run --release -p lamina-benches --bin neighbours -- documents dimensions [clustered|random|saved] [binary] [FILE]`
//!
//! A FILE gets the vectors and after them the queries, as little-endian `f32` in rows of length 1: `benches/compare-usearch.py`
//! measures another engine with the same ones. With `saved` it is read instead: vectors that a model made.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
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
/// Added one by one in the end.
const MORE: usize = 50;
/// Documents of one commit.
const BATCH: usize = 100_000;

/// Vectors, one a row.
type Rows = Vec<Vec<f32>>;

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    format!("p50 {:.3} ms, p99 {:.3} ms", at(0.5), at(0.99))
}

fn measure(snapshot: &Snapshot, name: &str, keeps: usize, vectors: &[Vec<f32>], queries: &[Vec<f32>]) {
    let filter = match keeps {
        1 => None,
        10 => Some("tenth = 3"),
        100 => Some("hundredth = 3"),
        _ => Some("thousandth = 3"),
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

fn save(file: &str, rows: &[&[Vec<f32>]]) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(file)?);
    for value in rows.iter().copied().flatten().flatten() {
        out.write_all(&value.to_le_bytes())?;
    }
    out.flush()
}

/// The documents' vectors and the queries that were saved.
fn saved(file: &str, documents: usize, dimensions: usize) -> io::Result<(Rows, Rows)> {
    let bytes = fs::read(file)?;
    let values: Vec<f32> = bytes.as_chunks().0.iter().map(|value| f32::from_le_bytes(*value)).collect();
    let mut rows: Rows = values.chunks_exact(dimensions).map(<[f32]>::to_vec).collect();
    let queries = rows.split_off(documents.min(rows.len()));
    Ok((rows, queries))
}

/// The vectors and queries to measure with, as the arguments say, and further vectors.
fn corpus(documents: usize, dimensions: usize, arguments: &[String]) -> io::Result<(Rows, Rows, Rows)> {
    let has = |word: &str| arguments.iter().any(|argument| argument == word);
    let words = ["clustered", "random", "saved", "binary"];
    let file = arguments.iter().find(|argument| !words.contains(&argument.as_str()));
    if let (true, Some(file)) = (has("saved"), file) {
        let (vectors, queries) = saved(file, documents, dimensions)?;
        let more = queries.iter().take(MORE).cloned().collect();
        return Ok((vectors, queries, more));
    }
    let mut corpus = VectorCorpus::new(dimensions, !has("random"));
    let mut next = |count: usize| -> Rows { (0..count).map(|_| corpus.vector()).collect() };
    let vectors = next(documents);
    let queries = next(if documents < MANY { QUERIES } else { QUERIES_OF_MANY });
    if let Some(file) = file {
        save(file, &[&vectors, &queries])?;
    }
    let more = next(MORE);
    Ok((vectors, queries, more))
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
    let bytes: u64 = fs::read_dir(folder)
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
fn add_more(index: &Index, documents: usize, vectors: &[Vec<f32>]) {
    let mut times = Vec::new();
    for (more, vector) in vectors.iter().enumerate() {
        let mut one = String::new();
        line(documents + more, vector, &mut one);
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
        eprintln!("usage: neighbours documents dimensions [clustered|random|saved] [binary] [FILE]");
        std::process::exit(2);
    };
    let is_binary = arguments.iter().any(|argument| argument == "binary");
    let (vectors, queries, more) = corpus(documents, dimensions, &arguments[2..]).expect("the file holds the vectors");

    let folder = tempfile::tempdir().expect("a folder for the index");
    let index = new_index(folder.path());
    set(&index, 0, &settings(dimensions, is_binary));
    load(&index, folder.path(), &vectors);
    let ways = [("no filter", 1), ("a tenth", 10), ("a hundredth", 100), ("a thousandth", 1000)];
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

    add_more(&index, documents, &more);
}
