//! Every route of the server by method and pattern: for statistics, for the description that clients read, and for the
//! test that compares both with what is really answered.

/// Method and pattern; a part in braces stands for any text without a slash.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("GET", "/"),
    ("GET", "/health"),
    ("GET", "/version"),
    ("GET", "/openapi.json"),
    ("GET", "/docs"),
    ("GET", "/docs/errors"),
    ("GET", "/stats"),
    ("GET", "/indexes"),
    ("POST", "/indexes"),
    ("GET", "/indexes/{indexUid}"),
    ("PATCH", "/indexes/{indexUid}"),
    ("DELETE", "/indexes/{indexUid}"),
    ("POST", "/indexes/{indexUid}/compact"),
    ("POST", "/indexes/{indexUid}/fields"),
    ("GET", "/indexes/{indexUid}/stats"),
    ("GET", "/indexes/{indexUid}/generations"),
    ("GET", "/indexes/{indexUid}/changes"),
    ("POST", "/indexes/{indexUid}/clone"),
    ("POST", "/indexes/{indexUid}/attach"),
    ("POST", "/indexes/{indexUid}/restore"),
    ("POST", "/swap-indexes"),
    ("GET", "/aliases"),
    ("PATCH", "/aliases"),
    ("GET", "/aliases/{alias}"),
    ("PUT", "/aliases/{alias}"),
    ("DELETE", "/aliases/{alias}"),
    ("GET", "/indexes/{indexUid}/documents"),
    ("POST", "/indexes/{indexUid}/documents"),
    ("PUT", "/indexes/{indexUid}/documents"),
    ("PATCH", "/indexes/{indexUid}/documents"),
    ("DELETE", "/indexes/{indexUid}/documents"),
    ("POST", "/indexes/{indexUid}/documents/fetch"),
    ("POST", "/indexes/{indexUid}/documents/delete"),
    ("POST", "/indexes/{indexUid}/documents/delete-batch"),
    ("POST", "/indexes/{indexUid}/documents/edit"),
    ("GET", "/indexes/{indexUid}/documents/{documentId}"),
    ("DELETE", "/indexes/{indexUid}/documents/{documentId}"),
    ("GET", "/indexes/{indexUid}/settings"),
    ("PATCH", "/indexes/{indexUid}/settings"),
    ("DELETE", "/indexes/{indexUid}/settings"),
    ("GET", "/indexes/{indexUid}/settings/{setting}"),
    ("PUT", "/indexes/{indexUid}/settings/{setting}"),
    ("PATCH", "/indexes/{indexUid}/settings/{setting}"),
    ("DELETE", "/indexes/{indexUid}/settings/{setting}"),
    ("GET", "/indexes/{indexUid}/search"),
    ("POST", "/indexes/{indexUid}/search"),
    ("POST", "/indexes/{indexUid}/facet-search"),
    ("POST", "/indexes/{indexUid}/completions"),
    ("GET", "/indexes/{indexUid}/similar"),
    ("POST", "/indexes/{indexUid}/similar"),
    ("POST", "/multi-search"),
    ("POST", "/mcp"),
    ("GET", "/tasks"),
    ("DELETE", "/tasks"),
    ("POST", "/tasks/cancel"),
    ("POST", "/tasks/compact"),
    ("GET", "/tasks/stream"),
    ("GET", "/tasks/{taskUid}"),
    ("GET", "/tasks/{taskUid}/documents"),
    ("GET", "/batches"),
    ("GET", "/batches/stream"),
    ("GET", "/batches/{batchUid}"),
    ("GET", "/experimental-features"),
    ("PATCH", "/experimental-features"),
    ("POST", "/snapshots"),
    ("GET", "/network"),
    ("PATCH", "/network"),
    ("GET", "/replicas"),
    ("POST", "/dumps"),
    ("GET", "/keys"),
    ("POST", "/keys"),
    ("GET", "/keys/{key}"),
    ("PATCH", "/keys/{key}"),
    ("DELETE", "/keys/{key}"),
    ("POST", "/dynamic-search-rules"),
    ("DELETE", "/dynamic-search-rules"),
    ("GET", "/dynamic-search-rules/{ruleUid}"),
    ("PATCH", "/dynamic-search-rules/{ruleUid}"),
    ("DELETE", "/dynamic-search-rules/{ruleUid}"),
    ("POST", "/render-template"),
    ("GET", "/chats"),
    ("GET", "/chats/{chatUid}"),
    ("DELETE", "/chats/{chatUid}"),
    ("GET", "/chats/{chatUid}/settings"),
    ("PATCH", "/chats/{chatUid}/settings"),
    ("DELETE", "/chats/{chatUid}/settings"),
    ("POST", "/chats/{chatUid}/chat/completions"),
    ("GET", "/webhooks"),
    ("POST", "/webhooks"),
    ("GET", "/webhooks/{uuid}"),
    ("PATCH", "/webhooks/{uuid}"),
    ("DELETE", "/webhooks/{uuid}"),
    ("POST", "/export"),
    ("GET", "/metrics"),
    ("POST", "/logs/stream"),
    ("DELETE", "/logs/stream"),
    ("POST", "/logs/stderr"),
];

