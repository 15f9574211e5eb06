//! Gathers documents in memory and writes a segment.

mod documents;
mod keys;
mod text;
mod vocabulary;

use super::format::{DOCS_MAX, SectionKind, SectionWriter, segment_file_name};
use super::info::Info;
use super::vectors::{VectorShape, VectorsBuilder};
use super::{ListThresholds, SegmentError, SegmentMeta, StoreDictionary, TextFields};
use crate::document::Shape;
use crate::storage::Directory;
use documents::{Documents, Order, WrittenDocuments};
use lamina_text::id::{DocId, FieldId, Gap, InternalId, SegmentId};
use lamina_text::text::TEXT_RULES;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use text::{SortedText, TextBuilder};

/// Options of a new segment.
#[derive(Clone, Debug, Default)]
pub struct SegmentWriterOptions {
    /// Recorded in the segment; the caller decides which words it passes.
    pub text_fields: TextFields,
    /// Fields that get a column even when no document has them. A field that receives a value always gets one.
    pub column_fields: Vec<FieldId>,
    /// True if the segment gets a geo column even if no document has a point.
    pub geo: bool,
    /// True if the segment gets shapes even if no document has one.
    pub shapes: bool,
    /// Compression dictionary that the segments of the index share.
    pub store_dictionary: StoreDictionary,
    /// Thresholds for the optional precomputed lists of the segment.
    pub list_thresholds: ListThresholds,
}

/// Way to run two pieces of work in parallel. This module starts no threads of its own.
pub trait TwoThreads {
    /// Runs `beside` on another thread while `here` runs on this one, and waits for both. A panic of either is one of the
    /// call.
    ///
    /// # Errors
    /// There is no thread to be had. Nothing ran then.
    fn run<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> io::Result<(A, B)>;
}

/// For segments that are always finished.
static NEVER: AtomicBool = AtomicBool::new(false);

/// There is only the thread that is there.
enum NoThreads {}

impl TwoThreads for NoThreads {
    fn run<A: Send, B>(&self, _: impl FnOnce() -> A + Send, _: impl FnOnce() -> B) -> io::Result<(A, B)> {
        match *self {}
    }
}

/// A segment in the making. One thread fills it; threads that index together each have their own, and what two of them have
/// may be finished as one segment.
///
/// Per document: [`begin_document`](Self::begin_document), then words and column values in any order of fields, then
/// [`end_document`](Self::end_document). When two documents have the same internal id, the later one wins.
#[derive(Debug)]
pub struct SegmentWriter {
    text_fields: TextFields,
    list_thresholds: ListThresholds,
    ids: Vec<InternalId>,
    text: TextBuilder,
    documents: Documents,
    /// Internal id of the document that was begun, until it is ended.
    open: Option<InternalId>,
    json: Vec<u8>,
    /// The first failure of a compressor; reported when the segment is finished.
    failure: Option<SegmentError>,
}

impl SegmentWriter {
    /// An empty segment.
    pub fn new(options: SegmentWriterOptions) -> SegmentWriter {
        SegmentWriter {
            documents: Documents::new(&options),
            text_fields: options.text_fields,
            list_thresholds: options.list_thresholds,
            ids: Vec::new(),
            text: TextBuilder::default(),
            open: None,
            json: Vec::new(),
            failure: None,
        }
    }

    /// Starts a document: its internal id, primary key and JSON (one line).
    pub fn begin_document(&mut self, id: InternalId, key: &str, json: &[u8]) {
        debug_assert!(self.open.is_none(), "the document before was ended");
        self.documents.keys.push(key);
        self.json.clear();
        self.json.extend_from_slice(json);
        self.open = Some(id);
        self.text.begin_document();
        self.documents.columns.begin_document(self.ids.len() as DocId);
    }

    /// The next word of a field. `Gap::Hard` before the first word of a field means nothing.
    #[inline]
    pub fn word(&mut self, field: FieldId, word: &str, gap: Gap) {
        self.text.word(field, word, gap);
    }

    /// The next word of `field` belongs to another value (array element): a hard gap comes before it.
    #[inline]
    pub fn next_value(&mut self, field: FieldId) {
        self.text.next_value(field);
    }

    /// A number of a column (finite).
    pub fn column_number(&mut self, field: FieldId, value: f64) {
        self.documents.columns.number(field, value);
    }

