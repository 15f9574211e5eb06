//! Vectors that come with documents: from the payload to hits, filters, counts, and through settings and restarts.

use serde_json::{Value, json};

use crate::server::Server;

/// Four documents on the axes of a plane, the last without a vector.
fn plane() -> Server {
    let server = Server::start();
    let settings =
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "filterableAttributes": ["id"]});
    server.done(&server.patch("/indexes/v/settings", settings));
    server.add(
        "v",
        json!([
            {"id": 1, "t": "east", "_vectors": {"e": [1, 0]}},
            {"id": 2, "t": "north", "_vectors": {"e": [[0, 1], [0.1, 0.9]], "notes": "mine"}},
            {"id": 3, "t": "west", "_vectors": {"e": {"embeddings": [-1, 0], "regenerate": false}}},
            {"id": 4, "t": "nowhere", "_vectors": {"e": null}},
        ]),
    );
    server
}

fn east() -> Value {
    json!({"vector": [2, 0], "hybrid": {"embedder": "e", "semanticRatio": 1.0}, "attributesToRetrieve": ["id"]})
}

#[test]
fn nearest_documents_come_first_also_after_a_restart() {
    let mut server = plane();
    assert_eq!(server.ids("v", east()), [1, 2, 3, 4]);
    server.kill();
    server.start_again();
    assert_eq!(server.ids("v", east()), [1, 2, 3, 4]);
    let stats = server.get("/indexes/v/stats?showInternalDatabaseSizes=true").body;
    let sizes = &stats["internalDatabaseSizes"];
    assert!(sizes["vectors of e"].is_u64(), "sizes name what they are of: {sizes}");
    assert!(sizes["column of id"].is_u64(), "sizes name what they are of: {sizes}");
    assert_eq!((&stats["numberOfEmbeddings"], &stats["numberOfEmbeddedDocuments"]), (&json!(4), &json!(3)));
    assert!(stats["fieldDistribution"].get("_vectors").is_none());
}

#[test]
fn vectors_are_shown_on_request_only() {
    let server = plane();
    assert_eq!(server.get("/indexes/v/documents/2").body, json!({"id": 2, "t": "north"}));
    let shown = server.get("/indexes/v/documents/2?retrieveVectors=true&fields=id").body;
    assert_eq!(shown["_vectors"]["e"]["embeddings"].as_array().unwrap().len(), 2);
    assert_eq!((&shown["_vectors"]["notes"], &shown["id"]), (&json!("mine"), &json!(2)));
    let words = server.post("/indexes/v/search", json!({"q": "mine"})).body;
    assert_eq!(words["hits"], json!([]), "vectors are no text");
}

#[test]
fn vectors_are_filtered_by() {
    let server = plane();
    for (filter, expected) in [
        ("_vectors EXISTS", &[1, 2, 3][..]),
        ("_vectors.e EXISTS", &[1, 2, 3]),
        ("_vectors.e NOT EXISTS", &[4]),
        ("_vectors.e.userProvided EXISTS AND id > 1", &[2, 3]),
        ("_vectors.e.regenerate EXISTS", &[]),
        ("_vectors.e.documentTemplate EXISTS", &[]),
    ] {
        assert_eq!(server.ids("v", json!({"filter": filter})), expected, "{filter}");
    }
}

#[test]
fn updates_keep_vectors_and_replacements_do_not() {
    let server = plane();
    server.done(&server.put("/indexes/v/documents", json!([{"id": 1, "t": "orient"}])));
    assert_eq!(server.ids("v", east())[0], 1);
    server.done(&server.put("/indexes/v/documents", json!([{"id": 1, "_vectors": {"e": [-1, 0]}}])));
    assert_eq!(server.ids("v", east())[0], 2);
    assert_eq!(server.get("/indexes/v/documents/1").body["t"], "orient");
    let task = server.wait(&server.post("/indexes/v/documents", json!([{"id": 1}, {"id": 2}])));
    assert_eq!(task["error"]["code"], "vector_embedding_error");
    let message = task["error"]["message"].as_str().unwrap();
    assert!(message.contains("no vectors provided for document `1` and at least 1 other document(s)"), "{message}");
    assert_eq!(server.get("/indexes/v/documents/1").body["t"], "orient", "nothing of the task is written");
}

