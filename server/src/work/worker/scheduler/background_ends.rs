//! How what goes on beside the scheduler ends.

use std::sync::Arc;

use lamina_base::error::ApiError;
use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use lamina_data::tasks::UidSet;
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::queue::Stage;
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, Queued, StoreError, TaskResult, Written};
use lamina_data::tasks::trace::Trace;
use lamina_data::tasks::write_stats;
use lamina_engine::index::Index;
use lamina_engine::index::embedding::Embedded;

use super::super::run::{self, Done};
use super::background::{Came, Prepared, Preparing, Waiting, Work};
use super::crash_loop::after_writing;
use super::{RETRY_PAUSE, Worker};

/// So many deaths of the process, as they count, are enough for a batch that goes on in the background ...
const DEATHS_MAX: u32 = 8;
/// ... of which one with a sign that the process ended itself counts as so many.
const CRASH_WEIGHT: u32 = 4;

impl Worker {
    /// Puts a batch aside whose documents wait for vectors, or that waits for its publication. `None`: it is over.
    pub(super) fn goes_on(&mut self, live: &Arc<LiveBatch>, tasks: &[Queued], done: &mut Done) -> Option<Stage> {
        let (folder, stage) = match self.waits_for_vectors(live, tasks, &done.batch) {
            Some(folder) => (folder, Stage::Written),
            None => {
                done.batch.embeds = None;
                let uid = live.index_uid.as_deref()?;
                let waits = self.waits_for_publication(uid, tasks, &done.batch);
                (waits.then(|| self.folder_of(uid)).flatten()?, Stage::Unpublished)
            }
        };
        let bytes_after = || Some(self.instance.index(live.index_uid.as_deref()?).ok()?.snapshot().section_bytes());
        done.batch.write_stats = write_stats::shown(tasks, &done.batch, live.bytes_before.get(), bytes_after);
        while let Err(error) = self.queue.store().put_in_background(&done.batch, &folder) {
            tracing::error!(%error, batch = live.uid, "cannot record the progress of a running batch");
            if self.stop.load(std::sync::atomic::Ordering::Acquire) {
                // The next start finds the commit in the index.
                return Some(stage);
            }
            self.queue.wait(Some(RETRY_PAUSE));
        }
        self.instance.keep_names(&done.batch.index_changes);
        self.next_batch = self.next_batch.max(live.uid + 1);
        let written = Written { batch: done.batch.clone(), folder, deaths: 0 };
        self.put_aside(Waiting { written, live: Arc::clone(live) });
        self.tend();
        Some(stage)
    }

    pub(super) fn put_aside(&mut self, waiting: Waiting) {
        if waiting.written.batch.embeds.is_some() {
            self.background.written.push(waiting);
        } else {
            waiting.live.steps.enter("publishing", 0, 1);
            self.background.unpublished.push(waiting);
        }
    }

    /// Returns the folder of the index whose documents wait for vectors that the batch brought, if they do.
    fn waits_for_vectors(&self, live: &Arc<LiveBatch>, tasks: &[Queued], batch: &FinishedBatch) -> Option<FolderName> {
        let uid = batch.embeds.as_ref()?;
        let has_done = |task: &FinishedTask| !matches!(task.result, TaskResult::Failed(_));
        let folder = self.folder_of(uid)?;
        let is_of_index = |waiting: &Waiting| waiting.written.folder == folder;
        // What waits may be what others have brought, for which vectors are being made.
        let has_others = self.background.written.iter().any(is_of_index);
        let waits = batch.tasks.iter().any(has_done)
            && self.instance.state(uid).is_ok_and(|snapshot| {
                snapshot.waits_for_vectors()
                    && (!has_others || run::wait_for_vectors(self.context(live), &snapshot, tasks))
            });
        waits.then_some(folder)
    }

    /// Returns the folder of an index.
    pub(super) fn folder_of(&self, uid: &str) -> Option<FolderName> {
        self.instance.folders().into_iter().find(|(name, _)| name == uid).map(|(_, folder)| folder)
    }

