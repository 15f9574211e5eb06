//! All routes, one file per resource.

mod aliases;
mod analytics;
mod backups;
mod changes;
mod chats;
mod docs;
mod documents;
mod embed;
mod events;
mod experimental_features;
mod experiments;
mod export;
mod fields;
mod generations;
mod health;
mod hidden_names;
mod history;
mod html;
mod indexes;
mod keys;
mod limits;
mod logs;
mod mcp;
mod metrics;
pub(crate) mod middleware;
mod multi_search;
mod network;
mod openapi;
mod page;
mod render;
mod replicas;
mod rerank;
mod rules;
mod sample;
mod search;
mod settings;
mod slow_searches;
mod stats;
mod table;
mod task_streams;
mod tasks;
mod unreadable;
mod webhooks;

use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::observe::ObservedRequest;
use lamina_data::tasks::{NewTask, Status};
use lamina_data::telemetry::Facts;
use serde_json::json;
use warp::http::StatusCode;
use warp::reply::Response;

use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Replication, accepted, metadata};

pub(crate) use experiments::check as check_experiment;
pub(crate) use history::end_step;
pub(crate) use table::ROUTES;

/// Registers a task and answers 202 with its short form.
async fn enqueue(state: &Arc<AppState>, task: NewTask) -> ApiResult<Response> {
    enqueue_as(StatusCode::ACCEPTED, state, task).await
}

/// Registers a task like [`enqueue`], for the few routes that respond with another status.
async fn enqueue_as(status: StatusCode, state: &Arc<AppState>, task: NewTask) -> ApiResult<Response> {
    let replication = Replication::of_request();
    let custom_metadata = metadata::of_request();
    let task = NewTask { uid: replication.task_uid, custom_metadata, ..task };
    if replication.is_dry_run {
        return dry_run(status, state, &task);
    }
    let facts = state.telemetry.is_on().then(|| Facts::of_task(&task.content)).flatten();
    let mut answer = accepted(status, &state.queue.enqueue(task).await?);
    report(&mut answer, facts);
    Ok(answer)
}

/// Answers as if the task were registered, and forgets it.
fn dry_run(status: StatusCode, state: &AppState, task: &NewTask) -> ApiResult<Response> {
    if let Some(file) = task.content.payload_file() {
        std::fs::remove_file(state.instance.payload_folder().join(file))?;
    }
    let mut answer = json!({
        "taskUid": state.queue.store().uid_for(task.uid)?,
        "indexUid": task.index_uid,
        "status": Status::Enqueued,
        "type": task.content.kind(),
        "enqueuedAt": Timestamp::now(),
    });
    if let Some(metadata) = &task.custom_metadata {
        answer["customMetadata"] = metadata.as_str().into();
    }
    Ok(json_answer(status, &answer))
}

/// Sends facts along with an answer.
fn report(answer: &mut Response, facts: Option<Facts>) {
    if let Some(facts) = facts {
        answer.extensions_mut().get_or_insert_default::<ObservedRequest>().facts = Some(Box::new(facts));
    }
}
