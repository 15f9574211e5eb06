//! What a process that ended left half done.

use std::sync::Arc;

use lamina_base::backoff::BATCH;
use lamina_base::error::ApiResult;
use lamina_data::tasks::store::{FinishedBatch, Queued, StoreError, Written};
use lamina_engine::index::Snapshot;

use super::super::run::Done;
use super::{StartError, Worker};

impl Worker {
    /// A batch whose commit an index remembers but whose end was not stored is recorded, not carried out again. Only
    /// indexes with enqueued tasks can have one.
    pub(super) fn recover(&mut self) -> Result<(), StartError> {
        let queue = Arc::clone(&self.queue);
        let store = queue.store();
        if let Some(uid) = store.retry_failed_upgrade()? {
            tracing::info!(task = uid, "retrying the upgrade of the database");
        }
        for uid in store.fail_unreadable()? {
            tracing::error!(task = uid, "cannot read what a task was to do: it has failed");
        }
        self.recover_written()?;
        for uid in store.indexes_with_enqueued()? {
            // An index that cannot be opened fails its tasks, not the server. One that can be a moment later has to be: a
            // batch that it has committed would be carried out twice.
            let snapshot = match self.snapshot_at_last(&uid) {
                Ok(snapshot) => snapshot,
                Err(error) if error.is_momentary() => return Err(StartError::Index { uid, error }),
                Err(_) => continue,
            };
            // An index that was filled from a dump knows of no batch yet.
            let Some((_, note)) = snapshot.last_outcome().filter(|(_, note)| !note.is_empty()) else { continue };
            let batch: FinishedBatch =
                serde_json::from_slice(note).map_err(|source| StartError::Note { uid: uid.clone(), source })?;
            // Its end was stored, or that it goes on in the background.
            let waiting = self.waiting_tasks(&batch)?;
            if waiting.is_empty() {
                continue;
            }
            let done = Done::from(batch);
            let free = self.publish(&done);
            let goes_on = (done.batch.embeds.is_some() && snapshot.waits_for_vectors())
                || self.waits_for_publication(&uid, &waiting, &done.batch);
            if let (true, Some(folder)) = (goes_on, self.folder_of(&uid)) {
                self.queue.store().put_in_background(&done.batch, &folder)?;
                self.instance.keep_names(&done.batch.index_changes);
                self.remove(&free, std::iter::empty());
                self.resume(Written { batch: done.batch, folder, deaths: 0 })?;
                continue;
            }
            tracing::info!(batch = done.batch.uid, index = uid, "recorded a batch that was committed before a crash");
            let files = self.queue.store().finish(&done.batch)?;
            self.instance.keep_names(&done.batch.index_changes);
            self.remove(&free, files.iter());
            self.queue.batch_ended(done.batch.uid);
        }
        self.next_batch = store.next_batch_uid()?;
        self.instance.remove_orphans(&store.payload_files()?)?;
        Ok(())
    }

    /// A snapshot, after some attempts if need be.
    fn snapshot_at_last(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        let mut pauses = BATCH;
        loop {
            match (self.instance.state(uid), pauses.next()) {
                (Err(error), Some(pause)) if error.is_momentary() => {
                    tracing::warn!(
                        index = uid,
                        error = error.message,
                        ?pause,
                        "opening an index will be retried after a pause"
                    );
                    std::thread::sleep(pause);
                }
                (other, _) => return other,
            }
        }
    }

    /// The tasks of a batch that are enqueued.
    pub(super) fn waiting_tasks(&self, batch: &FinishedBatch) -> Result<Vec<Queued>, StoreError> {
        let store = self.queue.store();
        let tasks = batch.tasks.iter().map(|task| store.queued(task.uid));
        tasks.filter_map(Result::transpose).collect()
    }
}
