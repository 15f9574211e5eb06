//! What goes on beside the scheduler, so that no task waits for what it does not need: batches whose documents are written
//! ask for their vectors, and changes of settings ask for those that they need before they take effect. Each index has a thread for
//! either; only the scheduler stores what came of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use lamina_base::backoff::BATCH;
use lamina_base::engine_errors::operation_error;
use lamina_base::error::{ApiError, Code, panic_text};
use lamina_base::stored_names::FolderName;
use lamina_data::instance::Instance;
use lamina_data::tasks::content::Content;
use lamina_data::tasks::live::LiveBatch;
use lamina_data::tasks::store::{Queued, Written};
use lamina_engine::index::embedding::{EmbedFailure, Embedded};
use lamina_engine::index::settings::SettingsPatch;
use lamina_engine::index::{Index, IndexError, Progress};
use lamina_protocol::wire::settings::forget_moved_secrets;
use parking_lot::Mutex;

use super::super::run;
use super::Worker;

/// Threads at the same time. They wait for the network most of the time.
const JOBS_MAX: usize = 256;
/// Batches of an index that may wait for vectors: documents that come later wait in the queue.
const WRITTEN_MAX: usize = 500;

/// Errors of unreachable embedders that a change of settings names.
pub(super) type Unreached = BTreeMap<String, EmbedFailure>;

/// Batches that go on.
#[derive(Default)]
pub(super) struct Background {
    /// Tasks whose documents are written.
    pub(super) written: Vec<Waiting>,
    /// Batches whose work is done, and that end once it is published.
    pub(super) unpublished: Vec<Waiting>,
    /// Changes of settings that have no effect yet.
    pub(super) preparing: Vec<Preparing>,
    /// By task: changes of settings that can be carried out.
    pub(super) prepared: HashMap<u32, Prepared>,
    /// Indexes whose documents may wait for vectors that no batch asks for.
    pub(super) unasked: Arc<Mutex<Vec<FolderName>>>,
    pub(super) jobs: Vec<Job>,
}

/// A batch that has done what it does, and waits for vectors or for its publication.
pub(super) struct Waiting {
    pub(super) written: Written,
    pub(super) live: Arc<LiveBatch>,
}

/// A change of settings that asks for the vectors which it needs.
pub(super) struct Preparing {
    pub(super) task: Queued,
    pub(super) live: Arc<LiveBatch>,
    /// `None`: the change makes its index.
    pub(super) folder: Option<FolderName>,
    /// True if the task changes embedders only.
    is_of_embedders: bool,
}

/// Outcome of the preparation.
pub(super) struct Prepared {
    pub(super) live: Arc<LiveBatch>,
    pub(super) unreached: Unreached,
}

/// A thread.
pub(super) struct Job {
    pub(super) folder: Option<FolderName>,
    pub(super) work: Work,
    pub(super) cancelled: Arc<AtomicBool>,
    came: Arc<Mutex<Option<Came>>>,
    thread: JoinHandle<()>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// For these batches.
    Embed(Vec<u32>),
    /// For this task.
    Prepare(u32),
    /// For indexes whose documents wait.
    Look,
}

/// Outcome of a thread.
pub(super) enum Came {
    Embedded(Result<Embedded, IndexError>),
    Prepared(Result<Unreached, ApiError>),
    GivenUp,
}

impl Preparing {
    /// Returns whether a later task of the same index may be carried out before: what both of them come to is the same in any order.
    fn lets_pass(&self, task: &Content) -> bool {
        match task {
            Content::Upsert(_) | Content::DeleteIds { .. } | Content::Clear { .. } | Content::DeleteIndex => true,
            Content::DeleteByFilter { .. } | Content::DeleteExpired | Content::Edit(_) => self.is_of_embedders,
            Content::Settings { patch, .. } => self.is_of_embedders && patch.embedders.is_unset(),
            _ => false,
        }
    }

    fn index_uid(&self, instance: &Instance) -> Option<String> {
        match &self.folder {
            Some(folder) => instance.uid_of(folder),
            None => self.task.index_uid.clone(),
        }
    }
}

impl Background {
    /// Returns whether tasks of the queue may have to wait for something that goes on here.
    pub(super) fn holds_any(&self) -> bool {
        !self.preparing.is_empty() || !self.unpublished.is_empty() || self.written.len() >= WRITTEN_MAX
    }

    /// Returns whether `task` has to wait for something that goes on here.
    pub(super) fn holds(&self, task: &Queued, instance: &Instance) -> bool {
        let touches = |uid: &str| task.index_uid.as_deref() == Some(uid) || task.content.involves(uid);
        let waits_for_settings = self.preparing.iter().any(|preparing| {
            preparing.index_uid(instance).is_some_and(|uid| touches(&uid)) && !preparing.lets_pass(&task.content)
        });
        waits_for_settings
            || self.holds_until_published(task, instance)
            || (matches!(task.content, Content::Upsert(_)) && self.is_full(task, instance))
    }

