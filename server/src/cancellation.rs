//! Waiting for something slow, and giving it up when a flag says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

/// How soon the flag is seen.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// What comes of `work`; `None` if the flag is set before.
pub(crate) async fn unless_cancelled<T>(cancelled: &AtomicBool, work: impl Future<Output = T>) -> Option<T> {
    let told = async {
        while !cancelled.load(Ordering::Relaxed) {
            tokio::time::sleep(CHECK_INTERVAL).await;
        }
    };
    tokio::select! {
        done = work => Some(done),
        () = told => None,
    }
}

/// The lock; `None` if the flag is set before. Blocks.
pub(crate) fn lock_unless_cancelled<'a, T>(cancelled: &AtomicBool, mutex: &'a Mutex<T>) -> Option<MutexGuard<'a, T>> {
    while !cancelled.load(Ordering::Relaxed) {
        if let Some(guard) = mutex.try_lock_for(CHECK_INTERVAL) {
            return Some(guard);
        }
    }
    None
}
