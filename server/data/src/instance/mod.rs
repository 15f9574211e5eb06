//! The database folder: its lock, its version, its uid, and the indexes by name.
//!
//! ```text
//! <db-path>/
//!   VERSION          version of the program that wrote it, and the format of its files
//!   instance-uid     random, made once
//!   lock             held while a server uses the folder; how far uids have got
//!   tasks.sqlite     tasks, batches, names of the indexes
//!   payloads/        documents of waiting tasks
//!   events/          what people did; made when there is such a thing
//!   indexes/<uuid>/  one folder per index, whatever its name
//!   quarantine/      what is damaged or what nothing leads to; made when there is such a thing
//! ```
//!
//! SQLite says which folder is which index. What is lost with it comes back from the folders themselves where they say it
//! ([`names`]), and what is lost for good is said at the start; see `docs/decisions/0034-when-sqlite-is-lost.md`.

mod aliases;
mod before_upgrade;
mod clones;
mod error;
mod folder;
mod following;
mod generations;
mod names;
mod open_indexes;
mod opening;
mod parts;
mod payloads;
mod quarantine;
mod state_file;
mod strangers;
mod version;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use lamina_base::aliases::Aliases;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::process_limits::open_indexes_max;
use lamina_base::stored_names::{FolderName, PayloadName};
use lamina_engine::index::{Index, IndexError, IndexOptions, IndexSummary, MergeStatus, Snapshot};
use parking_lot::RwLock;
use uuid::Uuid;

pub use error::InstanceError;
pub use folder::{Older, holds_database, lock_to_look, set_instance_uid};
pub use following::PendingIndexes;
pub use names::Plan;
use open_indexes::{Entry, OpenIndexes};
pub use opening::{DATABASE, LOG, Opened};
pub use parts::is_in_snapshots;
pub use quarantine::{Aside, QUARANTINE, aside};
pub use state_file::{StateFile, read_state, read_state_or_default, write_state};
pub use strangers::check_ours;
pub use version::{VERSION, check_version};

use crate::events::{Events, name_key};
use crate::rules::Rules;
use crate::tasks::{IndexChange, Store, StoreError};

/// The open database folder.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    uid: Uuid,
    indexes: RwLock<BTreeMap<String, Arc<Entry>>>,
    /// Number of changes of names so far.
    changes: AtomicU64,
    /// Never locked while `indexes` is waited for.
    aliases: RwLock<Arc<Aliases>>,
    open: OpenIndexes,
    rules: Rules,
    events: Events,
    options: IndexOptions,
    /// The older version that wrote the folder.
    older: Option<Older>,
    /// Tasks that were there are not there any more.
    tasks_were_lost: bool,
    /// True if indexes store their own names. False if they are only inspected, or if another server writes them.
    keeps_names: bool,
    /// Indexes that a replica must still fetch for the first time.
    pending: RwLock<PendingIndexes>,
    // Held, never read: the lock ends with it.
    _lock: Option<File>,
}

impl Instance {
    /// Opens or creates the database in `folder`, without its indexes: each is opened when first used. One of an older
    /// version is opened if it `may_upgrade`, see [`Instance::older_version`].
    ///
    /// # Errors
    /// When another process uses it, another version wrote it, or it cannot be read.
    pub fn open(folder: &Path, options: IndexOptions, may_upgrade: bool) -> Result<(Instance, Store), InstanceError> {
        Instance::open_as(folder, options, may_upgrade, false)
    }

    /// Opens like [`Instance::open`], for a server that follows another one and finds [`InstanceError::OlderQueue`].
    /// Its indexes are fetched again, and its tasks are not executed.
    ///
    /// # Errors
    /// Same as [`Instance::open`].
    pub fn open_to_fetch(
        folder: &Path,
        options: IndexOptions,
        may_upgrade: bool,
    ) -> Result<(Instance, Store), InstanceError> {
        Instance::open_as(folder, options, may_upgrade, true)
    }

    /// The uid of the database in `folder`.
    ///
    /// # Errors
    /// The uid cannot be read.
    pub fn uid_in(folder: &Path) -> Result<Uuid, InstanceError> {
        folder::instance_uid(folder)
    }

