//! What changes cost in an index that is large already. First one document at a time: time from the call to durable and
//! visible, and processor time of the calling thread (Linux only), with merges going on in the background. Then a few
//! changes of everything: two more columns, every document replaced, every document updated, text cut another way.
//!
//! Corpus: any ndjson file with an `id`. Every commit replaces one of its documents, scattered over the file.
//!
//! `cargo run --release -p lamina-benches --bin commits -- corpus.ndjson [commits]`

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const COMMITS: usize = 500;
const SETTINGS: &str = r#"{"filterableAttributes": ["category", "price", "tags"], "sortableAttributes": ["price"]}"#;

fn apply(index: &Index, batch: u64, operations: &[Operation]) -> Result<()> {
    let note = CommitNote::new(batch, |_| Vec::new());
    for result in index.apply(operations, note, &Progress::new(), &AtomicBool::new(false))? {
        result?;
    }
    Ok(())
}

fn upsert(payload: Payload) -> Operation {
    Operation::Upsert(Upsert { payload, method: WriteMethod::Replace, primary_key: None, skip_creation: false })
}

/// Processor time of this thread so far; zero where the system does not say.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split(' ').next().and_then(|first| first.parse().ok()).unwrap_or(0);
    Duration::from_nanos(nanos)
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!("{name:<16} p50 {:>8.3} ms  p90 {:>8.3} ms  p99 {:>8.3} ms", at(0.5), at(0.9), at(0.99));
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let corpus = PathBuf::from(arguments.next().ok_or("usage: commits corpus.ndjson [commits]")?);
    let commits = arguments.next().map_or(Ok(COMMITS), |text| text.parse())?;
    let folder = tempfile::tempdir()?;
    let index = Index::create(folder.path(), IndexOptions::default())?;
    let settings = Operation::Settings(Box::new(serde_json::from_str(SETTINGS)?));
    apply(&index, 0, &[settings, upsert(Payload::File(corpus.clone()))])?;
    let text = std::fs::read_to_string(&corpus)?;
    let lines: Vec<&str> = text.lines().collect();

    let (mut wall, mut processor) = (Vec::new(), Vec::new());
    for commit in 0..commits {
        let line = lines[commit.wrapping_mul(2_654_435_761) % lines.len()];
        let (start, processor_start) = (Instant::now(), processor_time());
        apply(&index, 1 + commit as u64, &[upsert(Payload::Bytes(line.as_bytes().into()))])?;
        wall.push(start.elapsed());
        processor.push(processor_time() - processor_start);
    }
    println!("{commits} commits of one document in an index of {}", index.snapshot().document_count());
    print("to searchable", wall);
    print("processor", processor);
    index.wait_for_merges();
    println!("{} merges; {} segments", index.merge_status().merge_count, index.snapshot().segments.len());

    let settings = |json: &str| -> Result<Operation> { Ok(Operation::Settings(Box::new(serde_json::from_str(json)?))) };
    let update = Upsert {
        payload: Payload::File(corpus.clone()),
        method: WriteMethod::Update,
        primary_key: None,
        skip_creation: false,
    };
    let changes = [
        (
            "two more columns",
            settings(r#"{"filterableAttributes": ["category", "price", "tags", "brand", "rating"]}"#)?,
        ),
        ("every document replaced", upsert(Payload::File(corpus))),
        ("every document updated", Operation::Upsert(update)),
        ("another separator", settings(r#"{"separatorTokens": ["&sep"]}"#)?),
        ("everything deleted", Operation::Clear),
    ];
    for (batch, (name, operation)) in (1 + commits as u64..).zip(changes) {
        let start = Instant::now();
        apply(&index, batch, &[operation])?;
        println!("{name:<24} {:>8.3} s", start.elapsed().as_secs_f64());
    }
    Ok(())
}
