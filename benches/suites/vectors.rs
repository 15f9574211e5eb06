//! Measured: the ten nearest of 100,000 vectors of 128 dimensions, by comparing all and by short codes, also under filters
//! and with one bit a dimension; and what it costs to write vectors and to merge them.
//!
//! Corpus: vectors around 64 centres, the same in every run; queries are made like them. How many of the nearest are found is
//! a matter of tests and of the binary `neighbours`. Run: `cargo bench -p lamina-benches --bench vectors`.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lamina_benches::vectors::{VectorCorpus, line, settings};
use lamina_benches::{add, new_index, set};
use lamina_engine::bits::DocSet;
use lamina_engine::index::Index;
use lamina_engine::vector::{Pairing, QueryVector, nearest, similarities};

const DOCUMENTS: usize = 100_000;
/// Number of documents that are written and merged in every round.
const WRITTEN: usize = 20_000;
const DIMENSIONS: usize = 128;
const QUERIES: usize = 64;
const WANTED: usize = 10;

fn lines(corpus: &mut VectorCorpus, ids: std::ops::Range<usize>) -> Vec<u8> {
    let mut lines = String::new();
    ids.for_each(|id| line(id, &corpus.vector(), &mut lines));
    lines.into_bytes()
}

fn index(batches: &[&[u8]], is_binary: bool) -> (tempfile::TempDir, Index) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = new_index(folder.path());
    set(&index, 0, &settings(DIMENSIONS, is_binary));
    (1..).zip(batches).for_each(|(batch, lines)| add(&index, batch, lines));
    (folder, index)
}

fn search(c: &mut Criterion) {
    let mut corpus = VectorCorpus::new(DIMENSIONS, true);
    let documents = lines(&mut corpus, 0..DOCUMENTS);
    let queries: Vec<QueryVector> = (0..QUERIES).map(|_| QueryVector::new(&corpus.vector())).collect();
    let count = u32::try_from(DOCUMENTS).expect("few documents");
    let one_in = |share: u32| match share {
        1 => DocSet::full(count),
        share => DocSet::from_sorted((0..count).filter(|doc| doc % share == 0).collect()),
    };
    let mut group = c.benchmark_group("nearest of 100,000 x 128");
    group.sample_size(20).measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    for (kind, is_binary) in [("f32", false), ("one bit", true)] {
        let (_folder, index) = index(&[&documents], is_binary);
        index.compact(&AtomicBool::new(false)).expect("one segment");
        let snapshot = index.snapshot();
        let vectors = snapshot.segments[0].reader.vectors_of("e").expect("the documents have vectors");
        for (share, among) in [(1, "all"), (10, "a tenth"), (100, "a hundredth")] {
            let docs = one_in(share);
            let mut next = queries.iter().cycle();
            let mut query = || std::slice::from_ref(next.next().expect("they come again"));
            group.bench_function(format!("{kind}, compared, {among}"), |b| {
                b.iter(|| {
                    let mut best = 0.0f32;
                    let see = |_, similarity: Option<f32>| best = best.max(similarity.unwrap_or(0.0));
                    similarities(vectors, query(), Pairing::All, &docs, see);
                    black_box(best)
                });
            });
            // What is narrow or has short rows is compared.
            if nearest(vectors, query(), Pairing::All, &docs, WANTED).is_some() {
                group.bench_function(format!("{kind}, by codes, {among}"), |b| {
                    b.iter(|| nearest(vectors, query(), Pairing::All, &docs, WANTED).expect("codes are there"));
                });
            }
        }
    }
    group.finish();
}

fn build(c: &mut Criterion) {
    let mut corpus = VectorCorpus::new(DIMENSIONS, true);
    let documents = lines(&mut corpus, 0..WRITTEN);
    let (first, second) = (lines(&mut corpus, 0..WRITTEN), lines(&mut corpus, WRITTEN..2 * WRITTEN));
    let mut group = c.benchmark_group("vectors of 128 dimensions");
    group.sample_size(10).measurement_time(Duration::from_secs(3)).warm_up_time(Duration::from_millis(500));
    for (kind, is_binary) in [("f32", false), ("one bit", true)] {
        group.throughput(Throughput::Elements(WRITTEN as u64));
        group.bench_function(format!("{kind}, 20,000 documents written"), |b| {
            let empty = || index(&[], is_binary);
            b.iter_batched(
                empty,
                |made| {
                    add(&made.1, 1, &documents);
                    made
                },
                BatchSize::PerIteration,
            );
        });
        group.throughput(Throughput::Elements(2 * WRITTEN as u64));
        group.bench_function(format!("{kind}, two segments of 20,000 merged"), |b| {
            let two = || index(&[&first, &second], is_binary);
            let merge = |made: (tempfile::TempDir, Index)| {
                made.1.compact(&AtomicBool::new(false)).expect("segments merge");
                made
            };
            b.iter_batched(two, merge, BatchSize::PerIteration);
        });
    }
    group.finish();
}

criterion_group!(benches, search, build);
criterion_main!(benches);
