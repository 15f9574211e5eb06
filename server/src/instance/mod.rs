//! The database folder: its lock, its version, its uid, and the indexes by name.
//!
//! ```text
//! <db-path>/
//!   VERSION          version of the program that wrote it, and the format of its files
//!   instance-uid     random, made once
//!   lock             held while a server uses the folder
//!   tasks.sqlite     tasks, batches, names of the indexes
//!   payloads/        documents of waiting tasks
//!   indexes/<uuid>/  one folder per index, whatever its name
//! ```

mod folder;
mod open_indexes;
mod version;

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_engine::index::{Index, IndexError, IndexOptions, IndexSummary, MergeStatus, Snapshot};
use parking_lot::RwLock;
use uuid::Uuid;

pub use folder::InstanceError;
pub(crate) use folder::{holds_database, set_instance_uid};
use open_indexes::{Entry, OpenIndexes};
pub(crate) use version::{VERSION, check_version};

use crate::error::{ApiError, ApiResult, Code};
use crate::process_limits::open_indexes_max;
use crate::stored_names::{FolderName, PayloadName};
use crate::tasks::{IndexChange, Store};

/// The open database folder.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    uid: Uuid,
    indexes: RwLock<BTreeMap<String, Arc<Entry>>>,
    open: OpenIndexes,
    options: IndexOptions,
    /// The older version that wrote the folder.
    older: Option<String>,
    // Held, never read: the lock ends with it.
    _lock: File,
}

impl Instance {
    /// Opens or creates the database in `folder`, without its indexes: each is opened when first used. One of an older
    /// version is opened if it `may_upgrade`, see [`Instance::older_version`].
    ///
    /// # Errors
    /// When another process uses it, another version wrote it, or it cannot be read.
    pub fn open(folder: &Path, options: IndexOptions, may_upgrade: bool) -> Result<(Instance, Store), InstanceError> {
        let (lock, older) = folder::prepare(folder, may_upgrade)?;
        let uid = folder::instance_uid(folder)?;
        let store = Store::open(&folder.join("tasks.sqlite"))?;
        let entries = store.indexes()?.into_iter().map(|(uid, folder)| (uid, Entry::new(folder, None)));
        let indexes = RwLock::new(entries.collect());
        // The lock of the database is enough: a lock for each index would hold a descriptor for each.
        let options = IndexOptions { locks_folder: false, ..options };
        let open = OpenIndexes::new(open_indexes_max());
        Ok((Instance { folder: folder.to_owned(), uid, indexes, open, options, older, _lock: lock }, store))
    }

    /// Keeps at most `count` indexes open that nothing uses, at least 1, instead of as many as the system allows.
    #[must_use]
    pub fn keeping_open(self, count: usize) -> Instance {
        Instance { open: OpenIndexes::new(count), ..self }
    }

    /// How many indexes are kept open when nothing uses them.
    pub fn kept_open_max(&self) -> usize {
        self.open.bound()
    }

    /// How many indexes are open.
    pub fn open_count(&self) -> usize {
        self.open.len()
    }

    /// Removes what no task or name needs: remains of work that a crash cut short.
    ///
    /// # Errors
    /// When the folder cannot be listed. What cannot be removed is logged and stays.
    pub fn remove_orphans(&self, needed_payloads: &[PayloadName]) -> Result<(), InstanceError> {
        let folders: Vec<FolderName> = self.indexes.read().values().map(|entry| entry.folder.clone()).collect();
        folder::remove_all_but(&self.folder.join("indexes"), folders.iter().map(FolderName::as_str))?;
        folder::remove_all_but(&self.payload_folder(), needed_payloads.iter().map(PayloadName::as_str))
    }

    /// The older version that wrote the folder: still to be brought up to this one.
    pub fn older_version(&self) -> Option<&str> {
        self.older.as_deref()
    }

