//! `/`: the console in development and with `--console`, otherwise a greeting.

use std::sync::LazyLock;

use lamina_base::error::ApiResult;
use serde_json::json;
use warp::http::StatusCode;
use warp::reply::Response;

use super::html::Page;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] =
    &[Route::open("/").about("The console, or a greeting", Answer::Page).run(|request| Box::pin(show(request)))];

/// One document that `scripts/console.sh` has built from `server/console`: its style and its script are inside, and it asks
/// only this server.
const TEXT: &str = include_str!("../../../console/dist/index.html");

/// The page that loads pictures over HTTPS, and the one that loads them over HTTP as well.
static PAGE: LazyLock<[Page; 2]> =
    LazyLock::new(|| ["https:", "https: http:"].map(|schemes| Page::with_pictures(TEXT, schemes)));

async fn show(request: Request) -> ApiResult<Response> {
    let service = &request.state().options.service;
    Ok(match service.has_console() {
        true => PAGE[usize::from(service.console_http_pictures)].answer(),
        false => json_answer(StatusCode::OK, &json!({ "status": "Lamina is running" })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::html::needs_no_other_server;

    #[test]
    fn the_console_stands_alone() {
        needs_no_other_server(TEXT);
    }

    #[test]
    fn it_names_no_other_server() {
        let never_asked = [
            "http://www.w3.org/2000/svg",
            "http://www.w3.org/1998/Math/MathML",
            "http://www.w3.org/1999/xhtml",
            "postgres://USER:PASSWORD@HOST/DATABASE",
        ];
        let own = never_asked.iter().fold(TEXT.to_owned(), |text, one| text.replace(one, ""));
        let links: Vec<&str> =
            own.match_indices("://").map(|(place, _)| &own[place.saturating_sub(12)..place + 3]).collect();
        assert!(links.is_empty(), "{links:?}");
    }
}
