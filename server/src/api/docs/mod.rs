//! `/docs`: what the server answers, as a page made from `/openapi.json`; `/docs/errors`: what its error codes mean. Every
//! server has both, of its own version, so that the links of errors lead somewhere without a network.

mod errors;

use std::sync::LazyLock;

use lamina_base::error::ApiResult;
use warp::reply::Response;

use super::html::Page;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

/// Open, like `/openapi.json`: they say what every server of this version answers, and nothing of this one.
pub(super) const ROUTES: &[Route] = &[
    Route::open("/docs")
        .about("This description as a page", Answer::Html)
        .run(|request| Box::pin(show_viewer(request))),
    Route::open("/docs/errors")
        .about("The error codes, as a page", Answer::Html)
        .run(|request| Box::pin(show_errors(request))),
];

static VIEWER: LazyLock<Page> = LazyLock::new(|| Page::new(viewer()));
static ERRORS: LazyLock<Page> = LazyLock::new(|| Page::new(error_codes()));

async fn show_viewer(_: Request) -> ApiResult<Response> {
    Ok(VIEWER.answer())
}

async fn show_errors(_: Request) -> ApiResult<Response> {
    Ok(ERRORS.answer())
}

const HEAD: &str = include_str!("head.html");
const STYLE: &str = include_str!("style.css");

fn viewer() -> String {
    let (body, script) = (include_str!("body.html"), include_str!("viewer.js"));
    format!(
        "{HEAD}<title>Lamina: HTTP interface</title>\n<style>{STYLE}</style>\n{body}<script>{script}</script>\n</body>\n</html>\n"
    )
}

fn error_codes() -> String {
    let text = errors::html(include_str!("../../../../docs/reference/errors.md"));
    format!(
        "{HEAD}<title>Lamina: errors</title>\n<style>{STYLE}</style>\n</head>\n<body class=\"text\">\n<main>\n\
         <p><a href=\"../docs\">HTTP interface</a></p>\n{text}</main>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use lamina_base::error::Code;

    use super::*;
    use crate::api::html::stands_alone;

    #[test]
    fn the_pages_stand_alone() {
        stands_alone(&viewer());
        stands_alone(&error_codes());
    }

    #[test]
    fn every_code_has_its_place_on_the_page_of_errors() {
        let page = error_codes();
        for code in Code::ALL {
            assert!(page.contains(&format!("<h3 id=\"{code}\">")), "{code}");
        }
    }
}
