//! Static models: a small one, written to the data folder as its makers would.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::replication::{Group, after};
use crate::server::Server;

const WORDS: [&str; 7] = ["[UNK]", "cat", "kitten", "dog", "puppy", "car", "##s"];
pub(crate) const DIMENSIONS: usize = 3;

/// Returns the meaning of a word; other words have none.
fn meaning(word: &str) -> [f32; DIMENSIONS] {
    match word {
        "cat" => [3.0, 0.0, 0.0],
        "kitten" => [2.5, 0.5, 0.0],
        "dog" => [0.0, 3.0, 0.0],
        "puppy" => [-0.5, 2.5, 0.0],
        "car" => [0.0, 0.0, 3.0],
        _ => [0.0; DIMENSIONS],
    }
}

/// Writes a model as model2vec does; `dimensions` of its numbers are kept.
pub(crate) fn write_model(folder: &Path, dimensions: usize) {
    let rows = WORDS.iter().flat_map(|word| meaning(word).into_iter().take(dimensions));
    let data: Vec<u8> = rows.flat_map(f32::to_le_bytes).collect();
    write_words(folder, &WORDS.map(str::to_owned), ("F32", dimensions), &data);
}

/// Writes a model with a row of `data` for each word, the first of which stands for all unknown ones.
pub(crate) fn write_words(folder: &Path, words: &[String], (kind, dimensions): (&str, usize), data: &[u8]) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("config.json"), json!({"model_type": "model2vec", "normalize": true}).to_string()).unwrap();
    let vocabulary: Map<String, Value> = words.iter().zip(0..).map(|(word, id)| (word.clone(), json!(id))).collect();
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": words[0], "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let header =
        json!({"embeddings": {"dtype": kind, "shape": [words.len(), dimensions], "data_offsets": [0, data.len()]}});
    let header = header.to_string().into_bytes();
    fs::write(folder.join("model.safetensors"), [&(header.len() as u64).to_le_bytes()[..], &header, data].concat())
        .unwrap();
}

fn embedder(model: &str) -> Value {
    json!({"source": "static", "model": model, "documentTemplate": "{{ doc.text }}"})
}

/// A server with the model `pets/tiny`.
pub(crate) fn server() -> Server {
    let server = Server::start();
    write_model(&server.data_folder().join("models/pets/tiny"), DIMENSIONS);
    server
}

/// The vector that an embedder `m` has made of a document; `null` if there is none.
fn vector(server: &Server, id: u32) -> Value {
    let document = server.get(&format!("/indexes/pets/documents/{id}?retrieveVectors=true")).body;
    document["_vectors"]["m"]["embeddings"][0].clone()
}

fn near(text: &str) -> Value {
    json!({"q": text, "hybrid": {"embedder": "m", "semanticRatio": 1.0}})
}

#[test]
fn documents_get_their_vectors_with_their_words() {
    let mut server = server();
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": embedder("pets/tiny")})));
    let shown = server.get("/indexes/pets/settings/embedders").body;
    assert_eq!(shown["m"]["documentTemplateMaxBytes"], 1 << 20, "{shown}");
    // What is behind the 400 bytes of other sources counts.
    let late = format!("{} dog", "the ".repeat(1000));
    let task = server.add(
        "pets",
        json!([{"id": 1, "text": "a cat sleeps"}, {"id": 2, "text": late}, {"id": 3, "text": "cars"}, {"id": 4, "text": "???"}]),
    );
    assert!(task["details"].get("embeddingFailures").is_none(), "{task}");
    assert_eq!(server.ids("pets", near("the kitten")), [1, 2, 3, 4].map(Value::from));
    assert_eq!(server.ids("pets", near("PUPPY"))[0], 2);
    // A text without a word that the model knows has no vector, and waits for none.
    assert_eq!(vector(&server, 4), Value::Null);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m NOT EXISTS"})), [4].map(Value::from));
    // By words and by meaning.
    let hybrid = server.search("pets", json!({"q": "kitten", "hybrid": {"embedder": "m"}, "limit": 1}));
    assert_eq!((&hybrid["hits"][0]["id"], &hybrid["semanticHitCount"]), (&json!(1), &json!(1)));
    let unknown = server.search("pets", json!({"q": "sleeps", "hybrid": {"embedder": "m"}}));
    assert_eq!((&unknown["hits"][0]["id"], &unknown["semanticHitCount"]), (&json!(1), &json!(0)));
    assert!(unknown.get("degraded").is_none(), "{unknown}");
    assert_eq!(server.ids("pets", near("sleeps")), [Value::Null; 0]);
    let similar = server.post("/indexes/pets/similar", json!({"id": 1, "embedder": "m"})).body;
    assert_eq!(similar["hits"].as_array().unwrap().len(), 2, "{similar}");
    // Read again when it is needed; the first batch after a start makes vectors too.
    server.kill();
    server.start_again();
    server.add("pets", json!([{"id": 5, "text": "a puppy"}]));
    assert_eq!(server.ids("pets", near("puppy"))[0], 5);
}