#[test]
fn malformed_vectors_fail_their_task() {
    let server = plane();
    for (vectors, code) in [
        (json!(3), "invalid_vectors_type"),
        (json!({"e": "x"}), "invalid_vectors_type"),
        (json!({"e": [1, true]}), "invalid_vectors_type"),
        (json!({"e": {"embeddings": [1, 2]}}), "invalid_vectors_type"),
        (json!({"e": [1]}), "invalid_vector_dimensions"),
        (json!({"e": vec![[1, 2]; 257]}), "too_many_vectors"),
        (json!({"other": [1]}), "vector_embedding_error"),
        (json!({"e": {"regenerate": true}}), "vector_embedding_error"),
    ] {
        let task = server.wait(&server.post("/indexes/v/documents", json!([{"id": 9, "_vectors": vectors}])));
        assert_eq!(task["error"]["code"], code, "{vectors}: {task}");
    }
}

#[test]
fn misspelt_names_are_reported() {
    let server = plane();
    server.done(&server.patch(
        "/indexes/v/settings/embedders",
        json!({"e": null, "place": {"source": "userProvided", "dimensions": 2}}),
    ));
    for (document, hint) in [
        (json!({"id": 9, "_vectors": {"palce": [1, 0]}}), "try replacing `_vectors.palce` by `_vectors.place`"),
        (json!({"id": 9, "_vector": {"place": [1, 0]}}), "try replacing `_vector` by `_vectors`"),
        (json!({"id": 9, "t": "x"}), "opt-out for a document with `_vectors.place: null`"),
        (json!({"id": 9, "_vectors": {"colour": [1, 0]}}), "opt-out for a document with `_vectors.place: null`"),
    ] {
        let task = server
            .wait(&server.post("/indexes/v/documents", json!([document, {"id": 10, "_vectors": {"place": [1, 0]}}])));
        assert_eq!(task["error"]["code"], "vector_embedding_error");
        let message = task["error"]["message"].as_str().unwrap();
        assert!(message.ends_with(&format!("\n- Hint: {hint}")), "{document}: {message}");
    }
}

#[test]
fn embedders_that_no_index_can_have_are_refused() {
    let server = Server::start();
    let provided = |dimensions: u64| json!({"source": "userProvided", "dimensions": dimensions});
    let refused = server.patch("/indexes/v/settings/embedders", json!({"e": provided(65_537)}));
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("invalid_settings_embedders")));
    let expected = "`.embedders.e.dimensions`: `dimensions` cannot be higher than 65536. Found 65537";
    assert_eq!(refused.body["message"], expected);
    server.done(&server.patch("/indexes/v/settings/embedders", json!({"e": provided(65_536)})));
    let nameless = server.patch("/indexes/v/settings/embedders", json!({"": provided(2)}));
    let nameless = if nameless.status == 202 { server.wait(&nameless)["error"].clone() } else { nameless.body };
    assert_eq!(nameless["code"], "invalid_settings_embedders");
    assert!(nameless["message"].as_str().unwrap().ends_with("the name of an embedder cannot be empty"), "{nameless}");
}

