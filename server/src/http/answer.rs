//! Answers.

use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures_util::FutureExt;
use serde::Serialize;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

use super::request::Request;
use crate::app::AppState;
use crate::error::{ApiError, ApiResult};
use crate::search_pool::panic_text;

/// A JSON answer.
pub fn json_answer(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("answers have text keys and no failing serialisers");
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON answer of 200 whose text is there already.
pub fn json_text(body: Vec<u8>) -> Response {
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
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
            // A bug answers one request with an error instead of closing the connection on all that share it.
            AssertUnwindSafe(async { handler(request).await }).catch_unwind().await.unwrap_or_else(|panic| {
                Err(ApiError::internal(format!("An unexpected crash occurred: `{}`.", panic_text(&*panic))))
            })
        }
        Err(error) => Err(error),
    };
    result.unwrap_or_else(|error| error_answer(&state, &error))
}
