//! `/events`: what people did, as clients say.

use std::collections::HashMap;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::{Action, Rights};
use lamina_data::events::{COMMIT_INTERVAL, Place};
use lamina_data::instance::Instance;
use lamina_data::tasks::blocking;
use lamina_protocol::wire::events::{Event, events, schema, user_in_path};
use serde_json::json;
use warp::http::StatusCode;
use warp::reply::Response;

use super::search::context::USER_HEADER;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::post("/events", Action::EventsAdd)
        .about("Send clicks, conversions and views", Answer::Created("EventsTaken"))
        .json(
            schema,
            r#"{
            "eventType": "click", "eventName": "Hit Clicked", "indexUid": "films", "userId": "u-17",
            "queryUid": "019a01b7-a1c2-7782-a410-bb1274c81393", "objectId": "1", "position": 0
        }"#,
        )
        .run(|request| Box::pin(add(request))),
    Route::delete("/events/users/{userId}", Action::EventsDelete)
        .about("Delete the events and searches of a user", Answer::Ok("EventsDeleted"))
        .run(|request| Box::pin(delete_user(request))),
];

async fn add(request: Request) -> ApiResult<Response> {
    let user = request.header(USER_HEADER).map(str::to_owned);
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let events = events(&*request.json().await?, user.as_deref())?;
    let count = events.len();
    blocking(move || {
        let places = places(&events, &state.instance, &rights)?;
        state.instance.events().add(events.iter().map(|event| (event, &places[&event.index_uid])))
    })
    .await??;
    let millis = u64::try_from(COMMIT_INTERVAL.as_millis()).unwrap_or(u64::MAX);
    Ok(json_answer(StatusCode::CREATED, &json!({ "taken": count, "commitIntervalMs": millis })))
}

/// The indexes that events name.
fn places(events: &[Event], instance: &Instance, rights: &Rights) -> ApiResult<HashMap<String, Place>> {
    let mut places = HashMap::new();
    for name in events.iter().map(|event| &event.index_uid) {
        if !places.contains_key(name) {
            rights.check_index(name)?;
            let uid = rights.target(name);
            let snapshot = instance.state(uid).map_err(in_body)?;
            places.insert(name.clone(), Place::new(name, uid, &snapshot));
        }
    }
    Ok(places)
}

/// Not the path but the body names the index.
fn in_body(error: ApiError) -> ApiError {
    if error.code == Code::IndexNotFound { error.with_status(400) } else { error }
}

async fn delete_user(request: Request) -> ApiResult<Response> {
    let user = user_in_path(request.part("userId"))?;
    let state = Arc::clone(request.state());
    let deleted = blocking(move || state.instance.events().delete_user(&user)).await??;
    Ok(json_answer(StatusCode::OK, &json!({ "deleted": deleted })))
}
