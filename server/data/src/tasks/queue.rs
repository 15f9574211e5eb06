//! The queue as the rest of the server sees it: register, look up, be woken when there is work.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_protocol::wire::tasks::{Paging, TaskFilter};
use parking_lot::{Condvar, Mutex, RwLock};
use tokio::sync::watch;

use super::content::Content;
use super::delay::{self, Delay};
use super::feed::{Feed, Follower, Mark, Missed, TaskEvent};
use super::live::LiveBatch;
use super::new_task::NewTask;
use super::store::{Batch, Lives, Page, Store, StoreError};
use super::task::{SummarizedTask, Task};
use super::trace::RecentTraces;
use super::uid_set::UidSet;
use super::uploads::Uploads;

/// A payload that is being received, until its task is registered or nothing comes of it.
#[derive(Debug)]
pub struct Upload {
    queue: Arc<TaskQueue>,
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.queue.uploads.end();
        self.queue.wake();
    }
}

/// The task queue. Shared by reference.
#[derive(Debug)]
pub struct TaskQueue {
    store: Store,
    live: RwLock<Option<Arc<LiveBatch>>>,
    /// By uid.
    background: RwLock<Arc<[Arc<LiveBatch>]>>,
    signal: Signal,
    ends: Ends,
    feed: Feed,
    traces: RecentTraces,
    uploads: Uploads,
    delay: Delay,
    /// Writes that would wait for longer are refused.
    delay_max: Option<Duration>,
    /// True if the previous process aborted.
    has_aborted_before: bool,
    /// Place where tasks are accepted before they are stored here.
    acceptance: OnceLock<Arc<dyn Acceptance>>,
}

/// A place where tasks are accepted before they are stored in the queue.
pub trait Acceptance: std::fmt::Debug + Send + Sync {
    /// Accepts a task and stores it. Blocks.
    ///
    /// # Errors
    /// The task is not stored then.
    fn accept(&self, new: NewTask, store: &Store) -> Result<Task, StoreError>;

    /// Returns whether what a task did is published: a server that takes over has it, and does not carry the task out again.
    fn covers(&self, task: u32) -> bool;
}

/// Stored stage of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Results are stored, and the batch waits for vectors.
    Written,
    /// Results are stored, and the batch ends once they are published.
    Unpublished,
    /// The batch ended.
    Ended,
}

/// Is called with a batch whose stage has changed.
type Listener = Box<dyn Fn(u32, Stage) + Send + Sync>;

/// Wakes those who wait for the end of a batch.
#[derive(Default)]
struct Ends {
    count: watch::Sender<u64>,
    listeners: RwLock<Vec<Listener>>,
}

impl std::fmt::Debug for Ends {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ends").field("count", &*self.count.borrow()).finish_non_exhaustive()
    }
}

/// Wakes the scheduler: a flag rather than a count, because it looks at everything each time.
#[derive(Debug, Default)]
struct Signal {
    raised: Mutex<bool>,
    condition: Condvar,
}

impl Signal {
    fn raise(&self) {
        *self.raised.lock() = true;
        self.condition.notify_all();
    }

    fn wait(&self, timeout: Option<Duration>) {
        let mut raised = self.raised.lock();
        match timeout {
            None => self.condition.wait_while(&mut raised, |raised| !*raised),
            Some(timeout) => {
                self.condition.wait_while_for(&mut raised, |raised| !*raised, timeout);
            }
        }
        *raised = false;
    }
}

impl TaskQueue {
    /// A queue over an open store.
    pub fn new(store: Store) -> TaskQueue {
        TaskQueue {
            store,
            live: RwLock::default(),
            background: RwLock::new(Arc::new([])),
            signal: Signal::default(),
            ends: Ends::default(),
            feed: Feed::default(),
            traces: RecentTraces::default(),
            uploads: Uploads::default(),
            delay: Delay::default(),
            delay_max: None,
            has_aborted_before: false,
            acceptance: OnceLock::new(),
        }
    }

    /// From now on tasks are accepted there first. Before the first one is registered.
    pub fn accept_at(&self, place: Arc<dyn Acceptance>) {
        // A second place would be a mistake of ours, and change nothing.
        let _ = self.acceptance.set(place);
    }

    /// Refuses writes of documents that would wait for longer than `limit`.
    #[must_use]
    pub fn with_delay_max(self, limit: Option<Duration>) -> TaskQueue {
        TaskQueue { delay_max: limit, ..self }
    }

    /// Says whether the process that had the store open before ended itself.
    #[must_use]
    pub fn after_abort(self, has_aborted_before: bool) -> TaskQueue {
        TaskQueue { has_aborted_before, ..self }
    }

    pub fn has_aborted_before(&self) -> bool {
        self.has_aborted_before
    }

    /// To be called before a write of documents is received.
    ///
    /// # Errors
    /// `too_many_write_requests` when it would wait for too long.
    pub fn check_delay(&self) -> ApiResult<()> {
        match self.delay_max {
            Some(limit) => delay::check(self.delay.expected(&self.store)?, limit),
            None => Ok(()),
        }
    }

