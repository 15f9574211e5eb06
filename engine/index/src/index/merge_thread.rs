//! Merging beside readers and writers.
//!
//! A thread lives while there is something to merge: a commit that finds the policy has work starts one. One merge runs
//! per index, and a limit shared by all indexes bounds them together, with a turn of its own for large segments at rest.
//! Segments are merged without any lock; only to publish the result does the merge wait for the writer. What writers did
//! meanwhile is brought in then: deletions since are mapped to the new segment, and a merge whose sources are gone or
//! have new columns is thrown away.
//!
//! When the policy has nothing more to do, segments whose texts were split by the rules of an earlier version are rewritten. Then
//! the thread stays for a while: segments of similar size that no write has touched
//! for some time are merged too, because every segment costs each query.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lamina_segment::segment::{
    MergeInput, MergeOptions, MergeWatch, Merged, NewPatches, SegmentError, SegmentReader, merge,
};
use lamina_text::id::{FieldId, SegmentId};
use parking_lot::MutexGuard;
use roaring::RoaringBitmap;

use super::error::IndexError;
use super::files::FileGuard;
use super::meanwhile::{current_views, deleted_since};
use super::merge_control::{MergeControl, MergeState};
use super::merge_policy::SegmentSize;
use super::options::MergeReason;
use super::patching::{join, patched_since};
use super::retokenize;
use super::shared::Shared;
use super::snapshot::{SegmentView, Snapshot};
use super::tombstones::Tombstones;
use super::transaction::text_fields;
use crate::runtime::stay_behind;

/// After a failure (a full disk, most likely) commits start no merge for this long.
const RETRY_PAUSE: Duration = Duration::from_secs(30);

/// A merge of this many bytes takes long enough to be felt by a bulk load.
const LARGE_MERGE_BYTES: u64 = 16 << 20;
/// With more segments than this, queries suffer more than a load would.
const SEGMENT_COUNT_TOLERATED: usize = 64;
/// Runs of segments of less than [`LARGE_MERGE_BYTES`] are merged when they have been there for this long ...
const IDLE_BEFORE_SMALL: Duration = Duration::from_millis(50);
/// ... and larger ones after this time.
const IDLE_BEFORE_LARGE: Duration = Duration::from_secs(1);
/// Interval at which a thread that waits for writers to pause checks again.
const IDLE_INTERVAL: Duration = Duration::from_millis(10);
/// Interval at which a merge that yields to writers checks again.
const STAND_BACK_INTERVAL: Duration = Duration::from_millis(100);

impl Shared {
    /// Starts the merge thread if the policy has work and it is not at it already.
    pub(super) fn wake_merges(self: &Arc<Shared>) {
        if !self.options.background_merges || !self.has_merges() {
            return;
        }
        let mut state = self.merges.state.lock();
        let is_paused = state.not_before.is_some_and(|not_before| Instant::now() < not_before);
        if state.thread_is_active || is_paused || self.merges.closing.load(Ordering::Relaxed) {
            return;
        }
        self.start_thread(&mut state);
    }

    fn start_thread(self: &Arc<Shared>, state: &mut MergeState) {
        let shared = self.clone();
        let spawned = std::thread::Builder::new().name("merge".to_owned()).spawn(move || shared.merge_until_quiet());
        state.thread_is_active = spawned.is_ok();
        match spawned {
            // The thread before has ended or is about to: its handle is not needed.
            Ok(thread) => state.thread = Some(thread),
            // The next commit tries again.
            Err(error) => tracing::warn!(%error, "could not start the merge thread"),
        }
    }

    fn next_merge(&self) -> Option<Vec<SegmentId>> {
        self.options.merge_policy.choose(&sizes(&self.snapshot()))
    }

    fn runs(&self) -> Vec<Vec<SegmentId>> {
        self.options.merge_policy.runs(&sizes(&self.snapshot()))
    }

    fn has_merges(&self) -> bool {
        self.next_merge().is_some() || !self.runs().is_empty() || self.has_outdated_text()
    }

