//! `/`: in development the console, in production a greeting.

use std::sync::LazyLock;

use lamina_base::error::ApiResult;
use lamina_base::options::Environment;
use serde_json::json;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

use super::html::Page;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::open("/").about("The console, or a greeting", Answer::Page).run(|request| Box::pin(show(request))),
    Route::open("/console/films")
        .about("4,000 films to begin with, as documents", Answer::Lines)
        .run(|request| Box::pin(films(request))),
];

/// One document that `scripts/console.sh` has built from `server/console`: its style and its script are inside, and it asks
/// only this server.
const TEXT: &str = include_str!("../../../console/dist/index.html");

/// What the console offers to a server without documents.
const FILMS: &[u8] = include_bytes!("../../../../scripts/sample/films.ndjson.zst");

static PAGE: LazyLock<Page> = LazyLock::new(|| Page::new(TEXT));

async fn show(request: Request) -> ApiResult<Response> {
    Ok(match request.state().options.service.env {
        Environment::Development => PAGE.answer(),
        Environment::Production => json_answer(StatusCode::OK, &json!({ "status": "Lamina is running" })),
    })
}

async fn films(_: Request) -> ApiResult<Response> {
    let text = zstd::decode_all(FILMS).expect("the sample was compressed by us");
    let mut response = Response::new(text.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::html::asks_nobody_else;

    #[test]
    fn the_console_stands_alone() {
        asks_nobody_else(TEXT);
    }

    #[test]
    fn it_names_no_other_server() {
        let namespaces = ["http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML", "http://www.w3.org/1999/xhtml"];
        let own = namespaces.iter().fold(TEXT.to_owned(), |text, one| text.replace(one, ""));
        let links: Vec<&str> = own.match_indices("://").map(|(place, _)| &own[place.saturating_sub(12)..place + 3]).collect();
        assert!(links.is_empty(), "{links:?}");
    }

    #[test]
    fn the_films_are_documents() {
        let text = zstd::decode_all(FILMS).unwrap();
        assert_eq!(text.iter().filter(|byte| **byte == b'\n').count(), 4000);
    }
}
