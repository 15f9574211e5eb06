//! `/indexes`, `/indexes/{uid}` and `/swap-indexes`.

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::access::Action;
use lamina_data::tasks::{Content, NewTask, blocking};
use lamina_engine::index::IndexSummary;
use lamina_protocol::wire::indexes;
use lamina_protocol::wire::schema::{exactly, flag, index_uid, list as list_of, or_null, text};
use serde_json::{Value, json};
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue;
use super::unreadable::Unreadable;
use crate::http::json_answer;
use crate::http::requests::Request;
use crate::http::routing::{Answer, PAGE, Route};

pub(super) const ROUTES: &[Route] = &[
    LIST,
    Route::post("/indexes", Action::IndexesCreate)
        .event("Index Created")
        .about("Create an index", Answer::Task(202))
        .json(
            || exactly([("uid", index_uid()), ("primaryKey", or_null(text()))], &["uid"]),
            r#"{ "uid": "films", "primaryKey": "id" }"#,
        )
        .run(|request| Box::pin(create(request))),
    Route::get("/indexes/{indexUid}", Action::IndexesGet)
        .about("Get an index", Answer::Ok("Index"))
        .run(|request| Box::pin(get_one(request))),
    Route::patch("/indexes/{indexUid}", Action::IndexesUpdate)
        .event("Index Updated")
        .about("Set the primary key of an index, or rename it", Answer::Task(202))
        .json(
            || exactly([("uid", or_null(index_uid())), ("primaryKey", or_null(text()))], &[]),
            r#"{ "primaryKey": "id" }"#,
        )
        .run(|request| Box::pin(patch(request))),
    Route::delete("/indexes/{indexUid}", Action::IndexesDelete)
        .about("Delete an index", Answer::Task(202))
        .run(|request| Box::pin(remove(request))),
    Route::post("/indexes/{indexUid}/compact", Action::IndexesCompact)
        .about("Compact an index: rewrite it without deleted documents", Answer::Task(202))
        .run(|request| Box::pin(compact(request))),
    Route::post("/indexes/{indexUid}/clone", Action::IndexesCreate)
        .about("Clone an index without copying its files", Answer::Task(202))
        .json(|| exactly([("uid", index_uid())], &["uid"]), r#"{ "uid": "films-copy" }"#)
        .run(|request| Box::pin(clone(request))),
    Route::post("/indexes/{indexUid}/attach", Action::IndexesCreate)
        .about("Attach an index built offline", Answer::Task(202))
        .json(|| exactly([("folder", folder_name())], &["folder"]), r#"{ "folder": "films-2026-11" }"#)
        .run(|request| Box::pin(attach(request))),
    Route::post("/swap-indexes", Action::IndexesSwap)
        .event("Indexes Swapped")
        .about("Swap or rename indexes", Answer::Task(202))
        .json(swaps_schema, r#"[{ "indexes": ["films", "films-new"] }]"#)
        .run(|request| Box::pin(swap(request))),
];

/// The name of a folder: one part, not hidden.
fn folder_name() -> Value {
    json!({ "type": "string", "pattern": "^[^./\\\\][^/\\\\]{0,254}$" })
}

fn swaps_schema() -> Value {
    let pair = json!({ "type": "array", "items": index_uid(), "minItems": 2, "maxItems": 2 });
    list_of(exactly([("indexes", pair), ("rename", or_null(flag()))], &["indexes"]))
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

/// The indexes that a key may see.
pub(super) const LIST: Route = Route::get("/indexes", Action::IndexesGet)
    .about("List indexes", Answer::Ok("IndexPage"))
    .query(|| PAGE)
    .run(|request| Box::pin(list(request)));

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

async fn get_one(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let instance = Arc::clone(&request.state().instance);
    let body = blocking(move || instance.summary(&uid).map(|summary| view(&uid, &summary)));
    Ok(json_answer(StatusCode::OK, &body.await??))
}

async fn patch(request: Request) -> ApiResult<Response> {
    let uid = request.own_index_uid()?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let (primary_key, new_uid) = indexes::update(&*request.json().await?)?;
    if let Some(new_uid) = &new_uid {
        rights.check_index(new_uid)?;
    }
    enqueue(&state, NewTask::for_index(uid, Content::UpdateIndex { primary_key, new_uid })).await
}

async fn remove(request: Request) -> ApiResult<Response> {
    // Who deletes an alias means the alias, or does not know that it is one.
    let uid = request.own_index_uid()?;
    enqueue(request.state(), NewTask::for_index(uid, Content::DeleteIndex)).await
}

async fn compact(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    enqueue(request.state(), NewTask::for_index(uid, Content::CompactIndex)).await
}

async fn clone(request: Request) -> ApiResult<Response> {
    let uid = request.index_uid()?;
    let (state, rights) = (Arc::clone(request.state()), request.rights().clone());
    let new_uid = indexes::clone(&*request.json().await?)?;
    rights.check_index(&new_uid)?;
    enqueue(&state, NewTask::for_index(uid, Content::CloneIndex { new_uid })).await
}

async fn attach(request: Request) -> ApiResult<Response> {
    let uid = request.own_index_uid()?;
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
    enqueue(&state, NewTask::global(Content::SwapIndexes { swaps })).await
}
