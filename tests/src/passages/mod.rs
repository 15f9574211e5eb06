//! Passages: documents with a vector for each piece of their text.

mod answers;

use serde_json::{Value, json};

use crate::backups::dumps::dump_of;
use crate::embedders::{LOCAL, Manner, Model};
use crate::evaluate::evaluate;
use crate::receiver::{Behaviour, Receiver};
use crate::replication::{Group, after};
use crate::server::{Server, until};
use crate::static_models::{DIMENSIONS, write_model};

/// Three sentences, of three passages.
const ANIMALS: &str = "A cat sleeps here. The dog runs along. My car is old.";

/// An embedder of the tiny model, whose passages have four words.
fn embedder() -> Value {
    json!({"source": "static", "model": "pets/tiny", "documentTemplate": "{{ doc.title }}: {{ passages }}{{ doc.text }}",
        "chunks": {"maxTokens": 4, "overlap": 0, "by": "sentence"}})
}

fn documents() -> Value {
    json!([
        {"id": 1, "title": "Animals", "text": ANIMALS, "kind": "long"},
        {"id": 2, "title": "Puppies", "text": "A puppy is small. Nothing else is here.", "kind": "long"},
        {"id": 3, "title": "Cars", "text": "cars", "kind": "short"},
    ])
}

fn fill(server: &Server) {
    write_model(&server.data_folder().join("models/pets/tiny"), DIMENSIONS);
    server.set("pets", json!({"embedders": {"m": embedder()}, "filterableAttributes": ["kind", "id"]}));
    server.add("pets", documents());
}

fn pets() -> Server {
    let server = Server::start();
    fill(&server);
    server
}

fn near(text: &str) -> Value {
    json!({"q": text, "hybrid": {"embedder": "m", "semanticRatio": 1.0}})
}

fn with(mut query: Value, more: Value) -> Value {
    query.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    query
}

/// The passages of the first hit.
#[track_caller]
fn passages(server: &Server, query: Value) -> Value {
    server.search("pets", query)["hits"][0]["_passages"].clone()
}

#[track_caller]
fn best_text(server: &Server, query: Value) -> Value {
    passages(server, query)[0]["text"].clone()
}

#[test]
fn a_document_is_found_by_its_best_passage() {
    let server = pets();
    let answer = server.search("pets", with(near("kitten"), json!({"facets": ["kind"]})));
    assert_eq!(answer["hits"][0]["id"], 1, "{answer}");
    let passage = &answer["hits"][0]["_passages"][0];
    assert_eq!(
        (&passage["text"], &passage["start"], &passage["length"]),
        (&json!("A cat sleeps here."), &json!(0), &json!(18))
    );
    assert!(passage["score"].as_f64().unwrap() > 0.95, "{answer}");
    // Documents are counted, not passages.
    assert_eq!((&answer["estimatedTotalHits"], &answer["facetDistribution"]["kind"]["long"]), (&json!(3), &json!(2)));
    assert_eq!(server.ids("pets", near("puppy")), [2, 1, 3]);
    let dog = passages(&server, with(near("dog"), json!({"filter": "id = 1"})));
    assert_eq!((&dog[0]["text"], &dog[0]["start"]), (&json!("The dog runs along."), &json!(19)));
    assert_eq!(&ANIMALS[19..19 + dog[0]["length"].as_u64().unwrap() as usize], dog[0]["text"]);
    let several =
        json!({"q": "dog", "hybrid": {"embedder": "m", "semanticRatio": 1.0, "passages": 2}, "filter": "id = 1"});
    assert_eq!(passages(&server, several).as_array().unwrap().len(), 2);
    let none = json!({"q": "dog", "hybrid": {"embedder": "m", "passages": 0}});
    assert_eq!(passages(&server, none), Value::Null);
    assert_eq!(passages(&server, json!({"q": "dog"})), Value::Null, "words know nothing of passages");
    let refused = json!({"q": "dog", "hybrid": {"embedder": "m", "passages": 11}});
    server.post("/indexes/pets/search", refused).refused(400, "invalid_search_hybrid_query");
    let text = server.get("/indexes/pets/search?q=dog&hybridEmbedder=m&hybridPassages=2&filter=id=1").ok();
    assert_eq!(text["hits"][0]["_passages"].as_array().unwrap().len(), 2, "{text}");
    // A passage without a word that the model knows shares the vector of the one before it.
    let vectors = server.get("/indexes/pets/documents/2?retrieveVectors=true").ok();
    assert_eq!(vectors["_vectors"]["m"]["embeddings"].as_array().unwrap().len(), 2, "{vectors}");
    assert_eq!(best_text(&server, near("puppy")), "A puppy is small.");
}