    /// Returns what an earlier process has left: batches whose documents are written.
    ///
    /// # Errors
    /// What the store says.
    pub(super) fn recover_written(&mut self) -> Result<(), StoreError> {
        let has_died = self.crash_loop.is_some();
        let weight = if self.queue.has_aborted_before() { CRASH_WEIGHT } else { 1 };
        for written in self.queue.store().background_at_start(if has_died { weight } else { 0 })? {
            let batch = &written.batch;
            if written.deaths >= DEATHS_MAX && batch.embeds.is_some() {
                tracing::error!(
                    batch = batch.uid,
                    "tasks have failed: the server ended more than once while it requested their vectors"
                );
                let files = self.queue.store().finish(&after_writing(batch.clone()))?;
                self.remove(&[], files.iter());
                continue;
            }
            self.resume(written)?;
        }
        Ok(())
    }

    /// Goes on with a batch of an earlier process.
    pub(super) fn resume(&mut self, written: Written) -> Result<(), StoreError> {
        let batch = &written.batch;
        let tasks = self.queue.store().processing_of(batch.uid)?;
        let live = self.live(batch.uid, &tasks, batch.strategy.clone());
        let live = Arc::new(LiveBatch { started_at: Timestamp::from_nanos(batch.started_at), ..live });
        match &batch.embeds {
            Some(uid) => {
                tracing::info!(batch = batch.uid, index = uid, "continuing to embed the documents of a batch");
            }
            None => tracing::info!(batch = batch.uid, index = live.index_uid, "a batch waits for its publication"),
        }
        self.put_aside(Waiting { written, live });
        Ok(())
    }

    /// The thread that asked for vectors of these batches has ended.
    pub(super) fn embedded(&mut self, folder: &Option<FolderName>, batches: &[u32], came: Came) {
        let Some(folder) = folder else { return };
        let embedded = match came {
            Came::Embedded(Ok(embedded)) => embedded,
            // Its index is gone, its tasks were canceled, or the server stops.
            Came::GivenUp => return,
            Came::Embedded(Err(error)) => match self.index_of(folder) {
                Some((_, index)) => run::in_vain(&index, error),
                None => Embedded::default(),
            },
            // It panicked.
            Came::Prepared(_) => Embedded::default(),
        };
        self.end_written(folder, Some(batches), Some(&embedded));
    }

    fn index_of(&self, folder: &FolderName) -> Option<(String, Arc<Index>)> {
        let uid = self.instance.uid_of(folder)?;
        let index = self.instance.index(&uid).ok()?;
        Some((uid, index))
    }

    /// Ends batches of an index whose documents are written: those named, or all.
    pub(super) fn end_written(&mut self, folder: &FolderName, batches: Option<&[u32]>, embedded: Option<&Embedded>) {
        let is_meant = |waiting: &mut Waiting| {
            let Written { batch, folder: other, .. } = &waiting.written;
            other == folder && batches.is_none_or(|batches| batches.contains(&batch.uid))
        };
        let ended: Vec<Waiting> = self.background.written.extract_if(.., is_meant).collect();
        let index = self.index_of(folder);
        for Waiting { written, live } in ended {
            let (mut batch, tasks) = (written.batch, self.tasks_of(&live));
            if let (Some((uid, index)), Some(embedded)) = (&index, embedded) {
                run::report(self.context(&live), uid, index, embedded, &mut batch, &tasks);
            }
            (batch.index_changes, batch.rule_changes) = (Vec::new(), Vec::new());
            batch.embeds = None;
            match &index {
                Some((uid, _)) if self.waits_for_publication(uid, &tasks, &batch) => {
                    self.wait_for_publication(live, batch, folder.clone());
                }
                _ => self.end_aside(&live, &tasks, batch),
            }
        }
    }

    /// Returns the tasks of a batch that goes on in the background.
    pub(super) fn tasks_of(&self, live: &LiveBatch) -> Vec<Queued> {
        self.queue.store().processing_of(live.uid).unwrap_or_else(|error| {
            tracing::error!(%error, batch = live.uid, "cannot read the tasks of a batch");
            Vec::new()
        })
    }

    /// Ends a batch whose changes of names are stored already.
    pub(super) fn end_aside(&mut self, live: &LiveBatch, tasks: &[Queued], mut batch: FinishedBatch) {
        (batch.index_changes, batch.rule_changes) = (Vec::new(), Vec::new());
        batch.finished_at = Timestamp::now().nanos();
        self.store_background(live, tasks, batch);
    }

