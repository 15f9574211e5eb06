//! The answers to valid parameters.

use std::collections::BTreeMap;

use regex::Regex;
use reqwest::Url;
use reqwest::blocking::{RequestBuilder, Response};
use serde_json::{Value, json};

use super::Lines;
use super::answers::Recorder;
use super::pairs::{Pair, STATE, lists, searches, similar};

const INDEX: &str = "/indexes/{indexUid}";
/// A parameter that no query string has.
const OF_BODIES: &str = "media";

/// Sends what [`Pair`] has.
struct Sender<'a> {
    recorder: &'a Recorder,
    /// The number of the first state of the index.
    state: String,
    digits: Regex,
}

impl Sender<'_> {
    /// The answer to both, which is the same.
    fn answer(&self, get: &str, post: &str, pair: &Pair) -> String {
        let parameters = pair.query.split('&').filter_map(|pair| pair.split_once('='));
        let parameters = parameters.map(|(name, value)| (name, if value == STATE { &*self.state } else { value }));
        let url = Url::parse_with_params("http://localhost", parameters).expect("a URL");
        let path = format!("{get}?{}", url.query().expect("parameters"));
        let by_query = self.body(self.recorder.request("GET", &path));
        let by_body = self.body(self.recorder.request("POST", post).json(&self.with_state(&pair.body)));
        assert_eq!(by_query, by_body, "{} and {}", pair.query, pair.body);
        by_body
    }

    fn with_state(&self, body: &Value) -> Value {
        let text = body.to_string().replace(&json!(STATE).to_string(), &self.state);
        serde_json::from_str(&text).expect("JSON")
    }

    /// The body of an answer, without what differs between runs.
    fn body(&self, request: RequestBuilder) -> String {
        let response = request.send().expect("an answer");
        let status = response.status();
        let body: Value = response.json().expect("JSON");
        let text = self.recorder.masked(&body.to_string());
        // The last digits of a score depend on the processor.
        format!("{} {}", status.as_u16(), self.digits.replace_all(&text, "$1"))
    }
}

/// The answers to a valid value of each parameter, by their routes. Searches come again where others read their parameters:
/// among several, merged with others, and in the values of a facet.
pub(super) fn answers(recorder: &Recorder, document: &Value) -> BTreeMap<String, Lines> {
    let list = recorder.request("GET", "/indexes/films/generations").send().and_then(Response::json::<Value>);
    let list = list.expect("a list");
    let oldest = list["results"].as_array().and_then(|states| states.last()).expect("a state");
    let digits = Regex::new(r"(\d\.\d{6})\d+").expect("a pattern");
    let sender = Sender { recorder, state: oldest["generation"].to_string(), digits };
    let mut answers = BTreeMap::new();
    for (get, post, pairs) in [
        ("/search", "/search", searches()),
        ("/similar", "/similar", similar()),
        ("/documents", "/documents/fetch", lists()),
    ] {
        every_parameter_is_among(document, (get, post), &pairs);
        let paths = [get, post].map(|path| format!("/indexes/films{path}"));
        let lines = pairs.iter().map(|pair| (pair.query.to_owned(), sender.answer(&paths[0], &paths[1], pair)));
        answers.insert(get.to_owned(), lines.collect());
    }
    type Wrap = fn(Value) -> Value;
    let others: [(&str, &str, Wrap); 3] = [
        ("one of several", "/multi-search", |query| json!({"queries": [with(query, "indexUid", "films")]})),
        ("merged", "/multi-search", |query| json!({"federation": {}, "queries": [with(query, "indexUid", "films")]})),
        ("of a facet", "/indexes/films/facet-search", |query| with(query, "facetName", "genre")),
    ];
    for (name, path, wrap) in others {
        let line = |body: &Value| recorder.send_json("POST", path, &wrap(sender.with_state(body)));
        let lines = searches().into_iter().map(|pair| (pair.query.to_owned(), line(&pair.body)));
        answers.insert(name.to_owned(), lines.collect());
    }
    answers
}

fn with(mut query: Value, name: &str, value: &str) -> Value {
    query[name] = value.into();
    query
}

/// A parameter without its pair would be one that no answer depends on.
fn every_parameter_is_among(document: &Value, (get, post): (&str, &str), pairs: &[Pair]) {
    let operation = |path: &str, method: &str| &document["paths"][format!("{INDEX}{path}")][method];
    for parameter in operation(get, "get")["parameters"].as_array().expect("parameters") {
        let name = parameter["name"].as_str().expect("a name");
        let has = |pair: &Pair| pair.query.split('&').any(|part| part.split('=').next() == Some(name));
        assert!(parameter["in"] != "query" || pairs.iter().any(has), "{get} has `{name}`, and no pair");
    }
    let schema = &operation(post, "post")["requestBody"]["content"]["application/json"]["schema"];
    for name in schema["properties"].as_object().expect("fields").keys().filter(|name| *name != OF_BODIES) {
        assert!(pairs.iter().any(|pair| pair.body.get(name).is_some()), "{post} has `{name}`, and no pair");
    }
}
