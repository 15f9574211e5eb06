//! `/dynamic-search-rules`.

use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_protocol::wire::documents::check_parameters;
use lamina_protocol::wire::rules::{RULES_UID, list_body, list_schema, patch, patch_schema, uid_in_path};
use serde_json::json;
use warp::Reply;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    Route::post("/dynamic-search-rules", Action::DynamicSearchRulesGet)
        .about("List dynamic search rules; feature `dynamicSearchRules`", Answer::Ok("SearchRulePage"))
        .json(list_schema, r#"{ "limit": 20, "filter": { "active": true } }"#)
        .run(|request| Box::pin(list(request))),
    Route::delete("/dynamic-search-rules", Action::DynamicSearchRulesDelete)
        .about("Remove all dynamic search rules", Answer::Task(202))
        .run(|request| Box::pin(clear(request))),
    Route::get("/dynamic-search-rules/{ruleUid}", Action::DynamicSearchRulesGet)
        .about("Get a dynamic search rule", Answer::Ok("SearchRule"))
        .run(|request| Box::pin(get_one(request))),
    Route::patch("/dynamic-search-rules/{ruleUid}", Action::DynamicSearchRulesUpdate)
        .about("Create or change a dynamic search rule", Answer::Task(202))
        .json(
            patch_schema,
            r#"{
            "conditions": { "query": { "words": "alien" } },
            "actions": [{
                "selector": { "indexUid": "films", "id": "1" },
                "action": { "type": "pin", "position": 0 }
            }]
        }"#,
        )
        .run(|request| Box::pin(change(request))),
    Route::delete("/dynamic-search-rules/{ruleUid}", Action::DynamicSearchRulesDelete)
        .about("Remove a dynamic search rule", Answer::Task(202))
        .run(|request| Box::pin(remove(request))),
];

fn check_feature(state: &AppState) -> ApiResult<()> {
    if state.features.is_on(Feature::DynamicSearchRules) {
        return Ok(());
    }
    Err(ApiError::feature_not_enabled("Using the `/dynamic-search-rules` routes", "dynamic search rules"))
}

/// Returns the response for a name that no rule can have. The protocol defines it as text.
fn no_such_place(reason: String) -> Response {
    warp::reply::with_status(reason, StatusCode::NOT_FOUND).into_response()
}

async fn list(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let asked = list_body(&*request.json().await?)?;
    check_feature(&state)?;
    let (offset, limit) = (asked.offset, asked.limit);
    let instance = Arc::clone(&state.instance);
    let (rules, total) = blocking(move || instance.rules().list(&asked)).await?;
    let body = json!({ "results": rules, "offset": offset, "limit": limit, "total": total });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let uid = match uid_in_path(request.part("ruleUid")) {
        Ok(uid) => uid,
        Err(reason) => return Ok(no_such_place(reason)),
    };
    check_feature(request.state())?;
    let rule = request.state().instance.rules().get(&uid).ok_or_else(|| {
        ApiError::new(Code::DynamicSearchRuleNotFound, format!("Dynamic search rule `{uid}` not found."))
    })?;
    Ok(json_answer(StatusCode::OK, &*rule))
}

async fn change(request: Request) -> ApiResult<Response> {
    let uid = match uid_in_path(request.part("ruleUid")) {
        Ok(uid) => uid,
        Err(reason) => return Ok(no_such_place(reason)),
    };
    check_parameters(&request.query())?;
    let state = Arc::clone(request.state());
    let patch = patch(&*request.json().await?)?;
    check_feature(&state)?;
    let content = Content::UpdateRule { uid, patch: Some(Box::new(patch)) };
    enqueue(&state, NewTask::for_index(RULES_UID, content)).await
}

async fn remove(request: Request) -> ApiResult<Response> {
    let uid = match uid_in_path(request.part("ruleUid")) {
        Ok(uid) => uid,
        Err(reason) => return Ok(no_such_place(reason)),
    };
    check_parameters(&request.query())?;
    check_feature(request.state())?;
    let content = Content::UpdateRule { uid, patch: None };
    enqueue(request.state(), NewTask::for_index(RULES_UID, content)).await
}

async fn clear(request: Request) -> ApiResult<Response> {
    check_parameters(&request.query())?;
    check_feature(request.state())?;
    enqueue(request.state(), NewTask::for_index(RULES_UID, Content::ClearRules)).await
}
