//! The way to another server of the protocol: dumps in the form that it reads, whatever was used here.

use super::dumps::dump_of;
use super::form::{Files, check, files, lines};
use super::*;
use crate::server::repository;

/// A dump of another server: what comes out of this one is what went in.
#[test]
fn tasks_of_another_server_come_back_as_they_were() {
    let theirs = repository().join("tests/fixtures/protocol-1.50.dump");
    let original = files(&theirs);
    check(&original);
    let mut dump = theirs;
    for generation in 0..2 {
        let server = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
        let folder = tempfile::tempdir().unwrap();
        let written = dump_of(&server);
        dump = folder.path().join("next.dump");
        std::fs::rename(written, &dump).unwrap();
        let again = files(&dump);
        check(&again);
        let tasks = lines(&again, "tasks/queue.jsonl");
        let before = lines(&original, "tasks/queue.jsonl");
        for line in &before {
            let back = tasks.iter().find(|task| task["uid"] == line["uid"]).unwrap_or_else(|| panic!("lost: {line}"));
            assert_eq!(without_link(back), without_link(line), "generation {generation}");
        }
        assert!(tasks.len() >= before.len());
        for path in ["keys.jsonl", "batches/queue.jsonl"] {
            let key = |line: &Value| line["uid"].to_string();
            let (mut one, mut other) = (lines(&again, path), lines(&original, path));
            one.retain(|line| other.iter().any(|known| known["uid"] == line["uid"]));
            one.sort_by_key(key);
            other.sort_by_key(key);
            // When the oldest task of a batch was registered follows from its tasks.
            other
                .iter_mut()
                .chain(&mut one)
                .for_each(|line| drop(line.as_object_mut().unwrap().shift_remove("enqueuedAt")));
            assert_eq!(one, other, "{path}");
        }
        for index in ["books", "films"] {
            for file in ["documents.jsonl", "metadata.json"] {
                let path = format!("indexes/{index}/{file}");
                assert_eq!(lines(&again, &path), lines(&original, &path), "{path}");
            }
        }
        // Kept for the next generation.
        std::mem::forget(folder);
    }
}

/// The link of an error leads to the pages of the program that shows it.
fn without_link(task: &Value) -> Value {
    let mut task = task.clone();
    if let Some(error) = task.get_mut("error") {
        error["link"] = "".into();
    }
    task
}

const OPEN: [&str; 4] = ["--experimental-allowed-ip-networks", "127.0.0.0/8", "--keep", "24h"];

/// Uses everything that leaves a trace in a dump.
fn everything_used(server: &Server) {
    let switches = [
        "editDocumentsByFunction",
        "containsFilter",
        "dynamicSearchRules",
        "network",
        "chatCompletions",
        "foreignKeys",
        "compositeEmbedders",
        "multimodal",
    ];
    let switches: serde_json::Map<String, Value> =
        switches.map(|name| (name.to_owned(), true.into())).into_iter().collect();
    server.patch("/experimental-features", Value::Object(switches)).ok();
    server
        .patch("/network", json!({"self": "a", "remotes": {"b": {"url": "http://example.org", "searchApiKey": "k"}}}))
        .ok();
    server.post("/webhooks", json!({"url": "http://127.0.0.1:9/hook", "headers": {"X-Secret": "s"}})).ok();
    server
        .patch("/chats/talk/settings", json!({"source": "vLlm", "baseUrl": "http://127.0.0.1:9", "apiKey": "sk"}))
        .ok();
    server.patch(&format!("/chats/{}/settings", "x".repeat(300)), json!({})).ok();
    server.add("authors", json!([{"id": 1, "name": "Lem"}]));
    let films: Vec<Value> =
        (0..40).map(|id| json!({"id": id, "title": format!("film {id}"), "year": 1950 + id, "author": 1})).collect();
    server.add("films", films.into());
    server.set(
        "films",
        json!({
            "filterableAttributes": ["year", {"attributePatterns": ["a*"], "features": {"filter": {"comparison": true}}}],
            "sortableAttributes": ["year"], "matchingStrategy": "any", "bm25": {"b": 0.5},
            "searchableAttributes": ["title"], "searchableAttributesWeights": {"title": 2}, "wordForms": {"enabled": true},
            "rankingRules": ["words", {"boostIf": {"filter": "year = 1960", "weight": 2}}, "typo", "year:desc"],
            "completions": {"fromQueries": true}, "expiryAttribute": "until", "stopWords": ["the"],
            "localizedAttributes": [{"attributePatterns": ["title"], "locales": ["eng"]}],
            "foreignKeys": [{"foreignIndexUid": "authors", "fieldName": "author"}],
            "rerankers": {"r": {"url": "http://127.0.0.1:9/r", "apiKey": "sk"}},
            "chat": {"description": "films", "searchParameters": {"matchingStrategy": "any", "limit": 3}},
            "embedders": {"own": {"source": "userProvided", "dimensions": 2}},
        }),
    );
    all_kinds_of_tasks(server);
}

