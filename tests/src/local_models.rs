//! A model that runs inside the server: a small one, written to the data folder as its makers would.

use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::server::Server;

const WORDS: [&str; 8] = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "cat", "kitten", "dog", "puppy"];
const HIDDEN: usize = 4;
const INNER: usize = 4;

/// Returns the meaning of a word; other words have none.
fn meaning(word: &str) -> [f32; HIDDEN] {
    match word {
        "cat" => [3.0, -3.0, 0.0, 0.0],
        "kitten" => [3.0, -2.0, 0.0, -1.0],
        "dog" => [0.0, 0.0, 3.0, -3.0],
        "puppy" => [-1.0, 0.0, 3.0, -2.0],
        _ => [0.0; HIDDEN],
    }
}

/// A network of one layer that leaves the words as they are; a cross-encoder's first token becomes the mean of all, and its
/// score grows with what is like a cat.
fn tensors(is_cross: bool) -> Vec<(String, Vec<usize>, Vec<f32>)> {
    let mut all = Vec::new();
    let mut put = |name: &str, shape: &[usize], values: Vec<f32>| all.push((name.to_owned(), shape.to_vec(), values));
    let words = WORDS.iter().flat_map(|word| meaning(word)).collect();
    put("embeddings.word_embeddings.weight", &[WORDS.len(), HIDDEN], words);
    put("embeddings.position_embeddings.weight", &[16, HIDDEN], vec![0.0; 16 * HIDDEN]);
    put("embeddings.token_type_embeddings.weight", &[2, HIDDEN], vec![0.0; 2 * HIDDEN]);
    for norm in ["embeddings", "encoder.layer.0.attention.output", "encoder.layer.0.output"] {
        put(&format!("{norm}.LayerNorm.weight"), &[HIDDEN], vec![1.0; HIDDEN]);
        put(&format!("{norm}.LayerNorm.bias"), &[HIDDEN], vec![0.0; HIDDEN]);
    }
    for (name, to, from) in [
        ("attention.self.query", HIDDEN, HIDDEN),
        ("attention.self.key", HIDDEN, HIDDEN),
        ("attention.self.value", HIDDEN, HIDDEN),
        ("attention.output.dense", HIDDEN, HIDDEN),
        ("intermediate.dense", INNER, HIDDEN),
        ("output.dense", HIDDEN, INNER),
    ] {
        let is_kept = is_cross && ["attention.self.value", "attention.output.dense"].contains(&name);
        let weights = if is_kept { identity() } else { vec![0.0; to * from] };
        put(&format!("encoder.layer.0.{name}.weight"), &[to, from], weights);
        put(&format!("encoder.layer.0.{name}.bias"), &[to], vec![0.0; to]);
    }
    if is_cross {
        put("pooler.dense.weight", &[HIDDEN, HIDDEN], identity());
        put("pooler.dense.bias", &[HIDDEN], vec![0.0; HIDDEN]);
        put("classifier.weight", &[1, HIDDEN], vec![1.0, 0.0, 0.0, 0.0]);
        put("classifier.bias", &[1], vec![0.0]);
    }
    all
}

fn identity() -> Vec<f32> {
    (0..HIDDEN * HIDDEN).map(|at| if at / HIDDEN == at % HIDDEN { 1.0 } else { 0.0 }).collect()
}

fn write_model(folder: &Path, is_cross: bool) {
    fs::create_dir_all(folder).unwrap();
    let config = json!({
        "model_type": "bert", "vocab_size": WORDS.len(), "hidden_size": HIDDEN, "num_hidden_layers": 1,
        "num_attention_heads": 1, "intermediate_size": INNER, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
        "attention_probs_dropout_prob": 0.1, "max_position_embeddings": 16, "type_vocab_size": 2,
        "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0
    });
    fs::write(folder.join("config.json"), config.to_string()).unwrap();
    let vocabulary: Map<String, Value> =
        WORDS.iter().zip(0..).map(|(word, id)| (word.to_string(), json!(id))).collect();
    let special = |id: usize| {
        json!({"id": id, "content": WORDS[id], "single_word": false, "lstrip": false, "rstrip": false,
               "normalized": false, "special": true})
    };
    let tokenizer = json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": (0..4).map(special).collect::<Vec<_>>(),
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
                       "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
        "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": vocabulary}
    });
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let (mut header, mut data) = (Map::new(), Vec::new());
    for (name, shape, values) in tensors(is_cross) {
        let start = data.len();
        data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
        header.insert(name, json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}));
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let file = [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat();
    fs::write(folder.join("model.safetensors"), file).unwrap();
}

