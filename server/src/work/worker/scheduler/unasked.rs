//! Vectors that documents wait for, and that no batch asks for: a server that takes over does not know the batches of the one before, and
//! the documents of a clone, or of a restored state, may be without vectors. What became of them is in the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use lamina_base::stored_names::FolderName;
use lamina_data::tasks::content::Content;
use lamina_data::tasks::store::{Queued, TaskResult};
use lamina_engine::index::{Index, Progress};

use super::super::run::{self, Done};
use super::Worker;
use super::background::{Came, Job, Work};

/// Indexes for which such vectors are made at the same time: they stay open meanwhile.
const INDEXES_MAX: usize = 8;

impl Worker {
    /// Looks for indexes whose documents wait, beside the scheduler. None of them is opened for it.
    pub(super) fn look_for_unasked(&mut self) {
        if self.instance.is_following() {
            return;
        }
        let (instance, queue) = (Arc::clone(&self.instance), Arc::clone(&self.queue));
        let unasked = Arc::clone(&self.background.unasked);
        self.start(None, Work::Look, move |cancelled| {
            for (uid, folder) in instance.folders() {
                if cancelled.load(Ordering::Relaxed) {
                    break;
                }
                // What is wrong with an index is said when it is used.
                if instance.summary(&uid).is_ok_and(|summary| summary.waits_for_vectors) {
                    unasked.lock().push(folder);
                    queue.wake();
                }
            }
            Came::GivenUp
        });
    }

    /// Notes the indexes that a batch has brought documents to without asking for their vectors.
    pub(super) fn note_unasked(&self, tasks: &[Queued], done: &Done) {
        if done.batch.tasks.iter().any(|task| matches!(task.result, TaskResult::Failed(_))) {
            return;
        }
        let copied = tasks.iter().filter_map(|task| match &task.content {
            Content::CloneIndex { new_uid } => Some(new_uid),
            Content::RestoreIndex { .. } => task.index_uid.as_ref(),
            _ => None,
        });
        self.background.unasked.lock().extend(copied.filter_map(|uid| self.folder_of(uid)));
    }

    /// Starts on some of the indexes that were found.
    pub(super) fn start_unasked(&mut self) {
        let is_unasked = |job: &&Job| matches!(&job.work, Work::Embed(batches) if batches.is_empty());
        let mut found = std::mem::take(&mut *self.background.unasked.lock());
        found.retain(|folder| {
            let is_full = self.background.jobs.iter().filter(is_unasked).count() >= INDEXES_MAX;
            // What it makes now may be of a state before.
            if is_full || self.background.is_at_work(folder) {
                return true;
            }
            let uid = self.instance.uid_of(folder);
            let index = uid.and_then(|uid| Some((self.instance.index(&uid).ok()?, uid)));
            if let Some((index, uid)) = index.filter(|(index, _)| index.snapshot().waits_for_vectors()) {
                self.embed_unasked(&uid, folder.clone(), index);
            }
            false
        });
        self.background.unasked.lock().extend(found);
    }

    fn embed_unasked(&mut self, uid: &str, folder: FolderName, index: Arc<Index>) {
        tracing::info!(index = uid, "embedding documents that wait for their vectors");
        let uid = uid.to_owned();
        self.start(Some(folder), Work::Embed(Vec::new()), move |cancelled| {
            let embedded = run::make_vectors(&index, &Progress::new(), cancelled);
            for (embedder, failure) in embedded.iter().flat_map(|embedded| &embedded.lasting) {
                tracing::warn!(index = uid, embedder, %failure, "documents could not be embedded");
            }
            Came::GivenUp
        });
    }
}
