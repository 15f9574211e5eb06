//! What is written down about a batch.

use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, IndexChange};

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
        let batch = FinishedBatch::now(self.uid, self.started_at, self.strategy.clone(), tasks.to_vec());
        FinishedBatch { index_changes: index_changes.to_vec(), ..batch }
    }
}
