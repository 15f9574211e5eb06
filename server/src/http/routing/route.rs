//! A route in one row.

use lamina_data::access::{Action, Needed};
use serde_json::Value;
use warp::reply::Response;

use crate::http::requests::{Endpoint, Handler, Origin, respond};

/// The parts of a path between slashes; those behind its end are empty.
pub(super) type Parts<'p> = [&'p str; PARTS_MAX];

/// No route has more of them.
const PARTS_MAX: usize = 4;

/// Body of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    None,
    /// JSON of this schema. The example is JSON too, or empty.
    Json {
        schema: fn() -> Value,
        example: &'static str,
        is_required: bool,
    },
    /// JSON, lines of JSON, or CSV.
    Documents,
}

/// Response of a route on success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 200 with this schema of the components.
    Ok(&'static str),
    /// 201 with this schema.
    Created(&'static str),
    /// 200 or 202 with a registered task.
    Task(u16),
    /// 204
    Nothing,
    /// 200 with text.
    Text,
    /// 200 with a page, or with JSON in production.
    Page,
    /// 200 with a page.
    Html,
    /// 200 with a message of JSON-RPC, or 202 without one.
    Message,
    /// 200 with a JSON object a line.
    Lines,
    /// 200 with server-sent events.
    Events,
}

/// Query parameters of lists that are read page by page.
pub(crate) const PAGE: &[&str] = &["offset", "limit"];

/// A route: its method and pattern, the actions that a key needs, its description, and its handler. `H` is `()` until
/// [`Route::run`] sets the handler.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Route<H = Handler> {
    pub(crate) endpoint: Endpoint,
    parts: Parts<'static>,
    /// Condition on the text that the last part of a path may be; `None`: any.
    last: Option<fn(&str) -> bool>,
    /// Purpose in one line. `None`: the protocol has the route, but only for another kind of server. The route then answers
    /// that, and descriptions and statistics leave it out.
    pub(crate) summary: Option<&'static str>,
    pub(crate) body: Body,
    pub(crate) answer: Answer,
    /// Names of its query parameters. Those of every route that registers a task are not among them.
    pub(crate) query: fn() -> &'static [&'static str],
    /// Event of telemetry that its requests count for. `None`: they are not counted.
    pub(crate) event: Option<&'static str>,
    pub(super) handler: H,
}

impl Route<()> {
    /// A route that any client may use without a key.
    pub(crate) const fn open(pattern: &'static str) -> Route<()> {
        Route::new(Endpoint { method: "GET", pattern, needed: None })
    }

    pub(crate) const fn get(pattern: &'static str, action: Action) -> Route<()> {
        Route::with_action("GET", pattern, action)
    }

    pub(crate) const fn post(pattern: &'static str, action: Action) -> Route<()> {
        Route::with_action("POST", pattern, action)
    }

    pub(crate) const fn put(pattern: &'static str, action: Action) -> Route<()> {
        Route::with_action("PUT", pattern, action)
    }

    pub(crate) const fn patch(pattern: &'static str, action: Action) -> Route<()> {
        Route::with_action("PATCH", pattern, action)
    }

    pub(crate) const fn delete(pattern: &'static str, action: Action) -> Route<()> {
        Route::with_action("DELETE", pattern, action)
    }

    const fn with_action(method: &'static str, pattern: &'static str, action: Action) -> Route<()> {
        Route::new(Endpoint { method, pattern, needed: Some(Needed::only(action)) })
    }

    const fn new(endpoint: Endpoint) -> Route<()> {
        let parts = split(endpoint.pattern);
        Route {
            endpoint,
            parts,
            last: None,
            summary: None,
            body: Body::None,
            answer: Answer::Nothing,
            query: || &[],
            event: None,
            handler: (),
        }
    }

    /// Keys need another action besides.
    pub(crate) const fn also(mut self, action: Action) -> Route<()> {
        if let Some(needed) = &mut self.endpoint.needed {
            needed.also = Some(action);
        }
        self
    }

    /// The last part of a path is of this kind, or there is no such path.
    pub(crate) const fn where_last(mut self, is_of_kind: fn(&str) -> bool) -> Route<()> {
        self.last = Some(is_of_kind);
        self
    }

