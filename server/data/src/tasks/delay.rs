//! How long a new write would wait, and writers that are asked to slow down.
//!
//! The queue takes what comes, faster than indexes take it in. Beyond a limit, writes of documents are refused before their
//! payload is received; what makes the queue shorter is not.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::plural::counted;
use lamina_base::timestamp::Timestamp;
use parking_lot::Mutex;

use super::store::{Backlog, Store, StoreError};

/// The store is asked this often; in between the answer is known well enough.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// And at most one part in so many of the time.
const LOOK_FACTOR: u32 = 20;
/// The rate at which tasks end is that of this time.
const WINDOW: Duration = Duration::from_secs(60);
/// Tasks differ, so their number is trusted only so far: the wait is at most so many times what the oldest has waited.
const TRUSTED_FACTOR: u32 = 8;

/// Waiting times of tasks. Shared by reference.
#[derive(Debug, Default)]
pub struct Delay {
    state: Mutex<Observed>,
}

#[derive(Debug, Default)]
struct Observed {
    next_look: Option<Instant>,
    waiting: Backlog,
    /// End times of batches, with their numbers of tasks.
    ends: VecDeque<(Instant, u64)>,
}

impl Delay {
    /// A batch of so many tasks has ended.
    pub fn ended(&self, tasks: u64) {
        let (mut state, now) = (self.state.lock(), Instant::now());
        state.ends.push_back((now, tasks));
        while state.ends.front().is_some_and(|(at, _)| now.duration_since(*at) > WINDOW) {
            state.ends.pop_front();
        }
    }

    /// Estimates the waiting time of a task that is registered now. The estimate is not less than the oldest task has
    /// waited. Costs an occasional lookup.
    pub fn expected(&self, store: &Store) -> Result<Duration, StoreError> {
        let mut state = self.state.lock();
        let now = Instant::now();
        if state.next_look.is_none_or(|next| now >= next) {
            state.waiting = store.waiting()?;
            // Counting many takes a while, which should be a small part of all time.
            state.next_look = Some(Instant::now() + LOOK_EVERY.max(now.elapsed() * LOOK_FACTOR));
        }
        let Some(oldest) = state.waiting.oldest else { return Ok(Duration::ZERO) };
        let age = Timestamp::now().nanos().saturating_sub(oldest.nanos()).max(0);
        let age = Duration::from_nanos(u64::try_from(age).unwrap_or(0));
        Ok(expected(age, state.waiting.count, rate(&state.ends)))
    }
}

/// Tasks that end in a second; `None` when too few have ended to say.
fn rate(ends: &VecDeque<(Instant, u64)>) -> Option<f64> {
    let (first, last) = (ends.front()?.0, ends.back()?.0);
    let seconds = last.duration_since(first).as_secs_f64();
    let tasks: u64 = ends.iter().skip(1).map(|(_, tasks)| tasks).sum();
    (seconds > 0.0 && tasks > 0).then(|| tasks as f64 / seconds)
}

fn expected(age: Duration, waiting: u64, rate: Option<f64>) -> Duration {
    let trusted = age * TRUSTED_FACTOR;
    let by_rate =
        rate.map_or(Duration::ZERO, |rate| Duration::try_from_secs_f64(waiting as f64 / rate).unwrap_or(Duration::MAX));
    by_rate.min(trusted).max(age)
}

/// # Errors
/// `too_many_write_requests` when a write would wait for longer than `limit`.
pub fn check(expected: Duration, limit: Duration) -> ApiResult<()> {
    if expected <= limit {
        return Ok(());
    }
    Err(ApiError::new(
        Code::TooManyWriteRequests,
        format!(
            "The write was not accepted because it would wait for about {} behind others: send it again later, or \
             raise `--max-queue-delay`, which is {}.",
            counted(expected.as_secs().max(1), "second"),
            counted(limit.as_secs(), "second")
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_wait_is_what_the_rate_says_as_far_as_it_is_trusted() {
        assert_eq!(expected(SECOND, 100, None), SECOND, "nothing has ended");
        assert_eq!(expected(SECOND, 300, Some(100.0)), 3 * SECOND);
        assert_eq!(expected(SECOND, 1, Some(100.0)), SECOND, "the oldest waits already");
        assert_eq!(expected(SECOND, 1_000_000, Some(0.01)), TRUSTED_FACTOR * SECOND);
        assert_eq!(expected(Duration::ZERO, 1_000_000, Some(0.01)), Duration::ZERO, "a burst has just come");
    }

    #[test]
    fn the_rate_is_that_of_the_ends_after_the_first() {
        let start = Instant::now();
        let ends = |ends: &[(u64, u64)]| ends.iter().map(|(at, tasks)| (start + *at as u32 * SECOND, *tasks)).collect();
        assert_eq!(rate(&ends(&[])), None);
        assert_eq!(rate(&ends(&[(0, 50)])), None);
        assert_eq!(rate(&ends(&[(0, 1_000), (1, 10), (4, 30)])), Some(10.0));
    }

    #[test]
    fn the_refusal_names_the_option() {
        assert_eq!(check(SECOND, SECOND), Ok(()));
        let error = check(3 * SECOND, SECOND).unwrap_err();
        assert_eq!((error.status(), error.retry_after_seconds()), (503, Some(10)));
        assert!(error.message.contains("about 3 seconds"));
        assert!(error.message.contains("`--max-queue-delay`"));
    }
}