    fn merge_until_quiet(self: Arc<Shared>) {
        let _panic_guard = PanicGuard { merges: &self.merges };
        loop {
            let is_idle = self.next_merge().is_none();
            let result = if !is_idle {
                self.merge_once()
            } else if self.has_outdated_text() {
                stay_behind();
                Merging::begin(&self).retokenize(&self.merges.closing)
            } else {
                self.merge_idle()
            };
            let mut state = self.merges.state.lock();
            // Looked at under the lock, so that a commit either is seen here or finds no active thread.
            let goes_on = result.is_ok() && !self.merges.closing.load(Ordering::Relaxed) && self.has_merges();
            if goes_on && is_idle {
                // What comes next may be urgent, and a thread that stood back stays behind the others.
                self.start_thread(&mut state);
            } else if !goes_on {
                state.thread_is_active = false;
            }
            if !state.thread_is_active {
                self.merges.quiet.notify_all();
            }
            drop(state);
            if !goes_on && result.is_ok() {
                self.call_when_merged();
            }
            if is_idle || !goes_on {
                return;
            }
        }
    }

    fn call_when_merged(&self) {
        let is_closing = self.merges.closing.load(Ordering::Relaxed);
        if let Some(call) = self.options.when_merged.filter(|_| !is_closing && !self.bulk.is_going_on()) {
            call(&self.snapshot());
        }
    }

    fn merge_once(&self) -> Result<(), IndexError> {
        self.stand_back();
        let merging = Merging::begin(self);
        // Waiting for its turn may have taken a while.
        match self.next_merge() {
            Some(chosen) => merging.merge(&chosen, MergeReason::Needed, &self.merges.closing, None).map(drop),
            None => Ok(()),
        }
    }

    /// Waits until a run of segments has been left alone for long enough, and merges it. Ends early when the policy has
    /// more urgent work, when no run is left, and when the index is closed.
    fn merge_idle(&self) -> Result<(), IndexError> {
        let mut seen: Vec<(Vec<SegmentId>, Instant)> = Vec::new();
        while !self.merges.closing.load(Ordering::Relaxed) && self.next_merge().is_none() {
            let runs = self.runs();
            if runs.is_empty() {
                return Ok(());
            }
            let now = Instant::now();
            let since = |run: &Vec<SegmentId>| seen.iter().find(|(known, _)| known == run).map_or(now, |(_, at)| *at);
            seen = runs.into_iter().map(|run| (since(&run), run)).map(|(at, run)| (run, at)).collect();
            let sizes = sizes(&self.snapshot());
            let is_large = |run: &Vec<SegmentId>| {
                let members = sizes.iter().filter(|segment| run.contains(&segment.id));
                members.map(SegmentSize::live_bytes).sum::<u64>() >= LARGE_MERGE_BYTES
            };
            let is_due = |(run, since): &&(Vec<SegmentId>, Instant)| {
                let is_large = is_large(run);
                let idle = if is_large { IDLE_BEFORE_LARGE } else { IDLE_BEFORE_SMALL };
                since.elapsed() >= idle && !(is_large && self.bulk.is_going_on())
            };
            if let Some((run, _)) = seen.iter().find(is_due) {
                let merging = Merging::begin(self);
                // Waiting for its turn may have taken a while.
                let is_there = self.runs().contains(run);
                if !is_there {
                    return Ok(());
                }
                let reason = if is_large(run) { MergeReason::AtRest } else { MergeReason::Needed };
                if reason == MergeReason::AtRest {
                    stay_behind();
                }
                return merging.merge(run, reason, &self.merges.closing, None).map(drop);
            }
            std::thread::sleep(IDLE_INTERVAL);
        }
        Ok(())
    }

