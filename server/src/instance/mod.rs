//! The database folder: its lock, its version, its uid, and the indexes by name.
//!
//! ```text
//! <db-path>/
//!   VERSION          version of the program that wrote it
//!   instance-uid     random, made once
//!   lock             held while a server uses the folder
//!   tasks.sqlite     tasks, batches, names of the indexes
//!   payloads/        documents of waiting tasks
//!   indexes/<uuid>/  one folder per index, whatever its name
//! ```

mod folder;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_engine::index::{Index, IndexError, IndexOptions, Snapshot};
use parking_lot::{Mutex, RwLock};
use uuid::Uuid;

pub use folder::InstanceError;
pub(crate) use folder::{VERSION, check_version, set_instance_uid};

use crate::error::{ApiError, ApiResult, Code};
use crate::tasks::{IndexChange, Store};

/// The open database folder.
#[derive(Debug)]
pub struct Instance {
    folder: PathBuf,
    uid: Uuid,
    indexes: RwLock<BTreeMap<String, Arc<Entry>>>,
    options: IndexOptions,
    /// The older version that wrote the folder.
    older: Option<String>,
    // Held, never read: the lock ends with it.
    _lock: File,
}

#[derive(Debug)]
struct Entry {
    folder: String,
    /// `None` until first used.
    index: Mutex<Option<Arc<Index>>>,
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
        let entries = store.indexes()?.into_iter().map(|(uid, folder)| (uid, Arc::new(Entry::closed(folder))));
        let indexes = RwLock::new(entries.collect());
        Ok((Instance { folder: folder.to_owned(), uid, indexes, options, older, _lock: lock }, store))
    }

    /// Removes what no task or name needs: remains of work that a crash cut short.
    ///
    /// # Errors
    /// When the folder cannot be listed. What cannot be removed is logged and stays.
    pub fn remove_orphans(&self, needed_payloads: &[String]) -> Result<(), InstanceError> {
        let folders: Vec<String> = self.indexes.read().values().map(|entry| entry.folder.clone()).collect();
        folder::remove_all_but(&self.folder.join("indexes"), &folders)?;
        folder::remove_all_but(&self.payload_folder(), needed_payloads)
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
        folder::set_version(&self.folder)
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
    pub(crate) fn folders(&self) -> Vec<(String, String)> {
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

    /// An index. Opening one for the first time takes some milliseconds.
    ///
    /// # Errors
    /// `index_not_found`, or what is wrong with its files.
    pub fn index(&self, uid: &str) -> ApiResult<Arc<Index>> {
        let entry = self.indexes.read().get(uid).cloned().ok_or_else(|| ApiError::index_not_found(uid))?;
        let mut index = entry.index.lock();
        if let Some(index) = &*index {
            return Ok(Arc::clone(index));
        }
        let opened = Index::open(&self.index_folder(&entry.folder), self.options.clone());
        let opened = Arc::new(opened.map_err(|error| unusable(uid, error))?);
        *index = Some(Arc::clone(&opened));
        Ok(opened)
    }

    /// The current state of an index.
    ///
    /// # Errors
    /// As [`Instance::index`].
    pub fn snapshot(&self, uid: &str) -> ApiResult<Arc<Snapshot>> {
        Ok(self.index(uid)?.snapshot())
    }

    /// Creates an index that has no name yet; without one it is removed at the next start.
    ///
    /// # Errors
    /// `index_creation_failed`
    pub(crate) fn create_unnamed(&self) -> ApiResult<(String, Arc<Index>)> {
        let folder = Uuid::new_v4().to_string();
        let index = Index::create(&self.index_folder(&folder), self.options.clone()).map_err(|error| {
            match ApiError::from(error) {
                error if error.code == Code::Internal => ApiError::new(Code::IndexCreationFailed, error.message),
                error => error,
            }
        })?;
        // The store will name the folder durably: it must be as durable itself.
        File::open(self.folder.join("indexes"))?.sync_all()?;
        Ok((folder, Arc::new(index)))
    }

    /// Gives up an index that got no name.
    pub(crate) fn discard_unnamed(&self, folder: &str, index: Arc<Index>) {
        drop(index);
        self.remove_index_folder(folder);
    }

    /// Follows a change of names. `created` are the new indexes, by folder. Returns the folder that becomes free: it
    /// is to be removed once the change is durable.
    pub(crate) fn follow(&self, change: &IndexChange, created: &[(String, Arc<Index>)]) -> Option<String> {
        let mut indexes = self.indexes.write();
        match change {
            IndexChange::Created { uid, folder } => {
                let entry = Entry::closed(folder.clone());
                *entry.index.lock() = created.iter().find(|(of, _)| of == folder).map(|(_, index)| Arc::clone(index));
                indexes.insert(uid.clone(), Arc::new(entry));
            }
            IndexChange::Deleted { uid } => {
                let entry = indexes.remove(uid)?;
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

    /// Bytes of all files of the database.
    pub fn disk_bytes(&self) -> u64 {
        folder::disk_bytes(&self.folder)
    }

    fn index_folder(&self, folder: &str) -> PathBuf {
        self.folder.join("indexes").join(folder)
    }

    /// Removes the folder of an index that has no name any more. Searches under way keep what they have open.
    pub(crate) fn remove_index_folder(&self, folder: &str) {
        let path = self.index_folder(folder);
        if let Err(error) = fs::remove_dir_all(&path) {
            tracing::warn!(%error, path = %path.display(), "cannot remove the folder of a deleted index");
        }
    }
}

impl Entry {
    fn closed(folder: String) -> Entry {
        Entry { folder, index: Mutex::default() }
    }
}

fn unusable(uid: &str, error: IndexError) -> ApiError {
    ApiError::from(error).prefixed(format_args!("Index `{uid}` cannot be opened: "))
}
