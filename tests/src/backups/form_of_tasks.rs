//! The form of tasks and batches in dumps: variants and fields that are not named here stop the start of another server.

use serde_json::Value;

use super::fields::{
    Field, Result, exactly, is_anything, is_count, is_object, is_switch, is_text, is_text_or_null, is_texts, key,
    known, must, settings,
};

pub(super) fn task(line: &Value) -> Result {
    let object = line.as_object().ok_or("no object")?;
    let names = [
        "uid",
        "batchUid",
        "indexUid",
        "status",
        "type",
        "canceledBy",
        "details",
        "error",
        "enqueuedAt",
        "startedAt",
        "finishedAt",
        "network",
        "customMetadata",
    ];
    known(object, &names)?;
    must(&line["uid"], is_count, "a uid")?;
    must(&line["enqueuedAt"], is_text, "a time")?;
    for optional in ["canceledBy", "details", "error", "startedAt", "finishedAt", "customMetadata"] {
        if object.get(optional).is_some_and(Value::is_null) {
            return Err(format!("`{optional}` is null, and would be absent"));
        }
    }
    must(
        &line["status"],
        |status| ["enqueued", "processing", "succeeded", "failed", "canceled"].iter().any(|known| status == known),
        "a status",
    )?;
    if let Some(error) = object.get("error") {
        exactly(error, &[("message", is_text), ("code", is_text), ("type", is_text), ("link", is_text)])?;
    }
    let (name, data) = variant(&line["type"])?;
    let needs_index = work(name, data)?;
    if needs_index != line["indexUid"].is_string() {
        return Err(format!("`indexUid` of `{name}`"));
    }
    object.get("details").map_or(Ok(()), |details| variant(details).and_then(|(name, data)| self::details(name, data)))
}

/// Reports whether the work belongs to an index.
fn work(name: &str, data: &Value) -> std::result::Result<bool, String> {
    let fields: &[Field] = match name {
        "documentClear" | "indexDeletion" => return must(data, Value::is_null, "nothing").map(|()| true),
        "snapshotCreation" => return must(data, Value::is_null, "nothing").map(|()| false),
        "documentImport" => &[
            ("primary_key", is_text_or_null),
            ("method", |method| method == "ReplaceDocuments" || method == "UpdateDocuments"),
            ("documents_count", is_count),
            ("allow_index_creation", is_switch),
        ],
        "documentDeletion" => &[("documents_ids", is_texts)],
        "documentDeletionByFilter" => &[("filter", |filter| !filter.is_null())],
        "documentEdition" => &[
            ("filter", is_anything),
            ("context", |context| context.is_object() || context.is_null()),
            ("function", is_text),
        ],
        "settings" => &[
            ("settings", |sent| settings(sent).is_ok()),
            ("is_deletion", is_switch),
            ("allow_index_creation", is_switch),
        ],
        "indexCreation" => &[("primary_key", is_text_or_null)],
        "indexUpdate" => &[("primary_key", is_text_or_null), ("uid", is_text_or_null)],
        "indexCompaction" => &[("index_uid", is_text)],
        "indexSwap" => &[("swaps", is_swaps)],
        "taskCancelation" | "tasksDeletion" => &[("query", is_text), ("tasks", is_bitmap)],
        "dumpCreation" => &[
            ("keys", |keys| keys.as_array().is_some_and(|keys| keys.iter().all(|line| key(line).is_ok()))),
            ("instance_uid", is_text_or_null),
        ],
        "export" => &[
            ("url", is_text),
            ("api_key", is_text_or_null),
            ("payload_size", is_text_or_null),
            ("indexes", is_exported),
        ],
        "upgradeDatabase" => &[("from", is_version)],
        unknown => return Err(format!("unknown variant `{unknown}`")),
    };
    exactly(data, fields)?;
    Ok(!matches!(
        name,
        "indexSwap" | "taskCancelation" | "tasksDeletion" | "dumpCreation" | "export" | "upgradeDatabase"
    ))
}

