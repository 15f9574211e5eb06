//! Requests that each route refuses before it looks at a field: of its body, its content type, its query string.

use reqwest::blocking::RequestBuilder;
use serde_json::json;

use super::answers::Recorder;
use super::routes::Route;
use super::shared::{Folded, Shared};

const JSON: Option<&str> = Some("application/json");

/// Bodies of all kinds: a name, a content type, a text.
const BODIES: [(&str, Option<&str>, &str); 10] = [
    ("no content type", None, "{}"),
    ("an empty body", JSON, ""),
    ("a body of text/plain", Some("text/plain"), "{}"),
    ("a content type that is none", Some("nonsense"), "{}"),
    ("a content type with a parameter", Some("application/json; charset=utf-8"), "{\"doggo\":"),
    (BROKEN, JSON, "{\"doggo\":"),
    ("a body that is null", JSON, "null"),
    ("a body that is a text", JSON, "\"doggo\""),
    ("a body that is a list", JSON, "[[]]"),
    ("an unknown field", JSON, "{\"doggo\":1}"),
];
const BROKEN: &str = "a broken body";

/// Query strings, the last of which are of routes that register tasks.
const QUERIES: [&str; 6] = ["doggo=1", "=1", "customMetadata=1&customMetadata=2", "wait=x", "waitMs=x", "waitMsz=1"];
const OF_WRITES: &str = "wait";

/// The routes by their answers, to each kind of request.
pub(super) fn malformed(recorder: &Recorder, routes: &[Route]) -> Folded {
    let mut shared = Shared::default();
    let mut add = |kind: &str, route: &Route, request: RequestBuilder| {
        shared.add(kind, recorder.send(request), route.name());
        // The log has one reader.
        if route.name() == "POST /logs/stream" {
            recorder.send(recorder.request("DELETE", "/logs/stream"));
        }
    };
    for route in routes {
        let has_body = route.schema().is_some();
        let registers = route.parameters().any(|name| name == OF_WRITES);
        for query in &QUERIES[..if registers { QUERIES.len() } else { 2 }] {
            let request = recorder.request(&route.method, &format!("{}?{query}", route.path));
            let empty = json!({});
            add(&format!("?{query}"), route, if has_body { request.json(&empty) } else { request });
        }
        // Of a route that reads no body, one of them is enough.
        let bodies = BODIES.into_iter().filter(|(kind, ..)| route.method != "GET" && (has_body || *kind == BROKEN));
        for (kind, content_type, text) in bodies {
            let request = recorder.request(&route.method, &route.path).body(text);
            let typed = content_type.into_iter().fold(request, |request, value| request.header("Content-Type", value));
            add(kind, route, typed);
        }
    }
    shared.folded(routes)
}

/// The routes by the names of the headers that they answer a request without a body with.
pub(super) fn headers(recorder: &Recorder, routes: &[Route]) -> Folded {
    let mut shared = Shared::default();
    for route in routes {
        let answer = recorder.request(&route.method, &route.path).send().expect("an answer");
        let mut names: Vec<&str> = answer.headers().keys().map(|name| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.retain(|name| !matches!(*name, "date" | "content-length" | "transfer-encoding"));
        shared.add(answer.status().as_str(), names.join(", "), route.name());
    }
    shared.folded(routes)
}
