//! Searches that took long: counted, and some of them logged.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Least time between two lines, so that a server that is slow does not also fill its disk.
const PAUSE: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct Lines {
    count: u64,
    unsaid: u64,
    last: Option<Instant>,
}

/// Shared by reference.
#[derive(Debug, Default)]
pub struct SlowSearches(Mutex<Lines>);

impl SlowSearches {
    /// Counts one. If it may be logged, returns how many were not since the last line.
    pub fn note(&self, now: Instant) -> Option<u64> {
        let mut lines = self.0.lock();
        lines.count += 1;
        if lines.last.is_some_and(|last| now.duration_since(last) < PAUSE) {
            lines.unsaid += 1;
            return None;
        }
        lines.last = Some(now);
        Some(std::mem::take(&mut lines.unsaid))
    }

    /// All since the start.
    pub fn count(&self) -> u64 {
        self.0.lock().count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_line_a_second_with_the_number_of_the_others() {
        let (slow, now) = (SlowSearches::default(), Instant::now());
        assert_eq!(slow.note(now), Some(0));
        assert_eq!(slow.note(now + PAUSE / 3), None);
        assert_eq!(slow.note(now + PAUSE / 2), None);
        assert_eq!(slow.note(now + PAUSE), Some(2));
        assert_eq!(slow.note(now + PAUSE * 2), Some(0));
        assert_eq!(slow.count(), 5);
    }
}
