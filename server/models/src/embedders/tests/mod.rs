//! Against servers in this process that speak the providers' languages, and misbehave.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lamina_engine::index::Settings;
use serde_json::json;

use super::*;

mod troubles;

/// A request as the stub saw it.
#[derive(Clone, Debug)]
struct Seen {
    path: String,
    headers: String,
    body: Value,
}

type Behaviour = dyn Fn(&Seen) -> (u16, String) + Send + Sync;

/// An HTTP server that answers what a test wants.
struct Stub {
    url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Stub {
    /// Answers the scripted statuses first, then as `behaviour` says.
    fn start(script: &[u16], behaviour: impl Fn(&Seen) -> (u16, String) + Send + Sync + 'static) -> Stub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script = Arc::new(Mutex::new(script.iter().copied().collect::<VecDeque<u16>>()));
        let (log, behaviour): (_, Arc<Behaviour>) = (Arc::clone(&seen), Arc::new(behaviour));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, behaviour, script) = (Arc::clone(&log), Arc::clone(&behaviour), Arc::clone(&script));
                std::thread::spawn(move || {
                    let Some(request) = receive(&stream) else { return };
                    log.lock().push(request.clone());
                    let scripted = script.lock().pop_front();
                    let (status, body) = match scripted {
                        Some(status) => (status, r#"{"error":"not now"}"#.to_owned()),
                        None => behaviour(&request),
                    };
                    let head = format!(
                        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\nContent-Type: application/json\r\n\
                         Connection: close\r\n\r\n",
                        body.len()
                    );
                    let mut stream = &stream;
                    // The client may have given up.
                    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
                });
            }
        });
        Stub { url, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }
}