    /// Waits while the next merge is a large one and a bulk load is going on, unless segments become too many.
    fn stand_back(&self) {
        while self.bulk.is_going_on() && !self.merges.closing.load(Ordering::Relaxed) {
            let snapshot = self.snapshot();
            let sizes = sizes(&snapshot);
            let Some(chosen) = self.options.merge_policy.choose(&sizes) else { return };
            let chosen = sizes.iter().filter(|segment| chosen.contains(&segment.id));
            let bytes: u64 = chosen.map(SegmentSize::live_bytes).sum();
            if bytes < LARGE_MERGE_BYTES || sizes.len() > SEGMENT_COUNT_TOLERATED {
                return;
            }
            std::thread::sleep(STAND_BACK_INTERVAL);
        }
    }
}

/// No thread waits for a merge thread that panicked.
struct PanicGuard<'a> {
    merges: &'a MergeControl,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.merges.state.lock().thread_is_active = false;
            self.merges.quiet.notify_all();
        }
    }
}

fn sizes(snapshot: &Snapshot) -> Vec<SegmentSize> {
    let size = |segment: &SegmentView| SegmentSize {
        id: segment.id(),
        doc_count: segment.reader.doc_count(),
        deleted_count: segment.deleted_count(),
        patch_bytes: segment.patch_bytes(),
        bytes: segment.reader.meta().total_bytes(),
        term_count: segment.reader.meta().term_count,
    };
    snapshot.segments.iter().map(size).collect()
}

/// The one merge of an index.
#[derive(Debug)]
pub(super) struct Merging<'a> {
    shared: &'a Shared,
    _exclusive: MutexGuard<'a, ()>,
}

