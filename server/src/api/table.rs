//! Every route of the server.

use std::sync::OnceLock;

use lamina_base::error::ApiResult;
use warp::reply::Response;

use super::openapi::tags::{DOCUMENTS, INDEXES, KEYS, MODELS, SEARCH, SERVER, SETTINGS, TASKS, WEBHOOKS};
use super::{
    aliases, backups, changes, chats, docs, documents, experimental_features, export, fields, generations, health,
    indexes, keys, logs, mcp, metrics, multi_search, network, openapi, page, render, replicas, rules, search, settings,
    stats, task_streams, tasks, webhooks,
};
use crate::http::json_text;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route, Table};

/// All of them, in the order of the description that clients read.
pub(crate) const ROUTES: Table = Table(&[
    (SERVER, page::ROUTES),
    (SERVER, health::ROUTES),
    (SERVER, &[DESCRIPTION]),
    (SERVER, docs::ROUTES),
    (SERVER, stats::OF_SERVER),
    (INDEXES, stats::OF_INDEX),
    (INDEXES, indexes::ROUTES),
    (INDEXES, fields::ROUTES),
    (INDEXES, generations::ROUTES),
    (INDEXES, changes::ROUTES),
    (INDEXES, aliases::ROUTES),
    (DOCUMENTS, documents::ROUTES),
    (SETTINGS, settings::ROUTES),
    (SEARCH, search::ROUTES),
    (SEARCH, multi_search::ROUTES),
    (MODELS, mcp::ROUTES),
    (TASKS, tasks::ROUTES),
    (TASKS, task_streams::ROUTES),
    (SERVER, experimental_features::ROUTES),
    (SERVER, backups::ROUTES),
    (SERVER, network::ROUTES),
    (SERVER, replicas::ROUTES),
    (KEYS, keys::ROUTES),
    (SEARCH, rules::ROUTES),
    (MODELS, render::ROUTES),
    (MODELS, chats::ROUTES),
    (WEBHOOKS, webhooks::ROUTES),
    (SERVER, export::ROUTES),
    (SERVER, metrics::ROUTES),
    (SERVER, logs::ROUTES),
]);

/// Open to everyone, like other documentation.
const DESCRIPTION: Route = Route::open("/openapi.json")
    .about("This description", Answer::Ok("Description"))
    .run(|request| Box::pin(describe(request)));

async fn describe(_: Request) -> ApiResult<Response> {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi::document(ROUTES).to_string().into_bytes());
    Ok(json_text(text.clone()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use lamina_data::access::Action;
    use lamina_data::telemetry::{FULL_BYTES, RequestFacts, Telemetry};
    use serde_json::json;
    use warp::http::{HeaderMap, HeaderValue};

    use super::*;
    use crate::http::requests::Endpoint;

    /// Routes that need no key.
    const OPEN: [&str; 5] = ["/", "/health", "/openapi.json", "/docs", "/docs/errors"];

    #[test]
    fn all_but_a_few_routes_need_an_action() {
        let open = ROUTES.routes().filter(|route| route.endpoint.needed.is_none());
        assert_eq!(open.map(|route| route.endpoint.pattern).collect::<Vec<_>>(), OPEN);
    }

    #[test]
    fn all_but_one_route_are_described() {
        let others = ROUTES.routes().filter(|route| !route.is_listed());
        assert_eq!(others.map(|route| route.endpoint.pattern).collect::<Vec<_>>(), ["/network/control"]);
    }

    #[test]
    fn no_route_hides_another_one() {
        for Endpoint { method, pattern, .. } in ROUTES.routes().map(|route| route.endpoint) {
            // A pattern is a path of itself.
            assert_eq!(ROUTES.find(method, pattern).unwrap().endpoint.pattern, pattern, "{method}");
        }
    }

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

    #[test]
    fn every_row_of_the_public_table() {
        for (method, path, action) in ROWS {
            let needed = ROUTES.find(method, path).unwrap().endpoint.needed.unwrap();
            assert_eq!(needed.action.name(), *action, "{method} {path}");
            let also = match *path {
                "/render-template" => Some(Action::DocumentsGet),
                "/indexes/a/restore" => Some(Action::SettingsUpdate),
                _ => None,
            };
            assert_eq!(needed.also, also, "{method} {path}");
        }
    }

    #[test]
    fn requests_have_the_pattern_of_their_route() {
        let of = |method: &str, path: &str| ROUTES.find(method, path).map(|route| route.endpoint.pattern);
        assert_eq!(of("GET", "/"), Some("/"));
        assert_eq!(of("POST", "/indexes/films/search"), Some("/indexes/{indexUid}/search"));
        assert_eq!(of("POST", "/tasks/cancel"), Some("/tasks/cancel"));
        assert_eq!(of("GET", "/tasks/12"), Some("/tasks/{taskUid}"));
        assert_eq!(of("GET", "/tasks/stream"), Some("/tasks/stream"));
        assert_eq!(of("POST", "/indexes/a/documents/fetch"), Some("/indexes/{indexUid}/documents/fetch"));
        assert_eq!(of("POST", "/health"), None);
        assert_eq!(of("GET", "/indexes//stats"), None);
        assert_eq!(of("GET", "/nowhere"), None);
    }

    #[test]
    fn a_full_batch_is_reported() {
        let telemetry = Telemetry::new(true);
        let is_full = || telemetry.full.notified().now_or_never().is_some();
        // Every kind of request, with texts that are all different at first and all the same once they are cut.
        let ask = |letter: char| {
            for Endpoint { method, pattern, .. } in ROUTES.routes().map(|route| route.endpoint) {
                let text = HeaderValue::from_str(&String::from(letter).repeat(500)).unwrap();
                let mut headers = HeaderMap::new();
                headers.insert("content-type", text.clone());
                headers.insert("user-agent", text);
                telemetry.request(&RequestFacts::new(method, pattern, None, &headers), 200, Duration::ZERO, None);
            }
        };
        (0..1000).for_each(|_| ask('a'));
        assert!(!is_full(), "the same again is nothing more");
        ('0'..='z').filter(char::is_ascii_alphanumeric).for_each(ask);
        assert!(is_full());
        assert!(json!(telemetry.take()).to_string().len() >= FULL_BYTES);
        ask('a');
        assert!(!is_full(), "it starts anew");
    }
}
