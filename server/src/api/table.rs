//! Every route of the server.

use std::sync::OnceLock;

use lamina_base::error::ApiResult;
use warp::reply::Response;

use super::openapi::tags::{ANALYTICS, DOCUMENTS, INDEXES, KEYS, MODELS, SEARCH, SERVER, SETTINGS, TASKS, WEBHOOKS};
use super::{
    aliases, analytics, backups, changes, chats, docs, documents, events, experimental_features, experiments, export,
    fields, generations, health, history, indexes, keys, logs, mcp, metrics, multi_search, network, openapi, page,
    render, replicas, rules, sample, search, settings, stats, task_streams, tasks, webhooks,
};
use crate::http::json_text;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route, Table};

/// All of them, in the order of the description that clients read.
pub(crate) const ROUTES: Table = Table(&[
    (SERVER, page::ROUTES),
    (SERVER, health::ROUTES),
    (SERVER, &[DESCRIPTION]),
    (SERVER, docs::ROUTES),
    (SERVER, stats::OF_SERVER),
    (SERVER, history::ROUTES),
    (SERVER, sample::ROUTES),
    (INDEXES, stats::OF_INDEX),
    (INDEXES, indexes::ROUTES),
    (INDEXES, fields::ROUTES),
    (INDEXES, generations::ROUTES),
    (INDEXES, changes::ROUTES),
    (INDEXES, aliases::ROUTES),
    (DOCUMENTS, documents::ROUTES),
    (SETTINGS, settings::ROUTES),
    (SEARCH, search::ROUTES),
    (SEARCH, multi_search::ROUTES),
    (ANALYTICS, events::ROUTES),
    (ANALYTICS, analytics::ROUTES),
    (ANALYTICS, experiments::ROUTES),
    (MODELS, mcp::ROUTES),
    (TASKS, tasks::ROUTES),
    (TASKS, task_streams::ROUTES),
    (SERVER, experimental_features::ROUTES),
    (SERVER, backups::ROUTES),
    (SERVER, network::ROUTES),
    (SERVER, replicas::ROUTES),
    (KEYS, keys::ROUTES),
    (SEARCH, rules::ROUTES),
    (MODELS, render::ROUTES),
    (MODELS, chats::ROUTES),
    (WEBHOOKS, webhooks::ROUTES),
    (SERVER, export::ROUTES),
    (SERVER, metrics::ROUTES),
    (SERVER, logs::ROUTES),
]);

/// Open to everyone, like other documentation.
const DESCRIPTION: Route = Route::open("/openapi.json")
    .about("This description", Answer::Ok("Description"))
    .run(|request| Box::pin(describe(request)));

async fn describe(_: Request) -> ApiResult<Response> {
    static TEXT: OnceLock<Vec<u8>> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi::document(ROUTES).to_string().into_bytes());
    Ok(json_text(text.clone()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;
    use lamina_data::telemetry::{FULL_BYTES, RequestFacts, Telemetry};
    use serde_json::json;
    use warp::http::{HeaderMap, HeaderValue};

    use super::*;
    use crate::http::requests::Endpoint;

    /// Routes that need no key.
    const OPEN: [&str; 8] =
        ["/", "/health", "/openapi.json", "/docs", "/docs/api", "/docs/errors", "/docs/search", "/docs/{kind}/{page}"];

    #[test]
    fn all_but_a_few_routes_need_an_action() {
        let open = ROUTES.routes().filter(|route| route.endpoint.needed.is_none());
        assert_eq!(open.map(|route| route.endpoint.pattern).collect::<Vec<_>>(), OPEN);
    }

    #[test]
    fn all_but_one_route_are_described() {
        let others = ROUTES.routes().filter(|route| !route.is_listed());
        assert_eq!(others.map(|route| route.endpoint.pattern).collect::<Vec<_>>(), ["/network/control"]);
    }

    #[test]
    fn no_route_hides_another_one() {
        for Endpoint { method, pattern, .. } in ROUTES.routes().map(|route| route.endpoint) {
            // A pattern is a path of itself.
            assert_eq!(ROUTES.find(method, pattern).unwrap().endpoint.pattern, pattern, "{method}");
        }
    }

    #[test]
    fn requests_have_the_pattern_of_their_route() {
        let of = |method: &str, path: &str| ROUTES.find(method, path).map(|route| route.endpoint.pattern);
        assert_eq!(of("GET", "/"), Some("/"));
        assert_eq!(of("POST", "/indexes/films/search"), Some("/indexes/{indexUid}/search"));
        assert_eq!(of("POST", "/tasks/cancel"), Some("/tasks/cancel"));
        assert_eq!(of("GET", "/tasks/12"), Some("/tasks/{taskUid}"));
        assert_eq!(of("GET", "/tasks/stream"), Some("/tasks/stream"));
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
            for route in ROUTES.routes() {
                let (Some(event), Endpoint { method, pattern, .. }) = (route.event, route.endpoint) else { continue };
                let text = HeaderValue::from_str(&String::from(letter).repeat(500)).unwrap();
                let mut headers = HeaderMap::new();
                headers.insert("content-type", text.clone());
                headers.insert("user-agent", text);
                telemetry.request(
                    &RequestFacts::new(event, method, pattern, None, &headers),
                    200,
                    Duration::ZERO,
                    None,
                );
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
