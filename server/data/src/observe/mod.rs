//! What the server remembers of the requests that it answered. Numbers are read where they are kept, and written in the text format of
//! Prometheus here, so that none is counted twice.

mod exposition;
mod http_series;
mod spans;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::telemetry::Facts;
pub use exposition::{Exposition, Kind};
pub(crate) use http_series::HttpSeries;
pub use spans::Spans;

/// Observations of a route about a request, besides its response. Travels with the response as an extension.
#[derive(Clone, Debug, Default)]
pub struct ObservedRequest {
    /// Searches of the request that ran into their time limit.
    pub degraded_searches: u64,
    /// For telemetry; boxed, because most requests have none.
    pub facts: Option<Box<Facts>>,
}

/// Counters of one process. Shared by reference.
#[derive(Debug, Default)]
pub struct Observations {
    /// Requests by route, while the feature `metrics` is on.
    pub http: HttpSeries,
    degraded_searches: AtomicU64,
}

impl Observations {
    /// Takes note of what a route reported.
    pub fn seen(&self, seen: &ObservedRequest) {
        self.degraded_searches.fetch_add(seen.degraded_searches, Ordering::Relaxed);
    }

    /// Searches that ran into their time limit.
    pub fn degraded_searches(&self) -> u64 {
        self.degraded_searches.load(Ordering::Relaxed)
    }

    /// A request was answered.
    pub fn request(&self, method: &'static str, path: &'static str, status: u16, duration: Duration) {
        self.http.record(method, path, status, duration);
    }
}
