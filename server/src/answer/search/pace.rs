//! How long the searches of one request may take together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limit on further searches of a request. A search that is not run has no hits, as if its time budget had ended
/// before it began.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pace {
    until: Option<Instant>,
    asker: Option<Asker>,
}

impl Pace {
    /// From now for `patience`, and only while `asker` waits.
    pub(crate) fn begin(patience: Duration, asker: Asker) -> Pace {
        Pace { until: Instant::now().checked_add(patience), asker: Some(asker) }
    }

    /// The same as a part of `whole`: not for longer than that.
    #[must_use]
    pub(crate) fn within(self, whole: &Pace) -> Pace {
        Pace { until: self.until.into_iter().chain(whole.until).min(), ..self }
    }

    pub(super) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.asker.as_ref().is_some_and(Asker::is_gone)
    }
}

/// A client that waits, as seen from the work that is done for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asker(Arc<AtomicBool>);

/// Held by what waits: when it is dropped, the client is gone or has its answer.
#[derive(Debug)]
pub(crate) struct Waiting(Asker);

impl Asker {
    /// A client that waits as long as what is given here is kept.
    pub(crate) fn waiting() -> (Asker, Waiting) {
        let asker = Asker::default();
        (asker.clone(), Waiting(asker))
    }

    fn is_gone(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_its_time_or_its_client() {
        assert!(!Pace::default().is_over());
        let (asker, waiting) = Asker::waiting();
        assert!(Pace::begin(Duration::ZERO, asker.clone()).is_over());
        let pace = Pace::begin(Duration::from_secs(3600), asker);
        assert!(!pace.is_over());
        assert!(pace.clone().within(&Pace::begin(Duration::ZERO, Asker::default())).is_over());
        assert!(!pace.clone().within(&Pace::default()).is_over());
        drop(waiting);
        assert!(pace.is_over());
    }
}
