//! `/experimental-features`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::tasks::blocking;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let get = warp::path!("experimental-features").and(warp::get()).and(request(state));
    let patch = warp::path!("experimental-features").and(warp::patch()).and(request(state));
    let get = get.then(|request| {
        respond(request, async |request: Request| Ok(json_answer(StatusCode::OK, &request.state().features.show())))
    });
    let patch = patch.then(|request| respond(request, async |request| change(request).await));
    any_of([get.boxed(), patch.boxed()])
}

async fn change(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let body = request.json().await?;
    let shown = blocking(move || state.features.change(&body)).await??;
    Ok(json_answer(StatusCode::OK, &shown))
}