    /// Stores the end of a batch that went on in the background.
    fn store_background(&mut self, live: &LiveBatch, tasks: &[Queued], mut batch: FinishedBatch) {
        let trace = Trace::of(live, tasks, &batch);
        batch.progress_trace = trace.show();
        batch.embedder_requests = live.embedder_requests();
        self.queue.traces().add(trace);
        let done = Done::from(batch);
        let Some(files) = self.store_end(&done) else { return };
        self.remove(&[], files.iter());
        self.next_batch = self.next_batch.max(live.uid + 1);
        self.queue.note_end(tasks.len());
        self.queue.batch_ended(live.uid);
        tracing::info!(batch = live.uid, tasks = tasks.len(), index = live.index_uid, "batch finished");
    }

    /// The thread that asked for the vectors of a change of settings has ended.
    pub(super) fn prepared(&mut self, task: u32, came: Came) {
        let is_meant = |preparing: &mut Preparing| preparing.task.uid == task;
        let Some(preparing) = self.background.preparing.extract_if(.., is_meant).next() else { return };
        let Preparing { task, live, folder, .. } = preparing;
        let is_gone = folder.is_some_and(|folder| self.instance.uid_of(&folder).is_none());
        let result = match came {
            // Its index was deleted by a later task: there is nothing to change.
            _ if is_gone => TaskResult::Succeeded(None),
            Came::Prepared(Ok(unreached)) => {
                for (embedder, failure) in &unreached {
                    tracing::warn!(index = task.index_uid, embedder, %failure, "cannot reach an embedder that was just set");
                }
                if let Err(error) = self.queue.store().set_enqueued(live.uid) {
                    tracing::error!(%error, batch = live.uid, "cannot put a task back into the queue");
                }
                self.background.prepared.insert(task.uid, Prepared { live, unreached });
                return;
            }
            Came::Prepared(Err(error)) => self.refused(&live, &error),
            // The server stops: it is carried out after the next start.
            Came::GivenUp | Came::Embedded(_) => return,
        };
        let ended = FinishedTask { uid: task.uid, result };
        let batch = FinishedBatch::now(live.uid, live.started_at, live.strategy.clone(), vec![ended]);
        self.store_background(&live, &[task], batch);
    }

    /// Adds the findings of the preparation to the result of a change of settings.
    pub(super) fn note_prepared(&mut self, live: &LiveBatch, done: &mut Done) {
        for task in &mut done.batch.tasks {
            if let Some(Prepared { live: before, unreached }) = self.background.prepared.remove(&task.uid) {
                run::report_unreached(&mut task.result, &unreached);
                *live.asks.lock() = Some(Arc::clone(&before.progress));
            }
        }
    }

    fn refused(&self, live: &LiveBatch, error: &ApiError) -> TaskResult {
        tracing::warn!(index = live.index_uid, batch = live.uid, error = error.message, "cannot set embedders");
        TaskResult::Failed(error.into())
    }

    /// Returns what canceled tasks had done: their documents were written, and waited for vectors.
    pub(super) fn written_of(&self, canceled: &UidSet) -> Vec<FinishedTask> {
        let tasks = self.background.written.iter().flat_map(|waiting| &waiting.written.batch.tasks);
        tasks.filter(|task| canceled.contains(task.uid)).cloned().collect()
    }

    /// Ends threads that work for canceled tasks only.
    pub(super) fn forget_canceled(&mut self, canceled: &UidSet) {
        let store = self.queue.store();
        self.background.prepared.retain(|task, _| !canceled.contains(*task));
        self.background.preparing.retain(|preparing| !canceled.contains(preparing.task.uid));
        // One that cannot be read stays.
        self.background
            .written
            .retain(|waiting| !store.processing_of(waiting.written.batch.uid).is_ok_and(|tasks| tasks.is_empty()));
        for job in &self.background.jobs {
            let is_needed = match &job.work {
                Work::Prepare(task) => !canceled.contains(*task),
                Work::Look => true,
                Work::Embed(batches) => {
                    self.background.written.iter().any(|waiting| batches.contains(&waiting.written.batch.uid))
                }
            };
            if !is_needed {
                job.cancelled.store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        self.queue.set_background(self.background.lives());
    }
}
