//! Tasks as other programs of the protocol write them into dumps: what they have to do is an object with the kind as its
//! only key, details likewise.

use lamina_engine::index::SettingsPatch;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::{ApiError, Code};
use crate::tasks::{Content, Edit, Kind, Method, PayloadPlace, Status, Swap, Task, TransferredTask, UidSet, Upsert};
use crate::timestamp::Timestamp;
use crate::wire::settings;

/// A line of `tasks/queue.jsonl`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ForeignTask {
    uid: u32,
    #[serde(default)]
    batch_uid: Option<u32>,
    #[serde(default)]
    index_uid: Option<String>,
    status: Status,
    r#type: Value,
    #[serde(default)]
    canceled_by: Option<u32>,
    #[serde(default)]
    details: Option<Value>,
    #[serde(default)]
    error: Option<ForeignError>,
    enqueued_at: Timestamp,
    #[serde(default)]
    started_at: Option<Timestamp>,
    #[serde(default)]
    finished_at: Option<Timestamp>,
    #[serde(default)]
    custom_metadata: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ForeignError {
    #[serde(default)]
    message: String,
    #[serde(default)]
    code: String,
}

impl ForeignTask {
    /// The task as ours. `None` when it is still to be done and this program cannot do it.
    pub(super) fn translate(self) -> Option<TransferredTask> {
        let (name, data) = tagged(&self.r#type)?;
        let kind = kind(name)?;
        let is_final = self.status.is_final();
        let content = if is_final { None } else { Some(content(name, data)?) };
        let details =
            if is_final { self.details.as_ref().and_then(|details| self.details(kind, details)) } else { None };
        let error = self.error.map(|error| {
            let code = Code::parse(&error.code).unwrap_or(Code::Internal);
            ApiError::new(code, error.message)
        });
        let task = Task {
            uid: self.uid,
            // One that was interrupted is carried out anew.
            batch_uid: self.batch_uid.filter(|_| is_final),
            index_uid: self.index_uid,
            status: if is_final { self.status } else { Status::Enqueued },
            kind,
            canceled_by: self.canceled_by,
            details,
            error,
            enqueued_at: self.enqueued_at,
            started_at: self.started_at.filter(|_| is_final),
            finished_at: self.finished_at.filter(|_| is_final),
            custom_metadata: self.custom_metadata,
        };
        Some(TransferredTask { task, content })
    }

    /// Details in their public form.
    fn details(&self, kind: Kind, details: &Value) -> Option<Box<RawValue>> {
        let (name, data) = tagged(details)?;
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
            "DocumentDeletion" => {
                shown.insert("originalFilter".to_owned(), Value::Null);
            }
            "DocumentDeletionByFilter" => {
                shown.insert("providedIds".to_owned(), 0.into());
            }
            _ => {}
        }
        serde_json::value::to_raw_value(&shown).ok()
    }
}

/// `{"name": data}` or `"name"`
fn tagged(value: &Value) -> Option<(&str, &Value)> {
    match value {
        Value::String(name) => Some((name, &Value::Null)),
        Value::Object(object) if object.len() == 1 => object.iter().next().map(|(name, data)| (name.as_str(), data)),
        _ => None,
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

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "documentImport" => Kind::DocumentAdditionOrUpdate,
        "documentDeletion" | "documentClear" | "documentDeletionByFilter" => Kind::DocumentDeletion,
        "settings" => Kind::SettingsUpdate,
        "tasksDeletion" => Kind::TaskDeletion,
        other => Kind::parse(other)?,
    })
}

/// What is still to be done. The documents of an addition are placed by the caller.
fn content(name: &str, data: &Value) -> Option<Content> {
    let text = |field: &str| data.get(field).and_then(Value::as_str).map(str::to_owned);
    let switch = |field: &str| data.get(field).and_then(Value::as_bool).unwrap_or(false);
    Some(match name {
        "documentImport" => Content::Upsert(Upsert {
            method: if text("method").as_deref() == Some("UpdateDocuments") { Method::Update } else { Method::Replace },
            primary_key: text("primary_key"),
            skip_creation: switch("skip_creation"),
            may_create_index: switch("allow_index_creation"),
            received: data.get("documents_count").and_then(Value::as_u64).unwrap_or(0),
            payload: PayloadPlace::Inline,
            payload_bytes: 0,
            payload_checksum: None,
        }),
        "documentDeletion" => {
            let ids = data.get("documents_ids")?.as_array()?;
            Content::DeleteIds { ids: ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect() }
        }
        "documentDeletionByFilter" => Content::DeleteByFilter { filter: data.get("filter")?.clone() },
        "documentClear" => Content::Clear,
        "documentEdition" => Content::Edit(Edit {
            function: text("function")?,
            context: data.get("context").and_then(Value::as_object).cloned(),
            filter: data.get("filter_expr").filter(|filter| !filter.is_null()).cloned(),
        }),
        "settings" => {
            let patch = if switch("is_deletion") {
                SettingsPatch::reset_all()
            } else {
                settings::read(data.get("settings")?).ok()?
            };
            Content::Settings { patch: Box::new(patch), may_create_index: switch("allow_index_creation") }
        }
        "indexCreation" => Content::CreateIndex { primary_key: text("primary_key") },
        "indexUpdate" => Content::UpdateIndex { primary_key: text("primary_key"), new_uid: text("new_index_uid") },
        "indexDeletion" => Content::DeleteIndex,
        "indexCompaction" => Content::CompactIndex,
        "indexSwap" => Content::SwapIndexes {
            swaps: data.get("swaps")?.as_array()?.iter().map(swap).collect::<Option<Vec<Swap>>>()?,
        },
        // Which tasks they meant is written in a form of the other program; those tasks end by themselves.
        "taskCancelation" => Content::CancelTasks { filter: text("query")?, tasks: UidSet::default() },
        "tasksDeletion" => Content::DeleteTasks { filter: text("query")?, tasks: UidSet::default() },
        "snapshotCreation" => Content::CreateSnapshot,
        _ => return None,
    })
}

