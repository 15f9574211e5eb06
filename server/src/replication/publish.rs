//! The side that writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_engine::index::Snapshot;
use uuid::Uuid;

use super::beat::{Pulse, beat_interval};
use super::carried::{Carried, carried_name};
use super::chain::{Body, Chain, Holder, Setback, State, newest_root};
use super::remembered::{followed_root, forget_following};
use super::root::{PublishedIndex, Root};
use super::store::{ObjectError, ObjectStore, blocking};
use super::{Bell, Replication, Worker};
use crate::access::KeyLine;
use crate::aliases::Aliases;
use crate::error::ApiError;
use crate::instance::Instance;
use crate::options::{Options, StoreAddress};
use crate::outbound::Outbound;
use crate::stored_names::FolderName;
use crate::tasks::{StoreError, TaskQueue};

/// Publishes while it lives, and once more when it is dropped.
#[derive(Debug)]
pub(crate) struct Publisher {
    _worker: Worker,
    _pulse: Option<Worker>,
}

/// What roots carry, with these aliases.
type GiveCarried = Box<dyn FnMut(&Arc<Aliases>) -> Arc<Carried> + Send>;

/// What a publisher works with.
pub(crate) struct Published {
    /// The indexes.
    pub(crate) instance: Arc<Instance>,
    /// Says which batches have ended.
    pub(crate) queue: Arc<TaskQueue>,
    /// The keys, as they are now.
    pub(crate) keys: Box<dyn Fn() -> Vec<KeyLine> + Send>,
    /// What else replicas get, with these aliases; the same one while nothing of it has changed.
    pub(crate) carried: GiveCarried,
    /// Where requests ask how far it is.
    pub(crate) replication: Arc<Replication>,
}

/// Why nothing was published.
#[derive(Debug)]
enum Failure {
    /// Another server publishes now.
    TakenOver,
    /// It may go better the next time.
    Other(String),
}

impl From<Setback> for Failure {
    fn from(setback: Setback) -> Failure {
        match setback {
            Setback::TakenOver => Failure::TakenOver,
            Setback::Object(error) => Failure::Other(error.to_string()),
        }
    }
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        Failure::Other(error.message)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Other(error.to_string())
    }
}

impl Publisher {
    /// Checks that the store can be used, takes over from what published before, and begins to publish.
    ///
    /// # Errors
    /// What the store says, or [`ObjectError::Unfit`]; [`ObjectError::Refused`] where another server's state would be lost.
    pub(crate) fn start(
        address: &StoreAddress,
        options: &Options,
        outbound: &Outbound,
        published: Published,
    ) -> Result<Publisher, ObjectError> {
        let store = ObjectStore::open(address, &options.object_storage, outbound, published.replication.traffic())?;
        store.probe()?;
        let last = blocking(newest_root(&store, 0))?.unwrap_or_else(Root::none);
        let uid = published.instance.uid();
        let next_uids = published.queue.store().next_uids();
        let (next_task, _) = next_uids.map_err(|error| ObjectError::Refused(error.to_string()))?;
        may_publish(&last, uid, followed_root(published.instance.folder()), next_task)?;
        let refused = |setback| match setback {
            Setback::TakenOver => ObjectError::TakenOver("another server has just begun to publish to it"),
            Setback::Object(error) => error,
        };
        let who = Holder::of(&options.replication, uid);
        let mut chain = blocking(Chain::take_over(store.clone(), who, last)).map_err(refused)?;
        blocking(chain.survey()).map_err(refused)?;
        forget_following(published.instance.folder()).map_err(|error| ObjectError::Refused(error.to_string()))?;
        let begins_again = options.replication.standby;
        let pulse = match options.replication.takeover_after() {
            Some(after) => Some(start_pulse(&chain, after, Arc::clone(&published.replication), begins_again)?),
            None => None,
        };
        let run = Run { chain, published, indexes: HashMap::new(), carried: None, begins_again };
        let interval = options.replication.publish_interval;
        let replication = Arc::clone(&run.published.replication);
        let queue = Arc::clone(&run.published.queue);
        let worker = Worker::start("publisher", move |bell| run.run(bell, interval))
            .map_err(|source| ObjectError::Io { path: "publisher".into(), source })?;
        let bell = Arc::clone(&worker.bell);
        queue.on_batch_end(move |_| {
            replication.behind();
            bell.ring();
        });
        Ok(Publisher { _worker: worker, _pulse: pulse })
    }
}

/// Refuses to publish where the newest state in the store, that of `last`, is another one than that of this server, which would
/// be lost. `followed`: the root that it has followed to; `next_task`: the next uid that it gives.
pub(super) fn may_publish(last: &Root, uid: Uuid, followed: Option<u64>, next_task: u32) -> Result<(), ObjectError> {
    if last.number == 0 || followed == Some(last.number) {
        return Ok(());
    }
    if last.holder != uid && !last.holder.is_nil() {
        return Err(ObjectError::TakenOver(
            "another server has published to this store, and this one does not have its newest state. Start this one with \
             `--follow` and `--standby`: it fetches the newest state, and takes over when the other server is gone. Or \
             publish to another prefix",
        ));
    }
    if next_task >= last.next_task {
        return Ok(());
    }
    let text = "what this server has is older than what was published: its folder was put back, or is another one. Start a \
                server on an empty folder with `--follow` and `--standby` to go on from what was published, or publish to \
                another prefix";
    Err(ObjectError::Refused(text.to_owned()))
}

