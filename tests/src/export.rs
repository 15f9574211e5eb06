//! Sending indexes to another server.

use serde_json::{Value, json};

use crate::keys;
use crate::receiver::{Behaviour, Receiver};
use crate::server::{Server, until};

fn source() -> Server {
    let server = Server::with_options(&["--experimental-allowed-ip-networks", "127.0.0.0/8"]);
    let settings = json!({
        "filterableAttributes": ["year"], "sortableAttributes": ["year"], "synonyms": {"monster": ["alien"]},
        "embedders": {"own": {"source": "userProvided", "dimensions": 3}}
    });
    server.set("films", settings);
    let film = |id: u64| {
        let vector = [id as f64, 1.0, 0.5];
        json!({"id": id, "year": 1900 + id % 100, "title": format!("Alien number{id}"), "_vectors": {"own": vector}})
    };
    let films: Vec<Value> = (0..500).map(film).collect();
    server.add("films", json!(films));
    server.done(&server.post("/indexes/books/documents?primaryKey=isbn", json!([{"isbn": "x-1", "title": "Solaris"}])));
    server
}

/// Waits until the other server has carried out all that it was sent.
pub(crate) fn settle(server: &Server) {
    until(|| server.get("/tasks?statuses=enqueued,processing&limit=1").ok()["total"] == 0);
}

fn documents(server: &Server, index: &str) -> Vec<Value> {
    let list = server.get(&format!("/indexes/{index}/documents?limit=10000&retrieveVectors=true")).ok();
    let mut documents = list["results"].as_array().expect("results").clone();
    documents.sort_by_key(|document| document["id"].as_u64());
    documents
}

#[test]
fn everything_arrives() {
    let (source, target) = (source(), Server::start());
    let answer = source.post("/export", json!({"url": target.url, "payloadSize": "2 KiB"}));
    assert_eq!((answer.status, &answer.body["type"], &answer.body["indexUid"]), (200, &json!("export"), &Value::Null));
    let task = source.done(&answer);
    assert_eq!(
        task["details"],
        json!({
            "url": target.url, "payloadSize": "2.00 KiB",
            "indexes": {
                "books": {"filter": null, "overrideSettings": false, "matchedDocuments": 1},
                "films": {"filter": null, "overrideSettings": false, "matchedDocuments": 500}
            }
        })
    );
    settle(&target);
    assert_eq!(documents(&target, "films"), documents(&source, "films"));
    assert_eq!(documents(&target, "books"), documents(&source, "books"));
    for index in ["films", "books"] {
        let settings = format!("/indexes/{index}/settings");
        assert_eq!(target.get(&settings).ok(), source.get(&settings).ok());
        let of = |server: &Server| server.get(&format!("/indexes/{index}")).ok()["primaryKey"].clone();
        assert_eq!(of(&target), of(&source));
    }
    let sent = target.get("/tasks?types=documentAdditionOrUpdate&indexUids=films&limit=1").ok();
    assert!(sent["total"].as_u64().unwrap() > 10, "in pieces: {sent}");
}

#[test]
fn only_what_was_asked_for_is_sent() {
    let source = source();
    let target = keys::start(&[]).with_key(keys::MASTER);
    target.set("films", json!({"stopWords": ["the"]}));
    let key = keys::value(&keys::make(&target, &["documents.add", "indexes.*", "settings.update"], &["*"]));
    let export = |indexes: Value| {
        source.done(&source.post("/export", json!({"url": target.url, "apiKey": key, "indexes": indexes})))
    };
    let task = export(json!({"film*": {"filter": "year = 1950"}}));
    assert_eq!(task["details"]["apiKey"], format!("{}XXXXXX...", &key[..5]));
    assert_eq!(task["details"]["indexes"]["films"]["matchedDocuments"], 5, "{task}");
    settle(&target);
    assert_eq!(target.document_count("films"), 5);
    target.get("/indexes/books").refused(404, "index_not_found");
    assert_eq!(target.get("/indexes/films/settings/stop-words").ok(), json!(["the"]), "settings stay");

    export(json!({"films": {"filter": "year = 1950", "overrideSettings": true}}));
    settle(&target);
    assert_eq!(target.get("/indexes/films/settings/stop-words").ok(), json!([]));
    assert_eq!(target.get("/indexes/films/settings/synonyms").ok(), json!({"monster": ["alien"]}));
}

/// Checks that settings that a server does not accept are left out and named, and that all else continues.
#[test]
fn settings_that_are_refused_are_left_out() {
    let (source, target) = (source(), Server::start());
    source.patch("/experimental-features", json!({"chatCompletions": true, "foreignKeys": true})).ok();
    source.set("books", json!({"filterableAttributes": ["isbn"]}));
    let own = json!({
        "matchingStrategy": "any", "bm25": {"b": 0.5}, "expiryAttribute": "until",
        "rankingRules": ["words", {"boostIf": {"filter": "year = 1950", "weight": 2}}, "typo"],
    });
    source.set("films", own.clone());
    let gated =
        json!({"chat": {"description": "films"}, "foreignKeys": [{"foreignIndexUid": "books", "fieldName": "title"}]});
    source.set("films", gated.clone());
    let task = source.done(&source.post("/export", json!({"url": target.url})));
    let report = &task["details"]["indexes"];
    let left_out = report["films"]["leftOutSettings"].as_object().unwrap_or_else(|| panic!("{task}"));
    assert_eq!(left_out.keys().collect::<Vec<_>>(), ["foreignKeys", "chat"]);
    assert!(left_out["chat"].as_str().unwrap().contains("chat completions"), "{task}");
    assert!(report["books"].get("leftOutSettings").is_none(), "{task}");
    assert_eq!(report["films"]["matchedDocuments"], 500, "{task}");
    settle(&target);
    assert_eq!(documents(&target, "films"), documents(&source, "films"));
    let settings = target.get("/indexes/films/settings").ok();
    let sent = source.get("/indexes/films/settings").ok();
    for name in own.as_object().unwrap().keys() {
        assert_eq!(settings[name], sent[name], "our own settings go to a server of our own");
        assert!(!sent[name].is_null());
    }
    // With the features on, all of them arrive.
    target.patch("/experimental-features", json!({"chatCompletions": true, "foreignKeys": true})).ok();
    let all = json!({"url": target.url, "indexes": {"films": {"overrideSettings": true}}});
    let task = source.done(&source.post("/export", all));
    assert!(task["details"]["indexes"]["films"].get("leftOutSettings").is_none(), "{task}");
    settle(&target);
    assert_eq!(target.get("/indexes/films/settings").ok(), source.get("/indexes/films/settings").ok());
}

