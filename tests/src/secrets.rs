//! Which client gets which secret of the server: in answers, in exports, in logs.

use std::io::Read;

use reqwest::Method;
use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish, start, value};
use crate::receiver::{Behaviour, Receiver};
use crate::server::Server;

/// Every secret that clients give the server holds this word, and nothing else does.
const MARK: &str = "s3cret";

/// Index `films` has embedders, the network has a remote, and there is a webhook: all with secrets.
fn with_secrets(options: &[&str]) -> Server {
    let server = start(options);
    let as_master = |method: &str, path: &str, body: Value| ask(&server, MASTER, method, path, &body);
    as_master("PATCH", "/experimental-features", json!({"network": true, "logsRoute": true, "metrics": true})).ok();
    let task = as_master(
        "PATCH",
        "/indexes/films/settings",
        json!({"embedders": {"rest": embedder(), "pair": {
            "source": "composite",
            "searchEmbedder": {"source": "openAi", "apiKey": secret("nested")},
            "indexingEmbedder": {"source": "openAi", "apiKey": secret("nested")}
        }}}),
    );
    // Composite embedders may be refused, which is as good a test: the body may be quoted.
    if task.status == 202 {
        finish(&server, &task);
    }
    let task = as_master(
        "PATCH",
        "/indexes/films/settings",
        json!({"embedders": {"rest": embedder()}, "rerankers": {"cross": {
            "url": format!("http://user:{}@127.0.0.1:1/", secret("reranker-password")), "apiKey": secret("reranker-key"),
            "headers": {"X-Any": secret("reranker-header")}
        }}}),
    );
    assert_eq!(finish(&server, &task)["status"], "succeeded");
    let remotes = json!({"there": {
        "url": format!("https://user:{}@example.org", secret("remote-password")),
        "searchApiKey": secret("search-key"), "writeApiKey": secret("write-key")
    }});
    as_master("PATCH", "/network", json!({"self": "here", "remotes": remotes})).ok();
    let hook = json!({
        "url": format!("https://user:{}@example.org/hook?token={}", secret("hook-password"), secret("hook-query")),
        "headers": {"Authorization": secret("hook-authorization"), "X-Api-Key": secret("hook-key"), "X-Of": secret("hook-plain")}
    });
    assert_eq!(as_master("POST", "/webhooks", hook).status, 201);
    server
}

fn secret(of: &str) -> String {
    // Long enough that its masked form shows some characters, but not the word.
    format!("0123456789-{MARK}-{of}-0123456789")
}

fn embedder() -> Value {
    json!({
        "source": "rest", "dimensions": 1, "documentTemplate": "x",
        "url": format!("http://user:{}@127.0.0.1:1/?api-key={}", secret("embedder-password"), secret("embedder-query")),
        "apiKey": secret("embedder-key"), "headers": {"X-Any": secret("embedder-header")},
        "request": {"input": "{{text}}"}, "response": "{{embedding}}"
    })
}