fn all_kinds_of_tasks(server: &Server) {
    server.done(
        &server.put("/indexes/films/documents", json!([{"id": 1, "title": "changed", "_vectors": {"own": [1, 2]}}])),
    );
    server.done(&server.patch("/indexes/films/documents", json!([{"id": 2, "increment": {"year": 1}}])));
    server.fails(
        &server.post("/indexes/films/documents?primaryKey=other", json!([{"other": 1}])),
        "index_primary_key_already_exists",
    );
    server.done(&server.delete("/indexes/films/documents/3"));
    server.done(&server.post("/indexes/films/documents/delete-batch", json!([4, 5])));
    server.done(
        &server.post("/indexes/films/documents/delete", json!({"filter": ["year > 1985", ["year = 1", "year = 2"]]})),
    );
    server.done(&server.post(
        "/indexes/films/documents/edit",
        json!({"function": "doc.x = context.y", "context": {"y": 1}, "filter": "year = 1960"}),
    ));
    let failing = json!({"function": "doc.x = nothing"});
    assert_eq!(server.wait(&server.post("/indexes/films/documents/edit", failing))["status"], "failed");
    server.done(&server.post("/indexes", json!({"uid": "empty", "primaryKey": "key"})));
    server.done(&server.patch("/indexes/empty", json!({"uid": "renamed"})));
    server.done(&server.patch("/indexes/renamed", json!({"primaryKey": "other"})));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["authors", "renamed"]}])));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["authors", "renamed"]}])));
    server.done(&server.post("/indexes/films/clone", json!({"uid": "copy"})));
    server.done(&server.put("/aliases/movies", json!({"indexUid": "films"})));
    server.done(&server.post("/indexes/films/compact", json!(null)));
    server.done(&server.delete("/indexes/copy/documents"));
    server.done(&server.delete("/indexes/copy/settings"));
    server.done(&server.delete("/indexes/copy"));
    let pin =
        json!({"actions": [{"selector": {"indexUid": "films", "id": "7"}, "action": {"type": "pin", "position": 0}}]});
    server.done(&server.patch("/dynamic-search-rules/one", pin));
    server.fails(&server.post("/indexes/films/restore", json!({"at": 100000})), "generation_not_found");
    server.fails(
        &server.post("/export", json!({"url": "http://127.0.0.1:9", "apiKey": "secret", "payloadSize": "2 MiB"})),
        "internal",
    );
    server.done(&server.post("/snapshots", json!(null)));
    server.done(&server.post("/tasks/cancel?uids=0", Value::Null));
    server.done(&server.delete("/tasks?uids=0"));
    server.done(&server.post("/dumps", Value::Null));
}