fn details(name: &str, data: &Value) -> Result {
    let fields: &[Field] = match name {
        "DocumentAdditionOrUpdate" => &[("received_documents", is_count), ("indexed_documents", is_count_or_null)],
        "SettingsUpdate" => &[("settings", |sent| settings(sent).is_ok())],
        "IndexInfo" => {
            &[("primary_key", is_text_or_null), ("new_index_uid", is_text_or_null), ("old_index_uid", is_text_or_null)]
        }
        "DocumentDeletion" => &[("provided_ids", is_count), ("deleted_documents", is_count_or_null)],
        "DocumentDeletionByFilter" => &[("original_filter", is_text), ("deleted_documents", is_count_or_null)],
        "DocumentEdition" => &[
            ("deleted_documents", is_count_or_null),
            ("edited_documents", is_count_or_null),
            ("original_filter", is_text_or_null),
            ("context", |context| context.is_object() || context.is_null()),
            ("function", is_text),
        ],
        "ClearAll" => &[("deleted_documents", is_count_or_null)],
        "TaskCancelation" => {
            &[("matched_tasks", is_count), ("canceled_tasks", is_count_or_null), ("original_filter", is_text)]
        }
        "TaskDeletion" => {
            &[("matched_tasks", is_count), ("deleted_tasks", is_count_or_null), ("original_filter", is_text)]
        }
        "Dump" => &[("dump_uid", is_text_or_null)],
        "IndexSwap" => &[("swaps", is_swaps)],
        "Export" => &[
            ("url", is_text),
            ("api_key", is_text_or_null),
            ("payload_size", is_text_or_null),
            ("indexes", is_exported),
        ],
        "UpgradeDatabase" => &[("from", is_version), ("to", is_version)],
        "IndexCompaction" => &[
            ("index_uid", is_text),
            ("pre_compaction_size", is_text_or_null),
            ("post_compaction_size", is_text_or_null),
        ],
        unknown => return Err(format!("unknown details `{unknown}`")),
    };
    exactly(data, fields)
}

pub(super) fn batch(line: &Value) -> Result {
    let fields: [Field; 7] = [
        ("uid", is_count),
        ("details", is_object),
        ("stats", is_object),
        ("startedAt", is_text),
        ("finishedAt", is_text_or_null),
        ("enqueuedAt", is_anything),
        ("stopReason", is_text),
    ];
    exactly(line, &fields)?;
    let stats = &line["stats"];
    must(&stats["totalNbTasks"], is_count, "a count")?;
    let kinds = [
        "documentAdditionOrUpdate",
        "documentEdition",
        "documentDeletion",
        "settingsUpdate",
        "indexCreation",
        "indexDeletion",
        "indexUpdate",
        "indexSwap",
        "taskCancelation",
        "taskDeletion",
        "dumpCreation",
        "snapshotCreation",
        "export",
        "upgradeDatabase",
        "indexCompaction",
        "networkTopologyChange",
    ];
    known(stats["types"].as_object().ok_or("no types")?, &kinds)?;
    let statuses = ["enqueued", "processing", "succeeded", "failed", "canceled"];
    known(stats["status"].as_object().ok_or("no statuses")?, &statuses)?;
    must(&stats["indexUids"], is_object, "counts")
}

/// The portable bytes of a Roaring bitmap: a cookie, and the number of containers.
fn is_bitmap(value: &Value) -> bool {
    let bytes: Option<Vec<u64>> = value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect());
    bytes.is_some_and(|bytes| {
        bytes.len() >= 8 && bytes[0] == 58 && bytes[1] == 48 && bytes.iter().all(|byte| *byte < 256)
    })
}

fn is_version(value: &Value) -> bool {
    value.as_array().is_some_and(|parts| parts.len() == 3 && parts.iter().all(Value::is_u64))
}

fn is_swaps(value: &Value) -> bool {
    let fields: [Field; 2] =
        [("indexes", |pair| is_texts(pair) && pair.as_array().unwrap().len() == 2), ("rename", is_switch)];
    value.as_array().is_some_and(|swaps| swaps.iter().all(|swap| exactly(swap, &fields).is_ok()))
}

fn is_exported(value: &Value) -> bool {
    let is_index = |index: &Value| {
        let mut index = index.clone();
        let counted = index.as_object_mut().unwrap().shift_remove("matched_documents");
        let fields: [Field; 2] = [("filter", is_anything), ("overrideSettings", is_switch)];
        counted.is_none_or(|count| count.is_u64()) && exactly(&index, &fields).is_ok()
    };
    value.as_object().is_some_and(|indexes| indexes.values().all(is_index))
}

fn is_count_or_null(value: &Value) -> bool {
    value.is_u64() || value.is_null()
}

/// A name alone, or an object with it as the only key.
fn variant(value: &Value) -> std::result::Result<(&str, &Value), String> {
    match value {
        Value::String(name) => Ok((name, &Value::Null)),
        Value::Object(object) if object.len() == 1 => {
            let (name, data) = object.iter().next().expect("one");
            Ok((name, data))
        }
        other => Err(format!("{other} is no variant")),
    }
}
