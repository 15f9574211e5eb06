//! `/docs`: the manual of this version, with a search of its own; `/docs/api`: what the server answers, as a page made from `/openapi.json`.
//! Every server has both, so that the links of errors lead somewhere without a network.

mod find;
mod markdown;
mod pages;

use std::sync::LazyLock;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::tasks::blocking;
use lamina_engine::Index;
use lamina_protocol::wire::identifier::decode_path_segment;
use tokio::sync::OnceCell;
use warp::http::StatusCode;
use warp::reply::Response;

use super::html::Page;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

/// Open, like `/openapi.json`: they say what every server of this version answers, and nothing of this one.
pub(super) const ROUTES: &[Route] = &[
    Route::open("/docs").about("The manual", Answer::Html).run(|request| Box::pin(show_home(request))),
    Route::open("/docs/api")
        .about("This description as a page", Answer::Html)
        .run(|request| Box::pin(show_viewer(request))),
    Route::open("/docs/errors")
        .about("The error codes, as a page", Answer::Html)
        .run(|request| Box::pin(show_errors(request))),
    Route::open("/docs/search")
        .about("Search the manual", Answer::Ok("ManualHits"))
        .query(|| &["q"])
        .run(|request| Box::pin(search(request))),
    Route::open("/docs/{kind}/{page}")
        .about("A page of the manual", Answer::Html)
        .run(|request| Box::pin(show_page(request))),
];

static VIEWER: LazyLock<Page> = LazyLock::new(|| Page::new(viewer()));
/// The index of the manual, from the first search on.
static INDEX: OnceCell<Index> = OnceCell::const_new();

async fn show_home(_: Request) -> ApiResult<Response> {
    Ok(Page::new(pages::home("docs/")).answer())
}

async fn show_viewer(_: Request) -> ApiResult<Response> {
    Ok(VIEWER.answer())
}

async fn show_errors(_: Request) -> ApiResult<Response> {
    answer_page("reference/errors", "")
}

async fn show_page(request: Request) -> ApiResult<Response> {
    let part = |name: &str| decode_path_segment(request.part(name));
    answer_page(&format!("{}/{}", part("kind"), part("page")), "../")
}

fn answer_page(path: &str, root: &str) -> ApiResult<Response> {
    let page = pages::page(path, root).ok_or_else(|| {
        let message = format!("The manual has no page `{path}`. `/docs` lists its pages.");
        ApiError::new(Code::ManualPageNotFound, message)
    })?;
    Ok(Page::new(page).answer())
}

async fn search(request: Request) -> ApiResult<Response> {
    let q = find::query(&request.query())?;
    let index = INDEX.get_or_try_init(|| async { blocking(find::index).await? }).await?;
    let found = request.state().searches.run(move || find::find(index, &q)).await??;
    Ok(json_answer(StatusCode::OK, &found))
}

fn viewer() -> String {
    let (head, style) = (include_str!("head.html"), include_str!("style.css"));
    let (body, script) = (include_str!("body.html"), include_str!("viewer.js"));
    format!(
        "{head}<title>Lamina: HTTP interface</title>\n<style>{style}</style>\n{body}<script>{script}</script>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use lamina_base::error::Code;

    use super::*;
    use crate::api::html::stands_alone;

    #[test]
    fn the_page_of_routes_stands_alone() {
        stands_alone(&viewer());
    }

    #[test]
    fn every_code_has_its_place_on_the_page_of_errors() {
        let page = pages::page("reference/errors", "").expect("a page");
        for code in Code::ALL {
            assert!(page.contains(&format!("<h3 id=\"{code}\">")), "{code}");
        }
    }
}
