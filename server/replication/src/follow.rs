//! The side that follows.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::backoff::FOLLOWER;
use lamina_base::error::ApiError;
use lamina_base::options::{Options, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_base::stored_names::FolderName;
use lamina_data::access::ApiKey;
use lamina_data::instance::{Instance, PendingIndexes};
use lamina_data::tasks::{StoreError, TaskQueue};

use super::chain::{Chain, Holder, Setback};
use super::fetched::{FetchedIndexes, FollowError, io};
use super::heartbeat::{Watch, heartbeat_interval};
use super::known::{Known, newest_to_follow};
use super::known_root::KnownRoot;
use super::replica_state::ReplicaState;
use super::role::forget_accepted;
use super::root::Root;
use super::roster::Signing;
use super::shared_state::{SharedState, shared_state_key};
use super::staging::Staging;
use super::store::{ObjectError, ObjectStore, blocking};
use super::{Notify, Replication, Worker};

/// Follows while it lives.
#[derive(Debug)]
pub struct Follower {
    _worker: Worker,
}

/// Takes what a root carries.
type TakeSharedState = Box<dyn Fn(&SharedState) -> Result<(), ApiError> + Send>;

/// Takes the keys of the publisher.
type ReplaceKeys = Box<dyn Fn(&[ApiKey]) -> Result<(), StoreError> + Send>;

/// Context of a follower.
pub struct Following {
    /// The indexes, which nothing else changes.
    pub instance: Arc<Instance>,
    /// Holds the names of indexes.
    pub queue: Arc<TaskQueue>,
    pub replace_keys: ReplaceKeys,
    /// Mark that is compared with that of the writer.
    pub master_key_mark: String,
    /// Takes what is carried, but for aliases and rules.
    pub take_shared_state: TakeSharedState,
    /// Progress that requests can query.
    pub replication: Arc<Replication>,
}

impl Follower {
    /// Begins to follow.
    ///
    /// # Errors
    /// Where the options of the store are not complete. A store that does not answer is asked again and again.
    pub fn start(
        address: &StoreAddress,
        options: &Options,
        outbound: &Outbound,
        following: Following,
    ) -> Result<Follower, ObjectError> {
        let store = ObjectStore::open(address, &options.object_storage, outbound, following.replication.traffic())?;
        let has = ReplicaState::read(following.instance.folder()).unwrap_or_default();
        if has.root == 0 {
            following.instance.expect(PendingIndexes::Unknown);
        }
        let standby = options.replication.standby.then(|| Standby {
            who: Holder::of(&options.replication, following.instance.uid()),
            watch: Watch::new(Instant::now()),
        });
        let signing = Signing::new(&store, options, following.instance.uid());
        let known = Known::read(following.instance.folder());
        let (address, is_in_store) = (address.clone(), options.replication.is_to_be_in_store());
        let work = move |bell: &Arc<Notify>| {
            let (bell, unfinished) = (Arc::clone(bell), Staging::default());
            Run {
                store,
                address,
                known,
                is_in_store,
                following,
                has,
                last: None,
                is_first: true,
                has_other_key: false,
                standby,
                signing,
                unfinished,
                bell,
            }
            .run();
        };
        let worker =
            Worker::start("follower", work).map_err(|source| ObjectError::Io { path: "follower".into(), source })?;
        Ok(Follower { _worker: worker })
    }
}

/// The thread's own.
pub(super) struct Run {
    pub(super) store: ObjectStore,
    address: StoreAddress,
    /// By which it knows the store again.
    known: Option<Known>,
    /// True if a writer of the group acknowledges only writes that are in the store.
    is_in_store: bool,
    pub(super) following: Following,
    pub(super) has: ReplicaState,
    /// The newest root, once all of it is here.
    last: Option<Root>,
    pub(super) is_first: bool,
    /// True if the writer has another master key than this server.
    has_other_key: bool,
    standby: Option<Standby>,
    signing: Signing,
    pub(super) unfinished: Staging,
    pub(super) bell: Arc<Notify>,
}

/// Additional state of a standby.
struct Standby {
    who: Holder,
    watch: Watch,
}

impl Run {
    fn run(mut self) {
        let mut pauses = FOLLOWER;
        loop {
            let found = self.look();
            if self.bell.is_stopped() {
                return self.signing.leave();
            }
            // Only with all that the store has: one that shows less, or nothing, is not that of the group.
            let taken_over = match &found {
                Ok(_) => self.take_over_if_due(),
                Err(_) => {
                    self.standby.iter_mut().for_each(|standby| standby.watch.could_not_look());
                    Ok(false)
                }
            };
            match taken_over {
                Ok(true) => {
                    self.signing.leave();
                    return self.following.replication.begin_again();
                }
                Ok(false) => {}
                Err(error) => self.following.replication.fails(error.to_string()),
            }
            let pause = match found {
                Ok(true) => {
                    pauses = FOLLOWER;
                    pauses.next_pause()
                }
                Ok(false) => pauses.next_pause().min(self.pause_max()),
                Err(error) => {
                    self.following.replication.fails(error.to_string());
                    pauses.next_pause()
                }
            };
            self.signing.sign(&self.following.replication);
            if !self.bell.pause(pause) {
                return self.signing.leave();
            }
        }
    }

    fn pause_max(&self) -> Duration {
        let after = self.last.as_ref().and_then(Root::takeover_after).filter(|_| self.standby.is_some());
        after.map_or(Duration::MAX, heartbeat_interval)
    }

    /// Takes over, if the writer is silent or this server is the writer already. Whether this one is the writer now.
    fn take_over_if_due(&mut self) -> Result<bool, FollowError> {
        let (Some(standby), Some(root)) = (&mut self.standby, &self.last) else { return Ok(false) };
        // No key of the writer's clients would open this one.
        if self.has_other_key && root.holder != standby.who.uid {
            return Ok(false);
        }
        let now = Instant::now();
        let is_due = root.holder == standby.who.uid || blocking(standby.watch.is_silent(&self.store, root, now))?;
        if !is_due {
            return Ok(false);
        }
        if let Some(other) = self.has.other_than_followed(&self.following.instance) {
            let text = format!(
                "the index `{}` is not in the state that was followed: it is fetched again, and this server does not take over \
                 until then",
                other.published.uid
            );
            (self.last, self.is_first) = (None, true);
            return Err(FollowError::Api(text));
        }
        match blocking(Chain::take_over(self.store.clone(), standby.who.clone(), root.clone())) {
            Ok(chain) => {
                let root = chain.last().clone();
                let before = self.last.as_ref().and_then(|before| before.writer.clone());
                tracing::warn!(
                    root = root.number,
                    epoch = root.epoch,
                    before,
                    "no heartbeat from the writer: this server takes over"
                );
                self.follow(&root)?;
                Ok(true)
            }
            Err(Setback::TakenOver) => {
                tracing::info!("another standby has taken over");
                Ok(false)
            }
            Err(Setback::Object(error)) => Err(error.into()),
        }
    }

    /// Follows the newest root, if there is a new one. Whether there was.
    fn look(&mut self) -> Result<bool, FollowError> {
        let start = Instant::now();
        let place = self.store.shown();
        let newest = newest_to_follow(&self.store, self.has.root, self.is_first, self.known.as_ref(), &place);
        let root = blocking(newest)?;
        let (generation, writer) = match &root {
            Some(root) if self.is_writer_of(root) => {
                tracing::info!("the store is back, and this server is its writer");
                self.following.replication.begin_again();
                return Ok(false);
            }
            Some(root) => {
                self.last = None;
                if let Some(known) = &self.known {
                    blocking(known.is_continued(&self.store, root, &place))?;
                }
                if self.is_first {
                    forget_accepted(self.following.queue.store(), self.is_in_store)?;
                }
                self.compare_master_keys(root);
                self.follow(root)?;
                self.last = Some(root.clone());
                self.known = self.has.seen.clone().map(Known::of);
                (root.generation, root.writer.clone())
            }
            None => {
                // Nothing was published, or nothing since.
                self.following.instance.expect(PendingIndexes::Nothing);
                (self.following.replication.generation(), self.following.replication.writer())
            }
        };
        self.is_first = false;
        self.following.replication.level(start, generation, writer);
        Ok(root.is_some())
    }

    /// Returns whether this server was the writer and is it still: the store was away when it started.
    fn is_writer_of(&self, root: &Root) -> bool {
        self.has.root == 0 && self.standby.as_ref().is_some_and(|standby| standby.who.uid == root.holder)
    }

    /// Says in the log whether the writer has another master key, once until that changes.
    fn compare_master_keys(&mut self, root: &Root) {
        let own = &self.following.master_key_mark;
        let other = root.master_key_mark.as_ref().filter(|mark| *mark != own);
        if std::mem::replace(&mut self.has_other_key, other.is_some()) == other.is_some() {
            return;
        }
        let is_none = |mark: &str| mark == "none";
        let what = match other {
            None => return tracing::info!("this server has the master key of the writer now"),
            Some(_) if is_none(own) => {
                "this server has no master key, and the writer has one: everyone who reaches this server can read all of its data"
            }
            Some(other) if is_none(other) => {
                "the writer has no master key, and this server has one: everyone who reaches the writer can read and write"
            }
            Some(_) => {
                "this server has another master key than the writer: API keys and tenant tokens of one do not work at the other"
            }
        };
        let more = if self.standby.is_some() { ". It does not take over from this writer" } else { "" };
        tracing::error!("{what}{more}. Start all servers of a group with the same `--master-key`");
    }

    fn follow(&mut self, root: &Root) -> Result<(), FollowError> {
        // First, for an index says which batch it has applied last: one that the queue does not know of would be damage, and
        // a replica that takes over gives no uid twice.
        self.following.queue.store().settle_loss(&[], root.next_task, root.next_batch)?;
        // Keys that were deleted open nothing here from now on, whatever else fails.
        (self.following.replace_keys)(&root.keys)?;
        let (carried, lost) = match self.carried(root) {
            Ok(carried) => (carried, None),
            Err(error) => (None, Some(error)),
        };
        let FetchedIndexes { indexes, own, missing, failure } = match self.has.root {
            0 => {
                carried.as_ref().map_or(Ok(()), |carried| self.take(carried))?;
                self.fetch_one_by_one(root, carried.as_ref())?
            }
            _ => self.fetch_all(&root.indexes),
        };
        // They may name an index that is not here, in the place of one that is.
        let aliases = carried.as_ref().filter(|_| missing.is_empty()).map(SharedState::aliases);
        let has_carried = lost.is_none() && missing.is_empty();
        let brought = indexes.iter().map(|local| (local.published.uid.clone(), local.folder.clone()));
        let names: Vec<(String, FolderName)> = brought.chain(own).collect();
        let Following { instance, queue, .. } = &self.following;
        queue.store().set_indexes(&names, aliases.as_ref())?;
        let failure = lost.or(failure);
        let is_whole = missing.is_empty();
        if !is_whole {
            // Before the others are shown: an index of the writer is never one that does not exist.
            instance.expect(PendingIndexes::Indexes(missing));
        }
        let folders = instance.set_indexes(names, aliases);
        match self.has.root {
            0 => self.unfinished.leave(folders),
            _ => folders.iter().for_each(|folder| instance.remove_index_folder(folder)),
        }
        if let Some(carried) = carried.filter(|_| self.has.root > 0) {
            self.take(&carried)?;
        }
        if is_whole {
            instance.expect(PendingIndexes::Nothing);
        }
        if failure.is_none() {
            self.unfinished.named(instance);
            self.has.root = root.number;
            self.has.seen = Some(KnownRoot::of(root, &self.address));
        }
        if has_carried {
            self.has.carried.clone_from(&root.carried);
        }
        self.has.indexes = indexes;
        let written = self.has.write(instance.folder()).map_err(io(instance.folder()));
        failure.map_or(written, Err)
    }

    /// Reads the shared state that a root carries, if this server does not have it yet.
    fn carried(&self, root: &Root) -> Result<Option<SharedState>, FollowError> {
        match &root.carried {
            Some(name) if self.has.carried != root.carried => {
                Ok(Some(SharedState::read(name, &self.store.read(&shared_state_key(name))?)?))
            }
            _ => Ok(None),
        }
    }

    /// Takes what a root carries besides indexes, keys and aliases.
    fn take(&self, carried: &SharedState) -> Result<(), FollowError> {
        let Following { instance, queue, take_shared_state, .. } = &self.following;
        let changes = carried.rule_changes(&instance.rules().all());
        queue.store().change_search_rules(&changes)?;
        instance.rules().follow(&changes);
        Ok(take_shared_state(carried)?)
    }
}
