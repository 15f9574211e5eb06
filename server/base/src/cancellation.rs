//! Waiting for something slow, and giving it up when a flag says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Interval at which the cancellation flag is checked.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the result of `work`, or `None` if the flag is set first. `work` does not begin if the flag is already
/// set.
pub async fn unless_cancelled<T>(cancelled: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
    let canceled = async {
        while !cancelled.load(Ordering::Relaxed) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        biased;
        () = canceled => None,
        done = work => Some(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_does_not_begin_once_the_flag_is_set() {
        // Often, because an order by chance would go well now and then.
        for _ in 0..64 {
            assert_eq!(unless_cancelled(&AtomicBool::new(true), async { 1 }).await, None);
            assert_eq!(unless_cancelled(&AtomicBool::new(false), async { 1 }).await, Some(1));
        }
    }
}
