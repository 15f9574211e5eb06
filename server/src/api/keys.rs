//! `/keys`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult};
use lamina_data::access::{Action, ApiKey, ApiKeyView, Rights};
use lamina_data::tasks::blocking;
use lamina_protocol::wire::identifier::decode_path_segment;
use lamina_protocol::wire::keys::{change, creation, list_parameters};
use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::requests::{Request, request, respond};
use crate::http::{json_answer, no_content};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let list = warp::path!("keys").and(warp::get()).and(request(state));
    let create = warp::path!("keys").and(warp::post()).and(request(state));
    let get = warp::path!("keys" / String).and(warp::get()).and(request(state));
    let patch = warp::path!("keys" / String).and(warp::patch()).and(request(state));
    let delete = warp::path!("keys" / String).and(warp::delete()).and(request(state));

    let list = list.then(|request| respond(request, async |request| self::list(&request)));
    let create = create.then(|request| respond(request, self::create));
    let get = get.then(|key: String, request| respond(request, async move |request| get_one(&key, &request)));
    let patch = patch.then(|key: String, request| respond(request, async move |request| update(&key, request).await));
    let delete = delete.then(|key: String, request| respond(request, async move |request| remove(&key, request).await));
    any_of([list.boxed(), create.boxed(), get.boxed(), patch.boxed(), delete.boxed()])
}

/// With its value for those who could make a key that may as much; others see which key it is. Only a server with a master
/// key has values; others do not come here.
fn view(state: &AppState, key: &ApiKey, rights: &Rights) -> ApiResult<ApiKeyView> {
    let master_key = state.access.keys().master_key();
    let view = master_key
        .map(|master| key.view(master))
        .ok_or_else(|| ApiError::internal("keys have no value without a master key"))?;
    Ok(if rights.may(Action::KeysCreate) { view } else { view.without_value() })
}

fn list(request: &Request) -> ApiResult<Response> {
    let state = request.state();
    let (offset, limit) = list_parameters(&request.query())?;
    let page = state.access.keys().page(offset, limit);
    let results: Vec<ApiKeyView> =
        page.keys.iter().map(|key| view(state, key, request.rights())).collect::<ApiResult<_>>()?;
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": page.total });
    Ok(json_answer(StatusCode::OK, &body))
}

fn get_one(key: &str, request: &Request) -> ApiResult<Response> {
    let state = request.state();
    let key = state.access.keys().find(&decode_path_segment(key))?;
    Ok(json_answer(StatusCode::OK, &view(state, &key, request.rights())?))
}

async fn create(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let key = ApiKey::from(creation(&*request.json().await?)?);
    let shown = blocking(move || state.access.keys().create(key).and_then(|key| view(&state, &key, &rights))).await??;
    Ok(json_answer(StatusCode::CREATED, &shown))
}

async fn update(key: &str, request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let key = decode_path_segment(key);
    let patch = change(&*request.json().await?)?;
    let shown =
        blocking(move || state.access.keys().update(&key, patch).and_then(|key| view(&state, &key, &rights))).await??;
    Ok(json_answer(StatusCode::OK, &shown))
}

async fn remove(key: &str, request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let key = decode_path_segment(key);
    blocking(move || state.access.keys().delete(&key)).await??;
    Ok(no_content())
}
