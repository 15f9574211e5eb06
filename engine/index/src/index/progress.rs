//! Live progress of an [`apply`](super::Index::apply), written by the indexing threads and read by any thread.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::embedding::EmbeddingWatch;

/// Phase of the work of the engine on a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    #[default]
    Starting = 0,
    /// The caller prepares what to apply; units are documents.
    Preparing = 1,
    /// Document ids are read and looked up; units are bytes of payload.
    ReadingIds = 2,
    /// Documents are parsed, cut into words and written to segments; units are documents.
    Indexing = 3,
    /// Deleted or replaced documents are taken out of the counts; units are documents.
    Deleting = 4,
    /// Columns are added to segments after a change of settings; units are documents.
    BuildingColumns = 5,
    /// Segments are rewritten after a change of how text is cut; units are documents.
    RewritingSegments = 6,
    /// Vectors are made for documents that wait for them; units are documents.
    Embedding = 7,
    /// Files are made durable.
    Committing = 8,
    Finished = 9,
}

impl Phase {
    /// In the order in which a batch may go through them.
    pub const ALL: [Phase; 10] = [
        Phase::Starting,
        Phase::Preparing,
        Phase::ReadingIds,
        Phase::Indexing,
        Phase::Deleting,
        Phase::BuildingColumns,
        Phase::RewritingSegments,
        Phase::Embedding,
        Phase::Committing,
        Phase::Finished,
    ];
}

/// Counters without a lock: a reader may see the phase of one instant and the count of the next.
#[derive(Debug)]
pub struct Progress {
    phase: AtomicU8,
    done: AtomicU64,
    total: AtomicU64,
    created: Instant,
    /// Microseconds from `created` to the start of the current phase.
    entered: AtomicU64,
    /// Microseconds spent in each phase before the current one.
    spent: [AtomicU64; Phase::ALL.len()],
    embedding: EmbeddingWatch,
}

impl Default for Progress {
    fn default() -> Progress {
        Progress {
            phase: AtomicU8::default(),
            done: AtomicU64::default(),
            total: AtomicU64::default(),
            created: Instant::now(),
            entered: AtomicU64::default(),
            spent: Default::default(),
            embedding: EmbeddingWatch::default(),
        }
    }
}

impl Progress {
    pub fn new() -> Progress {
        Progress::default()
    }

    pub fn phase(&self) -> Phase {
        Phase::ALL[usize::from(self.phase.load(Ordering::Relaxed))]
    }

    /// Returns what becomes of the requests for vectors.
    pub fn embedding(&self) -> &EmbeddingWatch {
        &self.embedding
    }

    /// Units of the current phase that are done.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// Units of the current phase; 0 when unknown.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// Begins a phase of `total` units, none of which is done.
    pub fn enter(&self, phase: Phase, total: u64) {
        let now = self.micros();
        let before = self.entered.swap(now, Ordering::Relaxed);
        let current = usize::from(self.phase.load(Ordering::Relaxed));
        self.spent[current].fetch_add(now.saturating_sub(before), Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    fn micros(&self) -> u64 {
        u64::try_from(self.created.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// The phases that were gone through and the time each took, the current one as long as it has lasted.
    pub fn trace(&self) -> Vec<(Phase, Duration)> {
        let current = self.phase();
        let lasted = self.micros().saturating_sub(self.entered.load(Ordering::Relaxed));
        let spent = Phase::ALL.iter().zip(&self.spent).map(|(&phase, spent)| {
            let before = spent.load(Ordering::Relaxed);
            (phase, before, if phase == current { lasted } else { 0 })
        });
        spent
            .filter(|&(phase, before, _)| before > 0 || phase == current)
            .map(|(phase, before, lasted)| (phase, Duration::from_micros(before + lasted)))
            .collect()
    }

    /// More units of the current phase are done.
    pub fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_and_their_times_are_remembered() {
        let progress = Progress::new();
        progress.enter(Phase::Indexing, 3);
        progress.advance(2);
        // The time that the phase takes.
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!((progress.phase(), progress.done(), progress.total()), (Phase::Indexing, 2, 3));
        progress.enter(Phase::Committing, 0);
        let trace = progress.trace();
        let time = |phase| trace.iter().find(|(found, _)| *found == phase).map(|(_, time)| *time);
        assert!(time(Phase::Indexing).unwrap() >= Duration::from_millis(5));
        assert!(time(Phase::Committing).is_some(), "{trace:?}");
        assert_eq!(time(Phase::Deleting), None);
    }
}
