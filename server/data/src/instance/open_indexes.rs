//! The indexes that are open: a bounded number of them, the least recently used one goes first.
//!
//! An open index holds memory maps and some heap, no file descriptor. The bound is one for what lies idle: an index that a
//! request, a batch, a merge or a point in time uses is never closed, and none waits for a place.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use lamina_base::stored_names::FolderName;
use lamina_engine::index::{Index, IndexError, IndexSummary, MergeStatus, Snapshot};
use parking_lot::Mutex;

use super::folder::{self, DiskBytes};

/// Beyond the bound one part in this many is closed at once, so that most openings look for nothing.
const CLOSED_AT_ONCE_DIVISOR: usize = 16;

/// An index by its folder, open or not.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) folder: FolderName,
    state: Mutex<OpenState>,
    /// Instant of the last use, by the clock of [`OpenIndexes`].
    last_used: AtomicU64,
}

#[derive(Debug, Default)]
struct OpenState {
    /// `None` until first used, and when closed.
    index: Option<Arc<Index>>,
    /// Summary of the index; stale once the index is written.
    summary: Option<Arc<IndexSummary>>,
    /// Bytes of its folder. Known only while it is closed: nothing is written then.
    folder_bytes: Option<DiskBytes>,
    /// Merges that were finished before it was closed last.
    merge_count: u64,
}

impl Entry {
    pub(super) fn new(folder: FolderName, index: Option<Arc<Index>>) -> Arc<Entry> {
        let state = Mutex::new(OpenState { index, ..OpenState::default() });
        Arc::new(Entry { folder, state, last_used: AtomicU64::new(0) })
    }

    /// The index if it is open.
    pub(super) fn open_index(&self) -> Option<Arc<Index>> {
        self.state.try_lock()?.index.clone()
    }

    /// The state of the index if it is open, which leaves it as idle as it is.
    pub(super) fn open_snapshot(&self) -> Option<Arc<Snapshot>> {
        // One that is being opened is for the next time.
        let state = self.state.try_lock()?;
        state.index.as_ref().map(|index| index.snapshot())
    }

    /// Reports whether the index is open, or is being opened.
    pub(super) fn is_open(&self) -> bool {
        self.state.try_lock().is_none_or(|state| state.index.is_some())
    }

    /// The summary, kept until the index is written. `path`: that of the folder.
    pub(super) fn summary(&self, path: &Path) -> Result<Arc<IndexSummary>, IndexError> {
        let mut state = self.state.lock();
        let open = state.index.as_ref().map(|index| index.view(SystemTime::now()));
        let summary = match (&state.summary, open) {
            (Some(kept), None) => return Ok(Arc::clone(kept)),
            (Some(kept), Some(snapshot)) if is_of(kept, &snapshot) => return Ok(Arc::clone(kept)),
            (_, Some(snapshot)) => {
                // Counting vectors takes a while: searches of the index do not wait for it.
                drop(state);
                let summary = Arc::new(IndexSummary::of(&snapshot));
                state = self.state.lock();
                summary
            }
            (None, None) => Arc::new(IndexSummary::read(path)?),
        };
        let is_current = state.index.as_ref().is_none_or(|index| index.snapshot().generation == summary.generation);
        if is_current {
            state.summary = Some(Arc::clone(&summary));
        }
        Ok(summary)
    }

    /// Bytes of the folder at `path`.
    pub(super) fn folder_bytes(&self, path: &Path) -> DiskBytes {
        let mut state = self.state.lock();
        if state.index.is_some() {
            drop(state);
            return folder::disk_bytes(path);
        }
        state.folder_bytes.get_or_insert_with(|| folder::disk_bytes(path)).clone()
    }

    /// Returns the state of its background merges, and the number of merges finished since the server started.
    pub(super) fn merge_status(&self) -> MergeStatus {
        let state = self.state.lock();
        let status = state.index.as_ref().map(|index| index.merge_status()).unwrap_or_default();
        MergeStatus { merge_count: status.merge_count + state.merge_count, ..status }
    }

    /// Closes the index if nothing uses it. Whether it is closed now.
    fn close(&self) -> bool {
        // A thread that has the lock is about to use it.
        let Some(mut state) = self.state.try_lock() else { return false };
        let Some(index) = &state.index else { return true };
        // Handles are given out under the lock only, so none can be added meanwhile.
        if Arc::strong_count(index) > 1 || !index.is_idle() {
            return false;
        }
        let snapshot = index.view(SystemTime::now());
        if snapshot.is_degraded() || snapshot.check_health().is_err() {
            // The next opening would not know of damage that only a comparison finds.
            return false;
        }
        let is_current = state.summary.as_ref().is_some_and(|summary| summary.generation == snapshot.generation);
        if !is_current {
            // Counting vectors waits until a list asks for them.
            let has_vectors = !snapshot.settings.embedders.is_empty();
            state.summary = (!has_vectors).then(|| Arc::new(IndexSummary::of(&snapshot)));
        }
        drop(snapshot);
        let merge_count = state.index.take().map_or(0, |index| index.merge_status().merge_count);
        state.merge_count += merge_count;
        state.folder_bytes = None;
        true
    }
}

/// Damage may be found between two commits, and documents may expire.
fn is_of(summary: &IndexSummary, snapshot: &Snapshot) -> bool {
    summary.generation == snapshot.generation
        && summary.document_count == snapshot.document_count()
        && summary.damaged.len() == snapshot.damaged().len()
}

/// The open ones, by folder.
#[derive(Debug)]
pub(super) struct OpenIndexes {
    bound: usize,
    clock: AtomicU64,
    entries: Mutex<HashMap<FolderName, Arc<Entry>>>,
}

