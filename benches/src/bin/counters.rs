//! What a new number costs in an index of catalogue documents: kept beside the segments (`UpdateValues`), sent as part of a
//! document (`Update`), or with the whole document (`Replace`). Time until it is durable and visible, and until merges are over; and
//! what the first read of the column costs after it.
//!
//! `cargo run --release -p lamina-benches --bin counters -- [documents] [updates] [updates per batch]`

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

const SETTINGS: &str = r#"{"searchableAttributes": ["title", "text"], "filterableAttributes": ["views"],
    "sortableAttributes": ["views"]}"#;
/// Words of a text.
const WORDS: u64 = 60;

fn apply(index: &Index, batch: u64, operation: Operation) -> Result<()> {
    let note = CommitNote::new(batch, |_| Vec::new());
    for result in index.apply(&[operation], note, &Progress::new(), &AtomicBool::new(false))? {
        result?;
    }
    Ok(())
}

fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20
}

fn document(id: u64, views: u64) -> String {
    let words: Vec<String> = (0..WORDS).map(|word| format!("w{}", scattered(id * WORDS + word) % 30_000)).collect();
    format!(r#"{{"id":{id},"title":"{}","text":"{}","views":{views}}}"#, words[..5].join(" "), words.join(" "))
}

fn upsert(lines: String, method: WriteMethod) -> Operation {
    let payload = Payload::Bytes(lines.into_bytes().into());
    Operation::Upsert(Upsert { payload, method, primary_key: Some("id".to_owned()), skip_creation: false })
}

fn filled(documents: u64) -> Result<(tempfile::TempDir, Index)> {
    let folder = tempfile::tempdir()?;
    let index = Index::create(folder.path(), IndexOptions::default())?;
    apply(&index, 0, Operation::Settings(Box::new(serde_json::from_str(SETTINGS)?)))?;
    let lines: String = (0..documents).map(|id| document(id, id % 1000) + "\n").collect();
    apply(&index, 1, upsert(lines, WriteMethod::Replace))?;
    index.wait_for_merges();
    Ok((folder, index))
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |default| arguments.next().unwrap_or(Ok(default));
    let (documents, updates, per_batch) = (next(100_000)?, next(20_000)?, next(1_000)?);
    for name in ["UpdateValues", "Update", "Replace"] {
        let (_folder, index) = filled(documents)?;
        let start = Instant::now();
        for batch in 0..updates.div_ceil(per_batch) {
            let ids = (batch * per_batch..(batch + 1) * per_batch).map(|number| scattered(number) % documents);
            let operation = match name {
                "UpdateValues" => {
                    let line = |id| format!("{{\"id\":\"{id}\",\"increment\":{{\"views\":1}}}}\n");
                    Operation::UpdateValues(Payload::Bytes(ids.map(line).collect::<String>().into_bytes().into()))
                }
                "Update" => {
                    let line = |id| format!("{{\"id\":{id},\"views\":{}}}\n", 1_000 + batch);
                    upsert(ids.map(line).collect(), WriteMethod::Update)
                }
                _ => upsert(ids.map(|id| document(id, 1_000 + batch) + "\n").collect(), WriteMethod::Replace),
            };
            apply(&index, 2 + batch, operation)?;
        }
        let durable = start.elapsed();
        let snapshot = index.snapshot();
        let field = snapshot.fields.get("views").ok_or("the field is there")?;
        let read = Instant::now();
        let values: u32 = snapshot
            .segments
            .iter()
            .filter_map(|segment| segment.reader.columns().get(field))
            .map(|column| column.value_count())
            .sum();
        let read = read.elapsed();
        index.wait_for_merges();
        let rate = |time: std::time::Duration| updates as f64 / time.as_secs_f64();
        println!(
            "{name:<14} {:>9.0} a second; with merges {:>9.0}; the column read first {:>7.3} ms ({values} values)",
            rate(durable),
            rate(start.elapsed()),
            read.as_secs_f64() * 1e3,
        );
    }
    Ok(())
}
