//! Embedders that make vectors: documents and queries go to a server in this process that speaks the `rest` dialect.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::server::Server;

const LOCAL: [&str; 2] = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];

/// Knows cats from dogs.
struct Model {
    url: String,
    texts: Arc<Mutex<Vec<String>>>,
    /// Answers this status to everything; 200: works.
    status: Arc<AtomicU16>,
}

impl Model {
    fn start() -> Model {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}/embed", listener.local_addr().expect("a bound address"));
        let (texts, status) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicU16::new(200)));
        let (log, state) = (Arc::clone(&texts), Arc::clone(&status));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, state) = (Arc::clone(&log), Arc::clone(&state));
                std::thread::spawn(move || answer(&stream, &log, state.load(Ordering::SeqCst)));
            }
        });
        Model { url, texts, status }
    }

    /// The texts that came since the last call, in no order.
    fn take_texts(&self) -> Vec<String> {
        let mut texts = std::mem::take(&mut *self.texts.lock().expect("nobody panicked"));
        texts.sort_unstable();
        texts
    }

    fn configuration(&self) -> Value {
        json!({
            "source": "rest", "url": self.url, "apiKey": "a-long-and-secret-key", "dimensions": 2,
            "documentTemplate": "{{ doc.text }}",
            "request": {"input": ["{{text}}", "{{..}}"]}, "response": {"vectors": ["{{embedding}}", "{{..}}"]}
        })
    }
}

fn answer(stream: &TcpStream, log: &Mutex<Vec<String>>, status: u16) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body: Value = serde_json::from_slice(&body).ok()?;
    let mut vectors = Vec::new();
    for text in body["input"].as_array()? {
        let text = text.as_str()?;
        let counts = |word: &str| if text.contains(word) { 1.0 } else { 0.1 };
        vectors.push(json!([counts("cat") + counts("kitten"), counts("dog") + counts("puppy")]));
        log.lock().expect("nobody panicked").push(text.to_owned());
    }
    let body = json!({ "vectors": vectors }).to_string();
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let mut stream = stream;
    stream.write_all((head + &body).as_bytes()).ok()
}

fn pets(model: &Model) -> Server {
    let server = Server::with_options(&LOCAL);
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps"}, {"id": 2, "text": "a dog runs"}]));
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": model.configuration()})));
    server
}

fn near(text: &str) -> Value {
    json!({"q": text, "hybrid": {"embedder": "m", "semanticRatio": 1.0}})
}

#[test]
fn documents_and_queries_are_embedded() {
    let model = Model::start();
    let server = pets(&model);
    assert_eq!(model.take_texts(), ["a cat sleeps", "a dog runs"], "documents that are there already");
    assert_eq!(server.ids("pets", near("kitten")), [1, 2]);
    assert_eq!(server.ids("pets", near("puppy")), [2, 1]);
    assert_eq!(model.take_texts(), ["kitten", "puppy"]);
    let both = server.search("pets", json!({"q": "puppy", "hybrid": {"embedder": "m"}}));
    assert_eq!((&both["hits"][0]["id"], &both["semanticHitCount"]), (&json!(2), &json!(2)));
    let shown = server.get("/indexes/pets/documents/1?retrieveVectors=true").body;
    assert_eq!(shown["_vectors"]["m"]["regenerate"], true);
    assert_eq!(server.ids("pets", json!({"filter": "_vectors.m.documentTemplate EXISTS"})), [1, 2]);
}

#[test]
fn batches_tell_what_became_of_their_requests() {
    let model = Model::start();
    let server = pets(&model);
    let requests = |task: &Value| {
        let batch = server.get(&format!("/batches/{}", task["batchUid"])).ok();
        batch["stats"].get("embedderRequests").cloned()
    };
    assert_eq!(requests(&server.wait_for(0)), None, "there was no embedder yet");
    assert_eq!(requests(&server.wait_for(1)), Some(json!({"total": 1, "failed": 0})));
    server.ids("pets", near("kitten"));
    model.status.store(401, Ordering::SeqCst);
    let failed = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 9, "text": "a cow"}])));
    let expected = json!({"total": 1, "failed": 1, "lastError": "HTTP 401 Unauthorized"});
    assert_eq!(requests(&failed), Some(expected), "queries are not counted");
}