#[test]
fn a_removed_embedder_leaves_vectors_with_the_documents() {
    let server = plane();
    server.done(&server.patch("/indexes/v/settings/embedders", json!({"e": null})));
    let shown =
        |id: u32| server.get(&format!("/indexes/v/documents/{id}?retrieveVectors=true")).body["_vectors"].clone();
    assert_eq!(shown(1)["e"]["embeddings"], json!([[1.0, 0.0]]));
    let refused = server.post("/indexes/v/search", east());
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("invalid_search_embedder")));
    // One document comes while the settings do not know the embedder.
    server.add("v", json!([{"id": 5, "_vectors": {"e": [0.9, 0]}}, {"id": 1, "_vectors": {"e": [0, -1]}}]));
    server.done(
        &server.patch("/indexes/v/settings/embedders", json!({"e": {"source": "userProvided", "dimensions": 2}})),
    );
    assert_eq!(server.ids("v", east()), [5, 2, 1, 3, 4]);
    let other = json!({"e": {"source": "userProvided", "dimensions": 3}});
    // Another size alone makes no new vectors; what needs them fails until the embedder is removed and added again.
    server.done(&server.patch("/indexes/v/settings/embedders", other));
    let task = server.wait(&server.post("/indexes/v/documents", json!([{"id": 6, "_vectors": {"e": [1, 0, 0]}}])));
    assert_eq!(task["error"]["code"], "invalid_vector_dimensions", "{task}");
    for vector in [json!([1, 0]), json!([1, 0, 0])] {
        let search = json!({"vector": vector, "hybrid": {"embedder": "e", "semanticRatio": 1.0}});
        let refused = server.post("/indexes/v/search", search);
        assert_eq!((refused.status, &refused.body["code"]), (400, &json!("invalid_vector_dimensions")));
    }
}

#[test]
fn an_embedder_that_is_added_again_may_have_another_size() {
    let server = plane();
    let embedders = "/indexes/v/settings/embedders";
    let other = json!({"e": {"source": "userProvided", "dimensions": 3}});
    server.done(&server.patch(embedders, other.clone()));
    server.done(&server.patch(embedders, json!({"e": null})));
    server.done(&server.patch(embedders, other));
    server.add("v", json!([{"id": 6, "_vectors": {"e": [1, 0, 0]}}]));
    let search = json!({"vector": [1, 0, 0], "hybrid": {"embedder": "e", "semanticRatio": 1.0}});
    assert_eq!(server.ids("v", search)[0], 6);
    assert_eq!(server.ids("v", json!({"filter": "_vectors.e EXISTS"})), [6], "vectors of the other size are gone");
    let shown = server.get("/indexes/v/documents/1?retrieveVectors=true").body["_vectors"].clone();
    assert_eq!(shown, json!({}));
}

#[test]
fn bits_take_the_place_of_numbers() {
    let server = plane();
    server.done(&server.patch("/indexes/v/settings/embedders", json!({"e": {"binaryQuantized": true}})));
    let shown = server.get("/indexes/v/documents/3?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["e"]["embeddings"], json!([[0.0, 0.0]]));
    server.add("v", json!([{"id": 6, "_vectors": {"e": [0.5, 0.5]}}]));
    let hits = server.post("/indexes/v/search", json!({
        "vector": [1, 1], "hybrid": {"embedder": "e", "semanticRatio": 1.0}, "showRankingScore": true, "limit": 2
    })).body;
    assert_eq!((&hits["hits"][0]["id"], &hits["hits"][0]["_rankingScore"]), (&json!(2), &json!(1.0)));
    let back = server.wait(&server.patch("/indexes/v/settings/embedders", json!({"e": {"binaryQuantized": false}})));
    assert_eq!(back["error"]["code"], "invalid_settings_embedders", "{back}");
}

#[test]
fn federated_searches_count_what_is_near() {
    let server = plane();
    let mut near = east();
    near["indexUid"] = json!("v");
    near["retrieveVectors"] = json!(true);
    let queries = json!({"federation": {"limit": 2}, "queries": [{"indexUid": "v", "q": "north"}, near]});
    let found = server.post("/multi-search", queries).body;
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(2), "{found}");
    assert_eq!(found["semanticHitCount"], 1);
    assert_eq!(found["queryVectors"], json!({"1": [2.0, 0.0]}));
}