    fn is_full(&self, task: &Queued, instance: &Instance) -> bool {
        if self.written.len() < WRITTEN_MAX {
            return false;
        }
        let is_of_index =
            |waiting: &&Waiting| instance.uid_of(&waiting.written.folder).as_deref() == task.index_uid.as_deref();
        self.written.iter().filter(is_of_index).count() >= WRITTEN_MAX
    }

    /// Returns whether an index could not be opened whose documents wait.
    pub(super) fn is_hindered(&self) -> bool {
        let mut folders = self.written.iter().map(|waiting| &waiting.written.folder);
        folders.any(|folder| !self.is_at_work(folder))
    }

    /// All of them, by uid.
    pub(super) fn lives(&self) -> Vec<Arc<LiveBatch>> {
        let waiting = self.written.iter().chain(&self.unpublished).map(|waiting| &waiting.live);
        let mut lives: Vec<_> =
            waiting.chain(self.preparing.iter().map(|preparing| &preparing.live)).cloned().collect();
        lives.sort_by_key(|live| live.uid);
        lives
    }

    pub(super) fn is_at_work(&self, folder: &FolderName) -> bool {
        let is_embedding = |job: &Job| matches!(job.work, Work::Embed(_)) && job.folder.as_ref() == Some(folder);
        self.jobs.iter().any(is_embedding)
    }
}

/// Names that tasks hold which have to wait: later tasks that touch one wait, too.
#[derive(Default)]
pub(super) struct NamesInUse(BTreeSet<String>);

impl NamesInUse {
    fn touches(&self, task: &Queued) -> bool {
        task.index_uid.as_ref().is_some_and(|uid| self.0.contains(uid))
            || self.0.iter().any(|uid| task.content.involves(uid))
    }

    fn add(&mut self, task: &Queued) {
        self.0.extend(task.index_uid.clone());
        match &task.content {
            Content::SwapIndexes { swaps } => self.0.extend(swaps.iter().flat_map(|swap| swap.indexes.clone())),
            Content::UpdateIndex { new_uid: Some(new), .. } | Content::CloneIndex { new_uid: new } => {
                self.0.insert(new.clone());
            }
            Content::UpdateAliases { moves } => {
                self.0.extend(moves.iter().flat_map(|(alias, target)| [Some(alias.clone()), target.clone()]).flatten());
            }
            _ => {}
        }
    }
}

impl Worker {
    /// Returns whether a task may be carried out now; `held` remembers those before it that may not.
    pub(super) fn may_begin(&self, task: &Queued, held: &mut NamesInUse) -> bool {
        let waits = held.touches(task) || self.background.holds(task, &self.instance);
        if waits {
            held.add(task);
        }
        !waits
    }

    /// Takes what threads have come to, and starts those that are due.
    pub(super) fn tend(&mut self) {
        for job in &self.background.jobs {
            if job.folder.as_ref().is_some_and(|folder| self.instance.uid_of(folder).is_none()) {
                job.cancelled.store(true, Ordering::Relaxed);
            }
        }
        let has_ended = |job: &mut Job| job.came.lock().is_some();
        let ended: Vec<Job> = self.background.jobs.extract_if(.., has_ended).collect();
        for job in ended {
            let came = job.came.lock().take();
            if job.thread.join().is_err() {
                tracing::error!("a thread that requests vectors panicked");
            }
            match (job.work, came.unwrap_or(Came::GivenUp)) {
                (Work::Embed(batches), came) => self.embedded(&job.folder, &batches, came),
                (Work::Prepare(task), came) => self.prepared(task, came),
                (Work::Look, _) => {}
            }
        }
        self.end_published();
        self.start_embedding();
        self.start_unasked();
        self.queue.set_background(self.background.lives());
    }

    /// Ends all threads.
    pub(super) fn give_up(&mut self) {
        for job in &self.background.jobs {
            job.cancelled.store(true, Ordering::Relaxed);
        }
        for job in self.background.jobs.drain(..) {
            if job.thread.join().is_err() {
                tracing::error!("a thread that requests vectors panicked");
            }
        }
    }

    fn start_embedding(&mut self) {
        let folders: BTreeSet<FolderName> =
            self.background.written.iter().map(|waiting| waiting.written.folder.clone()).collect();
        for folder in folders {
            if self.background.jobs.len() >= JOBS_MAX || self.background.is_at_work(&folder) {
                continue;
            }
            let uid = self.instance.uid_of(&folder);
            match uid.as_ref().map(|uid| self.instance.index(uid)) {
                Some(Ok(index)) => self.embed_in_background(&folder, index),
                Some(Err(error)) if error.is_momentary() => {}
                // Nothing can be done for the documents any more.
                _ => self.end_written(&folder, None, None),
            }
        }
    }