#[test]
fn passages_are_highlighted_reranked_and_grouped_as_documents_are() {
    let receiver = Receiver::start(vec![Behaviour::Say(
        200,
        "",
        json!([{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}]).to_string(),
    )]);
    let server = Server::with_options(&LOCAL);
    fill(&server);
    server.set("pets", json!({"rerankers": {"r": {"url": receiver.url, "documentTemplate": "{{ doc.text }}"}}}));
    let hybrid = json!({"q": "dog", "hybrid": {"embedder": "m"}, "filter": "kind = long"});
    let shown = server.search(
        "pets",
        with(hybrid.clone(), json!({"attributesToHighlight": ["title"], "attributesToRetrieve": ["id"]})),
    );
    assert_eq!(
        shown["hits"][0]["_formatted"]["_passages"],
        json!([{"text": "The <em>dog</em> runs along."}]),
        "{shown}"
    );
    assert_eq!(shown["hits"][0]["_passages"][0]["text"], "The dog runs along.");
    let distinct = server.search("pets", with(hybrid.clone(), json!({"distinct": "kind"})));
    assert_eq!(distinct["hits"].as_array().unwrap().len(), 1, "{distinct}");
    let reranked = server.ids("pets", with(hybrid, json!({"rerank": {"reranker": "r"}})));
    assert_eq!(reranked, [2, 1]);
    let received: Value = serde_json::from_slice(&receiver.next().body).unwrap();
    assert_eq!(received["documents"], json!(["Animals: The dog runs along.", "Puppies: A puppy is small."]));
    let similar = server.post("/indexes/pets/similar", json!({"id": 1, "embedder": "m"})).ok();
    let ids: Vec<&Value> = similar["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(ids.len(), 2, "whole documents: {similar}");
}

#[test]
fn what_is_not_displayed_is_in_no_passage() {
    let server = pets();
    server.set("pets", json!({"displayedAttributes": ["id", "title"]}));
    assert_eq!(passages(&server, near("dog")), Value::Null);
    assert_eq!(server.ids("pets", near("dog"))[0], 1, "it is searched");
    let both = "{{ doc.title }} {{ passages }}{{ doc.kind }} {{ doc.text }}";
    server.set("pets", json!({"embedders": {"m": {"documentTemplate": both}}, "displayedAttributes": ["text"]}));
    let all =
        json!({"q": "dog", "hybrid": {"embedder": "m", "semanticRatio": 1.0, "passages": 10}, "filter": "id = 1"});
    let shown = passages(&server, all);
    let texts: Vec<&str> = shown.as_array().unwrap().iter().map(|passage| passage["text"].as_str().unwrap()).collect();
    assert_eq!(texts[0], "The dog runs along.", "{shown}");
    assert!(texts.iter().all(|text| ANIMALS.contains(text)), "{shown}");
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let server = Server::start();
    for (chunks, expected) in [
        (json!({"maxTokens": 0}), "from 1 to 8192"),
        (json!({"maxTokens": 1_000_000_000}), "from 1 to 8192"),
        (json!({"maxTokens": -1}), "maxTokens"),
        (json!({"maxTokens": 20, "overlap": 20}), "must be less than `maxTokens`"),
        (json!({"overlap": 200}), "must be less than `maxTokens`"),
        (json!({"by": "page"}), "`sentence`"),
        (json!({"size": 3}), "size"),
        (json!(3), "chunks"),
    ] {
        let embedder = json!({"source": "static", "model": "pets/tiny", "chunks": chunks});
        let answer = server.patch("/indexes/pets/settings/embedders", json!({"m": embedder}));
        answer.refused(400, "invalid_settings_embedders");
        assert!(answer.body["message"].as_str().unwrap().contains(expected), "{}", answer.body);
    }
    let own = json!({"m": {"source": "userProvided", "dimensions": 2, "chunks": {}}});
    let answer = server.patch("/indexes/pets/settings/embedders", own);
    answer.refused(400, "invalid_settings_embedders");
    assert!(answer.body["message"].as_str().unwrap().contains("Field `chunks` unavailable for source `userProvided`"));
    fill(&server);
    server.set("pets", json!({"embedders": {"m": {"chunks": {"maxTokens": 50}}}}));
    let shown = server.get("/indexes/pets/settings/embedders").ok();
    assert_eq!(shown["m"]["chunks"], json!({"maxTokens": 50, "overlap": 5, "by": "sentence"}));
    assert_eq!(shown["m"]["documentTemplateMaxBytes"], 1 << 20);
    // Another source forgets them, and null removes them.
    server.set("pets", json!({"embedders": {"m": {"chunks": null}}}));
    assert_eq!(passages(&server, near("dog")), Value::Null);
}

#[test]
fn every_copy_of_an_index_has_passages() {
    let mut server = pets();
    let expected = json!("The dog runs along.");
    server.done(&server.put("/aliases/beasts", json!({"indexUid": "pets"})));
    let shown = |server: &Server, index: &str| {
        let query = with(near("dog"), json!({"filter": "id = 1"}));
        server.search(index, query)["hits"][0]["_passages"][0]["text"].clone()
    };
    assert_eq!(shown(&server, "beasts"), expected);
    let query = with(near("dog"), json!({"indexUid": "pets", "filter": "id = 1"}));
    let many = server.post("/multi-search", json!({"queries": [query, query]})).ok();
    assert_eq!(many["results"][1]["hits"][0]["_passages"][0]["text"], expected, "{many}");
    let merged = server.post("/multi-search", json!({"federation": {}, "queries": [query]})).ok();
    assert_eq!(merged["hits"][0]["_passages"][0]["text"], expected, "{merged}");
    server.done(&server.post("/indexes/pets/compact", Value::Null));
    server.kill();
    server.start_again();
    assert_eq!(shown(&server, "pets"), expected);
    server.done(&server.post("/indexes/pets/clone", json!({"uid": "twins"})));
    assert_eq!(shown(&server, "twins"), expected);
    server.done(&server.post("/snapshots", Value::Null));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().unwrap()]);
    write_model(&restored.data_folder().join("models/pets/tiny"), DIMENSIONS);
    assert_eq!(shown(&restored, "beasts"), expected);
    // A language model reads the passage in place of what is longer.
    server
        .add("pets", json!([{"id": 5, "title": "Long", "text": format!("A dog eats. {}", "And so on. ".repeat(50))}]));
    let arguments =
        json!({"index": "beasts", "q": "dog", "filter": "id = 5", "hybrid": {"embedder": "m", "semantic_ratio": 1}});
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search", "arguments": arguments}});
    let answer = server.post("/mcp", call).ok();
    let said: Value = serde_json::from_str(answer["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    let hit = &said["hits"][0];
    assert_eq!((&hit["id"], &hit["title"], hit.get("text")), (&json!(5), &json!("Long"), None), "{answer}");
    assert_eq!(hit["_passages"][0]["text"], "A dog eats.", "{answer}");
    // Judgements are of documents.
    server.done(&server.put("/aliases/animals", json!({"indexUid": "pets"})));
    let variant = r#"meaning={"hybrid": {"embedder": "m", "semanticRatio": 1}}"#;
    let judged = r#"{"q": "puppy", "relevant": {"2": 1}}"#;
    let output = evaluate(&server, judged, &["--with", variant, "--min-ndcg", "0.99"]);
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn replicas_and_earlier_states_cut_as_their_state_says() {
    let group = Group::new();
    let writer = group.writer();
    fill(&writer);
    let task = writer.add("pets", json!([{"id": 4, "title": "T", "text": "A dog eats now. And so on."}]));
    let replica = group.replica();
    write_model(&replica.data_folder().join("models/pets/tiny"), DIMENSIONS);
    after(&replica, &task, "/indexes/pets/documents");
    let of_4 = with(near("dog"), json!({"filter": "id = 4"}));
    assert_eq!(best_text(&replica, of_4), "A dog eats now.");

    let server = pets();
    let held = server.search("pets", with(near("dog"), json!({"pointInTime": {}})));
    let point = json!({"pointInTime": {"id": held["pointInTime"]["id"]}, "filter": "id = 1"});
    assert_eq!(best_text(&server, with(near("dog"), json!({"filter": "id = 1"}))), "The dog runs along.");
    server.set("pets", json!({"embedders": {"m": {"chunks": {"maxTokens": 2, "overlap": 0, "by": "word"}}}}));
    assert_eq!(best_text(&server, with(near("dog"), json!({"filter": "id = 1"}))), "The dog", "not from a cache");
    assert_eq!(best_text(&server, with(near("dog"), point)), "The dog runs along.");
}

/// An embedder of a provider, with passages.
fn asked(model: &Model) -> Value {
    with(model.configuration(), json!({"chunks": {"maxTokens": 4, "overlap": 0}}))
}

#[test]
fn only_passages_that_changed_are_embedded_again() {
    let model = Model::start();
    let mut server = Server::with_options(&LOCAL);
    server.set("pets", json!({"embedders": {"m": asked(&model)}}));
    server.add("pets", json!([{"id": 1, "text": ANIMALS}, {"id": 2, "text": "short text"}]));
    assert_eq!(model.take_texts(), ["A cat sleeps here.", "My car is old.", "The dog runs along.", "short text"]);
    // What is remembered besides is gone: the index knows the vectors.
    server.kill();
    std::fs::remove_dir_all(server.data_folder().join("embeddings")).unwrap();
    server.start_again();
    let changed = ANIMALS.replace("along", "away");
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 1, "text": changed}])));
    assert_eq!(model.take_texts(), ["The dog runs away."]);
    let dog = passages(&server, near("dog"));
    assert_eq!(dog[0]["text"], "The dog runs away.");
    model.take_texts();
    // A change of the size leaves texts alone that are one passage before and after it.
    server.set("pets", json!({"embedders": {"m": {"chunks": {"maxTokens": 5, "overlap": 0}}}}));
    assert_eq!(model.take_texts(), [""; 0]);
    server.set("pets", json!({"embedders": {"m": {"chunks": {"maxTokens": 8, "overlap": 0}}}}));
    assert_eq!(model.take_texts(), ["A cat sleeps here. The dog runs away."]);
    // A dump brings the vectors, and those who start from it cut the same text.
    let dump = dump_of(&server);
    let other = Server::with_options(&[&LOCAL[..], &["--import-dump", dump.to_str().unwrap()]].concat());
    assert_eq!(best_text(&other, near("my car")), "A cat sleeps here. The dog runs away.");
    assert_eq!(model.take_texts(), ["my car"]);
}

