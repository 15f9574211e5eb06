//! A collector of telemetry that every server of the tests sends to, and that reads every word of it.
//!
//! Events must be made of what `docs/reference/telemetry.md` lists: known names, numbers and switches, and words of a short list.
//! Besides, nothing that the server was sent may stand in them: no text of a body, no path, no key.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::Value;

use crate::receiver::{Reply, answering};

/// Bodies by the path they were posted to.
type Bodies = Mutex<BTreeMap<String, Vec<String>>>;

/// Listens as long as the tests run.
struct Collector {
    origin: String,
    bodies: Arc<Bodies>,
}

fn collector() -> &'static Collector {
    static COLLECTOR: OnceLock<Collector> = OnceLock::new();
    COLLECTOR.get_or_init(|| {
        let bodies = Arc::new(Bodies::default());
        let received = Arc::clone(&bodies);
        let origin = answering(move |request| {
            let text = request.text().to_owned();
            received.lock().expect("no thread panicked").entry(request.path).or_default().push(text);
            Some(Reply::new(200, ""))
        });
        Collector { origin, bodies }
    })
}

/// Texts sent to a server, and the path of its figures.
pub(crate) struct Watch {
    path: String,
    sent: Mutex<BTreeSet<String>>,
}

/// Texts that are remembered of what a server is sent: beginnings of this length ...
const TEXT_BYTES: usize = 48;
/// ... of texts that no word of an event is part of by chance, and as many as this.
const TEXT_BYTES_MIN: usize = 10;
const TEXTS_MAX: usize = 3000;

impl Watch {
    pub(crate) fn new() -> Watch {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = format!("/servers/{}", COUNT.fetch_add(1, Ordering::Relaxed));
        Watch { path, sent: Mutex::default() }
    }

    /// Options that make a server send its figures here.
    pub(crate) fn url(&self) -> String {
        format!("{}{}", collector().origin, self.path)
    }

    pub(crate) fn bodies(&self) -> Vec<String> {
        collector().bodies.lock().expect("no thread panicked").get(&self.path).cloned().unwrap_or_default()
    }

    /// Remembers a request.
    pub(crate) fn saw(&self, request: &reqwest::blocking::Request) {
        let mut sent = self.sent.lock().expect("no thread panicked");
        let mut keep = |text: &str| {
            if sent.len() < TEXTS_MAX && text.len() >= TEXT_BYTES_MIN && !is_word(text) {
                sent.insert(text.chars().take(TEXT_BYTES).collect());
            }
        };
        request.url().path_segments().into_iter().flatten().filter(|part| !is_path(part)).for_each(&mut keep);
        request.url().query_pairs().for_each(|(_, value)| keep(&value));
        if let Some(token) = request.headers().get("authorization").and_then(|value| value.to_str().ok()) {
            keep(token.trim_start_matches("Bearer "));
        }
        if let Some(body) = request.body().and_then(reqwest::blocking::Body::as_bytes)
            && let Ok(body) = serde_json::from_slice(body)
        {
            texts(&body, &mut keep);
        }
    }

    /// Reads all that came, and panics at what should not have.
    pub(crate) fn check(&self, secrets: &[&str]) {
        let sent = self.sent.lock().expect("no thread panicked");
        for body in self.bodies() {
            assert!(body.len() <= 500_000, "{} bytes", body.len());
            let mut batch: Value = serde_json::from_str(&body).expect("JSON");
            let mut open = BTreeSet::new();
            for event in batch["events"].as_array_mut().expect("events") {
                check_event(event, &mut open);
            }
            // Names are those of the list.
            let mut rest = String::new();
            texts(&batch, &mut |text| rest = format!("{rest}{text}\n"));
            for secret in sent.iter().map(String::as_str).chain(secrets.iter().copied()) {
                assert!(!rest.contains(secret), "`{secret}` is sent: {rest}");
            }
            for secret in secrets {
                assert!(!open.iter().any(|text| text.contains(secret)), "`{secret}` is sent: {open:?}");
            }
        }
    }
}

/// Parts of paths that are the same for all clients.
fn is_path(part: &str) -> bool {
    part.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

fn texts(value: &Value, keep: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => keep(text),
        Value::Array(values) => values.iter().for_each(|value| texts(value, keep)),
        // Names of settings and parameters are those of their figures.
        Value::Object(object) => object.values().for_each(|value| texts(value, keep)),
        _ => {}
    }
}

/// Every event that there is.
const EVENTS: [&str; 24] = [
    "Instance",
    "Documents Searched",
    "Documents Searched by Multi-Search",
    "Facet Searched",
    "Similar Documents Searched",
    "Documents Added",
    "Documents Updated",
    "Documents Edited by Function",
    "Documents Fetched",
    "Documents Deleted",
    "Settings Updated",
    "Index Created",
    "Index Updated",
    "Network Updated",
    "Indexes Swapped",
    "Stats Seen",
    "Tasks Seen",
    "Tasks Canceled",
    "Tasks Deleted",
    "Dump Created",
    "Snapshot Created",
    "Export",
    "Webhook Created",
    "Webhook Updated",
];

/// Texts that may occur in an event, besides languages and rules.
const WORDS: [&str; 29] = [
    "estimated",
    "exhaustive",
    "last",
    "all",
    "frequency",
    "any",
    "string",
    "array",
    "byWord",
    "byAttribute",
    "indexingTime",
    "disabled",
    "openAi",
    "huggingFace",
    "userProvided",
    "rest",
    "ollama",
    "composite",
    "static",
    "production",
    "development",
    "human",
    "json",
    "off",
    "error",
    "warn",
    "info",
    "debug",
    "trace",
];

const RULES: [&str; 13] = [
    "words",
    "typo",
    "proximity",
    "attribute",
    "attributeRank",
    "wordPosition",
    "sort",
    "exactness",
    "*:asc",
    "*:desc",
    "boost",
    "decay",
    "boostIf",
];

/// Figures that are texts of requests on purpose.
const OPEN: [&str; 3] = ["user_agent", "payload_type", "primary_key"];

fn is_word(text: &str) -> bool {
    WORDS.contains(&text) || RULES.contains(&text)
}

/// Checks the names and values of an event, and takes its texts of requests out of it.
fn check_event(event: &mut Value, open: &mut BTreeSet<String>) {
    let name = event["event"].as_str().expect("a name").to_owned();
    assert!(EVENTS.contains(&name.as_str()), "an event that the page does not list: {name}");
    let properties = event["properties"].as_object_mut().expect("properties");
    for text in OPEN.iter().filter_map(|name| properties.remove(*name)) {
        texts(&text, &mut |text| {
            open.insert(text.to_owned());
        });
    }
    for (name, value) in properties {
        assert!(
            include_str!("telemetry_names.txt").lines().any(|known| known == name),
            "a figure that the page does not list: {name}"
        );
        let is_about_the_machine = name.starts_with("system.") || name == "context.app.version";
        texts(value, &mut |text| {
            let is_known = match name.as_str() {
                "locales" => text.len() == 3 && text.chars().all(|letter| letter.is_ascii_lowercase()),
                "ranking_rules.values" => text.is_empty() || text.split(", ").all(|rule| RULES.contains(&rule)),
                _ => WORDS.contains(&text),
            };
            assert!(is_known || is_about_the_machine, "{name}: {text}");
        });
    }
}