/// Shows signs of life in a thread of its own, whatever the publisher is at.
fn start_pulse(
    chain: &Chain<ObjectStore>,
    after: Duration,
    replication: Arc<Replication>,
    begins_again: bool,
) -> Result<Worker, ObjectError> {
    let (store, mut pulse) = (chain.store().clone(), Pulse::of(chain.last()));
    let beats = move |bell: &Bell| {
        loop {
            match blocking(pulse.beat(&store)) {
                Ok(()) => {}
                Err(Setback::TakenOver) => return step_down(&store, &replication, begins_again),
                Err(Setback::Object(error)) => tracing::warn!(%error, "cannot show a sign of life in the store"),
            }
            if !bell.pause(beat_interval(after)) {
                return;
            }
        }
    };
    Worker::start("pulse", beats).map_err(|source| ObjectError::Io { path: "pulse".into(), source })
}

/// Takes no writes any more: another server does.
fn step_down(store: &ObjectStore, replication: &Replication, begins_again: bool) {
    // Only to name it.
    let writer = blocking(newest_root(store, 0)).ok().flatten().and_then(|root| root.writer);
    replication.step_down(writer, begins_again);
}

/// The thread's own.
struct Run {
    chain: Chain<ObjectStore>,
    published: Published,
    /// What is published of each index.
    indexes: HashMap<FolderName, PublishedIndex>,
    /// What was carried last, and its name.
    carried: Option<(Arc<Carried>, String)>,
    /// As a follower, once another server publishes.
    begins_again: bool,
}

impl Run {
    fn run(mut self, bell: &Bell, interval: Duration) {
        let mut goes_on = true;
        loop {
            let has_published = match self.publish_changes() {
                Ok(has_published) => has_published,
                Err(Failure::TakenOver) => {
                    return step_down(self.chain.store(), &self.published.replication, self.begins_again);
                }
                Err(Failure::Other(reason)) => {
                    self.published.replication.fails(reason);
                    true
                }
            };
            if !goes_on {
                return;
            }
            // What is committed within an interval goes together; at once when nothing went before.
            goes_on = (!has_published || bell.pause(interval)) && bell.wait(interval);
        }
    }

    /// Publishes what has changed. Whether anything has.
    fn publish_changes(&mut self) -> Result<bool, Failure> {
        let start = Instant::now();
        // Before the states are looked at: what these batches wrote is in them.
        let generation = self.published.queue.store().next_batch_uid()?.checked_sub(1);
        let (folders, aliases) = self.published.instance.folders_and_aliases();
        let mut states = Vec::new();
        for (uid, folder) in folders {
            let known = self.indexes.get(&folder).map(|index| index.manifest.generation);
            if known.is_none() || known != self.published.instance.generation(&uid) {
                match self.published.instance.state(&uid) {
                    Ok(snapshot) => states.push((uid, folder, Some(snapshot))),
                    // Deleted since the list was made.
                    Err(error) if error.code == crate::error::Code::IndexNotFound => {}
                    Err(error) => return Err(error.into()),
                }
            } else {
                states.push((uid, folder, None));
            }
        }
        let mut indexes = Vec::with_capacity(states.len());
        for (uid, folder, snapshot) in states {
            if let Some(snapshot) = snapshot {
                let index = self.put_index(&uid, &folder, &snapshot)?;
                self.indexes.insert(folder.clone(), index);
            }
            indexes.push(PublishedIndex { uid, ..self.indexes[&folder].clone() });
        }
        let keys = (self.published.keys)();
        let carried = Some(self.put_carried(&aliases)?);
        let (next_task, next_batch) = self.published.queue.store().next_uids()?;
        let root = Root {
            generation,
            next_task,
            // The batch under way may be in its index already.
            next_batch: next_batch.saturating_add(1),
            indexes,
            keys,
            carried,
            ..Root::none()
        };
        let is_news = blocking(self.chain.publish(root))?;
        self.indexes.retain(|folder, _| self.chain.last().indexes.iter().any(|index| index.folder == *folder));
        // What it names no more is gone since then, and not since it began.
        blocking(self.chain.collect(Instant::now()))?;
        let writer = self.chain.last().writer.clone();
        self.published.replication.level(start, generation, writer);
        Ok(is_news)
    }

    /// Puts what an index is made of into the store.
    fn put_index(&mut self, uid: &str, folder: &FolderName, snapshot: &Snapshot) -> Result<PublishedIndex, Failure> {
        let refuse = |error: lamina_engine::index::IndexError| Failure::Other(error.to_string());
        let path = self.published.instance.index_folder(folder);
        let files = snapshot.named_files().map_err(refuse)?.into_iter();
        let state = State {
            uid: uid.to_owned(),
            folder: folder.clone(),
            generation: snapshot.generation,
            manifest: snapshot.to_manifest().map_err(refuse)?,
            files: files.map(|file| (file.clone(), Body::File(path.join(&file.name)))).collect(),
        };
        Ok(blocking(self.chain.put_index(&state))?)
    }

    /// Puts what the root carries besides indexes and keys; its name.
    fn put_carried(&mut self, aliases: &Arc<Aliases>) -> Result<String, Failure> {
        let carried = (self.published.carried)(aliases);
        if let Some((last, name)) = &self.carried
            && Arc::ptr_eq(last, &carried)
        {
            return Ok(name.clone());
        }
        let bytes = carried.to_bytes();
        let name = blocking(self.chain.put_carried(&carried_name(&bytes), &bytes))?;
        self.carried = Some((carried, name.clone()));
        Ok(name)
    }
}
