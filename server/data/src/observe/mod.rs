//! What the server remembers of the requests that it answered. Numbers are read where they are kept, and written in the text format of
//! Prometheus here, so that none is counted twice.

mod exposition;
mod history;
mod http_series;
mod latencies;
mod slow_searches;
mod spans;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::telemetry::Facts;
pub use exposition::{Exposition, Kind};
pub use history::{Gauges, History, Point, Window};
pub(crate) use http_series::HttpSeries;
pub use slow_searches::SlowSearches;
pub use spans::Spans;

/// Observations of a route about a request, besides its response. Travels with the response as an extension.
#[derive(Clone, Debug, Default)]
pub struct ObservedRequest {
    /// Outcomes of its searches.
    pub searches: SearchOutcomes,
    /// For telemetry; boxed, because most requests have none.
    pub facts: Option<Box<Facts>>,
}

/// Searches by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchOutcomes {
    /// Searches that ran into their time limit.
    pub degraded: u64,
    /// Searches that no document matched.
    pub without_hits: u64,
}

impl SearchOutcomes {
    /// The outcome of one search that `total` documents matched.
    pub fn of_one(is_degraded: bool, total: u64) -> SearchOutcomes {
        SearchOutcomes { degraded: is_degraded.into(), without_hits: (total == 0).into() }
    }
}

impl std::ops::AddAssign for SearchOutcomes {
    fn add_assign(&mut self, other: SearchOutcomes) {
        self.degraded += other.degraded;
        self.without_hits += other.without_hits;
    }
}

/// Counters of one process. Shared by reference.
#[derive(Debug)]
pub struct Observations {
    /// Start of the process.
    pub started: SystemTime,
    /// Requests by route.
    pub http: HttpSeries,
    /// The last 24 hours.
    pub history: History,
    /// Searches that took long.
    pub slow: SlowSearches,
    degraded_searches: AtomicU64,
    searches_without_hits: AtomicU64,
}

impl Default for Observations {
    fn default() -> Observations {
        Observations {
            started: SystemTime::now(),
            http: HttpSeries::default(),
            history: History::default(),
            slow: SlowSearches::default(),
            degraded_searches: AtomicU64::new(0),
            searches_without_hits: AtomicU64::new(0),
        }
    }
}

impl Observations {
    /// Takes note of what a route reported.
    pub fn seen(&self, seen: &ObservedRequest) {
        self.degraded_searches.fetch_add(seen.searches.degraded, Ordering::Relaxed);
        self.searches_without_hits.fetch_add(seen.searches.without_hits, Ordering::Relaxed);
    }

    /// Searches that no document matched.
    pub fn searches_without_hits(&self) -> u64 {
        self.searches_without_hits.load(Ordering::Relaxed)
    }

    /// Searches that ran into their time limit.
    pub fn degraded_searches(&self) -> u64 {
        self.degraded_searches.load(Ordering::Relaxed)
    }

    /// A request was answered, of a route that `searches` or does something else.
    pub fn request(
        &self,
        (method, path): (&'static str, &'static str),
        searches: bool,
        status: u16,
        duration: Duration,
    ) {
        self.http.record(method, path, status, duration);
        self.history.record(searches, status, duration);
    }
}
