//! Which route needs which action: the whole table in one place.
//!
//! Routes do not say themselves what they need, so that none can forget to: what is not listed here answers to the
//! master key alone.

use http::Method;
use lamina_protocol::wire::identifier::decode_path_segment;

use super::Action;

/// What a request asks for, as far as rights are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// `None`: only the master key may.
    pub(super) action: Option<Action>,
    /// An action that is needed besides.
    pub(super) also: Option<Action>,
    /// The index that the path names.
    pub(super) index_uid: Option<String>,
}

impl Asked {
    pub(super) fn of(method: &Method, path: &str) -> Asked {
        let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
        let index_uid = match segments.as_slice() {
            ["indexes", uid, ..] | ["aliases", uid] => Some(decode_path_segment(uid)),
            _ => None,
        };
        let also = match segments.as_slice() {
            // What it renders are settings and documents.
            ["render-template"] => Some(Action::DocumentsGet),
            // Settings come back with the documents.
            ["indexes", _, "restore"] => Some(Action::SettingsUpdate),
            _ => None,
        };
        Asked { action: needed(method.as_str(), &segments), also, index_uid }
    }
}

fn needed(method: &str, path: &[&str]) -> Option<Action> {
    match path {
        ["indexes", _, below @ ..] => in_index(method, below),
        _ => on_server(method, path),
    }
}

/// Routes of one index; `path` is what follows its uid.
fn in_index(method: &str, path: &[&str]) -> Option<Action> {
    Some(match (method, path) {
        ("GET", []) => Action::IndexesGet,
        ("PATCH", []) => Action::IndexesUpdate,
        ("DELETE", []) => Action::IndexesDelete,
        ("POST", ["compact"]) => Action::IndexesCompact,
        ("GET", ["generations"]) => Action::IndexesGet,
        ("GET", ["changes"]) => Action::DocumentsGet,
        ("POST", ["clone" | "attach"]) => Action::IndexesCreate,
        ("POST", ["restore"]) => Action::DocumentsAll,
        ("POST", ["fields"]) => Action::FieldsPost,
        ("POST" | "PUT" | "PATCH", ["documents"]) => Action::DocumentsAdd,
        ("GET", ["documents"] | ["documents", _]) | ("POST", ["documents", "fetch"]) => Action::DocumentsGet,
        ("DELETE", ["documents"] | ["documents", _]) => Action::DocumentsDelete,
        ("POST", ["documents", "delete" | "delete-batch"]) => Action::DocumentsDelete,
        ("POST", ["documents", "edit"]) => Action::DocumentsAll,
        ("GET", ["settings"] | ["settings", _]) => Action::SettingsGet,
        ("PATCH" | "PUT" | "DELETE", ["settings"] | ["settings", _]) => Action::SettingsUpdate,
        ("GET", ["stats"]) => Action::StatsGet,
        ("GET" | "POST", ["search" | "similar"]) | ("POST", ["facet-search" | "completions"]) => Action::Search,
        _ => return None,
    })
}

