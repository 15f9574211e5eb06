//! What the handle of an index and its merge thread work on, and how they publish the next snapshot.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arc_swap::{ArcSwap, ArcSwapOption};
use lamina_segment::segment::StoreDictionary;
use lamina_segment::storage::Directory;
use lamina_text::id::SegmentId;
use lamina_text::text::{Moment, Tokenizer};
use parking_lot::{Mutex, MutexGuard};

use super::bulk::BulkActivity;
use super::commit::persist;
use super::error::IndexError;
use super::expiry::View;
use super::history::next_number;
use super::kept::Kept;
use super::lock::IndexLock;
use super::merge_control::MergeControl;
use super::options::IndexOptions;
use super::progress::Progress;
use super::settings::Settings;
use super::snapshot::Snapshot;
use super::transaction::{Asks, Resources};

/// State that the handle and the merge thread share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) directory: Arc<dyn Directory>,
    pub(super) options: IndexOptions,
    pub(super) current: ArcSwap<Snapshot>,
    /// Current view, for an index whose documents expire.
    pub(super) view: ArcSwapOption<View>,
    pub(super) kept: Kept,
    pub(super) next_segment_id: AtomicU64,
    /// Held by the thread that makes the next snapshot, from reading the current one to publishing.
    pub(super) writer: Mutex<()>,
    pub(super) merges: MergeControl,
    pub(super) bulk: BulkActivity,
    /// The tokenizer of the last batch and the settings it was made for.
    pub(super) tokenizer: Mutex<Option<(Arc<Settings>, Tokenizer)>>,
    pub(super) _lock: Option<IndexLock>,
}

/// The right to publish the next snapshot.
#[derive(Debug)]
pub(super) struct WriterGuard<'a> {
    shared: &'a Shared,
    _guard: MutexGuard<'a, ()>,
}

impl Shared {
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.current.load_full()
    }

    /// The current state without the documents that have expired at `now`.
    pub(super) fn view(&self, now: Moment) -> Arc<Snapshot> {
        let base = self.snapshot();
        let Some(attribute) = base.settings.expiry_attribute.clone() else { return base };
        let known = self.view.load_full();
        if let Some(view) = known.as_ref().filter(|view| view.holds(&base, now)) {
            return Arc::clone(&view.snapshot);
        }
        let view = View::new(base, &attribute, now, known.as_deref());
        let snapshot = Arc::clone(&view.snapshot);
        self.view.store(Some(Arc::new(view)));
        snapshot
    }

    pub(super) fn tokenizer_for(&self, settings: &Arc<Settings>) -> Tokenizer {
        match &*self.tokenizer.lock() {
            Some((made_for, tokenizer)) if Arc::ptr_eq(made_for, settings) => tokenizer.clone(),
            _ => settings.tokenizer(),
        }
    }

    pub(super) fn resources<'a>(
        &'a self,
        store_dictionary: &'a StoreDictionary,
        progress: &'a Progress,
        cancelled: &'a AtomicBool,
        asks: Asks,
    ) -> Resources<'a> {
        let first_number = self.options.first_number.get();
        self.next_segment_id.fetch_max(first_number, Ordering::Relaxed);
        Resources {
            directory: &self.directory,
            runtime: &self.options.runtime,
            store_dictionary,
            next_segment_id: &self.next_segment_id,
            first_number,
            thread_count: self.options.indexing_threads,
            memory_bytes: self.options.indexing_memory_bytes,
            list_thresholds: self.options.list_thresholds,
            embedders: &*self.options.embedders,
            asks,
            progress,
            cancelled,
        }
    }

    /// An id that no segment of the index has, or had.
    pub(super) fn new_segment_id(&self) -> SegmentId {
        self.next_segment_id.fetch_max(self.options.first_number.get(), Ordering::Relaxed);
        SegmentId(self.next_segment_id.fetch_add(1, Ordering::Relaxed))
    }

    /// The number of the state behind `before`.
    pub(super) fn next_generation(&self, before: &Snapshot) -> u64 {
        next_number(before.generation, self.options.first_number.get())
    }

    /// Waits for the writer before.
    pub(super) fn lock_writer(&self) -> WriterGuard<'_> {
        WriterGuard { shared: self, _guard: self.writer.lock() }
    }
}

impl WriterGuard<'_> {
    /// Commits: durable first, then visible.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub(super) fn publish(&self, new: Snapshot) -> Result<(), IndexError> {
        let shared = self.shared;
        let old = shared.snapshot();
        debug_assert!(new.generation > old.generation, "snapshots follow each other");
        let next_segment_id = shared.next_segment_id.load(Ordering::Relaxed);
        let new = Snapshot { next_segment_id, ancestors: old.history().ancestors_of(new.generation), ..new };
        persist(&shared.directory, &new, shared.options.inline_tombstones_max)?;
        self.replace(new);
        Ok(())
    }

    /// Makes a state visible that is durable already.
    pub(super) fn replace(&self, new: Snapshot) {
        let (old, new) = (self.shared.snapshot(), Arc::new(new));
        self.shared.current.store(Arc::clone(&new));
        self.shared.kept.retire(&self.shared.directory, self.shared.options.keep, &old, &new);
    }
}
