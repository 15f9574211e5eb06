//! API keys: their life, what each of them may do on each route, what they may see.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};

use crate::server::{Answer, Server, has_ended, soon_as};

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
    soon_as(|| ask(server, MASTER, "GET", &path, &Value::Null).ok(), has_ended)
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
