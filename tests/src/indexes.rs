//! Indexes: create, list, update, delete.

use serde_json::json;

use crate::server::Server;

#[test]
fn an_index_lives_and_dies() {
    let server = Server::start();
    server.get("/indexes/films").refused(404, "index_not_found");
    let created = server.post("/indexes", json!({"uid": "films", "primaryKey": "id"}));
    assert_eq!(created.status, 202);
    let keys: Vec<&String> = created.body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["taskUid", "indexUid", "status", "type", "enqueuedAt"]);
    let task = server.done(&created);
    assert_eq!((&task["type"], &task["details"]), (&json!("indexCreation"), &json!({"primaryKey": "id"})));

    let index = server.get("/indexes/films").ok();
    let keys: Vec<&String> = index.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["uid", "createdAt", "updatedAt", "primaryKey"]);
    assert_eq!((&index["uid"], &index["primaryKey"]), (&json!("films"), &json!("id")));
    server.fails(&server.post("/indexes", json!({"uid": "films"})), "index_already_exists");

    server.done(&server.patch("/indexes/films", json!({"primaryKey": "imdb"})));
    assert_eq!(server.get("/indexes/films").ok()["primaryKey"], "imdb");

    let deleted = server.done(&server.delete("/indexes/films"));
    assert_eq!(deleted["details"], json!({"deletedDocuments": 0}));
    server.get("/indexes/films").refused(404, "index_not_found");
    server.fails(&server.delete("/indexes/films"), "index_not_found");
}

#[test]
fn the_list_is_sorted_and_paged() {
    let server = Server::start();
    for uid in ["b", "c", "a"] {
        server.done(&server.post("/indexes", json!({"uid": uid})));
    }
    let list = server.get("/indexes?limit=2&offset=1").ok();
    let uids: Vec<_> = list["results"].as_array().unwrap().iter().map(|index| index["uid"].clone()).collect();
    assert_eq!(uids, ["b", "c"]);
    assert_eq!((&list["limit"], &list["offset"], &list["total"]), (&json!(2), &json!(1), &json!(3)));
}

#[test]
fn what_is_no_index_is_refused() {
    let server = Server::start();
    server.post("/indexes", json!({})).refused(400, "missing_index_uid");
    server.post("/indexes", json!({"uid": 1})).refused(400, "invalid_index_uid");
    server.post("/indexes", json!({"uid": "a b"})).refused(400, "invalid_index_uid");
    server.post("/indexes", json!({"uid": "a".repeat(401)})).refused(400, "invalid_index_uid");
    server.post("/indexes", json!({"uid": "a", "primaryKey": 3})).refused(400, "invalid_index_primary_key");
    server.post("/indexes", json!({"uid": "a", "colour": 3})).refused(400, "bad_request");
    server.get("/indexes/a%20b").refused(400, "invalid_index_uid");
    server.get("/indexes?limit=many").refused(400, "invalid_index_limit");
    server.done(&server.post("/indexes", json!({"uid": "a".repeat(400)})));
}

#[test]
fn stats_count_documents_and_fields() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien"}, {"id": 2, "title": "Up", "year": 2009}]));
    let stats = server.get("/indexes/films/stats").ok();
    assert_eq!(stats["numberOfDocuments"], 2);
    assert_eq!(stats["isIndexing"], false);
    assert_eq!(stats["fieldDistribution"], json!({"id": 2, "title": 2, "year": 1}));
    for key in ["rawDocumentDbSize", "avgDocumentSize", "numberOfEmbeddings", "numberOfEmbeddedDocuments"] {
        assert!(stats[key].is_u64(), "{key}: {stats}");
    }
    let all = server.get("/stats").ok();
    assert!(all["databaseSize"].as_u64().unwrap() > 0);
    assert_eq!(all["indexes"]["films"]["numberOfDocuments"], 2);
    server.get("/indexes/absent/stats").refused(404, "index_not_found");
}

#[test]
fn compaction_drops_what_is_deleted() {
    let server = Server::start();
    let documents = |from: u32| (from..from + 400).map(|id| json!({"id": id, "text": format!("text {id}")})).collect();
    server.add("films", documents(0));
    server.add("films", documents(400));
    server.done(&server.post("/indexes/films/documents/delete-batch", (0..700).collect::<Vec<u32>>().into()));
    let answer = server.post("/indexes/films/compact", json!(null));
    assert_eq!((answer.status, &answer.body["type"]), (202, &json!("indexCompaction")));
    let task = server.done(&answer);
    let size = |name: &str| task["details"][name].as_str().unwrap_or_else(|| panic!("{task}")).to_owned();
    assert!(size("preCompactionSize").ends_with("iB"), "{task}");
    assert!(size("postCompactionSize").ends_with("iB"), "{task}");
    let batch = server.get(&format!("/batches/{}", task["batchUid"])).ok();
    // A merge beside the queue may have left nothing to do but to wait for it.
    assert!(batch["stats"]["progressTrace"]["processing tasks > waiting for other merges"].is_string(), "{batch}");
    assert_eq!(server.document_count("films"), 100);
    assert_eq!(server.ids("films", json!({"q": "\"text 750\""})), [750]);
    server.fails(&server.post("/indexes/absent/compact", json!(null)), "index_not_found");
}

