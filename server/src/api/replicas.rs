//! `/replicas`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::access::Action;
use lamina_data::tasks::blocking;
use lamina_replication::{Sign, replicas};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[Route::get("/replicas", Action::NetworkGet)
    .about("List the replicas, and how far each is", Answer::Ok("Replicas"))
    .run(|request| Box::pin(all(request)))];

async fn all(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let body = blocking(move || {
        let replication = &state.replication;
        let found = replicas(&state.options, &state.outbound, replication).map_err(|error| {
            ApiError::new(
                Code::StoreNotReached,
                format!("The replicas cannot be listed, for the store does not answer: {error}."),
            )
        })?;
        let (generation, now) = (replication.generation(), Timestamp::now());
        let shown = found.unwrap_or_default().iter().map(|sign| show(sign, generation, now)).collect::<Vec<_>>();
        let mut body = json!({ "role": replication.role().name(), "generation": generation, "results": shown });
        // Of this server, whatever its role is.
        if let Some(failure) = replication.failure() {
            body["failure"] = failure.into();
        }
        Ok::<_, ApiError>(body)
    });
    Ok(json_answer(StatusCode::OK, &body.await??))
}

fn show(sign: &Sign, generation: Option<u32>, now: Timestamp) -> Value {
    let behind = generation.zip(sign.generation).map(|(newest, own)| newest.saturating_sub(own));
    let silent = now.nanos().saturating_sub(sign.seen_at.nanos()).max(0) / 1_000_000;
    json!({
        "uid": sign.uid,
        "url": sign.url,
        "version": sign.version,
        "standby": sign.is_standby,
        "generation": sign.generation,
        "batchesBehind": behind,
        "lagMs": sign.lag_ms,
        "failure": sign.failure,
        "seenAt": sign.seen_at,
        "silentMs": silent,
    })
}
