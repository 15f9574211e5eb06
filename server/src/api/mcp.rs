//! `/mcp`: the Model Context Protocol over HTTP ("streamable HTTP", without sessions): a message is the body of a request, its
//! answer the body of the answer, as JSON or as one event. Each call of a tool is carried out as the request that it stands
//! for, with the key of the caller, so that it may do exactly what the caller may do.

use http_body_util::BodyExt;
use lamina_base::budget::costs::TOOL_COPIES;
use lamina_base::budget::{AnswerBudget, VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Action;
use lamina_protocol::events::{self, event};
use lamina_protocol::mcp::{self, Backend, Call, Headers, Reply, Standing, Tools};
use lamina_protocol::wire::body::check_json_content_type;
use parking_lot::Mutex;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use warp::http::{StatusCode, header};
use warp::reply::Response;

use super::{documents, indexes, search, settings};
use crate::http::requests::{Origin, Request};
use crate::http::routing::{Answer, Route};
use crate::http::{as_events, json_text};

pub(super) const ROUTES: &[Route] = &[
    // Each call of a tool is checked as the request that it stands for.
    Route::post("/mcp", Action::Search)
        .about("MCP: a message of the Model Context Protocol", Answer::Message)
        .query(|| &["index"])
        .json(
            messages,
            r#"{
            "jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": { "name": "search", "arguments": { "index": "films", "q": "alein" } }
        }"#,
        )
        .run(|request| Box::pin(answer(request))),
];

/// A message of JSON-RPC, or several.
fn messages() -> Value {
    let message = json!({ "type": "object" });
    let several = json!({ "type": "array", "items": message.clone(), "minItems": 1, "maxItems": 50 });
    json!({ "anyOf": [message, several] })
}

async fn answer(request: Request) -> ApiResult<Response> {
    check_json_content_type(request.header(header::CONTENT_TYPE))?;
    let index = bound_to(&request)?;
    let Some(is_event) = is_event(request.header(header::ACCEPT)) else {
        let mut refused = Response::default();
        *refused.status_mut() = StatusCode::NOT_ACCEPTABLE;
        return Ok(refused);
    };
    let budget = request.state().budgets.answer();
    let tools =
        Tools::new(Inside { origin: request.origin(), budget: budget.clone(), refusal: Mutex::default() }, index);
    let (version, method, name) =
        (owned(&request, "mcp-protocol-version"), owned(&request, "mcp-method"), owned(&request, "mcp-name"));
    let headers = Headers { version: version.as_deref(), method: method.as_deref(), name: name.as_deref() };
    let body = request.bytes().await?;
    if body.is_empty() {
        return Err(ApiError::new(Code::MissingPayload, "A json payload is missing."));
    }
    let message = body.read(VALUE_BYTES, |text| Ok(serde_json::from_slice::<Value>(text).ok())).await?;
    let Some(Reply { message, standing }) = mcp::answer(message.as_ref(), Some(&headers), &tools).await else {
        let mut nothing = Response::default();
        *nothing.status_mut() = StatusCode::ACCEPTED;
        return Ok(nothing);
    };
    let status = match standing {
        Standing::Answered => StatusCode::OK,
        Standing::Malformed => StatusCode::BAD_REQUEST,
        Standing::NoMethod => StatusCode::NOT_FOUND,
    };
    let text = if is_event { event(Some("message"), None, &message) } else { message.to_string() };
    let mut answer = json_text(budget.body(text.into_bytes()));
    *answer.status_mut() = status;
    Ok(if is_event { as_events(answer) } else { answer })
}

fn owned(request: &Request, header: &'static str) -> Option<String> {
    request.header(header).map(|value| value.trim().to_owned())
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

/// Reports whether the response is an event. JSON is simpler, and preferred if the client accepts both. `None`: it
/// accepts neither.
fn is_event(accept: Option<&str>) -> Option<bool> {
    let Some(accept) = accept else { return Some(false) };
    let kinds: Vec<&str> = accept.split(',').filter_map(|kind| kind.split(';').next()).map(str::trim).collect();
    let takes = |names: &[&str]| kinds.iter().any(|kind| names.iter().any(|name| kind.eq_ignore_ascii_case(name)));
    if takes(&["application/json", "application/*", "*/*"]) {
        return Some(false);
    }
    takes(&[events::CONTENT_TYPE, "text/*"]).then_some(true)
}

/// Server behind the tools, called with the rights of the caller.
struct Inside {
    origin: Origin,
    /// The memory of all that a request makes.
    budget: AnswerBudget,
    /// Reason why no more calls are executed: the memory is taken by earlier calls, or by others.
    refusal: Mutex<Option<String>>,
}

impl Inside {
    /// Reads a response, and counts its memory until it is sent on.
    async fn read(&self, answer: Response) -> Result<Value, String> {
        let (mut body, mut text) = (answer.into_body(), Vec::new());
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| format!("The answer broke off: {error}."))?;
            let Ok(piece) = frame.into_data() else { continue };
            self.take(TOOL_COPIES * piece.len())?;
            text.extend_from_slice(&piece);
        }
        self.take(json_heap_bytes(&text, VALUE_BYTES))?;
        Ok(serde_json::from_slice(&text).unwrap_or_default())
    }

    fn take(&self, bytes: usize) -> Result<(), String> {
        self.budget.take(bytes).map_err(|error| self.refusal.lock().insert(error.message).clone())
    }
}

impl Backend for Inside {
    async fn call(&self, call: Call) -> Result<Value, String> {
        let Inside { origin, refusal, .. } = self;
        if let Some(reason) = &*refusal.lock() {
            return Err(reason.clone());
        }
        let encoded = |index: &str| utf8_percent_encode(index, NON_ALPHANUMERIC).to_string();
        let some = |body: &Value| Some(body.to_string().into_bytes());
        let nothing = String::new;
        let answer = match &call {
            Call::ListIndexes { offset, limit } => {
                indexes::LIST.call(origin, &[], format!("offset={offset}&limit={limit}"), None).await
            }
            Call::Settings { index } => settings::ALL.call(origin, &[&encoded(index)], nothing(), None).await,
            Call::Setting { index, route } => {
                settings::ONE.call(origin, &[&encoded(index), route], nothing(), None).await
            }
            Call::Fetch { index, body } => {
                documents::FETCH.call(origin, &[&encoded(index)], nothing(), some(body)).await
            }
            Call::Search { index, body } => {
                search::BY_BODY.call(origin, &[&encoded(index)], nothing(), some(body)).await
            }
        };
        let status = answer.status();
        let value = self.read(answer).await?;
        if status.is_success() {
            return Ok(value);
        }
        let reason = value["message"].as_str().unwrap_or("The server refuses.").to_owned();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            refusal.lock().replace(reason.clone());
        }
        Err(reason)
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
}
