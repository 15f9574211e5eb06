//! One server writes, any number follow: commits go to a store that all of them reach, and replicas answer from what they find
//! there.
//!
//! * [`publish`]: the writer puts new files, then the manifests that name them, then a root that names the manifests. Creating
//!   the root is the commit.
//! * [`follow`]: a replica looks for the next root, fetches what it does not have, and moves each index to its new state.
//! * [`heartbeat`]: a writer shows signs of life, and a standby takes over from one that shows none.
//! * [`journal`]: with `--durability store`, tasks are put into the store before they are acknowledged, and a server that takes
//!   over carries them out.
//! * [`built`]: an index that no server has made, in a store of its own.
//! * [`roster`]: replicas say in the store that they are there.
//! * [`role`]: whether a server writes or follows, where its options leave that to the store.
//!
//! A *root* is the object that makes commits of all indexes visible to replicas. An *epoch* counts the servers that have published to the
//! store: a higher one has taken over.
//!
//! Searches never wait for either. A publisher that another one has taken over from finds its next root refused, and stops.
//!
//! Uses the engine, `lamina-base`, `lamina-protocol` and `lamina-data`. Answers no request and runs no task.
//!
//! ```
//! use lamina_replication::{Replication, Role};
//!
//! let replication = Replication::new(Role::Publisher);
//! assert_eq!((replication.role().name(), replication.generation()), ("writer", None));
//! ```

// These macros panic when the reader is gone; `console` does not.
#![cfg_attr(not(test), warn(clippy::print_stdout, clippy::print_stderr))]

mod built;
mod chain;
mod fenced;
mod fetch;
mod fetched;
mod follow;
mod group_commit;
mod heartbeat;
mod inventory;
mod journal;
mod known;
mod known_root;
mod position;
mod prepare;
mod publish;
mod quarantined;
mod replica_state;
mod role;
mod root;
mod roster;
mod shared_state;
mod staging;
mod state;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use lamina_base::outbound::followable;
use parking_lot::Mutex;
use tokio::sync::watch;

pub use built::BuiltStore;
pub use follow::{Follower, Following};
pub use inventory::Inventory;
pub use prepare::{Prepared, Taking};
pub use publish::{FoundDamage, Published, Publisher};
pub use role::{AtStart, forget_accepted, has_followed, role_at_start};
pub use roster::{Sign, replicas};
pub use shared_state::SharedState;
pub use store::ObjectError;
pub use store::{Call, Traffic};

/// Progress of a server with what it publishes or follows. Shared by the thread that does this work and the
/// requests that query it.
#[derive(Debug)]
pub struct Replication {
    role: Role,
    /// True if the server follows for now, and may turn out to be the writer: it carries nothing out, and forgets nothing.
    is_undecided: bool,
    generation: watch::Sender<Option<u32>>,
    state: Mutex<State>,
    traffic: Arc<Traffic>,
    failures: AtomicU64,
    journal: JournalCounts,
    /// True if the process must restart in another role.
    begins_again: watch::Sender<bool>,
}

/// Counters of the journal of a writer that acknowledges a write when it is in the store; all are 0 for others.
#[derive(Debug, Default)]
pub struct JournalCounts {
    records: AtomicU64,
    tasks: AtomicU64,
    refused: AtomicU64,
    micros: AtomicU64,
    length: AtomicU64,
}

impl JournalCounts {
    /// Records that were created.
    pub fn records(&self) -> u64 {
        self.records.load(Ordering::Relaxed)
    }

    /// Tasks in them.
    pub fn tasks(&self) -> u64 {
        self.tasks.load(Ordering::Relaxed)
    }

    /// Tasks that the store did not take.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Records that are there: what no root covers yet.
    pub fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Returns the sum of the times that the first task of each record waited for its record.
    pub fn waited(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }

