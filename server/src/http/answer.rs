//! Answers.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use bytes::Bytes;
use futures_util::FutureExt;
use serde::Serialize;
use warp::http::{HeaderValue, Method, StatusCode, header};
use warp::reply::Response;

use super::metadata;
use super::replication::Replication;
use super::request::Request;
use crate::app::AppState;
use crate::error::{ApiError, ApiResult};
use crate::observe::Seen;
use crate::search_pool::panic_text;
use crate::tasks::SummarizedTask;
use crate::wire::wait::Wait;

/// Names the limits that an answer met. Those that the protocol's answers say nothing of are told here, so that bodies
/// have the keys that clients know.
pub(crate) const LIMITS_HEADER: &str = "lamina-limits";

/// A JSON answer.
pub fn json_answer(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("answers have text keys and no failing serialisers");
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON answer of 200 whose text is there already.
pub fn json_text(body: impl Into<Bytes>) -> Response {
    let body: Bytes = body.into();
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Marks the answer to a write with the task it made.
#[derive(Clone, Copy)]
struct AcceptedTask(u32);

/// The answer to a write: the short form of its task. A client that said `wait=searchable` gets it when the task ends.
pub fn accepted(status: StatusCode, task: &SummarizedTask) -> Response {
    let mut response = json_answer(status, task);
    response.extensions_mut().insert(AcceptedTask(task.uid()));
    response
}

/// An answer of 204 without a body.
pub fn no_content() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// The answer to a failed request.
pub fn error_answer(state: &AppState, error: &ApiError) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if status.is_server_error() && status != StatusCode::SERVICE_UNAVAILABLE {
        tracing::error!(code = %error.code, message = %error.message, "request failed");
    }
    let mut response = json_answer(status, &error.body(&state.error_docs));
    if let Some(seconds) = error.retry_after_seconds() {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Answers a request that needs a key: who may not ask never learns what else is wrong.
pub async fn respond<F>(mut request: Request, handler: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = ApiResult<Response>>,
{
    let state = request.state().clone();
    let result = match state.access.check(request.method(), request.path(), request.headers()) {
        Ok(rights) => {
            request.grant(rights);
            let wait = match request.wait() {
                Ok(wait) => wait,
                Err(error) => return error_answer(&state, &error),
            };
            // A bug answers one request with an error instead of closing the connection on all that share it.
            let replication = match state.options.experimental.experimental_replication_parameters {
                true => Replication::of(request.headers()),
                false => Ok(Replication::default()),
            };
            let replication = match replication {
                Ok(replication) => replication,
                Err(error) => return error_answer(&state, &error),
            };
            let metadata = match request.method() == Method::GET {
                true => Ok(None),
                false => metadata::read(&request.query()),
            };
            let metadata = match metadata {
                Ok(metadata) => metadata,
                Err(error) => return error_answer(&state, &error),
            };
            // On the heap: what a search keeps while it waits is large, and each layer around it would hold it on the stack.
            let handling = Box::pin(async { handler(request).await });
            let handled = replication.during(metadata::during(metadata, handling));
            let handled = AssertUnwindSafe(handled).catch_unwind().await;
            let answer = handled.unwrap_or_else(|panic| {
                Err(ApiError::internal(format!("An unexpected crash occurred: `{}`.", panic_text(&*panic))))
            });
            match (answer, wait) {
                (Ok(answer), Some(wait)) => Ok(awaited(&state, answer, wait).await),
                (answer, _) => answer,
            }
        }
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| error_answer(&state, &error))
}

/// Holds the answer to a write back until its task has ended or patience has; it then tells how far the task is.
async fn awaited(state: &AppState, answer: Response, wait: Wait) -> Response {
    let Some(&AcceptedTask(uid)) = answer.extensions().get() else { return answer };
    match state.queue.ended(uid, wait.patience).await {
        Ok(task) => {
            let mut ended = json_answer(answer.status(), &task.into_summary());
            if let Some(seen) = answer.extensions().get::<Seen>() {
                ended.extensions_mut().insert(seen.clone());
            }
            ended
        }
        // The write is accepted whatever became of the look at it.
        Err(_) => answer,
    }
}