    /// A batch of so many tasks has ended.
    pub fn note_end(&self, tasks: usize) {
        self.delay.ended(tasks as u64);
    }

    /// Registers a task: when this returns it is durable and the scheduler knows.
    ///
    /// # Errors
    /// Nothing is registered then.
    pub async fn enqueue(self: &Arc<Self>, new: NewTask) -> ApiResult<SummarizedTask> {
        let queue = Arc::clone(self);
        blocking(move || queue.enqueue_now(new)).await?.map(Task::into_summary).map_err(Into::into)
    }

    /// Registers a task like [`TaskQueue::enqueue`], on the calling thread. Blocks for an fsync.
    ///
    /// # Errors
    /// Nothing is registered then.
    pub fn enqueue_now(&self, new: NewTask) -> Result<Task, StoreError> {
        let cancelation = matches!(new.content, Content::CancelTasks { .. }).then(|| new.content.clone());
        let task = match self.acceptance.get() {
            None => self.store.enqueue(new)?,
            Some(place) => place.accept(new, &self.store).inspect_err(|_| {
                // One whose fate was not known before may have been stored.
                self.signal.raise();
            })?,
        };
        if let (Some(cancelation), Some(live)) = (cancelation, self.live()) {
            live.cancel_if_named(&cancelation);
        }
        self.feed.note(TaskEvent::Registered(Arc::new(task.clone())));
        self.signal.raise();
        Ok(task)
    }

    /// One task as it is now. A lookup by key: microseconds.
    ///
    /// # Errors
    /// `task_not_found`
    pub fn task(&self, uid: u32) -> ApiResult<Task> {
        // The batch is read first: the other way round its end could fall between, and the task look enqueued again.
        let live = self.live();
        let task = self.store.task(uid)?;
        let mut task = task.ok_or_else(|| task_not_found(uid))?;
        if let Some(live) = live {
            live.overlay(&mut task);
        }
        Ok(task)
    }

    /// A page of the tasks that match.
    ///
    /// # Errors
    /// What the store says.
    pub async fn tasks(
        self: &Arc<Self>,
        filter: TaskFilter,
        paging: Paging,
        budget: AnswerBudget,
    ) -> ApiResult<Page<Task>> {
        let queue = Arc::clone(self);
        blocking(move || {
            let live = queue.live();
            let mut page = queue.store.list_tasks(&filter, paging, live.as_deref(), &budget)?;
            if let Some(live) = live {
                page.results.iter_mut().for_each(|task| live.overlay(task));
            }
            Ok::<_, StoreError>(page)
        })
        .await?
        .map_err(Into::into)
    }

    /// The uids of all tasks that match.
    ///
    /// # Errors
    /// What the store says.
    pub async fn matching(self: &Arc<Self>, filter: TaskFilter) -> ApiResult<UidSet> {
        let queue = Arc::clone(self);
        blocking(move || queue.store.matching_tasks(&filter, queue.live().as_deref())).await?.map_err(Into::into)
    }

    /// A page of the batches with a task that matches; the running one included.
    ///
    /// # Errors
    /// What the store says.
    pub async fn batches(
        self: &Arc<Self>,
        filter: TaskFilter,
        paging: Paging,
        budget: AnswerBudget,
    ) -> ApiResult<Page<Batch>> {
        let queue = Arc::clone(self);
        blocking(move || {
            let (live, background) = (queue.live(), queue.background());
            // One that has just gone there is in both.
            let is_there = |live: &&Arc<LiveBatch>| background.iter().any(|other| other.uid == live.uid);
            let under_way = live.as_ref().filter(|live| !is_there(live)).map(|live| &**live);
            let lives = Lives { under_way, background: &background };
            queue.store.list_batches(&filter, paging, lives, &budget)
        })
        .await?
        .map_err(Into::into)
    }

    /// One batch.
    ///
    /// # Errors
    /// `batch_not_found`
    pub fn batch(&self, uid: u32) -> ApiResult<Batch> {
        let background = self.background();
        let live = self.live().into_iter().chain(background.iter().cloned()).find(|live| live.uid == uid);
        let stored = self.store.batch(uid)?;
        stored.or_else(|| live.map(|live| Batch::from(&*live))).ok_or_else(|| batch_not_found(uid))
    }

    /// The batch that is being processed.
    pub fn live(&self) -> Option<Arc<LiveBatch>> {
        self.live.read().clone()
    }

    /// The batches that go on beside it: they ask for vectors. By uid.
    pub fn background(&self) -> Arc<[Arc<LiveBatch>]> {
        self.background.read().clone()
    }

    pub fn set_background(&self, lives: Vec<Arc<LiveBatch>>) {
        *self.background.write() = lives.into();
    }