    fn open_as(
        folder: &Path,
        options: IndexOptions,
        may_upgrade: bool,
        is_fetched_again: bool,
    ) -> Result<(Instance, Store), InstanceError> {
        let (lock, older) = folder::prepare(folder, version::THIS, may_upgrade)?;
        let uid = folder::instance_uid(folder)?;
        let opened = opening::open_store(folder, &lock)?;
        let tasks_were_lost = names::settle(folder, &opened, is_fetched_again)?;
        let store = opened.store;
        if older.is_none() && !tasks_were_lost {
            before_upgrade::forget(folder, &store)?;
        }
        store.keep_marks(lock.try_clone().map_err(StoreError::from)?, opened.marks)?;
        let indexes = closed(store.indexes()?);
        let aliases = RwLock::new(Arc::new(store.aliases()?));
        // The lock of the database is enough: a lock for each index would hold a descriptor for each.
        let options = IndexOptions { locks_folder: false, ..options };
        let instance = Instance {
            folder: folder.to_owned(),
            uid,
            indexes,
            changes: AtomicU64::default(),
            aliases,
            open: OpenIndexes::new(open_indexes_max()),
            rules: Rules::open(&store)?,
            events: Events::new(folder, &options),
            options,
            older,
            tasks_were_lost,
            keeps_names: true,
            pending: RwLock::default(),
            _lock: Some(lock),
        };
        Ok((instance, store))
    }

    /// Keeps at most `count` indexes open that nothing uses, at least 1, instead of as many as the system allows.
    #[must_use]
    pub fn keeping_open(self, count: usize) -> Instance {
        Instance { open: OpenIndexes::new(count), ..self }
    }

    /// The dynamic search rules.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The store of events and recorded searches.
    pub fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the number of changes of names so far.
    pub fn name_changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// Returns the keys by which events know the names of all indexes and aliases.
    pub fn name_keys(&self) -> HashSet<String> {
        let aliases = self.aliases();
        let uids = self.uids();
        uids.iter().chain(aliases.iter().map(|(name, _)| name)).map(|name| name_key(name)).collect()
    }

    /// Returns the maximum number of unused indexes that are kept open.
    pub fn kept_open_max(&self) -> usize {
        self.open.bound()
    }

    /// Returns the number of open indexes.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// The database in `folder`, locked by [`lock_to_look`], with the indexes `named` (names and folders), to look into:
    /// nothing is changed but what indexes do when they are opened.
    ///
    /// # Errors
    /// When another version wrote it.
    pub fn look_into(
        folder: &Path,
        lock: Option<File>,
        named: Vec<(String, FolderName)>,
        options: IndexOptions,
    ) -> Result<Instance, InstanceError> {
        check_version(folder, false)?;
        Ok(Instance {
            folder: folder.to_owned(),
            uid: Uuid::nil(),
            indexes: closed(named),
            changes: AtomicU64::default(),
            aliases: RwLock::default(),
            open: OpenIndexes::new(open_indexes_max()),
            rules: Rules::default(),
            events: Events::new(folder, &options),
            // Who looks gives nothing up.
            options: IndexOptions { locks_folder: false, keep: Duration::MAX, ..options },
            older: None,
            tasks_were_lost: false,
            keeps_names: false,
            pending: RwLock::default(),
            _lock: lock,
        })
    }

    /// Removes payloads that no task needs: remains of work that a crash cut short. Puts aside what may be something else.
    ///
    /// # Errors
    /// When the folder cannot be listed. What cannot be removed is logged and stays.
    pub fn remove_orphans(&self, needed_payloads: &[PayloadName]) -> Result<(), InstanceError> {
        payloads::clean_up(&self.folder, needed_payloads, self.tasks_were_lost)
    }

    /// The older version that wrote the folder: still to be brought up to this one.
    pub fn older_version(&self) -> Option<&Older> {
        self.older.as_ref()
    }