/// The route of a request, if there is one. Names come before patterns, as the table lists them.
pub(crate) fn route_of(method: &str, path: &str) -> Option<(&'static str, &'static str)> {
    ROUTES.iter().copied().find(|(known, pattern)| *known == method && matches(pattern, path))
}

/// The methods of a path. Of a setting these are `PUT` and `PATCH`, though each has only one of both.
pub(crate) fn methods_of(path: &str) -> impl Iterator<Item = &'static str> {
    ROUTES.iter().filter(move |(_, pattern)| matches(pattern, path)).map(|(method, _)| *method)
}

fn matches(pattern: &str, path: &str) -> bool {
    let (mut parts, mut wanted) = (path.split('/'), pattern.split('/'));
    loop {
        match (parts.next(), wanted.next()) {
            (None, None) => return true,
            (Some(part), Some(wanted)) if part == wanted || (wanted.starts_with('{') && !part.is_empty()) => {}
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use lamina_data::telemetry::{FULL_BYTES, RequestFacts, Telemetry};
    use serde_json::json;
    use warp::http::{HeaderMap, HeaderValue};

    use super::*;

    #[test]
    fn requests_have_the_pattern_of_their_route() {
        let of = |method: &str, path: &str| route_of(method, path).map(|(_, pattern)| pattern);
        assert_eq!(of("GET", "/"), Some("/"));
        assert_eq!(of("POST", "/indexes/films/search"), Some("/indexes/{indexUid}/search"));
        assert_eq!(of("POST", "/tasks/cancel"), Some("/tasks/cancel"));
        assert_eq!(of("GET", "/tasks/12"), Some("/tasks/{taskUid}"));
        assert_eq!(of("POST", "/indexes/a/documents/fetch"), Some("/indexes/{indexUid}/documents/fetch"));
        assert_eq!(of("POST", "/health"), None);
        assert_eq!(of("GET", "/indexes//stats"), None);
        assert_eq!(of("GET", "/nowhere"), None);
    }

    #[test]
    fn a_full_batch_is_reported() {
        let telemetry = Telemetry::new(true);
        let is_full = || telemetry.full.notified().now_or_never().is_some();
        // Every kind of request, with texts that are all different at first and all the same once they are cut.
        let ask = |letter: char| {
            for &(method, pattern) in ROUTES {
                let text = HeaderValue::from_str(&String::from(letter).repeat(500)).unwrap();
                let mut headers = HeaderMap::new();
                headers.insert("content-type", text.clone());
                headers.insert("user-agent", text);
                telemetry.request(&RequestFacts::new(method, pattern, None, &headers), 200, Duration::ZERO, None);
            }
        };
        (0..1000).for_each(|_| ask('a'));
        assert!(!is_full(), "the same again is nothing more");
        ('0'..='z').filter(char::is_ascii_alphanumeric).for_each(ask);
        assert!(is_full());
        assert!(json!(telemetry.take()).to_string().len() >= FULL_BYTES);
        ask('a');
        assert!(!is_full(), "it starts anew");
    }
}
