//! Fragments of documents and queries, for models that take more than text.

use super::*;

/// An embedder of the model that makes vectors of fragments.
fn fragments(model: &Model) -> Value {
    json!({
        "source": "rest", "url": model.url, "dimensions": 2, "request": {"input": ["{{fragment}}", "{{..}}"]},
        "response": {"vectors": ["{{embedding}}", "{{..}}"]},
        "indexingFragments": {
            "name": {"value": {"text": "{{ doc.name }}", "kind": 1}}, "picture": {"value": {"text": "picture of a {{ doc.shows }}"}}
        },
        "searchFragments": {"q": {"value": "{{ q }}"}, "like": {"value": {"text": "{{ media.animal }}"}}}
    })
}

/// A search by what is no text.
fn by_media(media: Value) -> Value {
    json!({"media": media, "hybrid": {"embedder": "m", "semanticRatio": 1.0}})
}

#[test]
fn documents_and_queries_can_be_fragments() {
    let model = Model::start();
    let server = Server::with_options(&LOCAL);
    let embedder = fragments(&model);
    let refused = server.patch("/indexes/pets/settings/embedders", json!({"m": embedder}));
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("feature_not_enabled")));
    let search = |query: Value| server.post("/indexes/pets/search", query);
    server.add("pets", json!([{"id": 1, "name": "Tom", "shows": "cat"}, {"id": 2, "name": "a dog"}, {"id": 3}]));
    assert_eq!(search(by_media(json!({"animal": "cat"}))).body["code"], "feature_not_enabled");
    server.patch("/experimental-features", json!({"multimodal": true})).ok();
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": embedder})));
    assert_eq!(model.take_texts(), ["Tom", "a dog", "picture of a cat"]);

    let shown = server.get("/indexes/pets/documents/1?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["m"]["embeddings"].as_array().unwrap().len(), 2);
    let shown = server.get("/indexes/pets/documents/3?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["m"], json!({"embeddings": [], "regenerate": true}));
    let settings = server.get("/indexes/pets/settings/embedders").body;
    assert_eq!(settings["m"].get("documentTemplate"), None);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m.fragments.picture EXISTS"})), [1]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m.fragments.name EXISTS"})), [1, 2]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m.documentTemplate EXISTS"})), [0; 0]);

    assert_eq!(search(by_media(json!({"animal": "kitten"}))).body["hits"][0]["id"], 1);
    assert_eq!(server.ids("pets", near("puppy"))[0], 2);
    for (wrong, expected) in [(json!({"plant": 1}), "Query matches no search fragment."), (json!(null), "")] {
        let answer = search(by_media(wrong));
        let message = answer.body["message"].as_str().unwrap_or_default();
        assert_eq!(
            (answer.status, message.contains(expected)),
            (if expected.is_empty() { 200 } else { 400 }, true),
            "{message}"
        );
    }
    let mut both = by_media(json!({"animal": "cat"}));
    both["q"] = json!("dog");
    let answer = search(both);
    assert_eq!(answer.body["code"], "vector_embedding_error");
    assert!(answer.body["message"].as_str().unwrap().contains("Query matches multiple search fragments."));
    let vector = json!({"media": 1, "vector": [1, 2], "hybrid": {"embedder": "m"}});
    assert_eq!(search(vector).body["code"], "invalid_search_media_and_vector");
    change_fragments(&server, &model);
}

/// Fragments are merged by name, and only what is new is asked for.
fn change_fragments(server: &Server, model: &Model) {
    model.take_texts();
    let change =
        json!({"m": {"indexingFragments": {"name": null, "both": {"value": "{{ doc.name }}, {{ doc.shows }}"}}}});
    server.done(&server.patch("/indexes/pets/settings/embedders", change));
    assert_eq!(model.take_texts(), ["Tom, cat"]);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m EXISTS"})), [1]);
    for (change, expected) in [
        (json!({"documentTemplate": "x"}), "cannot pass both fragments and a document template."),
        (json!({"searchFragments": {"q": null, "like": null}}), "inconsistent fragments"),
        (json!({"dimensions": null}), "cannot infer `dimensions`"),
    ] {
        let answer = server.patch("/indexes/pets/settings/embedders", json!({"m": change}));
        let refused = if answer.status == 202 { server.wait(&answer)["error"].clone() } else { answer.body };
        assert_eq!(refused["code"], "vector_embedding_error", "{refused}");
        assert!(refused["message"].as_str().unwrap().contains(expected), "{refused}");
    }
}