#[test]
fn a_model_in_the_data_folder_embeds_documents_and_queries() {
    let mut server = Server::start();
    write_model(&server.data_folder().join("models/pets/tiny"), false);
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps"}, {"id": 2, "text": "a dog runs"}]));
    let embedder = json!({"source": "huggingFace", "model": "pets/tiny", "documentTemplate": "{{ doc.text }}"});
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": embedder})));
    server.add("pets", json!([{"id": 3, "text": "Puppy!"}]));
    let near = |text: &str| json!({"q": text, "hybrid": {"embedder": "m", "semanticRatio": 1.0}});
    assert_eq!(server.ids("pets", near("the kitten"))[0], 1);
    assert_eq!(server.ids("pets", near("DOG"))[2], 1);
    let hybrid = server.search("pets", json!({"q": "kitten", "hybrid": {"embedder": "m"}, "limit": 1}));
    assert_eq!((&hybrid["hits"][0]["id"], &hybrid["semanticHitCount"]), (&json!(1), &json!(1)));
    let shown = server.get("/indexes/pets/documents/3?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["m"]["embeddings"][0].as_array().unwrap().len(), HIDDEN);
    assert_eq!(shown["_vectors"]["m"]["regenerate"], true);
    // It is loaded again when it is needed.
    server.kill();
    server.start_again();
    assert_eq!(server.ids("pets", near("puppy"))[2], 1);
}

#[test]
fn a_model_in_the_data_folder_reranks() {
    let server = Server::start();
    write_model(&server.data_folder().join("models/pets/cross"), true);
    let texts = ["a dog runs", "a puppy", "a cat sleeps", "a kitten"];
    server.add("pets", (1..).zip(texts).map(|(id, text)| json!({"id": id, "text": text})).collect());
    let reranker = |model: &str| json!({"source": "huggingFace", "model": model, "documentTemplate": "{{ doc.text }}"});
    server.set("pets", json!({"rerankers": {"r": reranker("pets/cross"), "gone": reranker("../gone")}}));
    let ask = |name: &str| {
        let rerank = json!({"reranker": name, "timeoutMs": 30_000});
        server.search("pets", json!({"q": "a", "rerank": rerank, "showRankingScoreDetails": true}))
    };
    let ids =
        |answer: &Value| answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect::<Vec<_>>();
    let answer = ask("r");
    assert!(answer.get("degraded").is_none(), "{answer}");
    assert_eq!(ids(&answer), [4, 3, 1, 2].map(Value::from), "{answer}");
    let scores: Vec<f64> = (0..4)
        .map(|place| answer["hits"][place]["_rankingScoreDetails"]["rerank"]["score"].as_f64().unwrap())
        .collect();
    assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
    assert!(scores[0] > 0.5, "{scores:?}");
    assert!(scores[3] > 0.0, "{scores:?}");
    let answer = ask("gone");
    assert_eq!(
        (ids(&answer), &answer["degradedReasons"]),
        ([1, 2, 3, 4].map(Value::from).to_vec(), &json!(["reranker"]))
    );
    let both = json!({"rerankers": {"r": {"url": "http://127.0.0.1:1/"}}});
    let task = server.wait(&server.patch("/indexes/pets/settings", both));
    assert_eq!(task["error"]["code"], "invalid_settings_rerankers", "{task}");
}