/// Everything that can be read of a server with this key.
fn all_answers(server: &Server, key: &str, uids: &[Value]) -> String {
    let mut paths: Vec<String> = [
        "/indexes",
        "/indexes/films",
        "/indexes/films/settings",
        "/indexes/films/settings/embedders",
        "/indexes/films/settings/rerankers",
        "/indexes/films/stats",
        "/indexes/films/documents",
        "/stats",
        "/tasks",
        "/tasks/0",
        "/tasks/1",
        "/batches",
        "/batches/0",
        "/network",
        "/webhooks",
        "/keys",
        "/experimental-features",
        "/version",
        "/metrics",
        "/health",
        "/",
        "/openapi.json",
        "/indexes/films/search?q=a",
        "/chats",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend(uids.iter().map(|uid| format!("/keys/{}", uid.as_str().expect("a uid"))));
    let hooks = ask(server, MASTER, "GET", "/webhooks", &Value::Null).ok();
    let hooks = hooks["results"].as_array().expect("webhooks").iter();
    paths.extend(hooks.map(|hook| format!("/webhooks/{}", hook["uuid"].as_str().expect("a uuid"))));
    let answers = paths.iter().map(|path| ask(server, key, "GET", path, &Value::Null).text);
    answers.collect::<Vec<_>>().join("\n")
}

/// Checks the secrets, and the parts of other keys, that each default key sees.
#[test]
fn each_default_key_sees_what_it_may_change() {
    let server = with_secrets(&[]);
    let keys = ask(&server, MASTER, "GET", "/keys", &Value::Null).ok();
    let keys = keys["results"].as_array().expect("keys");
    let uids: Vec<Value> = keys.iter().map(|key| key["uid"].clone()).collect();
    // Secrets by name, and the clients that get them: for those who may write the network, or webhooks, what the protocol shows them.
    let shown: [(&str, &[&str]); 14] = [
        ("embedder-key", &[]),
        ("embedder-header", &[]),
        ("embedder-password", &[]),
        ("embedder-query", &[]),
        ("reranker-key", &[]),
        ("reranker-header", &[]),
        ("reranker-password", &[]),
        ("remote-password", &[]),
        ("search-key", &["Default Admin API Key"]),
        ("write-key", &["Default Admin API Key"]),
        ("hook-password", &[]),
        ("hook-authorization", &[]),
        ("hook-key", &[]),
        ("hook-plain", &["Default Admin API Key"]),
    ];
    for key in keys {
        let name = key["name"].as_str().expect("a name");
        let answers = all_answers(&server, &value(key), &uids);
        for (of, who) in shown {
            assert_eq!(answers.contains(&secret(of)), who.contains(&name), "{name} sees `{of}`");
        }
        for other in keys {
            let sees = answers.contains(&value(other));
            assert_eq!(sees, name == "Default Admin API Key", "{name} sees the value of {}", other["name"]);
        }
        assert!(!answers.contains(MASTER), "{name}");
    }
    let answers = all_answers(&server, MASTER, &uids);
    assert!(answers.contains(&value(&keys[0])));
    assert!(answers.contains(&secret("write-key")));
    for of in ["embedder-key", "embedder-header", "embedder-password", "remote-password", "hook-password", "nested"] {
        assert!(!answers.contains(&secret(of)), "{of}");
    }
}

#[test]
fn keys_that_may_only_be_read_are_distinguished_and_not_given_away() {
    let server = start(&[]);
    let keys = ask(&server, MASTER, "GET", "/keys", &Value::Null).ok()["results"].clone();
    let (admin, reader) = (value(&keys[1]), value(&keys[2]));
    let seen = ask(&server, &reader, "GET", "/keys", &Value::Null).ok();
    assert_eq!(seen["results"][1]["key"], format!("{}XXXXXX...", &admin[..5]));
    assert_eq!(seen["results"][1]["uid"], keys[1]["uid"]);
    let one = ask(&server, &reader, "GET", &format!("/keys/{}", keys[1]["uid"].as_str().unwrap()), &Value::Null).ok();
    assert_eq!(one["key"], seen["results"][1]["key"]);
    let renamer = value(&crate::keys::make(&server, &["keys.update"], &["*"]));
    let path = format!("/keys/{}", keys[1]["uid"].as_str().unwrap());
    let renamed = ask(&server, &renamer, "PATCH", &path, &json!({"name": "other"})).ok();
    assert_eq!(renamed["key"], one["key"]);
}

/// Returns everything that an export with this key sends.
fn exported(server: &Server, key: &str) -> String {
    // The index is not there; everything else is accepted.
    let missing = Behaviour::Say(404, "", json!({"code": "index_not_found"}).to_string());
    let receiver = Receiver::start([missing]);
    let body = json!({"url": receiver.url.trim_end_matches("/hook"), "indexes": {"films": {}}});
    let answer = ask(server, key, "POST", "/export", &body);
    assert_eq!(finish(server, &answer)["status"], "succeeded");
    let mut sent = String::new();
    for _ in 0..3 {
        let received = receiver.next();
        sent.push_str(&format!("{} {} {:?} {}\n", received.method, received.path, received.headers, received.text()));
    }
    assert!(sent.contains("PATCH /indexes/films/settings"), "{sent}");
    sent
}

#[test]
fn secrets_are_exported_by_who_may_write_them() {
    let server = with_secrets(&["--experimental-allowed-ip-networks", "127.0.0.0/8"]);
    let keys = ask(&server, MASTER, "GET", "/keys", &Value::Null).ok()["results"].clone();
    let make = |actions: &[&str]| value(&crate::keys::make(&server, actions, &["*"]));
    for (key, sends) in [
        (MASTER.to_owned(), true),
        (value(&keys[1]), true),
        (make(&["export", "settings.update"]), true),
        (value(&keys[2]), false),
        (make(&["export", "settings.get"]), false),
    ] {
        let sent = exported(&server, &key);
        assert_eq!(sent.contains(&secret("embedder-key")), sends, "{sent}");
        assert_eq!(sent.contains(MARK), sends, "{sent}");
        assert!(sent.contains("127.0.0.1:1"), "the rest is sent: {sent}");
        assert!(sent.contains("documentTemplate"), "the rest is sent: {sent}");
    }
}

/// Targets of libraries that see requests, all of them at once, and those of this program.
const TALKATIVE: &str = "trace,warp::filters::path=trace,warp::filters=trace,warp=trace,hyper=trace,hyper::proto::h1=trace,\
    hyper_util=trace,h2=trace,h2::codec=trace,reqwest=trace,rustls=trace,tower=trace,http=trace,mio=trace,rusqlite=trace,\
    tracing=trace,lamina_server=trace,lamina_engine=trace,lamina_server::api::middleware=trace,lamina_data=trace,lamina_data::webhooks=trace,lamina_base=trace,lamina_models=trace,lamina_replication=trace";

/// Sends every kind of secret in every place that requests have for them.
fn speak_of_secrets(server: &Server) {
    let hexadecimal = "5ec4e7".repeat(11)[..64].to_owned();
    for token in [format!("Bearer {MARK}-wrong-key"), format!("Basic {MARK}"), MARK.to_owned()] {
        for (method, path) in [
            (Method::GET, "/indexes".to_owned()),
            (Method::DELETE, format!("/keys/{hexadecimal}")),
            (Method::GET, format!("/keys%2F{hexadecimal}")),
            (Method::PATCH, format!("/keys/{hexadecimal}/")),
            (Method::POST, format!("//keys//{hexadecimal}//")),
            (Method::GET, format!("/indexes/films/search?q={MARK}&apiKey={MARK}")),
        ] {
            let request = server.request(method, &path).header("X-Meilisearch-Client", "me").header("X-Api-Key", MARK);
            let request = request.header("Cookie", format!("session={MARK}"));
            let headers = [(reqwest::header::AUTHORIZATION, token.parse().expect("a header"))];
            let request = request.headers(reqwest::header::HeaderMap::from_iter(headers));
            server.send(request.json(&json!({"password": MARK})));
        }
    }
    let key = crate::keys::make(server, &["*"], &["*"]);
    let path = format!("/keys/{}", value(&key));
    assert_eq!(ask(server, MASTER, "GET", &path, &Value::Null).status, 200);
    ask(server, MASTER, "PATCH", &path, &json!({"name": "x"})).ok();
    assert_eq!(ask(server, MASTER, "DELETE", &path, &Value::Null).status, 204);
    ask(server, MASTER, "POST", "/indexes/films/documents", &json!([{"id": 1}]));
    // Broken bodies, which may be quoted.
    for (path, body) in [
        ("/network", json!({"remotes": {"there": {"url": format!("nope://u:{MARK}@x"), "searchApiKey": MARK}}})),
        ("/network", json!({"remotes": {"there": {"writeApiKey": {"x": MARK}}}})),
        ("/indexes/films/settings", json!({"embedders": {"rest": {"source": "rest", "apiKey": [MARK]}}})),
        (
            "/indexes/films/settings",
            json!({"embedders": {"x": {"source": "rest", "url": format!("http://u:{MARK}@h:x/")}}}),
        ),
    ] {
        ask(server, MASTER, "PATCH", path, &body);
    }
    let export = json!({"url": format!("http://user:{MARK}@127.0.0.1:1"), "apiKey": MARK});
    let task = ask(server, MASTER, "POST", "/export", &export);
    assert_eq!(ask(server, MASTER, "POST", "/tasks/cancel?statuses=enqueued,processing", &Value::Null).status, 200);
    finish(server, &task);
}

#[test]
fn no_line_of_the_logs_carries_a_key() {
    for mode in ["human", "json"] {
        let allowed = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];
        let server =
            with_secrets(&[&allowed[..], &["--log-level", "TRACE", "--experimental-logs-mode", mode]].concat());
        let target = json!({"target": TALKATIVE});
        assert_eq!(ask(&server, MASTER, "POST", "/logs/stderr", &target).status, 204);
        let stream = server
            .request(Method::POST, "/logs/stream")
            .bearer_auth(MASTER)
            .json(&json!({"target": TALKATIVE, "mode": mode}))
            .send()
            .expect("a stream");
        assert_eq!(stream.status(), 200);
        let reading = std::thread::spawn(move || {
            let mut text = String::new();
            let mut stream = stream;
            stream.read_to_string(&mut text).map(|_| text)
        });
        speak_of_secrets(&server);
        assert_eq!(ask(&server, MASTER, "DELETE", "/logs/stream", &Value::Null).status, 204);
        let streamed = reading.join().expect("no panic").expect("text");
        assert!(streamed.contains("lamina_server"), "something is logged: {streamed}");
        for (place, text) in [("stream", streamed), ("stderr", server.log())] {
            for secret in [MARK, "5ec4e7", MASTER] {
                let line = text.lines().find(|line| line.contains(secret));
                assert_eq!(line, None, "{place}, {mode}");
            }
            for library in ["warp::", "hyper::", "h2::", "reqwest::", "rustls::"] {
                assert!(!text.contains(&format!("{library}filters")), "{place}");
                assert!(!text.contains(&format!("TRACE {library}")), "{place}");
            }
        }
    }
}

