//! Requests as spans of OpenTelemetry, until they are sent.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::HeaderMap;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

/// Spans that wait at most: those that come while a collector is away are dropped beyond it.
const WAITING_MAX: usize = 8192;
/// Spans of one request to the collector.
const SENT_AT_ONCE: usize = 512;
/// Maximum length of the names that a span carries, because clients choose them.
const PATH_BYTES_MAX: usize = 512;

/// A request that has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenSpan {
    trace: u128,
    parent: Option<u64>,
    begun: SystemTime,
}

impl OpenSpan {
    /// The span of a request that begins now: a part of the trace that its `traceparent` names, or of a new one. A caller that
    /// does not record its trace wants no spans of it here either.
    fn of(headers: &HeaderMap) -> Option<OpenSpan> {
        let begun = SystemTime::now();
        let named = headers.get("traceparent").and_then(|value| value.to_str().ok()).and_then(trace_parent);
        match named {
            Some((trace, parent, is_recorded)) => {
                is_recorded.then_some(OpenSpan { trace, parent: Some(parent), begun })
            }
            None => Some(OpenSpan { trace: Uuid::new_v4().as_u128(), parent: None, begun }),
        }
    }
}

/// Trace, span and whether they are recorded, of a header of W3C Trace Context.
fn trace_parent(text: &str) -> Option<(u128, u64, bool)> {
    let mut parts = text.trim().split('-');
    let (version, trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let has_form = [(version, 2), (trace, 32), (parent, 16), (flags, 2)]
        .iter()
        .all(|(part, len)| part.len() == *len && is_hex(part));
    // Later versions may add parts; the version ff is none.
    if !has_form || version == "ff" || version == "00" && parts.next().is_some() {
        return None;
    }
    let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
    let parent = u64::from_str_radix(parent, 16).ok().filter(|parent| *parent != 0)?;
    Some((trace, parent, u8::from_str_radix(flags, 16).ok()? & 1 == 1))
}

#[derive(Clone, Debug)]
struct Span {
    open: OpenSpan,
    id: u64,
    ended: SystemTime,
    method: &'static str,
    route: &'static str,
    path: String,
    status: u16,
}

impl Span {
    fn shown(&self) -> Value {
        let nanos = |time: SystemTime| time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_nanos().to_string();
        let text = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let mut span = json!({
            "traceId": format!("{:032x}", self.open.trace),
            "spanId": format!("{:016x}", self.id),
            "name": format!("{} {}", self.method, self.route),
            // Of a server.
            "kind": 2,
            "startTimeUnixNano": nanos(self.open.begun),
            "endTimeUnixNano": nanos(self.ended),
            "attributes": [
                text("http.request.method", self.method),
                text("http.route", self.route),
                text("url.path", &self.path),
                { "key": "http.response.status_code", "value": { "intValue": self.status.to_string() } },
            ],
        });
        if let Some(parent) = self.open.parent {
            span["parentSpanId"] = format!("{parent:016x}").into();
        }
        if self.status >= 500 {
            span["status"] = json!({ "code": 2 });
        }
        span
    }
}

/// Spans that wait to be sent. Shared by reference.
#[derive(Debug, Default)]
pub struct Spans {
    is_on: bool,
    waiting: Mutex<VecDeque<Span>>,
    /// Enough of them for a request to the collector.
    pub full: Notify,
}

impl Spans {
    /// Keeps spans if somewhere is to send them to.
    pub fn new(is_on: bool) -> Spans {
        Spans { is_on, ..Spans::default() }
    }

    /// Begins the span of a request.
    pub fn begin(&self, headers: &HeaderMap) -> Option<OpenSpan> {
        if self.is_on { OpenSpan::of(headers) } else { None }
    }

    /// Ends it: with the method and the pattern of its route, its path without secrets, and the status of its answer.
    pub fn end(&self, open: OpenSpan, route: (&'static str, &'static str), path: &str, status: u16) {
        let path = path.chars().take(PATH_BYTES_MAX / 4).collect();
        let id = Uuid::new_v4().as_u64_pair().1;
        let span = Span { open, id, ended: SystemTime::now(), method: route.0, route: route.1, path, status };
        let mut waiting = self.waiting.lock();
        if waiting.len() >= WAITING_MAX {
            waiting.pop_front();
        }
        waiting.push_back(span);
        if waiting.len() >= SENT_AT_ONCE {
            self.full.notify_one();
        }
    }

    /// Takes the next ones as the body of a request to a collector, OTLP in JSON; `None` if none waits. `instance` names this
    /// server.
    pub fn take(&self, instance: &str) -> Option<Value> {
        let taken: Vec<Span> = {
            let mut waiting = self.waiting.lock();
            let count = waiting.len().min(SENT_AT_ONCE);
            waiting.drain(..count).collect()
        };
        let attribute = |key: &str, value: &str| json!({ "key": key, "value": { "stringValue": value } });
        let resource = json!({ "attributes": [
            attribute("service.name", "lamina"),
            attribute("service.version", env!("CARGO_PKG_VERSION")),
            attribute("service.instance.id", instance),
        ] });
        let spans: Vec<Value> = taken.iter().map(Span::shown).collect();
        let scope = json!({ "scope": { "name": "lamina" }, "spans": spans });
        (!taken.is_empty()).then(|| json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [scope] }] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn headers(traceparent: &str) -> HeaderMap {
        HeaderMap::from_iter([("traceparent".parse().unwrap(), traceparent.parse().unwrap())])
    }

    #[test]
    fn traces_of_callers_go_on() {
        let spans = Spans::new(true);
        let open = spans.begin(&headers(&format!("00-{TRACE}-b7ad6b7169203331-01"))).unwrap();
        spans.end(open, ("POST", "/indexes/{indexUid}/search"), "/indexes/films/search", 503);
        let body = spans.take("me").unwrap();
        let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
        assert_eq!((&span["traceId"], &span["parentSpanId"]), (&json!(TRACE), &json!("b7ad6b7169203331")));
        assert_eq!((&span["name"], &span["kind"]), (&json!("POST /indexes/{indexUid}/search"), &json!(2)));
        assert_eq!((&span["status"]["code"], span["spanId"].as_str().unwrap().len()), (&json!(2), 16));
        let nanos = |key: &str| span[key].as_str().unwrap().parse::<u128>().unwrap();
        assert!(nanos("endTimeUnixNano") >= nanos("startTimeUnixNano"));
        assert!(nanos("startTimeUnixNano") > 1 << 60);
        assert_eq!(span["attributes"][3], json!({"key": "http.response.status_code", "value": {"intValue": "503"}}));
        assert_eq!(body["resourceSpans"][0]["resource"]["attributes"][2]["value"]["stringValue"], "me");
        assert!(spans.take("me").is_none());
    }

    #[test]
    fn without_a_usable_parent_a_trace_begins() {
        let spans = Spans::new(true);
        assert!(spans.begin(&headers(&format!("00-{TRACE}-b7ad6b7169203331-00"))).is_none(), "not recorded");
        let long = format!("00-{TRACE}-b7ad6b7169203331-01-more");
        let zero = format!("00-{}-b7ad6b7169203331-01", "0".repeat(32));
        let upper = format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase());
        for bad in ["", "00", "00-1-2-01", &long, &zero, &upper, &format!("ff-{TRACE}-b7ad6b7169203331-01")] {
            let open = spans.begin(&headers(bad)).unwrap();
            assert!(open.parent.is_none(), "{bad}");
            assert!(open.trace != 0, "{bad}");
        }
        assert!(spans.begin(&headers(&format!("01-{TRACE}-b7ad6b7169203331-01-more"))).unwrap().parent.is_some());
        assert!(Spans::new(false).begin(&HeaderMap::new()).is_none());
    }

    #[test]
    fn the_oldest_are_dropped() {
        let spans = Spans::new(true);
        for status in (0..WAITING_MAX + 2).map(|number| u16::try_from(number % 400).unwrap()) {
            spans.end(spans.begin(&HeaderMap::new()).unwrap(), ("GET", "/"), "/", status);
        }
        let counts: Vec<usize> = std::iter::from_fn(|| spans.take("me"))
            .map(|body| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().len())
            .collect();
        assert_eq!(counts, [SENT_AT_ONCE; WAITING_MAX / SENT_AT_ONCE]);
    }
}
