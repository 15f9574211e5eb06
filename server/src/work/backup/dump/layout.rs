//! Names and shapes of what a dump holds; `docs/reference/dumps.md` explains them.

use lamina_base::error::{ApiError, Code, ErrorBody};
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::{Content, Kind, Status, Task, TransferredTask};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub(super) const METADATA: &str = "metadata.json";
pub(super) const INSTANCE_UID: &str = "instance_uid.uuid";
pub(super) const KEYS: &str = "keys.jsonl";
pub(super) const ALIASES: &str = "aliases.jsonl";
pub(super) const WEBHOOKS: &str = "webhooks.json";
pub(super) const NETWORK: &str = "network.json";
/// A file for each workspace.
pub(super) const CHATS: &str = "chat-completions-settings";
/// Workspaces whose names are too long for a file.
pub(super) const OTHER_CHATS: &str = "chats.json";
pub(super) const FEATURES: &str = "experimental-features.json";
pub(super) const TASKS: &str = "tasks/queue.jsonl";
pub(super) const PAYLOADS: &str = "tasks/update_files";
pub(super) const BATCHES: &str = "batches/queue.jsonl";
pub(super) const INDEXES: &str = "indexes";
/// Index of other servers whose documents are dynamic search rules.
pub(super) const RULES: &str = "indexes/.meili_dsr";
pub(super) const INDEX_METADATA: &str = "metadata.json";
pub(super) const SETTINGS: &str = "settings.json";
pub(super) const DOCUMENTS: &str = "documents.jsonl";
/// Folder of data that other programs do not know: it is missing in the files that they read, or only a part of it
/// is there. The data here takes precedence.
pub(super) const OWN: &str = "lamina";
/// Events and recorded searches.
pub(super) const EVENTS: &str = "lamina/events/documents.jsonl";
/// The secret that the users of events are hashed with.
pub(super) const EVENTS_KEY: &str = "lamina/events/user-key";
/// Experiments, whose outcome is in the events.
pub(super) const EXPERIMENTS: &str = "lamina/experiments.json";
pub(super) const OWN_TASKS: &str = "lamina/tasks.jsonl";
pub(super) const OWN_BATCHES: &str = "lamina/batches.jsonl";
/// Folders that other programs look for even when there is nothing in them.
pub(super) const FOLDERS: [&str; 5] = [INDEXES, "tasks", PAYLOADS, "batches", CHATS];

/// The version of the layout that is written, and the only one that is read.
pub(super) const VERSION: &str = "V6";
/// Value of `generator` that this program writes.
pub(super) const GENERATOR: &str = "lamina";
/// The layout of its own dumps that this program writes.
pub(super) const LAYOUT: u32 = 1;

/// A line of `aliases.jsonl`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AliasLine {
    pub(super) alias: String,
    pub(super) index_uid: String,
    pub(super) updated_at: Timestamp,
}

/// `metadata.json`
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Metadata {
    pub(super) dump_version: String,
    pub(super) db_version: String,
    pub(super) dump_date: Timestamp,
    /// Absent in dumps of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) generator: Option<String>,
    /// Absent in dumps of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) layout: Option<u32>,
}

/// `indexes/<folder>/metadata.json`; it names the index, its folder need not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct IndexMetadata {
    pub(super) uid: String,
    pub(super) primary_key: Option<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
}

/// A task with all that this program knows of it: the public object, what is still to be done, and what was done.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TaskLine {
    pub(super) uid: u32,
    pub(super) batch_uid: Option<u32>,
    pub(super) index_uid: Option<String>,
    pub(super) status: Status,
    pub(super) r#type: Kind,
    pub(super) canceled_by: Option<u32>,
    #[serde(default)]
    pub(super) details: Option<Box<RawValue>>,
    pub(super) error: Option<ErrorBody>,
    pub(super) enqueued_at: Timestamp,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) custom_metadata: Option<String>,
    #[serde(default)]
    pub(super) content: Option<Content>,
    #[serde(default)]
    pub(super) work: Option<String>,
}

impl TaskLine {
    /// The task that it is a line of.
    pub(super) fn into_task(self) -> TransferredTask {
        let is_waiting = self.content.is_some();
        let error = |error: ErrorBody| ApiError::new(Code::parse(&error.code).unwrap_or(Code::Internal), error.message);
        let task = Task {
            uid: self.uid,
            batch_uid: self.batch_uid.filter(|_| !is_waiting),
            index_uid: self.index_uid,
            status: if is_waiting { Status::Enqueued } else { self.status },
            kind: self.r#type,
            canceled_by: self.canceled_by,
            details: self.details,
            error: self.error.map(error),
            enqueued_at: self.enqueued_at,
            started_at: self.started_at.filter(|_| !is_waiting),
            finished_at: self.finished_at.filter(|_| !is_waiting),
            custom_metadata: self.custom_metadata,
        };
        TransferredTask { task, content: self.content, work: self.work }
    }
}

/// A line of `batches/queue.jsonl`, also of other programs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BatchLine {
    pub(super) uid: u32,
    pub(super) started_at: Timestamp,
    pub(super) finished_at: Option<Timestamp>,
    #[serde(default)]
    pub(super) details: Map<String, Value>,
    #[serde(default)]
    pub(super) stats: Value,
    #[serde(default = "unspecified", alias = "stopReason")]
    pub(super) batch_strategy: String,
}

/// The strategy of batches that were written down before there was one.
fn unspecified() -> String {
    "unspecified".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn batches_keep_their_strategy_whatever_it_was_called() {
        let strategy = |name: &str, text: &str| {
            let mut line = json!({"uid": 1, "startedAt": "2025-02-04T10:15:21Z", "finishedAt": null});
            line[name] = text.into();
            serde_json::from_value::<BatchLine>(line).unwrap().batch_strategy
        };
        assert_eq!(strategy("batchStrategy", "batched all enqueued tasks"), "batched all enqueued tasks");
        assert_eq!(strategy("stopReason", "batched all enqueued tasks"), "batched all enqueued tasks");
        assert_eq!(strategy("enqueuedAt", "2025-02-04T10:15:21Z"), "unspecified");
    }
}
