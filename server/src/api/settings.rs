//! `/indexes/{uid}/settings` and one route below it for each setting.

use std::str::FromStr;
use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_engine::index::SettingsPatch;
use lamina_protocol::wire::settings::{self, SettingKind, WriteVerb, chat};
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Request, request, respond};

/// The last segment of a setting's own route; other segments are no route at all.
struct Named(&'static SettingKind);

impl FromStr for Named {
    type Err = ();

    fn from_str(segment: &str) -> Result<Named, ()> {
        SettingKind::by_route(segment).map(Named).ok_or(())
    }
}

/// As [`Named`], for settings that are replaced.
struct Replaced(&'static SettingKind);

impl FromStr for Replaced {
    type Err = ();

    fn from_str(segment: &str) -> Result<Replaced, ()> {
        SettingKind::by_route(segment).filter(|kind| kind.verb == WriteVerb::Put).map(Replaced).ok_or(())
    }
}

/// As [`Named`], for settings that are merged.
struct Merged(&'static SettingKind);

impl FromStr for Merged {
    type Err = ();

    fn from_str(segment: &str) -> Result<Merged, ()> {
        SettingKind::by_route(segment).filter(|kind| kind.verb == WriteVerb::Patch).map(Merged).ok_or(())
    }
}

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let get_all = warp::path!("indexes" / String / "settings").and(warp::get()).and(request(state));
    let patch_all = warp::path!("indexes" / String / "settings").and(warp::patch()).and(request(state));
    let delete_all = warp::path!("indexes" / String / "settings").and(warp::delete()).and(request(state));
    let get_one = warp::path!("indexes" / String / "settings" / Named).and(warp::get()).and(request(state));
    let put_one = warp::path!("indexes" / String / "settings" / Replaced).and(warp::put()).and(request(state));
    let patch_one = warp::path!("indexes" / String / "settings" / Merged).and(warp::patch()).and(request(state));
    let delete_one = warp::path!("indexes" / String / "settings" / Named).and(warp::delete()).and(request(state));

    let get_all = get_all.then(all);
    let patch_all = patch_all.then(|uid, request| respond(request, async |request| change(uid, None, request).await));
    let delete_all = delete_all.then(|uid: String, request| {
        respond(request, async move |request| reset(&uid, SettingsPatch::reset_all(), request).await)
    });
    let get_one = get_one
        .then(|uid, Named(kind), request| respond(request, async move |request| show(uid, Some(kind), request).await));
    let put_one = put_one.then(|uid, Replaced(kind), request| {
        respond(request, async move |request| change(uid, Some(kind), request).await)
    });
    let patch_one = patch_one.then(|uid, Merged(kind), request| {
        respond(request, async move |request| change(uid, Some(kind), request).await)
    });
    let delete_one = delete_one.then(|uid: String, Named(kind), request| {
        respond(request, async move |request| {
            chat::check_route(Some(kind), &|feature| request.state().features.is_on(feature))?;
            reset(&uid, kind.reset(), request).await
        })
    });
    let all = any_of([get_all.boxed(), patch_all.boxed(), delete_all.boxed()]);
    any_of([all, get_one.boxed(), put_one.boxed(), patch_one.boxed(), delete_one.boxed()])
}

/// All settings of an index.
pub(super) async fn all(uid: String, request: Request) -> Response {
    respond(request, async |request| show(uid, None, request).await).await
}

/// One setting of an index, by the last part of its address.
pub(super) async fn one(uid: String, route: &str, request: Request) -> Response {
    let kind = SettingKind::by_route(route);
    respond(request, async move |request| show(uid, kind, request).await).await
}

async fn show(uid: String, kind: Option<&'static SettingKind>, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid(&uid)?;
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

async fn change(uid: String, kind: Option<&'static SettingKind>, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid(&uid)?;
    let state = Arc::clone(request.state());
    let may_create_index = request.rights().may_create_index(&uid);
    let body = request.json().await?;
    settings::check_features(kind, &body, &|feature| state.features.is_on(feature))?;
    let patch = match kind {
        Some(kind) => kind.read(&body)?,
        None => settings::read(&body)?,
    };
    enqueue(&state, uid, patch, may_create_index).await
}

async fn reset(uid: &str, patch: SettingsPatch, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid(uid)?;
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
