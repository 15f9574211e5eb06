//! `/`: in development a page to search with, in production a greeting.

use std::sync::Arc;

use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;

use super::html::Page;
use crate::app::AppState;
use crate::http::json_answer;
use crate::options::Environment;
use crate::routes::Routes;

/// One document, without a build step: its style and its script are inside, and it asks only this server.
const PAGE: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>",
    include_str!("page/base.js"),
    include_str!("page/values.js"),
    include_str!("page/facets.js"),
    include_str!("page/search.js"),
    include_str!("page/side.js"),
    include_str!("page/views.js"),
    include_str!("page/indexes.js"),
    include_str!("page/documents.js"),
    include_str!("page/playground.js"),
    include_str!("page/names.js"),
    include_str!("page/server.js"),
    include_str!("page/tools.js"),
    include_str!("page/live.js"),
    include_str!("page/start.js"),
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
    use crate::routes::html::stands_alone;

    #[test]
    fn the_page_stands_alone() {
        stands_alone(PAGE);
        assert!(!PAGE.contains("http:") && !PAGE.contains("https:"));
    }
}
