//! The side that writes.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_engine::index::Snapshot;
use uuid::Uuid;

use super::carried::{Carried, carried_key, carried_name};
use super::root::{INDEXES, PublishedIndex, PublishedManifest, ROOTS, Root, file_key, root_key, root_number};
use super::store::{Content, ObjectError, ObjectStore};
use super::{Bell, Replication, Worker};
use crate::access::KeyLine;
use crate::aliases::Aliases;
use crate::error::ApiError;
use crate::instance::Instance;
use crate::options::{Options, StoreAddress};
use crate::outbound::Outbound;
use crate::stored_names::FolderName;
use crate::tasks::{StoreError, TaskQueue};

/// An object that no root names any more stays for so long: replicas may be fetching it.
const REMAINS: Duration = Duration::from_secs(3600);
/// Roots that stay for replicas and publishers that are slow to notice a newer one.
const ROOTS_KEPT: u64 = 1000;

/// Publishes while it lives, and once more when it is dropped.
#[derive(Debug)]
pub(crate) struct Publisher {
    _worker: Worker,
}

/// What a publisher works with.
pub(crate) struct Published {
    /// The indexes.
    pub(crate) instance: Arc<Instance>,
    /// Says which batches have ended.
    pub(crate) queue: Arc<TaskQueue>,
    /// The keys, as they are now.
    pub(crate) keys: Box<dyn Fn() -> Vec<KeyLine> + Send>,
    /// What else replicas get, with these aliases; the same one while nothing of it has changed.
    pub(crate) carried: Box<dyn FnMut(&Arc<Aliases>) -> Arc<Carried> + Send>,
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

impl From<ObjectError> for Failure {
    fn from(error: ObjectError) -> Failure {
        Failure::Other(error.to_string())
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
    /// Checks that the store can be used, and begins to publish to it.
    ///
    /// # Errors
    /// What the store says, or [`ObjectError::Unfit`].
    pub(crate) fn start(
        address: &StoreAddress,
        options: &Options,
        outbound: &Outbound,
        published: Published,
    ) -> Result<Publisher, ObjectError> {
        let store = ObjectStore::open(address, &options.object_storage, outbound)?;
        store.probe()?;
        let last = newest_root(&store, 0)?.unwrap_or_else(Root::none);
        let mut run = Run {
            epoch: last.epoch + 1,
            nonce: Uuid::new_v4(),
            writer: options.replication.public_url.clone(),
            present: objects(&store)?,
            gone: HashMap::new(),
            indexes: HashMap::new(),
            carried: None,
            is_first: true,
            store,
            last,
            published,
        };
        run.take_over().map_err(|failure| match failure {
            Failure::TakenOver => ObjectError::Unfit("another server has just begun to publish to it"),
            Failure::Other(reason) => ObjectError::Refused(reason),
        })?;
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
        Ok(Publisher { _worker: worker })
    }
}

/// The keys of all objects of indexes.
fn objects(store: &ObjectStore) -> Result<HashSet<String>, ObjectError> {
    let (mut found, mut last) = (HashSet::new(), INDEXES.to_owned());
    loop {
        let keys = store.list(INDEXES, &last)?;
        let Some(key) = keys.last() else { return Ok(found) };
        last.clone_from(key);
        found.extend(keys);
    }
}

/// The newest root of a store with a number above `after`.
///
/// # Errors
/// What the store says, or that the root is damaged.
pub(super) fn newest_root(store: &ObjectStore, after: u64) -> Result<Option<Root>, ObjectError> {
    let mut newest = None;
    let mut last = root_key(after);
    loop {
        let keys = store.list(ROOTS, &last)?;
        let Some(key) = keys.last() else { break };
        newest = keys.iter().rev().find_map(|key| root_number(key)).or(newest);
        last.clone_from(key);
    }
    newest.map(|number| Root::read(number, &store.read(&root_key(number))?)).transpose()
}

/// The thread's own.
struct Run {
    store: ObjectStore,
    published: Published,
    epoch: u64,
    nonce: Uuid,
    writer: Option<String>,
    last: Root,
    /// The objects of indexes that are there.
    present: HashSet<String>,
    /// Those of them that no root names, and since when at least.
    gone: HashMap<String, Instant>,
    /// What is published of each index, with the keys of all its objects.
    indexes: HashMap<FolderName, (PublishedManifest, Vec<String>)>,
    /// What was carried last, and its name.
    carried: Option<(Arc<Carried>, String)>,
    /// The first root takes over from whatever published before.
    is_first: bool,
}

impl Run {
    fn run(mut self, bell: &Bell, interval: Duration) {
        let mut goes_on = true;
        loop {
            let has_published = match self.publish_changes() {
                Ok(has_published) => has_published,
                Err(Failure::TakenOver) => {
                    let reason = "another server publishes to this store now: this one does not any more. Stop it, or let it \
                                  follow";
                    self.published.replication.fails(reason.to_owned());
                    return;
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
        let mut states = Vec::new();
        let (folders, aliases) = self.published.instance.folders_and_aliases();
        for (uid, folder) in folders {
            let known = self.indexes.get(&folder).map(|(manifest, _)| manifest.generation);
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
                let put = self.put_index(&folder, &snapshot)?;
                self.indexes.insert(folder.clone(), put);
            }
            let manifest = self.indexes[&folder].0.clone();
            indexes.push(PublishedIndex { uid, folder, manifest });
        }
        let keys = (self.published.keys)();
        let carried = Some(self.put_carried(&aliases)?);
        let (next_task, next_batch) = self.published.queue.store().next_uids()?;
        let root = Root {
            number: self.last.number + 1,
            epoch: self.epoch,
            nonce: self.nonce,
            writer: self.writer.clone(),
            generation,
            next_task,
            // The batch under way may be in its index already.
            next_batch: next_batch.saturating_add(1),
            indexes,
            keys,
            carried,
            ..Root::none()
        };
        let is_news = self.is_first
            || (&root.indexes, &root.keys, &root.carried, root.generation)
                != (&self.last.indexes, &self.last.keys, &self.last.carried, self.last.generation);
        if is_news {
            self.put_root(root)?;
            self.indexes.retain(|folder, _| self.last.indexes.iter().any(|index| index.folder == *folder));
        }
        self.collect(start)?;
        self.published.replication.level(start, generation, self.writer.clone());
        Ok(is_news)
    }

    /// Puts what an index is made of into the store, the manifest last.
    fn put_index(
        &mut self,
        folder: &FolderName,
        snapshot: &Snapshot,
    ) -> Result<(PublishedManifest, Vec<String>), Failure> {
        let refuse = |error: lamina_engine::index::IndexError| Failure::Other(error.to_string());
        let path = self.published.instance.index_folder(folder);
        let mut keys = Vec::new();
        for file in snapshot.named_files().map_err(refuse)? {
            let key = file_key(folder, &file);
            self.create(&key, Content::File(&path.join(&file.name)))?;
            keys.push(key);
        }
        let manifest = snapshot.to_manifest().map_err(refuse)?;
        let published = PublishedManifest { generation: snapshot.generation, checksum: crc32fast::hash(&manifest) };
        let index = PublishedIndex { uid: String::new(), folder: folder.clone(), manifest: published.clone() };
        self.create(&index.manifest_key(), Content::Bytes(&manifest))?;
        keys.push(index.manifest_key());
        Ok((published, keys))
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
        let name = carried_name(&bytes);
        self.create(&carried_key(&name), Content::Bytes(&bytes))?;
        self.carried = Some((carried, name.clone()));
        Ok(name)
    }

    /// Creates an object whose key names its checksum: one that is there is the same.
    fn create(&mut self, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
        if self.present.contains(key) {
            return Ok(());
        }
        match self.store.create(key, content) {
            Ok(()) | Err(ObjectError::Exists(_)) => {}
            Err(error) => return Err(error),
        }
        self.present.insert(key.to_owned());
        Ok(())
    }

    /// Makes the state that is there one of this server: whatever published before is refused from now on.
    fn take_over(&mut self) -> Result<(), Failure> {
        if self.last.number == 0 {
            return Ok(());
        }
        let (number, epoch, nonce) = (self.last.number + 1, self.epoch, self.nonce);
        self.put_root(Root { number, epoch, nonce, writer: self.writer.clone(), ..self.last.clone() })
    }

    /// Removes objects that no root has named for a while: what merges and deletions have left, and uploads that a crash cut
    /// short. Does nothing once another server publishes.
    fn collect(&mut self, now: Instant) -> Result<(), Failure> {
        let carried = self.last.carried.as_deref().map(carried_key);
        let named: HashSet<&String> = self.indexes.values().flat_map(|(_, keys)| keys).chain(&carried).collect();
        self.gone.retain(|key, _| !named.contains(key));
        for key in self.present.iter().filter(|key| !named.contains(key)) {
            self.gone.entry(key.clone()).or_insert(now);
        }
        let over: Vec<String> = self
            .gone
            .iter()
            .filter(|(_, since)| now.duration_since(**since) >= REMAINS)
            .map(|(key, _)| key.clone())
            .collect();
        if over.is_empty() {
            return Ok(());
        }
        if !self.store.list(ROOTS, &root_key(self.last.number))?.is_empty() {
            return Err(Failure::TakenOver);
        }
        for key in over {
            self.store.remove(&key)?;
            self.present.remove(&key);
            self.gone.remove(&key);
        }
        Ok(())
    }

    /// Makes everything before it visible.
    fn put_root(&mut self, root: Root) -> Result<(), Failure> {
        match self.store.create(&root_key(root.number), Content::Bytes(&root.to_bytes())) {
            Ok(()) => {}
            // Ours, if the answer to an earlier attempt was lost.
            Err(ObjectError::Exists(key)) => {
                let there = Root::read(root.number, &self.store.read(&key)?)?;
                if there.nonce != root.nonce || there.epoch != root.epoch {
                    return Err(Failure::TakenOver);
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.is_first = false;
        if let Some(old) = root.number.checked_sub(ROOTS_KEPT) {
            self.store.remove(&root_key(old))?;
        }
        self.last = root;
        Ok(())
    }
}