/// A vector that came before its embedder stands for the text that it came with.
#[test]
fn vectors_from_before_the_embedder_are_made_anew_with_their_text() {
    let server = server();
    let own = json!({"m": {"embeddings": vec![0.5; DIMENSIONS], "regenerate": true}, "other": [1.0]});
    server.add("pets", json!([{"id": 1, "text": "cat", "_vectors": own}, {"id": 2, "text": "cat"}]));
    server.set("pets", json!({"embedders": {"m": embedder("pets/tiny")}}));
    let update = |text: &str| {
        server.done(&server.put("/indexes/pets/documents", json!([{"id": 1, "text": text, "n": 1}])));
        vector(&server, 1)
    };
    assert_eq!(update("cat"), json!(vec![0.5; DIMENSIONS]), "the text is the same");
    assert_ne!(update("dog"), json!(vec![0.5; DIMENSIONS]));
    assert_eq!(update("cat"), vector(&server, 2));
    let kept = server.get("/indexes/pets/documents/1?retrieveVectors=true").ok();
    assert!(kept["_vectors"]["other"].is_array(), "data of no embedder stays: {kept}");
}

#[test]
fn a_change_of_the_model_makes_new_vectors() {
    let server = server();
    write_model(&server.data_folder().join("models/pets/small"), 2);
    server.add(
        "pets",
        json!([{"id": 1, "text": "cat", "_vectors": {}}, {"id": 2, "text": "dog"}, {"id": 3, "text": "car"}]),
    );
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": embedder("pets/tiny")})));
    assert_eq!(vector(&server, 1), json!([1.0, 0.0, 0.0]));
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"model": "pets/small"}})));
    assert_eq!(vector(&server, 1), json!([1.0, 0.0]));
    assert_eq!(vector(&server, 3), Value::Null, "the smaller model knows nothing of it");
    let binary = json!({"m": {"binaryQuantized": true}});
    server.done(&server.patch("/indexes/pets/settings/embedders", binary));
    assert_eq!(server.ids("pets", near("puppy"))[0], 2);
    let gone = json!({"m": {"model": "../gone"}});
    server.fails(&server.patch("/indexes/pets/settings/embedders", gone), "vector_embedding_error");
    assert_eq!(vector(&server, 2), json!([0.0, 1.0]), "a failed change has no effect");
}

/// A query becomes a vector by the model that made those of the documents that it searches.
#[test]
fn earlier_states_are_searched_with_their_own_model() {
    let server = Server::with_options(&["--keep", "1h"]);
    write_model(&server.data_folder().join("models/pets/tiny"), DIMENSIONS);
    write_model(&server.data_folder().join("models/pets/small"), 2);
    server.set("pets", json!({"embedders": {"m": embedder("pets/tiny")}}));
    server.add("pets", json!([{"id": 1, "text": "cat"}, {"id": 2, "text": "car"}]));
    let generation = server.get("/indexes/pets/generations").ok()["results"][0]["generation"].clone();
    let with = |point: Value| {
        let mut query = near("car");
        query.as_object_mut().unwrap().extend(point.as_object().unwrap().clone());
        query
    };
    let held = server.search("pets", with(json!({"pointInTime": {}})));
    let point = json!({"pointInTime": {"id": held["pointInTime"]["id"]}});
    let earlier = [json!({"at": generation}), point];
    // Another model, of which the word is unknown; then none.
    server.set("pets", json!({"embedders": {"m": {"model": "pets/small"}}}));
    assert_eq!(server.ids("pets", near("car")), [Value::Null; 0]);
    for change in [json!({"embedders": {"m": {"model": "pets/small"}}}), json!({"embedders": {"m": null}})] {
        server.set("pets", change);
        for state in &earlier {
            assert_eq!(server.ids("pets", with(state.clone())), [2, 1].map(Value::from), "{state}");
            let mut query = with(state.clone());
            query["indexUid"] = "pets".into();
            let both = server.post("/multi-search", json!({"queries": [query]})).ok();
            assert_eq!(both["results"][0]["hits"][0]["id"], 2, "{state}: {both}");
        }
    }
}