    /// Bars older versions from the folder.
    ///
    /// # Errors
    /// What the file system says.
    pub fn set_version(&self) -> Result<(), InstanceError> {
        version::set_version(&self.folder)
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
    pub(crate) fn folders(&self) -> Vec<(String, FolderName)> {
        self.indexes.read().iter().map(|(uid, entry)| (uid.clone(), entry.folder.clone())).collect()
    }

    /// Where payloads wait.
    pub fn payload_folder(&self) -> PathBuf {
        self.folder.join("payloads")
    }

    /// The uids of all indexes, in byte order.
    pub fn uids(&self) -> Vec<String> {
        self.indexes.read().keys().cloned().collect()
    }

    /// Whether there is an index of this name.
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
            Index::open(&folder, self.options.clone())
        };
        self.open.get(&entry, open).map_err(|error| unusable(uid, error))
    }

    /// Counts and sizes of an index, which is not opened for it.
    ///
    /// # Errors
    /// As [`Instance::index`], and, where it is known, that damaged segments hold half of the documents or more.
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
        self.indexes.read().get(uid).cloned().ok_or_else(|| ApiError::index_not_found(uid))
    }

    /// The current state of an index, for what needs all its documents.
    ///
    /// # Errors
    /// As [`Instance::index`], and that a segment is damaged.
    pub fn snapshot(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        let snapshot = self.state(uid)?;
        snapshot.check_whole().and_then(|()| snapshot.check_health()).map_err(|error| damaged(uid, error))?;
        Ok(snapshot)
    }

    /// The current state of an index, for searches: they say themselves that they are degraded.
    ///
    /// # Errors
    /// As [`Instance::index`], and that the damaged segments hold half of the documents or more.
    pub fn searchable(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        let snapshot = self.state(uid)?;
        snapshot.check_searchable().map_err(|error| damaged(uid, error))?;
        Ok(snapshot)
    }

    /// The current state of an index, however damaged it is: for what needs none of its segments' sections: settings,
    /// dates, the last batch.
    ///
    /// # Errors
    /// As [`Instance::index`].
    pub fn state(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        Ok(self.index(uid)?.snapshot())
    }

    /// Keeps segments aside that were found to be damaged while their indexes are open: the indexes answer from the others.
    pub(crate) fn set_damaged_aside(&self, uid: &str) {
        if let Some(index) = self.entry(uid).ok().and_then(|entry| entry.open_index()) {
            index.set_damaged_aside();
        }
    }

    /// The states of the indexes that are open, which are those in use.
    pub(crate) fn open_snapshots(&self) -> Vec<(String, Arc<Snapshot>)> {
        let entries: Vec<_> = self.indexes.read().iter().map(|(uid, entry)| (uid.clone(), Arc::clone(entry))).collect();
        entries.into_iter().filter_map(|(uid, entry)| Some((uid, entry.open_snapshot()?))).collect()
    }

    /// Creates an index that has no name yet; without one it is removed at the next start.
    ///
    /// # Errors
    /// `index_creation_failed`
    pub(crate) fn create_unnamed(&self) -> ApiResult<(FolderName, Arc<Index>)> {
        let folder = FolderName::random();
        let index = match Index::create(&self.index_folder(&folder), self.options.clone()) {
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
    pub(crate) fn discard_unnamed(&self, folder: &FolderName, index: Arc<Index>) {
        drop(index);
        self.remove_index_folder(folder);
    }

    /// Follows a change of names. `created` are the new indexes, by folder. Returns the folder that becomes free: it
    /// is to be removed once the change is durable.
    pub(crate) fn follow(&self, change: &IndexChange, created: &[(FolderName, Arc<Index>)]) -> Option<FolderName> {
        let mut indexes = self.indexes.write();
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
        }
        None
    }

    /// Bytes of all files of the database. What is known of closed indexes is not measured again.
    pub fn disk_bytes(&self) -> u64 {
        let entries: Vec<Arc<Entry>> = self.indexes.read().values().cloned().collect();
        let by_folder: HashMap<&str, &Arc<Entry>> =
            entries.iter().map(|entry| (entry.folder.as_str(), entry)).collect();
        let of_index = |path: &Path| match path.file_name().and_then(|name| by_folder.get(name.to_str()?)) {
            Some(entry) => entry.folder_bytes(path),
            None => folder::disk_bytes(path),
        };
        let indexes = self.folder.join("indexes");
        folder::disk_bytes_with(&self.folder, &|path| match path == indexes {
            true => folder::disk_bytes_with(path, &of_index),
            false => folder::disk_bytes(path),
        })
    }

    /// Where an index is.
    pub(crate) fn index_folder(&self, folder: &FolderName) -> PathBuf {
        self.folder.join("indexes").join(folder)
    }

    /// Removes the folder of an index that has no name any more. Searches under way keep what they have open.
    pub(crate) fn remove_index_folder(&self, folder: &FolderName) {
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

fn unusable(uid: &str, error: IndexError) -> ApiError {
    ApiError::from(error).prefixed(format_args!("Index `{uid}` cannot be opened: "))
}