fn on_server(method: &str, path: &[&str]) -> Option<Action> {
    Some(match (method, path) {
        ("GET", ["indexes"]) => Action::IndexesGet,
        ("POST", ["indexes"]) => Action::IndexesCreate,
        ("POST", ["swap-indexes"]) => Action::IndexesSwap,
        ("GET", ["aliases"] | ["aliases", _]) => Action::IndexesGet,
        ("PATCH", ["aliases"]) | ("PUT" | "DELETE", ["aliases", _]) => Action::IndexesSwap,
        ("POST", ["multi-search"]) => Action::Search,
        // Each call of a tool is checked as the request that it stands for.
        ("POST", ["mcp"]) => Action::Search,
        ("GET", ["stats"]) => Action::StatsGet,
        ("GET", ["tasks" | "batches"] | ["tasks" | "batches", _] | ["tasks", _, "documents"]) => Action::TasksGet,
        ("POST", ["tasks", "cancel"]) => Action::TasksCancel,
        ("DELETE", ["tasks"]) => Action::TasksDelete,
        ("POST", ["tasks", "compact"]) => Action::TasksCompact,
        ("GET", ["keys"] | ["keys", _]) => Action::KeysGet,
        ("POST", ["keys"]) => Action::KeysCreate,
        ("PATCH", ["keys", _]) => Action::KeysUpdate,
        ("DELETE", ["keys", _]) => Action::KeysDelete,
        ("GET", ["webhooks"] | ["webhooks", _]) => Action::WebhooksGet,
        ("POST", ["webhooks"]) => Action::WebhooksCreate,
        ("PATCH", ["webhooks", _]) => Action::WebhooksUpdate,
        ("DELETE", ["webhooks", _]) => Action::WebhooksDelete,
        ("POST", ["dumps"]) => Action::DumpsCreate,
        ("POST", ["snapshots"]) => Action::SnapshotsCreate,
        ("POST", ["export"]) => Action::Export,
        ("GET", ["experimental-features"]) => Action::ExperimentalGet,
        ("PATCH", ["experimental-features"]) => Action::ExperimentalUpdate,
        ("GET", ["network"] | ["replicas"]) => Action::NetworkGet,
        ("PATCH", ["network"]) => Action::NetworkUpdate,
        ("GET", ["metrics"]) => Action::MetricsGet,
        ("POST", ["network", "control"]) => Action::NetworkUpdate,
        ("GET", ["chats"] | ["chats", _]) => Action::ChatsGet,
        ("DELETE", ["chats", _]) => Action::ChatsDelete,
        ("GET", ["chats", _, "settings"]) => Action::ChatsSettingsGet,
        ("PATCH" | "DELETE", ["chats", _, "settings"]) => Action::ChatsSettingsUpdate,
        ("POST", ["chats", _, "chat", "completions"]) => Action::ChatCompletions,
        ("GET", ["dynamic-search-rules"] | ["dynamic-search-rules", _]) => Action::DynamicSearchRulesGet,
        ("POST", ["dynamic-search-rules"]) => Action::DynamicSearchRulesGet,
        ("PATCH", ["dynamic-search-rules", _]) => Action::DynamicSearchRulesUpdate,
        ("DELETE", ["dynamic-search-rules"] | ["dynamic-search-rules", _]) => Action::DynamicSearchRulesDelete,
        ("POST", ["render-template"]) => Action::SettingsGet,
        (_, ["logs", "stream" | "stderr"]) => Action::MetricsGet,
        ("GET", ["version"]) => Action::Version,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The public table.
    const ROWS: &[(&str, &str, &str)] = &[
        ("GET", "/indexes", "indexes.get"),
        ("GET", "/indexes/a", "indexes.get"),
        ("POST", "/indexes", "indexes.create"),
        ("PATCH", "/indexes/a", "indexes.update"),
        ("DELETE", "/indexes/a", "indexes.delete"),
        ("POST", "/swap-indexes", "indexes.swap"),
        ("GET", "/indexes/a/generations", "indexes.get"),
        ("GET", "/indexes/a/changes", "documents.get"),
        ("POST", "/indexes/a/clone", "indexes.create"),
        ("POST", "/indexes/a/attach", "indexes.create"),
        ("POST", "/indexes/a/restore", "documents.*"),
        ("GET", "/aliases", "indexes.get"),
        ("PATCH", "/aliases", "indexes.swap"),
        ("GET", "/aliases/a", "indexes.get"),
        ("PUT", "/aliases/a", "indexes.swap"),
        ("DELETE", "/aliases/a", "indexes.swap"),
        ("POST", "/indexes/a/compact", "indexes.compact"),
        ("POST", "/indexes/a/fields", "fields.post"),
        ("POST", "/indexes/a/documents", "documents.add"),
        ("PUT", "/indexes/a/documents", "documents.add"),
        ("PATCH", "/indexes/a/documents", "documents.add"),
        ("GET", "/indexes/a/documents", "documents.get"),
        ("GET", "/indexes/a/documents/1", "documents.get"),
        ("POST", "/indexes/a/documents/fetch", "documents.get"),
        ("DELETE", "/indexes/a/documents", "documents.delete"),
        ("DELETE", "/indexes/a/documents/1", "documents.delete"),
        ("POST", "/indexes/a/documents/delete-batch", "documents.delete"),
        ("POST", "/indexes/a/documents/delete", "documents.delete"),
        ("POST", "/indexes/a/documents/edit", "documents.*"),
        ("GET", "/indexes/a/settings", "settings.get"),
        ("GET", "/indexes/a/settings/synonyms", "settings.get"),
        ("PATCH", "/indexes/a/settings", "settings.update"),
        ("DELETE", "/indexes/a/settings", "settings.update"),
        ("PUT", "/indexes/a/settings/synonyms", "settings.update"),
        ("PATCH", "/indexes/a/settings/faceting", "settings.update"),
        ("DELETE", "/indexes/a/settings/synonyms", "settings.update"),
        ("GET", "/stats", "stats.get"),
        ("GET", "/indexes/a/stats", "stats.get"),
        ("GET", "/indexes/a/search", "search"),
        ("POST", "/indexes/a/search", "search"),
        ("GET", "/indexes/a/similar", "search"),
        ("POST", "/indexes/a/similar", "search"),
        ("POST", "/indexes/a/facet-search", "search"),
        ("POST", "/indexes/a/completions", "search"),
        ("POST", "/multi-search", "search"),
        ("POST", "/mcp", "search"),
        ("GET", "/chats", "chats.get"),
        ("DELETE", "/chats/a", "chats.delete"),
        ("GET", "/chats/a/settings", "chatsSettings.get"),
        ("PATCH", "/chats/a/settings", "chatsSettings.update"),
        ("POST", "/chats/a/chat/completions", "chatCompletions"),
        ("POST", "/dynamic-search-rules", "dynamicSearchRules.get"),
        ("PATCH", "/dynamic-search-rules/a", "dynamicSearchRules.update"),
        ("DELETE", "/dynamic-search-rules/a", "dynamicSearchRules.delete"),
        ("DELETE", "/dynamic-search-rules", "dynamicSearchRules.delete"),
        ("POST", "/render-template", "settings.get"),
        ("GET", "/tasks", "tasks.get"),
        ("GET", "/tasks/1", "tasks.get"),
        ("GET", "/batches", "tasks.get"),
        ("GET", "/batches/1", "tasks.get"),
        ("POST", "/tasks/cancel", "tasks.cancel"),
        ("DELETE", "/tasks", "tasks.delete"),
        ("POST", "/tasks/compact", "tasks.compact"),
        ("GET", "/keys", "keys.get"),
        ("GET", "/keys/x", "keys.get"),
        ("POST", "/keys", "keys.create"),
        ("PATCH", "/keys/x", "keys.update"),
        ("DELETE", "/keys/x", "keys.delete"),
        ("GET", "/webhooks", "webhooks.get"),
        ("GET", "/webhooks/x", "webhooks.get"),
        ("POST", "/webhooks", "webhooks.create"),
        ("PATCH", "/webhooks/x", "webhooks.update"),
        ("DELETE", "/webhooks/x", "webhooks.delete"),
        ("POST", "/dumps", "dumps.create"),
        ("POST", "/snapshots", "snapshots.create"),
        ("POST", "/export", "export"),
        ("GET", "/experimental-features", "experimental.get"),
        ("PATCH", "/experimental-features", "experimental.update"),
        ("GET", "/network", "network.get"),
        ("PATCH", "/network", "network.update"),
        ("GET", "/replicas", "network.get"),
        ("GET", "/metrics", "metrics.get"),
        ("POST", "/logs/stream", "metrics.get"),
        ("DELETE", "/logs/stream", "metrics.get"),
        ("POST", "/logs/stderr", "metrics.get"),
        ("GET", "/version", "version"),
    ];

    fn asked(method: &str, path: &str) -> Asked {
        Asked::of(&method.parse().unwrap(), path)
    }

    #[test]
    fn every_row_of_the_public_table() {
        for (method, path, action) in ROWS {
            assert_eq!(asked(method, path).action.map(Action::name), Some(*action), "{method} {path}");
        }
    }

    #[test]
    fn what_is_not_listed_needs_the_master_key() {
        for (method, path) in [("GET", "/secrets"), ("DELETE", "/stats"), ("GET", "/indexes/a/secrets"), ("GET", "/")] {
            assert_eq!(asked(method, path).action, None, "{method} {path}");
        }
    }

    #[test]
    fn the_index_is_read_as_the_routes_read_it() {
        assert_eq!(asked("GET", "/indexes/a%2Db/stats").index_uid.as_deref(), Some("a-b"));
        assert_eq!(asked("GET", "/indexes").index_uid, None);
        assert_eq!(asked("GET", "/stats").index_uid, None);
    }

    /// A new route below `routes/` without its row here would answer to the master key alone: this fails for its author.
    #[test]
    fn every_route_of_the_server_has_a_row() {
        let mut sources = String::new();
        let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/api")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    sources.push_str(&std::fs::read_to_string(path).unwrap());
                }
            }
        }
        let mut count = 0;
        for route in sources.split("warp::path!(").skip(1) {
            let pattern = route.split(')').next().unwrap();
            let segments: Vec<&str> = pattern
                .split('/')
                .map(|part| part.trim())
                .map(|part| if part.starts_with('"') { part.trim_matches('"') } else { "x" })
                .collect();
            if matches!(segments[..], ["health"] | ["openapi.json"] | ["docs"] | ["docs", "errors"]) {
                continue;
            }
            let methods = ["GET", "POST", "PUT", "PATCH", "DELETE"];
            let has_row = methods.iter().any(|method| needed(method, &segments).is_some());
            assert!(has_row, "no row for /{}", segments.join("/"));
            count += 1;
        }
        assert!(count > 30, "only {count} routes found");
    }
}
