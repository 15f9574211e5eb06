//! `/mcp`: the Model Context Protocol over HTTP ("streamable HTTP", without sessions): a message is the body of a request, its
//! answer the body of the answer, as JSON or as one event. Each call of a tool is carried out as the request that it stands
//! for, with the key of the caller, so that it may do exactly what the caller may do.

use std::sync::Arc;

use http_body_util::BodyExt;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use warp::Filter;
use warp::http::{HeaderValue, Method, StatusCode, header};
use warp::reply::Response;

use super::{documents, indexes, search, settings};
use crate::app::AppState;
use crate::error::{ApiError, ApiResult, Code};
use crate::http::json_answer;
use crate::mcp::{self, Backend, Call, Tools};
use crate::requests::{Origin, Request, request, respond};
use crate::routes::Routes;
use crate::wire::body::check_json_content_type;

/// Names the version that client and server have agreed on.
const VERSION_HEADER: &str = "mcp-protocol-version";

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("mcp").and(warp::post()).and(request(state));
    post.then(|request| respond(request, answer)).boxed()
}

async fn answer(request: Request) -> ApiResult<Response> {
    check_json_content_type(request.header(header::CONTENT_TYPE))?;
    check_version(request.header(VERSION_HEADER))?;
    let index = bound_to(&request)?;
    let Some(is_event) = is_event(request.header(header::ACCEPT)) else {
        let mut refused = Response::default();
        *refused.status_mut() = StatusCode::NOT_ACCEPTABLE;
        return Ok(refused);
    };
    let tools = Tools::new(Inside(request.origin()), index);
    let body = request.bytes().await?;
    if body.is_empty() {
        return Err(ApiError::new(Code::MissingPayload, "A json payload is missing."));
    }
    let Some(message) = mcp::answer(&String::from_utf8_lossy(&body), &tools).await else {
        let mut nothing = Response::default();
        *nothing.status_mut() = StatusCode::ACCEPTED;
        return Ok(nothing);
    };
    let status = if mcp::is_malformed(&message) { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    if !is_event {
        return Ok(json_answer(status, &message));
    }
    let mut answer = Response::new(format!("event: message\ndata: {message}\n\n").into());
    *answer.status_mut() = status;
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    Ok(answer)
}

/// # Errors
/// `bad_request`
fn check_version(version: Option<&str>) -> ApiResult<()> {
    match version {
        Some(version) if !mcp::VERSIONS.contains(&version) => {
            let known = mcp::VERSIONS.join("`, `");
            let shown = crate::error::excerpt(version);
            let message = format!("The version `{shown}` of the protocol is not known here. Known are `{known}`.");
            Err(ApiError::new(Code::BadRequest, message))
        }
        _ => Ok(()),
    }
}

/// The only index of the tools, if the address names one.
///
/// # Errors
/// `bad_request`, `invalid_index_uid`
fn bound_to(request: &Request) -> ApiResult<Option<String>> {
    let mut index = None;
    request.query().parameters(&["index"], |_, parameter| {
        index = Some(parameter.code(Code::InvalidIndexUid).index_uid()?);
        Ok(())
    })?;
    Ok(index)
}

/// Whether the answer is an event. JSON is simpler, and preferred where the client takes both. `None`: it takes neither.
fn is_event(accept: Option<&str>) -> Option<bool> {
    let Some(accept) = accept else { return Some(false) };
    let kinds: Vec<&str> = accept.split(',').filter_map(|kind| kind.split(';').next()).map(str::trim).collect();
    let takes = |names: &[&str]| kinds.iter().any(|kind| names.iter().any(|name| kind.eq_ignore_ascii_case(name)));
    if takes(&["application/json", "application/*", "*/*"]) {
        return Some(false);
    }
    takes(&["text/event-stream", "text/*"]).then_some(true)
}

/// This server, asked by a caller of it.
struct Inside(Origin);

impl Backend for Inside {
    async fn call(&self, call: Call) -> Result<Value, String> {
        let Inside(origin) = self;
        let encoded = |index: &str| utf8_percent_encode(index, NON_ALPHANUMERIC).to_string();
        let get = |path: String| origin.request(Method::GET, path, None);
        let post = |path: String, body: &Value| origin.request(Method::POST, path, Some(body.to_string().into_bytes()));
        let answer = match &call {
            Call::ListIndexes => indexes::all(get("/indexes".to_owned())).await,
            Call::Settings { index } => {
                let index = encoded(index);
                settings::all(index.clone(), get(format!("/indexes/{index}/settings"))).await
            }
            Call::Fetch { index, body } => {
                let index = encoded(index);
                documents::fetch(index.clone(), post(format!("/indexes/{index}/documents/fetch"), body)).await
            }
            Call::Search { index, body } => {
                let index = encoded(index);
                search::by_body(index.clone(), post(format!("/indexes/{index}/search"), body)).await
            }
        };
        let is_fine = answer.status().is_success();
        let body = answer.into_body().collect().await.map_err(|error| format!("The answer broke off: {error}."))?;
        let value: Value = serde_json::from_slice(&body.to_bytes()).unwrap_or_default();
        match is_fine {
            true => Ok(value),
            false => Err(value["message"].as_str().unwrap_or("The server refuses.").to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_unless_only_events_are_taken() {
        for (accept, expected) in [
            (None, Some(false)),
            (Some("application/json, text/event-stream"), Some(false)),
            (Some("*/*"), Some(false)),
            (Some("text/event-stream;q=0.9"), Some(true)),
            (Some("text/html"), None),
            (Some(""), None),
        ] {
            assert_eq!(is_event(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn unknown_versions_are_refused() {
        assert!(check_version(None).is_ok() && check_version(Some(mcp::VERSIONS[0])).is_ok());
        assert_eq!(check_version(Some("1999-01-01")).unwrap_err().code, Code::BadRequest);
    }
}