fn receive(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut headers) = (String::new(), String::new());
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if line.trim().is_empty() {
            break;
        }
        headers.push_str(&line.to_lowercase());
    }
    let length = headers.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let path = first.split(' ').nth(1)?.to_owned();
    Some(Seen { path, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

/// The vector of a text: something that depends on it.
fn vector(text: &str) -> Value {
    json!([text.len(), 1.0])
}

fn open_ai(seen: &Seen) -> (u16, String) {
    let texts = seen.body["input"].as_array().unwrap();
    let data: Vec<Value> = texts.iter().map(|text| json!({"embedding": vector(text.as_str().unwrap())})).collect();
    (200, json!({"data": data, "usage": {}}).to_string())
}

/// Asks as a batch does.
fn asking<'a>(cancelled: &'a AtomicBool, watch: &'a EmbeddingWatch) -> Asking<'a> {
    Asking { cancelled, watch, is_brief: false }
}

struct Fixture {
    watch: EmbeddingWatch,
    embedders: Embedders,
    runtime: tokio::runtime::Runtime,
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new(cached_queries: usize) -> Fixture {
        Fixture::limited(cached_queries, RateLimits::default())
    }

    fn limited(cached_queries: usize, limits: RateLimits) -> Fixture {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let outbound = {
            let _guard = runtime.enter();
            Outbound::new("any".parse().unwrap()).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let options = EmbedderOptions {
            cached_queries,
            limits,
            models_folder: folder.path().join("no models"),
            kept_folder: folder.path().join("embeddings"),
            kept_bytes_max: 0,
        };
        Fixture { watch: EmbeddingWatch::default(), embedders: Embedders::new(outbound, options), runtime, folder }
    }

    fn open(&self, configuration: &Value) -> Result<Arc<dyn Embedder>, String> {
        let cancelled = AtomicBool::default();
        let opened = self.embedders.open(&settings(configuration), Some(asking(&cancelled, &self.watch)));
        opened.map_err(|failure| failure.to_string())
    }

    fn embed(&self, configuration: &Value, texts: &[&str]) -> Result<Vec<Vec<f32>>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let embedded = self.open(configuration)?.embed(&texts, asking(&AtomicBool::new(false), &self.watch));
        embedded.into_iter().collect::<Result<_, _>>().map_err(|failure| failure.to_string())
    }

    fn query(&self, configuration: &Value, text: &str, budget: Duration) -> Result<Vec<f32>, String> {
        self.query_of(configuration, text, None, budget)
    }

    fn query_of(
        &self,
        configuration: &Value,
        text: &str,
        dimensions: Option<u32>,
        budget: Duration,
    ) -> Result<Vec<f32>, String> {
        let deadline = Instant::now() + budget;
        let settings = settings(configuration);
        let input = QueryInput { q: Some(text), media: None };
        let vector = self.runtime.block_on(self.embedders.embed_query(&settings, input, dimensions, deadline));
        vector.map(|vector| vector.to_vec()).map_err(|failure| failure.to_string())
    }
}

fn settings(configuration: &Value) -> EmbedderSettings {
    let settings: Settings = serde_json::from_value(json!({"embedders": {"e": configuration}})).unwrap();
    settings.embedder("e").unwrap()
}

fn rest(url: &str) -> Value {
    json!({
        "source": "rest", "url": format!("{url}/embed"), "apiKey": "secret-key", "headers": {"X-Tenant": "t1"},
        "request": {"texts": ["{{text}}", "{{..}}"]}, "response": {"vectors": ["{{embedding}}", "{{..}}"]}
    })
}

fn rest_answer(seen: &Seen) -> (u16, String) {
    let texts = seen.body["texts"].as_array().unwrap();
    let vectors: Vec<Value> = texts.iter().map(|text| vector(text.as_str().unwrap())).collect();
    (200, json!({ "vectors": vectors }).to_string())
}

#[test]
fn rest_speaks_by_templates() {
    let (stub, fixture) = (Stub::start(&[], rest_answer), Fixture::new(0));
    let texts: Vec<String> = (0..25).map(|i| "x".repeat(i)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let vectors = fixture.embed(&rest(&stub.url), &texts).unwrap();
    let expected: Vec<Vec<f32>> = (0..25).map(|i| vec![i as f32, 1.0]).collect();
    assert_eq!(vectors, expected, "in order, whatever answers first");
    let seen = stub.seen();
    assert_eq!(seen[0].body, json!({"texts": ["test"]}), "the size is measured first");
    assert_eq!(seen.len(), 1 + 3);
    assert!(seen[1].headers.contains("authorization: bearer secret-key"));
    assert!(seen[1].headers.contains("x-tenant: t1"));
    assert_eq!(fixture.open(&rest(&stub.url)).unwrap().dimensions(), 2);
    assert_eq!(stub.seen().len(), 4, "and not again");
}

#[test]
fn open_ai_and_what_is_compatible() {
    let (stub, fixture) = (Stub::start(&[], open_ai), Fixture::new(0));
    let url = format!("{}/v1/embeddings", stub.url);
    let configuration = json!({"source": "openAi", "url": url, "model": "any", "apiKey": "k", "dimensions": 2});
    assert_eq!(fixture.embed(&configuration, &["a", "bb"]).unwrap(), [[1.0, 1.0], [2.0, 1.0]]);
    assert_eq!(stub.seen()[0].body, json!({"model": "any", "input": ["a", "bb"], "dimensions": 2}));
    assert_eq!(stub.seen()[0].path, "/v1/embeddings");
}

#[test]
fn ollama_in_both_dialects() {
    let answer = |seen: &Seen| match &seen.body["prompt"] {
        Value::String(text) => (200, json!({"embedding": vector(text)}).to_string()),
        _ => {
            let texts = seen.body["input"].as_array().unwrap().iter();
            let all: Vec<Value> = texts.map(|text| vector(text.as_str().unwrap())).collect();
            (200, json!({ "embeddings": all }).to_string())
        }
    };
    let (stub, fixture) = (Stub::start(&[], answer), Fixture::new(0));
    for path in ["api/embed", "api/embeddings"] {
        let configuration = json!({"source": "ollama", "model": "m", "url": format!("{}/{path}", stub.url)});
        assert_eq!(fixture.embed(&configuration, &["a", "bb"]).unwrap(), [[1.0, 1.0], [2.0, 1.0]], "{path}");
    }
    let other = json!({"source": "ollama", "model": "m", "url": format!("{}/other", stub.url)});
    assert!(fixture.open(&other).unwrap_err().starts_with("user error: unsupported Ollama URL."));
}

#[test]
fn texts_that_are_too_long_are_cut() {
    // Takes what has at most so many bytes, as it would so many tokens.
    let strict = |bytes_max: usize| {
        Stub::start(&[], move |seen| match seen.body["input"][0].as_str().unwrap().len() {
            length if length > bytes_max => (400, "too many tokens".to_owned()),
            _ => open_ai(seen),
        })
    };
    let fixture = Fixture::new(0);
    let text = "word ".repeat(20_000);
    for (bytes_max, kept) in [(50_000, 40_955), (10_000, 8191), (2000, 1023), (100, 64)] {
        let stub = strict(bytes_max);
        let configuration = json!({"source": "openAi", "url": stub.url, "model": "any", "dimensions": 2});
        assert_eq!(fixture.embed(&configuration, &[&text]).unwrap(), [[kept as f32, 1.0]]);
    }
    let stub = strict(10);
    let configuration = json!({"source": "openAi", "url": stub.url, "model": "any", "dimensions": 2});
    fixture.embed(&configuration, &[&text]).unwrap_err();
    assert_eq!(stub.seen().len(), 3 + 7, "as it is, cut, cut for certain, and halves of that down to a few words");
    // One that does not speak of lengths is not asked with less and less.
    let stub = Stub::start(&[], |_| (400, "no such model".to_owned()));
    let configuration = json!({"source": "openAi", "url": stub.url, "model": "any", "dimensions": 2});
    fixture.embed(&configuration, &[&text]).unwrap_err();
    assert_eq!(stub.seen().len(), 3);
    // Any provider, however it says so; a short text beside the long one stays whole.
    for (status, words) in [(400, "maximum context length is 512"), (413, "no"), (422, "must be less long: too long")] {
        let stub = Stub::start(&[], move |seen| match seen.body["texts"].as_array().unwrap() {
            texts if texts.iter().any(|text| text.as_str().unwrap().len() > 600) => (status, words.to_owned()),
            _ => rest_answer(seen),
        });
        let vectors = fixture.embed(&rest(&stub.url), &["short", &text]).unwrap();
        assert_eq!(vectors[0], [5.0, 1.0], "{status}");
        assert!((300.0..=600.0).contains(&vectors[1][0]), "{status}: {vectors:?}");
    }
}

#[test]
fn passing_troubles_are_waited_for() {
    let (stub, fixture) = (Stub::start(&[429, 500, 503], rest_answer), Fixture::new(0));
    assert_eq!(fixture.embed(&rest(&stub.url), &["a"]).unwrap(), [[1.0, 1.0]]);
    assert_eq!(stub.seen().len(), 3 + 2);
}

#[test]
fn answers_that_make_no_sense_are_asked_for_again() {
    let answers = ["{", "[1, 2", "", "<html>"];
    let count = AtomicUsize::new(0);
    let stub = Stub::start(&[], move |seen| match answers.get(count.fetch_add(1, Ordering::Relaxed)) {
        Some(nonsense) => (200, (*nonsense).to_owned()),
        None => rest_answer(seen),
    });
    let fixture = Fixture::new(0);
    // A deadline bounds the pauses, not the tries.
    assert_eq!(fixture.query(&rest(&stub.url), "abc", Duration::from_secs(300)).unwrap(), [3.0, 1.0]);
    assert_eq!(stub.seen().len(), answers.len() + 1);
    let stub = Stub::start(&[], |_| (200, "<html>secret-key</html>".to_owned()));
    let expected = fixture.query(&rest(&stub.url), "abc", Duration::from_secs(3)).unwrap_err();
    assert!(expected.starts_with("runtime error: could not read the answer of the embedding server: "), "{expected}");
    assert!(expected.ends_with("\n  - server replied with `<html>XXX...</html>`"), "{expected}");
    // What is JSON came as it was meant.
    for answer in ["null", r#"{"v": "x"}"#, r#"{"vectors": [[1, 1], [2, 1]]}"#, r#"{"vectors": [["x"]]}"#] {
        let stub = Stub::start(&[], |_| (200, answer.to_owned()));
        let expected = fixture.open(&rest(&stub.url)).unwrap_err();
        assert!(
            expected.starts_with("runtime error: could not read the answer of the embedding server: "),
            "{expected}"
        );
        assert_eq!(stub.seen().len(), 1, "{answer}");
    }
}

#[test]
fn lasting_troubles_are_reported() {
    let fixture = Fixture::new(0);
    for (status, expected) in [
        (401, "user error: could not authenticate against embedding server"),
        (400, "user error: sent a bad request to embedding server"),
        (404, "runtime error: received unexpected HTTP 404 from embedding server"),
    ] {
        let stub = Stub::start(&[], move |_| (status, "no, secret-key, no".to_owned()));
        let error = fixture.open(&rest(&stub.url)).unwrap_err();
        assert_eq!(error, format!("{expected}\n  - server replied with `no, XXX..., no`"));
        assert_eq!(stub.seen().len(), 1, "{status}");
    }
}

#[test]
fn configurations_that_cannot_work() {
    let fixture = Fixture::new(0);
    let mut configuration = rest("http://127.0.0.1:1");
    configuration["request"] = json!({"texts": "x"});
    let error = fixture.open(&configuration).unwrap_err();
    assert!(error.starts_with("user error: in `request`: \"{{text}}\" not found\n  - Note: "), "{error}");
    configuration["request"] = json!({"text": "{{text}}"});
    let error = fixture.open(&configuration).unwrap_err();
    assert_eq!(error, "user error: `response` has multiple embeddings, but `request` has only one text to embed");
    let error = fixture.open(&json!({"source": "huggingFace", "model": "../secret"})).unwrap_err();
    assert!(error.contains("not a valid model name") || cfg!(not(feature = "local-models")), "{error}");
}

#[test]
fn queries_have_a_deadline_and_a_memory() {
    let slow = Stub::start(&[], |seen| {
        // Longer than the deadline of a query.
        std::thread::sleep(Duration::from_secs(3));
        rest_answer(seen)
    });
    let fixture = Fixture::new(10);
    let start = Instant::now();
    let late = fixture.query(&rest(&slow.url), "a", Duration::from_millis(200)).unwrap_err();
    assert!(late.starts_with("runtime error: "), "{late}");
    assert!(start.elapsed() < Duration::from_secs(2));
    let stub = Stub::start(&[], rest_answer);
    for _ in 0..2 {
        let found = fixture.query(&rest(&stub.url), "abc", Duration::from_secs(20)).unwrap();
        assert_eq!(found, [3.0, 1.0]);
    }
    assert_eq!(stub.seen().len(), 1);
}

#[test]
fn vectors_of_queries_have_the_size_of_the_others() {
    let (stub, fixture) = (Stub::start(&[], rest_answer), Fixture::new(10));
    let query = |dimensions| fixture.query_of(&rest(&stub.url), "abc", dimensions, Duration::from_secs(20));
    let expected = "runtime error: was expecting embeddings of dimension `3`, got embeddings of dimensions `2`";
    assert_eq!(query(Some(3)).unwrap_err(), expected);
    assert_eq!(query(Some(2)).unwrap(), [3.0, 1.0], "a wrong one was not remembered");
    assert_eq!((query(None).unwrap(), stub.seen().len()), (vec![3.0, 1.0], 2));
    assert_eq!(query(Some(3)).unwrap_err(), expected, "nor is one of another time taken");
}

#[test]
fn documents_wait_for_the_budget_of_their_account_and_queries_do_not() {
    let stub = Stub::start(&[], rest_answer);
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(2);
    let limits = |requests: u32| RateLimits { requests_per_minute: NonZeroU32::new(requests), ..RateLimits::default() };
    // Three requests of ten texts, one each 200 ms.
    let texts: Vec<String> = (0..30).map(|number| format!("text {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let start = Instant::now();
    Fixture::limited(0, limits(300)).embed(&configuration, &texts).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(400), "{:?}", start.elapsed());
    assert_eq!(stub.seen().len(), 3);
    let fixture = Fixture::limited(0, limits(1));
    fixture.embed(&configuration, &["a"]).unwrap();
    fixture.query(&configuration, "b", Duration::from_secs(20)).expect("it is put on the bill, and sent at once");
}

#[test]
fn secrets_in_headers_are_not_disclosed() {
    let stub = Stub::start(&[], |_| (404, "who is long-secret? en-US?".to_owned()));
    let mut configuration = rest(&stub.url);
    configuration["headers"] = json!({"x-token": "long-secret", "accept-language": "en-US"});
    let error = Fixture::new(0).open(&configuration).unwrap_err();
    assert!(error.ends_with("server replied with `who is XXX...? en-US?`"), "{error}");
}

#[test]
fn useless_answers_count_as_failed_requests() {
    let nonsense = Arc::new(AtomicUsize::new(0));
    let stub = Stub::start(&[], move |seen| match nonsense.fetch_add(1, Ordering::Relaxed) {
        0 => (200, "{".to_owned()),
        _ => rest_answer(seen),
    });
    let (fixture, mut configuration) = (Fixture::new(0), rest(&stub.url));
    configuration["dimensions"] = json!(2);
    fixture.embed(&configuration, &["a"]).unwrap();
    let seen = fixture.watch.seen();
    assert_eq!((seen.requests, seen.failed, seen.trouble), (2, 1, None));
    assert!(seen.last_error.unwrap().starts_with("could not read the answer of the embedding server: "));
    configuration["dimensions"] = json!(3);
    fixture.embed(&configuration, &["b"]).unwrap_err();
    let seen = fixture.watch.seen();
    assert_eq!((seen.requests, seen.failed), (3, 2));
}

#[test]
fn a_cancelled_batch_gives_up() {
    let stub = Stub::start(&[], |_| (500, String::new()));
    let fixture = Fixture::new(0);
    let mut configuration = rest(&stub.url);
    configuration["dimensions"] = json!(2);
    let embedder = fixture.open(&configuration).unwrap();
    let cancelled = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancelled);
    std::thread::spawn(move || {
        // The call is in the pause between two attempts.
        std::thread::sleep(Duration::from_millis(300));
        flag.store(true, Ordering::Relaxed);
    });
    let start = Instant::now();
    embedder.embed(&["a".to_owned()], asking(&cancelled, &fixture.watch)).remove(0).unwrap_err();
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn both_sides_of_a_pair_agree() {
    let (one, other) = (Stub::start(&[], rest_answer), Stub::start(&[], rest_answer));
    let strange = Stub::start(&[], |seen| {
        let count = seen.body["texts"].as_array().unwrap().len();
        (200, json!({ "vectors": vec![json!([-1, 0]); count] }).to_string())
    });
    let fixture = Fixture::new(0);
    let pair = |search: &Stub| json!({"source": "composite", "searchEmbedder": rest(&search.url), "indexingEmbedder": rest(&one.url)});
    assert_eq!(fixture.open(&pair(&other)).unwrap().dimensions(), 2);
    assert!(fixture.open(&pair(&strange)).unwrap_err().contains("different vectors of the same text"));
    let before = other.seen().len();
    fixture.query(&pair(&other), "q", Duration::from_secs(20)).unwrap();
    assert_eq!(other.seen().len(), before + 1, "queries go to the search side");
}
