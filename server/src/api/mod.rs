//! All routes, one file per resource.

mod aliases;
mod backups;
mod changes;
mod chats;
mod docs;
mod documents;
mod embed;
mod experimental_features;
mod export;
mod fields;
mod generations;
mod health;
mod hidden_names;
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
mod search;
mod settings;
mod stats;
mod table;
mod task_streams;
mod tasks;
mod unavailable;
mod unreadable;
mod webhooks;

use std::convert::Infallible;
use std::sync::Arc;

use lamina_base::error::ApiResult;
use lamina_base::timestamp::Timestamp;
use lamina_data::observe::ObservedRequest;
use lamina_data::tasks::{NewTask, Status};
use lamina_data::telemetry::Facts;
use serde_json::json;
use warp::filters::BoxedFilter;
use warp::http::StatusCode;
use warp::reply::Response;
use warp::{Filter, Rejection, Reply};

use crate::app::AppState;
use crate::http::json_answer;
use crate::http::requests::{Replication, accepted, metadata};

pub(crate) use table::{methods_of, route_of};

/// Routes of any kind. Boxed, so that the compiler does not see the type of each filter within that of all others: with
/// types of 20,000 letters, two thirds of the time that the server took to compile went into them.
pub(crate) type Routes = BoxedFilter<(Response,)>;

/// What the first of some routes that takes a request answers. The earlier one stands, the fewer calls lead to it.
fn any_of<const COUNT: usize>(routes: [Routes; COUNT]) -> Routes {
    let join = |rest: Routes, route: Routes| route.or(rest).unify().boxed();
    routes
        .into_iter()
        .rev()
        .reduce(join)
        .unwrap_or_else(|| warp::any().and_then(async || Err(warp::reject::not_found())).boxed())
}

/// Every route of the server, the most frequent ones first; never rejects.
pub(crate) fn routes(state: &Arc<AppState>) -> Routes {
    let frequent = [search::routes(state), documents::routes(state), task_streams::routes(state), tasks::routes(state)];
    let of_indexes = [
        indexes::routes(state),
        settings::routes(state),
        stats::routes(state),
        fields::routes(state),
        aliases::routes(state),
        generations::routes(state),
        changes::routes(state),
    ];
    let of_server = [
        health::routes(state),
        experimental_features::routes(state),
        keys::routes(state),
        backups::routes(state),
        metrics::routes(state),
        logs::routes(state),
        webhooks::routes(state),
        export::routes(state),
        network::routes(state),
        rules::routes(state),
        render::routes(state),
        replicas::routes(state),
        chats::routes(state),
        mcp::routes(state),
        openapi::routes(state),
        docs::routes(state),
        page::routes(state),
        unavailable::routes(state),
    ];
    let all = [any_of(frequent), multi_search::routes(state), any_of(of_indexes), any_of(of_server)];
    any_of(all).recover(unrouted).unify().boxed()
}

/// Answers what no route took: 404 or 405 without a body.
async fn unrouted(rejection: Rejection) -> Result<Response, Infallible> {
    let status = if rejection.find::<warp::reject::MethodNotAllowed>().is_some() {
        StatusCode::METHOD_NOT_ALLOWED
    } else if rejection.is_not_found() {
        StatusCode::NOT_FOUND
    } else {
        tracing::error!(?rejection, "a filter rejected a request that its route had matched");
        StatusCode::INTERNAL_SERVER_ERROR
    };
    Ok(status.into_response())
}

/// Registers a task and answers 202 with its short form.
async fn enqueue(state: &Arc<AppState>, task: NewTask) -> ApiResult<Response> {
    enqueue_as(StatusCode::ACCEPTED, state, task).await
}

/// As [`enqueue`], for the few that answer another status.
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
