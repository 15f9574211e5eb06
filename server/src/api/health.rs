//! `/health` and `/version`.

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_replication::Role;
use serde_json::json;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::open("/health")
        .about("Check the health of the server", Answer::Ok("Health"))
        .run(|request| Box::pin(health(request))),
    Route::get("/version", Action::Version)
        .about("The version", Answer::Ok("Version"))
        .run(|request| Box::pin(version(request))),
];

async fn health(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let (status, mut health) = match too_far_behind(state) {
        None => (StatusCode::OK, json!({ "status": "available" })),
        Some(lag) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "behind", "lagMs": lag })),
    };
    // Of a replica that began with nothing: how many it has still to fetch, if it knows.
    let pending = state.instance.pending_count();
    if pending != Some(0) {
        health["indexesComing"] = json!(pending);
    }
    Ok(json_answer(status, &health))
}

async fn version(_: Request) -> ApiResult<Response> {
    let version = json!({
        "commitSha": option_env!("LAMINA_COMMIT_SHA").unwrap_or("unknown"),
        "commitDate": option_env!("LAMINA_COMMIT_DATE").unwrap_or("unknown"),
        "pkgVersion": env!("CARGO_PKG_VERSION"),
    });
    Ok(json_answer(StatusCode::OK, &version))
}

/// The lag of a replica in milliseconds where it is more than the options allow; nothing was followed yet: null.
fn too_far_behind(state: &AppState) -> Option<serde_json::Value> {
    let limit = state.options.replication.max_lag.filter(|_| state.replication.role() == Role::Replica)?;
    match state.replication.lag() {
        Some(lag) if lag <= limit => None,
        lag => Some(json!(lag.map(|lag| lag.as_millis() as u64))),
    }
}
