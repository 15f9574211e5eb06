//! Small writes that are being applied: what runs in the background gives way to them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Small writes that are being applied, and when the last one was.
#[derive(Debug, Default)]
pub(super) struct SmallWrites {
    running: AtomicUsize,
    ended: Mutex<Option<Instant>>,
}

/// A small write that is being applied: a client waits to see it.
#[derive(Debug)]
pub(crate) struct SmallWrite<'a>(&'a SmallWrites);

impl SmallWrites {
    pub(super) fn begin(&self) -> SmallWrite<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        SmallWrite(self)
    }

    /// Reports whether a small write is being applied, or the next is likely to follow soon.
    pub(super) fn go_on(&self) -> bool {
        /// Time that the rest of a small write takes after it was applied: to record it, and to answer.
        const REST: Duration = Duration::from_millis(3);
        self.running.load(Ordering::Relaxed) > 0 || self.ended.lock().is_some_and(|ended| ended.elapsed() < REST)
    }
}

impl Drop for SmallWrite<'_> {
    fn drop(&mut self) {
        *self.0.ended.lock() = Some(Instant::now());
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_goes_on_until_shortly_after_its_end() {
        let writes = SmallWrites::default();
        assert!(!writes.go_on());
        let write = writes.begin();
        // Longer than the time after the end of a write.
        std::thread::sleep(Duration::from_millis(5));
        assert!(writes.go_on(), "whatever time it takes");
        drop(write);
        // Longer than the time after the end of a write.
        std::thread::sleep(Duration::from_millis(5));
        assert!(!writes.go_on());
    }
}
