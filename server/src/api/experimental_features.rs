//! `/experimental-features`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::blocking;
use lamina_protocol::wire::schema::{exactly, flag, or_null};
use serde_json::Value;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/experimental-features", Action::ExperimentalGet)
        .about("Get the experimental features", Answer::Ok("Features"))
        .run(|request| Box::pin(show(request))),
    Route::patch("/experimental-features", Action::ExperimentalUpdate)
        .about("Turn experimental features on or off", Answer::Ok("Features"))
        .json(body, r#"{ "metrics": true }"#)
        .run(|request| Box::pin(change(request))),
];

fn body() -> Value {
    exactly(Feature::ALL.iter().map(|feature| (feature.name(), or_null(flag()))), &[])
}

async fn show(request: Request) -> ApiResult<Response> {
    Ok(json_answer(StatusCode::OK, &request.state().features.show()))
}

async fn change(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let body = request.json().await?;
    let shown = blocking(move || state.features.change(&body)).await??;
    Ok(json_answer(StatusCode::OK, &shown))
}
