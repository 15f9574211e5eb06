//! From a request that a route took to its answer: what a key may do, what the request asks for beside its route, errors.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt;
use lamina_base::error::{ApiError, ApiResult, panic_text};
use lamina_data::access::Rights;
use lamina_data::observe::ObservedRequest;
use lamina_data::tasks::SummarizedTask;
use lamina_protocol::wire::wait::Wait;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

use super::metadata;
use super::replication::Replication;
use super::request::Request;
use crate::app::AppState;
use crate::http::json_answer;

/// Marks the answer to a write with the task it made.
#[derive(Clone, Copy)]
struct AcceptedTask(u32);

/// The answer to a write: the short form of its task. A client that said `wait=searchable` gets it when the task ends.
pub(crate) fn accepted(status: StatusCode, task: &SummarizedTask) -> Response {
    let mut response = json_answer(status, task);
    response.extensions_mut().insert(AcceptedTask(task.uid()));
    response
}

/// Returns the task that an answer says is accepted.
pub(crate) fn accepted_task(answer: &Response) -> Option<u32> {
    answer.extensions().get::<AcceptedTask>().map(|task| task.0)
}

/// The answer to a failed request.
pub(crate) fn error_answer(state: &AppState, error: &ApiError) -> Response {
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

/// Parameters of a request besides its route.
#[derive(Default)]
struct CommonParameters {
    /// Time that the response to a write waits for its effect.
    wait: Option<Wait>,
    replication: Replication,
    metadata: Option<String>,
}

impl CommonParameters {
    fn of(request: &Request, state: &AppState) -> ApiResult<CommonParameters> {
        let wait = request.wait()?;
        let replication = match state.options.experimental.experimental_replication_parameters {
            true => Replication::of(request.headers())?,
            false => Replication::default(),
        };
        let metadata = match request.endpoint().method == "GET" {
            true => None,
            false => metadata::read(&request.query())?,
        };
        Ok(CommonParameters { wait, replication, metadata })
    }
}

/// Function that answers the requests of a route. On the heap: what a search keeps while it waits is large, and each layer around it would
/// hold it on the stack.
pub(crate) type Handler = fn(Request) -> Pin<Box<dyn Future<Output = ApiResult<Response>> + Send>>;

/// Answers a request: a client that may not ask never learns what else is wrong.
pub(crate) async fn respond(mut request: Request, handler: Handler) -> Response {
    let state = request.state().clone();
    let admitted = admit(&state, &request);
    let CommonParameters { wait, replication, metadata } = match admitted {
        Ok((rights, asked)) => {
            request.grant(rights);
            asked
        }
        Err(error) => return error_answer(&state, &error),
    };
    let handled = replication.during(metadata::during(metadata, handler(request)));
    // A bug answers one request with an error instead of closing the connection on all that share it.
    let handled = AssertUnwindSafe(handled).catch_unwind().await;
    let answer = handled.unwrap_or_else(|panic| {
        Err(ApiError::internal(format!("An unexpected crash occurred: `{}`.", panic_text(&*panic))))
    });
    match (answer, wait) {
        (Ok(answer), Some(wait)) => awaited(&state, answer, wait).await,
        (Ok(answer), None) => answer,
        (Err(error), _) => error_answer(&state, &error),
    }
}

/// Returns what the key of a request may do, then what the request asks for. Where no key is needed, it asks for nothing else.
fn admit(state: &AppState, request: &Request) -> ApiResult<(Rights, CommonParameters)> {
    let rights = request.check()?;
    let asked = if request.endpoint().needed.is_some() {
        CommonParameters::of(request, state)?
    } else {
        CommonParameters::default()
    };
    Ok((rights, asked))
}

/// Holds the answer to a write back until its task has ended or patience has; it then says how far the task is.
async fn awaited(state: &AppState, answer: Response, wait: Wait) -> Response {
    let Some(&AcceptedTask(uid)) = answer.extensions().get() else { return answer };
    match state.queue.ended(uid, wait.patience).await {
        Ok(task) => {
            let mut ended = json_answer(answer.status(), &task.into_summary_of_end(&state.error_docs));
            if let Some(seen) = answer.extensions().get::<ObservedRequest>() {
                ended.extensions_mut().insert(seen.clone());
            }
            ended
        }
        // The write is accepted whatever became of the look at it.
        Err(_) => answer,
    }
}