#[test]
fn an_alias_stands_for_its_index() {
    let (source, target) = (source(), Server::start());
    source.done(&source.put("/aliases/pictures", json!({"indexUid": "films"})));
    for (pattern, count) in [("pictures", 5), ("pict*", 10)] {
        let filter = if count == 5 { "year = 1950" } else { "year IN [1950, 1951]" };
        let body = json!({"url": target.url, "indexes": {pattern: {"filter": filter}}});
        let task = source.done(&source.post("/export", body));
        let expected = json!({"films": {"filter": filter, "overrideSettings": false, "matchedDocuments": count}});
        assert_eq!(task["details"]["indexes"], expected);
        settle(&target);
        assert_eq!(target.document_count("films"), count);
    }
}

#[test]
fn failures_are_reported() {
    let source = source();
    let target = keys::start(&[]);
    let message = |body: Value| {
        let task = source.fails(&source.post("/export", body), "internal");
        task["error"]["message"].as_str().expect("a message").to_owned()
    };
    let refused = message(json!({"url": target.url, "apiKey": "wrong"}));
    assert!(
        refused.starts_with("Failed to export documents to remote server `invalid_api_key` (`auth`): `"),
        "{refused}"
    );
    let rejected = message(json!({"url": "http://10.0.0.1:7700"}));
    assert!(rejected.contains("Rejected IP"), "{rejected}");
    assert!(rejected.contains("at `10.0.0.1:7700`"), "{rejected}");
    // Where it did not get through, but not what else is in the address.
    let unreachable = message(json!({"url": "http://user:s3cret@127.0.0.1:9/path"}));
    assert!(unreachable.contains("at `127.0.0.1:9`"), "{unreachable}");
    assert!(!unreachable.contains("s3cret"), "{unreachable}");
    let undeclared = source.post("/export", json!({"url": target.url, "indexes": {"films": {"filter": "title = x"}}}));
    source.fails(&undeclared, "invalid_export_index_filter");

    // An address that is not there is the business of the task.
    for body in [json!({}), json!({"url": ""}), json!({"indexes": {"nothing": {}}})] {
        let answer = source.post("/export", body);
        assert_eq!(answer.status, 200, "{answer:?}");
        let task = source.fails(&answer, "invalid_export_url");
        assert_eq!(task["details"]["url"], "", "{task}");
    }

    for (body, code) in [
        (json!({"url": "nope"}), "invalid_export_url"),
        (json!({"url": null}), "invalid_export_url"),
        (json!({"url": target.url, "apiKey": 1}), "invalid_export_api_key"),
        (json!({"url": target.url, "payloadSize": "much"}), "invalid_export_payload_size"),
        (json!({"url": target.url, "indexes": {"a b": {}}}), "invalid_export_indexes_patterns"),
        (json!({"url": target.url, "indexes": {"a": {"filter": "x ="}}}), "invalid_export_index_filter"),
    ] {
        source.post("/export", body).refused(400, code);
    }
}

#[test]
fn an_export_reports_where_it_is() {
    let source = source();
    let silent = Receiver::start(std::iter::repeat_with(|| Behaviour::Stall).take(100));
    let url = silent.url.trim_end_matches("/hook");
    let export = source.post("/export", json!({"url": url}));
    silent.next();
    let batch = source.get("/batches?statuses=processing").ok()["results"][0].clone();
    let steps = json!([
        {"currentStep": "processing tasks", "finished": 0, "total": 2},
        {"currentStep": "sending indexes", "finished": 0, "total": 2},
    ]);
    assert_eq!((&batch["progress"]["steps"], &batch["progress"]["percentage"]), (&steps, &json!(0.0)), "{batch}");
    source.done(&source.post("/tasks/cancel?types=export", Value::Null));
    assert_eq!(source.wait(&export)["status"], "canceled");
}

#[test]
fn a_server_that_stumbles_is_asked_again() {
    let source = source();
    let stumbling = Receiver::start([Behaviour::Answer(503), Behaviour::Answer(429)]);
    let url = stumbling.url.trim_end_matches("/hook");
    source.done(&source.post("/export", json!({"url": url, "indexes": {"books": {}}})));
    let asked: Vec<(String, String)> =
        (0..4).map(|_| stumbling.next()).map(|request| (request.method, request.path)).collect();
    let expected = [
        ("GET", "/indexes/books"),
        ("GET", "/indexes/books"),
        ("GET", "/indexes/books"),
        ("POST", "/indexes/books/documents?primaryKey=isbn"),
    ];
    assert_eq!(asked, expected.map(|(method, path)| (method.to_owned(), path.to_owned())));
}