#[test]
fn a_dump_of_everything_has_the_form_that_others_read() {
    let server = Server::with_options(&OPEN);
    everything_used(&server);
    // What is still to be done, behind what takes its time.
    let text = "words ".repeat(40);
    let large: Vec<Value> = (0..4000).map(|id| json!({"id": id, "text": text})).collect();
    server.post("/indexes/late/documents", large.into());
    let made = server.post("/dumps", Value::Null);
    let waiting = [
        server.put("/indexes/late/documents", json!([{"id": 1, "more": 1}])),
        server.put("/indexes/late/documents?skipCreation=true", json!([{"id": 9_999, "more": 1}])),
        server.patch("/indexes/late/documents", json!([{"id": 2, "set": {"n": 1}}])),
        server.patch("/indexes/late/settings", json!({"stopWords": ["the"], "matchingStrategy": "all"})),
        server.delete("/indexes/late/documents/0"),
        server.post("/dumps", Value::Null),
    ];
    let uid = server.done(&made)["details"]["dumpUid"].as_str().unwrap().to_owned();
    waiting.iter().for_each(|task| drop(server.wait(task)));
    let dump = server.folder().join(format!("dumps/{uid}.dump"));
    let dumped = files(&dump);
    check(&dumped);
    everything_is_there(&dumped);

    // And this program gets back what others do not know.
    let before = everything(&server);
    let mut options = OPEN.to_vec();
    options.extend(["--import-dump", dump.to_str().unwrap()]);
    let restored = Server::with_options(&options);
    let films = "/indexes/films/settings";
    assert_eq!(restored.get(films).ok(), server.get(films).ok());
    assert_eq!(restored.get("/chats").ok(), server.get("/chats").ok());
    assert_eq!(restored.get("/chats/talk/settings").ok(), server.get("/chats/talk/settings").ok());
    let made = made.body["taskUid"].as_u64().unwrap();
    for task in
        before.tasks["results"].as_array().unwrap().iter().filter(|task| task["uid"].as_u64().unwrap() < made - 1)
    {
        let again = restored.get(&format!("/tasks/{}", task["uid"])).ok();
        assert_eq!(without_port(&restored, &again), *task);
    }
    let last = restored.get("/tasks?limit=1").ok()["results"][0]["uid"].as_u64().unwrap();
    (0..=last).filter(|uid| *uid > made).for_each(|uid| drop(restored.wait_for(uid)));
    for path in ["/indexes/late/documents/1", "/indexes/late/documents/2", "/indexes/late/settings"] {
        assert_eq!(restored.get(path).ok(), server.get(path).ok(), "{path}");
    }
    restored.get("/indexes/late/documents/9999").refused(404, "document_not_found");
}

fn everything_is_there(dumped: &Files) {
    let tasks = lines(dumped, "tasks/queue.jsonl");
    let name = |task: &Value| match &task["type"] {
        Value::String(name) => name.clone(),
        other => other.as_object().unwrap().keys().next().unwrap().clone(),
    };
    let names: Vec<String> = tasks.iter().map(name).collect();
    for expected in [
        "documentImport",
        "documentDeletion",
        "documentDeletionByFilter",
        "documentEdition",
        "documentClear",
        "settings",
        "indexCreation",
        "indexUpdate",
        "indexDeletion",
        "indexSwap",
        "indexCompaction",
        "taskCancelation",
        "tasksDeletion",
        "snapshotCreation",
        "dumpCreation",
        "export",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} is missing: {names:?}");
    }
    let own = lines(dumped, "lamina/tasks.jsonl");
    for expected in ["indexClone", "aliasUpdate", "indexRestoration", "dsrUpdate"] {
        assert!(own.iter().any(|task| task["type"] == expected), "{expected} is missing");
    }
    // What was done is different from what is still to be done.
    let methods: Vec<&Value> = tasks.iter().filter_map(|task| task.pointer("/type/documentImport/method")).collect();
    assert!(methods.iter().any(|method| *method == "UpdateDocuments"));
    assert!(methods.iter().any(|method| *method == "ReplaceDocuments"));
    let ids: Vec<&Value> =
        tasks.iter().filter_map(|task| task.pointer("/type/documentDeletion/documents_ids")).collect();
    assert!(ids.contains(&&json!(["4", "5"])), "{ids:?}");
    let waiting: Vec<&Value> = tasks.iter().filter(|task| task["status"] == "enqueued").collect();
    assert!(waiting.len() >= 2, "{waiting:?}");
    assert!(waiting.iter().all(|task| task["batchUid"].is_null()));
    for task in waiting.iter().filter(|task| name(task) == "documentImport") {
        assert!(dumped.contains_key(&format!("tasks/update_files/{}.jsonl", task["uid"])), "{task}");
    }
    let dumps = waiting.iter().find_map(|task| task.pointer("/type/dumpCreation/keys"));
    assert!(dumps.is_some_and(|keys| keys.as_array().unwrap().len() >= 4), "keys for the dump that waits");
    assert!(!dumped["tasks/queue.jsonl"].contains("\"secret\""));
}

/// A database without anything has the folders that others look for.
#[test]
fn a_dump_of_an_empty_server_has_the_form_that_others_read() {
    let server = Server::start();
    check(&files(&dump_of(&server)));
}
