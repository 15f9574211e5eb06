//! How vectors are asked for, and what those who wait can see of it.

use std::sync::atomic::AtomicBool;

use parking_lot::Mutex;

/// Context of a call for vectors.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The call gives up soon after this is set.
    pub cancelled: &'a AtomicBool,
    /// Receives what becomes of the requests.
    pub watch: &'a EmbeddingWatch,
    /// A client has just named the provider: one that cannot be reached is reported soon.
    pub is_brief: bool,
}

/// Progress of the requests of a batch to an embedder, and the cause of a delay. The requesting threads write it; any
/// thread may read it.
#[derive(Debug, Default)]
pub struct EmbeddingWatch(Mutex<Watched>);

/// Progress that a watch has recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    pub requests: u64,
    /// Requests that got no answer, or one of no use.
    pub failed: u64,
    pub last_error: Option<String>,
    /// The last try, as long as it has failed and another one is to come.
    pub trouble: Option<Trouble>,
}

/// A try that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// Number of the attempt, counted from 1.
    pub attempt: u32,
    /// Tries before it is given up.
    pub attempts_max: u32,
    /// Without secrets: it is shown to users.
    pub reason: String,
}

impl EmbeddingWatch {
    /// One more request, and why it failed if it did.
    pub fn requested(&self, failure: Option<String>) {
        let mut watched = self.0.lock();
        watched.requests += 1;
        if failure.is_some() {
            watched.failed += 1;
            watched.last_error = failure;
        }
    }

    /// A request that was counted as answered has failed.
    pub fn answer_failed(&self, why: &str) {
        let mut watched = self.0.lock();
        watched.failed += 1;
        watched.last_error = Some(why.to_owned());
    }

    /// A try has failed, and another one is to come.
    pub fn waits(&self, trouble: Trouble) {
        self.0.lock().trouble = Some(trouble);
    }

    /// The requests get on.
    pub fn gets_on(&self) {
        self.0.lock().trouble = None;
    }

    /// Returns what was seen until now.
    pub fn seen(&self) -> Watched {
        self.0.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_failures_are_counted() {
        let watch = EmbeddingWatch::default();
        watch.requested(None);
        watch.requested(Some("HTTP 500".to_owned()));
        watch.answer_failed("it is no JSON");
        let trouble = Trouble { attempt: 1, attempts_max: 10, reason: "away".to_owned() };
        watch.waits(trouble.clone());
        let last_error = Some("it is no JSON".to_owned());
        assert_eq!(watch.seen(), Watched { requests: 2, failed: 2, last_error, trouble: Some(trouble) });
        watch.gets_on();
        assert_eq!(watch.seen().trouble, None);
    }
}
