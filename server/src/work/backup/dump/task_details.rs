//! The details of tasks in dumps: an object with a name as its only key, which often is not that of the kind of work.

use lamina_base::options::{human_disk_size, human_size};
use lamina_data::tasks::{Kind, work};
use lamina_protocol::wire::settings;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value, json};

/// Public details in the form of dumps; `None` for kinds that have none there.
pub(super) fn dumped(kind: Kind, details: &Map<String, Value>, index_uid: Option<&str>) -> Option<Value> {
    let of = |name: &str| details.get(name).cloned().unwrap_or_default();
    let text = |name: &str| of(name).as_str().unwrap_or_default().to_owned();
    let count = |name: &str| of(name).as_u64().unwrap_or(0);
    Some(match kind {
        Kind::DocumentAdditionOrUpdate => json!({ "DocumentAdditionOrUpdate": {
            "received_documents": count("receivedDocuments"), "indexed_documents": of("indexedDocuments"),
        } }),
        Kind::DocumentEdition => json!({ "DocumentEdition": {
            "deleted_documents": of("deletedDocuments"),
            "edited_documents": of("editedDocuments"),
            "original_filter": of("originalFilter"),
            "context": of("context"),
            "function": text("function"),
        } }),
        Kind::DocumentDeletion if !details.contains_key("providedIds") => {
            json!({ "ClearAll": { "deleted_documents": of("deletedDocuments") } })
        }
        Kind::DocumentDeletion if of("originalFilter").is_string() => json!({ "DocumentDeletionByFilter": {
            "original_filter": of("originalFilter"), "deleted_documents": of("deletedDocuments"),
        } }),
        Kind::DocumentDeletion => json!({ "DocumentDeletion": {
            "provided_ids": count("providedIds"), "deleted_documents": of("deletedDocuments"),
        } }),
        Kind::IndexDeletion => json!({ "ClearAll": { "deleted_documents": of("deletedDocuments") } }),
        Kind::SettingsUpdate => {
            let mut sent = details.clone();
            settings::keep_portable(&mut sent);
            json!({ "SettingsUpdate": { "settings": sent } })
        }
        Kind::IndexCreation | Kind::IndexUpdate => json!({ "IndexInfo": {
            "primary_key": of("primaryKey"), "new_index_uid": of("newIndexUid"), "old_index_uid": of("oldIndexUid"),
        } }),
        Kind::IndexSwap => json!({ "IndexSwap": { "swaps": details.get("swaps").cloned().unwrap_or(json!([])) } }),
        Kind::TaskCancelation => json!({ "TaskCancelation": {
            "matched_tasks": count("matchedTasks"),
            "canceled_tasks": of("canceledTasks"),
            "original_filter": text("originalFilter"),
        } }),
        Kind::TaskDeletion => json!({ "TaskDeletion": {
            "matched_tasks": count("matchedTasks"),
            "deleted_tasks": of("deletedTasks"),
            "original_filter": text("originalFilter"),
        } }),
        Kind::DumpCreation => json!({ "Dump": { "dump_uid": of("dumpUid") } }),
        Kind::Export => exported(details),
        Kind::UpgradeDatabase => {
            let (from, to) = (work::version(&text("upgradeFrom"))?, work::version(&text("upgradeTo"))?);
            json!({ "UpgradeDatabase": { "from": from, "to": to } })
        }
        Kind::IndexCompaction => json!({ "IndexCompaction": {
            "index_uid": index_uid,
            "pre_compaction_size": work::bytes(&of("preCompactionSize")),
            "post_compaction_size": work::bytes(&of("postCompactionSize")),
        } }),
        _ => return None,
    })
}

fn exported(details: &Map<String, Value>) -> Value {
    let of = |name: &str| details.get(name).cloned().unwrap_or_default();
    json!({ "Export": {
        "url": of("url").as_str().unwrap_or_default(),
        "api_key": of("apiKey"),
        "payload_size": work::bytes(&of("payloadSize")),
        "indexes": work::exported(&of("indexes"), true),
    } })
}

/// Details of a dump as they are shown.
pub(super) fn shown(kind: Kind, (name, data): (&str, &Value)) -> Option<Box<RawValue>> {
    let mut shown = Map::new();
    match (kind, data) {
        (Kind::SnapshotCreation, _) => return None,
        (Kind::SettingsUpdate, data) => shown = data.get("settings")?.as_object()?.clone(),
        (_, Value::Object(fields)) => {
            shown.extend(fields.iter().map(|(field, value)| (camel_case(field), value.clone())));
        }
        _ => return None,
    }
    match name {
        "DocumentDeletion" => drop(shown.insert("originalFilter".to_owned(), Value::Null)),
        "DocumentDeletionByFilter" => drop(shown.insert("providedIds".to_owned(), 0.into())),
        "IndexInfo" => shown.retain(|name, value| name == "primaryKey" || !value.is_null()),
        "IndexCompaction" => show_compaction(&mut shown),
        "Export" => show_export(&mut shown),
        "UpgradeDatabase" => {
            for (field, public) in [("from", "upgradeFrom"), ("to", "upgradeTo")] {
                let version = shown.shift_remove(field).unwrap_or_default();
                let numbers: Vec<String> = version.as_array()?.iter().map(Value::to_string).collect();
                shown.insert(public.to_owned(), format!("v{}", numbers.join(".")).into());
            }
        }
        _ => {}
    }
    to_raw_value(&shown).ok()
}

/// Bytes, as a number or a text.
fn size_of(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| work::bytes(value).as_str()?.parse().ok())
}

fn show_compaction(shown: &mut Map<String, Value>) {
    shown.shift_remove("indexUid");
    shown.retain(|_, value| !value.is_null());
    for value in shown.values_mut() {
        if let Some(bytes) = size_of(value) {
            *value = human_disk_size(bytes).into();
        }
    }
}

fn show_export(shown: &mut Map<String, Value>) {
    shown.retain(|name, value| name == "indexes" || !value.is_null());
    if let Some(size) = shown.get_mut("payloadSize")
        && let Some(bytes) = size_of(size)
    {
        *size = human_size(bytes).into();
    }
    for index in shown.get_mut("indexes").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut) {
        if let Some(index) = index.as_object_mut()
            && let Some(count) = index.shift_remove("matched_documents")
        {
            index.insert("matchedDocuments".to_owned(), count);
        }
    }
}

fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}
