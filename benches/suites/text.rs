//! Measured: cutting and normalising text, and preparing a payload, in bytes per second, on one thread.
//!
//! Corpus: the overviews of 4,000 films. Run: `cargo bench -p lamina-benches --bench text`.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use lamina_benches::{films, overviews};
use lamina_engine::document::{DocumentBytesMax, PayloadFormat, normalize_payload};
use lamina_engine::text::{TextBuffer, TextOptions, Tokenizer};

fn tokenize(c: &mut Criterion) {
    let texts = overviews(4000);
    let bytes = texts.iter().map(String::len).sum::<usize>() as u64;
    let mut group = c.benchmark_group("tokenize");
    group.throughput(Throughput::Bytes(bytes));
    let custom = TextOptions { separators: vec!["&sep".into()], ..TextOptions::default() };
    for (name, options) in [("default options", TextOptions::default()), ("own separators", custom)] {
        let tokenizer = Tokenizer::new(&options);
        let mut buffer = TextBuffer::default();
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut words = 0u64;
                for text in &texts {
                    tokenizer.words(text, &[], &mut buffer, &mut |word, _| words += black_box(word).len() as u64);
                }
                words
            });
        });
    }
    group.finish();
}

fn payload(c: &mut Criterion) {
    let films = films(4000);
    let mut group = c.benchmark_group("payload");
    group.throughput(Throughput::Bytes(films.len() as u64));
    group.bench_function("validate ndjson", |b| {
        b.iter(|| {
            normalize_payload(PayloadFormat::NdJson, &films[..], std::io::sink(), &mut DocumentBytesMax(usize::MAX))
                .expect("films are valid")
        });
    });
    group.finish();
}

criterion_group!(benches, tokenize, payload);
criterion_main!(benches);
