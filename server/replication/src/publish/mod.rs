//! The side that writes.

mod now;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::aliases::Aliases;
use lamina_base::options::Options;
use lamina_base::plural::counted;
use lamina_base::stored_names::FolderName;
use lamina_data::access::ApiKey;
use lamina_data::instance::Instance;
use lamina_data::tasks::{Stage, Status, StoreError, TaskQueue};
use lamina_engine::index::Snapshot;
use parking_lot::Mutex;

use super::chain::{Chain, Setback};
use super::fenced::step_down;
use super::heartbeat::{Pulse, heartbeat_interval};
use super::journal::Ledger;
use super::position::Position;
use super::prepare::Prepared;
use super::quarantined::tasks_of;
use super::root::{PublishedIndex, Root};
use super::shared_state::{SharedState, shared_state_name};
use super::state::{Body, State};
use super::store::{ObjectError, ObjectStore, blocking};
use super::{Notify, Replication, Worker};
use now::Changed;

/// Before a publication is tried again that a client waits for.
const AWAITED_PAUSE: Duration = Duration::from_secs(1);
/// Between two looks for what killed processes have left.
const SWEEP_INTERVAL: Duration = Duration::from_secs(3600);

/// Publishes while it lives, and once more when it is dropped.
#[derive(Debug)]
pub struct Publisher {
    _worker: Worker,
    _pulse: Option<Worker>,
}

/// Function that returns the shared state of roots, with these aliases.
type GiveSharedState = Box<dyn FnMut(&Arc<Aliases>) -> Arc<SharedState> + Send>;

/// Context of a publisher.
pub struct Published {
    /// The indexes.
    pub instance: Arc<Instance>,
    /// Says which batches have ended.
    pub queue: Arc<TaskQueue>,
    /// The keys, as they are now.
    pub keys: Box<dyn Fn() -> Vec<ApiKey> + Send>,
    /// By which replicas see whether their master key is the one of this server.
    pub master_key_mark: String,
    /// Function that returns the shared state for replicas, with these aliases; the same object while nothing in it has
    /// changed.
    pub carried: GiveSharedState,
    /// Progress that requests can query.
    pub replication: Arc<Replication>,
    /// Has damage shown, if a second look finds it.
    pub found_damage: Box<dyn Fn(&FoundDamage<'_>) -> bool + Send>,
}

/// A file of an index that is not as it was written, as sending it has shown.
#[derive(Debug)]
pub struct FoundDamage<'a> {
    /// The index.
    pub uid: &'a str,
    /// State of the index that has the file.
    pub snapshot: &'a Snapshot,
    /// The name of the file.
    pub file: &'a str,
    /// Description of the damage.
    pub reason: &'static str,
    /// Bytes are missing.
    pub is_cut: bool,
}

/// Reason why nothing was published.
#[derive(Debug)]
enum Failure {
    /// Another server publishes now.
    TakenOver,
    /// Any other failure; the next time may go better.
    Other(String),
    /// Damage of an index on this server.
    OfIndex(String),
}

/// Outcome of an attempt to publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Attempt {
    /// There is a new root.
    News,
    /// The newest root says all of it already.
    Nothing,
    /// The states have to be looked at again.
    PutOff,
}

