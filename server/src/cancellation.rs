//! Waiting for something slow, and giving it up when a flag says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How soon the flag is seen.
pub(crate) const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// What comes of `work`; `None` if the flag is set before.
pub(crate) async fn unless_cancelled<T>(cancelled: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
    let canceled = async {
        while !cancelled.load(Ordering::Relaxed) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = canceled => None,
    }
}
