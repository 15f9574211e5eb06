//! The one thread that carries out tasks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use lamina_base::backoff::BATCH;
use lamina_base::error::{ApiError, Code, panic_text};
use lamina_base::memory;
use lamina_base::outbound::Outbound;
use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use lamina_data::instance::{Instance, InstanceError};
use lamina_data::tasks::content::Content;
use lamina_data::tasks::details;
use lamina_data::tasks::kind::{Kind, Status};
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::queue::{Stage, TaskQueue};
use lamina_data::tasks::steps::Steps;
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, Queued, StoreError, TaskResult, stats};
use lamina_data::tasks::trace::Trace;
use lamina_data::tasks::uploads::Patience;
use lamina_data::tasks::write_stats;
use lamina_engine::index::Phase;
use parking_lot::Mutex;
use serde_json::Map;

use super::batch::Limits;
use super::cleanup::Retention;
use super::run::{self, Context, Done};
use crate::work::backup::BackupPlaces;
use background::Background;
use crash_loop::CrashLoopGuard;
use plan::Plan;
use refused_together::RefusedTogether;

/// Pause before something that failed for a reason outside of the task is tried again.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Interval at which a batch that waits for arriving payloads is checked.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A batch that took longer may have needed much memory.
const SHORT: Duration = Duration::from_millis(100);

/// Reason why the scheduler did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The task store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database folder cannot be cleaned.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The operating system does not let an index be opened: whether its last batch was committed is not known.
    #[error("{error}")]
    Index {
        /// The index.
        uid: String,
        /// Reason why the index cannot be opened.
        error: ApiError,
    },
    /// Unreadable note of an index about its last batch.
    #[error("index `{uid}` remembers a batch that cannot be read: {source}")]
    Note {
        /// The index.
        uid: String,
        /// Error of the parser.
        source: serde_json::Error,
    },
    /// No thread.
    #[error("cannot start the scheduler thread: {0}")]
    Thread(std::io::Error),
}