impl From<Setback> for Failure {
    fn from(setback: Setback) -> Failure {
        match setback {
            Setback::TakenOver => Failure::TakenOver,
            Setback::Object(error) => Failure::Other(error.to_string()),
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Other(error.to_string())
    }
}

impl Publisher {
    /// Begins to publish.
    ///
    /// # Errors
    /// No thread.
    pub fn start(prepared: Prepared, options: &Options, published: Published) -> Result<Publisher, ObjectError> {
        let Prepared { chain, ledger, begins_again } = prepared;
        let pulse = match options.replication.takeover_after() {
            Some(after) => Some(start_pulse(&chain, after, Arc::clone(&published.replication), begins_again)?),
            None => None,
        };
        let run = Run {
            chain,
            ledger,
            published,
            indexes: HashMap::new(),
            damaged: HashMap::new(),
            uncovered: BTreeSet::new(),
            carried: None,
            begins_again,
            swept_at: None,
        };
        let interval = options.replication.publish_interval;
        let replication = Arc::clone(&run.published.replication);
        let queue = Arc::clone(&run.published.queue);
        let worker = Worker::start("publisher", move |bell| run.run(bell, interval))
            .map_err(|source| ObjectError::Io { path: "publisher".into(), source })?;
        let bell = Arc::clone(&worker.bell);
        queue.on_stage(move |_, stage| {
            replication.behind();
            match stage {
                Stage::Unpublished => bell.hurry(),
                Stage::Written | Stage::Ended => bell.ring(),
            }
        });
        Ok(Publisher { _worker: worker, _pulse: pulse })
    }
}

/// Shows signs of life in a thread of its own, whatever the publisher is at.
fn start_pulse(
    chain: &Chain<ObjectStore>,
    after: Duration,
    replication: Arc<Replication>,
    begins_again: bool,
) -> Result<Worker, ObjectError> {
    let (store, mut pulse) = (chain.store().clone(), Pulse::of(chain.last()));
    let heartbeats = move |bell: &Arc<Notify>| {
        loop {
            match blocking(pulse.send(&store)) {
                Ok(()) => {}
                Err(Setback::TakenOver) => return step_down(&store, &replication, begins_again),
                Err(Setback::Object(error)) => tracing::warn!(%error, "cannot send a heartbeat to the store"),
            }
            if !bell.pause(heartbeat_interval(after)) {
                return;
            }
        }
    };
    Worker::start("pulse", heartbeats).map_err(|source| ObjectError::Io { path: "pulse".into(), source })
}

/// The thread's own.
struct Run {
    chain: Chain<ObjectStore>,
    /// Known records in the journal, if there is one.
    ledger: Option<Arc<Mutex<Ledger>>>,
    published: Published,
    /// Published state of each index.
    indexes: HashMap<FolderName, PublishedIndex>,
    /// A file of each index that cannot be sent, and why: it is not read again and again.
    damaged: HashMap<FolderName, (String, String)>,
    /// Tasks that have succeeded in indexes that are held back, and that the last root does not cover.
    uncovered: BTreeSet<u32>,
    /// Shared state that was carried last, and its name.
    carried: Option<(Arc<SharedState>, String)>,
    /// True if the process restarts as a follower once another server publishes.
    begins_again: bool,
    /// Time of the last search for objects that killed processes have left in the store.
    swept_at: Option<Instant>,
}

impl Run {
    fn run(mut self, bell: &Notify, interval: Duration) {
        let mut goes_on = true;
        // A batch that waits for its publication: at first one of the process before.
        let mut is_awaited = self.ledger.is_some();
        loop {
            is_awaited |= bell.take_urgency();
            let attempt = self.publish_changes();
            // One that waits for an index that is held back waits for more than an attempt.
            is_awaited &= matches!(&attempt, Ok(Attempt::PutOff) | Err(Failure::Other(_)));
            let has_published = match attempt {
                Ok(attempt) => attempt != Attempt::Nothing,
                Err(Failure::TakenOver) => {
                    return step_down(self.chain.store(), &self.published.replication, self.begins_again);
                }
                Err(Failure::Other(reason) | Failure::OfIndex(reason)) => {
                    self.published.replication.fails(reason);
                    true
                }
            };
            if self.ledger.is_some() {
                self.published.queue.wake();
            }
            if !goes_on {
                return;
            }
            self.sweep();
            // What is committed within an interval goes together; at once when nothing went before.
            let interval = if is_awaited { interval.min(AWAITED_PAUSE) } else { interval };
            goes_on = (!has_published || bell.pause(interval)) && bell.wait(interval);
        }
    }

    /// Removes what killed processes have left in the store, now and then.
    fn sweep(&mut self) {
        if self.swept_at.is_some_and(|at| at.elapsed() < SWEEP_INTERVAL) {
            return;
        }
        self.swept_at = Some(Instant::now());
        match self.chain.store().remove_leftovers() {
            Ok(0) => {}
            Ok(count) => tracing::info!("removed {} of interrupted uploads", counted(count, "file")),
            Err(error) => tracing::warn!(%error, "cannot remove the leftovers of interrupted uploads"),
        }
    }

