//! `/health` and `/version`.

use std::sync::Arc;

use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;

use crate::app::AppState;
use crate::http::json_answer;
use crate::requests::{request, respond};
use crate::routes::Routes;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let health =
        warp::path!("health").and(warp::get()).map(|| json_answer(StatusCode::OK, &json!({ "status": "available" })));
    let version = warp::path!("version").and(warp::get()).and(request(state)).then(|request| {
        respond(request, async |_| {
            Ok(json_answer(
                StatusCode::OK,
                &json!({
                    "commitSha": option_env!("LAMINA_COMMIT_SHA").unwrap_or("unknown"),
                    "commitDate": option_env!("LAMINA_COMMIT_DATE").unwrap_or("unknown"),
                    "pkgVersion": env!("CARGO_PKG_VERSION"),
                }),
            ))
        })
    });
    health.or(version).unify().boxed()
}
