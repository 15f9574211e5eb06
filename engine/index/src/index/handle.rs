//! The handle of an open index.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use arc_swap::{ArcSwap, ArcSwapOption};
use lamina_segment::segment::{MergeWatch, SegmentReader, StoreDictionary};
use lamina_segment::storage::{Directory, MappedDirectory};
use parking_lot::Mutex;

use super::bulk::BulkActivity;
use super::commit::persist;
use super::damaged::Damage;
use super::error::{IndexError, OperationError};
use super::expiry::moment;
use super::history::start_from;
use super::kept::{Kept, Recovered, recover};
use super::lock::IndexLock;
use super::manifest::manifest_name;
use super::merge_control::MergeControl;
use super::merge_thread::Merging;
use super::operation::{CommitNote, Operation, Outcome};
use super::options::IndexOptions;
use super::progress::{Phase, Progress};
use super::recovery::holds_index;
use super::settings::Settings;
use super::shared::Shared;
use super::snapshot::{SegmentView, Snapshot, now_nanos};
use super::status::{IndexReport, MergeStatus, SegmentReport};
use super::transaction::{Asks, Transaction};
use super::verify::verify_directory;

/// An open index. Shared by reference: every method takes `&self`. Dropping it waits for a running merge to give up.
#[derive(Debug)]
pub struct Index {
    shared: Arc<Shared>,
}

/// Initial data of a new index.
#[derive(Debug, Default)]
struct Origin {
    name: Option<Arc<str>>,
    batch: Option<u64>,
    /// The number of the first state.
    start: u64,
}

impl Index {
    /// Creates an empty index in `folder`, which is created when it does not exist.
    ///
    /// # Errors
    /// [`IndexError::AlreadyExists`] when there is one, [`IndexError::Locked`] when another process uses the folder.
    pub fn create(folder: &Path, options: IndexOptions) -> Result<Index, IndexError> {
        let directory = Arc::new(MappedDirectory::open(folder)?);
        let lock = options.locks_folder.then(|| IndexLock::acquire(folder)).transpose()?;
        let start = start_from(options.first_number.get());
        Index::create_with(directory, options, lock, Origin { start, ..Origin::default() })
    }

    /// Works like [`Index::create`], and also sets the name (see [`Index::set_name`]) and the batch that creates the
    /// index. [`Snapshot::last_outcome`] returns this batch with an empty outcome until another batch is applied.
    ///
    /// # Errors
    /// The errors of [`Index::create`].
    pub fn create_named(folder: &Path, name: &str, batch: u64, options: IndexOptions) -> Result<Index, IndexError> {
        let directory = Arc::new(MappedDirectory::open(folder)?);
        let lock = options.locks_folder.then(|| IndexLock::acquire(folder)).transpose()?;
        let start = start_from(options.first_number.get());
        Index::create_with(directory, options, lock, Origin { name: Some(Arc::from(name)), batch: Some(batch), start })
    }

    /// Opens the index in `folder`: milliseconds, whatever its size.
    ///
    /// # Errors
    /// [`IndexError::NotFound`], [`IndexError::Locked`], or what is wrong with its files. A segment that is damaged is
    /// no error: it is kept aside, see [`Snapshot::damaged`].
    pub fn open(folder: &Path, options: IndexOptions) -> Result<Index, IndexError> {
        if !folder.is_dir() {
            // Opening the directory would create it.
            return Err(IndexError::NotFound);
        }
        let directory = Arc::new(MappedDirectory::open(folder)?);
        let lock = options.locks_folder.then(|| IndexLock::acquire(folder)).transpose()?;
        Index::open_with(directory, options, lock)
    }

    /// Creates an index as [`Index::create`] does, without a lock, and with the first number of the writer for its first state: for tests and
    /// other kinds of storage.
    ///
    /// # Errors
    /// The errors of [`Index::create`].
    pub fn create_in(directory: Arc<dyn Directory>, options: IndexOptions) -> Result<Index, IndexError> {
        let start = options.first_number.get();
        Index::create_with(directory, options, None, Origin { start, ..Origin::default() })
    }