    /// Publishes what has changed.
    fn publish_changes(&mut self) -> Result<Attempt, Failure> {
        let start = Instant::now();
        // Before the states are looked at: what these batches wrote is in them.
        let now = match self.ledger {
            None => self.now_by_names()?,
            Some(_) => self.now_by_tasks()?,
        };
        let Some(states) = self.states(&now)? else { return Ok(Attempt::PutOff) };
        let (indexes, held_back) = self.put_all(states)?;
        let journal = self.uncover(now.journal, &held_back)?;
        let keys = (self.published.keys)();
        let carried = Some(self.put_shared_state(&now.aliases)?);
        let (next_task, next_batch) = self.published.queue.store().next_uids()?;
        let root = Root {
            // A replica must not seem to have what is held back.
            generation: if held_back.is_empty() { now.generation } else { self.chain.last().generation },
            next_task,
            // The batch under way may be in its index already.
            next_batch: next_batch.saturating_add(1),
            indexes,
            keys,
            master_key_mark: Some(self.published.master_key_mark.clone()),
            carried,
            journal,
            ..Root::none()
        };
        let is_news = blocking(self.chain.publish(root, !held_back.is_empty()))?;
        if let (Some(ledger), Some(position)) = (&self.ledger, &self.chain.last().journal) {
            ledger.lock().cover(position);
        }
        self.indexes.retain(|folder, _| self.chain.last().indexes.iter().any(|index| index.folder == *folder));
        self.damaged.retain(|folder, _| self.published.instance.uid_of(folder).is_some());
        // What it names no more is gone since then, and not since it began.
        blocking(self.chain.collect(Instant::now()))?;
        self.trim()?;
        if let Some(reason) = held_back.into_values().next() {
            return Err(Failure::OfIndex(reason));
        }
        let writer = self.chain.last().writer.clone();
        self.published.replication.level(start, now.generation, writer);
        Ok(if is_news { Attempt::News } else { Attempt::Nothing })
    }

    /// Puts the states of indexes. What is wrong with one on this machine holds none of the others back: it stays as it is
    /// published, if it is. Those, and why.
    fn put_all(&mut self, states: Vec<Changed>) -> Result<(Vec<PublishedIndex>, BTreeMap<String, String>), Failure> {
        let folders: BTreeSet<FolderName> = states.iter().map(|(_, folder, _)| folder.clone()).collect();
        let (mut indexes, mut held_back) = (Vec::with_capacity(states.len()), BTreeMap::new());
        for (uid, folder, state) in states {
            let put = match state {
                Ok(None) => Ok(self.indexes[&folder].clone()),
                Ok(Some(snapshot)) => self.put_index(&uid, &folder, &snapshot),
                Err(failure) => Err(failure),
            };
            match put {
                Ok(index) => {
                    self.indexes.insert(folder.clone(), index.clone());
                    indexes.push(PublishedIndex { uid, ..index });
                }
                Err(Failure::OfIndex(reason)) => {
                    let before = self.published_before(&folder).or_else(|| self.published_as(&uid, &folders));
                    indexes.extend(before.map(|index| PublishedIndex { uid: uid.clone(), ..index }));
                    held_back.insert(uid, reason);
                }
                Err(failure) => return Err(failure),
            }
        }
        Ok((indexes, held_back))
    }

    /// The index of this name in the newest root, which is in none of these folders: one that this server has fetched into another
    /// folder, or that its own one replaces.
    fn published_as(&self, uid: &str, folders: &BTreeSet<FolderName>) -> Option<PublishedIndex> {
        self.chain.last().indexes.iter().find(|index| index.uid == uid && !folders.contains(&index.folder)).cloned()
    }

    /// Returns the position that a root covers if it holds indexes back. It excludes all work on these indexes since
    /// they were published.
    fn uncover(
        &mut self,
        position: Option<Position>,
        held_back: &BTreeMap<String, String>,
    ) -> Result<Option<Position>, Failure> {
        let (Some(ledger), Some(position), Some(reason)) = (&self.ledger, &position, held_back.values().next()) else {
            self.uncovered.clear();
            return Ok(position);
        };
        let nothing = Position::default();
        let last = self.chain.last().journal.as_ref().unwrap_or(&nothing);
        let (names, queue) = (held_back.keys().cloned().collect(), self.published.queue.store());
        let mut failure = None;
        let has_succeeded = |uid| {
            if self.uncovered.contains(&uid) {
                return Some(true);
            }
            let task = queue.task(uid).map_err(|error| failure = Some(error)).ok()??;
            // One that is processed in the background has written what it writes.
            Some(matches!(task.status, Status::Succeeded | Status::Processing))
        };
        let ledger = ledger.lock();
        let tasks = tasks_of(&names, ledger.between(last, position), has_succeeded);
        if let Some(error) = failure {
            return Err(error.into());
        }
        let Some(tasks) = tasks else {
            return Err(Failure::OfIndex(format!(
                "{reason}. No index is published until then: tasks since the last publication have changed its name, or are not \
                 known any more"
            )));
        };
        let waiting = position.waiting.runs().flat_map(|(first, last)| first..=last);
        let uncovered = waiting.chain(tasks.iter().copied()).collect::<BTreeSet<u32>>();
        let position = ledger.position(position.next_task, uncovered.into_iter().collect());
        drop(ledger);
        self.uncovered = tasks;
        Ok(Some(position))
    }

