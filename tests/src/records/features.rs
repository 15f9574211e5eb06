//! What needs an experimental feature that is off.

use serde_json::{Value, json};

use super::answers::Recorder;
use super::routes::Route;
use super::shared::{Folded, Shared};
use super::switched;

/// Searches and settings that need a feature.
fn bodies() -> Vec<(&'static str, &'static str, Value)> {
    let composite = json!({
        "source": "composite",
        "searchEmbedder": {"source": "userProvided", "dimensions": 1},
        "indexingEmbedder": {"source": "userProvided", "dimensions": 1},
    });
    let fragments = json!({
        "source": "rest", "url": "http://192.0.2.1", "request": "{{fragment}}", "response": "{{embedding}}",
        "indexingFragments": {"films": {"value": "x"}},
    });
    let foreign = json!([{"foreignIndexUid": "films", "fieldName": "year"}]);
    let search = "/indexes/films/search";
    let settings = "/indexes/films/settings";
    vec![
        ("POST", search, json!({"useNetwork": true})),
        ("POST", search, json!({"media": {}, "hybrid": {"embedder": "films"}})),
        ("POST", search, json!({"filter": "genre CONTAINS a"})),
        ("POST", search, json!({"filter": "genre STARTS WITH a"})),
        ("POST", search, json!({"filter": "_foreign(year, id = 1)"})),
        ("POST", "/multi-search", json!({"queries": [{"indexUid": "films", "useNetwork": true}]})),
        (
            "POST",
            "/multi-search",
            json!({"federation": {}, "queries": [{"indexUid": "films", "federationOptions": {"remote": "a"}}]}),
        ),
        (
            "POST",
            "/multi-search",
            json!({"federation": {}, "queries": [{"indexUid": "films", "federationOptions": {"queryPosition": 0}}]}),
        ),
        ("POST", "/indexes/films/documents/fetch", json!({"useNetwork": true})),
        ("PATCH", settings, json!({"embedders": {"films": composite}})),
        ("PATCH", settings, json!({"embedders": {"films": fragments}})),
        ("PATCH", settings, json!({"foreignKeys": foreign})),
        ("PATCH", settings, json!({"chat": {}})),
        ("PATCH", "/indexes/films/settings/embedders", json!({"films": composite})),
        ("PATCH", "/indexes/films/settings/embedders", json!({"films": fragments})),
        ("PUT", "/indexes/films/settings/foreign-keys", foreign),
        ("PATCH", "/indexes/films/settings/chat", json!({})),
    ]
}

/// Switches all features off. The requests by what they are refused for: routes with the bodies of their examples, and the
/// bodies above.
pub(super) fn refusals(recorder: &Recorder, routes: &[Route], document: &Value) -> Folded {
    const SWITCHES: &str = "/experimental-features";
    recorder.send_json("PATCH", SWITCHES, &switched(false, document));
    let mut shared = Shared::default();
    let mut add = |what: String, answer: String| {
        let kind =
            if answer.contains("feature_not_enabled") { "refused" } else { "accepted, or refused for something else" };
        shared.add(kind, answer, what);
    };
    for route in routes.iter().filter(|route| route.pattern != SWITCHES) {
        let example = route.operation.pointer("/requestBody/content/application~1json/example");
        let answer = match example {
            Some(example) => recorder.send_json(&route.method, &route.path, example),
            None if route.schema().is_some() => recorder.send_json(&route.method, &route.path, &json!({})),
            None => recorder.send(recorder.request(&route.method, &route.path)),
        };
        add(route.name(), answer);
    }
    for (method, path, body) in bodies() {
        add(format!("{method} {path} {body}"), recorder.send_json(method, path, &body));
    }
    shared.folded(routes)
}
