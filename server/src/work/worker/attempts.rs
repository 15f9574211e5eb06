//! How often a batch is tried that met a failure which may be over in a moment: no room, no descriptors, a device that did
//! not answer. What was acknowledged should not be lost to that, and the queue should not stand still for ever either.

use std::time::Duration;

/// Pauses before the second attempt, the third, and so on: ten seconds together. Most shortages are over after the first
/// ones; a disk on which the operator makes room takes longer.
const PAUSES: [Duration; 5] = [
    Duration::from_millis(100),
    Duration::from_millis(400),
    Duration::from_millis(1_000),
    Duration::from_millis(2_500),
    Duration::from_millis(6_000),
];

/// The attempts at one batch.
#[derive(Debug)]
pub(super) struct Attempts {
    pauses: std::slice::Iter<'static, Duration>,
}

impl Attempts {
    /// Before the first one.
    pub(super) fn new() -> Attempts {
        Attempts { pauses: PAUSES.iter() }
    }

    /// The pause before the next one; `None` when it has been tried often enough.
    pub(super) fn next_pause(&mut self) -> Option<Duration> {
        self.pauses.next().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_six_attempts_in_ten_seconds() {
        let mut attempts = Attempts::new();
        let mut pauses = Vec::new();
        while let Some(pause) = attempts.next_pause() {
            pauses.push(pause);
        }
        assert_eq!((pauses.len(), pauses.iter().sum()), (5, Duration::from_secs(10)));
        assert!(pauses.is_sorted());
        assert_eq!(attempts.next_pause(), None);
    }
}
