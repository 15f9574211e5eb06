//! What a task does, in the form that dumps of the protocol have it: an object with the kind of work as its only key, or
//! just that name. Servers of the protocol refuse a dump with a kind that they do not know.

use lamina_base::options::ByteSize;
use lamina_protocol::wire::settings;
use serde_json::{Map, Value, json};

use super::content::{Content, Export, Method, Swap, Upsert};
use super::kind::Kind;
use super::uid_set::UidSet;

/// The work of finished tasks is kept up to this many bytes. Beyond them details say how much there was.
const KEPT_BYTES_MAX: usize = 1024;

/// The work of a task of the index `index_uid`; `None` for kinds that only this program has.
pub fn of_content(content: &Content, index_uid: Option<&str>) -> Option<Value> {
    Some(match content {
        Content::Upsert(upsert) => document_import(upsert),
        Content::DeleteIds { ids, .. } => json!({ "documentDeletion": { "documents_ids": ids } }),
        Content::DeleteExpired => json!({ "documentDeletion": { "documents_ids": [] } }),
        Content::DeleteByFilter { filter } => json!({ "documentDeletionByFilter": { "filter": filter } }),
        Content::Clear { .. } => json!("documentClear"),
        Content::Edit(edit) => {
            let fields = json!({ "filter": edit.filter, "context": edit.context, "function": edit.function });
            json!({ "documentEdition": fields })
        }
        Content::Settings { patch, may_create_index } => {
            let mut sent = serde_json::to_value(patch).ok()?;
            settings::keep_portable(sent.as_object_mut()?);
            let is_deletion = **patch == lamina_engine::index::SettingsPatch::reset_all();
            settings_update(sent, is_deletion, *may_create_index)
        }
        Content::CreateIndex { primary_key } => json!({ "indexCreation": { "primary_key": primary_key } }),
        Content::UpdateIndex { primary_key, new_uid } => {
            json!({ "indexUpdate": { "primary_key": primary_key, "uid": new_uid } })
        }
        Content::DeleteIndex => json!("indexDeletion"),
        Content::SwapIndexes { swaps } => {
            let swap = |swap: &Swap| json!({ "indexes": swap.indexes, "rename": swap.rename });
            json!({ "indexSwap": { "swaps": swaps.iter().map(swap).collect::<Vec<Value>>() } })
        }
        Content::CompactIndex => json!({ "indexCompaction": { "index_uid": index_uid } }),
        Content::CreateSnapshot => json!("snapshotCreation"),
        Content::CreateDump { .. } => json!({ "dumpCreation": { "keys": [], "instance_uid": null } }),
        Content::UpgradeDatabase { from, .. } => json!({ "upgradeDatabase": { "from": version(from)? } }),
        Content::Export(asked) => export(asked),
        Content::CancelTasks { filter, tasks } => {
            json!({ "taskCancelation": { "query": filter, "tasks": tasks.to_bitmap() } })
        }
        Content::DeleteTasks { filter, tasks } => {
            json!({ "tasksDeletion": { "query": filter, "tasks": tasks.to_bitmap() } })
        }
        Content::UpdateAliases { .. }
        | Content::CloneIndex { .. }
        | Content::AttachIndex { .. }
        | Content::RestoreIndex { .. }
        | Content::UpdateRule { .. }
        | Content::ClearRules => return None,
    })
}

/// Returns whether another server that does what [`of_content`] says does what was asked for.
pub fn can_be_handed_over(content: &Content) -> bool {
    match content {
        Content::Upsert(upsert) => upsert.method != Method::Values && !upsert.skip_creation,
        // Another server sends secrets whether the key might write them or not.
        Content::Export(asked) => asked.with_secrets,
        Content::DeleteExpired | Content::UpgradeDatabase { .. } => false,
        _ => true,
    }
}

/// Returns whether dumps have a form for tasks of this kind.
pub fn is_known_elsewhere(kind: Kind) -> bool {
    !matches!(
        kind,
        Kind::NetworkTopologyChange
            | Kind::DsrUpdate
            | Kind::DsrClear
            | Kind::AliasUpdate
            | Kind::IndexRestoration
            | Kind::IndexClone
            | Kind::IndexAttachment
    )
}

