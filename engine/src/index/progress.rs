//! Live progress of an [`apply`](super::Index::apply), written by the indexing threads and read by anybody.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// What the engine is doing with a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    #[default]
    Starting = 0,
    /// Document ids are read and looked up; units are bytes of payload.
    ReadingIds = 1,
    /// Documents are parsed, cut into words and written to segments; units are documents.
    Indexing = 2,
    /// Deleted or replaced documents are taken out of the counts; units are documents.
    Deleting = 3,
    /// Columns are added to segments after a change of settings; units are documents.
    BuildingColumns = 4,
    /// Segments are rewritten after a change of how text is cut; units are documents.
    RewritingSegments = 5,
    /// Files are made durable.
    Committing = 6,
    Finished = 7,
}

impl Phase {
    /// In the order in which a batch may go through them.
    pub const ALL: [Phase; 8] = [
        Phase::Starting,
        Phase::ReadingIds,
        Phase::Indexing,
        Phase::Deleting,
        Phase::BuildingColumns,
        Phase::RewritingSegments,
        Phase::Committing,
        Phase::Finished,
    ];
}

/// Counters without a lock: a reader may see the phase of one instant and the count of the next.
#[derive(Debug, Default)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    pub fn new() -> Progress {
        Progress::default()
    }

    pub fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// Units of the current phase that are done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Units of the current phase; 0 when unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn enter(&self, phase: Phase, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}
