//! `/chats`: workspaces, their settings, and completions that search.

use std::sync::Arc;
use std::time::Duration;

use lamina_base::budget::{VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Action;
use lamina_data::chats::shown;
use lamina_data::features::Feature;
use lamina_data::tasks::blocking;
use lamina_protocol::wire::chats::{Completion, completion_schema, page, settings_schema};
use lamina_protocol::wire::identifier::index_uid_in_path;
use lamina_protocol::wire::search::SearchQuery;
use lamina_protocol::wire::settings::chat;
use serde_json::{Map, Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::embed::{Asked, embed, wanted};
use super::search::context::context;
use crate::answer::chat::{Conversation, Events, Fault, SearchCall, SearchOutcome, TIME_MAX, check_size};
use crate::answer::search::{Context, Form, Target};
use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};
use crate::http::{arriving, events_answer, json_answer, no_content};

/// Events that wait for the client.
const EVENTS_WAITING: usize = 16;
/// Interval at which a conversation checks whether the server stops.
const PAUSE: Duration = Duration::from_millis(500);
/// Maximum number of attributes of an index that the model is shown.
const ATTRIBUTES_MAX: usize = 50;
/// The model learns of so many indexes.
const INDEXES_MAX: usize = 100;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/chats", Action::ChatsGet)
        .about("List chat workspaces", Answer::Ok("ChatPage"))
        .query(|| PAGE)
        .run(|request| Box::pin(list(request))),
    Route::get("/chats/{chatUid}", Action::ChatsGet)
        .about("Get a workspace", Answer::Ok("Chat"))
        .run(|request| Box::pin(get_one(request))),
    Route::delete("/chats/{chatUid}", Action::ChatsDelete)
        .about("Delete a workspace", Answer::Nothing)
        .run(|request| Box::pin(remove(request))),
    Route::get("/chats/{chatUid}/settings", Action::ChatsSettingsGet)
        .about("Get the settings of a workspace", Answer::Ok("ChatSettings"))
        .run(|request| Box::pin(show(request))),
    Route::patch("/chats/{chatUid}/settings", Action::ChatsSettingsUpdate)
        .about("Change the settings of a workspace, or create it", Answer::Ok("ChatSettings"))
        .json(settings_schema, r#"{ "source": "openAi", "apiKey": "SECRET", "prompts": { "system": "Answer in one sentence." } }"#)
        .run(|request| Box::pin(change_settings(request))),
    Route::delete("/chats/{chatUid}/settings", Action::ChatsSettingsUpdate)
        .about("Reset the settings of a workspace", Answer::Ok("ChatSettings"))
        .run(|request| Box::pin(reset_settings(request))),
    Route::post("/chats/{chatUid}/chat/completions", Action::ChatCompletions)
        .about("Answer a conversation with search results", Answer::Events)
        .json(completion_schema, r#"{
            "model": "gpt-4o", "stream": true, "messages": [{ "role": "user", "content": "Which film is about a shark?" }]
        }"#)
        .run(|request| Box::pin(complete(request))),
];

fn check_feature(state: &AppState, action: &str) -> ApiResult<()> {
    if state.features.is_on(Feature::ChatCompletions) {
        return Ok(());
    }
    Err(ApiError::feature_not_enabled(action, "chat completions"))
}

const USING: &str = "Using the `/chats` routes";

async fn list(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let (offset, limit) = page(&request.query())?;
    check_feature(state, "Listing the chat workspaces")?;
    let uids = state.chats.uids();
    let results: Vec<Value> = uids.iter().skip(offset).take(limit).map(|uid| json!({ "uid": uid })).collect();
    let body = json!({ "results": results, "offset": offset, "limit": limit, "total": uids.len() });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn get_one(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    check_feature(request.state(), USING)?;
    request.state().chats.settings(&uid)?;
    Ok(json_answer(StatusCode::OK, &json!({ "uid": uid })))
}

async fn remove(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    let state = Arc::clone(request.state());
    check_feature(&state, USING)?;
    blocking(move || state.chats.remove(&uid)).await??;
    Ok(no_content())
}

async fn show(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    check_feature(request.state(), "Using the `/chats/settings` routes")?;
    Ok(json_answer(StatusCode::OK, &shown(&request.state().chats.settings(&uid)?)))
}

async fn change_settings(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    let state = Arc::clone(request.state());
    check_feature(&state, "Using the `/chats/settings` routes")?;
    let body = request.json().await?;
    let body = Value::clone(&body);
    let settings = blocking(move || state.chats.change(&uid, &body)).await??;
    Ok(json_answer(StatusCode::OK, &shown(&settings)))
}

async fn reset_settings(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    let state = Arc::clone(request.state());
    check_feature(&state, "Using the `/chats/settings` routes")?;
    let settings = blocking(move || state.chats.reset(&uid)).await??;
    Ok(json_answer(StatusCode::OK, &shown(&settings)))
}

async fn complete(request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(request.part("chatUid"))?;
    let state = Arc::clone(request.state());
    check_feature(&state, USING)?;
    let (context, standing) = (Context { rules: None, recorder: None, ..context(&request) }, request.standing());
    let completion = Completion::from_body(&*request.json().await?)?;
    check_size(&completion)?;
    let settings = state.chats.settings(&uid)?;
    let turn = state.turns.take()?;
    let indexes = {
        let (state, context) = (Arc::clone(&state), context.clone());
        blocking(move || searchable(&state, &context)).await?
    };
    let (events, received) = Events::channel(EVENTS_WAITING);
    let outbound = state.outbound.clone();
    let conversation = Conversation { outbound, settings, completion, indexes, events, time_max: TIME_MAX };
    tokio::spawn(async move {
        let ending = async {
            tokio::select! {
                () = stopping(&state) => Fault::new("server_stops", "the server stops"),
                () = standing.lost() => {
                    let message = "The API key or token of the conversation was deleted, has expired, or no longer permits it.";
                    Fault::new("invalid_api_key", message)
                }
            }
        };
        let search = |call: SearchCall| {
            let (state, context) = (Arc::clone(&state), context.clone());
            async move { search(&state, context, call).await.map_err(|error| error.message) }
        };
        conversation.run(search, ending).await;
        drop(turn);
    });
    Ok(events_answer(arriving(received)))
}

/// Ready when the server stops.
async fn stopping(state: &AppState) {
    while !state.queue.is_closing() {
        tokio::time::sleep(PAUSE).await;
    }
}

/// The indexes that the key may search, and what the model learns of each.
fn searchable(state: &AppState, context: &Context) -> Vec<(String, String)> {
    if !context.rights.may_search() {
        return Vec::new();
    }
    let uids = state.instance.uids().into_iter().filter(|uid| context.rights.admits(uid)).take(INDEXES_MAX);
    uids.filter_map(|uid| {
        let snapshot = state.instance.state(&uid).ok()?;
        let attributes: Vec<&str> = snapshot
            .fields
            .names()
            .filter(|name| snapshot.settings.filterable(name).is_some())
            .take(ATTRIBUTES_MAX)
            .collect();
        let about = match attributes.as_slice() {
            [] => "no attribute can be filtered by".to_owned(),
            attributes => format!("filterable attributes are {}", attributes.join(", ")),
        };
        let about = match chat::description(&snapshot.settings) {
            "" => about,
            description => format!("{description} ({about})"),
        };
        Some((uid, about))
    })
    .collect()
}

/// Searches as a model asks for it. What goes wrong is for the model to read.
async fn search(state: &Arc<AppState>, mut context: Context, call: SearchCall) -> ApiResult<SearchOutcome> {
    let SearchCall { index_uid, q, filter } = call;
    if !context.rights.may_search() {
        return Err(ApiError::new(Code::InvalidApiKey, "The key of the conversation may not search."));
    }
    context.rights.check_index(&index_uid)?;
    let index = context.rights.index(&index_uid);
    context.received = std::time::Instant::now();
    context.budget = state.budgets.answer();
    let mut body = match state.instance.state(&index.uid) {
        Ok(snapshot) => chat::search_parameters(&snapshot.settings),
        // Reported by the search.
        Err(_) => Map::new(),
    };
    body.extend([("q".to_owned(), json!(q)), ("filter".to_owned(), json!(filter))]);
    let query = SearchQuery::from_body(&Value::Object(body))?;
    let texts = wanted(state, std::iter::once(Asked::alone(&index, &query)), &context)?;
    context.embedded = embed(state, texts).await;
    let (instance, budget) = (Arc::clone(&state.instance), context.budget.clone());
    state
        .answer(&budget, move || {
            let snapshot = instance.searchable(&index.uid)?;
            let target = Target::new(&index, &snapshot);
            let answered =
                context.kept.answer(target, &query, &context, Form { names_index: false, with_metadata: false })?;
            let body = answered.into_body(context.received, &context.budget)?;
            // As values, each once more as a text, and rendered.
            context.budget.take(json_heap_bytes(&body, 3 * VALUE_BYTES).saturating_add(2 * body.len()))?;
            let answer: Value = serde_json::from_slice(&body).map_err(|error| ApiError::internal(error.to_string()))?;
            let sources = answer["hits"].as_array().cloned().unwrap_or_default();
            let template = chat::template(&snapshot.settings).map_err(ApiError::internal)?;
            let is_searchable = |name: &str| snapshot.settings.is_searchable_to_templates(name);
            let rendered = sources.iter().map(|hit| {
                let text = template.render(hit.to_string().as_bytes(), &is_searchable);
                text.unwrap_or_else(|_| hit.to_string())
            });
            let content = rendered.collect::<Vec<String>>().join("\n");
            Ok(SearchOutcome { sources, content })
        })
        .await
}
