//! API keys: their life, what each of them may do on each route, what they may see.

use std::time::Duration;

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};

use crate::server::{Answer, Server};

pub(crate) const MASTER: &str = "a-master-key-of-32-characters-ab";

pub(crate) fn start(options: &[&str]) -> Server {
    let options: Vec<&str> = ["--master-key", MASTER].iter().chain(options).copied().collect();
    Server::with_options(&options)
}

/// Sends with a key of its own.
#[track_caller]
pub(crate) fn ask(server: &Server, key: &str, method: &str, path: &str, body: &Value) -> Answer {
    // Set rather than added: the server may have a key for all requests.
    let header = (AUTHORIZATION, format!("Bearer {key}").parse().expect("a header"));
    let request = server.request(method.parse::<Method>().expect("a method"), path);
    let request = request.headers(HeaderMap::from_iter([header]));
    server.send(if body.is_null() { request } else { request.json(body) })
}

/// A new key, as its object.
#[track_caller]
pub(crate) fn make(server: &Server, actions: &[&str], indexes: &[&str]) -> Value {
    let body = json!({"actions": actions, "indexes": indexes, "expiresAt": null});
    let made = ask(server, MASTER, "POST", "/keys", &body);
    assert_eq!(made.status, 201, "{}", made.text);
    made.body
}

#[track_caller]
pub(crate) fn value(key: &Value) -> String {
    key["key"].as_str().expect("a value").to_owned()
}