    /// The batch that is being processed, unless its end is stored already: who saw its tasks finished does not see it
    /// running. A lookup by key while there is one.
    pub fn under_way(&self) -> Option<Arc<LiveBatch>> {
        let live = self.live()?;
        // What cannot be looked up has not ended.
        let has_ended = self.store.has_batch(live.uid).unwrap_or(false);
        (!has_ended).then_some(live)
    }

    /// The batches that show progress of their own: the one under way, and of those that wait for the vectors of an index the first.
    pub fn at_work(&self) -> Vec<Arc<LiveBatch>> {
        let own = |live: &&Arc<LiveBatch>| live.asks.lock().is_none();
        let mut lives: Vec<_> = self.background().iter().filter(own).cloned().collect();
        // One that has just gone there is in both.
        lives.extend(self.under_way().filter(|live| lives.iter().all(|other| other.uid != live.uid)));
        lives
    }

    /// Reports whether a batch about this index is being processed.
    pub fn is_indexing(&self, index_uid: &str) -> bool {
        let is_about = |live: &Arc<LiveBatch>| live.index_uid.as_deref() == Some(index_uid);
        self.under_way().as_ref().is_some_and(is_about) || self.background().iter().any(is_about)
    }

    /// A task once it has ended, or as it is when `patience` is over.
    ///
    /// # Errors
    /// `task_not_found`
    pub async fn ended(self: &Arc<Self>, uid: u32, patience: Duration) -> ApiResult<Task> {
        let deadline = tokio::time::Instant::now() + patience;
        // Subscribed before the look, so that no end falls between.
        let mut ends = self.ends.count.subscribe();
        loop {
            let queue = Arc::clone(self);
            let task = blocking(move || queue.task(uid)).await??;
            let is_over = task.status.is_final()
                || !matches!(tokio::time::timeout_at(deadline, ends.changed()).await, Ok(Ok(())));
            if is_over {
                return Ok(task);
            }
        }
    }

    /// Calls `listener` with every stage that a batch comes to from now on, on the thread that carries out the next one: it must
    /// return at once.
    pub fn on_stage(&self, listener: impl Fn(u32, Stage) + Send + Sync + 'static) {
        self.ends.listeners.write().push(Box::new(listener));
    }

    /// The end of a batch is stored.
    pub fn batch_ended(&self, uid: u32) {
        self.batch_reached(uid, Stage::Ended);
    }

    /// A stage of a batch is stored.
    pub fn batch_reached(&self, uid: u32, stage: Stage) {
        self.feed.note(TaskEvent::Ended(uid));
        self.ends.count.send_modify(|count| *count += 1);
        self.ends.listeners.read().iter().for_each(|listener| listener(uid, stage));
    }

    /// Returns whether what these tasks did is safe from a takeover. Always so where no other server takes over what this one has
    /// accepted.
    pub fn is_covered(&self, tasks: &[u32]) -> bool {
        self.acceptance.get().is_none_or(|place| tasks.iter().all(|task| place.covers(*task)))
    }

    /// Begins to listen to what happens; `None` when there are as many listeners as may be.
    pub fn listen(&self) -> Option<Follower> {
        self.feed.listen()
    }

    /// Returns the events after `mark`, up to `until`.
    pub fn missed(&self, mark: Mark, until: Mark) -> Missed {
        self.feed.missed(mark, until)
    }

    /// Lets all listeners go: the server stops.
    pub fn close_feed(&self) {
        self.feed.close();
    }

    /// Reports whether listeners must disconnect.
    pub fn is_closing(&self) -> bool {
        self.feed.is_closed()
    }

    /// A payload of some size is about to be received.
    pub fn begin_upload(self: &Arc<Self>) -> Upload {
        self.uploads.begin();
        Upload { queue: Arc::clone(self) }
    }

    pub fn uploads(&self) -> &Uploads {
        &self.uploads
    }

    /// Returns the traces of the last batches, with the time of each step.
    pub fn traces(&self) -> &RecentTraces {
        &self.traces
    }

    /// The store below.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub fn set_live(&self, live: Option<Arc<LiveBatch>>) {
        let begun = live.clone();
        *self.live.write() = live;
        if let Some(live) = begun {
            self.feed.note(TaskEvent::Begun(live));
        }
    }

    /// Blocks until there may be work, or `timeout`.
    pub fn wait(&self, timeout: Option<Duration>) {
        self.signal.wait(timeout);
    }

    /// Makes [`TaskQueue::wait`] return.
    pub fn wake(&self) {
        self.signal.raise();
    }
}

/// ``Task `7` not found.``
pub fn task_not_found(uid: u32) -> ApiError {
    ApiError::new(Code::TaskNotFound, format!("Task `{uid}` not found."))
}

/// ``Batch `7` not found.``
pub fn batch_not_found(uid: u32) -> ApiError {
    ApiError::new(Code::BatchNotFound, format!("Batch `{uid}` not found."))
}

/// Runs something that blocks away from the threads that serve connections.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> ApiResult<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| ApiError::internal(format!("An unexpected crash occurred: `{error}`")))
}