    /// Sets its purpose in one line, and its response on success.
    pub(crate) const fn about(mut self, summary: &'static str, answer: Answer) -> Route<()> {
        (self.summary, self.answer) = (Some(summary), answer);
        self
    }

    /// Sets the names of its query parameters.
    pub(crate) const fn query(mut self, parameters: fn() -> &'static [&'static str]) -> Route<()> {
        self.query = parameters;
        self
    }

    /// Sets a body of JSON: its schema, and an example, which may be empty.
    pub(crate) const fn json(mut self, schema: fn() -> Value, example: &'static str) -> Route<()> {
        self.body = Body::Json { schema, example, is_required: true };
        self
    }

    /// Works like [`Route::json`] for a body that may be missing: that stands for an empty object.
    pub(crate) const fn optional_json(mut self, schema: fn() -> Value, example: &'static str) -> Route<()> {
        self.body = Body::Json { schema, example, is_required: false };
        self
    }

    /// Sets a body of documents.
    pub(crate) const fn documents(mut self) -> Route<()> {
        self.body = Body::Documents;
        self
    }

    /// Sets the event of telemetry that its requests count for.
    pub(crate) const fn event(mut self, event: &'static str) -> Route<()> {
        self.event = Some(event);
        self
    }

    /// Sets the handler of the requests.
    pub(crate) const fn run(self, handler: Handler) -> Route {
        let Route { endpoint, parts, last, summary, body, answer, query, event, handler: () } = self;
        Route { endpoint, parts, last, summary, body, answer, query, event, handler }
    }
}

impl Route {
    /// Answers a request that another one stands for: see [`Origin::request`].
    pub(crate) async fn call(self, origin: &Origin, parts: &[&str], query: String, body: Option<Vec<u8>>) -> Response {
        respond(origin.request(self.endpoint, parts, query, body), self.handler).await
    }

    /// Reports whether the server says that it has this route.
    pub(crate) fn is_listed(&self) -> bool {
        self.summary.is_some()
    }

    /// Reports whether the answer is a page of the manual, with links that count from its address.
    pub(crate) fn answers_page(&self) -> bool {
        self.answer == Answer::Html
    }

    /// Reports whether a path with these parts is of the pattern.
    pub(super) fn matches(&self, parts: &Parts<'_>) -> bool {
        let is_of = |(wanted, part): (&&str, &&str)| wanted == part || (is_name(wanted) && !part.is_empty());
        self.parts.iter().zip(parts).all(is_of)
    }

    /// Reports whether the last part of a path of the pattern is of the kind that the route takes.
    pub(super) fn admits(&self, path: &str) -> bool {
        let last = path.rsplit('/').next().unwrap_or_default();
        self.last.is_none_or(|is_of_kind| is_of_kind(last))
    }

    /// Returns how many parts of a path can be any text.
    pub(super) fn name_count(&self) -> usize {
        self.parts.iter().filter(|part| is_name(part)).count()
    }
}

fn is_name(part: &str) -> bool {
    part.starts_with('{')
}

/// The parts of a path; `None` where they are more than any route has, or where it does not begin with a slash.
pub(super) fn parts_of(path: &str) -> Option<Parts<'_>> {
    let mut parts = [""; PARTS_MAX];
    for (at, part) in path.strip_prefix('/')?.split('/').enumerate() {
        *parts.get_mut(at)? = part;
    }
    Some(parts)
}

/// Works like [`parts_of`], when the program is compiled.
const fn split(pattern: &'static str) -> Parts<'static> {
    let mut parts = [""; PARTS_MAX];
    let (_, mut rest) = pattern.split_at(1);
    let (mut part, mut at) = (0, 0);
    while at < rest.len() {
        if rest.as_bytes()[at] == b'/' {
            let (before, behind) = rest.split_at(at);
            parts[part] = before;
            (_, rest) = behind.split_at(1);
            (part, at) = (part + 1, 0);
        } else {
            at += 1;
        }
    }
    parts[part] = rest;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_split_as_paths_are() {
        for path in ["/", "/health", "/docs/errors", "/indexes/{indexUid}/documents/{documentId}"] {
            assert_eq!(parts_of(path), Some(split(path)), "{path}");
        }
        assert_eq!(split("/a/{b}"), ["a", "{b}", "", ""]);
        assert_eq!(parts_of("/a/b/c/d/e"), None);
        assert_eq!(parts_of("*"), None);
    }
}
