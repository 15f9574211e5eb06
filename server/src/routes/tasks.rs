//! `/tasks` and `/batches`.

use std::sync::Arc;

use serde_json::json;
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::enqueue_as;
use crate::app::AppState;
use crate::error::ApiResult;
use crate::http::{Request, Routes, json_answer, request, respond};
use crate::tasks::{Content, NewTask, TaskFilter, TaskView, UidSet, batch_not_found, task_not_found};
use crate::wire::tasks::{list_parameters, selecting_parameters, uid_in_path};

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let get = warp::path!("tasks" / String).and(warp::get()).and(request(state));
    let list = warp::path!("tasks").and(warp::get()).and(request(state));
    let delete = warp::path!("tasks").and(warp::delete()).and(request(state));
    let cancel = warp::path!("tasks" / "cancel").and(warp::post()).and(request(state));
    let batch = warp::path!("batches" / String).and(warp::get()).and(request(state));
    let batches = warp::path!("batches").and(warp::get()).and(request(state));

    let get = get.then(|uid: String, request| respond(request, async move |request| get_task(&uid, &request)));
    let list = list.then(|request| respond(request, list_tasks));
    let delete = delete.then(|request| respond(request, delete_tasks));
    let cancel = cancel.then(|request| respond(request, cancel_tasks));
    let batch =
        batch.then(|uid: String, request| respond(request, async move |request| get_batch(&uid, &request).await));
    let batches = batches.then(|request| respond(request, list_batches));
    let tasks = get.or(list).unify().or(delete).unify().or(cancel).unify();
    tasks.or(batch).unify().or(batches).unify().boxed()
}

/// A lookup of microseconds: not worth another thread.
fn get_task(uid: &str, request: &Request) -> ApiResult<Response> {
    let state = request.state();
    let uid = uid_in_path(uid, "Task")?;
    let task = state.queue.task(uid)?;
    let is_visible = request.rights().visible().is_none()
        || task.index_uid.as_deref().is_some_and(|index_uid| request.rights().admits(index_uid));
    if !is_visible {
        return Err(task_not_found(uid));
    }
    Ok(json_answer(StatusCode::OK, &task.view(&state.error_docs)))
}

async fn list_tasks(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let (mut filter, paging) = list_parameters(&request.query())?;
    filter.visible = request.rights().visible().map(<[String]>::to_vec);
    let page = state.queue.tasks(filter, paging).await?;
    let results: Vec<TaskView<'_>> = page.results.iter().map(|task| task.view(&state.error_docs)).collect();
    Ok(json_answer(
        StatusCode::OK,
        &json!({
            "results": results,
            "total": page.total,
            "limit": page.limit,
            "from": page.from,
            "next": page.next,
        }),
    ))
}

async fn cancel_tasks(request: Request) -> ApiResult<Response> {
    let (filter, tasks) = matching(&request, "cancel").await?;
    enqueue_ok(request.state(), Content::CancelTasks { filter, tasks }).await
}

async fn delete_tasks(request: Request) -> ApiResult<Response> {
    let (filter, tasks) = matching(&request, "delete").await?;
    enqueue_ok(request.state(), Content::DeleteTasks { filter, tasks }).await
}

/// The query string as it came, and the tasks that match now.
async fn matching(request: &Request, verb: &str) -> ApiResult<(String, UidSet)> {
    let mut filter = selecting_parameters(&request.query(), verb)?;
    filter.visible = request.rights().visible().map(<[String]>::to_vec);
    let tasks = request.state().queue.matching(filter).await?;
    Ok((format!("?{}", request.raw_query()), tasks))
}

/// These two answer 200 where other writes answer 202.
async fn enqueue_ok(state: &Arc<AppState>, content: Content) -> ApiResult<Response> {
    enqueue_as(StatusCode::OK, state, NewTask::global(content)).await
}

async fn get_batch(uid: &str, request: &Request) -> ApiResult<Response> {
    let queue = &request.state().queue;
    let uid = uid_in_path(uid, "Batch")?;
    if let Some(patterns) = request.rights().visible() {
        let of_batch =
            TaskFilter { batch_uids: Some(vec![uid]), visible: Some(patterns.to_vec()), ..TaskFilter::default() };
        if queue.matching(of_batch).await?.is_empty() {
            return Err(batch_not_found(uid));
        }
    }
    let batch = queue.batch(uid)?;
    Ok(json_answer(StatusCode::OK, &batch))
}

async fn list_batches(request: Request) -> ApiResult<Response> {
    let (mut filter, paging) = list_parameters(&request.query())?;
    filter.visible = request.rights().visible().map(<[String]>::to_vec);
    let page = request.state().queue.batches(filter, paging).await?;
    Ok(json_answer(StatusCode::OK, &page))
}
