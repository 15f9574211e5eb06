//! Lines of `tasks/queue.jsonl`: tasks as the programs of the protocol write them into dumps. What they have to do, or did, is an
//! object with the kind as its only key, details likewise.

use lamina_base::error::{ApiError, Code, ErrorDocs};
use lamina_base::options::ByteSize;
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::{
    Content, Edit, Export, ExportedIndex, Kind, Method, PayloadPlace, Status, Swap, Task, TransferredTask, UidSet,
    Upsert, work,
};
use lamina_engine::index::SettingsPatch;
use lamina_protocol::wire::settings;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::task_details;

/// The work of a finished task of another server is kept up to this many bytes.
const WORK_BYTES_MAX: usize = 64 << 10;

/// Default size of the pieces of an export whose task names none.
const PIECE_BYTES: u64 = 20 << 20;

/// A line of `tasks/queue.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct DumpedTask {
    uid: u32,
    #[serde(default)]
    batch_uid: Option<u32>,
    #[serde(default)]
    index_uid: Option<String>,
    status: Status,
    r#type: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    canceled_by: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    enqueued_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    custom_metadata: Option<String>,
}

impl DumpedTask {
    /// The line of a task; `None` where other servers of the protocol do not know its kind, or would not do the same.
    pub(super) fn of(transferred: &TransferredTask, docs: &ErrorDocs) -> Option<DumpedTask> {
        let TransferredTask { task, content, work: kept } = transferred;
        let index_uid = task.index_uid.as_deref();
        let details: Option<Map<String, Value>> =
            task.details.as_ref().and_then(|details| serde_json::from_str(details.get()).ok());
        let work = match (content, kept) {
            (Some(content), _) => work::of_content(content, index_uid).filter(|_| work::can_be_handed_over(content)),
            (None, Some(kept)) => serde_json::from_str(kept).ok(),
            (None, None) => work::of_details(task.kind, details.as_ref().unwrap_or(&Map::new()), index_uid),
        };
        Some(DumpedTask {
            uid: task.uid,
            batch_uid: task.batch_uid,
            index_uid: task.index_uid.clone(),
            status: if content.is_some() { Status::Enqueued } else { task.status },
            r#type: work?,
            canceled_by: task.canceled_by,
            details: details.and_then(|details| task_details::dumped(task.kind, &details, index_uid)),
            error: task
                .error
                .as_ref()
                .map(|error| serde_json::to_value(error.body(docs)).expect("errors are plain JSON")),
            enqueued_at: task.enqueued_at,
            started_at: task.started_at,
            finished_at: task.finished_at,
            custom_metadata: task.custom_metadata.clone(),
        })
    }

    /// Gives a waiting task that writes a dump the keys to write.
    pub(super) fn with_keys(mut self, keys: &Value) -> DumpedTask {
        if let Some(Value::Object(dump)) = self.r#type.get_mut("dumpCreation")
            && !self.status.is_final()
        {
            dump.insert("keys".to_owned(), keys.clone());
        }
        self
    }

