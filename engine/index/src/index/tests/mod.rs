//! The index as a whole, on memory and on disks that fail.

mod behaviour;
mod changes;
mod copies;
mod crash;
mod crash_pairs;
mod damaged;
mod damaged_manifests;
mod embedding;
mod expiry;
mod generations;
mod marks;
mod model;
mod settings;
mod values;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_segment::segment::ListThresholds;
use lamina_segment::storage::Directory;
use serde_json::{Map, Value};

use super::{
    CommitNote, Index, IndexError, IndexOptions, Operation, OperationError, Outcome, Payload, Progress, SettingsPatch,
    Snapshot, Upsert, WriteMethod,
};

type Results = Vec<Result<Outcome, OperationError>>;

/// Two threads, merges only when asked for. The memory is enough for a batch to become one segment or two, also when the
/// dictionary for Chinese was read, which takes some.
fn options() -> IndexOptions {
    IndexOptions {
        indexing_memory_bytes: 256 << 20,
        indexing_threads: 2,
        background_merges: false,
        list_thresholds: ListThresholds::SMALL,
        // Damage in sections that are small is met by what reads them.
        compared_at_opening_max: 64,
        ..IndexOptions::default()
    }
}

fn create(directory: &(impl Directory + Clone + 'static)) -> Index {
    Index::create_in(Arc::new(directory.clone()), options()).expect("empty directory")
}

fn payload(documents: &[Value]) -> Payload {
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    Payload::Bytes(lines.into_bytes().into())
}

fn upsert(method: WriteMethod, documents: &[Value]) -> Operation {
    Operation::Upsert(Upsert { payload: payload(documents), method, primary_key: None, skip_creation: false })
}

fn add(documents: &[Value]) -> Operation {
    upsert(WriteMethod::Replace, documents)
}

fn update(documents: &[Value]) -> Operation {
    upsert(WriteMethod::Update, documents)
}

fn delete(ids: &[&str]) -> Operation {
    Operation::DeleteIds(ids.iter().map(|id| (*id).to_owned()).collect())
}

fn settings(json: Value) -> Operation {
    let patch: SettingsPatch = serde_json::from_value(json).expect("valid patch");
    Operation::Settings(Box::new(patch))
}

fn try_apply(index: &Index, batch: u64, operations: &[Operation]) -> Result<Results, IndexError> {
    let note = CommitNote::new(batch, move |_| batch.to_le_bytes().to_vec());
    index.apply(operations, note, &Progress::new(), &AtomicBool::new(false))
}

fn apply(index: &Index, operations: &[Operation]) -> Results {
    let batch = index.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
    try_apply(index, batch, operations).expect("a disk without faults")
}

/// The only result of a batch of one.
fn apply_one(index: &Index, operation: Operation) -> Result<Outcome, OperationError> {
    apply(index, &[operation]).pop().expect("one operation, one result")
}

/// All documents in order of insertion.
fn documents(snapshot: &Snapshot) -> Vec<Map<String, Value>> {
    let read = |address| {
        let json = snapshot.document(address).expect("readable document");
        serde_json::from_slice(&json).expect("stored documents are objects")
    };
    snapshot.documents(0, u64::MAX).into_iter().map(read).collect()
}

/// Contents of a snapshot that a reader sees.
#[derive(Clone, Debug, PartialEq)]
struct Observed {
    documents: Vec<Map<String, Value>>,
    field_distribution: Vec<(String, u64)>,
    settings: super::Settings,
    primary_key: Option<String>,
    last_batch: Option<u64>,
}

fn observe(snapshot: &Snapshot) -> Observed {
    Observed {
        documents: documents(snapshot),
        field_distribution: snapshot.field_distribution.iter().map(|(name, count)| (name.clone(), *count)).collect(),
        settings: (*snapshot.settings).clone(),
        primary_key: snapshot.primary_key.as_deref().map(str::to_owned),
        last_batch: snapshot.last_outcome().map(|(batch, outcome)| {
            assert_eq!(outcome, batch.to_le_bytes(), "the outcome belongs to its batch");
            batch
        }),
    }
}

/// Ids of the live documents that hold `word` in a field of the current searchable attributes.
fn ids_with_word(snapshot: &Snapshot, word: &str) -> Vec<String> {
    let mut found = Vec::new();
    for segment in &snapshot.segments {
        let reader = &segment.reader;
        let Some(ordinal) = reader.terms().ordinal(word.as_bytes()) else { continue };
        reader.postings().for_each(ordinal, |doc, field_set| {
            let fields = reader.postings().field_sets().fields(field_set);
            let is_searchable = fields.iter().any(|&field| {
                let name = snapshot.fields.name(field).expect("known field");
                snapshot.settings.searchable_attributes.selects(name)
            });
            if segment.is_live(doc) && is_searchable {
                let mut json = Vec::new();
                reader.store().get(doc, &mut json).expect("readable");
                let document: Map<String, Value> = serde_json::from_slice(&json).expect("object");
                found.push(id_of(&document));
            }
        });
    }
    found.sort();
    found
}

/// The id of a document as text.
fn id_of(document: &Map<String, Value>) -> String {
    match &document["id"] {
        Value::String(id) => id.clone(),
        other => other.to_string(),
    }
}

/// Numbers and strings of a column by document id, from all segments; panics if it is missing where it must not be.
fn column_values(snapshot: &Snapshot, field: &str) -> Vec<(String, Vec<String>)> {
    let id = snapshot.fields.get(field).expect("known field");
    let mut found = Vec::new();
    for segment in &snapshot.segments {
        let Some(column) = segment.reader.columns().get(id) else { continue };
        for doc in (0..segment.reader.doc_count()).filter(|&doc| segment.is_live(doc)) {
            let mut ordinals = Vec::new();
            column.ordinals_of(doc, &mut ordinals);
            if ordinals.is_empty() {
                continue;
            }
            let values = ordinals.into_iter().map(|ordinal| {
                if ordinal < column.number_count() {
                    column.number(ordinal).to_string()
                } else {
                    column.string(ordinal).to_owned()
                }
            });
            let mut json = Vec::new();
            segment.reader.store().get(doc, &mut json).expect("readable");
            let document: Map<String, Value> = serde_json::from_slice(&json).expect("object");
            found.push((id_of(&document), values.collect()));
        }
    }
    found.sort();
    found
}
