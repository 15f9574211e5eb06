//! `PATCH /indexes/{uid}/documents`: numbers and truth values of single fields.

use serde_json::{Value, json};

use crate::server::Server;

/// Films whose counters have no words.
fn films() -> Server {
    let server = Server::start();
    server.set(
        "films",
        json!({
            "searchableAttributes": ["title"], "filterableAttributes": ["views", "inStock"], "sortableAttributes": ["views"],
        }),
    );
    let film = |id: u64| json!({"id": id, "title": format!("film {id}"), "views": id * 10});
    server.add("films", (1..=5).map(film).collect());
    server
}

fn update(server: &Server, body: Value) -> Value {
    server.done(&server.patch("/indexes/films/documents", body))
}

#[test]
fn searches_see_new_numbers_at_once() {
    let mut server = films();
    let task = update(
        &server,
        json!([
            {"id": 1, "increment": {"views": 100}, "set": {"inStock": true}},
            {"id": "1", "increment": {"views": 0.5}},
            {"id": 5, "increment": {"views": -49}},
            {"id": 77, "increment": {"views": 1}},
        ]),
    );
    assert_eq!(task["type"], "documentAdditionOrUpdate");
    assert_eq!(task["details"], json!({"receivedDocuments": 4, "indexedDocuments": 3}));
    let check = |server: &Server| {
        assert_eq!(server.ids("films", json!({"q": "film", "sort": ["views:desc"]})), [1, 4, 3, 2, 5]);
        assert_eq!(server.ids("films", json!({"filter": "views < 20"})), [5]);
        assert_eq!(server.ids("films", json!({"filter": "inStock = true"})), [1]);
        let found = server.search("films", json!({"facets": ["views", "inStock"]}));
        assert_eq!(found["facetDistribution"]["inStock"], json!({"true": 1}));
        assert_eq!(found["facetStats"]["views"], json!({"min": 1.0, "max": 110.5}));
        let document = server.get("/indexes/films/documents/1").ok();
        assert_eq!(document, json!({"id": 1, "title": "film 1", "views": 110.5, "inStock": true}));
        assert_eq!(server.search("films", json!({"q": "film 1"}))["hits"][0], document);
        let stats = server.get("/indexes/films/stats").ok();
        assert_eq!(stats["fieldDistribution"], json!({"id": 5, "inStock": 1, "title": 5, "views": 5}));
        assert_eq!(stats["numberOfDocuments"], 5);
    };
    check(&server);
    assert!(server.terminate().success());
    server.start_again();
    check(&server);
    server.kill();
    server.start_again();
    check(&server);
    server.done(&server.post("/indexes/films/compact", Value::Null));
    check(&server);
    // One object will do, and several tasks add up.
    for _ in 0..5 {
        server.patch("/indexes/films/documents", json!({"id": 2, "increment": {"views": 1}}));
    }
    update(&server, json!({"id": 2, "set": {"inStock": false}}));
    assert_eq!(
        server.get("/indexes/films/documents/2?fields=views,inStock").ok(),
        json!({"views": 25, "inStock": false})
    );
    // A field with words is written anew with its document.
    server.set("films", json!({"searchableAttributes": ["title", "views"]}));
    update(&server, json!({"id": 3, "increment": {"views": 7}}));
    assert_eq!(server.ids("films", json!({"q": "37"})), [3]);
    assert_eq!(server.ids("films", json!({"q": "30"})), [0; 0]);
    assert_eq!(server.ids("films", json!({"q": "25"})), [2], "words of what was counted before");
}

/// Checks counters as readers see them that were changed after their documents were written.
#[track_caller]
fn check_changed(server: &Server) {
    let documents = server.get("/indexes/films/documents?fields=id,views,inStock&sort=id:asc").ok()["results"].take();
    assert_eq!(
        documents,
        json!([{"id": 1, "views": 110, "inStock": true}, {"id": 2, "views": 20.5}, {"id": 3, "views": 30},
            {"id": 4, "views": -1}, {"id": 5, "views": 50}])
    );
    assert_eq!(server.ids("films", json!({"q": "film", "sort": ["views:desc"]})), [1, 5, 3, 2, 4]);
    assert_eq!(server.ids("films", json!({"filter": "inStock = true OR views = 20.5", "sort": ["views:asc"]})), [2, 1]);
    let found = server.search("films", json!({"facets": ["views", "inStock"]}));
    assert_eq!(found["facetStats"]["views"], json!({"min": -1.0, "max": 110.0}));
    assert_eq!(found["facetDistribution"]["inStock"], json!({"true": 1}));
}

fn changes() -> Value {
    json!([{"id": 1, "increment": {"views": 100}, "set": {"inStock": true}}, {"id": 2, "increment": {"views": 0.5}},
        {"id": 4, "set": {"views": -1}}])
}

