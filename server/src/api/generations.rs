//! `/indexes/{uid}/generations` and `/restore`: states of an index before the present one.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::timestamp::Timestamp;
use lamina_data::access::{Action, Rights};
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_engine::index::{At, GenerationReport};
use lamina_protocol::wire::generations;
use lamina_protocol::wire::schema::{exactly, state};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/indexes/{indexUid}/generations", Action::IndexesGet)
        .about("List the kept states of an index", Answer::Ok("GenerationPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list_all(request))),
    Route::post("/indexes/{indexUid}/restore", Action::DocumentsAll)
        // Settings come back with the documents.
        .also(Action::SettingsUpdate)
        .about("Restore a kept state", Answer::Task(202))
        .json(|| exactly([("at", state())], &["at"]), r#"{ "at": 12 }"#)
        .run(|request| Box::pin(restore(request))),
];

/// Checks whether the key may see an earlier generation, which contains documents that were deleted since. A public
/// search key, or a tenant, sees only the current state.
///
/// # Errors
/// `invalid_api_key`
pub(super) fn check_may_look_back(at: Option<At>, rights: &Rights) -> ApiResult<()> {
    if at.is_none() || rights.may(Action::DocumentsGet) {
        return Ok(());
    }
    Err(ApiError::new(
        Code::InvalidApiKey,
        "The provided API key is invalid: `at` shows documents that were deleted since, and needs a key with the action \
         `documents.get`.",
    ))
}

fn view(state: &GenerationReport) -> Value {
    let mut view = json!({
        "generation": state.generation,
        "committedAt": Timestamp::from(state.committed_at),
        "numberOfDocuments": state.document_count,
        "batchUid": state.batch,
        "isCurrent": state.is_current,
    });
    if let Some(damage) = &state.damage {
        view["damage"] = damage.as_str().into();
    }
    view
}

async fn list_all(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let (offset, limit) = generations::list_parameters(&request.query())?;
    let instance = Arc::clone(&request.state().instance);
    let states = blocking(move || instance.index(&uid).map(|index| index.generations())).await??;
    let results: Vec<Value> = states.iter().skip(offset).take(limit).map(view).collect();
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": states.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn restore(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let state = Arc::clone(request.state());
    let at = generations::restoration(&*request.json().await?)?;
    enqueue(&state, NewTask::for_index(uid, Content::RestoreIndex { at })).await
}
