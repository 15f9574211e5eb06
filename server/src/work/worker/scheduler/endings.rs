//! How the end of a batch is stored, and what only the batch needed is removed.

use std::sync::atomic::Ordering;

use lamina_base::stored_names::{FolderName, PayloadName};
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, Queued, TaskResult};
use lamina_engine::index::Snapshot;

use super::super::run::Done;
use super::{RETRY_PAUSE, Worker};

/// Bytes of a reason that are logged.
const REASON_BYTES_MAX: usize = 500;

/// Logs that tasks of a batch have failed, or left documents without vectors: once, with the first reason.
fn say_failures(batch: &FinishedBatch) {
    let failure = |task: &FinishedTask| match &task.result {
        TaskResult::Failed(error) | TaskResult::Unembedded { error: Some(error), .. } => {
            Some((task.uid, error.code().to_owned(), error.message().to_owned()))
        }
        TaskResult::Unembedded { report, .. } => {
            let reason = report.get("embeddingFailures").map(ToString::to_string).unwrap_or_default();
            Some((task.uid, "embedding_failures".to_owned(), reason))
        }
        _ => None,
    };
    let mut failures = batch.tasks.iter().filter_map(failure);
    if let Some((task, code, mut reason)) = failures.next() {
        let (batch, failed) = (batch.uid, 1 + failures.count());
        let end = (0..=REASON_BYTES_MAX.min(reason.len())).rev().find(|&end| reason.is_char_boundary(end));
        reason.truncate(end.unwrap_or(0));
        tracing::warn!(batch, failed, task, code, reason, "tasks failed; `reason` is that of the first one");
    }
}

impl Worker {
    /// Stores the end of a batch, however long that takes: nothing new may start before what the engine has committed is
    /// written down. `None` when the server stops first; the next start finds the commit in the index.
    pub(super) fn store_end(&self, done: &Done) -> Option<Vec<PayloadName>> {
        loop {
            match self.queue.store().finish(&done.batch) {
                Ok(files) => {
                    say_failures(&done.batch);
                    return Some(files);
                }
                Err(error) => tracing::error!(%error, batch = done.batch.uid, "cannot store the outcome of a batch"),
            }
            if self.stop.load(Ordering::Acquire) {
                return None;
            }
            self.queue.wait(Some(RETRY_PAUSE));
        }
    }

    /// Reports whether the last commit of the batch's index belongs to the batch, and `right` accepts it and its note.
    fn is_committed(&self, live: &LiveBatch, right: impl FnOnce(&Snapshot, &[u8]) -> bool) -> bool {
        let Some(snapshot) = live.index_uid.as_ref().and_then(|uid| self.instance.state(uid).ok()) else {
            return false;
        };
        let noted = snapshot.last_outcome().filter(|(batch, _)| *batch == u64::from(live.uid));
        noted.is_some_and(|(_, note)| right(&snapshot, note))
    }

    /// Removes the payloads of a batch that its index has committed: from there on it is recorded, never carried out again.
    /// So a client that sees its tasks finished finds their space free. A batch that makes an index, or gives it another name, keeps
    /// them: what leads to the index is stored with the end of the batch, and without that all of it is done again.
    pub(super) fn free_payloads(&self, live: &LiveBatch, tasks: &[Queued], done: &Done) {
        if !done.batch.index_changes.is_empty() || !done.created.is_empty() {
            return;
        }
        if self.is_committed(live, |_, note| !note.is_empty()) {
            self.remove(&[], tasks.iter().filter_map(|task| task.content.payload_file()));
        }
    }

    /// Removes what only the finished batch needed, where it is still there.
    pub(super) fn remove<'a>(&self, index_folders: &[FolderName], payloads: impl Iterator<Item = &'a PayloadName>) {
        for folder in index_folders {
            self.instance.remove_index_folder(folder);
        }
        if let Err(error) = self.queue.store().forget_intents(index_folders) {
            // The next start does.
            tracing::warn!(%error, "cannot record that the folders of deleted indexes are removed");
        }
        let folder = self.instance.payload_folder();
        for file in payloads {
            if let Err(error) = std::fs::remove_file(folder.join(file))
                && error.kind() != std::io::ErrorKind::NotFound
            {
                tracing::warn!(%error, file = file.as_str(), "cannot remove the payload of a finished task");
            }
        }
    }
}