    /// A string of a column; `normalised` is the facet form of `original`.
    pub fn column_string(&mut self, field: FieldId, normalised: &str, original: &str) {
        self.documents.columns.string(field, normalised, original);
    }

    /// The field of the document may be something else than one number that its column gives back.
    pub fn column_inexact(&mut self, field: FieldId) {
        self.documents.columns.inexact(field);
    }

    /// The field is null.
    pub fn column_null(&mut self, field: FieldId) {
        self.documents.columns.null(field);
    }

    /// The field is an empty string, array or object.
    pub fn column_empty(&mut self, field: FieldId) {
        self.documents.columns.empty(field);
    }

    /// The field is there (an object with children, an array): nothing but its existence.
    pub fn column_exists(&mut self, field: FieldId) {
        self.documents.columns.exists(field);
    }

    /// The point of `_geo`; the last one of a document counts.
    pub fn geo(&mut self, lat: f64, lng: f64) {
        self.documents.geo.get_or_insert_default().push(self.ids.len() as DocId, lat, lng);
    }

    /// The shape of `_geojson`; the last one of a document counts.
    pub fn shape(&mut self, shape: &Shape) {
        self.documents.shapes.get_or_insert_default().push(self.ids.len() as DocId, shape);
    }

    /// The vectors of an embedder, for documents that were completed. Vectors of one embedder have one shape.
    pub fn vectors(&mut self, embedder: &str, shape: VectorShape) -> &mut VectorsBuilder {
        let position =
            self.documents.vectors.iter().position(|vectors| vectors.name() == embedder).unwrap_or_else(|| {
                self.documents.vectors.push(VectorsBuilder::new(embedder, shape));
                self.documents.vectors.len() - 1
            });
        debug_assert_eq!(self.documents.vectors[position].shape(), shape, "an embedder has one shape");
        &mut self.documents.vectors[position]
    }

    /// Completes the document.
    pub fn end_document(&mut self) {
        let Some(id) = self.open.take() else {
            debug_assert!(false, "a document was begun");
            return;
        };
        self.text.end_document();
        if let Err(failure) = self.documents.store.push(&self.json) {
            self.failure.get_or_insert(failure);
        }
        self.ids.push(id);
    }

    /// Bytes this writer holds now and will need at most while finishing.
    pub fn memory_bytes(&self) -> usize {
        self.text.heap_bytes() + self.documents.memory_bytes() + self.json.capacity() + self.ids.len() * 48
    }

    /// Number of completed documents.
    pub fn doc_count(&self) -> u32 {
        self.ids.len() as u32
    }

    /// The next document comes from elsewhere in the payload: other writers get those between. Nothing depends on it but how
    /// much of the documents is copied when writers are joined.
    pub fn end_run(&mut self) {
        if let Err(failure) = self.documents.store.end_run() {
            self.failure.get_or_insert(failure);
        }
    }

    /// Reports whether [`finish_joined`](Self::finish_joined) can take `other`. Both together must not exceed a
    /// segment, and neither may have vectors, which may be in files because memory is short.
    pub fn can_join(&self, other: &SegmentWriter) -> bool {
        let have_no_vectors = [self, other].iter().all(|writer| writer.documents.vectors.is_empty());
        self.ids.len() + other.ids.len() <= DOCS_MAX as usize && have_no_vectors
    }

    /// Writes `seg-<id>.lam` and syncs its content (the caller syncs the directory). At least one document.
    pub fn finish(self, directory: &dyn Directory, id: SegmentId) -> Result<SegmentMeta, SegmentError> {
        self.finish_unless(&NEVER, directory, id)
    }

    /// Works like [`finish`](Self::finish), but stops between two steps once `cancelled` is set.
    pub fn finish_unless(
        self,
        cancelled: &AtomicBool,
        directory: &dyn Directory,
        id: SegmentId,
    ) -> Result<SegmentMeta, SegmentError> {
        self.write_or_remove(None, cancelled, directory, id, None::<&NoThreads>)
    }

