//! `/`: in development a page to search with, in production a greeting.

use std::sync::Arc;

use lamina_base::options::Environment;
use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;

use super::html::Page;
use crate::api::Routes;
use crate::app::AppState;
use crate::http::json_answer;

/// One document, without a build step: its style and its script are inside, and it asks only this server.
const PAGE: &str = concat!(
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

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let is_development = state.options.service.env == Environment::Development;
    let page = Page::new(PAGE);
    let root = warp::path::end().and(warp::get());
    root.map(move || match is_development {
        true => page.answer(),
        false => json_answer(StatusCode::OK, &json!({ "status": "Lamina is running" })),
    })
    .boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::html::stands_alone;

    #[test]
    fn the_page_stands_alone() {
        stands_alone(PAGE);
        assert!(!PAGE.contains("http:") && !PAGE.contains("https:"));
    }
}
