//! The one filter: from HTTP to the handler of a route.

use std::sync::Arc;

use warp::filters::BoxedFilter;
use warp::http::StatusCode;
use warp::path::FullPath;
use warp::reply::Response;
use warp::{Filter, Reply};

use super::route::Route;
use super::table::Table;
use crate::app::AppState;
use crate::http::body_pieces;
use crate::http::requests::{Request, respond};

/// Answers requests with the routes that were found for them, which their extensions have as `&'static Route`.
pub(crate) fn dispatch(state: &Arc<AppState>, table: Table) -> BoxedFilter<(Response,)> {
    let state = Arc::clone(state);
    let query = warp::query::raw().or(warp::any().map(String::new)).unify();
    let head = warp::ext::optional().and(warp::path::full()).and(warp::header::headers_cloned()).and(query);
    head.and(warp::body::stream())
        .then(move |route: Option<&'static Route>, path: FullPath, headers, query, body| {
            let state = Arc::clone(&state);
            async move {
                match route.filter(|route| route.admits(path.as_str())) {
                    Some(route) => {
                        let body = body_pieces(body, state.options.service.client_timeout);
                        let request = Request::new(state, route.endpoint, path, headers, query, body);
                        respond(request, route.handler).await
                    }
                    None => unrouted(table, path.as_str()).into_response(),
                }
            }
        })
        .boxed()
}

/// Returns the status that is answered, without a body, where no route takes a request: there may be others at its path.
fn unrouted(table: Table, path: &str) -> StatusCode {
    if table.methods_of(path).is_empty() { StatusCode::NOT_FOUND } else { StatusCode::METHOD_NOT_ALLOWED }
}