#[test]
fn snapshots_and_dumps_have_new_numbers() {
    let server = films();
    server.set("films", json!({"sortableAttributes": ["views", "id"]}));
    update(&server, changes());
    check_changed(&server);
    server.done(&server.post("/snapshots", Value::Null));
    let task = server.done(&server.post("/dumps", Value::Null));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    // What comes later is in neither.
    update(&server, json!({"id": 3, "set": {"views": 0}}));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    for (option, path) in [("--import-snapshot", snapshot), ("--import-dump", dump)] {
        let mut restored = Server::with_options(&[option, path.to_str().unwrap()]);
        check_changed(&restored);
        update(&restored, json!({"id": 3, "increment": {"views": 5}}));
        assert_eq!(restored.ids("films", json!({"filter": "views = 35"})), [3], "{option}");
        update(&restored, json!({"id": 3, "increment": {"views": -5}}));
        assert!(restored.terminate().success());
        let restored = restored.with_other_options(&[]);
        check_changed(&restored);
        restored.done(&restored.post("/indexes/films/compact", Value::Null));
        check_changed(&restored);
    }
}

#[test]
fn replicas_and_kept_states_have_new_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("file://{}", folder.path().join("store").display());
    let key = ["--master-key", "a-master-key-for-replicas"];
    let start = |options: &[&str]| Server::with_options(&[&key[..], options].concat()).with_key(key[1]);
    let writer = start(&["--publish", &address, "--publish-interval", "1s"]);
    let mut replica = start(&["--follow", &address]);
    writer.set(
        "films",
        json!({"searchableAttributes": ["title"], "filterableAttributes": ["views", "inStock"], "sortableAttributes": ["views", "id"]}),
    );
    let film = |id: u64| json!({"id": id, "title": format!("film {id}"), "views": id * 10});
    writer.add("films", (1..=5).map(film).collect());
    let catch_up = |replica: &Server, task: &Value| {
        let path = format!("/indexes/films/stats?minGeneration={}", task["batchUid"]);
        let begin = std::time::Instant::now();
        while replica.get(&path).body["code"] == "generation_not_reached" {
            assert!(begin.elapsed().as_secs() < 100, "{}", replica.log());
        }
    };
    // Once while it follows, and once more while it is away.
    catch_up(&replica, &update(&writer, json!({"id": 1, "increment": {"views": 1}})));
    assert_eq!(replica.ids("films", json!({"filter": "views = 11"})), [1]);
    assert!(replica.terminate().success());
    update(&writer, json!({"id": 1, "increment": {"views": -1}}));
    let task = update(&writer, changes());
    replica.start_again();
    catch_up(&replica, &task);
    check_changed(&replica);
    let task = writer.done(&writer.post("/indexes/films/compact", Value::Null));
    catch_up(&replica, &task);
    check_changed(&replica);
}

#[test]
fn what_is_no_update_is_refused_or_fails() {
    let server = films();
    for (body, message) in [
        (json!("x"), "Invalid value type: expected an array or an object"),
        (json!([1]), "Invalid value type at `[0]`: expected an object"),
        (json!([{"increment": {"views": 1}}]), "Missing field `id` inside `[0]`"),
        (json!({"id": "a b"}), "In `.id`: Document identifier `\"a b\"` is invalid."),
        (json!({"id": 1, "increment": {"views": "1"}}), "Invalid value type at `.increment.views`: expected a number"),
        (json!({"id": 1, "set": {"title": "x"}}), "Invalid value type at `.set.title`: expected a boolean or a number"),
        (json!({"id": 1, "set": {"a.b": 1}}), "Invalid value at `.set.a.b`: `a.b` is no field"),
        (json!({"id": 1, "unset": {}}), "Unknown field `unset`: "),
    ] {
        let answer = server.patch("/indexes/films/documents", body);
        answer.refused(400, "invalid_document_updates");
        assert!(answer.body["message"].as_str().unwrap().starts_with(message), "{answer:?}");
    }
    server.post_raw("/indexes/films/documents", "application/json", "[").refused(400, "malformed_payload");
    let fails = |body: Value, code: &str| server.fails(&server.patch("/indexes/films/documents", body), code);
    let good = json!({"id": 2, "increment": {"views": 1}});
    let task = fails(json!([good, {"id": 1, "increment": {"title": 1}}]), "invalid_document_updates");
    let message = task["error"]["message"].as_str().unwrap();
    assert_eq!(message, "Index `films`: `title` of document `1` is `\"film 1\"`, and only numbers can be incremented.");
    fails(json!([good, {"id": 1, "set": {"id": 7}}]), "invalid_document_updates");
    assert_eq!(server.get("/indexes/films/documents/2?fields=views").ok(), json!({"views": 20}), "all or nothing");
    server.fails(&server.patch("/indexes/none/documents", good), "index_not_found");
    update(&server, json!([]));
}

/// A field with words is written anew with its document, whose vectors stay as they were given.
#[test]
fn vectors_that_were_given_stay() {
    let server = Server::start();
    server.set("goods", json!({"embedders": {"own": {"source": "userProvided", "dimensions": 2}}}));
    server.add("goods", json!([{"id": 1, "stock": 1, "_vectors": {"own": [0.5, 1.0]}}]));
    let task = server.done(&server.patch("/indexes/goods/documents", json!([{"id": 1, "increment": {"stock": 4}}])));
    assert_eq!(task["details"]["indexedDocuments"], 1);
    let document = server.get("/indexes/goods/documents/1?retrieveVectors=true").ok();
    assert_eq!(document["stock"], 5);
    assert_eq!(document["_vectors"]["own"], json!({"embeddings": [[0.5, 1.0]], "regenerate": false}));
}