#[test]
fn fields_report_what_settings_let_them_do() {
    let server = Server::start();
    server.add("films", json!([{"id": 1, "title": "Alien", "year": 1979, "crew": {"director": "Scott"}}]));
    server.set(
        "films",
        json!({
            "searchableAttributes": ["title"],
            "displayedAttributes": ["id", "title"],
            "sortableAttributes": ["year"],
            "filterableAttributes": ["crew"],
            "rankingRules": ["words", "year:desc"],
            "distinctAttribute": "year",
        }),
    );
    let list = server.post("/indexes/films/fields", json!({})).ok();
    let names: Vec<_> = list["results"].as_array().unwrap().iter().map(|field| field["name"].clone()).collect();
    assert_eq!(names, ["crew", "crew.director", "id", "title", "year"]);
    assert_eq!(
        list["results"][4],
        json!({
            "name": "year",
            "displayed": {"enabled": false},
            "searchable": {"enabled": false},
            "sortable": {"enabled": true},
            "distinct": {"enabled": true},
            "rankingRule": {"enabled": true, "order": "desc"},
            "filterable": {
                "enabled": false, "sortBy": "alpha", "facetSearch": false, "equality": false, "comparison": false
            },
            "localized": {"locales": []},
        })
    );
    let page = server.post("/indexes/films/fields", json!({"filter": {"filterable": true}, "limit": 1})).ok();
    assert_eq!((&page["results"][0]["name"], &page["total"]), (&json!("crew"), &json!(2)));
    let page = server.post("/indexes/films/fields", json!({"filter": {"attributePatterns": ["t*"]}})).ok();
    assert_eq!((&page["results"][0]["name"], &page["total"]), (&json!("title"), &json!(1)));
    server.post("/indexes/absent/fields", json!({})).refused(404, "index_not_found");
}

#[test]
fn a_request_for_several_indexes_sees_no_half_of_a_swap() {
    let server = Server::start();
    server.add("a", json!([{"id": 1, "of": "a"}]));
    server.add("b", json!([{"id": 1, "of": "b"}, {"id": 2, "of": "b"}]));
    let swap = || server.post("/swap-indexes", json!([{"indexes": ["a", "b"]}]));
    let queries = json!({"queries": [{"indexUid": "a", "q": ""}, {"indexUid": "b", "q": ""}]});
    std::thread::scope(|scope| {
        let swaps = scope.spawn(|| (0..200).for_each(|_| drop(server.done(&swap()))));
        while !swaps.is_finished() {
            let answer = server.post("/multi-search", queries.clone()).ok();
            let of = |query: usize| answer["results"][query]["hits"][0]["of"].clone();
            assert_ne!(of(0), of(1), "{answer}");
        }
    });
}

#[test]
fn swaps_exchange_everything_that_names_lead_to() {
    let server = Server::start();
    let first = server.add("a", json!([{"id": 1, "from": "a"}]));
    let second = server.add("b", json!([{"id": 1, "from": "b"}, {"id": 2}]));
    server.set("a", json!({"stopWords": ["of"]}));
    let swap = server.done(&server.post("/swap-indexes", json!([{"indexes": ["a", "b"]}])));
    assert_eq!(
        (&swap["indexUid"], &swap["details"]),
        (&json!(null), &json!({"swaps": [{"indexes": ["a", "b"], "rename": false}]}))
    );
    assert_eq!((server.document_count("a"), server.document_count("b")), (2, 1));
    assert_eq!(server.get("/indexes/a/documents/1").ok()["from"], "b");
    assert_eq!(server.get("/indexes/b/settings/stop-words").ok(), json!(["of"]));
    // What happened to the documents belongs to them.
    let index_of = |task: &serde_json::Value| server.get(&format!("/tasks/{}", task["uid"])).ok()["indexUid"].clone();
    assert_eq!((index_of(&first), index_of(&second)), (json!("b"), json!("a")));

    let renamed = server.done(&server.post("/swap-indexes", json!([{"indexes": ["a", "c"], "rename": true}])));
    assert_eq!(renamed["details"]["swaps"][0]["rename"], true);
    server.get("/indexes/a").refused(404, "index_not_found");
    assert_eq!(server.document_count("c"), 2);
    server.done(&server.post("/swap-indexes", json!([])));

    for (body, code, message) in [
        (json!([{"indexes": ["b", "x"]}, {"indexes": ["y", "c"]}]), "index_not_found", "Indexes `x`, `y` not found."),
        (json!([{"indexes": ["x", "y"], "rename": true}]), "index_not_found", "Index `x` not found."),
        (
            json!([{"indexes": ["b", "c"], "rename": true}]),
            "index_already_exists",
            "Cannot rename `b` to `c` as the index already exists. Hint: You can remove `c` first and then do your remove.",
        ),
        // One that cannot be done leaves all of them undone.
        (json!([{"indexes": ["b", "c"]}, {"indexes": ["x", "y"]}]), "index_not_found", "Indexes `x`, `y` not found."),
    ] {
        let task = server.fails(&server.post("/swap-indexes", body), code);
        assert_eq!(task["error"]["message"], message);
        assert_eq!((server.document_count("b"), server.document_count("c")), (1, 2), "nothing has changed");
    }
    for (body, code) in [
        (json!([{"indexes": ["a"]}]), "invalid_swap_indexes"),
        (json!([{"indexes": ["a", "b c"]}]), "invalid_swap_indexes"),
        (json!([{}]), "missing_swap_indexes"),
        (json!([{"indexes": ["a", "b"]}, {"indexes": ["c", "a"]}]), "invalid_swap_duplicate_index_found"),
        (json!([{"indexes": ["a", "b"], "rename": 1}]), "invalid_swap_rename"),
    ] {
        server.post("/swap-indexes", body).refused(400, code);
    }
}

