//! `/tasks` and `/batches`.

use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;
use futures_util::Stream;
use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::options::human_size;
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::tasks::{
    Content, NewTask, Page, PayloadDamage, PayloadPlace, Status, Task, TaskView, UidSet, batch_not_found, blocking,
    check_inline_payload, check_payload_file, task_not_found,
};
use lamina_protocol::wire::documents::CUSTOM_METADATA;
use lamina_protocol::wire::tasks::{FILTERS, LIST, TaskFilter, list_parameters, selecting_parameters, uid_in_path};
use serde::Serialize;
use serde_json::json;
use warp::Reply;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

use super::enqueue_as;
use super::hidden_names::{hide_in_batch, hide_in_task};
use crate::app::AppState;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};
use crate::http::{json_answer, json_text};

pub(super) const ROUTES: &[Route] = &[
    Route::get("/tasks", Action::TasksGet)
        .event("Tasks Seen")
        .about("List tasks", Answer::Ok("TaskPage"))
        .query(|| &LIST)
        .run(|request| Box::pin(list_tasks(request))),
    Route::delete("/tasks", Action::TasksDelete)
        .event("Tasks Deleted")
        .about("Delete finished tasks", Answer::Task(200))
        .query(|| &FILTERS)
        .run(|request| Box::pin(delete_tasks(request))),
    Route::post("/tasks/cancel", Action::TasksCancel)
        .event("Tasks Canceled")
        .about("Cancel tasks", Answer::Task(200))
        .query(|| &FILTERS)
        .run(|request| Box::pin(cancel_tasks(request))),
    Route::post("/tasks/compact", Action::TasksCompact)
        .about("Give the room of deleted tasks back; feature `taskQueueCompactionRoute`", Answer::Ok("QueueCompaction"))
        .run(|request| Box::pin(compact_queue(request))),
    Route::get("/tasks/{taskUid}", Action::TasksGet)
        .event("Tasks Seen")
        .about("Get a task", Answer::Ok("Task"))
        .run(|request| Box::pin(get_task(request))),
    Route::get("/tasks/{taskUid}/documents", Action::TasksGet)
        .about("The documents of an addition that is not finished; feature `getTaskDocumentsRoute`", Answer::Lines)
        .run(|request| Box::pin(task_documents(request))),
    Route::get("/batches", Action::TasksGet)
        .event("Tasks Seen")
        .about("List batches", Answer::Ok("BatchPage"))
        .query(|| &LIST)
        .run(|request| Box::pin(list_batches(request))),
    Route::get("/batches/{batchUid}", Action::TasksGet)
        .event("Tasks Seen")
        .about("Get a batch", Answer::Ok("Batch"))
        .run(|request| Box::pin(get_batch(request))),
];

/// A lookup of microseconds: not worth another thread.
async fn get_task(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let uid = uid_in_path(request.part("taskUid"), "Task")?;
    let task = visible_task(uid, &request)?;
    Ok(json_answer(StatusCode::OK, &task.view(&state.error_docs)))
}

/// The task, if the key of the request may know of it.
fn visible_task(uid: u32, request: &Request) -> ApiResult<Task> {
    let task = request.state().queue.task(uid)?;
    let is_visible = request.rights().visible().is_none()
        || task.index_uid.as_deref().is_some_and(|index_uid| request.rights().admits(index_uid));
    if is_visible { Ok(hide_in_task(task, request.rights())) } else { Err(task_not_found(uid)) }
}