impl OpenIndexes {
    /// At most `bound` that nothing uses, at least 1.
    pub(super) fn new(bound: usize) -> OpenIndexes {
        OpenIndexes { bound: bound.max(1), clock: AtomicU64::new(0), entries: Mutex::default() }
    }

    pub(super) fn bound(&self) -> usize {
        self.bound
    }

    pub(super) fn len(&self) -> usize {
        self.entries.lock().len()
    }

    /// The index of `entry`, opened by `open` unless it is.
    pub(super) fn get(
        &self,
        entry: &Arc<Entry>,
        open: impl Fn() -> Result<Index, IndexError>,
    ) -> Result<Arc<Index>, IndexError> {
        let mut state = entry.state.lock();
        if let Some(index) = &state.index {
            self.touch(entry);
            return Ok(Arc::clone(index));
        }
        let opened = match open() {
            // Maps or memory are short: what lies idle gives some back.
            Err(error) if error.is_momentary() && self.close_idle(usize::MAX) > 0 => open(),
            other => other,
        };
        let index = Arc::new(opened?);
        state.index = Some(Arc::clone(&index));
        drop(state);
        self.enter(entry);
        Ok(index)
    }

    /// Forgets an index that is deleted.
    pub(super) fn forget(&self, entry: &Entry) {
        self.entries.lock().remove(&entry.folder);
    }

    fn touch(&self, entry: &Entry) {
        entry.last_used.store(self.clock.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Counts an index that was just opened, and closes others if those are too many now.
    pub(super) fn enter(&self, entry: &Arc<Entry>) {
        self.touch(entry);
        let count = {
            let mut entries = self.entries.lock();
            entries.insert(entry.folder.clone(), Arc::clone(entry));
            entries.len()
        };
        if count > self.bound {
            self.close_idle(count - self.bound + self.bound / CLOSED_AT_ONCE_DIVISOR);
        }
    }

    /// Closes up to `wanted` of those that nothing uses, the least recently used first. How many were.
    fn close_idle(&self, wanted: usize) -> usize {
        let mut entries: Vec<Arc<Entry>> = self.entries.lock().values().cloned().collect();
        entries.sort_by_cached_key(|entry| entry.last_used.load(Ordering::Relaxed));
        let mut closed = 0;
        for entry in entries {
            if closed == wanted {
                break;
            }
            // Removed before it is closed: opening it right after enters it again.
            let removed = self.entries.lock().remove(&entry.folder);
            if removed.is_none() {
                continue;
            }
            if entry.close() {
                closed += 1;
            } else {
                self.entries.lock().entry(entry.folder.clone()).or_insert(entry);
            }
        }
        closed
    }
}

#[cfg(test)]
mod tests {
    use lamina_engine::index::IndexOptions;

    use super::*;

    struct Indexes {
        folder: tempfile::TempDir,
        open: OpenIndexes,
        entries: Vec<Arc<Entry>>,
    }

    impl Indexes {
        fn new(count: usize, bound: usize) -> Indexes {
            let folder = tempfile::tempdir().unwrap();
            let entries: Vec<Arc<Entry>> = (0..count).map(|_| Entry::new(FolderName::random(), None)).collect();
            for entry in &entries {
                Index::create(&folder.path().join(&entry.folder), IndexOptions::default()).unwrap();
            }
            Indexes { folder, open: OpenIndexes::new(bound), entries }
        }

        fn get(&self, number: usize) -> Arc<Index> {
            let entry = &self.entries[number];
            let path = self.folder.path().join(&entry.folder);
            self.open.get(entry, || Index::open(&path, IndexOptions::default())).unwrap()
        }

        fn is_open(&self, number: usize) -> bool {
            self.entries[number].state.lock().index.is_some()
        }
    }

    #[test]
    fn the_least_recently_used_one_that_nothing_uses_is_closed() {
        let indexes = Indexes::new(4, 2);
        let held = indexes.get(0);
        indexes.get(1);
        indexes.get(2);
        assert!(indexes.is_open(0), "in use, although its use began first");
        assert!(!indexes.is_open(1));
        assert!(indexes.is_open(2));
        drop(held);
        indexes.get(3);
        assert!(!indexes.is_open(0));
        assert!(indexes.is_open(2));
        assert!(indexes.is_open(3));
        assert_eq!(indexes.open.len(), 2);
    }

    #[test]
    fn what_is_held_stays_open_beyond_the_bound() {
        let indexes = Indexes::new(4, 1);
        let snapshots: Vec<_> = (0..4).map(|number| indexes.get(number).snapshot()).collect();
        assert!((0..4).all(|number| indexes.is_open(number)), "a snapshot is a use");
        drop(snapshots);
        indexes.get(0);
        assert!((0..4).all(|number| indexes.is_open(number)), "only an opening closes others");
        assert_eq!(indexes.open.close_idle(usize::MAX), 4);
        assert_eq!(indexes.open.len(), 0);
    }

    #[test]
    fn what_is_known_of_a_closed_index_stays_known() {
        let indexes = Indexes::new(1, 1);
        let path = indexes.folder.path().join(&indexes.entries[0].folder);
        let entry = &indexes.entries[0];
        let read = entry.summary(&path).unwrap();
        assert!(!indexes.is_open(0), "a summary opens nothing");
        let index = indexes.get(0);
        assert!(Arc::ptr_eq(&entry.summary(&path).unwrap(), &read), "nothing was written");
        let now = std::time::SystemTime::now();
        index.set_dates(now, now).unwrap();
        let written = entry.summary(&path).unwrap();
        assert_eq!(written.generation, read.generation + 1);
        drop(index);
        assert_eq!(indexes.open.close_idle(1), 1);
        assert!(Arc::ptr_eq(&entry.summary(&path).unwrap(), &written));
        assert!(entry.folder_bytes(&path).total() > 0);
    }
}
