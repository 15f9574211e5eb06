//! Measured: the parts of a segment that a search leans on: encoding and decoding posting blocks, scanning the token column,
//! dictionary look-ups, document sets, reading documents.
//!
//! Corpus: 10,000 films in one segment. Run: `cargo bench -p lamina-benches --bench segment`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lamina_benches::{add, films, new_index};
use lamina_engine::bits::{BitsetBuilder, DocSet};
use lamina_engine::id::TermOrdinal;
use lamina_engine::query::phrase::phrase_among;
use lamina_engine::segment::{Postings, SegmentReader};

const DOCUMENTS: usize = 10_000;
/// In nearly every document, in many, in few.
const WORDS: [&str; 3] = ["the", "young", "dinosaurs"];

fn segment(c: &mut Criterion) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let index = new_index(folder.path());
    add(&index, 0, &films(DOCUMENTS));
    index.compact(&false.into()).expect("one segment");
    let snapshot = index.snapshot();
    let segment = &snapshot.segments[0].reader;
    postings(c, segment);
    token_column(c, segment);
    store(c, segment);
    c.bench_function("terms: look up", |b| b.iter(|| segment.terms().ordinal(black_box(b"dinosaurs"))));
    c.bench_function("terms: range of a prefix", |b| b.iter(|| segment.terms().prefix_range(black_box(b"di"))));
}

fn ordinal(segment: &SegmentReader, word: &str) -> TermOrdinal {
    segment.terms().ordinal(word.as_bytes()).expect("a word of the films")
}

fn postings(c: &mut Criterion, segment: &SegmentReader) {
    let mut group = c.benchmark_group("postings");
    for word in WORDS {
        let ordinal = ordinal(segment, word);
        group.throughput(Throughput::Elements(u64::from(segment.postings().doc_freq(ordinal))));
        let (mut docs, mut codes, mut list) = (Vec::new(), Vec::new(), Vec::new());
        segment.postings().for_each(ordinal, |doc, code| {
            docs.push(doc);
            codes.push(code);
        });
        group.bench_function(format!("encode `{word}`"), |b| {
            b.iter(|| {
                list.clear();
                Postings::encode_list(&docs, &codes, segment.doc_count(), &mut list);
                list.len()
            });
        });
        group.bench_function(format!("decode `{word}`"), |b| {
            b.iter(|| {
                let mut sum = 0u64;
                segment.postings().for_each(ordinal, |doc, code| sum += u64::from(doc ^ code));
                sum
            });
        });
        group.bench_function(format!("into a bitset `{word}`"), |b| {
            b.iter(|| {
                let mut set = BitsetBuilder::new(segment.doc_count());
                segment.postings().add_to(ordinal, &mut set);
                set.finish()
            });
        });
    }
    group.finish();

    let sets = WORDS.map(|word| segment.postings().docs(ordinal(segment, word)));
    c.bench_function("document sets: dense and sparse", |b| b.iter(|| sets[0].and(&sets[2])));
    c.bench_function("document sets: dense or dense", |b| b.iter(|| sets[0].or(&sets[1])));
}

fn token_column(c: &mut Criterion, segment: &SegmentReader) {
    let mut group = c.benchmark_group("token column");
    let (mut fields, mut tokens) = (Vec::new(), Vec::new());
    let mut total = 0;
    for doc in 0..segment.doc_count() {
        segment.tokens().doc(doc).decode(&mut fields, &mut tokens);
        total += tokens.len() as u64;
    }
    group.throughput(Throughput::Elements(total));
    group.bench_function("decode every document", |b| {
        b.iter(|| {
            for doc in 0..segment.doc_count() {
                segment.tokens().doc(doc).decode(&mut fields, &mut tokens);
                black_box(&tokens);
            }
        });
    });
    // So few are scanned on one thread.
    let some = DocSet::from_sorted((0..1024).collect());
    let words = [Some(ordinal(segment, "young")), Some(ordinal(segment, "dinosaurs"))];
    group.throughput(Throughput::Elements(u64::from(some.len())));
    group.bench_function("two words in a row, per document", |b| {
        b.iter(|| phrase_among(segment, some.clone(), black_box(&words), |_| true));
    });
    group.finish();
}

fn store(c: &mut Criterion, segment: &SegmentReader) {
    let mut group = c.benchmark_group("store");
    let mut json = Vec::new();
    let mut total = 0;
    for doc in 0..segment.doc_count() {
        segment.store().get(doc, &mut json).expect("a document");
        total += json.len() as u64;
    }
    // No two that follow each other are in one block.
    let scattered: Vec<u32> = (0..20).map(|place| place * 7919 % segment.doc_count()).collect();
    group.throughput(Throughput::Elements(scattered.len() as u64));
    group.bench_function("twenty scattered documents", |b| {
        b.iter(|| scattered.iter().for_each(|&doc| segment.store().get(doc, &mut json).expect("a document")));
    });
    group.throughput(Throughput::Bytes(total));
    group.bench_function("every document", |b| {
        b.iter(|| {
            let all = segment.store().for_each(0..segment.doc_count(), |_, json| {
                black_box(json);
                Ok(())
            });
            all.expect("documents");
        });
    });
    group.finish();
}

criterion_group!(benches, segment);
criterion_main!(benches);
