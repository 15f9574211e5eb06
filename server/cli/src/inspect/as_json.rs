//! What `lamina inspect --json` prints.

use lamina_base::timestamp::Timestamp;
use lamina_data::instance::Instance;
use lamina_engine::index::{DocumentReport, GenerationReport, Index, SegmentReport, Snapshot, TermReport, TokenReport};
use lamina_engine::segment::FileMeta;
use lamina_engine::text::normalize_word;
use lamina_protocol::wire::settings::show;
use serde_json::{Map, Value, json};

use super::{InspectArgs, InspectError, POSTINGS_SHOWN_MAX, aliases_of};

/// The indexes, or what the options ask for of one.
pub(super) fn describe(instance: &Instance, args: &InspectArgs) -> Result<Value, InspectError> {
    let index = |uid: &str| instance.index(uid).map_err(InspectError::Index);
    let Some(uid) = &args.index else {
        let mut indexes = Vec::new();
        for uid in instance.uids() {
            let report = index(&uid)?.report();
            let segments = report.segments.len();
            indexes.push(json!({
                "uid": uid, "documents": report.document_count, "segments": segments, "bytes": report.segment_bytes,
            }));
        }
        return Ok(Value::Array(indexes));
    };
    let index = index(uid)?;
    let snapshot = index.snapshot();
    let mut found = Map::new();
    if let Some(word) = &args.term {
        let reports = snapshot.inspect_term(&normalize_word(word), POSTINGS_SHOWN_MAX);
        found.insert("term".into(), reports.iter().map(term).collect());
    }
    if let Some(key) = &args.document {
        let report = snapshot.inspect_document(key)?.ok_or_else(|| InspectError::NoDocument(key.clone()))?;
        found.insert("document".into(), document(&report));
    }
    if found.is_empty() { Ok(whole(instance, uid, &index, &snapshot)) } else { Ok(Value::Object(found)) }
}

fn whole(instance: &Instance, uid: &str, index: &Index, snapshot: &Snapshot) -> Value {
    let report = index.report();
    let states = index.generations();
    let kept = states.iter().filter(|state| !state.is_current);
    json!({
        "generation": report.generation,
        "documents": report.document_count,
        "primaryKey": snapshot.primary_key,
        "lastBatch": snapshot.last_outcome().map(|(batch, _)| batch.to_string()),
        "fields": snapshot.fields.names().collect::<Vec<_>>(),
        "bytes": report.segment_bytes,
        "settings": show(&snapshot.settings, &|_| true),
        "segments": report.segments.iter().map(segment).collect::<Vec<_>>(),
        "aliases": aliases_of(instance, uid),
        "keptStates": kept.map(state).collect::<Vec<_>>(),
    })
}

fn state(state: &GenerationReport) -> Value {
    json!({
        "generation": state.generation,
        "committedAt": Timestamp::from(state.committed_at),
        "documents": state.document_count,
        "damage": state.damage,
    })
}

fn segment(segment: &SegmentReport) -> Value {
    let file =
        |file: &FileMeta| json!({"name": file.name, "bytes": file.bytes, "checksum": format!("{:08x}", file.checksum)});
    json!({
        "id": format!("{:016x}", segment.id.0),
        "documents": segment.doc_count,
        "deletedDocuments": segment.deleted_count,
        "terms": segment.term_count,
        "tokens": segment.token_count,
        "bytes": segment.bytes,
        "rawBytes": segment.raw_bytes,
        "files": segment.files.iter().map(file).collect::<Vec<_>>(),
        "sections": segment.sections.iter().map(|(name, bytes)| json!({"name": name, "bytes": bytes})).collect::<Vec<_>>(),
    })
}

fn term(report: &TermReport) -> Value {
    let postings = report.postings.iter();
    let postings = postings.map(|one| json!({"document": one.doc, "deleted": one.deleted, "fields": one.fields}));
    json!({
        "segment": format!("{:016x}", report.segment.0),
        "ordinal": report.ordinal,
        "documents": report.doc_freq,
        "postings": postings.collect::<Vec<_>>(),
    })
}

/// Words that are too long are `null`, separators `|`.
fn document(report: &DocumentReport) -> Value {
    let word = |token: &TokenReport| match token {
        TokenReport::Word(word) => json!(word),
        TokenReport::Hole => Value::Null,
        TokenReport::Gap => json!("|"),
    };
    let words = report.fields.iter().map(|(field, tokens)| (field.clone(), tokens.iter().map(word).collect()));
    let stored: Value = serde_json::from_slice(&report.json).unwrap_or(Value::Null);
    json!({
        "segment": format!("{:016x}", report.segment.0),
        "document": report.doc,
        "internalId": report.internal_id,
        "stored": stored,
        "words": words.collect::<Map<String, Value>>(),
    })
}
