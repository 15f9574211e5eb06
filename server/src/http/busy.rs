//! What a connection waits for the server to do: while it does, silence is not the client's.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Frame, SizeHint};
use hyper::service::Service;
use parking_lot::Mutex;
use warp::http::{Request, Response};

/// Shared by a connection and its requests.
#[derive(Clone, Debug)]
pub(super) struct Busy(Arc<Mutex<Work>>);

#[derive(Debug)]
struct Work {
    /// Requests without an answer yet.
    requests: usize,
    /// Answers of which the next piece is not there yet.
    answers: usize,
    /// Time at which one of the two changed.
    changed: Instant,
}

impl Busy {
    pub(super) fn new() -> Busy {
        Busy(Arc::new(Mutex::new(Work { requests: 0, answers: 0, changed: Instant::now() })))
    }

    /// Returns the time for which the server has been idle; `None` while it has work.
    pub(super) fn idle(&self, now: Instant) -> Option<Duration> {
        let work = self.0.lock();
        (work.requests + work.answers == 0).then(|| now.saturating_duration_since(work.changed))
    }

    /// Answers whose next piece the server has still to make.
    pub(super) fn answers(&self) -> usize {
        self.0.lock().answers
    }

    fn change(&self, change: impl FnOnce(&mut Work)) {
        let mut work = self.0.lock();
        change(&mut work);
        work.changed = Instant::now();
    }
}

/// Counts a request until it is dropped.
struct UnderWay(Busy);

impl UnderWay {
    fn new(busy: &Busy) -> UnderWay {
        busy.change(|work| work.requests += 1);
        UnderWay(busy.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.change(|work| work.requests -= 1);
    }
}

/// A service whose work is counted.
pub(super) struct CountingService<S> {
    pub(super) service: S,
    pub(super) busy: Busy,
}

impl<S, R, B> Service<Request<R>> for CountingService<S>
where
    S: Service<Request<R>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response<CountedBody<B>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<R>) -> Self::Future {
        let (busy, under_way) = (self.busy.clone(), UnderWay::new(&self.busy));
        let answer = self.service.call(request);
        Box::pin(async move {
            let _under_way = under_way;
            Ok(answer.await?.map(|body| CountedBody { body, busy, waits: false }))
        })
    }
}

/// A body whose waiting is counted.
pub(super) struct CountedBody<B> {
    body: B,
    busy: Busy,
    waits: bool,
}

impl<B> CountedBody<B> {
    fn now_waits(&mut self, waits: bool) {
        if waits != self.waits {
            self.waits = waits;
            self.busy.change(|work| if waits { work.answers += 1 } else { work.answers -= 1 });
        }
    }
}

impl<B> Drop for CountedBody<B> {
    fn drop(&mut self) {
        self.now_waits(false);
    }
}

impl<B: Body + Unpin> Body for CountedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.now_waits(polled.is_pending());
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
