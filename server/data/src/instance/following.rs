//! What a replica does with the indexes of its publisher.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use lamina_base::aliases::Aliases;
use lamina_base::error::{ApiError, Code};
use lamina_base::stored_names::FolderName;

use super::Instance;
use super::open_indexes::Entry;

/// A swap takes milliseconds, and a look at names does not.
const READ_AGAIN_MAX: usize = 16;

/// Indexes that a replica has not fetched yet, since it began with nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PendingIndexes {
    /// All that were published are here.
    #[default]
    Nothing,
    /// The replica has not seen yet which indexes there are.
    Unknown,
    /// Names of the indexes.
    Indexes(BTreeSet<String>),
}

impl Instance {
    /// Sets the indexes that are still to be fetched.
    pub fn expect(&self, pending: PendingIndexes) {
        *self.pending.write() = pending;
    }

    /// Number of indexes that are still to be fetched; `None` where that is not known yet.
    pub fn pending_count(&self) -> Option<usize> {
        match &*self.pending.read() {
            PendingIndexes::Nothing => Some(0),
            PendingIndexes::Unknown => None,
            PendingIndexes::Indexes(uids) => Some(uids.len()),
        }
    }

    /// Returns the error for an index that is not here.
    pub(super) fn not_found(&self, uid: &str) -> ApiError {
        let reason = match &*self.pending.read() {
            PendingIndexes::Indexes(uids) if uids.contains(uid) => {
                format!("Index `{uid}` is still being fetched by this replica.")
            }
            PendingIndexes::Unknown => format!("This replica does not know yet whether the index `{uid}` exists."),
            _ => return ApiError::index_not_found(uid),
        };
        ApiError::new(Code::IndexNotHereYet, format!("{reason} Retry in a moment, or use another server."))
    }

    /// Opened to follow a publisher: indexes are never written here.
    #[must_use]
    pub fn following(mut self) -> Instance {
        self.keeps_names = false;
        self.options.background_merges = false;
        self
    }

    /// Reports whether this instance follows a publisher.
    pub fn is_following(&self) -> bool {
        !self.keeps_names
    }

    /// No state of an index, and no segment, gets a number below this one from now on.
    pub fn give_numbers_from(&self, first: u64) {
        self.options.first_number.raise(first);
    }

    /// The generation of an index, if it is open or that is known otherwise; reads at most the names in its folder.
    pub fn generation(&self, uid: &str) -> Option<u64> {
        let entry = self.entry(uid).ok()?;
        entry
            .open_snapshot()
            .map(|snapshot| snapshot.generation)
            .or_else(|| lamina_engine::index::newest_generation(&self.index_folder(&entry.folder)))
    }

    /// The name of the index in `folder`.
    pub fn uid_of(&self, folder: &FolderName) -> Option<String> {
        self.indexes.read().iter().find(|(_, entry)| entry.folder == *folder).map(|(uid, _)| uid.clone())
    }

    /// Reads something of several indexes, again if names have changed meanwhile: during a swap, two names would lead to one index. Names that
    /// change without end are not waited for.
    pub fn at_one_moment<T>(&self, mut read: impl FnMut() -> T) -> T {
        for _ in 0..READ_AGAIN_MAX {
            let before = self.changes.load(Ordering::Acquire);
            let seen = read();
            if self.changes.load(Ordering::Acquire) == before {
                return seen;
            }
        }
        read()
    }

    /// The indexes with their folders, and the aliases of the same moment.
    pub fn folders_and_aliases(&self) -> (Vec<(String, FolderName)>, Arc<Aliases>) {
        let indexes = self.indexes.read();
        (indexes.iter().map(|(uid, entry)| (uid.clone(), entry.folder.clone())).collect(), self.aliases())
    }

    /// Makes these all the indexes there are, and these all aliases where they are given, at once. Indexes whose folder stays
    /// are as open as they were. Returns the folders that no index has any more.
    pub fn set_indexes(&self, names: Vec<(String, FolderName)>, aliases: Option<Aliases>) -> Vec<FolderName> {
        let mut indexes = self.indexes.write();
        self.changes.fetch_add(1, Ordering::Release);
        let mut by_folder: BTreeMap<FolderName, Arc<Entry>> =
            std::mem::take(&mut *indexes).into_values().map(|entry| (entry.folder.clone(), entry)).collect();
        indexes.extend(names.into_iter().map(|(uid, folder)| {
            let entry = by_folder.remove(&folder).unwrap_or_else(|| Entry::new(folder, None));
            (uid, entry)
        }));
        if let Some(aliases) = aliases {
            *self.aliases.write() = Arc::new(aliases);
        }
        drop(indexes);
        by_folder.values().for_each(|entry| self.open.forget(entry));
        by_folder.into_keys().collect()
    }
}