    /// The task as ours. `None` when it is still to be done and this program cannot do it.
    pub(super) fn translate(self) -> Option<TransferredTask> {
        let (name, data) = tagged(&self.r#type)?;
        let kind = kind(name)?;
        let is_final = self.status.is_final();
        let content = if is_final { None } else { Some(content(name, data)?) };
        let details = self.details.as_ref().filter(|_| is_final);
        let details = details.and_then(|details| task_details::shown(kind, tagged(details)?));
        let work = if is_final { self.work(kind, details.as_deref()) } else { None };
        let error = self.error.map(|error| {
            let text = |field: &str| error.get(field).and_then(Value::as_str).unwrap_or_default();
            ApiError::new(Code::parse(text("code")).unwrap_or(Code::Internal), text("message"))
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
        Some(TransferredTask { task, content, work })
    }

    /// Returns what a final task did, unless its details have it or it holds a secret.
    fn work(&self, kind: Kind, details: Option<&RawValue>) -> Option<String> {
        let details = details.and_then(|details| serde_json::from_str(details.get()).ok()).unwrap_or_default();
        let has_secrets =
            self.r#type.get("export").is_some() || self.r#type.pointer("/settings/settings/embedders").is_some();
        let is_in_details = work::of_details(kind, &details, self.index_uid.as_deref()).as_ref() == Some(&self.r#type);
        let work = (!has_secrets && !is_in_details).then(|| self.r#type.to_string())?;
        (work.len() <= WORK_BYTES_MAX).then_some(work)
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

fn kind(name: &str) -> Option<Kind> {
    Some(match name {
        "documentImport" => Kind::DocumentAdditionOrUpdate,
        "documentDeletion" | "documentClear" | "documentDeletionByFilter" => Kind::DocumentDeletion,
        "settings" => Kind::SettingsUpdate,
        "tasksDeletion" => Kind::TaskDeletion,
        other => Kind::parse(other)?,
    })
}

/// Returns the remaining work of a task. The caller sets the place of the documents of an addition.
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
            payload_checksum: 0,
            mark: None,
        }),
        "documentDeletion" => {
            let ids = data.get("documents_ids")?.as_array()?;
            Content::DeleteIds { ids: ids.iter().filter_map(|id| id.as_str().map(str::to_owned)).collect(), mark: None }
        }
        "documentDeletionByFilter" => Content::DeleteByFilter { filter: data.get("filter")?.clone() },
        "documentClear" => Content::Clear { mark: None },
        "documentEdition" => Content::Edit(Edit {
            function: text("function")?,
            context: data.get("context").and_then(Value::as_object).cloned(),
            // Earlier versions of the protocol called it `filter_expr`.
            filter: ["filter", "filter_expr"]
                .iter()
                .find_map(|name| data.get(*name).filter(|filter| !filter.is_null()).cloned()),
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
        "indexUpdate" => Content::UpdateIndex { primary_key: text("primary_key"), new_uid: text("uid") },
        "indexDeletion" => Content::DeleteIndex,
        "indexCompaction" => Content::CompactIndex,
        "indexSwap" => Content::SwapIndexes {
            swaps: data.get("swaps")?.as_array()?.iter().map(swap).collect::<Option<Vec<Swap>>>()?,
        },
        "taskCancelation" => Content::CancelTasks { filter: text("query")?, tasks: chosen(data)? },
        "tasksDeletion" => Content::DeleteTasks { filter: text("query")?, tasks: chosen(data)? },
        "snapshotCreation" => Content::CreateSnapshot,
        "dumpCreation" => Content::CreateDump { skip_damaged: false },
        "export" => Content::Export(export(data)?),
        _ => return None,
    })
}

/// The tasks that a query chose.
fn chosen(data: &Value) -> Option<UidSet> {
    let bytes: Vec<u8> = serde_json::from_value(data.get("tasks")?.clone()).ok()?;
    UidSet::from_bitmap(&bytes)
}

fn export(data: &Value) -> Option<Export> {
    let text = |field: &str| data.get(field).and_then(Value::as_str).map(str::to_owned);
    let asked = text("payload_size").and_then(|size| size.parse::<ByteSize>().ok()).map(|size| size.bytes());
    let index = |(pattern, index): (&String, &Value)| ExportedIndex {
        pattern: pattern.clone(),
        filter: index.get("filter").filter(|filter| !filter.is_null()).cloned(),
        override_settings: index.get("overrideSettings").and_then(Value::as_bool).unwrap_or(false),
    };
    Some(Export {
        url: text("url")?,
        api_key: text("api_key"),
        payload_bytes: asked.filter(|bytes| *bytes > 0).unwrap_or(PIECE_BYTES),
        shows_payload_size: asked.is_some(),
        indexes: data.get("indexes")?.as_object()?.iter().map(index).collect(),
        with_secrets: true,
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
    use lamina_base::error::ErrorDocs;
    use serde_json::json;

    fn translated(line: Value) -> Option<TransferredTask> {
        serde_json::from_value::<DumpedTask>(line).unwrap().translate()
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
        assert_eq!(content(json!("documentClear"), "processing"), Some(Content::Clear { mark: None }));
        let edition = json!({"documentEdition": {"filter_expr": null, "context": null, "function": "doc = ()"}});
        let edit = Edit { function: "doc = ()".into(), context: None, filter: None };
        assert_eq!(content(edition, "enqueued"), Some(Content::Edit(edit)));
        let ids = content(json!({"documentDeletion": {"documents_ids": ["1", "x"]}}), "enqueued");
        assert_eq!(ids, Some(Content::DeleteIds { ids: vec!["1".into(), "x".into()], mark: None }));
        let swaps = content(json!({"indexSwap": {"swaps": [{"indexes": ["a", "b"]}]}}), "enqueued");
        assert!(matches!(swaps, Some(Content::SwapIndexes { swaps }) if swaps[0].indexes == ["a", "b"]));
        let body = json!({"settings": {"settings": {"stopWords": ["the"]}, "is_deletion": false, "allow_index_creation": true}});
        let Some(Content::Settings { patch, may_create_index: true }) = content(body, "enqueued") else { panic!() };
        assert_eq!(serde_json::to_value(&*patch).unwrap(), json!({"stopWords": ["the"]}));
        let body = json!({"settings": {"settings": {}, "is_deletion": true, "allow_index_creation": false}});
        let Some(Content::Settings { patch, .. }) = content(body, "enqueued") else { panic!() };
        assert!(serde_json::to_value(&*patch).unwrap().as_object().unwrap().len() > 15);
        let dump = content(json!({"dumpCreation": {"keys": [], "instance_uid": null}}), "enqueued");
        assert_eq!(dump, Some(Content::CreateDump { skip_damaged: false }));
        let tasks = json!({"query": "?uids=0", "tasks": [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0]});
        let chosen: UidSet = [0].into_iter().collect();
        let canceled = content(json!({ "taskCancelation": tasks }), "enqueued");
        assert_eq!(canceled, Some(Content::CancelTasks { filter: "?uids=0".into(), tasks: chosen }));
        assert_eq!(content(json!({"somethingNew": {}}), "enqueued"), None);
    }
}