    /// Works like [`Index::open`], without a lock.
    ///
    /// # Errors
    /// The errors of [`Index::open`].
    pub fn open_in(directory: Arc<dyn Directory>, options: IndexOptions) -> Result<Index, IndexError> {
        Index::open_with(directory, options, None)
    }

    fn create_with(
        directory: Arc<dyn Directory>,
        options: IndexOptions,
        lock: Option<IndexLock>,
        origin: Origin,
    ) -> Result<Index, IndexError> {
        if holds_index(&*directory)? {
            return Err(IndexError::AlreadyExists);
        }
        let now = now_nanos();
        let snapshot = Snapshot {
            segments: Vec::new(),
            damaged: Arc::new([]),
            settings: Arc::new(Settings::default()),
            resolved: Arc::default(),
            fields: Arc::default(),
            primary_key: None,
            mark: None,
            generation: origin.start,
            contents: origin.start,
            committed_at_nanos: now,
            name: origin.name,
            field_distribution: Arc::default(),
            created_at_nanos: now,
            updated_at_nanos: now,
            next_internal_id: 0,
            next_segment_id: 0,
            ancestors: Arc::default(),
            last_batch: origin.batch,
            last_outcome: Arc::new([]),
        };
        persist(&directory, &snapshot, options.inline_tombstones_max)?;
        let recovered = Recovered { snapshot, kept: Kept::default(), next_segment_id: 0 };
        Ok(Index::with(directory, options, recovered, lock))
    }

    fn open_with(
        directory: Arc<dyn Directory>,
        options: IndexOptions,
        lock: Option<IndexLock>,
    ) -> Result<Index, IndexError> {
        let recovered = recover(&directory, &options)?;
        let index = Index::with(directory, options, recovered, lock);
        index.shared.wake_merges();
        Ok(index)
    }

    fn with(
        directory: Arc<dyn Directory>,
        options: IndexOptions,
        recovered: Recovered,
        lock: Option<IndexLock>,
    ) -> Index {
        let Recovered { snapshot, kept, next_segment_id } = recovered;
        let shared = Shared {
            directory,
            options,
            current: ArcSwap::from_pointee(snapshot),
            view: ArcSwapOption::empty(),
            kept,
            next_segment_id: AtomicU64::new(next_segment_id),
            writer: Mutex::new(()),
            merges: MergeControl::default(),
            bulk: BulkActivity::default(),
            tokenizer: Mutex::new(None),
            _lock: lock,
        };
        Index { shared: Arc::new(shared) }
    }

