//! Answers.

use bytes::Bytes;
use serde::Serialize;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

/// The value as a body, with its type and length.
pub(crate) fn json_answer(status: StatusCode, body: &impl Serialize) -> Response {
    let body = serde_json::to_vec(body).expect("answers have text keys and no failing serialisers");
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A JSON answer of 200 whose text is there already.
pub(crate) fn json_text(body: impl Into<Bytes>) -> Response {
    let body: Bytes = body.into();
    let mut response = Response::new(body.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// An answer of 204 without a body.
pub(crate) fn no_content() -> Response {
    let mut response = Response::default();
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}
