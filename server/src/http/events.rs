//! Responses that are server-sent events.

use std::convert::Infallible;

use bytes::Bytes;
use futures_util::stream::poll_fn;
use futures_util::{Stream, StreamExt};
use lamina_protocol::events::CONTENT_TYPE;
use tokio::sync::mpsc;
use warp::Reply;
use warp::http::{HeaderName, HeaderValue, header};
use warp::reply::Response;

/// Header for proxies that collect an answer before they pass it on: they would never pass on a stream.
pub(crate) const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));

/// Returns a response that goes on for as long as the stream of events does.
pub(crate) fn events_answer(events: impl Stream<Item = Bytes> + Send + Sync + 'static) -> Response {
    as_events(warp::reply::stream(events.map(Ok::<_, Infallible>)).into_response())
}

/// Returns the response with the headers of events.
pub(crate) fn as_events(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(UNBUFFERED.0, UNBUFFERED.1);
    response
}

/// Returns what arrives in a channel. Its sender waits where the client reads slowly.
pub(crate) fn arriving(mut events: mpsc::Receiver<Bytes>) -> impl Stream<Item = Bytes> {
    poll_fn(move |context| events.poll_recv(context))
}