/// The work of a finished task as far as its details have it; `None` for kinds that only this program has.
pub fn of_details(kind: Kind, details: &Map<String, Value>, index_uid: Option<&str>) -> Option<Value> {
    if !is_known_elsewhere(kind) {
        return None;
    }
    let of = |name: &str| details.get(name).cloned().unwrap_or_default();
    Some(match kind {
        Kind::DocumentAdditionOrUpdate => json!({ "documentImport": {
            "primary_key": null,
            "method": method(Method::Replace),
            "documents_count": of("receivedDocuments").as_u64().unwrap_or(0),
            "allow_index_creation": true,
        } }),
        Kind::DocumentEdition => json!({ "documentEdition": {
            "filter": filter(&of("originalFilter")),
            "context": of("context"),
            "function": of("function").as_str().unwrap_or_default(),
        } }),
        Kind::DocumentDeletion => match (details.get("providedIds"), filter(&of("originalFilter"))) {
            (None, _) => json!("documentClear"),
            (_, Value::Null) => json!({ "documentDeletion": { "documents_ids": [] } }),
            (_, filter) => json!({ "documentDeletionByFilter": { "filter": filter } }),
        },
        Kind::SettingsUpdate => {
            let mut sent = details.clone();
            settings::keep_portable(&mut sent);
            settings_update(Value::Object(sent), false, true)
        }
        Kind::IndexCreation => json!({ "indexCreation": { "primary_key": of("primaryKey") } }),
        Kind::IndexUpdate => {
            json!({ "indexUpdate": { "primary_key": of("primaryKey"), "uid": of("newIndexUid") } })
        }
        Kind::IndexDeletion => json!("indexDeletion"),
        Kind::IndexSwap => json!({ "indexSwap": { "swaps": details.get("swaps").cloned().unwrap_or(json!([])) } }),
        Kind::TaskCancelation => json!({ "taskCancelation": chosen(&of("originalFilter")) }),
        Kind::TaskDeletion => json!({ "tasksDeletion": chosen(&of("originalFilter")) }),
        Kind::DumpCreation => json!({ "dumpCreation": { "keys": [], "instance_uid": null } }),
        Kind::SnapshotCreation => json!("snapshotCreation"),
        Kind::Export => json!({ "export": {
            "url": of("url").as_str().unwrap_or_default(),
            "api_key": of("apiKey"),
            "payload_size": bytes(&of("payloadSize")),
            "indexes": exported(&of("indexes"), false),
        } }),
        Kind::UpgradeDatabase => {
            json!({ "upgradeDatabase": { "from": version(of("upgradeFrom").as_str().unwrap_or_default())? } })
        }
        Kind::IndexCompaction => json!({ "indexCompaction": { "index_uid": index_uid } }),
        _ => return None,
    })
}

/// Returns what is kept of the work of a task that ends: what its details do not have, if that is little.
pub fn kept(content: &Content) -> Option<String> {
    let is_in_details = match content {
        Content::Upsert(upsert) => {
            upsert.method == Method::Replace && upsert.primary_key.is_none() && upsert.may_create_index
        }
        Content::DeleteIds { ids, .. } => ids.is_empty() || ids.len() > KEPT_BYTES_MAX,
        Content::CancelTasks { tasks, .. } | Content::DeleteTasks { tasks, .. } => tasks.is_empty(),
        _ => true,
    };
    if is_in_details {
        return None;
    }
    let work = of_content(content, None)?.to_string();
    (work.len() <= KEPT_BYTES_MAX).then_some(work)
}

/// Indexes of an export by their patterns or, in its details, by their uids.
pub fn exported(indexes: &Value, with_counts: bool) -> Value {
    let index = |(name, index): (&String, &Value)| {
        let mut entry = json!({
            "filter": index.get("filter"),
            "overrideSettings": index.get("overrideSettings").and_then(Value::as_bool).unwrap_or(false),
        });
        if let Some(count) = index.get("matchedDocuments").filter(|_| with_counts) {
            entry["matched_documents"] = count.clone();
        }
        (name.clone(), entry)
    };
    Value::Object(indexes.as_object().into_iter().flatten().map(index).collect())
}

/// A size as dumps have it: a text with all its bytes.
pub fn bytes(size: &Value) -> Value {
    let size = size.as_str().and_then(|text| text.parse::<ByteSize>().ok());
    size.map(|size| size.bytes().to_string()).into()
}

/// `1.2.3` or `v1.2.3` as three numbers.
pub fn version(text: &str) -> Option<Value> {
    let numbers = text.trim_start_matches('v').split('.').map(|number| number.parse::<u32>().ok());
    let numbers: Vec<u32> = numbers.collect::<Option<_>>()?;
    (numbers.len() == 3).then(|| json!(numbers))
}

