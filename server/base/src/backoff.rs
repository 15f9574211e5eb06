//! The pauses of everything that tries again, or looks again: one growing pause, and a row with the bounds of each caller.
//!
//! ```
//! use std::time::Duration;
//!
//! let pauses: Vec<Duration> = lamina_base::backoff::SEARCH_OF_REMOTE.collect();
//! assert_eq!(pauses, [50, 100].map(Duration::from_millis));
//! ```

use std::time::Duration;

use reqwest::StatusCode;

/// A notification of a webhook: five attempts within 20 seconds.
pub const WEBHOOK: Backoff = Backoff::new(500, 3.0, NO_MAX).of_attempts(5);
/// A request to an object store: five attempts within three seconds.
pub const OBJECT_STORE: Backoff = Backoff::new(200, 2.0, NO_MAX).of_attempts(5);
/// A request to the target of an export: six attempts within six seconds.
pub const EXPORT: Backoff = Backoff::new(200, 2.0, NO_MAX).of_attempts(6);
/// A search that asks another server, while its client waits.
pub const SEARCH_OF_REMOTE: Backoff = Backoff::new(50, 2.0, NO_MAX).of_attempts(3);
/// A batch without room, descriptors or a device that answers: ten seconds together. Most shortages are over after the first pauses; a disk
/// on which the operator makes room takes longer.
pub const BATCH: Backoff = Backoff::new(100, 3.0, 6_000).of_attempts(6);
/// Texts for an embedder.
pub const EMBEDDER: Backoff = Backoff::new(1, 10.0, 60_000).of_attempts(10);
/// Bytes of a model. Pauses count from the last bytes that came.
pub const DOWNLOAD: Backoff = Backoff::new(1_000, 1.0, 1_000).of_attempts(3);
/// A write to the journal of a group, which has a deadline.
pub const JOURNAL: Backoff = Backoff::new(50, 1.0, 50);
/// A look at the store that a replica follows.
pub const FOLLOWER: Backoff = Backoff::new(250, 1.5, 5_000);
/// A request of a command to a server that is busy or away.
pub const CLIENT: Backoff = Backoff::new(100, 2.0, 5_000);
/// A connection to the database that an index follows.
pub const DATABASE: Backoff = Backoff::new(200, 2.0, 10_000);
/// A look at a task that a command waits for.
pub const TASK: Backoff = Backoff::new(5, 1.5, 200);

/// Milliseconds that stand for no maximum.
const NO_MAX: u64 = u64::MAX;

/// Pauses before the second attempt, the third, and so on, each longer than the one before.
#[derive(Clone, Debug)]
pub struct Backoff {
    pause: Duration,
    factor: f64,
    max: Duration,
    /// Attempts to follow; `u32::MAX` where there is no last one.
    left: u32,
}

impl Backoff {
    /// Pauses of so many milliseconds: the first, and the longest that it grows to.
    pub const fn new(first_ms: u64, factor: f64, max_ms: u64) -> Backoff {
        Backoff { pause: Duration::from_millis(first_ms), factor, max: Duration::from_millis(max_ms), left: u32::MAX }
    }

    /// With a last attempt.
    pub const fn of_attempts(self, attempts: u32) -> Backoff {
        Backoff { left: attempts - 1, ..self }
    }

    /// Number of attempts, the first one included.
    pub const fn attempts(&self) -> u32 {
        self.left.saturating_add(1)
    }

    /// The next pause of a caller that has a limit of its own.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = Duration::try_from_secs_f64(pause.as_secs_f64() * self.factor).unwrap_or(self.max).min(self.max);
        pause
    }
}

/// Ends with the last attempt.
impl Iterator for Backoff {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        self.left = self.left.checked_sub(1)?;
        Some(self.next_pause())
    }
}

/// Reports whether another server may respond otherwise to the same request a little later.
pub fn may_pass(status: StatusCode) -> bool {
    matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS) || status.is_server_error()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_maximum_and_end_with_the_last_attempt() {
        let pauses = |backoff: Backoff| backoff.map(|pause| (pause.as_secs_f64() * 1000.0) as u64).collect::<Vec<_>>();
        assert_eq!(pauses(WEBHOOK), [500, 1_500, 4_500, 13_500]);
        assert_eq!(pauses(BATCH), [100, 300, 900, 2_700, 6_000]);
        assert_eq!(pauses(DOWNLOAD), [1_000, 1_000]);
        let mut endless = CLIENT;
        assert!(endless.by_ref().take(1_000).all(|pause| pause <= Duration::from_secs(5)));
        assert_eq!(endless.next_pause(), Duration::from_secs(5));
    }

    #[test]
    fn a_pause_of_centuries_is_none_that_fails() {
        let mut unlimited = OBJECT_STORE;
        let longest = (0..1_000).map(|_| unlimited.next_pause()).max();
        assert_eq!(longest, Some(Duration::from_millis(NO_MAX)));
    }

    #[test]
    fn refusals_are_final() {
        assert!([408, 429, 500, 503].iter().all(|status| may_pass(StatusCode::from_u16(*status).unwrap())));
        assert!([200, 301, 400, 404, 409].iter().all(|status| !may_pass(StatusCode::from_u16(*status).unwrap())));
    }
}
