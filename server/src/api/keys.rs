//! `/keys`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult};
use lamina_data::access::{Action, ApiKey, ApiKeyView, Rights};
use lamina_data::tasks::blocking;
use lamina_protocol::wire::identifier::decode_path_segment;
use lamina_protocol::wire::keys::{change, creation, list_parameters};
use lamina_protocol::wire::schema::{exactly, index_pattern, list as list_of, one_of, or_null, text};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};
use crate::http::{json_answer, no_content};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/keys", Action::KeysGet)
        .about("List API keys", Answer::Ok("KeyPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list(request))),
    Route::post("/keys", Action::KeysCreate)
        .about("Create an API key", Answer::Created("Key"))
        .json(
            new_key,
            r#"{
            "name": "Search of the shop", "actions": ["search"], "indexes": ["films"], "expiresAt": "2999-12-31"
        }"#,
        )
        .run(|request| Box::pin(create(request))),
    Route::get("/keys/{key}", Action::KeysGet)
        .about("Get an API key by its uid or value", Answer::Ok("Key"))
        .run(|request| Box::pin(get_one(request))),
    Route::patch("/keys/{key}", Action::KeysUpdate)
        .about("Change name or description of an API key", Answer::Ok("Key"))
        .json(
            || exactly([("name", or_null(text())), ("description", or_null(text()))], &[]),
            r#"{ "description": "Used by the web shop" }"#,
        )
        .run(|request| Box::pin(update(request))),
    Route::delete("/keys/{key}", Action::KeysDelete)
        .about("Delete an API key", Answer::Nothing)
        .run(|request| Box::pin(remove(request))),
];

fn new_key() -> Value {
    let actions: Vec<&str> = Action::ALL.iter().map(|action| action.name()).collect();
    // Also without a time, and without a time zone. What has passed is refused.
    let day = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})?)?$";
    let fields = [
        ("name", or_null(text())),
        ("description", or_null(text())),
        ("uid", or_null(json!({ "type": "string", "format": "uuid" }))),
        ("actions", list_of(one_of(&actions))),
        ("indexes", list_of(index_pattern())),
        ("expiresAt", json!({ "type": ["string", "null"], "pattern": day })),
    ];
    exactly(fields, &["actions", "indexes", "expiresAt"])
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

async fn list(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let (offset, limit) = list_parameters(&request.query())?;
    let page = state.access.keys().page(offset, limit);
    let results: Vec<ApiKeyView> =
        page.keys.iter().map(|key| view(state, key, request.rights())).collect::<ApiResult<_>>()?;
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": page.total });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let key = state.access.keys().find(&decode_path_segment(request.part("key")))?;
    Ok(json_answer(StatusCode::OK, &view(state, &key, request.rights())?))
}

async fn create(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let key = ApiKey::from(creation(&*request.json().await?)?);
    let shown = blocking(move || state.access.keys().create(key).and_then(|key| view(&state, &key, &rights))).await??;
    Ok(json_answer(StatusCode::CREATED, &shown))
}

async fn update(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let key = decode_path_segment(request.part("key"));
    let patch = change(&*request.json().await?)?;
    let shown =
        blocking(move || state.access.keys().update(&key, patch).and_then(|key| view(&state, &key, &rights))).await??;
    Ok(json_answer(StatusCode::OK, &shown))
}

async fn remove(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let key = decode_path_segment(request.part("key"));
    blocking(move || state.access.keys().delete(&key)).await??;
    Ok(no_content())
}
