//! `/network`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult};
use lamina_data::access::{Action, Rights};
use lamina_data::features::Feature;
use lamina_data::tasks::blocking;
use lamina_data::telemetry::Facts;
use lamina_protocol::wire::network::patch;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::report;
use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let get = warp::path!("network").and(warp::get()).and(request(state));
    let change = warp::path!("network").and(warp::patch()).and(request(state));
    let get = get.then(|request| respond(request, async |request| show(&request)));
    let change = change.then(|request| respond(request, self::change));
    any_of([get.boxed(), change.boxed()])
}

fn check_feature(state: &AppState) -> ApiResult<()> {
    if state.features.is_on(Feature::Network) {
        return Ok(());
    }
    Err(ApiError::feature_not_enabled("Using the /network route", Feature::Network.name()))
}

fn show(request: &Request) -> ApiResult<Response> {
    check_feature(request.state())?;
    Ok(json_answer(StatusCode::OK, &request.state().network.topology().show(may_see_keys(request.rights()))))
}

fn may_see_keys(rights: &Rights) -> bool {
    rights.may(Action::NetworkUpdate)
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