#[test]
fn an_index_can_have_another_name() {
    let server = Server::start();
    server.add("old", json!([{"id": 1}]));
    server.add("taken", json!([{"id": 1}]));
    let task = server.done(&server.patch("/indexes/old", json!({"uid": "new"})));
    assert_eq!(task["details"], json!({"primaryKey": null, "oldIndexUid": "old", "newIndexUid": "new"}));
    assert_eq!(task["indexUid"], "old");
    server.get("/indexes/old").refused(404, "index_not_found");
    assert_eq!(server.document_count("new"), 1);
    server.done(&server.patch("/indexes/new", json!({"uid": "new"})));
    server.fails(&server.patch("/indexes/new", json!({"uid": "taken"})), "index_already_exists");
    server.fails(&server.patch("/indexes/absent", json!({"uid": "other"})), "index_not_found");
    server.patch("/indexes/new", json!({"uid": "n e w"})).refused(400, "invalid_index_uid");
    server.patch("/indexes/new", json!({"createdAt": "2024-01-01"})).refused(400, "immutable_index_created_at");
}

#[test]
fn a_rename_is_a_change_of_the_index() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    let dates = |uid: &str| {
        let index = server.get(&format!("/indexes/{uid}")).ok();
        (index["createdAt"].clone(), index["updatedAt"].as_str().unwrap().to_owned())
    };
    let (created_at, before) = dates("films");
    server.done(&server.patch("/indexes/films", json!({"uid": "films"})));
    assert_eq!(dates("films").1, before, "nothing changed");
    server.done(&server.patch("/indexes/films", json!({"uid": "movies"})));
    let renamed = dates("movies");
    assert_eq!(renamed.0, created_at);
    assert!(renamed.1 > before, "{} after {before}", renamed.1);
    server.done(&server.patch("/indexes/movies", json!({"uid": "films", "primaryKey": "id"})));
    assert!(dates("films").1 > renamed.1);
}

#[test]
fn an_index_without_documents_has_sizes() {
    let server = Server::start();
    server.done(&server.post("/indexes", json!({"uid": "films", "primaryKey": "id"})));
    let sizes = |format: &str| {
        let stats = server.get(&format!("/indexes/films/stats?showInternalDatabaseSizes=true&sizeFormat={format}"));
        stats.ok()["internalDatabaseSizes"].clone()
    };
    assert!(sizes("raw")["manifest"].as_u64().unwrap() > 100, "{}", sizes("raw"));
    assert!(sizes("human")["manifest"].as_str().unwrap().ends_with('B'), "{}", sizes("human"));
    let compacted = server.done(&server.post("/indexes/films/compact", json!(null)));
    for name in ["preCompactionSize", "postCompactionSize"] {
        let size = compacted["details"][name].as_str().unwrap();
        let number: f64 = size.strip_suffix(" KiB").expect(size).parse().unwrap();
        assert!(number > 0.0, "{size}");
    }
}

/// The size of documents is that of their JSON, not by what is left of them in compressed blocks.
#[test]
fn the_size_of_documents_is_that_of_their_json() {
    let server = Server::start();
    let text = "word ".repeat(2000);
    server.add("films", json!((0..100).map(|id| json!({"id": id, "text": text})).collect::<Vec<_>>()));
    let stats = server.get("/indexes/films/stats").ok();
    let (raw, average) = (stats["rawDocumentDbSize"].as_u64().unwrap(), stats["avgDocumentSize"].as_u64().unwrap());
    assert!((10_000..10_100).contains(&average), "{stats}");
    assert!(raw < 100 * average / 10, "it compresses well: {stats}");
    server.done(&server.post("/indexes/films/documents/delete-batch", json!((0..90).collect::<Vec<_>>())));
    let left = server.get("/indexes/films/stats").ok()["avgDocumentSize"].as_u64().unwrap();
    assert!((10_000..10_100).contains(&left), "{left}");
    server.done(&server.delete("/indexes/films/documents"));
    assert_eq!(server.get("/indexes/films/stats").ok()["avgDocumentSize"], 0);
}
