//! `/webhooks`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::{Action, Rights};
use lamina_data::tasks::blocking;
use lamina_data::webhooks::WebhookView;
use lamina_protocol::wire::webhooks::{list_parameters, patch, uuid_in_path};
use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};
use crate::http::{json_answer, no_content};

/// What a list is said to be limited to when nothing is asked for; all fit in.
const LIMIT: usize = 20;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let list = warp::path!("webhooks").and(warp::get()).and(request(state));
    let create = warp::path!("webhooks").and(warp::post()).and(request(state));
    let get = warp::path!("webhooks" / String).and(warp::get()).and(request(state));
    let patch = warp::path!("webhooks" / String).and(warp::patch()).and(request(state));
    let delete = warp::path!("webhooks" / String).and(warp::delete()).and(request(state));

    let list = list.then(|request| respond(request, async |request| self::list(&request)));
    let create = create.then(|request| respond(request, self::create));
    let get = get.then(|uuid: String, request| respond(request, async move |request| get_one(&uuid, &request)));
    let patch = patch.then(|uuid: String, request| respond(request, async move |request| update(&uuid, request).await));
    let delete =
        delete.then(|uuid: String, request| respond(request, async move |request| remove(&uuid, request).await));
    any_of([list.boxed(), create.boxed(), get.boxed(), patch.boxed(), delete.boxed()])
}

fn list(request: &Request) -> ApiResult<Response> {
    let (offset, limit) = list_parameters(&request.query())?;
    let all = request.state().webhooks.all();
    let shown = all.iter().skip(offset).take(limit.unwrap_or(usize::MAX));
    let results: Vec<WebhookView> = shown.map(|webhook| webhook.view(is_writer(request.rights()))).collect();
    let limit = limit.unwrap_or(results.len().max(LIMIT));
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": all.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

fn get_one(uuid: &str, request: &Request) -> ApiResult<Response> {
    let webhook = request.state().webhooks.find(uuid_in_path(uuid)?)?;
    Ok(json_answer(StatusCode::OK, &webhook.view(is_writer(request.rights()))))
}

/// Whether the caller may write webhooks, and so see of them what is no secret by its name.
fn is_writer(rights: &Rights) -> bool {
    rights.may(Action::WebhooksUpdate) || rights.may(Action::WebhooksCreate)
}

async fn create(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let patch = patch(&*request.json().await?)?;
    let webhook = blocking(move || state.webhooks.create(patch)).await??;
    Ok(json_answer(StatusCode::CREATED, &webhook.view(true)))
}

async fn update(uuid: &str, request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let patch = patch(&*request.json().await?)?;
    let uuid = uuid_in_path(uuid)?;
    let webhook = blocking(move || state.webhooks.update(uuid, patch)).await??;
    Ok(json_answer(StatusCode::OK, &webhook.view(true)))
}

async fn remove(uuid: &str, request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let uuid = uuid_in_path(uuid)?;
    blocking(move || state.webhooks.delete(uuid)).await??;
    Ok(no_content())
}
