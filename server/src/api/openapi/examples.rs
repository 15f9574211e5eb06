//! A body for each route that takes one, as people would send it. Tests send them.

use lamina_protocol::wire::settings::SettingKind;
use serde_json::{Value, json};

/// Two films, the documents of all examples.
pub(super) fn documents() -> Value {
    json!([
        { "id": 1, "title": "Alien", "genre": ["Horror"], "year": 1979 },
        { "id": 2, "title": "Up", "genre": ["Animation"], "year": 2009 },
    ])
}

/// The example of the reference page.
pub(super) fn of_setting(setting: &SettingKind) -> Value {
    serde_json::from_str(setting.reference.example).unwrap_or_default()
}

pub(super) fn of_body(method: &str, pattern: &str) -> Option<Value> {
    [of_index, of_search, of_server].iter().find_map(|examples| examples(method, pattern))
}

fn of_index(method: &str, pattern: &str) -> Option<Value> {
    Some(match (method, pattern) {
        ("POST", "/indexes") => json!({ "uid": "films", "primaryKey": "id" }),
        ("PATCH", "/indexes/{indexUid}") => json!({ "primaryKey": "id" }),
        ("POST", "/indexes/{indexUid}/fields") => json!({ "limit": 50, "filter": { "filterable": true } }),
        ("POST", "/indexes/{indexUid}/clone") => json!({ "uid": "films-copy" }),
        ("POST", "/indexes/{indexUid}/attach") => json!({ "folder": "films-2026-11" }),
        ("POST", "/indexes/{indexUid}/restore") => json!({ "at": 12 }),
        ("POST", "/swap-indexes") => json!([{ "indexes": ["films", "films-new"] }]),
        ("PATCH", "/aliases") => json!({ "current": "films" }),
        ("PUT", "/aliases/{alias}") => json!({ "indexUid": "films" }),
        ("PATCH", "/indexes/{indexUid}/documents") => {
            json!([{ "id": 1, "increment": { "views": 1 }, "set": { "isNew": false } }])
        }
        ("POST", "/indexes/{indexUid}/documents/fetch") => {
            json!({ "filter": "year > 1980", "fields": ["id", "title"], "limit": 10 })
        }
        ("POST", "/indexes/{indexUid}/documents/delete") => json!({ "filter": "year < 1950" }),
        ("POST", "/indexes/{indexUid}/documents/delete-batch") => json!([1, 2]),
        ("POST", "/indexes/{indexUid}/documents/edit") => {
            json!({ "function": "doc.title = doc.title.to_upper()", "filter": "year > 1980" })
        }
        ("PATCH", "/indexes/{indexUid}/settings") => json!({
            "searchableAttributes": ["title", "overview"],
            "filterableAttributes": ["genre", "year"],
            "sortableAttributes": ["year"],
            "synonyms": { "film": ["movie"] },
        }),
        _ => return None,
    })
}

fn of_search(method: &str, pattern: &str) -> Option<Value> {
    Some(match (method, pattern) {
        ("POST", "/indexes/{indexUid}/search") => json!({
            "q": "jurasic wrold",
            "filter": "year > 1980",
            "sort": ["year:desc"],
            "facets": ["genre"],
            "limit": 10,
        }),
        ("POST", "/indexes/{indexUid}/similar") => json!({ "id": 1, "embedder": "own", "limit": 10 }),
        ("POST", "/indexes/{indexUid}/facet-search") => json!({ "facetName": "genre", "facetQuery": "hor" }),
        ("POST", "/indexes/{indexUid}/completions") => json!({ "q": "jura", "limit": 5 }),
        ("POST", "/multi-search") => json!({
            "queries": [{ "indexUid": "films", "q": "alien" }, { "indexUid": "books", "q": "alien" }],
        }),
        ("POST", "/mcp") => json!({
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "search", "arguments": { "index": "films", "q": "alein" } },
        }),
        ("PATCH", "/chats/{chatUid}/settings") => {
            json!({ "source": "openAi", "apiKey": "SECRET", "prompts": { "system": "Answer in one sentence." } })
        }
        ("POST", "/chats/{chatUid}/chat/completions") => json!({
            "model": "gpt-4o", "stream": true, "messages": [{ "role": "user", "content": "Which film is about a shark?" }],
        }),
        ("POST", "/dynamic-search-rules") => json!({ "limit": 20, "filter": { "active": true } }),
        ("PATCH", "/dynamic-search-rules/{ruleUid}") => json!({
            "conditions": { "query": { "words": "alien" } },
            "actions": [{
                "selector": { "indexUid": "films", "id": "1" },
                "action": { "type": "pin", "position": 0 },
            }],
        }),
        _ => return None,
    })
}

fn of_server(method: &str, pattern: &str) -> Option<Value> {
    Some(match (method, pattern) {
        ("PATCH", "/experimental-features") => json!({ "metrics": true }),
        ("POST", "/export") => json!({ "url": "https://search.example.org", "indexes": { "films*": {} } }),
        ("POST", "/keys") => json!({
            "name": "Search of the shop", "actions": ["search"], "indexes": ["films"], "expiresAt": "2999-12-31",
        }),
        ("PATCH", "/keys/{key}") => json!({ "description": "Used by the web shop" }),
        ("POST", "/webhooks") => json!({
            "url": "https://example.org/finished", "headers": { "Authorization": "Bearer SECRET" },
        }),
        ("PATCH", "/webhooks/{uuid}") => json!({ "url": "https://example.org/finished" }),
        ("PATCH", "/network") => json!({
            "self": "first", "remotes": { "second": { "url": "https://second.example.org" } },
        }),
        ("POST", "/logs/stream") => json!({ "target": "info", "mode": "human" }),
        ("POST", "/logs/stderr") => json!({ "target": "debug" }),
        _ => return None,
    })
}
