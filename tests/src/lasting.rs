//! Answers that go on end when the key that asked for them would not be given them any more.

use std::io::Read;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use jsonwebtoken::Algorithm;
use reqwest::Method;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderMap};
use serde_json::{Value, json};

use crate::keys::{MASTER, ask, make, start, value};
use crate::receiver::{Behaviour, Receiver as Provider};
use crate::server::Server;
use crate::tenants::sign;

/// A long time for a stream to end, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

fn server() -> Server {
    let server = start(&["--keep", "1h", "--experimental-allowed-ip-networks", "127.0.0.0/8"]).with_key(MASTER);
    let features = json!({"tasksStreamingRoute": true, "logsRoute": true, "chatCompletions": true});
    server.patch("/experimental-features", features).ok();
    server.add("films", json!([{"id": 0}]));
    server
}

/// Begins to read an answer; what it said is sent when it ends.
fn open(server: &Server, key: &str, method: Method, path: &str, body: Option<&Value>) -> Receiver<String> {
    let client = reqwest::blocking::Client::builder().timeout(None).build().unwrap();
    let headers =
        [(AUTHORIZATION, format!("Bearer {key}").parse().unwrap()), (ACCEPT, "text/event-stream".parse().unwrap())];
    let request = client.request(method, format!("{}{path}", server.url)).headers(HeaderMap::from_iter(headers));
    let request = body.into_iter().fold(request, |request, body| request.json(body));
    let mut response = request.send().unwrap();
    assert_eq!(response.status(), 200, "{path}");
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        let mut said = String::new();
        let _broken = response.read_to_string(&mut said);
        let _gone = sender.send(said);
    });
    ended
}

/// Writes, so that streams have something to say, until `stream` ends; what it said.
#[track_caller]
fn end_of(server: &Server, stream: &Receiver<String>) -> String {
    let start = std::time::Instant::now();
    for id in 1.. {
        match stream.recv_timeout(Duration::from_millis(200)) {
            Ok(said) => return said,
            Err(RecvTimeoutError::Timeout) => drop(server.add("films", json!([{ "id": id }]))),
            Err(RecvTimeoutError::Disconnected) => panic!("the reader is gone"),
        }
        assert!(start.elapsed() < PATIENCE, "the stream goes on");
    }
    unreachable!()
}

/// Returns an instant some seconds from now, as `date` writes it.
fn soon(format: &str) -> String {
    let output = std::process::Command::new("date").args(["-u", "-d", "6 seconds", format]).output().expect("runs");
    String::from_utf8(output.stdout).expect("a date").trim().to_owned()
}

fn state(server: &Server) -> u64 {
    server.get("/indexes/films/generations").ok()["results"][0]["generation"].as_u64().expect("a number")
}

#[test]
fn streams_end_with_their_keys() {
    let server = server();
    let changes = format!("/indexes/films/changes?since={}", state(&server));
    let nothing = json!({});
    let streams: [(&str, Method, &str, Option<&Value>); 4] = [
        ("tasks.get", Method::GET, "/tasks/stream", None),
        ("tasks.get", Method::GET, "/batches/stream", None),
        ("documents.get", Method::GET, &changes, None),
        ("metrics.get", Method::POST, "/logs/stream", Some(&nothing)),
    ];
    for (action, method, path, body) in streams {
        let key = make(&server, &[action], &["*"]);
        let stream = open(&server, &value(&key), method.clone(), path, body);
        // It goes on with another change of the key.
        let of_key = format!("/keys/{}", key["uid"].as_str().unwrap());
        ask(&server, MASTER, "PATCH", &of_key, &json!({"name": "renamed"})).ok();
        for id in 0..8 {
            server.add("films", json!([{ "id": format!("s{id}") }]));
            let said = stream.recv_timeout(Duration::from_millis(200));
            assert_eq!(said, Err(RecvTimeoutError::Timeout), "{path}");
        }
        assert_eq!(ask(&server, MASTER, "DELETE", &of_key, &Value::Null).status, 204);
        // Nothing is sent of what comes later.
        let unseen = format!("unseen-{}", path.len());
        server.add(&unseen, json!([{"id": 1}]));
        server.add("films", json!([{ "id": unseen }]));
        let said = end_of(&server, &stream);
        assert!(!said.is_empty(), "{path}: {said}");
        assert!(!said.contains(&unseen), "{path}: {said}");

        let short = json!({"actions": [action], "indexes": ["*"], "expiresAt": soon("+%FT%TZ")});
        let short = ask(&server, MASTER, "POST", "/keys", &short);
        assert_eq!(short.status, 201, "{}", short.text);
        end_of(&server, &open(&server, &value(&short.body), method, path, body));
    }
    // The master key does not end.
    let stream = open(&server, MASTER, Method::GET, "/tasks/stream", None);
    assert_eq!(stream.recv_timeout(Duration::from_secs(3)), Err(RecvTimeoutError::Timeout));
}

#[test]
fn a_conversation_ends_with_its_key_or_token() {
    let server = server();
    let provider = Provider::start(vec![Behaviour::Stall, Behaviour::Stall]);
    let url = provider.url.replace("/hook", "/v1/");
    server.patch("/chats/talk/settings", json!({"source": "vLlm", "baseUrl": url})).ok();
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "?"}]});
    let talk = |key: &str| open(&server, key, Method::POST, "/chats/talk/chat/completions", Some(&body));
    let key = make(&server, &["chatCompletions", "search"], &["*"]);
    let conversation = talk(&value(&key));
    ask(&server, MASTER, "DELETE", &format!("/keys/{}", key["uid"].as_str().unwrap()), &Value::Null);
    let said = conversation.recv_timeout(PATIENCE).expect("it ends");
    assert!(said.contains("invalid_api_key"), "{said}");
    assert!(said.contains("no longer permits it"), "{said}");

    let key = make(&server, &["chatCompletions", "search"], &["*"]);
    let end: u64 = soon("+%s").parse().unwrap();
    let claims = json!({"apiKeyUid": key["uid"], "searchRules": ["*"], "exp": end});
    let conversation = talk(&sign(Algorithm::HS256, &claims, &value(&key)));
    assert!(conversation.recv_timeout(PATIENCE).expect("it ends").contains("invalid_api_key"));
}