/// Waits, as the master, for the task that an answer announces.
#[track_caller]
pub(crate) fn finish(server: &Server, answer: &Answer) -> Value {
    assert!(matches!(answer.status, 200 | 202), "not accepted: {answer:?}");
    let path = format!("/tasks/{}", answer.body["taskUid"]);
    for _ in 0..60_000 {
        let task = ask(server, MASTER, "GET", &path, &Value::Null).ok();
        if matches!(task["status"].as_str(), Some("succeeded" | "failed" | "canceled")) {
            return task;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the task does not end: {answer:?}");
}

#[test]
fn keys_live_survive_and_die() {
    let mut server = start(&[]);
    let list = ask(&server, MASTER, "GET", "/keys", &Value::Null).ok();
    let names: Vec<&str> = list["results"].as_array().unwrap().iter().map(|k| k["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["Default Search API Key", "Default Admin API Key", "Default Read-Only Admin API Key", "Default Chat API Key"]
    );
    assert_eq!((&list["offset"], &list["limit"], &list["total"]), (&json!(0), &json!(20), &json!(4)));

    let body = json!({
        "name": "n", "description": "d", "uid": "4bc0887a-0e41-4f3b-935d-0c451dcee9c8",
        "actions": ["documents.*", "search"], "indexes": ["films", "b*"], "expiresAt": "2999-01-02 03:04:05"
    });
    let made = ask(&server, MASTER, "POST", "/keys", &body);
    assert_eq!(made.status, 201);
    let keys: Vec<&String> = made.body.as_object().unwrap().keys().collect();
    let expected = ["name", "description", "key", "uid", "actions", "indexes", "expiresAt", "createdAt", "updatedAt"];
    assert_eq!(keys, expected);
    assert_eq!(made.body["expiresAt"], "2999-01-02T03:04:05Z");
    ask(&server, MASTER, "POST", "/keys", &body).refused(409, "api_key_already_exists");

    // Killed right after each acknowledged change: the change is there.
    server.kill();
    server.start_again();
    let secret = value(&made.body);
    for path in [format!("/keys/{secret}"), "/keys/4bc0887a-0e41-4f3b-935d-0c451dcee9c8".to_owned()] {
        assert_eq!(ask(&server, MASTER, "GET", &path, &Value::Null).ok(), made.body);
    }
    let path = format!("/keys/{secret}");
    let changed = ask(&server, MASTER, "PATCH", &path, &json!({"name": null})).ok();
    server.kill();
    server.start_again();
    let again = ask(&server, MASTER, "GET", &path, &Value::Null).ok();
    assert_eq!(again, changed);
    assert_eq!((&again["name"], &again["description"]), (&Value::Null, &json!("d")));
    assert_ne!(again["updatedAt"], made.body["updatedAt"]);
    let deleted = ask(&server, MASTER, "DELETE", &path, &Value::Null);
    assert_eq!((deleted.status, deleted.text.as_str()), (204, ""));
    server.kill();
    server.start_again();
    ask(&server, MASTER, "GET", &path, &Value::Null).refused(404, "api_key_not_found");
    ask(&server, &secret, "POST", "/indexes/films/search", &json!({})).refused(403, "invalid_api_key");
}

#[test]
fn bad_keys_are_refused() {
    let server = start(&[]);
    let good = json!({"actions": ["search"], "indexes": ["*"], "expiresAt": null});
    for (field, bad, code) in [
        ("actions", json!(["doc.add"]), "invalid_api_key_actions"),
        ("indexes", json!(["bad uid"]), "invalid_api_key_indexes"),
        ("expiresAt", json!("2001-01-01"), "invalid_api_key_expires_at"),
        ("name", json!(1), "invalid_api_key_name"),
        ("description", json!(1), "invalid_api_key_description"),
        ("uid", json!("x"), "invalid_api_key_uid"),
        ("key", json!("x"), "bad_request"),
    ] {
        let mut body = good.clone();
        body[field] = bad;
        ask(&server, MASTER, "POST", "/keys", &body).refused(400, code);
    }
    let scoped = json!({"actions": ["version"], "indexes": ["a"], "expiresAt": null});
    ask(&server, MASTER, "POST", "/keys", &scoped).refused(400, "index_scoped_api_key_with_global_action");
    ask(&server, MASTER, "GET", "/keys?limit=x", &Value::Null).refused(400, "invalid_api_key_limit");
    ask(&server, MASTER, "GET", "/keys?offset=x", &Value::Null).refused(400, "invalid_api_key_offset");
    for method in ["GET", "PATCH", "DELETE"] {
        ask(&server, MASTER, method, "/keys/unknown", &json!({})).refused(404, "api_key_not_found");
    }
    let path = format!("/keys/{}", value(&make(&server, &["search"], &["*"])));
    ask(&server, MASTER, "PATCH", &path, &json!({"actions": ["*"]})).refused(400, "immutable_api_key_actions");
}

#[test]
fn keys_need_a_master_key() {
    let server = Server::start();
    server.get("/keys").refused(401, "missing_master_key");
    server.get("/keys/x").refused(401, "missing_master_key");
    server.post("/keys", json!({})).refused(401, "missing_master_key");
    assert_eq!(server.get("/indexes").status, 200);
    let basic = server.request(Method::GET, "/indexes").header("Authorization", "Basic eDp5");
    server.send(basic).refused(401, "missing_authorization_header");
}

/// All actions that are no wildcards.
pub(crate) const PLAIN: [&str; 44] = [
    "search",
    "documents.add",
    "documents.get",
    "documents.delete",
    "indexes.create",
    "indexes.get",
    "indexes.update",
    "indexes.delete",
    "indexes.swap",
    "tasks.cancel",
    "tasks.delete",
    "tasks.get",
    "settings.get",
    "settings.update",
    "stats.get",
    "metrics.get",
    "dumps.create",
    "snapshots.create",
    "version",
    "keys.create",
    "keys.get",
    "keys.update",
    "keys.delete",
    "experimental.get",
    "experimental.update",
    "export",
    "network.get",
    "network.update",
    "chatCompletions",
    "chats.get",
    "chats.delete",
    "chatsSettings.get",
    "chatsSettings.update",
    "webhooks.get",
    "webhooks.update",
    "webhooks.delete",
    "webhooks.create",
    "indexes.compact",
    "fields.post",
    "tasks.compact",
    "dynamicSearchRules.get",
    "dynamicSearchRules.create",
    "dynamicSearchRules.update",
    "dynamicSearchRules.delete",
];

/// A route without its row would be a right that no test tried.
fn every_described_route_is_among(server: &Server, rows: &[(&str, &str, &[&str])]) {
    let document = server.get("/openapi.json").ok();
    for (path, operations) in document["paths"].as_object().expect("paths") {
        if matches!(path.as_str(), "/" | "/health" | "/openapi.json" | "/docs" | "/docs/errors") {
            continue;
        }
        // Settings have a route each, and the same rights: one of them stands for all.
        let path = match path.strip_prefix("/indexes/{indexUid}/settings/") {
            Some(_) => "/indexes/{indexUid}/settings/{setting}",
            None => path,
        };
        let is_of = |row: &str| {
            let (row, path): (Vec<&str>, Vec<&str>) = (row.split('/').collect(), path.split('/').collect());
            row.len() == path.len() && row.iter().zip(&path).all(|(row, part)| row == part || part.starts_with('{'))
        };
        for method in operations.as_object().expect("operations").keys().map(|method| method.to_ascii_uppercase()) {
            let has_row = rows.iter().any(|(of, row, _)| *of == method && is_of(row));
            assert!(has_row, "{method} {path} has no row");
        }
    }
}

/// Routes with the actions that open them.
const ROUTES: &[(&str, &str, &[&str])] = &[
    ("GET", "/indexes", &["indexes.get", "indexes.*", "*.get"]),
    ("POST", "/indexes", &["indexes.create", "indexes.*"]),
    ("GET", "/indexes/a", &["indexes.get", "indexes.*", "*.get"]),
    ("PATCH", "/indexes/a", &["indexes.update", "indexes.*"]),
    ("DELETE", "/indexes/a2", &["indexes.delete", "indexes.*"]),
    ("POST", "/swap-indexes", &["indexes.swap", "indexes.*"]),
    ("GET", "/indexes/a/generations", &["indexes.get", "indexes.*", "*.get"]),
    ("GET", "/indexes/a/changes", &["documents.get", "documents.*", "*.get"]),
    ("POST", "/indexes/a/clone", &["indexes.create", "indexes.*"]),
    ("POST", "/indexes/a/attach", &["indexes.create", "indexes.*"]),
    // It needs two: see `generations`.
    ("POST", "/indexes/a/restore", &[]),
    ("GET", "/aliases", &["indexes.get", "indexes.*", "*.get"]),
    ("PATCH", "/aliases", &["indexes.swap", "indexes.*"]),
    ("GET", "/aliases/b", &["indexes.get", "indexes.*", "*.get"]),
    ("PUT", "/aliases/b", &["indexes.swap", "indexes.*"]),
    ("DELETE", "/aliases/b", &["indexes.swap", "indexes.*"]),
    ("POST", "/indexes/a/documents", &["documents.add", "documents.*"]),
    ("PUT", "/indexes/a/documents", &["documents.add", "documents.*"]),
    ("PATCH", "/indexes/a/documents", &["documents.add", "documents.*"]),
    ("GET", "/indexes/a/documents", &["documents.get", "documents.*", "*.get"]),
    ("GET", "/indexes/a/documents/1", &["documents.get", "documents.*", "*.get"]),
    ("POST", "/indexes/a/documents/fetch", &["documents.get", "documents.*", "*.get"]),
    ("DELETE", "/indexes/a2/documents", &["documents.delete", "documents.*"]),
    ("DELETE", "/indexes/a2/documents/1", &["documents.delete", "documents.*"]),
    ("POST", "/indexes/a/documents/delete-batch", &["documents.delete", "documents.*"]),
    ("POST", "/indexes/a/documents/delete", &["documents.delete", "documents.*"]),
    ("POST", "/indexes/a/documents/edit", &["documents.*"]),
    ("GET", "/indexes/a/settings", &["settings.get", "settings.*", "*.get"]),
    ("PATCH", "/indexes/a/settings", &["settings.update", "settings.*"]),
    ("DELETE", "/indexes/a2/settings", &["settings.update", "settings.*"]),
    ("GET", "/indexes/a/settings/synonyms", &["settings.get", "settings.*", "*.get"]),
    ("PUT", "/indexes/a/settings/synonyms", &["settings.update", "settings.*"]),
    ("PATCH", "/indexes/a/settings/faceting", &["settings.update", "settings.*"]),
    ("DELETE", "/indexes/a2/settings/synonyms", &["settings.update", "settings.*"]),
    ("GET", "/stats", &["stats.get", "stats.*", "*.get"]),
    ("GET", "/indexes/a/stats", &["stats.get", "stats.*", "*.get"]),
    ("GET", "/indexes/a/search", &["search", "*.get"]),
    ("POST", "/indexes/a/search", &["search", "*.get"]),
    ("POST", "/indexes/a/facet-search", &["search", "*.get"]),
    ("POST", "/indexes/a/completions", &["search", "*.get"]),
    ("GET", "/indexes/a/similar", &["search", "*.get"]),
    ("POST", "/indexes/a/similar", &["search", "*.get"]),
    ("POST", "/multi-search", &["search", "*.get"]),
    ("POST", "/mcp", &["search", "*.get"]),
    ("GET", "/tasks", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/tasks/0", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/tasks/stream", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/batches/stream", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/batches", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/batches/0", &["tasks.get", "tasks.*", "*.get"]),
    ("GET", "/tasks/0/documents", &["tasks.get", "tasks.*", "*.get"]),
    ("POST", "/tasks/compact", &["tasks.compact", "tasks.*"]),
    ("POST", "/tasks/cancel", &["tasks.cancel", "tasks.*"]),
    ("DELETE", "/tasks", &["tasks.delete", "tasks.*"]),
    ("GET", "/keys", &["keys.get"]),
    ("GET", "/keys/x", &["keys.get"]),
    ("POST", "/keys", &["keys.create"]),
    ("PATCH", "/keys/x", &["keys.update"]),
    ("DELETE", "/keys/x", &["keys.delete"]),
    ("GET", "/webhooks", &["webhooks.get", "webhooks.*", "*.get"]),
    ("GET", "/webhooks/x", &["webhooks.get", "webhooks.*", "*.get"]),
    ("POST", "/webhooks", &["webhooks.create", "webhooks.*"]),
    ("PATCH", "/webhooks/x", &["webhooks.update", "webhooks.*"]),
    ("DELETE", "/webhooks/x", &["webhooks.delete", "webhooks.*"]),
    ("POST", "/dumps", &["dumps.create", "dumps.*"]),
    ("POST", "/snapshots", &["snapshots.create", "snapshots.*"]),
    ("POST", "/export", &["export", "*.get"]),
    ("GET", "/network", &["network.get", "*.get"]),
    ("PATCH", "/network", &["network.update"]),
    ("GET", "/replicas", &["network.get", "*.get"]),
    ("GET", "/metrics", &["metrics.get", "metrics.*", "*.get"]),
    ("POST", "/logs/stream", &["metrics.get", "metrics.*", "*.get"]),
    ("DELETE", "/logs/stream", &["metrics.get", "metrics.*", "*.get"]),
    ("POST", "/logs/stderr", &["metrics.get", "metrics.*", "*.get"]),
    ("POST", "/indexes/a2/compact", &["indexes.compact", "indexes.*"]),
    ("POST", "/indexes/a/fields", &["fields.post", "*.get"]),
    ("GET", "/experimental-features", &["experimental.get", "*.get"]),
    ("PATCH", "/experimental-features", &["experimental.update"]),
    ("GET", "/version", &["version", "*.get"]),
    ("POST", "/network/control", &["network.update"]),
    ("GET", "/chats", &["chats.get", "chats.*", "*.get"]),
    ("GET", "/chats/c", &["chats.get", "chats.*", "*.get"]),
    ("DELETE", "/chats/c", &["chats.delete", "chats.*"]),
    ("GET", "/chats/c/settings", &["chatsSettings.get", "chatsSettings.*", "*.get"]),
    ("PATCH", "/chats/c/settings", &["chatsSettings.update", "chatsSettings.*"]),
    ("DELETE", "/chats/c/settings", &["chatsSettings.update", "chatsSettings.*"]),
    ("POST", "/chats/c/chat/completions", &["chatCompletions"]),
    ("POST", "/dynamic-search-rules", &["dynamicSearchRules.get", "dynamicSearchRules.*", "*.get"]),
    ("PATCH", "/dynamic-search-rules/r", &["dynamicSearchRules.update", "dynamicSearchRules.*"]),
    ("DELETE", "/dynamic-search-rules/r", &["dynamicSearchRules.delete", "dynamicSearchRules.*"]),
    ("GET", "/dynamic-search-rules/r", &["dynamicSearchRules.get", "dynamicSearchRules.*", "*.get"]),
    ("DELETE", "/dynamic-search-rules", &["dynamicSearchRules.delete", "dynamicSearchRules.*"]),
];

/// Every route: open to its action, to the wildcards above it and to the master key; closed to all other actions.
#[test]
fn every_route_needs_its_action_and_no_other() {
    let server = start(&[]);
    finish(&server, &ask(&server, MASTER, "POST", "/indexes/a/documents", &json!([{"id": 1}])));
    // It needs two: see `rendering`.
    let of_two: (&str, &str, &[&str]) = ("POST", "/render-template", &[]);
    every_described_route_is_among(&server, &[ROUTES, &[of_two]].concat());
    let all = value(&make(&server, &["*"], &["*"]));
    for (method, path, actions) in ROUTES {
        let body = if *method == "GET" { Value::Null } else { json!({}) };
        let ask = |key: &str| ask(&server, key, method, path, &body);
        let is_closed = |answer: &Answer| matches!(answer.status, 401 | 403);
        for action in *actions {
            let answer = ask(&value(&make(&server, &[action], &["*"])));
            assert!(!is_closed(&answer), "{method} {path} with {action}: {}", answer.text);
        }
        for key in [MASTER, &all] {
            assert!(!is_closed(&ask(key)), "{method} {path}");
        }
        let others: Vec<&str> = PLAIN.iter().copied().filter(|action| !actions.contains(action)).collect();
        ask(&value(&make(&server, &others, &["*"]))).refused(403, "invalid_api_key");
        ask("wrong").refused(403, "invalid_api_key");
        server.send(server.request(method.parse().unwrap(), path)).refused(401, "missing_authorization_header");
    }
    for path in ["/health", "/"] {
        assert_eq!(server.get(path).status, 200);
    }
}

#[test]
fn a_key_for_some_indexes_sees_nothing_of_others() {
    let server = start(&[]);
    for index in ["a", "b", "b2"] {
        finish(&server, &ask(&server, MASTER, "POST", &format!("/indexes/{index}/documents"), &json!([{"id": 1}])));
    }
    let swap = json!([{"indexes": ["a", "b2"]}]);
    let key = value(&make(&server, &["*"], &["b*"]));
    let get = |path: &str| ask(&server, &key, "GET", path, &Value::Null).ok();

    for (method, path) in [("GET", "/indexes/a"), ("POST", "/indexes/a/search"), ("GET", "/indexes/a/documents")] {
        let refusal = ask(&server, &key, method, path, &json!({}));
        refusal.refused(403, "invalid_api_key");
        assert_eq!(refusal.body["message"], "The API key cannot acces the index `a`, authorized indexes are [\"b*\"].");
    }
    assert_eq!(get("/indexes")["total"], 2);
    assert_eq!(get("/stats")["indexes"].as_object().unwrap().keys().collect::<Vec<_>>(), ["b", "b2"]);
    let uids = |list: Value| list["results"].as_array().unwrap().iter().map(|t| t["uid"].clone()).collect::<Vec<_>>();
    assert_eq!(uids(get("/tasks")), [2, 1]);
    assert_eq!(uids(get("/tasks?indexUids=a,b")), [1]);
    assert_eq!(uids(get("/batches")), [2, 1]);
    ask(&server, &key, "GET", "/tasks/0", &Value::Null).refused(404, "task_not_found");
    ask(&server, &key, "GET", "/batches/0", &Value::Null).refused(404, "batch_not_found");
    assert_eq!(get("/tasks/1")["indexUid"], "b");
    assert_eq!(get("/batches/1")["uid"], 1);

    ask(&server, &key, "POST", "/indexes", &json!({"uid": "c"})).refused(403, "invalid_api_key");
    ask(&server, &key, "PATCH", "/indexes/b", &json!({"uid": "c"})).refused(403, "invalid_api_key");
    ask(&server, &key, "POST", "/swap-indexes", &swap).refused(403, "invalid_api_key");
    let multi = |uid: &str| json!({"queries": [{"indexUid": "b"}, {"indexUid": uid}]});
    ask(&server, &key, "POST", "/multi-search", &multi("a")).refused(403, "invalid_api_key");
    assert_eq!(ask(&server, &key, "POST", "/multi-search", &multi("b2")).status, 200);
    let facets = json!({"queries": [{"indexUid": "b"}], "federation": {"facetsByIndex": {"a": ["id"]}}});
    ask(&server, &key, "POST", "/multi-search", &facets).refused(403, "invalid_api_key");

    // Only what the key sees can be canceled or deleted by it; `*` counts as a condition.
    let deletion = finish(&server, &ask(&server, &key, "DELETE", "/tasks?uids=*", &Value::Null));
    assert_eq!((&deletion["details"]["matchedTasks"], &deletion["details"]["deletedTasks"]), (&json!(2), &json!(2)));
    assert_eq!(ask(&server, MASTER, "GET", "/tasks/0", &Value::Null).status, 200);
    assert_eq!(get("/tasks")["total"], 0);
}

#[test]
fn indexes_are_created_only_by_who_may() {
    let server = start(&[]);
    let adder = value(&make(&server, &["documents.add", "settings.update"], &["*"]));
    let creator = value(&make(&server, &["documents.add", "indexes.create"], &["*"]));
    let documents = json!([{"id": 1}]);
    for (method, path, body) in [
        ("POST", "/indexes/new/documents", &documents),
        ("PATCH", "/indexes/new/settings", &json!({"stopWords": ["x"]})),
    ] {
        let task = finish(&server, &ask(&server, &adder, method, path, body));
        assert_eq!(task["error"]["code"], "index_not_found", "{task}");
    }
    let task = finish(&server, &ask(&server, &creator, "POST", "/indexes/new/documents", &documents));
    assert_eq!(task["status"], "succeeded", "{task}");
    let task = finish(&server, &ask(&server, &adder, "POST", "/indexes/new/documents", &documents));
    assert_eq!(task["status"], "succeeded", "{task}");
}

#[test]
fn secrets_are_not_logged() {
    let mut server = start(&["--log-level", "TRACE"]);
    let key = value(&make(&server, &["*"], &["*"]));
    ask(&server, &key, "GET", "/indexes", &Value::Null).ok();
    ask(&server, MASTER, "GET", &format!("/keys/{key}"), &Value::Null).ok();
    ask(&server, "a-wrong-but-still-secret-key", "GET", "/indexes", &Value::Null).refused(403, "invalid_api_key");
    server.terminate();
    let log = server.log();
    for secret in [MASTER, "a-wrong-but-still-secret-key"] {
        assert!(!log.contains(secret), "the log holds `{secret}`");
    }
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(&key)).collect();
    assert!(lines.is_empty(), "the log holds a key: {lines:?}");
}
