//! `/indexes`, `/indexes/{uid}` and `/swap-indexes`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_engine::index::IndexSummary;
use lamina_protocol::wire::indexes;
use serde_json::{Value, json};
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use super::unreadable::Unreadable;
use crate::api::{Routes, any_of};
use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Request, request, respond};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let list = warp::path!("indexes").and(warp::get()).and(request(state));
    let create = warp::path!("indexes").and(warp::post()).and(request(state));
    let get = warp::path!("indexes" / String).and(warp::get()).and(request(state));
    let update = warp::path!("indexes" / String).and(warp::patch()).and(request(state));
    let delete = warp::path!("indexes" / String).and(warp::delete()).and(request(state));
    let compact = warp::path!("indexes" / String / "compact").and(warp::post()).and(request(state));
    let clone = warp::path!("indexes" / String / "clone").and(warp::post()).and(request(state));
    let attach = warp::path!("indexes" / String / "attach").and(warp::post()).and(request(state));
    let swap = warp::path!("swap-indexes").and(warp::post()).and(request(state));

    let list = list.then(self::all);
    let create = create.then(|request| respond(request, self::create));
    let get = get.then(|uid: String, request| respond(request, async move |request| get_one(&uid, &request).await));
    let update = update.then(|uid: String, request| respond(request, async move |request| patch(&uid, request).await));
    let delete = delete.then(|uid: String, request| respond(request, async move |request| remove(&uid, request).await));
    let compact =
        compact.then(|uid: String, request| respond(request, async move |request| self::compact(&uid, &request).await));
    let clone =
        clone.then(|uid: String, request| respond(request, async move |request| self::clone(&uid, request).await));
    let attach =
        attach.then(|uid: String, request| respond(request, async move |request| self::attach(&uid, request).await));
    let swap = swap.then(|request| respond(request, self::swap));
    let one = [get.boxed(), update.boxed(), delete.boxed(), compact.boxed(), clone.boxed(), attach.boxed()];
    any_of([list.boxed(), create.boxed(), any_of(one), swap.boxed()])
}

/// The indexes that a key may see.
pub(super) async fn all(request: Request) -> Response {
    respond(request, list).await
}

/// The public index object. That of an index with damaged segments says so.
fn view(uid: &str, summary: &IndexSummary) -> Value {
    let mut view = json!({
        "uid": uid,
        "createdAt": Timestamp::from(summary.created_at),
        "updatedAt": Timestamp::from(summary.updated_at),
        "primaryKey": summary.primary_key.as_deref(),
    });
    if let Some(mark) = &summary.mark {
        view["mark"] = (**mark).into();
    }
    if !summary.damaged.is_empty() {
        view["degraded"] = true.into();
    }
    view
}

async fn list(request: Request) -> ApiResult<Response> {
    let (offset, limit) = indexes::list_parameters(&request.query())?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let body = blocking(move || {
        let mut unreadable = Unreadable::default();
        let mut uids = state.instance.uids();
        uids.retain(|uid| rights.admits(uid));
        let page = uids.iter().skip(offset).take(limit);
        let read = |uid: &String| {
            let read = state.instance.summary(uid).map(|summary| view(uid, &summary));
            unreadable.sift(&state, uid, read)
        };
        let results: Vec<Value> = page.filter_map(read).collect();
        let mut body = json!({ "results": results, "offset": offset, "limit": limit, "total": uids.len() });
        unreadable.report(&mut body);
        body
    });
    Ok(json_answer(StatusCode::OK, &body.await?))
}

async fn create(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let (uid, primary_key) = indexes::creation(&*request.json().await?)?;
    rights.check_index(&uid)?;
    enqueue(&state, NewTask::for_index(uid, Content::CreateIndex { primary_key })).await
}

async fn get_one(uid: &str, request: &Request) -> ApiResult<Response> {
    let uid = request.index_uid(uid)?;
    let instance = Arc::clone(&request.state().instance);
    let body = blocking(move || instance.summary(&uid).map(|summary| view(&uid, &summary)));
    Ok(json_answer(StatusCode::OK, &body.await??))
}

async fn patch(uid: &str, request: Request) -> ApiResult<Response> {
    let uid = request.own_index_uid(uid)?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let (primary_key, new_uid) = indexes::update(&*request.json().await?)?;
    if let Some(new_uid) = &new_uid {
        rights.check_index(new_uid)?;
    }
    enqueue(&state, NewTask::for_index(uid, Content::UpdateIndex { primary_key, new_uid })).await
}

async fn remove(uid: &str, request: Request) -> ApiResult<Response> {
    // Who deletes an alias means the alias, or does not know that it is one.
    let uid = request.own_index_uid(uid)?;
    enqueue(request.state(), NewTask::for_index(uid, Content::DeleteIndex)).await
}

async fn compact(uid: &str, request: &Request) -> ApiResult<Response> {
    let uid = request.index_uid(uid)?;
    enqueue(request.state(), NewTask::for_index(uid, Content::CompactIndex)).await
}

async fn clone(uid: &str, request: Request) -> ApiResult<Response> {
    let uid = request.index_uid(uid)?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let new_uid = indexes::clone(&*request.json().await?)?;
    rights.check_index(&new_uid)?;
    enqueue(&state, NewTask::for_index(uid, Content::CloneIndex { new_uid })).await
}

async fn attach(uid: &str, request: Request) -> ApiResult<Response> {
    let uid = request.own_index_uid(uid)?;
    let state = Arc::clone(request.state());
    let folder = indexes::attach(&*request.json().await?)?;
    enqueue(&state, NewTask::for_index(uid, Content::AttachIndex { folder })).await
}

async fn swap(request: Request) -> ApiResult<Response> {
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let swaps = indexes::swaps(&*request.json().await?)?;
    for uid in swaps.iter().flat_map(|swap| &swap.indexes) {
        rights.check_index(uid)?;
        rights.check_own(uid)?;
    }
    let swaps = swaps.into_iter().map(Into::into).collect();
    enqueue(&state, NewTask::global(Content::SwapIndexes { swaps })).await
}
