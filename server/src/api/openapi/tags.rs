//! Groups of routes, in the order in which people meet them.

use serde_json::{Value, json};

const TAGS: [(&str, &str); 9] = [
    ("Search", "Find documents: by words, by meaning, by both; complete words; count values."),
    (
        "Documents",
        "Add, change, read and remove documents. Writes answer with a task; `?wait=searchable` waits for its end.",
    ),
    (
        "Settings",
        "What is searched, filtered and sorted, and how hits are ranked. Each setting has a route of its own.",
    ),
    ("Indexes", "Create, rename, exchange, copy and remove indexes; aliases; states that are kept."),
    ("Tasks", "What became of writes: tasks, and the batches that carried them out."),
    ("Keys", "API keys: who may do what on which indexes."),
    ("Webhooks", "Addresses that are notified of finished batches."),
    ("Models", "Tools for language models, conversations, templates."),
    ("Server", "Health, metrics, copies, logs, switches, other servers."),
];

pub(super) fn all() -> Vec<Value> {
    TAGS.iter().map(|(name, description)| json!({ "name": name, "description": description })).collect()
}

/// The group of a route.
pub(super) fn of(pattern: &str) -> &'static str {
    let parts: Vec<&str> = pattern.split('/').skip(1).collect();
    match parts[..] {
        ["indexes", _, "documents", ..] => "Documents",
        ["indexes", _, "settings", ..] => "Settings",
        ["indexes", _, "search" | "facet-search" | "completions" | "similar"]
        | ["multi-search"]
        | ["dynamic-search-rules", ..] => "Search",
        ["indexes", ..] | ["swap-indexes"] | ["aliases", ..] => "Indexes",
        ["tasks" | "batches", ..] => "Tasks",
        ["keys", ..] => "Keys",
        ["webhooks", ..] => "Webhooks",
        ["mcp"] | ["chats", ..] | ["render-template"] => "Models",
        _ => "Server",
    }
}