#[test]
fn models_that_are_none_are_refused() {
    let server = server();
    server.add("pets", json!([{"id": 1, "text": "cat"}]));
    let folder = server.data_folder().join("models/pets/tiny");
    let mut damaged = fs::read(folder.join("model.safetensors")).unwrap();
    damaged.truncate(damaged.len() - 1);
    let refused = |model: &str, expected: &str| {
        let change = server.patch("/indexes/pets/settings/embedders", json!({"m": embedder(model)}));
        let task = server.fails(&change, "vector_embedding_error");
        let message = task["error"]["message"].as_str().unwrap();
        assert!(message.contains(expected), "{message}");
    };
    refused("../pets/tiny", "is not a valid model name");
    for (name, content, expected) in [
        (
            "bad-weights",
            &damaged[..],
            "static model `pets/bad-weights` can't be used: `model.safetensors`: tensor `embeddings`",
        ),
        ("no-weights", b"", "too short to have a header"),
    ] {
        let bad = server.data_folder().join("models/pets").join(name);
        write_model(&bad, DIMENSIONS);
        fs::write(bad.join("model.safetensors"), content).unwrap();
        refused(&format!("pets/{name}"), expected);
    }
    let wrong = |embedder: Value| server.patch("/indexes/pets/settings/embedders", json!({ "m": embedder }));
    for embedder in
        [json!({"source": "static"}), json!({"source": "static", "model": "pets/tiny", "pooling": "forceMean"})]
    {
        wrong(embedder).refused(400, "invalid_settings_embedders");
    }
    // The server is as it was.
    server.set("pets", json!({"embedders": {"m": embedder("pets/tiny")}}));
    assert_eq!(vector(&server, 1), json!([1.0, 0.0, 0.0]));
}

#[test]
fn documents_are_written_beside_a_model_that_is_damaged() {
    let mut server = server();
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": embedder("pets/tiny")})));
    server.add("pets", json!([{"id": 1, "text": "cat"}]));
    let folder = server.data_folder().join("models/pets/tiny");
    server.kill();
    fs::write(folder.join("model.safetensors"), "").unwrap();
    server.start_again();
    let added = server.post("/indexes/pets/documents", json!([{"id": 2, "text": "dog"}]));
    server.fails(&added, "vector_embedding_error");
    assert_eq!(server.ids("pets", json!({"q": "dog"})), [2].map(Value::from));
    write_model(&folder, DIMENSIONS);
    server.add("pets", json!([{"id": 3, "text": "puppy"}]));
    assert_eq!(vector(&server, 2), json!([0.0, 1.0, 0.0]), "the next task makes up for it");
}

#[test]
fn vectors_go_to_replicas_and_queries_need_the_model_there() {
    let group = Group::new();
    let writer = group.writer();
    write_model(&writer.data_folder().join("models/pets/tiny"), DIMENSIONS);
    writer.done(&writer.patch("/indexes/pets/settings/embedders", json!({"m": embedder("pets/tiny")})));
    let task = writer.add("pets", json!([{"id": 1, "text": "cat"}, {"id": 2, "text": "dog"}]));
    let replica = group.replica();
    after(&replica, &task, "/indexes/pets/documents");
    assert_eq!(vector(&replica, 2), json!([0.0, 1.0, 0.0]));
    assert_eq!(replica.ids("pets", json!({"q": "dog"})), [2].map(Value::from));
    // Texts of queries become vectors on the server that is asked.
    replica.post("/indexes/pets/search", near("kitten")).refused(400, "vector_embedding_error");
    write_model(&replica.data_folder().join("models/pets/tiny"), DIMENSIONS);
    assert_eq!(replica.ids("pets", near("kitten")), [1, 2].map(Value::from));
}