    fn note_record(&self, tasks: usize, waited: Duration) {
        self.records.fetch_add(1, Ordering::Relaxed);
        self.tasks.fetch_add(tasks as u64, Ordering::Relaxed);
        self.micros.fetch_add(u64::try_from(waited.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    fn note_refused(&self, tasks: usize) {
        self.refused.fetch_add(tasks as u64, Ordering::Relaxed);
    }

    fn note_length(&self, records: usize) {
        self.length.store(records as u64, Ordering::Relaxed);
    }
}

/// Role of a server among others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// The server neither publishes nor follows.
    #[default]
    Alone,
    /// The server writes, and others follow.
    Publisher,
    /// The server follows.
    Replica,
    /// The server was the writer until another server took over.
    Superseded,
}

#[derive(Debug, Default)]
struct State {
    /// Time at which all was published, or all that was published had arrived. `None`: never yet.
    level_at: Option<Instant>,
    /// True if a publisher still has nothing to publish.
    is_level: bool,
    /// Address for writes.
    writer: Option<String>,
    /// Current failure.
    failure: Option<String>,
    /// Another server has taken over.
    is_superseded: bool,
}

impl Role {
    /// In metrics.
    pub fn name(self) -> &'static str {
        match self {
            Role::Alone => "alone",
            Role::Publisher => "writer",
            Role::Replica => "replica",
            Role::Superseded => "superseded",
        }
    }
}

impl Default for Replication {
    fn default() -> Replication {
        Replication::new(Role::Alone)
    }
}

impl Replication {
    /// At the start, nothing published or followed yet.
    pub fn new(role: Role) -> Replication {
        Replication {
            role,
            is_undecided: false,
            generation: watch::Sender::new(None),
            state: Mutex::default(),
            traffic: Arc::default(),
            failures: AtomicU64::new(0),
            journal: JournalCounts::default(),
            begins_again: watch::Sender::new(false),
        }
    }

    /// Creates the state like [`Replication::new`], for a role that may be unsure.
    pub fn at_start(at_start: AtStart) -> Replication {
        Replication { is_undecided: !at_start.is_sure, ..Replication::new(at_start.role) }
    }

    /// Returns whether tasks wait until it is known which server writes.
    pub fn holds_tasks(&self) -> bool {
        self.is_undecided
    }

    /// Returns the role of this server.
    pub fn role(&self) -> Role {
        if self.role == Role::Publisher && self.state.lock().is_superseded { Role::Superseded } else { self.role }
    }

    /// Waits until the process is to begin again.
    pub async fn is_to_begin_again(&self) {
        // The sender is here: it is not gone.
        let _ = self.begins_again.subscribe().wait_for(|begins| *begins).await;
    }

    /// The process is to begin again, for it has another role now.
    fn begin_again(&self) {
        self.begins_again.send_replace(true);
    }

    /// Another server, which takes writes at `writer`, has taken over: no write is taken here any more.
    fn step_down(&self, writer: Option<String>, begins_again: bool) {
        let writer = followable(writer);
        let at = writer.clone().unwrap_or_else(|| "an address that it does not say".to_owned());
        let what = match begins_again {
            true => "this one begins again, and follows it",
            false => "this one takes no writes any more. Start it again with `--follow`",
        };
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.is_superseded, true) {
            return;
        }
        tracing::error!("another server publishes to this store now, at {at}: {what}");
        state.failure = Some("another server has taken over".to_owned());
        state.writer = writer;
        drop(state);
        if begins_again {
            self.begin_again();
        }
    }

    /// The last batch that is published, or that this replica has.
    pub fn generation(&self) -> Option<u32> {
        *self.generation.borrow()
    }

    /// Returns the time since this server was level with the store: everything was published, or followed. `None`:
    /// never yet.
    pub fn lag(&self) -> Option<Duration> {
        let state = self.state.lock();
        if state.is_level { Some(Duration::ZERO) } else { state.level_at.map(|at| at.elapsed()) }
    }

    /// Returns the address for writes, if the server that takes them announces it.
    pub fn writer(&self) -> Option<String> {
        self.state.lock().writer.clone()
    }

