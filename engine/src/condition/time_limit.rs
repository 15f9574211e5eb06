//! Until when a filter is evaluated.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use thiserror::Error;

/// Ends an evaluation: at an instant, or when a flag is set. Looked at between conditions and between blocks of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeLimit<'a> {
    deadline: Option<Instant>,
    cancelled: Option<&'a AtomicBool>,
}

/// The filter was not evaluated: which documents pass is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the filter was not evaluated in time")]
pub struct OutOfTime;

impl TimeLimit<'_> {
    /// Unlimited time.
    pub const NONE: TimeLimit<'static> = TimeLimit { deadline: None, cancelled: None };

    /// Until `deadline`.
    pub fn until(deadline: Instant) -> TimeLimit<'static> {
        TimeLimit { deadline: Some(deadline), cancelled: None }
    }

    /// Until `cancelled` is set.
    pub fn unless(cancelled: &AtomicBool) -> TimeLimit<'_> {
        TimeLimit { deadline: None, cancelled: Some(cancelled) }
    }

    /// Reports whether the limit is reached. Cost: some 30 ns.
    pub fn is_over(&self) -> bool {
        self.cancelled.is_some_and(|cancelled| cancelled.load(Ordering::Relaxed))
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// # Errors
    /// When it is over.
    pub fn check(&self) -> Result<(), OutOfTime> {
        if self.is_over() { Err(OutOfTime) } else { Ok(()) }
    }
}