impl<'a> Merging<'a> {
    /// Waits for the merge before.
    pub(super) fn begin(shared: &'a Shared) -> Merging<'a> {
        Merging { shared, _exclusive: shared.merges.exclusive.lock() }
    }

    /// Merges all segments there are now.
    pub(super) fn compact(&self, cancelled: &AtomicBool, watch: Option<&dyn MergeWatch>) -> Result<(), IndexError> {
        loop {
            let snapshot = self.shared.snapshot();
            let is_compact = match &*snapshot.segments {
                [] => true,
                [only] => only.deleted_count() == 0 && only.reader.patches().is_none(),
                _ => false,
            };
            let all: Vec<SegmentId> = snapshot.segments.iter().map(SegmentView::id).collect();
            if is_compact || self.merge(&all, MergeReason::Needed, cancelled, watch)? {
                return Ok(());
            }
        }
    }

    /// Merges the chosen segments and keeps the status. `false` when the result was thrown away because a writer has
    /// replaced or extended a source meanwhile.
    fn merge(
        &self,
        chosen: &[SegmentId],
        reason: MergeReason,
        cancelled: &AtomicBool,
        watch: Option<&dyn MergeWatch>,
    ) -> Result<bool, IndexError> {
        let merges = &self.shared.merges;
        merges.state.lock().status.running = chosen.to_vec();
        let result = self.merge_and_publish(chosen, reason, cancelled, watch);
        self.note(&result);
        result
    }

    /// Rewrites one segment whose texts were split by earlier rules, if there is one.
    fn retokenize(&self, cancelled: &AtomicBool) -> Result<(), IndexError> {
        let shared = self.shared;
        let _permit =
            shared.options.merge_limit.acquire(MergeReason::AtRest, cancelled).ok_or(IndexError::Cancelled)?;
        let before = shared.snapshot();
        let Some(source) = retokenize::next(&before) else { return Ok(()) };
        shared.merges.state.lock().status.running = vec![source.id()];
        let result = retokenize::write(shared, &before, source, cancelled)
            .and_then(|written| retokenize::publish(shared, &before, source, written));
        self.note(&result);
        result.map(drop)
    }

    /// Keeps in the status how a merge ended.
    fn note(&self, result: &Result<bool, IndexError>) {
        let mut state = self.shared.merges.state.lock();
        state.status.running.clear();
        match result {
            Ok(_) => {
                state.status.merge_count += 1;
                state.status.last_error = None;
                state.status.out_of_space = false;
                state.not_before = None;
            }
            Err(IndexError::Cancelled) => {}
            Err(error) => {
                tracing::warn!(%error, "a merge failed; the segments stay as they were");
                state.status.last_error = Some(error.to_string());
                state.status.out_of_space = error.is_out_of_space();
                state.not_before = Some(Instant::now() + RETRY_PAUSE);
            }
        }
    }

    fn merge_and_publish(
        &self,
        chosen: &[SegmentId],
        reason: MergeReason,
        cancelled: &AtomicBool,
        watch: Option<&dyn MergeWatch>,
    ) -> Result<bool, IndexError> {
        let shared = self.shared;
        let _permit = shared.options.merge_limit.acquire(reason, cancelled).ok_or(IndexError::Cancelled)?;
        let before = shared.snapshot();
        let sources: Vec<SegmentView> =
            before.segments.iter().filter(|segment| chosen.contains(&segment.id())).cloned().collect();
        let give_way = || shared.options.runtime.give_way();
        let pause: Option<&(dyn Fn() + Sync)> = if reason == MergeReason::AtRest { Some(&give_way) } else { None };
        let Merged { meta, doc_maps } = self.merge_files(&before, &sources, cancelled, pause, watch)?;
        let merged = match &meta {
            None => None,
            Some(meta) => {
                let files = FileGuard::of_new_segment(&shared.directory, meta);
                let reader = SegmentReader::open(&*shared.directory, meta)?;
                Some(SegmentView::new(reader, None, files, &shared.options.runtime))
            }
        };

        let writer = shared.lock_writer();
        let now = shared.snapshot();
        let Some(current) = current_views(&now, &sources) else {
            return Ok(false);
        };
        let (mut deleted, mut patches) = (RoaringBitmap::new(), NewPatches::new());
        for ((source, current), doc_map) in sources.iter().zip(current).zip(&doc_maps) {
            deleted.extend(deleted_since(source, current).into_iter().filter_map(|doc| doc_map.get(doc)));
            join(&mut patches, patched_since(source, current, |doc| doc_map.get(doc)));
        }
        let mut new = (*now).clone();
        new.generation = shared.next_generation(&now);
        let position = now.segments.iter().position(|segment| chosen.contains(&segment.id())).unwrap_or(0);
        new.segments.retain(|segment| !chosen.contains(&segment.id()));
        if let Some(mut merged) = merged {
            if !patches.is_empty() {
                merged = merged.with_patches(&shared.directory, shared.options.first_number.get(), &patches)?;
            }
            if !deleted.is_empty() {
                merged.deleted = Some(Arc::new(Tombstones::new(deleted)));
            }
            new.segments.insert(position, merged);
        }
        writer.publish(new)?;
        Ok(true)
    }

    fn merge_files(
        &self,
        before: &Snapshot,
        sources: &[SegmentView],
        cancelled: &AtomicBool,
        pause: Option<&(dyn Fn() + Sync)>,
        watch: Option<&dyn MergeWatch>,
    ) -> Result<Merged, IndexError> {
        let inputs: Vec<MergeInput<'_>> = sources
            .iter()
            .map(|source| MergeInput { segment: &source.reader, deleted: source.deleted_set() })
            .collect();
        let unused: Vec<FieldId> = (0..)
            .zip(before.fields.names())
            .filter(|(_, name)| !before.settings.needs_column(name))
            .map(|(field, _)| field)
            .collect();
        let options = MergeOptions {
            cancelled: Some(cancelled),
            pause,
            watch,
            drop_columns: unused,
            drop_geo: !before.settings.uses_geo(),
            drop_shapes: !before.settings.uses_shapes(),
            text_fields: text_fields(&before.settings),
            list_thresholds: self.shared.options.list_thresholds,
        };
        let id = self.shared.new_segment_id();
        merge(&inputs, &*self.shared.directory, id, &options).map_err(|error| match error {
            SegmentError::Cancelled => IndexError::Cancelled,
            other => other.into(),
        })
    }
}