/// The running scheduler.
#[derive(Debug)]
pub(crate) struct Scheduler {
    queue: Arc<TaskQueue>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Scheduler {
    /// Completes what a crash interrupted, then starts the thread.
    ///
    /// # Errors
    /// When the stored state cannot be read.
    pub(crate) fn start(
        queue: Arc<TaskQueue>,
        instance: Arc<Instance>,
        places: BackupPlaces,
        outbound: Outbound,
        limits: Limits,
    ) -> Result<Scheduler, StartError> {
        let stop = Arc::new(AtomicBool::new(false));
        let mut worker = Worker {
            queue: Arc::clone(&queue),
            instance,
            places,
            outbound,
            limits,
            next_batch: 0,
            background: Background::default(),
            retention: Retention::default(),
            patience: Patience::default(),
            holds_memory: false,
            crash_loop: CrashLoopGuard::begin(&queue)?,
            refused_together: None,
            stop: Arc::clone(&stop),
        };
        worker.recover()?;
        worker.fail_guilty()?;
        let thread = std::thread::Builder::new()
            .name("scheduler".to_owned())
            .spawn(move || worker.work())
            .map_err(StartError::Thread)?;
        Ok(Scheduler { queue, stop, thread: Some(thread) })
    }

    /// The process was asked to end: if it is killed from now on, because it takes too long, it did not die of its tasks.
    pub(crate) fn is_to_stop(&self) {
        if let Err(error) = self.queue.store().process_ends() {
            tracing::error!(%error, "cannot record that the server is stopping");
        }
    }

    /// Stops after the batch under way, which gets `grace` to finish and is given up after that: its tasks stay
    /// enqueued. A commit that has begun is always completed. Blocks until the thread is gone.
    pub(crate) fn stop(mut self, grace: Duration) {
        self.stop.store(true, Ordering::Release);
        self.queue.wake();
        self.is_to_stop();
        let deadline = Instant::now() + grace;
        let Some(thread) = self.thread.take() else { return };
        while !thread.is_finished() {
            if Instant::now() >= deadline
                && let Some(live) = self.queue.live()
            {
                live.cancel();
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        if thread.join().is_err() {
            tracing::error!("the scheduler ended with a panic");
        }
    }
}

struct Worker {
    queue: Arc<TaskQueue>,
    instance: Arc<Instance>,
    places: BackupPlaces,
    outbound: Outbound,
    limits: Limits,
    next_batch: u32,
    background: Background,
    retention: Retention,
    patience: Patience,
    /// True if much memory was freed and not given back yet.
    holds_memory: bool,
    /// After a process that died.
    crash_loop: Option<CrashLoopGuard>,
    /// After a batch that was refused.
    refused_together: Option<RefusedTogether>,
    stop: Arc<AtomicBool>,
}

impl Worker {
    fn work(&mut self) {
        self.look_for_unasked();
        while !self.stop.load(Ordering::Acquire) {
            self.tend();
            match self.plan() {
                Ok(Some(plan)) if self.patience.expects_more(&plan.tasks, self.queue.uploads()) => {
                    self.queue.wait(Some(LOOK_AGAIN));
                }
                Ok(Some(plan)) => {
                    self.process_guarded(plan);
                    if let Err(error) = self.clean_up() {
                        tracing::error!(%error, "cannot delete old tasks");
                    }
                }
                Ok(None) => {
                    if std::mem::take(&mut self.holds_memory) {
                        memory::give_back();
                    }
                    self.queue.wait(self.background.is_hindered().then_some(RETRY_PAUSE));
                }
                Err(error) => {
                    tracing::error!(%error, "cannot read the task queue");
                    self.queue.wait(Some(RETRY_PAUSE));
                }
            }
        }
        self.give_up();
    }

    fn clean_up(&mut self) -> Result<(), StoreError> {
        if !self.limits.cleans_up {
            return Ok(());
        }
        if let Some(deletion) = self.retention.due(self.queue.store())? {
            tracing::info!("the queue holds too many tasks: deleting the oldest finished ones");
            self.queue.enqueue_now(deletion)?;
        }
        Ok(())
    }

    fn process(&mut self, plan: Plan) {
        let started = Instant::now();
        let Plan { mut tasks, strategy, asks } = plan;
        let live = self.live(self.next_batch, &tasks, strategy);
        if asks && let Some(task) = tasks.pop() {
            return self.prepare_in_background(task, live);
        }
        let live = Arc::new(live);
        self.queue.set_live(Some(Arc::clone(&live)));
        tracing::debug!(batch = live.uid, tasks = tasks.len(), index = live.index_uid, "batch started");
        self.cancel_if_asked_before(&live);
        let done = self.carry_out(&live, &tasks);
        let stage = done.and_then(|done| {
            if done.is_refused_for_one && self.is_refused_together(&tasks) {
                self.discard(done);
                return None;
            }
            self.note_accepted(&tasks);
            self.conclude(&live, &tasks, done)
        });
        self.queue.set_live(None);
        if let Some(stage) = stage {
            self.queue.batch_reached(live.uid, stage);
        }
        self.holds_memory |= started.elapsed() > SHORT;
    }

    /// A cancelation that was registered after the batch was planned and before it could be seen found no batch to cancel.
    fn cancel_if_asked_before(&self, live: &LiveBatch) {
        match self.queue.store().enqueued_of_kind(Kind::TaskCancelation) {
            Ok(cancelations) => cancelations.iter().for_each(|task| live.cancel_if_named(&task.content)),
            Err(error) => tracing::error!(%error, "cannot read the cancelations"),
        }
    }

    /// Shows what the batch did, and stores its end, or that it goes on in the background. `None` when neither could be stored.
    fn conclude(&mut self, live: &Arc<LiveBatch>, tasks: &[Queued], mut done: Done) -> Option<Stage> {
        let free = self.publish(&done);
        self.note_prepared(live, &mut done);
        self.note_unasked(tasks, &done);
        if let Some(stage) = self.goes_on(live, tasks, &mut done) {
            self.remove(&free, std::iter::empty());
            return Some(stage);
        }
        self.free_payloads(live, tasks, &done);
        if let Some((_, canceled)) = &done.batch.canceled {
            done.batch.written = self.written_of(canceled);
        }
        let trace = Trace::of(live, tasks, &done.batch);
        // A snapshot holds its own batch, whose end must be the same in the original.
        if done.batch.progress_trace.is_empty() {
            done.batch.progress_trace = trace.show();
        }
        let bytes_after = || Some(self.instance.index(live.index_uid.as_deref()?).ok()?.snapshot().section_bytes());
        done.batch.write_stats = write_stats::shown(tasks, &done.batch, live.bytes_before.get(), bytes_after);
        done.batch.embedder_requests = live.embedder_requests();
        live.progress.enter(Phase::Finished, 0);
        self.queue.traces().add(trace);
        let files = self.store_end(&done)?;
        self.instance.keep_names(&done.batch.index_changes);
        if let Some((_, canceled)) = &done.batch.canceled {
            self.forget_canceled(canceled);
        }
        self.remove(&free, files.iter());
        self.next_batch = self.next_batch.max(live.uid + 1);
        self.queue.note_end(tasks.len());
        tracing::info!(
            batch = live.uid,
            tasks = tasks.len(),
            index = live.index_uid,
            duration = %live.started_at.duration_until(Timestamp::now()),
            "batch finished"
        );
        Some(Stage::Ended)
    }

    fn context<'a>(&'a self, live: &'a LiveBatch) -> Context<'a> {
        Context {
            instance: &self.instance,
            store: self.queue.store(),
            places: &self.places,
            outbound: &self.outbound,
            live,
        }
    }

    /// Carries out a batch; one that met a failure which may be over in a moment is tried again as a whole, since it has
    /// changed nothing. `None` when it had to give up.
    fn carry_out(&self, live: &LiveBatch, tasks: &[Queued]) -> Option<Done> {
        let mut pauses = BATCH;
        loop {
            let done = self.attempt(live, tasks)?;
            let (Some(error), Some(pause)) = (done.momentary_failure(), pauses.next()) else {
                return Some(done);
            };
            tracing::warn!(batch = live.uid, ?error, ?pause, "a batch will be retried after a pause");
            self.discard(done);
            if !self.pause(live, pause) {
                return None;
            }
        }
    }

    /// Removes the indexes that a batch created which is not the last word.
    fn discard(&self, done: Done) {
        for (folder, index) in done.created {
            self.instance.discard_unnamed(&folder, index);
        }
    }

    /// Waits; `false` as soon as the server stops or the batch is canceled.
    fn pause(&self, live: &LiveBatch, pause: Duration) -> bool {
        let deadline = Instant::now() + pause;
        loop {
            if self.stop.load(Ordering::Acquire) || live.is_cancelled() {
                return false;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            // Ends early when tasks are registered, which a cancelation is too.
            self.queue.wait(Some(left));
        }
    }

    /// A panic fails the tasks of the batch, not the server.
    fn attempt(&self, live: &LiveBatch, tasks: &[Queued]) -> Option<Done> {
        let context = self.context(live);
        match catch_unwind(AssertUnwindSafe(|| run::run(context, tasks))) {
            Ok(done) => done,
            Err(panic) => {
                let text = panic_text(&*panic);
                tracing::error!(panic = text, batch = live.uid, "a batch panicked");
                let error = ApiError::new(
                    Code::Internal,
                    format!("An unexpected crash occurred when processing the task: {text}"),
                );
                Some(Done::from(all_failed(live, &error)))
            }
        }
    }

    /// A batch that starts now.
    fn live(&self, uid: u32, tasks: &[Queued], strategy: String) -> LiveBatch {
        let mut merged = Map::new();
        for task in tasks {
            let details = details::details(&task.content, details::Progress::Waiting);
            details::merge_into(&mut merged, &details, matches!(task.content, Content::Settings { .. }));
        }
        let stats =
            stats(tasks.iter().map(|task| (Status::Processing, task.content.kind(), task.index_uid.as_deref())));
        LiveBatch {
            uid,
            started_at: Timestamp::now(),
            strategy,
            tasks: tasks.iter().map(|task| task.uid).collect(),
            index_uid: tasks.first().and_then(|task| task.index_uid.clone()),
            details: merged,
            stats,
            progress: Arc::default(),
            asks: Mutex::default(),
            steps: Steps::default(),
            bytes_before: OnceLock::new(),
            cancelled: AtomicBool::new(false),
        }
    }

    /// Shows what the batch did to rules and to the names of the indexes: before its tasks are seen as finished, so that a client
    /// which sees its task finished also sees what it did. Returns the folders that no name leads to any more.
    fn publish(&self, done: &Done) -> Vec<FolderName> {
        self.instance.rules().follow(&done.batch.rule_changes);
        done.batch.index_changes.iter().filter_map(|change| self.instance.follow(change, &done.created)).collect()
    }
}

fn all_failed(live: &LiveBatch, error: &ApiError) -> FinishedBatch {
    let failed = |&uid| FinishedTask { uid, result: TaskResult::Failed(error.into()) };
    FinishedBatch::now(live.uid, live.started_at, live.strategy.clone(), live.tasks.iter().map(failed).collect())
}

mod background;
mod background_ends;
mod crash_loop;
mod endings;
mod plan;
mod recovery;
mod refused_together;
#[cfg(test)]
mod tests;
mod unasked;
mod unpublished;
