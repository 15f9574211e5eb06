//! Requests that a replica passes on to the server that writes, where it is started with `--forward-writes`.

use std::time::Duration;

use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use http_body_util::BodyDataStream;
use hyper::body::{Bytes, Incoming};
use lamina_base::error::{ApiError, Code};
use lamina_base::outbound::{OutboundError, followable, is_framing};
use lamina_replication::Role;
use warp::Reply;
use warp::http::{HeaderMap, HeaderName, HeaderValue, Request, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::Received;
use crate::http::requests::error_answer;

/// In a request that was passed on: it is passed on once.
const FORWARDED: HeaderName = HeaderName::from_static("lamina-forwarded");
/// In answers of the writer: this server says them itself.
const OWN: [&str; 4] = ["access-control-allow-origin", "vary", "x-request-id", "date"];

/// Returns the address to which a request is forwarded, if it is.
pub(super) fn target(state: &AppState, request: &Request<Incoming>, is_read: bool) -> Option<String> {
    let is_writer_elsewhere = matches!(state.replication.role(), Role::Replica | Role::Superseded);
    if !state.options.replication.forward_writes || !is_writer_elsewhere {
        return None;
    }
    if is_read || request.headers().contains_key(FORWARDED) {
        return None;
    }
    let writer = state.replication.writer()?;
    let path = request.uri().path_and_query()?;
    Some(format!("{}{path}", writer.trim_end_matches('/')))
}

/// The answer of the writer, which looks at the key.
pub(super) async fn forward(state: &AppState, request: Request<Incoming>, target: &str) -> Response {
    match pass(state, request, target).await {
        Ok(answer) => answer,
        Err(error) => {
            let message = format!(
                "This server passes writes on to {}, and has no answer from there: {error}. Whether the request was carried out \
                 is not known.",
                state.replication.writer().unwrap_or_default()
            );
            error_answer(state, &ApiError::new(Code::RemoteCouldNotSendRequest, message))
        }
    }
}

async fn pass(state: &AppState, request: Request<Incoming>, target: &str) -> Result<Response, OutboundError> {
    let (parts, body) = Received::of(request).into_parts();
    let mut asked = state.outbound.request(parts.method, target)?;
    for (name, value) in &parts.headers {
        let is_of_body = matches!(*name, header::CONTENT_ENCODING | header::CONTENT_LENGTH);
        // Answers come as they are: this server compresses what its own client wants compressed.
        if is_of_body || !is_framing(name.as_str()) && *name != header::ACCEPT_ENCODING {
            asked = asked.header(name, value);
        }
    }
    asked = asked.header(FORWARDED, HeaderValue::from_static("1"));
    if !hyper::body::Body::is_end_stream(&body) {
        let pieces = pieces(body, state.options.service.client_timeout);
        asked = asked.body(reqwest::Body::wrap_stream(pieces));
    }
    // A redirect is the client's to follow: a server that is not the writer any more ends no circle.
    let mut answer = state.outbound.once(asked).await?;
    let (status, headers) = (answer.status(), std::mem::take(answer.headers_mut()));
    let said = answer.bytes_stream().map_err(|error| std::io::Error::other(error.without_url()));
    let mut response = warp::reply::stream(said).into_response();
    *response.status_mut() = status;
    take_over(&headers, response.headers_mut());
    Ok(response)
}

/// The pieces of a body, for each of which the client has so long.
fn pieces(body: Received, patience: Duration) -> impl Stream<Item = Result<Bytes, std::io::Error>> {
    stream::unfold(Some(BodyDataStream::new(body)), move |body| async move {
        let mut body = body?;
        match tokio::time::timeout(patience, body.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(body))),
            Ok(Some(Err(error))) => Some((Err(std::io::Error::other(error)), None)),
            Err(_) => Some((Err(std::io::ErrorKind::TimedOut.into()), None)),
        }
    })
}

fn take_over(from: &HeaderMap, to: &mut HeaderMap) {
    for (name, value) in from {
        // Of those that are no path: only where a client may be sent.
        let target = value.to_str().unwrap_or_default();
        if *name == header::LOCATION && !target.starts_with('/') && followable(Some(target.to_owned())).is_none() {
            continue;
        }
        if !is_framing(name.as_str()) && !OWN.contains(&name.as_str()) {
            to.insert(name.clone(), value.clone());
        }
    }
}
