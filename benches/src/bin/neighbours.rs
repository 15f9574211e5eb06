//! How many of the nearest documents a search by vectors finds, and how fast: in process, one query after the other,
//! without a filter and under filters that keep a tenth and a hundredth. Also what loading costs, and one more vector.
//!
//! Corpus: vectors around 64 centres, as far from them as those of real collections, or random ones without any
//! order; the same in every run. Queries are made like the documents.
//!
//! `cargo run --release -p lamina-benches --bin neighbours -- documents dimensions [clustered|random] [binary]`

use std::fmt::Write;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lamina_benches::{add, new_index, set};
use lamina_engine::filter::Filter;
use lamina_engine::index::Snapshot;
use lamina_engine::search::{SearchRequest, SemanticQuery, search_semantic};

const QUERIES: usize = 300;
const WANTED: usize = 10;
const CENTRES: usize = 64;
/// Documents of one commit.
const BATCH: usize = 100_000;

/// Numbers that look random, the same in every run.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u32 << 24) as f32
    }

    /// Nearly normally distributed: twelve even ones.
    fn vector(&mut self, dimensions: usize) -> Vec<f32> {
        (0..dimensions).map(|_| (0..12).map(|_| self.uniform()).sum::<f32>() - 6.0).collect()
    }
}

struct Corpus {
    noise: Noise,
    centres: Vec<Vec<f32>>,
    dimensions: usize,
}

impl Corpus {
    fn vector(&mut self) -> Vec<f32> {
        let mut vector = self.noise.vector(self.dimensions);
        if !self.centres.is_empty() {
            let centre = &self.centres[(self.noise.uniform() * self.centres.len() as f32) as usize];
            vector.iter_mut().zip(centre).for_each(|(value, centre)| *value = *value * 0.6 + centre);
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter_mut().for_each(|value| *value /= length);
        vector
    }
}

fn line(id: usize, vector: &[f32], out: &mut String) {
    write!(out, r#"{{"id":{id},"tenth":{},"hundredth":{},"_vectors":{{"e":["#, id % 10, id % 100).expect("it is text");
    for (place, value) in vector.iter().enumerate() {
        let comma = if place > 0 { "," } else { "" };
        write!(out, "{comma}{value:.5}").expect("it is text");
    }
    out.push_str("]}}\n");
}

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
    let (mut times, mut found) = (Vec::new(), 0);
    for query in queries {
        let request = SearchRequest { filter: filter.clone(), limit: WANTED, ..SearchRequest::default() };
        let semantic = SemanticQuery::new("e", query.clone());
        let start = Instant::now();
        let result = search_semantic(snapshot, &request, &semantic).expect("the search is right");
        times.push(start.elapsed());
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
    println!("{name:<22} recall@{WANTED} {recall:.4}, {}", percentiles(times));
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |place: usize| arguments.get(place).and_then(|text| text.parse::<usize>().ok());
    let (Some(documents), Some(dimensions)) = (number(0), number(1)) else {
        eprintln!("usage: neighbours documents dimensions [clustered|random] [binary]");
        std::process::exit(2);
    };
    let is_random = arguments.iter().any(|argument| argument == "random");
    let is_binary = arguments.iter().any(|argument| argument == "binary");
    let mut noise = Noise(7);
    let centres = (0..if is_random { 0 } else { CENTRES }).map(|_| noise.vector(dimensions)).collect();
    let mut corpus = Corpus { noise, centres, dimensions };
    let vectors: Vec<Vec<f32>> = (0..documents).map(|_| corpus.vector()).collect();
    let queries: Vec<Vec<f32>> = (0..QUERIES).map(|_| corpus.vector()).collect();

    let folder = tempfile::tempdir().expect("a folder for the index");
    let index = new_index(folder.path());
    let embedder = format!(
        r#"{{"filterableAttributes": ["tenth", "hundredth"], "embedders": {{"e": {{"source": "userProvided",
            "dimensions": {dimensions}, "binaryQuantized": {is_binary}}}}}}}"#
    );
    set(&index, 0, &embedder);
    let mut took = Duration::ZERO;
    for (batch, part) in vectors.chunks(BATCH).enumerate() {
        let mut lines = String::new();
        part.iter().enumerate().for_each(|(place, vector)| line(batch * BATCH + place, vector, &mut lines));
        let start = Instant::now();
        add(&index, 1 + batch as u64, lines.as_bytes());
        took += start.elapsed();
    }
    let bytes: u64 = std::fs::read_dir(folder.path())
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
    let ways = [("no filter", 1), ("a tenth", 10), ("a hundredth", 100)];
    let measure_all = |snapshot: &Snapshot| {
        ways.iter().for_each(|(name, keeps)| measure(snapshot, name, *keeps, &vectors, &queries));
    };
    if !is_binary {
        measure_all(&index.snapshot());
    } else {
        println!("(recall against the full vectors says nothing of a search among bits: none is lost there)");
        measure_all(&index.snapshot());
    }
    let start = Instant::now();
    index.compact(&AtomicBool::new(false)).expect("segments merge");
    println!("merged into one in {:.2} s", start.elapsed().as_secs_f64());
    measure_all(&index.snapshot());

    let mut times = Vec::new();
    for more in 0..50 {
        let mut one = String::new();
        line(documents + more, &corpus.vector(), &mut one);
        let start = Instant::now();
        add(&index, (1000 + more) as u64, one.as_bytes());
        times.push(start.elapsed());
    }
    println!("one more vector: {}", percentiles(times));
}
