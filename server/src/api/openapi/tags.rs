//! Groups of routes, in the order in which people meet them.

use serde_json::{Value, json};

pub(in crate::api) const SEARCH: &str = "Search";
pub(in crate::api) const DOCUMENTS: &str = "Documents";
pub(in crate::api) const SETTINGS: &str = "Settings";
pub(in crate::api) const INDEXES: &str = "Indexes";
pub(in crate::api) const TASKS: &str = "Tasks";
pub(in crate::api) const KEYS: &str = "Keys";
pub(in crate::api) const WEBHOOKS: &str = "Webhooks";
pub(in crate::api) const ANALYTICS: &str = "Analytics";
pub(in crate::api) const MODELS: &str = "Models";
pub(in crate::api) const SERVER: &str = "Server";

const TAGS: [(&str, &str); 10] = [
    (SEARCH, "Find documents by words, by vectors, or by both; complete words; count values."),
    (
        DOCUMENTS,
        "Add, change, read and remove documents. Writes answer with a task; `?wait=searchable` waits for its end.",
    ),
    (SETTINGS, "What is searched, filtered and sorted, and how hits are ranked. Each setting has a route of its own."),
    (INDEXES, "Create, rename, exchange, copy and remove indexes; aliases; states that are kept."),
    (TASKS, "The results of writes: tasks, and the batches that carried them out."),
    (KEYS, "API keys: who may do what on which indexes."),
    (WEBHOOKS, "Addresses that are notified of finished batches."),
    (ANALYTICS, "What people search and do: events, figures, lists of queries."),
    (MODELS, "Tools for language models, conversations, templates."),
    (SERVER, "Health, metrics, copies, logs, switches, other servers."),
];

pub(super) fn all() -> Vec<Value> {
    TAGS.iter().map(|(name, description)| json!({ "name": name, "description": description })).collect()
}
