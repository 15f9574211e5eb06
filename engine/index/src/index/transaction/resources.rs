//! What a batch works with.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lamina_segment::segment::{ListThresholds, SegmentMeta, SegmentReader, SegmentWriter, StoreDictionary};
use lamina_segment::storage::Directory;
use lamina_text::id::SegmentId;

use super::super::embedding::{Asking, EmbedderProvider};
use super::super::error::IndexError;
use super::super::files::FileGuard;
use super::super::options::document_bytes_max;
use super::super::progress::Progress;
use super::super::snapshot::SegmentView;
use super::threads::OneMore;
use crate::runtime::Runtime;

/// Policy for requests to embedders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Asks {
    /// No embedder is called: documents wait for vectors that are not known.
    Never,
    /// Embedders are called, and a provider that cannot be reached is reported soon.
    Briefly,
    /// Embedders are called, with all tries.
    Patiently,
}

/// Shared by the threads of a batch.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Resources<'a> {
    pub(in super::super) directory: &'a Arc<dyn Directory>,
    pub(in super::super) runtime: &'a Arc<Runtime>,
    /// Not below `first_number`.
    pub(in super::super) next_segment_id: &'a AtomicU64,
    /// See [`IndexOptions::first_number`](super::super::IndexOptions::first_number).
    pub(in super::super) first_number: u64,
    pub(in super::super) thread_count: usize,
    pub(in super::super) memory_bytes: usize,
    pub(in super::super) list_thresholds: ListThresholds,
    /// Compression dictionary of the index.
    pub(in super::super) store_dictionary: &'a StoreDictionary,
    pub(in super::super) embedders: &'a dyn EmbedderProvider,
    pub(in super::super) asks: Asks,
    pub(in super::super) progress: &'a Progress,
    pub(in super::super) cancelled: &'a AtomicBool,
}

impl Resources<'_> {
    pub(super) fn new_segment_id(&self) -> SegmentId {
        SegmentId(self.next_segment_id.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns how embedders are asked; `None` when they are not.
    pub(super) fn asking(&self) -> Option<Asking<'_>> {
        let is_brief = self.asks == Asks::Briefly;
        (self.asks != Asks::Never).then(|| Asking {
            cancelled: self.cancelled,
            watch: self.progress.embedding(),
            is_brief,
        })
    }

    /// Writes a segment and opens it. Its file goes again unless a commit names it.
    pub(super) fn finish_segment(&self, writer: SegmentWriter) -> Result<SegmentView, IndexError> {
        let meta = writer.finish_unless(self.cancelled, &**self.directory, self.new_segment_id())?;
        self.open_new_segment(&meta)
    }

    /// Works like [`finish_segment`](Self::finish_segment), for two writers, on this thread and one more.
    pub(super) fn finish_joined(&self, first: SegmentWriter, second: SegmentWriter) -> Result<SegmentView, IndexError> {
        let meta = first.finish_joined(second, &OneMore, self.cancelled, &**self.directory, self.new_segment_id())?;
        self.open_new_segment(&meta)
    }

    pub(super) fn open_new_segment(&self, meta: &SegmentMeta) -> Result<SegmentView, IndexError> {
        let files = FileGuard::of_new_segment(self.directory, meta);
        let reader = SegmentReader::open(&**self.directory, meta)?;
        Ok(SegmentView::new(reader, None, files, self.runtime))
    }

    /// # Errors
    /// [`IndexError::DocumentTooLarge`].
    pub(super) fn check_length(&self, bytes: usize) -> Result<(), IndexError> {
        let bytes_max = document_bytes_max(self.memory_bytes);
        if bytes > bytes_max { Err(IndexError::DocumentTooLarge { bytes, bytes_max }) } else { Ok(()) }
    }

    /// Threads worth using for so many bytes of documents: below a megabyte each they only make more segments.
    pub(super) fn threads_for(&self, bytes: u64) -> usize {
        const BYTES_PER_THREAD_MIN: u64 = 1 << 20;
        let useful = usize::try_from(bytes / BYTES_PER_THREAD_MIN).unwrap_or(usize::MAX);
        useful.clamp(1, self.thread_count.max(1))
    }
}
