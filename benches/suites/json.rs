//! Measured: JSON of a known shape that others send, by the readers that could read it (decision 0049): answers of
//! embedding providers, answers of other servers, and `_vectors` of documents.
//!
//! Corpus: 100 answers of 1 to 5 MB of each kind, made from a counter. Run: `cargo bench -p lamina-benches --bench json`.

use std::fmt::Write;

use criterion::{
    BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use lamina_engine::document::SuppliedVectors;
use serde_json::Value;
use simd_json::prelude::*;
use simd_json::tape;

const ANSWERS: usize = 100;
const OPENAI_DIMENSIONS: usize = 1536;
const REMOTE_DIMENSIONS: usize = 384;

/// Numbers between -0.05 and 0.05 as a provider writes them, without the brackets.
fn numbers(count: usize, seed: &mut u64) -> String {
    let mut list = String::new();
    for place in 0..count {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let number = ((*seed >> 40) as f32 / (1 << 24) as f32 - 0.5) * 0.1;
        write!(list, "{}{number}", if place == 0 { "" } else { "," }).expect("writing to a string");
    }
    list
}

/// 50 to 248 vectors: 1 to 5 MB.
fn of_a_provider(answer: usize) -> Vec<u8> {
    let mut seed = answer as u64;
    let entry = |index| {
        let numbers = numbers(OPENAI_DIMENSIONS, &mut seed);
        format!(r#"{{"object":"embedding","index":{index},"embedding":[{numbers}]}}"#)
    };
    let entries: Vec<String> = (0..50 + 2 * answer).map(entry).collect();
    format!(r#"{{"object":"list","data":[{}],"model":"m","usage":{{"total_tokens":8}}}}"#, entries.join(","))
        .into_bytes()
}

/// Hits with vectors: 200 to 1,000 of them, 1 to 5 MB.
fn of_a_server(answer: usize) -> Vec<u8> {
    let mut seed = answer as u64;
    let text = "a few words of a text that a film has ".repeat(12);
    let hit = |id| {
        let numbers = numbers(REMOTE_DIMENSIONS, &mut seed);
        format!(
            r#"{{"id":{id},"title":"Film {id}","overview":"{text}","_vectors":{{"e":{{"embeddings":[[{numbers}]],"regenerate":false}}}}}}"#
        )
    };
    let hits: Vec<String> = (0..200 + 8 * answer).map(hit).collect();
    format!(r#"{{"hits":[{}],"limit":20,"offset":0,"estimatedTotalHits":1000}}"#, hits.join(",")).into_bytes()
}

/// `_vectors` of a document: some hundred vectors of one embedder.
fn of_a_document(document: usize) -> Vec<u8> {
    let mut seed = document as u64;
    let vectors: Vec<String> =
        (0..50 + 2 * document).map(|_| format!("[{}]", numbers(OPENAI_DIMENSIONS, &mut seed))).collect();
    format!("[{}]", vectors.join(",")).into_bytes()
}

fn as_vector(value: &Value) -> Vec<f32> {
    value.as_array().expect("an array").iter().map(|number| number.as_f64().expect("a number") as f32).collect()
}

fn as_vector_of_tape(value: tape::Value<'_, '_>) -> Vec<f32> {
    let numbers = value.as_array().expect("an array");
    numbers.iter().map(|number| number.cast_f64().expect("a number") as f32).collect()
}

/// Each reader gets the bytes as its own, as they are when they have come over a connection.
fn compare(
    group: &mut BenchmarkGroup<'_, WallTime>,
    reader: &str,
    answers: &[Vec<u8>],
    read: impl Fn(&mut Vec<u8>) -> usize,
) {
    group.bench_function(reader, |bencher| {
        bencher.iter_batched_ref(
            || answers.to_vec(),
            |answers| answers.iter_mut().map(&read).sum::<usize>(),
            BatchSize::PerIteration,
        );
    });
}

fn group<'c>(criterion: &'c mut Criterion, name: &str, answers: &[Vec<u8>]) -> BenchmarkGroup<'c, WallTime> {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).throughput(Throughput::Bytes(answers.iter().map(|answer| answer.len() as u64).sum()));
    group
}

fn json(criterion: &mut Criterion) {
    let answers: Vec<Vec<u8>> = (0..ANSWERS).map(of_a_provider).collect();
    let mut provider = group(criterion, "answers of providers", &answers);
    compare(&mut provider, "serde_json value", &answers, |answer| {
        let value: Value = serde_json::from_slice(answer).expect("JSON");
        let entries = value["data"].as_array().expect("an array").iter();
        entries.map(|entry| as_vector(&entry["embedding"]).len()).sum()
    });
    compare(&mut provider, "simd-json tape", &answers, |answer| {
        let tape = simd_json::to_tape(answer).expect("JSON");
        let entries = tape.as_value().get("data").and_then(|data| data.as_array()).expect("an array");
        entries.iter().map(|entry| as_vector_of_tape(entry.get("embedding").expect("a member")).len()).sum()
    });
    provider.finish();

    let answers: Vec<Vec<u8>> = (0..ANSWERS).map(of_a_server).collect();
    let mut server = group(criterion, "answers of servers, as values", &answers);
    let hits = |value: &Value| value["hits"].as_array().expect("an array").len();
    compare(&mut server, "serde_json", &answers, |answer| hits(&serde_json::from_slice(answer).expect("JSON")));
    compare(&mut server, "simd-json", &answers, |answer| hits(&simd_json::serde::from_slice(answer).expect("JSON")));
    server.finish();

    let answers: Vec<Vec<u8>> = (0..ANSWERS).map(of_a_document).collect();
    let mut document = group(criterion, "vectors of documents", &answers);
    compare(&mut document, "as shipped", &answers, |json| {
        let json = std::str::from_utf8(json).expect("UTF-8");
        let supplied = SuppliedVectors::parse("e", json, || "1".into()).expect("vectors");
        supplied.vectors.map_or(0, |vectors| vectors.len())
    });
    compare(&mut document, "simd-json tape", &answers, |json| {
        let tape = simd_json::to_tape(json).expect("JSON");
        tape.as_value().as_array().expect("an array").iter().map(as_vector_of_tape).count()
    });
    document.finish();
}

criterion_group!(benches, json);
criterion_main!(benches);
