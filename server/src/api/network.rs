//! `/network`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::{Action, Rights};
use lamina_data::features::Feature;
use lamina_data::tasks::blocking;
use lamina_data::telemetry::Facts;
use lamina_protocol::wire::network::patch;
use lamina_protocol::wire::schema::{anything, exactly, map_of, or_null, text, url};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::report;
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/network", Action::NetworkGet)
        .about("Get the network of servers", Answer::Ok("Network"))
        .run(|request| Box::pin(show(request))),
    Route::patch("/network", Action::NetworkUpdate)
        .event("Network Updated")
        .about("Change the network", Answer::Ok("Network"))
        .json(
            body,
            r#"{
            "self": "first", "remotes": { "second": { "url": "https://second.example.org" } }
        }"#,
        )
        .run(|request| Box::pin(change(request))),
    Route::post("/network/control", Action::NetworkUpdate)
        // Of the protocol: an answer that says so rather than one of a route that does not exist.
        .run(|request| Box::pin(control(request))),
];

fn body() -> Value {
    let remote = exactly([("url", url()), ("searchApiKey", or_null(text())), ("writeApiKey", or_null(text()))], &[]);
    // Shards belong to a leader, which this server does not have: what is said of them is not read.
    let fields = [
        ("self", or_null(text())),
        ("remotes", or_null(map_of(or_null(remote)))),
        ("leader", json!({ "enum": [null, ""] })),
        ("shards", anything()),
        ("previousShards", anything()),
        ("previousRemotes", anything()),
    ];
    exactly(fields, &[])
}

fn check_feature(state: &AppState) -> ApiResult<()> {
    if state.features.is_on(Feature::Network) {
        return Ok(());
    }
    Err(ApiError::feature_not_enabled("Using the /network route", Feature::Network.name()))
}

async fn show(request: Request) -> ApiResult<Response> {
    check_feature(request.state())?;
    Ok(json_answer(StatusCode::OK, &request.state().network.topology().show(may_see_keys(request.rights()))))
}

fn may_see_keys(rights: &Rights) -> bool {
    rights.may(Action::NetworkUpdate)
}

/// The refusal of a route of networks with a leader.
async fn control(request: Request) -> ApiResult<Response> {
    check_feature(request.state())?;
    Err(ApiError::new(
        Code::RequiresEnterpriseEdition,
        "This server takes no part in networks with a leader: its `/network` has remotes and no shards.",
    ))
}

async fn change(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let patch = patch(&*request.json().await?)?;
    check_feature(&state)?;
    let is_reported = state.telemetry.is_on();
    let topology = blocking(move || state.network.change(patch)).await??;
    let mut answer = json_answer(StatusCode::OK, &topology.show(may_see_keys(&rights)));
    let facts = || Facts::Network { has_self: topology.own_name.is_some(), size: topology.remotes.len() };
    report(&mut answer, is_reported.then(facts));
    Ok(answer)
}