    /// The current state. Costs a reference count.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.shared.snapshot()
    }

    /// The current state as it is at `now`: documents that have expired by then are deleted in it. Costs two reference
    /// counts; where documents have expired since it was asked for last, as much as those that have and are not removed yet.
    pub fn view(&self, now: SystemTime) -> Arc<Snapshot> {
        self.shared.view(moment(now))
    }

    /// Counts the documents that have expired at `now` and are not removed yet.
    pub fn expired_count(&self, now: SystemTime) -> u64 {
        let base = self.snapshot();
        if base.settings.expiry_attribute.is_none() {
            return 0;
        }
        base.readable_count().saturating_sub(self.view(now).readable_count())
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    pub(super) fn wake_merges(&self) {
        self.shared.wake_merges();
    }

    /// The directory, for [`Snapshot::link_to`].
    pub fn directory(&self) -> &dyn Directory {
        &*self.shared.directory
    }

    /// Applies `operations` one after another and commits once. The result holds one entry per operation: an entry
    /// that failed had no effect, the others are applied. Calls wait for each other; readers see either nothing or
    /// everything of the batch.
    ///
    /// # Errors
    /// Nothing is changed then, also after `cancelled` was set.
    pub fn apply(
        &self,
        operations: &[Operation],
        note: CommitNote,
        progress: &Progress,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        self.apply_asking(operations, note, progress, cancelled, Asks::Patiently)
    }

    /// Applies `operations` as the next batch. For programs without a queue of their own: a batch that was interrupted is not
    /// recognised later, and cannot be cancelled.
    ///
    /// # Errors
    /// The errors of [`Index::apply`].
    pub fn write(&self, operations: &[Operation]) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        let batch = self.snapshot().last_outcome().map_or(0, |(batch, _)| batch + 1);
        let note = CommitNote::new(batch, |_| Vec::new());
        self.apply(operations, note, &Progress::new(), &AtomicBool::new(false))
    }

    /// Works like [`Index::apply`], but calls no embedder: unknown vectors are left to [`Index::embed_waiting`]. Until
    /// then, documents without vectors are found by their words. [`Index::prepare`] comes before a change of settings,
    /// so that the vectors that it needs are known.
    ///
    /// # Errors
    /// The errors of [`Index::apply`].
    pub fn apply_and_embed_later(
        &self,
        operations: &[Operation],
        note: CommitNote,
        progress: &Progress,
        cancelled: &AtomicBool,
    ) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        self.apply_asking(operations, note, progress, cancelled, Asks::Never)
    }

    fn apply_asking(
        &self,
        operations: &[Operation],
        note: CommitNote,
        progress: &Progress,
        cancelled: &AtomicBool,
        asks: Asks,
    ) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
        let shared = &*self.shared;
        let bulk = shared.bulk.note(operations);
        let _small = bulk.is_none().then(|| self.shared.options.runtime.begin_small_write());
        let writer = shared.lock_writer();
        let base = shared.snapshot();
        let store_dictionary = StoreDictionary::of_largest(base.segments.iter().map(|view| &*view.reader));
        let resources = shared.resources(&store_dictionary, progress, cancelled, asks);
        let tokenizer = shared.tokenizer_for(&base.settings);
        let mut transaction = Transaction::new(resources, &base, tokenizer);
        let results = unless_cancelled(cancelled, transaction.run(operations))?;
        progress.enter(Phase::Committing, 0);
        let outcome = (note.outcome)(&results);
        let tokenizer = transaction.tokenizer();
        let snapshot = transaction.into_snapshot(note.batch, outcome, now_nanos());
        let settings = snapshot.settings.clone();
        writer.publish(snapshot)?;
        // What waits may have been answered before, in a call that did not get to its commit.
        if !settings.embedders.is_empty() && asks != Asks::Never {
            shared.options.embedders.committed();
        }
        *shared.tokenizer.lock() = Some((settings, tokenizer));
        drop(writer);
        progress.enter(Phase::Finished, 0);
        self.shared.wake_merges();
        Ok(results)
    }

    /// Replaces the dates of creation and of the last write, durably: for an index that is filled from a copy of another
    /// one.
    ///
    /// # Errors
    /// The dates stay as they were then.
    pub fn set_dates(&self, created_at: SystemTime, updated_at: SystemTime) -> Result<(), IndexError> {
        let writer = self.shared.lock_writer();
        let mut snapshot = Snapshot::clone(&self.shared.snapshot());
        snapshot.generation = self.shared.next_generation(&snapshot);
        snapshot.created_at_nanos = nanos(created_at);
        snapshot.updated_at_nanos = nanos(updated_at);
        writer.publish(snapshot)
    }

    /// Merges everything into one segment without deleted documents. Readers and writers go on meanwhile; what is
    /// written meanwhile stays in segments of its own.
    ///
    /// # Errors
    /// [`IndexError::Cancelled`], [`IndexError::DamagedSegment`], or what a merge met; the index stays as it was.
    pub fn compact(&self, cancelled: &AtomicBool) -> Result<(), IndexError> {
        self.snapshot().check_whole()?;
        Merging::begin(&self.shared).compact(cancelled, None)
    }

    /// Works like [`Index::compact`]. `watch` follows the progress, which starts again from zero if writers interfered.
    ///
    /// # Errors
    /// The errors of [`Index::compact`].
    pub fn compact_watched(&self, cancelled: &AtomicBool, watch: &dyn MergeWatch) -> Result<(), IndexError> {
        self.snapshot().check_whole()?;
        Merging::begin(&self.shared).compact(cancelled, Some(watch))
    }

    /// Reports whether no merge is running and no reader holds the current snapshot. Dropping the handle then frees its
    /// memory and its maps at once, and waits for nothing.
    pub fn is_idle(&self) -> bool {
        if self.shared.view.swap(None).is_some_and(|view| !view.is_unused()) {
            return false;
        }
        let snapshot = self.snapshot();
        // One count is that of the handle, one is ours.
        Arc::strong_count(&snapshot) <= 2 && self.shared.merges.is_quiet()
    }

    /// Returns the status of the background merges.
    pub fn merge_status(&self) -> MergeStatus {
        self.shared.merges.status()
    }

    /// Waits until the background merges have nothing left to do, or have failed.
    pub fn wait_for_merges(&self) {
        self.shared.merges.wait_until_quiet();
    }

    /// The segments and their sizes.
    pub fn report(&self) -> IndexReport {
        let snapshot = self.snapshot();
        let segments = snapshot.segments.iter().map(|segment| {
            let meta = segment.reader.meta();
            SegmentReport {
                id: segment.id(),
                doc_count: meta.doc_count,
                deleted_count: segment.deleted_count(),
                bytes: meta.total_bytes(),
                raw_bytes: meta.raw_bytes,
                term_count: meta.term_count,
                token_count: meta.token_count,
                files: meta.files().cloned().collect(),
                sections: segment.reader.sections(|field| snapshot.field_name(field)),
            }
        });
        IndexReport {
            generation: snapshot.generation,
            document_count: snapshot.document_count(),
            segment_bytes: snapshot.disk_bytes(),
            // Gone when a writer has just put another one in its place.
            manifest_bytes: self.shared.directory.len(&manifest_name(snapshot.generation)).unwrap_or(0),
            segments: segments.collect(),
            damaged: snapshot.damaged().to_vec(),
        }
    }

    /// Keeps segments aside in which damage was found while they were open, see [`Health`](lamina_segment::segment::Health). On the
    /// disk everything stays as it was. Cost without any: a look at each segment; else it waits for the writer.
    pub fn set_damaged_aside(&self) {
        self.set_aside(|reader| reader.check_health().err().map(IndexError::from));
    }

    /// Works like [`Index::set_damaged_aside`], but `damage_of` decides which segments are damaged and quarantined.
    pub(super) fn set_aside(&self, damage_of: impl Fn(&SegmentReader) -> Option<IndexError>) {
        let is_sound = |view: &SegmentView| damage_of(&view.reader).is_none();
        if self.snapshot().segments.iter().all(is_sound) {
            return;
        }
        let _writer = self.shared.lock_writer();
        let mut new = Snapshot::clone(&self.snapshot());
        let mut damaged = new.damaged.to_vec();
        new.segments.retain(|view| {
            let Some(damage) = damage_of(&view.reader).as_ref().and_then(Damage::of) else { return true };
            tracing::error!(segment = view.id().0, reason = damage.reason, "searches omit a damaged segment");
            damaged.push(view.set_aside(damage));
            false
        });
        new.damaged = damaged.into();
        self.shared.current.store(Arc::new(new));
    }

    /// Re-reads every byte of every file and checks it, the structure of the sections included. Writers wait meanwhile: it is
    /// for tests and tools. [`verify_folder`](super::verify_folder) says all that is wrong.
    ///
    /// # Errors
    /// The first damage found.
    pub fn verify(&self) -> Result<(), IndexError> {
        let _writer = self.shared.lock_writer();
        self.snapshot().check_whole()?;
        verify_directory(&*self.shared.directory, true, &())?.damages.into_iter().next().map_or(Ok(()), Err)
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.shared.merges.close();
    }
}

/// Returns the result of some work, or [`IndexError::Cancelled`] if it was cancelled.
pub(super) fn unless_cancelled<T>(cancelled: &AtomicBool, result: Result<T, IndexError>) -> Result<T, IndexError> {
    if cancelled.load(Ordering::Relaxed) { Err(IndexError::Cancelled) } else { result }
}

fn nanos(time: SystemTime) -> u64 {
    let since_epoch = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since_epoch.as_nanos()).unwrap_or(u64::MAX)
}
