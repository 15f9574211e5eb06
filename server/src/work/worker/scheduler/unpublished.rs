//! Batches that another server may not be able to carry out: they need a kept state, a folder or a model that only this one has or
//! reaches. Where another server may take over, such a batch ends when what it did is published: before, a client that saw it succeed
//! could lose it. Until then later tasks of its index wait, and so does a cancelation of its tasks.

use std::sync::Arc;

use lamina_base::error::ApiError;
use lamina_base::stored_names::FolderName;
use lamina_data::instance::Instance;
use lamina_data::tasks::content::Content;
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::queue::Stage;
use lamina_data::tasks::store::{FinishedBatch, Queued, TaskResult, Written};

use super::Worker;
use super::background::{Background, Waiting};

impl Background {
    /// Returns whether `task` has to wait until a batch is published.
    pub(super) fn holds_until_published(&self, task: &Queued, instance: &Instance) -> bool {
        self.unpublished.iter().any(|waiting| match &task.content {
            Content::CancelTasks { tasks, .. } => waiting.live.tasks.iter().any(|uid| tasks.contains(*uid)),
            content => instance
                .uid_of(&waiting.written.folder)
                .is_some_and(|uid| task.index_uid.as_ref() == Some(&uid) || content.involves(&uid)),
        })
    }
}

impl Worker {
    /// Returns whether a batch that has changed the index `uid` ends once that is published.
    pub(super) fn waits_for_publication(&self, uid: &str, tasks: &[Queued], batch: &FinishedBatch) -> bool {
        let has_embedders = || self.instance.state(uid).is_ok_and(|snapshot| !snapshot.settings.embedders.is_empty());
        let uids = || batch.tasks.iter().map(|task| task.uid).collect::<Vec<_>>();
        batch.tasks.iter().any(|task| !matches!(task.result, TaskResult::Failed(_)))
            && tasks.iter().any(|task| task.content.is_bound_to_server(has_embedders))
            && !self.is_published(&uids())
    }

    /// A server that may turn out to be the writer does not know what is published.
    fn is_published(&self, tasks: &[u32]) -> bool {
        !self.limits.is_held && self.queue.is_covered(tasks)
    }

    /// Ends batches that are published, and those of which that is not to be expected any more.
    pub(super) fn end_published(&mut self) {
        let mut ended = Vec::new();
        for waiting in std::mem::take(&mut self.background.unpublished) {
            if self.is_published(&waiting.live.tasks) {
                ended.push((waiting, None));
            } else {
                match self.damage(&waiting) {
                    Some(error) => ended.push((waiting, Some(error))),
                    None => self.background.unpublished.push(waiting),
                }
            }
        }
        for (Waiting { written, live }, error) in ended {
            let (mut batch, tasks) = (written.batch, self.tasks_of(&live));
            if let Some(error) = error {
                batch.tasks.iter_mut().for_each(|task| task.result = TaskResult::Failed((&error).into()));
            }
            self.end_aside(&live, &tasks, batch);
        }
    }

    /// Lets a batch that is done, and that waits for nothing else, wait for its publication.
    pub(super) fn wait_for_publication(&mut self, live: Arc<LiveBatch>, batch: FinishedBatch, folder: FolderName) {
        if let Err(error) = self.queue.store().put_in_background(&batch, &folder) {
            // After a restart it comes here again.
            tracing::error!(%error, batch = live.uid, "cannot record that a batch waits for its publication");
        }
        let uid = live.uid;
        self.put_aside(Waiting { written: Written { batch, folder, deaths: 0 }, live });
        self.queue.batch_reached(uid, Stage::Unpublished);
    }

    /// Returns why the index of a batch cannot be published: a file of it is damaged.
    fn damage(&self, waiting: &Waiting) -> Option<ApiError> {
        let uid = self.instance.uid_of(&waiting.written.folder)?;
        let mut error = self.instance.snapshot(&uid).err().filter(|error| !error.is_momentary())?;
        error.message.push_str(
            "\n  - Note: the task was carried out on this server, and what it did cannot be published. A server that takes over \
             does not have it",
        );
        Some(error)
    }
}
