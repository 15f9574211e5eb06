//! Bodies of requests as they arrive.

use std::pin::Pin;
use std::time::Duration;

use bytes::{Buf, Bytes};
use futures_util::{Stream, StreamExt};
use warp::http::{HeaderMap, header};

/// Pieces of a body as they arrive.
pub(crate) type BodyStream = Pin<Box<dyn Stream<Item = Result<Bytes, BodyBroken>> + Send + Sync>>;

/// The connection ended before the body did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BodyBroken;

/// The pieces of a body. `patience`: how long the client may take for each piece.
pub(crate) fn body_pieces(
    body: impl Stream<Item = Result<impl Buf, warp::Error>> + Send + Sync + 'static,
    patience: Duration,
) -> BodyStream {
    let pieces = futures_util::stream::unfold(Some(Box::pin(body)), move |body| async move {
        let mut body = body?;
        let broken = match tokio::time::timeout(patience, body.next()).await {
            // The pieces are `Bytes` underneath, so taking all that remains copies nothing.
            Ok(Some(Ok(mut piece))) => return Some((Ok(piece.copy_to_bytes(piece.remaining())), Some(body))),
            Ok(None) => return None,
            Ok(Some(Err(error))) => error.to_string(),
            Err(_) => "the client sends nothing".to_owned(),
        };
        tracing::debug!(reason = broken, "a request body broke off");
        Some((Err(BodyBroken), None))
    });
    Box::pin(pieces)
}

/// The declared length of the (encoded) body.
pub(crate) fn content_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}