#[test]
fn a_secret_does_not_follow_a_changed_address() {
    let server = start(&["--experimental-allowed-ip-networks", "127.0.0.0/8"]).with_key(MASTER);
    server.patch("/experimental-features", json!({"chatCompletions": true, "network": true})).ok();
    let (mine, theirs) = (Receiver::start([]), Receiver::start([]));
    let hook = server.post("/webhooks", json!({"url": mine.url, "headers": {"Authorization": MARK, "X-Any": MARK}}));
    let of_hook = format!("/webhooks/{}", hook.body["uuid"].as_str().expect("a uuid"));
    server.add("films", json!([{"id": 1}]));
    assert_eq!(mine.next().header("authorization"), Some(MARK));
    let moved = server.patch(&of_hook, json!({"url": theirs.url})).ok();
    assert_eq!(moved["headers"], json!({}), "the answer says so");
    server.add("films", json!([{"id": 2}]));
    let received = theirs.next();
    assert!(received.headers.iter().all(|(_, value)| !value.contains(MARK)), "{:?}", received.headers);

    let own = json!({"source": "rest", "url": "http://127.0.0.1:1/a", "apiKey": MARK, "headers": {"X-Any": MARK},
        "dimensions": 2, "request": "{{text}}", "response": "{{embedding}}"});
    let reranker = json!({"url": "http://127.0.0.1:1/", "apiKey": MARK});
    server.set("empty", json!({"embedders": {"own": own}, "rerankers": {"cross": reranker}}));
    let change = json!({"embedders": {"own": {"url": "http://127.0.0.1:1/b"}}});
    let kept = server.done(&server.patch("/indexes/empty/settings", change));
    assert_eq!(kept["details"].get("forgottenSecrets"), None, "the same origin");
    let change = json!({"embedders": {"own": {"url": "http://127.0.0.2:1/a"}}, "rerankers": {"cross": {"url": "https://127.0.0.1:1/"}}});
    let moved = server.done(&server.patch("/indexes/empty/settings", change));
    let forgotten = json!(["embedders.own.apiKey", "embedders.own.headers", "rerankers.cross.apiKey"]);
    assert_eq!(moved["details"]["forgottenSecrets"], forgotten);
    let shown = server.get("/indexes/empty/settings").ok();
    assert_eq!((shown["embedders"]["own"].get("apiKey"), &shown["embedders"]["own"]["headers"]), (None, &json!({})));

    server
        .patch("/chats/talk/settings", json!({"source": "vLlm", "baseUrl": "http://127.0.0.1:1", "apiKey": MARK}))
        .ok();
    let moved = server.patch("/chats/talk/settings", json!({"baseUrl": "http://127.0.0.1:2"})).ok();
    assert_eq!(moved["apiKey"], Value::Null);
    let remote = |url: &str| json!({"remotes": {"there": {"url": url}}});
    let with_key = json!({"self": "here", "remotes": {"there": {"url": "http://127.0.0.1:1", "searchApiKey": MARK, "writeApiKey": MARK}}});
    server.patch("/network", with_key).ok();
    assert_eq!(
        server.patch("/network", remote("http://127.0.0.1:1/below")).ok()["remotes"]["there"]["searchApiKey"],
        MARK
    );
    let moved = server.patch("/network", remote("http://127.0.0.1:2")).ok();
    let there = &moved["remotes"]["there"];
    assert_eq!((&there["searchApiKey"], &there["writeApiKey"]), (&Value::Null, &Value::Null));
}
