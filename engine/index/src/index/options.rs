//! Resources an index may use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use lamina_segment::segment::{COMPARED_AT_OPENING_MAX, ListThresholds};
use parking_lot::{Condvar, Mutex};

use super::embedding::{EmbedderProvider, NoEmbedders};
use super::history::FirstNumber;
use super::merge_policy::MergePolicy;
use super::snapshot::Snapshot;
use crate::runtime::Runtime;

/// Interval at which a thread that waits for a merge checks whether the merge was cancelled.
const CANCEL_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// Resources and background behaviour of an [`Index`](super::Index).
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// Heap that one [`apply`](super::Index::apply) may use, in bytes.
    pub indexing_memory_bytes: usize,
    /// Threads that one [`apply`](super::Index::apply) may use; at least 1.
    pub indexing_threads: usize,
    pub merge_policy: MergePolicy,
    /// Shared by all indexes of a process.
    pub runtime: Arc<Runtime>,
    /// Shared by all indexes of a process.
    pub merge_limit: Arc<MergeLimit>,
    /// True if segments are merged after commits. Otherwise only [`compact`](super::Index::compact) merges.
    pub background_merges: bool,
    /// Called when nothing is left to merge, unless a bulk load is going on: what is there now may stay for long. On a
    /// thread of the index, so it has to be quick.
    pub when_merged: Option<fn(&Snapshot)>,
    /// Provider of the embedders, which make vectors from texts.
    pub embedders: Arc<dyn EmbedderProvider>,
    /// True if an open index holds a lock on its folder, which takes a file descriptor. Only a caller that keeps other
    /// processes and itself from opening the folder twice may turn it off.
    pub locks_folder: bool,
    /// Tombstones of a segment up to this size, in bytes, are kept in the manifest: most commits write them anew anyway, and a
    /// file of their own costs one more sync.
    pub inline_tombstones_max: usize,
    /// Time for which a generation is retained after it was replaced; zero: none is retained.
    pub keep: Duration,
    /// No state and no segment gets a number below it. Shared by all indexes of a process.
    pub first_number: FirstNumber,
    /// Thresholds for the optional precomputed lists of new segments.
    pub list_thresholds: ListThresholds,
    /// Sections of segments up to this size, in bytes, are compared with their checksums when an index is opened; those that
    /// answers need whole always are.
    pub compared_at_opening_max: u64,
}

/// The default of [`IndexOptions::inline_tombstones_max`].
pub(super) const INLINE_TOMBSTONES_MAX: usize = 64 << 10;

/// A document, its words and what is made of them are in memory at the same time: it may have one byte for this many of
/// the memory of a batch.
const DOCUMENT_MEMORY_DIVISOR: usize = 8;
/// However little memory there is.
const DOCUMENT_BYTES_MIN: usize = 1 << 20;

/// Longest document, in bytes of JSON, that an [`apply`](super::Index::apply) within `memory_bytes` accepts.
pub fn document_bytes_max(memory_bytes: usize) -> usize {
    (memory_bytes / DOCUMENT_MEMORY_DIVISOR).clamp(DOCUMENT_BYTES_MIN, u32::MAX as usize)
}

impl Default for IndexOptions {
    fn default() -> IndexOptions {
        IndexOptions {
            indexing_memory_bytes: 1 << 30,
            indexing_threads: std::thread::available_parallelism().map_or(1, usize::from),
            merge_policy: MergePolicy::default(),
            runtime: Runtime::new(),
            merge_limit: Arc::new(MergeLimit::new(1)),
            background_merges: true,
            when_merged: None,
            embedders: Arc::new(NoEmbedders),
            locks_folder: true,
            inline_tombstones_max: INLINE_TOMBSTONES_MAX,
            keep: Duration::ZERO,
            first_number: FirstNumber::default(),
            list_thresholds: ListThresholds::default(),
            compared_at_opening_max: COMPARED_AT_OPENING_MAX,
        }
    }
}

/// Bounds the merges that run at the same time: their I/O and memory add up over all indexes of a process.
///
/// One merge of segments at rest may run beside those: it lets everything else go first, so it may take minutes, and no
/// merge that keeps the number of segments down waits for it.
#[derive(Debug)]
pub struct MergeLimit {
    free: Mutex<Free>,
    freed: Condvar,
}

#[derive(Debug)]
struct Free {
    needed: usize,
    at_rest: usize,
}

/// Reason why segments are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeReason {
    /// There are too many of them, or the caller asked for it.
    Needed,
    /// The segments have been left alone for a while, and are large.
    AtRest,
}

/// The right to merge; given back when dropped.
#[derive(Debug)]
pub(super) struct MergePermit<'a> {
    limit: &'a MergeLimit,
    reason: MergeReason,
}

impl Free {
    fn of(&mut self, reason: MergeReason) -> &mut usize {
        match reason {
            MergeReason::Needed => &mut self.needed,
            MergeReason::AtRest => &mut self.at_rest,
        }
    }
}

impl MergeLimit {
    /// At most `count` merges at once, at least 1, and one of segments at rest.
    pub fn new(count: usize) -> MergeLimit {
        MergeLimit { free: Mutex::new(Free { needed: count.max(1), at_rest: 1 }), freed: Condvar::new() }
    }

    /// Waits for its turn; `None` when `cancelled` was set before it came.
    pub(super) fn acquire(&self, reason: MergeReason, cancelled: &AtomicBool) -> Option<MergePermit<'_>> {
        let mut free = self.free.lock();
        while *free.of(reason) == 0 {
            // The flag wakes no thread, so it is looked at now and then.
            self.freed.wait_for(&mut free, CANCEL_CHECK_INTERVAL);
            if cancelled.load(Ordering::Relaxed) {
                return None;
            }
        }
        *free.of(reason) -= 1;
        Some(MergePermit { limit: self, reason })
    }
}

impl Drop for MergePermit<'_> {
    fn drop(&mut self) {
        *self.limit.free.lock().of(self.reason) += 1;
        // Those who wait may want the other kind.
        self.limit.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_merge_of_segments_at_rest_is_in_no_ones_way() {
        let limit = MergeLimit::new(1);
        let (wanted, unwanted) = (AtomicBool::new(false), AtomicBool::new(true));
        let at_rest = limit.acquire(MergeReason::AtRest, &wanted).expect("the first");
        let needed = limit.acquire(MergeReason::Needed, &wanted).expect("does not wait for the other");
        assert!(limit.acquire(MergeReason::AtRest, &unwanted).is_none(), "one at a time");
        assert!(limit.acquire(MergeReason::Needed, &unwanted).is_none(), "as many as allowed");
        drop(at_rest);
        assert!(limit.acquire(MergeReason::Needed, &unwanted).is_none(), "the turn of the other is no turn of its own");
        drop(needed);
        limit.acquire(MergeReason::Needed, &wanted).expect("free again");
        limit.acquire(MergeReason::AtRest, &wanted).expect("free again");
    }
}
