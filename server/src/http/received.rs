//! Bodies that are answered before they were read: a wrong key, an unknown route, too many bytes.
//!
//! Most clients look for an answer when they have sent everything. If the connection were closed before, they would report
//! their users of a broken pipe instead of what was wrong. So the rest of a body is read, while the answer is on its way,
//! and thrown away.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::runtime::Handle;
use tokio::time::timeout;
use warp::http::{Request, Version, header};

/// More than this is not thrown away: the connection ends.
const DISCARDED_BYTES_MAX: u64 = 256 << 20;
/// Maximum pause of a client that sends a body that is not read, and the maximum time for all of it.
const PAUSE_MAX: Duration = Duration::from_secs(5);
const DISCARDING_MAX: Duration = Duration::from_secs(60);

/// The body of a request; dropped before its end, it is read to the end.
pub(crate) struct Received {
    /// `None` from its end on.
    incoming: Option<Incoming>,
    is_discarded: bool,
}

impl Received {
    /// Wraps the body of a request.
    pub(crate) fn of(request: Request<Incoming>) -> Request<Received> {
        // HTTP/2 ends a request without its connection. Who asks before sending a body does not send it after an answer.
        let is_discarded = request.version() < Version::HTTP_2 && !request.headers().contains_key(header::EXPECT);
        request.map(|incoming| Received { incoming: Some(incoming), is_discarded })
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let polled = Pin::new(incoming).poll_frame(context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.incoming = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Incoming::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or(SizeHint::with_exact(0), Incoming::size_hint)
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        let left = self.incoming.take().filter(|body| self.is_discarded && !body.is_end_stream());
        if let (Some(body), Ok(runtime)) = (left, Handle::try_current()) {
            runtime.spawn(timeout(DISCARDING_MAX, discard(body)));
        }
    }
}

async fn discard(mut body: Incoming) {
    let mut left = DISCARDED_BYTES_MAX;
    while body.size_hint().lower() <= left
        && let Ok(Some(Ok(frame))) = timeout(PAUSE_MAX, body.frame()).await
    {
        let len = frame.data_ref().map_or(0, |piece| piece.len() as u64);
        let Some(rest) = left.checked_sub(len) else { return };
        left = rest;
    }
}