fn document_import(upsert: &Upsert) -> Value {
    json!({ "documentImport": {
        "primary_key": upsert.primary_key,
        "method": method(upsert.method),
        "documents_count": upsert.received,
        "allow_index_creation": upsert.may_create_index,
    } })
}

fn method(method: Method) -> &'static str {
    match method {
        Method::Replace => "ReplaceDocuments",
        Method::Update | Method::Values => "UpdateDocuments",
    }
}

fn settings_update(settings: Value, is_deletion: bool, may_create_index: bool) -> Value {
    json!({ "settings": {
        "settings": settings, "is_deletion": is_deletion, "allow_index_creation": may_create_index,
    } })
}

fn export(asked: &Export) -> Value {
    let indexes = asked.indexes.iter().map(|index| {
        let entry = json!({ "filter": index.filter, "overrideSettings": index.override_settings });
        (index.pattern.clone(), entry)
    });
    json!({ "export": {
        "url": asked.url,
        "api_key": asked.api_key,
        "payload_size": asked.shows_payload_size.then(|| asked.payload_bytes.to_string()),
        "indexes": indexes.collect::<Map<String, Value>>(),
    } })
}

/// The filter of a request, which details have as text.
fn filter(shown: &Value) -> Value {
    let Value::String(text) = shown else { return Value::Null };
    serde_json::from_str(text).unwrap_or_else(|_| shown.clone())
}

/// Tasks that a query chose; which ones they were is not known any more.
fn chosen(query: &Value) -> Value {
    json!({ "query": query.as_str().unwrap_or_default(), "tasks": UidSet::default().to_bitmap() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_details_do_not_have_is_kept() {
        let upsert = |method, primary_key: Option<&str>| {
            let text = json!({
                "do": "upsert", "method": method, "primaryKey": primary_key, "skipCreation": false,
                "mayCreateIndex": true, "received": 2, "payload": "inline", "payloadBytes": 9, "payloadChecksum": 7,
            });
            kept(&serde_json::from_value(text).unwrap())
        };
        assert_eq!(upsert("replace", None), None);
        for (method, key, name) in [("update", None, "UpdateDocuments"), ("replace", Some("id"), "ReplaceDocuments")] {
            let work: Value = serde_json::from_str(&upsert(method, key).unwrap()).unwrap();
            let expected = json!({
                "primary_key": key, "method": name, "documents_count": 2, "allow_index_creation": true,
            });
            assert_eq!(work, json!({ "documentImport": expected }));
        }
        let ids = |count: usize| kept(&Content::DeleteIds { ids: vec!["1".to_owned(); count], mark: None });
        assert_eq!(ids(1), Some(r#"{"documentDeletion":{"documents_ids":["1"]}}"#.to_owned()));
        assert_eq!((ids(600), ids(5000)), (None, None));
        let secret =
            json!({"do": "settings", "patch": {"embedders": {"e": {"apiKey": "secret"}}}, "mayCreateIndex": true});
        assert_eq!(kept(&serde_json::from_value(secret).unwrap()), None, "secrets go with the task's end");
    }

    #[test]
    fn kinds_have_a_form_in_dumps_or_are_ours() {
        let details = json!({"upgradeFrom": "v1.0.0", "upgradeTo": "v1.0.1"});
        for kind in Kind::ALL {
            let work = of_details(*kind, details.as_object().unwrap(), Some("films"));
            assert_eq!(work.is_some(), is_known_elsewhere(*kind), "{kind}");
        }
    }

    #[test]
    fn own_settings_are_left_out() {
        let mut sent = json!({
            "stopWords": null, "matchingStrategy": "any", "bm25": {"b": 0.5}, "expiryAttribute": "until",
            "rankingRules": ["words", {"boostIf": "a = 1", "weight": 2}, "year:desc"],
            "chat": {"searchParameters": {"matchingStrategy": "any", "limit": 3, "hybrid": {"embedder": "e", "rrfK": 9}}},
        });
        settings::keep_portable(sent.as_object_mut().unwrap());
        let expected = json!({
            "stopWords": null, "rankingRules": ["words", "year:desc"],
            "chat": {"searchParameters": {"limit": 3, "hybrid": {"embedder": "e"}}},
        });
        assert_eq!(sent, expected);
    }

    #[test]
    fn sizes_and_versions() {
        assert_eq!((bytes(&json!("2.00 KiB")), bytes(&Value::Null)), (json!("2048"), Value::Null));
        assert_eq!((version("v1.20.3"), version("1.2"), version("x.y.z")), (Some(json!([1, 20, 3])), None, None));
    }
}
