//! `/health` and `/version`.

use std::sync::Arc;

use lamina_replication::Role;
use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let health = warp::path!("health").and(warp::get()).map({
        let state = Arc::clone(state);
        move || {
            let (status, mut health) = match too_far_behind(&state) {
                None => (StatusCode::OK, json!({ "status": "available" })),
                Some(lag) => (StatusCode::SERVICE_UNAVAILABLE, json!({ "status": "behind", "lagMs": lag })),
            };
            // Of a replica that began with nothing: how many it has still to fetch, if it knows.
            let coming = state.instance.coming_count();
            if coming != Some(0) {
                health["indexesComing"] = json!(coming);
            }
            json_answer(status, &health)
        }
    });
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
    any_of([health.boxed(), version.boxed()])
}

/// The lag of a replica in milliseconds where it is more than the options allow; nothing was followed yet: null.
fn too_far_behind(state: &AppState) -> Option<serde_json::Value> {
    let limit = state.options.replication.max_lag.filter(|_| state.replication.role() == Role::Replica)?;
    match state.replication.lag() {
        Some(lag) if lag <= limit => None,
        lag => Some(json!(lag.map(|lag| lag.as_millis() as u64))),
    }
}