/// The documents of an addition that is not finished, as they will be indexed, once their checksum is compared.
async fn task_documents(request: Request) -> ApiResult<Response> {
    let state = request.state();
    if !state.features.is_on(Feature::GetTaskDocumentsRoute) {
        return Err(ApiError::feature_not_enabled(
            "Getting the documents of an enqueued task",
            "get task documents route",
        ));
    }
    let uid = uid_in_path(request.part("taskUid"), "Task")?;
    visible_task(uid, &request)?;
    let state = Arc::clone(state);
    let body = blocking(move || payload(&state, uid)).await??;
    let mut response = match body {
        Documents::Few(lines) => Response::new(lines.into()),
        Documents::Many(file) => warp::reply::stream(pieces(file)).into_response(),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    Ok(response)
}

/// Documents of a task, ready to be read. An open file stays readable when the task ends.
enum Documents {
    Few(Vec<u8>),
    Many(File),
}

fn payload(state: &AppState, uid: u32) -> ApiResult<Documents> {
    let store = state.queue.store();
    let none = || {
        ApiError::new(
            Code::TaskFileNotFound,
            format!(
                "Task `{uid}` does not contain any documents. Only `documentAdditionOrUpdate` tasks with the statuses \
                 `enqueued` or `processing` contain documents"
            ),
        )
    };
    let Some(Content::Upsert(upsert)) = store.content(uid)? else { return Err(none()) };
    match &upsert.payload {
        PayloadPlace::Inline => {
            let documents = store.inline_payload(uid)?.ok_or_else(none)?;
            check_inline_payload(&upsert, &documents).map_err(|damage| damage.of_task(uid))?;
            Ok(Documents::Few(documents))
        }
        PayloadPlace::File(name) => {
            let path = state.instance.payload_folder().join(name);
            // The task may just have ended, or may end while the file is read.
            let file = File::open(&path).map_err(|_| none())?;
            match check_payload_file(&upsert, &path) {
                Ok(()) => Ok(Documents::Many(file)),
                Err(PayloadDamage::Missing) => Err(none()),
                Err(damage) => Err(damage.of_task(uid)),
            }
        }
    }
}

/// A file in pieces, read away from the threads that serve connections.
fn pieces(file: File) -> impl Stream<Item = io::Result<Bytes>> + Send {
    const PIECE_BYTES: u64 = 256 * 1024;
    futures_util::stream::try_unfold(file, |file| async {
        let read = blocking(move || {
            let mut piece = Vec::new();
            (&file).take(PIECE_BYTES).read_to_end(&mut piece)?;
            Ok::<_, io::Error>((!piece.is_empty()).then(|| (Bytes::from(piece), file)))
        });
        read.await.map_err(|error| io::Error::other(error.message))?
    })
}

async fn compact_queue(request: Request) -> ApiResult<Response> {
    let state = Arc::clone(request.state());
    if !state.features.is_on(Feature::TaskQueueCompactionRoute) {
        return Err(ApiError::feature_not_enabled("Using the /tasks/compact route", "task queue compaction route"));
    }
    let (before, after) = blocking(move || state.queue.store().compact()).await??;
    let body = json!({
        "preSize": human_size(before),
        "postSize": human_size(after),
        "status": Status::Succeeded,
        // Nothing: the queue goes on by itself.
        "actionRequired": null,
    });
    Ok(json_answer(StatusCode::OK, &body))
}

async fn list_tasks(request: Request) -> ApiResult<Response> {
    let state = request.state();
    let (asked, paging) = list_parameters(&request.query())?;
    let filter = visible(asked, &request);
    let budget = state.budgets.answer();
    let page = state.queue.tasks(filter, paging, budget.clone()).await?;
    let tasks: Vec<Task> = page.results.into_iter().map(|task| hide_in_task(task, request.rights())).collect();
    let results: Vec<TaskView<'_>> = tasks.iter().map(|task| task.view(&state.error_docs)).collect();
    let page = Page { results, total: page.total, limit: page.limit, from: page.from, next: page.next };
    Ok(listed(&page, budget))
}

async fn cancel_tasks(request: Request) -> ApiResult<Response> {
    let (filter, tasks) = matching(&request, "cancel").await?;
    enqueue_ok(request.state(), Content::CancelTasks { filter, tasks }).await
}

async fn delete_tasks(request: Request) -> ApiResult<Response> {
    let (filter, tasks) = matching(&request, "delete").await?;
    enqueue_ok(request.state(), Content::DeleteTasks { filter, tasks }).await
}

/// The tasks that a request names, of those that its key may know of.
fn visible(mut asked: TaskFilter, request: &Request) -> TaskFilter {
    for uid in asked.index_uids.iter_mut().flatten() {
        request.rights().target(uid).to_owned().clone_into(uid);
    }
    TaskFilter { visible: request.rights().visible().map(<[String]>::to_vec), ..asked }
}

/// The query string as it came, and the tasks that match now.
async fn matching(request: &Request, verb: &str) -> ApiResult<(String, UidSet)> {
    let asked = selecting_parameters(&request.query().without(CUSTOM_METADATA), verb)?;
    let tasks = request.state().queue.matching(visible(asked, request)).await?;
    Ok((format!("?{}", request.raw_query()), tasks))
}

/// Enqueues a task and answers 200, where other writes answer 202.
async fn enqueue_ok(state: &Arc<AppState>, content: Content) -> ApiResult<Response> {
    enqueue_as(StatusCode::OK, state, NewTask::global(content)).await
}

async fn get_batch(request: Request) -> ApiResult<Response> {
    let queue = &request.state().queue;
    let uid = uid_in_path(request.part("batchUid"), "Batch")?;
    if let Some(patterns) = request.rights().visible() {
        let of_batch =
            TaskFilter { batch_uids: Some(vec![uid]), visible: Some(patterns.to_vec()), ..TaskFilter::default() };
        if queue.matching(of_batch).await?.is_empty() {
            return Err(batch_not_found(uid));
        }
    }
    let batch = hide_in_batch(queue.batch(uid)?, request.rights());
    Ok(json_answer(StatusCode::OK, &batch))
}

async fn list_batches(request: Request) -> ApiResult<Response> {
    let (asked, paging) = list_parameters(&request.query())?;
    let filter = visible(asked, &request);
    let budget = request.state().budgets.answer();
    let mut page = request.state().queue.batches(filter, paging, budget.clone()).await?;
    page.results = page.results.into_iter().map(|batch| hide_in_batch(batch, request.rights())).collect();
    Ok(listed(&page, budget))
}

/// A page as it is sent.
fn listed(page: &Page<impl Serialize>, budget: AnswerBudget) -> Response {
    let body = serde_json::to_vec(page).expect("tasks and batches have text keys");
    json_text(budget.body(body))
}