    /// An index as the newest root names it: all of its objects are there.
    fn published_before(&self, folder: &FolderName) -> Option<PublishedIndex> {
        self.chain.last().indexes.iter().find(|index| index.folder == *folder).cloned()
    }

    /// Removes records that the newest root covers.
    fn trim(&mut self) -> Result<(), Failure> {
        let (Some(ledger), Some(position)) = (&self.ledger, &self.chain.last().journal) else { return Ok(()) };
        let over = ledger.lock().over(position);
        for (number, keys) in over {
            for key in keys {
                self.chain.store().remove(&key).map_err(Setback::from)?;
            }
            ledger.lock().forget(number);
        }
        self.published.replication.journal().note_length(ledger.lock().len());
        Ok(())
    }

    /// Puts what an index is made of into the store.
    fn put_index(&mut self, uid: &str, folder: &FolderName, snapshot: &Snapshot) -> Result<PublishedIndex, Failure> {
        let refuse = |error: lamina_engine::index::IndexError| Failure::OfIndex(format!("index `{uid}`: {error}"));
        let path = self.published.instance.index_folder(folder);
        match self.damaged.get(folder) {
            Some((file, reason)) if snapshot.names_file(file) => return Err(Failure::OfIndex(reason.clone())),
            _ => drop(self.damaged.remove(folder)),
        }
        let files = snapshot.named_files().map_err(refuse)?;
        let shared = files.iter().filter_map(|file| Some((file.name.clone(), self.origin(folder, &file.name)?)));
        let state = State {
            uid: uid.to_owned(),
            folder: folder.clone(),
            generation: snapshot.generation,
            manifest: snapshot.to_manifest().map_err(refuse)?,
            shared: shared.collect(),
            files: files.into_iter().map(|file| (file.clone(), Body::File(path.join(&file.name)))).collect(),
        };
        match blocking(self.chain.put_index(&state)) {
            Err(Setback::Object(ObjectError::DamagedFile { path, reason, is_cut })) => {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                let damage = FoundDamage { uid, snapshot, file: &file, reason, is_cut };
                Err(self.note_damage(folder, &damage))
            }
            put => Ok(put?),
        }
    }

    /// Remembers a file that cannot be sent. Why.
    fn note_damage(&mut self, folder: &FolderName, damage: &FoundDamage<'_>) -> Failure {
        let FoundDamage { uid, file, reason, .. } = damage;
        let text = format!(
            "index `{uid}`: the file `{file}` is damaged on this server: {reason}. It was not sent, and the index stays as it \
             was published. Stop the server and run `lamina repair`, or clear or delete the index"
        );
        if (self.published.found_damage)(damage) {
            self.damaged.insert(folder.clone(), ((*file).to_owned(), text.clone()));
        }
        Failure::OfIndex(text)
    }

    /// The folder of a published index that has this file too, if the one in `folder` is new: a clone has links to files.
    fn origin(&self, folder: &FolderName, name: &str) -> Option<FolderName> {
        let number = |folder: &FolderName| {
            let metadata = self.published.instance.index_folder(folder).join(name).metadata().ok()?;
            (metadata.nlink() > 1).then(|| (metadata.dev(), metadata.ino()))
        };
        if self.chain.last().indexes.iter().any(|index| index.folder == *folder) {
            return None;
        }
        let own = number(folder)?;
        self.indexes.keys().find(|other| *other != folder && number(other) == Some(own)).cloned()
    }

    /// Puts what the root carries besides indexes and keys; its name.
    fn put_shared_state(&mut self, aliases: &Arc<Aliases>) -> Result<String, Failure> {
        let carried = (self.published.carried)(aliases);
        if let Some((last, name)) = &self.carried
            && Arc::ptr_eq(last, &carried)
        {
            return Ok(name.clone());
        }
        let bytes = carried.to_bytes();
        let name = blocking(self.chain.put_shared_state(&shared_state_name(&bytes), &bytes))?;
        self.carried = Some((carried, name.clone()));
        Ok(name)
    }
}
