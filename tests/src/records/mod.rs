//! Answers on record: the description of all routes, the rights that each needs, and every refusal, as files of
//! `tests/golden`.
//!
//! Requests are made from `/openapi.json`, so that no route, parameter or setting is left out. A change that keeps the
//! interface as it is changes none of the files. `LAMINA_WRITE_GOLDEN=1` writes them again; the difference is then a part of
//! the change, to be read like the rest of it.

mod accepted;
mod answers;
mod bodies;
mod features;
mod files;
mod keys;
mod nested;
mod pairs;
mod parameters;
mod probes;
mod requests;
mod routes;
mod shared;
mod unrouted;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::keys::{MASTER, ask, finish};
use crate::server::Server;
use answers::Recorder;
use files::Files;
use routes::Route;

/// Lines by what was sent.
type Lines = BTreeMap<String, String>;

/// The uid of a key that is there.
const KEY: &str = "4bc0887a-0e41-4f3b-935d-0c451dcee9c8";

/// Nothing is reported, writes can be tried, and states of an index are kept.
const OPTIONS: [&str; 8] = [
    "--master-key",
    MASTER,
    "--no-analytics",
    "--experimental-replication-parameters",
    "--experimental-allowed-ip-networks",
    "127.0.0.0/8",
    "--keep",
    "1h",
];

/// All experimental features, switched on or off.
fn switched(is_on: bool, document: &Value) -> Value {
    let body = &document["paths"]["/experimental-features"]["patch"]["requestBody"];
    let features = body["content"]["application/json"]["schema"]["properties"].as_object().expect("features");
    features.keys().map(|name| (name.clone(), json!(is_on))).collect::<serde_json::Map<_, _>>().into()
}

/// Fills a server with one of everything that a path can name. Returns the uid of the webhook.
fn fill(server: &Server, document: &Value) -> String {
    let send = |method: &str, path: &str, body: Value| ask(server, MASTER, method, path, &body);
    let settings = json!({
        "filterableAttributes": ["year", "films", "genre"],
        "sortableAttributes": ["year"],
        "embedders": {"films": {"source": "userProvided", "dimensions": 2}},
        "rerankers": {"films": {"url": pairs::reranker()}},
    });
    finish(server, &send("PATCH", "/indexes/films/settings", settings));
    finish(server, &send("POST", "/indexes/films/documents", pairs::documents()));
    finish(server, &send("PUT", "/aliases/pictures", json!({"indexUid": "films"})));
    send("POST", "/keys", json!({"uid": KEY, "actions": [], "indexes": [], "expiresAt": null})).ok();
    send("PATCH", "/experimental-features", switched(true, document)).ok();
    finish(server, &send("PATCH", "/dynamic-search-rules/rule", json!({"description": "It does nothing."})));
    send("PATCH", "/chats/talk/settings", json!({})).ok();
    // After the last task, of which it would be notified.
    let webhook = send("POST", "/webhooks", json!({"url": "http://192.0.2.1"})).ok();
    webhook["uuid"].as_str().expect("a uuid").to_owned()
}

/// One server for all, and one test: what the server holds is the same in every run.
#[test]
fn answers_are_those_on_record() {
    let server = Server::bare(&OPTIONS);
    let document = server.get("/openapi.json").ok();
    let webhook = fill(&server, &document);
    let recorder = Recorder::new(server);
    let routes = Route::all(&document, &webhook);
    let files = Files::default();
    files.add("openapi.json", masked(document.clone()));
    files.add("errors/accepted.json", json!(accepted::answers(&recorder, &document)));
    // These change nothing.
    std::thread::scope(|scope| {
        scope.spawn(|| bodies::of_indexes(&recorder, &routes, &document, &files));
        scope.spawn(|| {
            files.add("rights.json", json!(keys::rights(&recorder, &routes)));
            files.add("errors/keys.json", json!(keys::refusals(&recorder, &routes)));
        });
        scope.spawn(|| {
            files.add("errors/methods.json", json!(unrouted::answers(&recorder, &routes)));
            parameters::record(&recorder, &routes, &files);
        });
    });
    files.add("headers.json", json!(requests::headers(&recorder, &routes)));
    files.add("errors/requests.json", json!(requests::malformed(&recorder, &routes)));
    files.add("errors/bodies.json", json!(bodies::of_server(&recorder, &routes, &document)));
    files.add("statistics.json", json!(counted(&recorder)));
    files.add("errors/features.json", json!(features::refusals(&recorder, &routes, &document)));
    let (codes, lists) = recorder.common();
    files.add("errors/codes.json", json!(codes));
    files.add("errors/lists.json", json!(lists));
    files.check();
}

/// The description without the version, which each release changes.
fn masked(mut document: Value) -> Value {
    document["info"]["version"] = json!("{version}");
    document
}

/// The routes that the metrics have counted.
fn counted(recorder: &Recorder) -> BTreeSet<String> {
    let text = recorder.request("GET", "/metrics").send().and_then(|answer| answer.text()).expect("metrics");
    let label = |line: &str, name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        Some(rest.split_once('"')?.0.to_owned())
    };
    let lines = text.lines().filter(|line| line.starts_with("lamina_http_requests_total{"));
    lines.filter_map(|line| Some(format!("{} {}", label(line, "method")?, label(line, "path")?))).collect()
}
