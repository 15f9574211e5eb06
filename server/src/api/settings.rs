//! `/indexes/{uid}/settings` and one route below it for each setting.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_engine::index::SettingsPatch;
use lamina_protocol::wire::schema::anything;
use lamina_protocol::wire::settings::{self, SettingKind, WriteVerb, chat};
use warp::http::StatusCode;
use warp::reply::Response;

use super::openapi;
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};

pub(super) const ROUTES: &[Route] = &[
    ALL,
    Route::patch("/indexes/{indexUid}/settings", Action::SettingsUpdate)
        .event("Settings Updated")
        .about("Change settings", Answer::Task(202))
        .json(
            openapi::settings::body,
            r#"{
                "searchableAttributes": ["title", "overview"],
                "filterableAttributes": ["genre", "year"],
                "sortableAttributes": ["year"],
                "synonyms": { "film": ["movie"] }
            }"#,
        )
        .run(|request| Box::pin(change_all(request))),
    Route::delete("/indexes/{indexUid}/settings", Action::SettingsUpdate)
        .event("Settings Updated")
        .about("Reset all settings", Answer::Task(202))
        .run(|request| Box::pin(reset_all(request))),
    ONE,
    Route::put("/indexes/{indexUid}/settings/{setting}", Action::SettingsUpdate)
        .event("Settings Updated")
        .where_last(is_replaced)
        .about("Change a setting", Answer::Task(202))
        .json(anything, "")
        .run(|request| Box::pin(change_one(request))),
    Route::patch("/indexes/{indexUid}/settings/{setting}", Action::SettingsUpdate)
        .event("Settings Updated")
        .where_last(is_merged)
        .about("Change a setting", Answer::Task(202))
        .json(anything, "")
        .run(|request| Box::pin(change_one(request))),
    Route::delete("/indexes/{indexUid}/settings/{setting}", Action::SettingsUpdate)
        .event("Settings Updated")
        .where_last(is_setting)
        .about("Reset a setting", Answer::Task(202))
        .run(|request| Box::pin(reset_one(request))),
];

/// All settings of an index.
pub(super) const ALL: Route = Route::get("/indexes/{indexUid}/settings", Action::SettingsGet)
    .about("Get all settings", Answer::Ok("Settings"))
    .run(|request| Box::pin(show_all(request)));

/// One setting of an index, by the last part of its address.
pub(super) const ONE: Route = Route::get("/indexes/{indexUid}/settings/{setting}", Action::SettingsGet)
    .where_last(is_setting)
    .about("Get a setting", Answer::Ok("Settings"))
    .run(|request| Box::pin(show_one(request)));

fn is_setting(route: &str) -> bool {
    SettingKind::by_route(route).is_some()
}

fn is_replaced(route: &str) -> bool {
    SettingKind::by_route(route).is_some_and(|kind| kind.verb() == WriteVerb::Put)
}

fn is_merged(route: &str) -> bool {
    SettingKind::by_route(route).is_some_and(|kind| kind.verb() == WriteVerb::Patch)
}

/// The setting that the path names.
fn setting(request: &Request) -> &'static SettingKind {
    SettingKind::by_route(request.part("setting")).expect("the routes of settings have no others")
}

async fn show_all(request: Request) -> ApiResult<Response> {
    show(None, request).await
}

async fn show_one(request: Request) -> ApiResult<Response> {
    show(Some(setting(&request)), request).await
}

async fn change_all(request: Request) -> ApiResult<Response> {
    change(None, request).await
}

async fn change_one(request: Request) -> ApiResult<Response> {
    change(Some(setting(&request)), request).await
}

async fn reset_all(request: Request) -> ApiResult<Response> {
    reset(SettingsPatch::reset_all(), request).await
}

async fn reset_one(request: Request) -> ApiResult<Response> {
    let kind = setting(&request);
    chat::check_route(Some(kind), &|feature| request.state().features.is_on(feature))?;
    reset(kind.reset(), request).await
}

async fn show(kind: Option<&'static SettingKind>, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let state = Arc::clone(request.state());
    let instance = state.instance.clone();
    let snapshot = blocking(move || instance.state(&uid)).await??;
    let is_on = |feature| state.features.is_on(feature);
    chat::check_route(kind, &is_on)?;
    let shown = match kind {
        Some(kind) => kind.show(&snapshot.settings, &is_on),
        None => settings::show(&snapshot.settings, &is_on),
    };
    Ok(json_answer(StatusCode::OK, &shown))
}

async fn change(kind: Option<&'static SettingKind>, request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let state = Arc::clone(request.state());
    let may_create_index = request.rights().may_create_index(&index);
    let body = request.json().await?;
    settings::check_features(kind, &body, &|feature| state.features.is_on(feature))?;
    let patch = match kind {
        Some(kind) => kind.read(&body)?,
        None => settings::read(&body)?,
    };
    enqueue(&state, index.uid, patch, may_create_index).await
}

async fn reset(patch: SettingsPatch, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    // Nothing to reset in an index that is not there: the task will say so.
    enqueue(request.state(), uid, patch, false).await
}

async fn enqueue(
    state: &Arc<AppState>,
    uid: String,
    patch: SettingsPatch,
    may_create_index: bool,
) -> ApiResult<Response> {
    let content = Content::Settings { patch: Box::new(patch), may_create_index };
    super::enqueue(state, NewTask::for_index(uid, content)).await
}
