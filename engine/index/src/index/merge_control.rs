//! Which merges of an index run, and how the last one ended.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use super::status::MergeStatus;

/// The merges of an index.
#[derive(Debug, Default)]
pub(super) struct MergeControl {
    pub(super) state: Mutex<MergeState>,
    /// Notified when the thread has nothing more to do.
    pub(super) quiet: Condvar,
    /// One merge at a time, background or asked for.
    pub(super) exclusive: Mutex<()>,
    pub(super) closing: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct MergeState {
    pub(super) status: MergeStatus,
    pub(super) thread_is_active: bool,
    pub(super) thread: Option<JoinHandle<()>>,
    /// Commits start no merge before.
    pub(super) not_before: Option<Instant>,
}

impl MergeControl {
    pub(super) fn status(&self) -> MergeStatus {
        self.state.lock().status.clone()
    }

    /// Reports whether no merge is running and the merge thread has ended.
    pub(super) fn is_quiet(&self) -> bool {
        let state = self.state.lock();
        let has_ended = state.thread.as_ref().is_none_or(JoinHandle::is_finished);
        !state.thread_is_active && has_ended && state.status.running.is_empty()
    }

    pub(super) fn wait_until_quiet(&self) {
        let mut state = self.state.lock();
        self.quiet.wait_while(&mut state, |state| state.thread_is_active);
    }

    /// Stops the thread and waits for it.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        let thread = self.state.lock().thread.take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("the merge thread panicked");
        }
    }
}
