//! `/webhooks`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::{Action, Rights};
use lamina_data::tasks::blocking;
use lamina_data::webhooks::WebhookView;
use lamina_protocol::wire::schema::{exactly, map_of, or_null, text, url};
use lamina_protocol::wire::webhooks::{list_parameters, patch, uuid_in_path};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};
use crate::http::{json_answer, no_content};

/// Reported limit of a list without a requested one. All webhooks fit into it.
const LIMIT: usize = 20;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/webhooks", Action::WebhooksGet)
        .about("List webhooks", Answer::Ok("WebhookPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list(request))),
    Route::post("/webhooks", Action::WebhooksCreate)
        .event("Webhook Created")
        .about("Create a webhook", Answer::Created("Webhook"))
        .json(
            || body(&["url"]),
            r#"{
            "url": "https://example.org/finished", "headers": { "Authorization": "Bearer SECRET" }
        }"#,
        )
        .run(|request| Box::pin(create(request))),
    Route::get("/webhooks/{uuid}", Action::WebhooksGet)
        .about("Get a webhook", Answer::Ok("Webhook"))
        .run(|request| Box::pin(get_one(request))),
    Route::patch("/webhooks/{uuid}", Action::WebhooksUpdate)
        .event("Webhook Updated")
        .about("Change a webhook", Answer::Ok("Webhook"))
        .json(|| body(&[]), r#"{ "url": "https://example.org/finished" }"#)
        .run(|request| Box::pin(update(request))),
    Route::delete("/webhooks/{uuid}", Action::WebhooksDelete)
        .about("Delete a webhook", Answer::Nothing)
        .run(|request| Box::pin(remove(request))),
];

fn body(required: &[&str]) -> Value {
    // A null value removes a header.
    let headers = map_of(or_null(text()));
    exactly([("url", url()), ("headers", or_null(headers))], required)
}

async fn list(request: Request) -> ApiResult<Response> {
    let (offset, limit) = list_parameters(&request.query())?;
    let all = request.state().webhooks.all();
    let shown = all.iter().skip(offset).take(limit.unwrap_or(usize::MAX));
    let results: Vec<WebhookView> = shown.map(|webhook| webhook.view(is_writer(request.rights()))).collect();
    let limit = limit.unwrap_or(results.len().max(LIMIT));
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": all.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let webhook = request.state().webhooks.find(uuid_in_path(request.part("uuid"))?)?;
    Ok(json_answer(StatusCode::OK, &webhook.view(is_writer(request.rights()))))
}

/// Reports whether the caller may write webhooks, and therefore sees all parts that are not secret by their names.
fn is_writer(rights: &Rights) -> bool {
    rights.may(Action::WebhooksUpdate) || rights.may(Action::WebhooksCreate)
}

async fn create(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let patch = patch(&*request.json().await?)?;
    let webhook = blocking(move || state.webhooks.create(patch)).await??;
    Ok(json_answer(StatusCode::CREATED, &webhook.view(true)))
}

async fn update(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let uuid = request.part("uuid").to_owned();
    let patch = patch(&*request.json().await?)?;
    let uuid = uuid_in_path(&uuid)?;
    let webhook = blocking(move || state.webhooks.update(uuid, patch)).await??;
    Ok(json_answer(StatusCode::OK, &webhook.view(true)))
}

async fn remove(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    let uuid = uuid_in_path(request.part("uuid"))?;
    blocking(move || state.webhooks.delete(uuid)).await??;
    Ok(no_content())
}