    fn embed_in_background(&mut self, folder: &FolderName, index: Arc<Index>) {
        let of_index = self.background.written.iter().filter(|waiting| waiting.written.folder == *folder);
        let lives: Vec<Arc<LiveBatch>> = of_index.map(|waiting| Arc::clone(&waiting.live)).collect();
        let Some(first) = lives.first() else { return };
        let progress = Arc::clone(&first.progress);
        *first.asks.lock() = None;
        for live in &lives[1..] {
            *live.asks.lock() = Some(Arc::clone(&progress));
        }
        let batches = lives.iter().map(|live| live.uid).collect();
        self.start(Some(folder.clone()), Work::Embed(batches), move |cancelled| {
            match with_attempts(cancelled, || run::make_vectors(&index, &progress, cancelled)) {
                Err(IndexError::Cancelled) => Came::GivenUp,
                embedded => Came::Embedded(embedded),
            }
        });
    }

    /// Lets a change of settings ask for the vectors that it needs, beside the scheduler.
    pub(super) fn prepare_in_background(&mut self, task: Queued, live: LiveBatch) {
        let live = Arc::new(live);
        if let Err(error) = self.queue.store().set_processing(live.uid, live.started_at, &live.tasks) {
            tracing::error!(%error, batch = live.uid, "cannot record which batch begins");
            self.queue.wait(Some(super::RETRY_PAUSE));
            return;
        }
        self.next_batch = self.next_batch.max(live.uid + 1);
        self.queue.set_live(Some(Arc::clone(&live)));
        self.queue.set_live(None);
        let Content::Settings { patch, .. } = &task.content else { return };
        let mut patch = SettingsPatch::clone(patch);
        let uid = task.index_uid.clone().unwrap_or_default();
        let is_there = self.instance.contains(&uid);
        let index = if is_there { self.instance.index(&uid) } else { self.instance.scratch_index() };
        if let Ok(index) = &index {
            // Another address is not asked with the key of the one before. The task says so when it is carried out.
            forget_moved_secrets(&index.snapshot().settings, &mut patch);
        }
        let folder = self.instance.folders().into_iter().find(|(name, _)| *name == uid).map(|(_, folder)| folder);
        let is_of_embedders = patch == SettingsPatch { embedders: patch.embedders.clone(), ..SettingsPatch::default() };
        let (progress, work) = (Arc::clone(&live.progress), Work::Prepare(task.uid));
        self.background.preparing.push(Preparing { task, live, folder: folder.clone(), is_of_embedders });
        self.start(folder, work, move |cancelled| {
            let prepared = index.and_then(|index| prepare(&uid, &index, &patch, &progress, cancelled));
            if cancelled.load(Ordering::Relaxed) { Came::GivenUp } else { Came::Prepared(prepared) }
        });
    }

    pub(super) fn start(
        &mut self,
        folder: Option<FolderName>,
        work: Work,
        f: impl FnOnce(&AtomicBool) -> Came + Send + 'static,
    ) {
        let (cancelled, came) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(None)));
        let (flag, slot, queue) = (Arc::clone(&cancelled), Arc::clone(&came), Arc::clone(&self.queue));
        let run = move || {
            let done = catch_unwind(AssertUnwindSafe(|| f(&flag))).unwrap_or_else(|panic| {
                let text = panic_text(&*panic);
                tracing::error!(panic = text, "a batch panicked while it requested vectors");
                Came::Prepared(Err(ApiError::new(
                    Code::Internal,
                    format!("An unexpected crash occurred when processing the task: {text}"),
                )))
            });
            *slot.lock() = Some(done);
            queue.wake();
        };
        match std::thread::Builder::new().name("embedding".to_owned()).spawn(run) {
            Ok(thread) => self.background.jobs.push(Job { folder, work, cancelled, came, thread }),
            Err(error) => {
                tracing::error!(%error, "cannot start a thread that requests vectors");
                if let Work::Prepare(task) = work {
                    self.prepared(task, Came::Prepared(Err(error.into())));
                }
            }
        }
    }
}

/// Tries again what may be over in a moment.
fn with_attempts<T>(cancelled: &AtomicBool, mut work: impl FnMut() -> Result<T, IndexError>) -> Result<T, IndexError> {
    let mut pauses = BATCH;
    loop {
        match (work(), pauses.next()) {
            (Err(error), Some(pause)) if error.is_momentary() && !cancelled.load(Ordering::Relaxed) => {
                tracing::warn!(%error, ?pause, "embedding documents will be retried after a pause");
                std::thread::sleep(pause);
            }
            (done, _) => return done,
        }
    }
}

fn prepare(
    uid: &str,
    index: &Index,
    patch: &SettingsPatch,
    progress: &Progress,
    cancelled: &AtomicBool,
) -> Result<Unreached, ApiError> {
    match with_attempts(cancelled, || index.prepare(patch, progress, cancelled)) {
        Ok(Ok(unreached)) => Ok(unreached),
        Ok(Err(error)) => Err(operation_error(uid, false, &error)),
        Err(error) => Err(ApiError::from(error).prefixed(format_args!("Index `{uid}`: "))),
    }
}
