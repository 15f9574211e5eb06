//! Anonymous usage figures, for an operator who wants to share them: counts and switches, never what is stored, asked
//! for, or who asks. Off unless `--telemetry-url` names a collector. What is gathered is listed in `docs/reference/telemetry.md`.
//!
//! Routes report [`Facts`] beside their answers; the front passes them on with what every request has. They are added up
//! as they come, so memory does not grow with the number of requests. `usage_report` sends them.

mod aggregate;
mod facts;
mod settings;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use http::{HeaderMap, header};
use lamina_base::timestamp::Timestamp;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

pub use facts::{Facts, SearchFacts};

use aggregate::Aggregate;

/// Most bytes of one batch.
pub const BATCH_BYTES_MAX: usize = 500_000;
/// With this many bytes of figures a batch is full: there must be room for what surrounds them.
pub const FULL_BYTES: usize = BATCH_BYTES_MAX / 5 * 4;
/// Texts of a set that are reported; user agents may be many.
const TEXT_BYTES_MAX: usize = 200;

/// Collected figures that have not been sent yet. Shared by reference.
#[derive(Debug)]
pub struct Telemetry {
    is_on: bool,
    started: Instant,
    events: Mutex<BTreeMap<&'static str, Aggregate>>,
    /// Notified when a batch is full.
    pub full: Notify,
}

/// Facts that every request has.
#[derive(Debug)]
pub struct RequestFacts {
    /// Event that the request counts for.
    pub event: &'static str,
    pub method: &'static str,
    pub pattern: &'static str,
    /// Names of the parameters of its query string, with no values.
    pub parameters: Vec<String>,
    pub(crate) user_agent: Option<String>,
    pub content_type: Option<String>,
}

impl RequestFacts {
    pub fn new(
        event: &'static str,
        method: &'static str,
        pattern: &'static str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> RequestFacts {
        let text = |name: &str| Some(cut(headers.get(name)?.to_str().ok()?));
        let names = query.unwrap_or_default().split('&').filter_map(|pair| pair.split('=').next());
        RequestFacts {
            event,
            method,
            pattern,
            parameters: names.filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            user_agent: text("x-meilisearch-client").or_else(|| text(header::USER_AGENT.as_str())),
            content_type: text(header::CONTENT_TYPE.as_str()),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.parameters.iter().any(|parameter| parameter == name)
    }
}

fn cut(text: &str) -> String {
    let mut end = text.len().min(TEXT_BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text[..end].to_owned()
}

impl Telemetry {
    /// Gathers only when it `is_on`.
    pub fn new(is_on: bool) -> Telemetry {
        Telemetry { is_on, started: Instant::now(), events: Mutex::default(), full: Notify::new() }
    }

    /// Reports whether figures are collected.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Days since the process started.
    pub fn days(&self) -> u64 {
        self.started.elapsed().as_secs() / 86_400
    }

    /// Adds up a request that was answered.
    pub fn request(&self, request: &RequestFacts, status: u16, duration: Duration, facts: Option<&Facts>) {
        let mut events = self.events.lock();
        let event = events.entry(request.event).or_default();
        for agent in request.user_agent.iter().flat_map(|agents| agents.split(';')) {
            event.text("user_agent", agent.trim());
        }
        if request.method != "GET"
            && let Some(content_type) = &request.content_type
        {
            event.text("payload_type", content_type);
        }
        event.count("requests.total_received", 1);
        if status < 400 {
            event.count("requests.total_succeeded", 1);
            event.percentile("requests.99th_response_time", duration.as_millis());
        } else {
            event.count("requests.total_failed", 1);
        }
        facts::of_parameters(event, request);
        if let Some(facts) = facts {
            facts.add_to(event);
        }
        if events.values().map(Aggregate::bytes).sum::<usize>() >= FULL_BYTES {
            self.full.notify_one();
        }
    }

    /// Takes what was gathered, as events.
    pub fn take(&self) -> Vec<Value> {
        let events = std::mem::take(&mut *self.events.lock());
        let now = Timestamp::now();
        events
            .into_iter()
            .map(|(name, event)| json!({ "event": name, "timestamp": now, "properties": event.into_properties() }))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn requests_add_up_and_are_taken_once() {
        let telemetry = Telemetry::new(true);
        let mut headers = HeaderMap::new();
        headers.insert("user-agent", HeaderValue::from_static("a/1; b/2"));
        headers.insert("content-type", HeaderValue::from_static("text/nonsense"));
        let request = RequestFacts::new(
            "Documents Added",
            "POST",
            "/indexes/{indexUid}/documents",
            Some("primaryKey=secret"),
            &headers,
        );
        telemetry.request(&request, 202, Duration::from_millis(3), None);
        telemetry.request(&request, 415, Duration::from_millis(3), None);
        let events = telemetry.take();
        assert_eq!(events.len(), 1);
        let properties = &events[0]["properties"];
        assert_eq!(properties["requests.total_received"], 2);
        assert_eq!(properties["requests.total_failed"], 1);
        assert_eq!(properties["user_agent"], json!(["a/1", "b/2"]));
        assert_eq!(properties["payload_type"], json!(["text/nonsense"]));
        assert!(!events[0].to_string().contains("secret"));
        assert!(telemetry.take().is_empty());
    }
}