    /// Returns the counts of requests to the store.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.traffic)
    }

    /// Returns the counters of the journal.
    pub fn journal(&self) -> &JournalCounts {
        &self.journal
    }

    /// Returns the number of failures of publishing or following.
    pub fn failure_count(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns the current failure.
    pub fn failure(&self) -> Option<String> {
        self.state.lock().failure.clone()
    }

    /// Waits until the batch `wanted` is here, for at most `patience`. Whether it is.
    pub async fn reached(&self, wanted: u32, patience: Duration) -> bool {
        let mut generation = self.generation.subscribe();
        let is_here = generation.wait_for(|generation| generation.is_some_and(|generation| generation >= wanted));
        matches!(tokio::time::timeout(patience, is_here).await, Ok(Ok(_)))
    }

    /// Notes that this server is level with the store, as of `at`.
    fn level(&self, at: Instant, generation: Option<u32>, writer: Option<String>) {
        let mut state = self.state.lock();
        state.level_at = Some(at);
        state.is_level = self.role == Role::Publisher;
        state.writer = followable(writer);
        if state.failure.take().is_some() {
            tracing::info!("the store works again");
        }
        drop(state);
        self.generation.send_if_modified(|current| std::mem::replace(current, generation) != generation);
    }

    /// Something waits to be published.
    fn behind(&self) {
        let mut state = self.state.lock();
        if std::mem::take(&mut state.is_level) {
            state.level_at = Some(Instant::now());
        }
    }

    /// Something goes wrong. Said once in the log until it works again.
    fn fails(&self, reason: String) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut state = self.state.lock();
        if state.failure.as_ref() != Some(&reason) {
            tracing::error!("{}: {reason}", if self.role == Role::Publisher { "publishing" } else { "following" });
        }
        state.failure = Some(reason);
    }
}

/// A shared end of a thread: asked to stop, to look, or to look at once.
#[derive(Debug, Default)]
struct Notify {
    state: Mutex<BellState>,
    changed: parking_lot::Condvar,
}

#[derive(Debug, Default)]
struct BellState {
    has_rung: bool,
    is_urgent: bool,
    is_stopped: bool,
}

impl Notify {
    fn ring(&self) {
        self.state.lock().has_rung = true;
        self.changed.notify_all();
    }

    /// Rings like [`Notify::ring`], and ends a pause.
    fn hurry(&self) {
        let mut state = self.state.lock();
        (state.has_rung, state.is_urgent) = (true, true);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns whether it was hurried since the last call.
    fn take_urgency(&self) -> bool {
        std::mem::take(&mut self.state.lock().is_urgent)
    }

    fn stop(&self) {
        self.state.lock().is_stopped = true;
        self.changed.notify_all();
    }

    fn is_stopped(&self) -> bool {
        self.state.lock().is_stopped
    }

    /// Waits for a ring, or for so long. Whether the thread is to go on.
    fn wait(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        while !state.has_rung && !state.is_stopped {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        state.has_rung = false;
        !state.is_stopped
    }

    /// Waits for so long, whatever rings, unless it is urgent. Whether the thread is to go on.
    fn pause(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut state = self.state.lock();
        while !state.is_urgent && !state.is_stopped {
            if self.changed.wait_until(&mut state, until).timed_out() {
                break;
            }
        }
        !state.is_stopped
    }
}

/// A thread that publishes or follows. Ends when it is dropped, after what it is at.
#[derive(Debug)]
struct Worker {
    bell: Arc<Notify>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Worker {
    fn start(name: &str, work: impl FnOnce(&Arc<Notify>) + Send + 'static) -> std::io::Result<Worker> {
        let bell = Arc::<Notify>::default();
        let own = Arc::clone(&bell);
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || work(&own))?;
        Ok(Worker { bell, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.bell.stop();
        if let Some(thread) = self.thread.take() {
            // It is gone only if it panicked, and then there is nothing to wait for.
            let _ = thread.join();
        }
    }
}
