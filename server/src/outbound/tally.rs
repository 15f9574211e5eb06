//! Counting requests of one purpose.

use parking_lot::Mutex;
use serde_json::{Value, json};

/// What became of requests since the count last began. Shared by those who send and those who report.
#[derive(Debug, Default)]
pub(crate) struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    total: u64,
    failed: u64,
    last_error: Option<String>,
}

impl Tally {
    /// Begins to count anew.
    pub(crate) fn reset(&self) {
        *self.0.lock() = Counts::default();
    }

    /// One more request, and why it failed if it did.
    pub(super) fn add(&self, failure: Option<String>) {
        let mut counts = self.0.lock();
        counts.total += 1;
        if failure.is_some() {
            counts.failed += 1;
            counts.last_error = failure;
        }
    }

    /// A request that was counted as answered has failed.
    pub(super) fn answer_failed(&self, why: &str) {
        let mut counts = self.0.lock();
        counts.failed += 1;
        counts.last_error = Some(why.to_owned());
    }

    /// As statistics show it; `None` when there were no requests.
    pub(crate) fn show(&self) -> Option<Value> {
        let counts = self.0.lock();
        if counts.total == 0 {
            return None;
        }
        let mut shown = json!({ "total": counts.total, "failed": counts.failed });
        if let Some(error) = &counts.last_error {
            shown["lastError"] = error.as_str().into();
        }
        Some(shown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_failures_are_counted() {
        let tally = Tally::default();
        assert_eq!(tally.show(), None);
        tally.add(None);
        assert_eq!(tally.show(), Some(json!({ "total": 1, "failed": 0 })));
        tally.add(Some("HTTP 500".to_owned()));
        tally.add(None);
        assert_eq!(tally.show(), Some(json!({ "total": 3, "failed": 1, "lastError": "HTTP 500" })));
        tally.answer_failed("it is no JSON");
        assert_eq!(tally.show(), Some(json!({ "total": 3, "failed": 2, "lastError": "it is no JSON" })));
        tally.reset();
        assert_eq!(tally.show(), None);
    }
}