#[test]
fn only_what_changed_is_embedded_again() {
    let model = Model::start();
    let server = pets(&model);
    model.take_texts();
    server.add("pets", json!([{"id": 1, "text": "a cat sleeps", "seen": true}, {"id": 3, "text": "a kitten"}]));
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 2, "seen": true}])));
    assert_eq!(model.take_texts(), ["a kitten"]);
    server.done(&server.put("/indexes/pets/documents", json!([{"id": 2, "text": "a puppy runs"}])));
    assert_eq!(model.take_texts(), ["a puppy runs"]);
    // The user's own vectors are left alone, and so is everything when nothing that matters changes.
    server.add("pets", json!([{"id": 4, "text": "mine", "_vectors": {"m": [0, 1]}}]));
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"apiKey": "other"}})));
    assert_eq!(model.take_texts(), [""; 0]);
    let template = "{{ doc.text }}{% if doc.seen %}!{% endif %}";
    server.done(&server.patch("/indexes/pets/settings/embedders", json!({"m": {"documentTemplate": template}})));
    assert_eq!(model.take_texts(), ["a cat sleeps!", "a puppy runs!"]);
    assert_eq!(server.ids("pets", near("dog"))[..2], [2, 4]);
}

#[test]
fn a_failing_model_fails_the_task_but_no_search_by_words() {
    let model = Model::start();
    let server = pets(&model);
    model.status.store(401, Ordering::SeqCst);
    let task = server.wait(&server.post("/indexes/pets/documents", json!([{"id": 9, "text": "a cow"}])));
    assert_eq!(task["error"]["code"], "vector_embedding_error");
    let message = task["error"]["message"].as_str().unwrap();
    let told = "Index `pets`: While embedding documents for embedder `m`: user error: could not authenticate";
    assert!(message.starts_with(told), "{message}");
    assert_eq!(server.get("/indexes/pets/documents/9").status, 404);
    let semantic = server.post("/indexes/pets/search", near("cat"));
    assert_eq!((semantic.status, &semantic.body["code"]), (400, &json!("vector_embedding_error")));
    let hybrid = server.search("pets", json!({"q": "cat", "hybrid": {"embedder": "m"}}));
    assert_eq!((&hybrid["hits"][0]["id"], &hybrid["semanticHitCount"]), (&json!(1), &json!(0)));
}

#[test]
fn secrets_and_features_are_kept() {
    let model = Model::start();
    let server = pets(&model);
    let shown = server.get("/indexes/pets/settings/embedders").body;
    assert_eq!(shown["m"]["apiKey"], "a-lXXXXX...");
    let pair = json!({"p": {"source": "composite", "searchEmbedder": model.configuration(), "indexingEmbedder": model.configuration()}});
    let refused = server.patch("/indexes/pets/settings/embedders", pair.clone());
    assert_eq!((refused.status, &refused.body["code"]), (400, &json!("feature_not_enabled")));
    assert_eq!(server.patch("/experimental-features", json!({"compositeEmbedders": true})).status, 200);
    let mut side = pair.clone();
    let refused = server.patch("/indexes/pets/settings/embedders", side.clone());
    assert_eq!(refused.body["code"], "invalid_settings_embedders", "templates belong to the side that indexes");
    side["p"]["searchEmbedder"].as_object_mut().unwrap().remove("documentTemplate");
    server.done(&server.patch("/indexes/pets/settings/embedders", side));
    let query = json!({"q": "puppy", "hybrid": {"embedder": "p", "semanticRatio": 1.0}});
    assert_eq!(server.ids("pets", query), [2, 1]);
}

#[test]
fn private_addresses_need_permission() {
    let model = Model::start();
    let server = Server::start();
    let task = server.wait(&server.patch("/indexes/p/settings/embedders", json!({"m": model.configuration()})));
    assert_eq!(task["status"], "succeeded", "nothing has to be asked yet: {task}");
    let task = server.wait(&server.post("/indexes/p/documents", json!([{"id": 1, "text": "a cat"}])));
    assert_eq!(task["error"]["code"], "vector_embedding_error", "{task}");
    assert_eq!(model.take_texts(), [""; 0]);
}
