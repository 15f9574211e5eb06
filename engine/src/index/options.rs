//! Resources an index may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

use super::embedding::{EmbedderProvider, NoEmbedders};
use super::merge_policy::MergePolicy;

/// How soon somebody who waits for a merge notices that the merge is not wanted any more.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// What an [`Index`](super::Index) may use, and how it behaves in the background.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// Heap that one [`apply`](super::Index::apply) may use, in bytes.
    pub indexing_memory_bytes: usize,
    /// Threads that one [`apply`](super::Index::apply) may use; at least 1.
    pub indexing_threads: usize,
    pub merge_policy: MergePolicy,
    /// Shared by all indexes of a process.
    pub merge_limit: Arc<MergeLimit>,
    /// Whether segments are merged after commits. Without it only [`compact`](super::Index::compact) merges.
    pub background_merges: bool,
    /// Who makes vectors from texts.
    pub embedders: Arc<dyn EmbedderProvider>,
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            indexing_memory_bytes: 1 << 30,
            indexing_threads: std::thread::available_parallelism().map_or(1, usize::from),
            merge_policy: MergePolicy::default(),
            merge_limit: Arc::new(MergeLimit::new(1)),
            background_merges: true,
            embedders: Arc::new(NoEmbedders),
        }
    }
}

/// Bounds the merges that run at the same time: their I/O and memory add up over all indexes of a process.
#[derive(Debug)]
pub struct MergeLimit {
    free: Mutex<usize>,
    freed: Condvar,
}

/// The right to merge; given back when dropped.
#[derive(Debug)]
pub(super) struct MergePermit<'a> {
    limit: &'a MergeLimit,
}

impl MergeLimit {
    /// At most `count` merges at once, at least 1.
    pub fn new(count: usize) -> MergeLimit {
        MergeLimit { free: Mutex::new(count.max(1)), freed: Condvar::new() }
    }

    /// Waits for its turn; `None` when `cancelled` was set before it came.
    pub(super) fn acquire(&self, cancelled: &AtomicBool) -> Option<MergePermit<'_>> {
        let mut free = self.free.lock();
        while *free == 0 {
            // The flag wakes nobody up, so it is looked at now and then.
            self.freed.wait_for(&mut free, CANCEL_CHECK_INTERVAL);
            if cancelled.load(Ordering::Relaxed) {
                return None;
            }
        }
        *free -= 1;
        Some(MergePermit { limit: self })
    }
}

impl Drop for MergePermit<'_> {
    fn drop(&mut self) {
        *self.limit.free.lock() += 1;
        self.limit.freed.notify_one();
    }
}