    /// Works like [`finish_unless`](Self::finish_unless), but appends the documents of another writer with the same
    /// options ([`can_join`](Self::can_join)). It uses two threads and takes little more than half the time. Of equal
    /// internal ids those of `other` win. The term dictionary and unions are held in memory until the rest is written.
    /// Cost of joining: one look-up for each different word and value of `other`, and a copy of its numbers.
    pub fn finish_joined(
        self,
        other: SegmentWriter,
        threads: &impl TwoThreads,
        cancelled: &AtomicBool,
        directory: &dyn Directory,
        id: SegmentId,
    ) -> Result<SegmentMeta, SegmentError> {
        debug_assert!(self.can_join(&other));
        self.write_or_remove(Some(other), cancelled, directory, id, Some(threads))
    }

    fn write_or_remove(
        self,
        other: Option<SegmentWriter>,
        cancelled: &AtomicBool,
        directory: &dyn Directory,
        id: SegmentId,
        threads: Option<&impl TwoThreads>,
    ) -> Result<SegmentMeta, SegmentError> {
        self.write(other, cancelled, directory, id, threads).inspect_err(|error| {
            let is_another =
                matches!(error, SegmentError::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists);
            if !is_another {
                // What is left of the file is of no use; when even removing it fails, recovery does it later.
                let _ = directory.delete(&segment_file_name(id.0));
            }
        })
    }

    fn write(
        mut self,
        other: Option<SegmentWriter>,
        cancelled: &AtomicBool,
        directory: &dyn Directory,
        id: SegmentId,
        threads: Option<&impl TwoThreads>,
    ) -> Result<SegmentMeta, SegmentError> {
        let first_other = self.ids.len() as DocId;
        let (other_text, other_documents) = self.take_ids(other).unzip();
        self.check()?;
        let order = Order::new(&self.ids);
        let ids: Vec<u64> = order.docs.iter().map(|&old| self.ids[old as usize]).collect();
        let SegmentWriter { text, documents, text_fields, list_thresholds: thresholds, .. } = self;
        let name = segment_file_name(id.0);
        let mut file = SectionWriter::create(directory, name.clone())?;
        let text = TextHalf { text, other: other_text, order: &order, thresholds: &thresholds };
        let documents = DocumentHalf {
            documents,
            other: other_documents,
            first_other,
            ids: &ids,
            order: &order,
            thresholds: &thresholds,
        };
        let Written { documents: written, term_count, token_count } = match threads {
            Some(threads) => write_at_once(text, documents, cancelled, &mut file, &name, threads)?,
            None => write_in_turn(text, documents, cancelled, &mut file)?,
        };
        let info = Info { doc_count: ids.len() as u32, term_count, token_count, raw_bytes: written.raw_bytes };
        file.section(SectionKind::Info, 0, &info.encode())?;
        Ok(SegmentMeta {
            id: id.0,
            file: file.finish()?,
            doc_count: ids.len() as u32,
            first_internal_id: ids[0],
            last_internal_id: ids[ids.len() - 1],
            raw_bytes: written.raw_bytes,
            term_count,
            token_count,
            text_fields,
            text_rules: TEXT_RULES,
            column_fields: written.column_fields,
            geo: written.geo,
            shapes: written.shapes,
            column_files: Vec::new(),
        })
    }

    /// Takes the ids of another writer, and its failure; the rest is absorbed where it is written.
    fn take_ids(&mut self, other: Option<SegmentWriter>) -> Option<(TextBuilder, Documents)> {
        let other = other?;
        debug_assert!(other.open.is_none());
        self.failure = self.failure.take().or(other.failure);
        self.ids.extend_from_slice(&other.ids);
        Some((other.text, other.documents))
    }

    /// Fails if the segment cannot be written.
    fn check(&mut self) -> Result<(), SegmentError> {
        assert!(self.open.is_none(), "the segment has documents and the last one was ended");
        assert!(!self.ids.is_empty(), "the segment has documents and the last one was ended");
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.ids.len() > DOCS_MAX as usize {
            return Err(SegmentError::Limit { what: "documents", limit: u64::from(DOCS_MAX) });
        }
        Ok(())
    }
}

/// The words of a segment.
struct TextHalf<'a> {
    text: TextBuilder,
    /// Texts of another writer.
    other: Option<TextBuilder>,
    order: &'a Order,
    thresholds: &'a ListThresholds,
}

