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
    &[Route::open("/").about("The search page, or a greeting", Answer::Page).run(|request| Box::pin(show(request)))];

/// One document, without a build step: its style and its script are inside, and it asks only this server.
const TEXT: &str = concat!(
    include_str!("head.html"),
    "<style>\n",
    include_str!("style.css"),
    "</style>\n",
    include_str!("body.html"),
    "<script>",
    include_str!("base.js"),
    include_str!("values.js"),
    include_str!("facets.js"),
    include_str!("search.js"),
    include_str!("side.js"),
    include_str!("views.js"),
    include_str!("indexes.js"),
    include_str!("documents.js"),
    include_str!("playground.js"),
    include_str!("names.js"),
    include_str!("server.js"),
    include_str!("tools.js"),
    include_str!("live.js"),
    include_str!("start.js"),
    "</script>\n</body>\n</html>\n",
);

static PAGE: LazyLock<Page> = LazyLock::new(|| Page::new(TEXT));

async fn show(request: Request) -> ApiResult<Response> {
    Ok(match request.state().options.service.has_console() {
        true => PAGE.answer(),
        false => json_answer(StatusCode::OK, &json!({ "status": "Lamina is running" })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::html::stands_alone;

    #[test]
    fn the_page_stands_alone() {
        stands_alone(TEXT);
        assert!(!TEXT.contains("http:"));
        assert!(!TEXT.contains("https:"));
    }
}
