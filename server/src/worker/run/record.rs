//! What is written down about a batch.

use crate::tasks::live::LiveBatch;
use crate::tasks::store::{FinishedBatch, FinishedTask, IndexChange};
use crate::timestamp::Timestamp;

/// The part that is known when the batch starts.
#[derive(Clone, Debug)]
pub(super) struct Record {
    uid: u32,
    started_at: Timestamp,
    strategy: String,
}

impl Record {
    pub(super) fn new(live: &LiveBatch) -> Record {
        Record { uid: live.uid, started_at: live.started_at, strategy: live.strategy.clone() }
    }

    /// The batch ended now.
    pub(super) fn finish(&self, tasks: &[FinishedTask], index_changes: &[IndexChange]) -> FinishedBatch {
        FinishedBatch {
            uid: self.uid,
            started_at: self.started_at.nanos(),
            finished_at: Timestamp::now().nanos(),
            strategy: self.strategy.clone(),
            tasks: tasks.to_vec(),
            index_changes: index_changes.to_vec(),
            canceled: None,
            written: Vec::new(),
            deleted: Vec::new(),
            embeds: None,
            progress_trace: Default::default(),
            write_stats: Default::default(),
            embedder_requests: None,
        }
    }
}
