//! Documents that go: tombstones, and the counts of their fields.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_segment::document::{DocumentError, DocumentParser, DocumentVisitor, Leaf, Number, PathId};
use lamina_segment::segment::{SegmentError, Store};

use super::super::error::IndexError;
use super::super::progress::Phase;
use super::super::settings::VECTORS_FIELD;
use super::super::snapshot::{DocumentAddress, SegmentView};
use super::super::tombstones::Tombstones;
use super::resources::Resources;
use super::threads::{check, on_threads};

/// Removed documents this close to each other are read in one go: they share blocks of the store.
const READ_GAP_MAX: u32 = 16;

/// Deletes documents. `removed` must be live and distinct.
pub(super) fn delete_documents(segments: &mut [SegmentView], removed: &mut [DocumentAddress]) {
    removed.sort_unstable();
    for run in removed.chunk_by(|left, right| left.segment == right.segment) {
        let segment = &mut segments[run[0].segment as usize];
        let mut bitmap = segment.deleted.as_ref().map(|deleted| deleted.bitmap().clone()).unwrap_or_default();
        bitmap.extend(run.iter().map(|address| address.doc));
        segment.deleted = Some(Arc::new(Tombstones::new(bitmap)));
    }
}

/// Takes the top-level fields of `removed` (sorted) out of the counts. The documents have to be read for it.
pub(super) fn subtract_fields(
    resources: &Resources<'_>,
    segments: &[SegmentView],
    removed: &[DocumentAddress],
    distribution: &mut BTreeMap<String, u64>,
) -> Result<(), IndexError> {
    /// Fewer documents are not worth a thread.
    const DOCUMENTS_PER_THREAD_MIN: usize = 2000;
    if removed.is_empty() {
        return Ok(());
    }
    resources.progress.enter(Phase::Deleting, removed.len() as u64);
    let thread_count = (removed.len() / DOCUMENTS_PER_THREAD_MIN).clamp(1, resources.thread_count.max(1));
    let share = removed.len().div_ceil(thread_count);
    let counters = on_threads(thread_count, |thread| {
        let mut counter = FieldCounter::default();
        let end = (share * (thread + 1)).min(removed.len());
        let mine = &removed[(share * thread).min(end)..end];
        let near = |left: &DocumentAddress, right: &DocumentAddress| {
            left.segment == right.segment && right.doc - left.doc <= READ_GAP_MAX
        };
        for run in mine.chunk_by(near) {
            check(resources.cancelled)?;
            let reader = &segments[run[0].segment as usize].reader;
            counter.count(reader.store(), run)?;
            resources.progress.advance(run.len() as u64);
        }
        Ok(counter)
    })?;
    for counter in counters {
        for path in counter.paths.iter().filter(|path| path.count > 0) {
            if let Some(count) = distribution.get_mut(&*path.name) {
                *count = count.saturating_sub(path.count);
                if *count == 0 {
                    distribution.remove(&*path.name);
                }
            }
        }
    }
    Ok(())
}

/// Counts the live documents with each top-level field. Reads all live documents.
pub(in super::super) fn count_fields(segments: &[SegmentView]) -> Result<BTreeMap<String, u64>, IndexError> {
    let mut distribution = BTreeMap::new();
    for (segment, view) in (0..).zip(segments) {
        let live = (0..view.reader.doc_count()).filter(|&doc| view.is_live(doc));
        let addresses: Vec<DocumentAddress> = live.map(|doc| DocumentAddress { segment, doc }).collect();
        let mut counter = FieldCounter::default();
        counter.count(view.reader.store(), &addresses)?;
        for path in counter.paths.iter().filter(|path| path.count > 0 && &*path.name != VECTORS_FIELD) {
            *distribution.entry(path.name.to_string()).or_default() += path.count;
        }
    }
    Ok(distribution)
}

/// Counts documents by top-level field.
#[derive(Debug, Default)]
struct FieldCounter {
    parser: DocumentParser,
    paths: Vec<CountedPath>,
    document_count: u64,
}

#[derive(Debug)]
struct CountedPath {
    name: Box<str>,
    count: u64,
    /// The last document counted: a key may be there twice in one document.
    counted_in: u64,
}

impl FieldCounter {
    fn count(&mut self, store: &Store, run: &[DocumentAddress]) -> Result<(), IndexError> {
        let (Some(first), Some(last)) = (run.first(), run.last()) else { return Ok(()) };
        let mut wanted = run.iter().map(|address| address.doc).peekable();
        let mut unreadable = None;
        store.for_each(first.doc..last.doc + 1, |doc, json| {
            if wanted.next_if_eq(&doc).is_some() {
                self.document_count += 1;
                let mut sink = CounterSink { paths: &mut self.paths, document_count: self.document_count };
                if let Err(error) = self.parser.visit(json, &mut sink) {
                    unreadable.get_or_insert(error);
                }
            }
            Ok::<(), SegmentError>(())
        })?;
        unreadable.map_or(Ok(()), |error| Err(error.into()))
    }
}

struct CounterSink<'a> {
    paths: &'a mut Vec<CountedPath>,
    document_count: u64,
}

impl DocumentVisitor for CounterSink<'_> {
    type Error = DocumentError;

    fn new_path(&mut self, _path: PathId, name: &str) -> Result<(), DocumentError> {
        self.paths.push(CountedPath { name: name.into(), count: 0, counted_in: 0 });
        Ok(())
    }

    fn key(&mut self, path: PathId, top_level: bool) -> Result<(), DocumentError> {
        let path = &mut self.paths[path.index()];
        if top_level && path.counted_in != self.document_count {
            path.counted_in = self.document_count;
            path.count += 1;
        }
        Ok(())
    }

    fn string(&mut self, _leaf: Leaf, _value: &str) -> Result<(), DocumentError> {
        Ok(())
    }

    fn number(&mut self, _leaf: Leaf, _value: Number<'_>) -> Result<(), DocumentError> {
        Ok(())
    }

    fn boolean(&mut self, _leaf: Leaf, _value: bool) -> Result<(), DocumentError> {
        Ok(())
    }
}