#[test]
fn a_crash_or_the_removal_of_an_embedder_loses_nothing() {
    let model = Model::start();
    let mut server = Server::with_options(&LOCAL);
    server.set("pets", json!({"embedders": {"m": asked(&model)}}));
    model.be(Manner { holds: Some("dog"), ..Manner::default() });
    let written = server.post("/indexes/pets/documents", json!([{"id": 1, "text": ANIMALS}]));
    until(|| !model.take_texts().is_empty());
    server.kill();
    model.be(Manner::default());
    server.start_again();
    server.done(&written);
    assert_eq!(best_text(&server, near("dog")), "The dog runs along.");
    model.be(Manner { holds: Some("puppy"), ..Manner::default() });
    let held = server.post("/indexes/pets/documents", json!([{"id": 2, "text": "A puppy is small. So it is."}]));
    until(|| model.take_texts().iter().any(|text| text.contains("puppy")));
    let removed = server.patch("/indexes/pets/settings/embedders", json!({"m": null}));
    model.be(Manner::default());
    server.done(&removed);
    assert!(crate::server::has_ended(&server.wait(&held)));
    assert_eq!(server.ids("pets", json!({"q": "puppy"})), [2]);
}

#[test]
fn a_document_of_ten_megabytes_has_a_bounded_number_of_passages() {
    let server = Server::start();
    write_model(&server.data_folder().join("models/pets/tiny"), DIMENSIONS);
    let chunks = json!({"maxTokens": 200, "overlap": 20, "by": "sentence"});
    let embedder =
        json!({"source": "static", "model": "pets/tiny", "documentTemplate": "{{ doc.text }}", "chunks": chunks});
    server.set("pets", json!({"embedders": {"m": embedder}}));
    let text = "The cat sits there. ".repeat(500_000);
    server.forget_peak();
    server.add("pets", json!([{"id": 1, "text": text}, {"id": 2, "text": "a dog"}]));
    let vectors = server.get("/indexes/pets/stats").ok()["numberOfEmbeddings"].as_u64().unwrap();
    assert!((200..=257).contains(&vectors), "{vectors}");
    let query = with(near("cat"), json!({"attributesToRetrieve": ["id"]}));
    assert!(best_text(&server, query).as_str().unwrap().starts_with("The cat sits there."));
    let (_, peak_kib) = server.memory();
    assert!(peak_kib < 1 << 20, "{peak_kib}");
}