    /// Bars older versions from the folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn set_version(&self) -> Result<(), InstanceError> {
        version::THIS.set_version(&self.folder)
    }

    /// Random uid of this database.
    pub fn uid(&self) -> Uuid {
        self.uid
    }

    /// The database folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The indexes with the names of their folders, in byte order.
    pub fn folders(&self) -> Vec<(String, FolderName)> {
        self.indexes.read().iter().map(|(uid, entry)| (uid.clone(), entry.folder.clone())).collect()
    }

    /// Returns the folder of pending payloads.
    pub fn payload_folder(&self) -> PathBuf {
        self.folder.join("payloads")
    }

    /// The uids of all indexes, in byte order.
    pub fn uids(&self) -> Vec<String> {
        self.indexes.read().keys().cloned().collect()
    }

    /// Reports whether there is an index of this name.
    pub fn contains(&self, uid: &str) -> bool {
        self.indexes.read().contains_key(uid)
    }

    /// An index, opened if it is not: some milliseconds. It stays open for as long as it is held.
    ///
    /// # Errors
    /// `index_not_found`, or what is wrong with its files.
    pub fn index(&self, uid: &str) -> ApiResult<Arc<Index>> {
        let entry = self.entry(uid)?;
        let folder = self.index_folder(&entry.folder);
        let open = || {
            if folder.exists() {
                folder::check_plain(&folder, &[])
                    .map_err(|error| IndexError::Io(io::Error::other(error.to_string())))?;
            }
            let index = Index::open(&folder, self.options.clone())?;
            if self.keeps_names {
                keep_name(&index, uid);
            }
            Ok(index)
        };
        self.open.get(&entry, open).map_err(|error| unusable(uid, error))
    }

    /// Counts and sizes of an index, which is not opened for it.
    ///
    /// # Errors
    /// The errors of [`Instance::index`], and, where it is known, that damaged segments hold half of the documents or more.
    pub fn summary(&self, uid: &str) -> ApiResult<Arc<IndexSummary>> {
        let entry = self.entry(uid)?;
        let summary = entry.summary(&self.index_folder(&entry.folder)).map_err(|error| unusable(uid, error))?;
        summary.check_searchable().map_err(|error| damaged(uid, error))?;
        Ok(summary)
    }

    /// The background merges of an index; nothing while it is not open.
    ///
    /// # Errors
    /// `index_not_found`
    pub fn merge_status(&self, uid: &str) -> ApiResult<MergeStatus> {
        Ok(self.entry(uid)?.merge_status())
    }

    fn entry(&self, uid: &str) -> ApiResult<Arc<Entry>> {
        self.indexes.read().get(uid).cloned().ok_or_else(|| self.not_found(uid))
    }

    /// The current state of an index, for what needs all its documents.
    ///
    /// # Errors
    /// The errors of [`Instance::index`], and that a segment is damaged.
    pub fn snapshot(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        let snapshot = self.state(uid)?;
        snapshot.check_whole().and_then(|()| snapshot.check_health()).map_err(|error| damaged(uid, error))?;
        Ok(snapshot)
    }

    /// The current state of an index, for searches: they say themselves that they are degraded.
    ///
    /// # Errors
    /// The errors of [`Instance::index`], and that the damaged segments hold half of the documents or more.
    pub fn searchable(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        let snapshot = self.state(uid)?;
        snapshot.check_searchable().map_err(|error| damaged(uid, error))?;
        Ok(snapshot)
    }

    /// The current state of an index, without the documents that have expired, however damaged it is: for what needs none of its
    /// segments' sections: settings, dates, the last batch.
    ///
    /// # Errors
    /// The errors of [`Instance::index`].
    pub fn state(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        Ok(self.index(uid)?.view(SystemTime::now()))
    }

    /// Keeps segments aside that were found to be damaged while their indexes are open: the indexes answer from the others.
    pub fn set_damaged_aside(&self, uid: &str) {
        if let Some(index) = self.entry(uid).ok().and_then(|entry| entry.open_index()) {
            index.set_damaged_aside();
        }
    }

    /// The indexes that are open and have documents that have expired.
    pub fn with_expired(&self) -> Vec<String> {
        let entries: Vec<_> = self.indexes.read().iter().map(|(uid, entry)| (uid.clone(), Arc::clone(entry))).collect();
        let now = SystemTime::now();
        let has_expired = |entry: &Entry| entry.open_index().is_some_and(|index| index.expired_count(now) > 0);
        entries.into_iter().filter(|(_, entry)| has_expired(entry)).map(|(uid, _)| uid).collect()
    }

    /// The states of the indexes that are open, which are those in use.
    pub fn open_snapshots(&self) -> Vec<(String, Arc<Snapshot>)> {
        let entries: Vec<_> = self.indexes.read().iter().map(|(uid, entry)| (uid.clone(), Arc::clone(entry))).collect();
        entries.into_iter().filter_map(|(uid, entry)| Some((uid, entry.open_snapshot()?))).collect()
    }

    /// The indexes that are not open: name, folder and its path.
    pub fn closed_indexes(&self) -> Vec<(String, FolderName, PathBuf)> {
        let indexes = self.indexes.read();
        let closed = indexes.iter().filter(|(_, entry)| !entry.is_open());
        closed.map(|(uid, entry)| (uid.clone(), entry.folder.clone(), self.index_folder(&entry.folder))).collect()
    }

    /// Creates an index for `batch`, which is to be called `uid` but has no name yet: without one it is removed at the next
    /// start.
    ///
    /// # Errors
    /// `index_creation_failed`
    pub fn create_unnamed(&self, store: &Store, uid: &str, batch: u32) -> ApiResult<(FolderName, Arc<Index>)> {
        let folder = FolderName::random();
        store.intend_folder(&folder)?;
        let created = Index::create_named(&self.index_folder(&folder), uid, u64::from(batch), self.options.clone());
        let index = match created {
            Ok(index) => Arc::new(index),
            Err(error) => {
                self.remove_index_folder(&folder);
                let error = ApiError::from(error);
                let is_momentary = error.is_momentary();
                return Err(match error {
                    error if error.code == Code::Internal => ApiError::new(Code::IndexCreationFailed, error.message),
                    error => error,
                }
                .momentary(is_momentary));
            }
        };
        // The store will name the folder durably: it must be as durable itself.
        if let Err(error) = File::open(self.folder.join("indexes")).and_then(|indexes| indexes.sync_all()) {
            self.discard_unnamed(&folder, index);
            return Err(error.into());
        }
        Ok((folder, index))
    }

    /// Gives up an index that got no name.
    pub fn discard_unnamed(&self, folder: &FolderName, index: Arc<Index>) {
        drop(index);
        self.remove_index_folder(folder);
    }

    /// Follows a change of names. `created` are the new indexes, by folder. Returns the folder that becomes free: it
    /// is to be removed once the change is durable.
    pub fn follow(&self, change: &IndexChange, created: &[(FolderName, Arc<Index>)]) -> Option<FolderName> {
        let mut indexes = self.indexes.write();
        self.changes.fetch_add(1, Ordering::Release);
        self.change_aliases(change);
        match change {
            IndexChange::Created { uid, folder } => {
                let index = created.iter().find(|(of, _)| of == folder).map(|(_, index)| Arc::clone(index));
                let is_open = index.is_some();
                let entry = Entry::new(folder.clone(), index);
                indexes.insert(uid.clone(), Arc::clone(&entry));
                drop(indexes);
                if is_open {
                    self.open.enter(&entry);
                }
            }
            IndexChange::Deleted { uid } => {
                let entry = indexes.remove(uid)?;
                self.open.forget(&entry);
                return Some(entry.folder.clone());
            }
            IndexChange::Renamed { from, to } | IndexChange::SwappedIntoFree { from, to, .. } => {
                if let Some(entry) = indexes.remove(from) {
                    indexes.insert(to.clone(), entry);
                }
            }
            IndexChange::Swapped { one, other, .. } => {
                let (first, second) = (indexes.remove(one), indexes.remove(other));
                indexes.extend(first.map(|entry| (other.clone(), entry)));
                indexes.extend(second.map(|entry| (one.clone(), entry)));
            }
            IndexChange::Aliased { .. } => {}
        }
        None
    }

    /// Has indexes that got other names say them by themselves, once the change is durable.
    pub fn keep_names(&self, changes: &[IndexChange]) {
        let uids = changes.iter().flat_map(|change| match change {
            IndexChange::Renamed { to, .. } | IndexChange::SwappedIntoFree { to, .. } => vec![to],
            IndexChange::Swapped { one, other, .. } => vec![one, other],
            IndexChange::Created { .. } | IndexChange::Deleted { .. } | IndexChange::Aliased { .. } => Vec::new(),
        });
        for uid in uids.collect::<BTreeSet<_>>() {
            // One that cannot be opened is none that a name could be written to.
            if let Ok(index) = self.index(uid) {
                keep_name(&index, uid);
            }
        }
    }

    /// Bytes of all files of the database, each once. What is known of closed indexes is not measured again.
    pub fn disk_bytes(&self) -> u64 {
        let entries: Vec<Arc<Entry>> = self.indexes.read().values().cloned().collect();
        let by_folder: HashMap<&str, &Arc<Entry>> =
            entries.iter().map(|entry| (entry.folder.as_str(), entry)).collect();
        let of_index = |path: &Path| match path.file_name().and_then(|name| by_folder.get(name.to_str()?)) {
            Some(entry) => entry.folder_bytes(path),
            None => folder::disk_bytes(path),
        };
        let indexes = self.folder.join("indexes");
        let bytes = folder::disk_bytes_with(&self.folder, &|path| match path == indexes {
            true => folder::disk_bytes_with(path, &of_index),
            false => folder::disk_bytes(path),
        });
        bytes.total()
    }

    /// Returns the path of an index.
    pub fn index_folder(&self, folder: &FolderName) -> PathBuf {
        self.folder.join("indexes").join(folder)
    }

    /// Removes the folder of an index that has no name any more. Searches under way keep what they have open.
    pub fn remove_index_folder(&self, folder: &FolderName) {
        let path = self.index_folder(folder);
        if let Err(error) = fs::remove_dir_all(&path)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, path = %path.display(), "cannot remove the folder of a deleted index");
        }
    }
}

fn damaged(uid: &str, error: IndexError) -> ApiError {
    ApiError::from(error).prefixed(format_args!("Index `{uid}`: "))
}

fn closed(named: Vec<(String, FolderName)>) -> RwLock<BTreeMap<String, Arc<Entry>>> {
    RwLock::new(named.into_iter().map(|(uid, folder)| (uid, Entry::new(folder, None))).collect())
}

/// Has an index say its name by itself.
fn keep_name(index: &Index, uid: &str) {
    if let Err(error) = index.set_name(uid) {
        // SQLite has it as well; the next start tries again.
        tracing::warn!(index = uid, %error, "cannot write the name of an index into its manifest");
    }
}

fn unusable(uid: &str, error: IndexError) -> ApiError {
    ApiError::from(error).prefixed(format_args!("Index `{uid}` cannot be opened: "))
}