fn swap(value: &Value) -> Option<Swap> {
    let uids = value.get("indexes")?.as_array()?;
    let [one, other] = uids.as_slice() else { return None };
    let rename = value.get("rename").and_then(Value::as_bool).unwrap_or(false);
    Some(Swap { indexes: [one.as_str()?.to_owned(), other.as_str()?.to_owned()], rename })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorDocs;
    use serde_json::json;

    fn translated(line: Value) -> Option<TransferredTask> {
        serde_json::from_value::<ForeignTask>(line).unwrap().translate()
    }

    fn view(task: &TransferredTask) -> Value {
        serde_json::to_value(task.task.view(&ErrorDocs::default())).unwrap()
    }

    #[test]
    fn finished_tasks_look_as_they_did() {
        let task = translated(json!({
            "uid": 0, "batchUid": 0, "indexUid": "doggo", "status": "succeeded",
            "type": {"documentImport": {"primary_key": "bone", "method": "UpdateDocuments", "documents_count": 12,
                                        "allow_index_creation": true}},
            "details": {"DocumentAdditionOrUpdate": {"received_documents": 12, "indexed_documents": 10}},
            "enqueuedAt": "2022-11-11T00:00:00Z", "startedAt": "2022-11-20T00:00:00Z",
            "finishedAt": "2022-11-20T00:00:01Z"
        }))
        .unwrap();
        assert!(task.content.is_none());
        let view = view(&task);
        assert_eq!(view["type"], "documentAdditionOrUpdate");
        assert_eq!(view["details"], json!({"receivedDocuments": 12, "indexedDocuments": 10}));
        assert_eq!((&view["duration"], &view["batchUid"]), (&json!("PT1S"), &json!(0)));
    }

    #[test]
    fn failures_keep_their_error() {
        let task = translated(json!({
            "uid": 3, "indexUid": "a", "status": "failed", "type": "indexDeletion",
            "details": {"ClearAll": {"deleted_documents": 0}},
            "error": {"message": "Index `a` not found.", "code": "index_not_found", "type": "invalid_request", "link": "x"},
            "enqueuedAt": "2022-11-11T00:00:00Z"
        }))
        .unwrap();
        let view = view(&task);
        assert_eq!((&view["type"], &view["error"]["code"]), (&json!("indexDeletion"), &json!("index_not_found")));
        assert_eq!(view["details"], json!({"deletedDocuments": 0}));
    }

    #[test]
    fn waiting_tasks_know_what_to_do() {
        let content = |kind: Value, status: &str| {
            let line = json!({"uid": 1, "indexUid": "a", "status": status, "type": kind, "enqueuedAt": "2022-11-11T00:00:00Z"});
            translated(line).map(|task| {
                assert_eq!((task.task.status, task.task.started_at), (Status::Enqueued, None));
                task.content.unwrap()
            })
        };
        assert_eq!(content(json!("documentClear"), "processing"), Some(Content::Clear));
        let edition = json!({"documentEdition": {"filter_expr": null, "context": null, "function": "doc = ()"}});
        let edit = Edit { function: "doc = ()".into(), context: None, filter: None };
        assert_eq!(content(edition, "enqueued"), Some(Content::Edit(edit)));
        let ids = content(json!({"documentDeletion": {"documents_ids": ["1", "x"]}}), "enqueued");
        assert_eq!(ids, Some(Content::DeleteIds { ids: vec!["1".into(), "x".into()] }));
        let swaps = content(json!({"indexSwap": {"swaps": [{"indexes": ["a", "b"]}]}}), "enqueued");
        assert!(matches!(swaps, Some(Content::SwapIndexes { swaps }) if swaps[0].indexes == ["a", "b"]));
        let body = json!({"settings": {"settings": {"stopWords": ["the"]}, "is_deletion": false, "allow_index_creation": true}});
        let Some(Content::Settings { patch, may_create_index: true }) = content(body, "enqueued") else { panic!() };
        assert_eq!(serde_json::to_value(&*patch).unwrap(), json!({"stopWords": ["the"]}));
        let body = json!({"settings": {"settings": {}, "is_deletion": true, "allow_index_creation": false}});
        let Some(Content::Settings { patch, .. }) = content(body, "enqueued") else { panic!() };
        assert!(serde_json::to_value(&*patch).unwrap().as_object().unwrap().len() > 15);
        assert_eq!(content(json!({"dumpCreation": {"keys": [], "instance_uid": null}}), "enqueued"), None);
        assert_eq!(content(json!({"somethingNew": {}}), "enqueued"), None);
    }
}
