//! Measured: indexing 10,000 documents, one more document, merging, opening; files on the disk of the temporary folder.
//!
//! Corpus: 10,000 films. Run: `cargo bench -p lamina-benches --bench index`.

use std::cell::Cell;
use std::sync::atomic::AtomicBool;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use lamina_benches::{add, films, new_index};
use lamina_engine::index::{Index, IndexOptions};

const DOCUMENTS: usize = 10_000;
const PARTS: usize = 8;

fn index(c: &mut Criterion) {
    let films = films(DOCUMENTS);
    let mut group = c.benchmark_group("index");
    group.sample_size(10).throughput(Throughput::Elements(DOCUMENTS as u64));
    let empty = || tempfile::tempdir().expect("a temporary folder");

    group.bench_function("10,000 documents", |b| {
        b.iter_batched(empty, |folder| (add(&new_index(folder.path()), 0, &films), folder), BatchSize::PerIteration);
    });

    let in_parts = || {
        let folder = empty();
        let index = new_index(folder.path());
        let lines: Vec<&[u8]> = films.split_inclusive(|&byte| byte == b'\n').collect();
        for (batch, part) in lines.chunks(DOCUMENTS / PARTS).enumerate() {
            add(&index, batch as u64, &part.concat());
        }
        (index, folder)
    };
    group.bench_function("merge 8 segments", |b| {
        b.iter_batched(
            in_parts,
            |(index, folder)| {
                index.compact(&AtomicBool::new(false)).expect("a merge");
                (index, folder)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();

    let folder = empty();
    let index = new_index(folder.path());
    add(&index, 0, &films);
    let batch = Cell::new(0_u64);
    c.bench_function("one document more, durable", |b| {
        b.iter_batched(
            || {
                batch.set(batch.get() + 1);
                // The number of segments must not grow with the number of iterations.
                if batch.get().is_multiple_of(100) {
                    index.compact(&AtomicBool::new(false)).expect("a merge");
                }
                format!("{{\"id\":{},\"title\":\"one more\"}}\n", 1_000_000 + batch.get())
            },
            |document| add(&index, batch.get(), document.as_bytes()),
            BatchSize::PerIteration,
        );
    });
    drop(index);
    c.bench_function("open", |b| {
        b.iter(|| {
            let options = IndexOptions { background_merges: false, ..IndexOptions::default() };
            Index::open(folder.path(), options).expect("the index is there")
        });
    });
}

criterion_group!(benches, index);
criterion_main!(benches);