impl TextHalf<'_> {
    fn sorted(self) -> SortedText {
        let TextHalf { mut text, other, order, .. } = self;
        if let Some(other) = other {
            text.absorb(other);
        }
        order.replaced.iter().for_each(|&doc| text.leave_out(doc));
        text.sorted()
    }
}

/// The documents of a segment: keys, values, texts.
struct DocumentHalf<'a> {
    documents: Documents,
    /// Documents of another writer, which begin at `first_other`.
    other: Option<Documents>,
    first_other: DocId,
    /// In their final order.
    ids: &'a [InternalId],
    order: &'a Order,
    thresholds: &'a ListThresholds,
}

impl DocumentHalf<'_> {
    fn write(self, file: &mut SectionWriter) -> Result<WrittenDocuments, SegmentError> {
        let DocumentHalf { mut documents, other, first_other, ids, order, thresholds } = self;
        if let Some(other) = other {
            documents.absorb(other, first_other)?;
        }
        documents.finish(file, ids, order, thresholds)
    }
}

/// Summary of what was written.
struct Written {
    documents: WrittenDocuments,
    term_count: u32,
    token_count: u64,
}

/// Each step takes some seconds at most: what a batch may hold in memory is bounded.
fn check(cancelled: &AtomicBool) -> Result<(), SegmentError> {
    if cancelled.load(Ordering::Relaxed) { Err(SegmentError::Cancelled) } else { Ok(()) }
}

/// Writes both halves on this thread.
fn write_in_turn(
    text: TextHalf<'_>,
    documents: DocumentHalf<'_>,
    cancelled: &AtomicBool,
    file: &mut SectionWriter,
) -> Result<Written, SegmentError> {
    let (order, thresholds) = (text.order, text.thresholds);
    check(cancelled)?;
    let documents = documents.write(file)?;
    check(cancelled)?;
    let text = text.sorted();
    text.write_terms(file)?;
    check(cancelled)?;
    let inverted = text.inverted(&order.docs);
    inverted.write_lists(file)?;
    check(cancelled)?;
    inverted.write_unions(file, thresholds)?;
    check(cancelled)?;
    let token_count = text.write_tokens(file, &order.docs, thresholds)?;
    Ok(Written { documents, term_count: text.term_count(), token_count })
}

/// Writes both halves on two threads, which take about as long: the one beside sorts and inverts the text, and keeps the
/// dictionary and unions in memory until the rest is written.
fn write_at_once(
    text: TextHalf<'_>,
    documents: DocumentHalf<'_>,
    cancelled: &AtomicBool,
    file: &mut SectionWriter,
    name: &str,
    threads: &impl TwoThreads,
) -> Result<Written, SegmentError> {
    let (order, thresholds) = (text.order, text.thresholds);
    let (text_sender, sorted) = std::sync::mpsc::sync_channel(1);
    let (inverted_sender, inverted) = std::sync::mpsc::sync_channel(1);
    let beside = || {
        let text = Arc::new(text.sorted());
        // It is not taken any more where the other half has failed.
        let _ = text_sender.send(Arc::clone(&text));
        check(cancelled)?;
        let inverted = Arc::new(text.inverted(&order.docs));
        let _ = inverted_sender.send(Arc::clone(&inverted));
        drop((text_sender, inverted_sender));
        let mut sections = SectionWriter::in_memory(name.to_owned());
        text.write_terms(&mut sections)?;
        drop(text);
        check(cancelled)?;
        inverted.write_unions(&mut sections, thresholds)?;
        Ok::<_, SegmentError>(sections)
    };
    let here = || {
        let documents = documents.write(file)?;
        // Nothing comes from a thread that panicked.
        let mut written = Written { documents, term_count: 0, token_count: 0 };
        if let Ok(text) = sorted.recv() {
            check(cancelled)?;
            written.token_count = text.write_tokens(file, &order.docs, thresholds)?;
            written.term_count = text.term_count();
        }
        if let Ok(inverted) = inverted.recv() {
            check(cancelled)?;
            inverted.write_lists(file)?;
        }
        Ok::<_, SegmentError>(written)
    };
    let (sections, written) =
        threads.run(beside, here).map_err(|source| SegmentError::Io { file: name.to_owned(), source })?;
    let written = written?;
    file.append(&sections?)?;
    Ok(written)
}

#[cfg(test)]
mod tests;
