//! Gathers documents in memory and writes a segment.

mod keys;
mod text;
mod vocabulary;

use super::columns::ColumnsBuilder;
use super::format::{DOCS_MAX, SectionKind, SectionWriter, segment_file_name};
use super::geo::GeoBuilder;
use super::info::Info;
use super::shapes::ShapesBuilder;
use super::store::StoreParts;
use super::vectors::{VectorShape, VectorsBuilder};
use super::{SegmentError, SegmentMeta, StoreDictionary, TextFields};
use crate::bits::monotone::put_monotone;
use crate::document::Shape;
use crate::id::{DocId, FieldId, Gap, InternalId, SegmentId};
use crate::storage::Directory;
use keys::DocumentKeys;
use std::io;
use std::sync::Arc;
use text::TextBuilder;

/// What a new segment is to hold.
#[derive(Clone, Debug, Default)]
pub struct SegmentWriterOptions {
    /// Recorded in the segment; the caller decides which words it passes.
    pub text_fields: TextFields,
    /// Fields that get a column even when no document has them. A field that receives a value always gets one.
    pub column_fields: Vec<FieldId>,
    /// Whether the segment gets a geo column even when no document has a point.
    pub geo: bool,
    /// Whether the segment gets shapes even when no document has one.
    pub shapes: bool,
    /// Compression dictionary that the segments of the index share.
    pub store_dictionary: StoreDictionary,
}

/// How two pieces of work are done at once: this module uses no thread of its own.
pub trait TwoThreads {
    /// Runs `beside` on another thread while `here` runs on this one, and waits for both. A panic of either is one of the
    /// call.
    ///
    /// # Errors
    /// There is no thread to be had. Nothing ran then.
    fn run<A: Send, B>(&self, beside: impl FnOnce() -> A + Send, here: impl FnOnce() -> B) -> io::Result<(A, B)>;
}

/// There is only the thread that is there.
enum NoThreads {}

impl TwoThreads for NoThreads {
    fn run<A: Send, B>(&self, _: impl FnOnce() -> A + Send, _: impl FnOnce() -> B) -> io::Result<(A, B)> {
        match *self {}
    }
}

/// A segment in the making. One thread fills it; threads that index together each have their own, and one may take in
/// what another has when both are done.
///
/// Per document: [`begin_document`](Self::begin_document), then words and column values in any order of fields, then
/// [`end_document`](Self::end_document). When two documents have the same internal id, the later one wins.
#[derive(Debug)]
pub struct SegmentWriter {
    text_fields: TextFields,
    ids: Vec<InternalId>,
    keys: DocumentKeys,
    text: TextBuilder,
    columns: ColumnsBuilder,
    geo: Option<GeoBuilder>,
    shapes: Option<ShapesBuilder>,
    vectors: Vec<VectorsBuilder>,
    store: StoreParts,
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
            text_fields: options.text_fields,
            ids: Vec::new(),
            keys: DocumentKeys::default(),
            text: TextBuilder::default(),
            columns: ColumnsBuilder::new(&options.column_fields),
            geo: options.geo.then(GeoBuilder::default),
            shapes: options.shapes.then(ShapesBuilder::default),
            vectors: Vec::new(),
            store: StoreParts::new(options.store_dictionary),
            open: None,
            json: Vec::new(),
            failure: None,
        }
    }

    /// Starts a document: its internal id, primary key and JSON (one line).
    pub fn begin_document(&mut self, id: InternalId, key: &str, json: &[u8]) {
        debug_assert!(self.open.is_none(), "the document before was ended");
        self.keys.push(key);
        self.json.clear();
        self.json.extend_from_slice(json);
        self.open = Some(id);
        self.text.begin_document();
        self.columns.begin_document(self.ids.len() as DocId);
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
        self.columns.number(field, value);
    }

    /// A string of a column; `normalised` is the facet form of `original`.
    pub fn column_string(&mut self, field: FieldId, normalised: &str, original: &str) {
        self.columns.string(field, normalised, original);
    }

    /// The field is null.
    pub fn column_null(&mut self, field: FieldId) {
        self.columns.null(field);
    }

    /// The field is an empty string, array or object.
    pub fn column_empty(&mut self, field: FieldId) {
        self.columns.empty(field);
    }

    /// The field is there (an object with children, an array): nothing but its existence.
    pub fn column_exists(&mut self, field: FieldId) {
        self.columns.exists(field);
    }

    /// The point of `_geo`; the last one of a document counts.
    pub fn geo(&mut self, lat: f64, lng: f64) {
        self.geo.get_or_insert_default().push(self.ids.len() as DocId, lat, lng);
    }

    /// The shape of `_geojson`; the last one of a document counts.
    pub fn shape(&mut self, shape: &Shape) {
        self.shapes.get_or_insert_default().push(self.ids.len() as DocId, shape);
    }

    /// The vectors of an embedder, for documents that were completed. Vectors of one embedder have one shape.
    pub fn vectors(&mut self, embedder: &str, shape: VectorShape) -> &mut VectorsBuilder {
        let position = self.vectors.iter().position(|vectors| vectors.name() == embedder).unwrap_or_else(|| {
            self.vectors.push(VectorsBuilder::new(embedder, shape));
            self.vectors.len() - 1
        });
        debug_assert_eq!(self.vectors[position].shape(), shape, "an embedder has one shape");
        &mut self.vectors[position]
    }

    /// Completes the document.
    pub fn end_document(&mut self) {
        let Some(id) = self.open.take() else {
            debug_assert!(false, "a document was begun");
            return;
        };
        self.text.end_document();
        if let Err(failure) = self.store.push(&self.json) {
            self.failure.get_or_insert(failure);
        }
        self.ids.push(id);
    }

    /// Forgets the document begun last (before `end_document`), for a document that turns out to be unusable.
    pub fn abandon_document(&mut self) {
        if self.open.take().is_some() {
            self.keys.pop();
            self.columns.abandon_document();
            if let Some(geo) = &mut self.geo {
                geo.abandon_document(self.ids.len() as DocId);
            }
            if let Some(shapes) = &mut self.shapes {
                shapes.abandon_document(self.ids.len() as DocId);
            }
        }
    }

    /// Bytes this writer holds now and will need at most while finishing.
    pub fn memory_bytes(&self) -> usize {
        self.text.heap_bytes()
            + self.store.heap_bytes()
            + self.columns.heap_bytes()
            + self.geo.as_ref().map_or(0, GeoBuilder::heap_bytes)
            + self.shapes.as_ref().map_or(0, ShapesBuilder::heap_bytes)
            + self.vectors.iter().map(VectorsBuilder::heap_bytes).sum::<usize>()
            + self.keys.heap_bytes()
            + self.ids.len() * 48
    }

    /// Number of completed documents.
    pub fn doc_count(&self) -> u32 {
        self.ids.len() as u32
    }

    /// The documents that stay, by number of arrival, in ascending order of their internal ids; whether these are all
    /// documents in their order of arrival.
    fn order(&mut self) -> (Vec<u32>, bool) {
        let mut order: Vec<u32> = (0..self.ids.len() as u32).collect();
        if self.ids.is_sorted_by(|a, b| a < b) {
            return (order, true);
        }
        order.sort_unstable_by_key(|&doc| (self.ids[doc as usize], doc));
        let mut kept: Vec<u32> = Vec::with_capacity(order.len());
        for doc in order {
            // The later arrival of the same internal id replaces the earlier one.
            if let Some(replaced) = kept.pop_if(|last| self.ids[*last as usize] == self.ids[doc as usize]) {
                self.text.leave_out(replaced);
            }
            kept.push(doc);
        }
        (kept, false)
    }

    /// The next document comes from elsewhere in the payload: other writers get those between. Nothing depends on it but how
    /// much of the documents is copied when writers are joined.
    pub fn end_run(&mut self) {
        if let Err(failure) = self.store.end_run() {
            self.failure.get_or_insert(failure);
        }
    }

    /// Whether [`absorb`](Self::absorb) can take `other` in: both together do not exceed a segment, and neither has vectors,
    /// which may be in files because memory is short.
    pub fn can_absorb(&self, other: &SegmentWriter) -> bool {
        self.ids.len() + other.ids.len() <= DOCS_MAX as usize && self.vectors.is_empty() && other.vectors.is_empty()
    }

    /// Adds the documents of another writer with the same options, in which no document is open. Of equal internal ids those
    /// of `other` win. Cost: one look-up for each different word and value of `other`, and a copy of its numbers.
    pub fn absorb(&mut self, other: SegmentWriter) {
        debug_assert!(self.open.is_none() && other.open.is_none() && self.can_absorb(&other));
        let first_doc = self.ids.len() as DocId;
        self.ids.extend_from_slice(&other.ids);
        self.keys.absorb(&other.keys);
        self.text.absorb(other.text);
        self.columns.absorb(other.columns, first_doc);
        if let Some(geo) = &other.geo {
            self.geo.get_or_insert_default().absorb(geo, first_doc);
        }
        if let Some(shapes) = &other.shapes {
            self.shapes.get_or_insert_default().absorb(shapes, first_doc);
        }
        let failure = other.failure.or(self.store.absorb(other.store).err());
        self.failure = self.failure.take().or(failure);
    }

    /// Writes `seg-<id>.lam` and syncs its content (the caller syncs the directory). At least one document.
    pub fn finish(self, directory: &dyn Directory, id: SegmentId) -> Result<SegmentMeta, SegmentError> {
        self.write(directory, id, None::<&NoThreads>)
    }

    /// As [`finish`](Self::finish), on two threads, in little more than half the time. Terms, postings and tokens are held
    /// in memory until the rest is written.
    pub fn finish_on(
        self,
        threads: &impl TwoThreads,
        directory: &dyn Directory,
        id: SegmentId,
    ) -> Result<SegmentMeta, SegmentError> {
        self.write(directory, id, Some(threads))
    }

    fn write(
        mut self,
        directory: &dyn Directory,
        id: SegmentId,
        threads: Option<&impl TwoThreads>,
    ) -> Result<SegmentMeta, SegmentError> {
        assert!(self.open.is_none() && !self.ids.is_empty(), "the segment has documents and the last one was ended");
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        if self.ids.len() > DOCS_MAX as usize {
            return Err(SegmentError::Limit { what: "documents", limit: u64::from(DOCS_MAX) });
        }
        let (order, is_arrival_order) = self.order();
        let doc_count = order.len() as u32;
        let new_docs = (!is_arrival_order).then(|| {
            let mut new_docs = vec![DocId::MAX; self.ids.len()];
            order.iter().zip(0..).for_each(|(&old, new)| new_docs[old as usize] = new);
            new_docs
        });
        let SegmentWriter { keys, mut text, columns, geo, shapes, vectors, store, .. } = self;
        let name = segment_file_name(id.0);
        let mut file = SectionWriter::create(directory, name.clone())?;
        let ids: Vec<u64> = order.iter().map(|&old| self.ids[old as usize]).collect();
        let text = text.sorted();

        let write_documents = |file: &mut SectionWriter| {
            let mut section = Vec::new();
            put_monotone(&mut section, &ids);
            file.section(SectionKind::InternalIds, 0, &section)?;
            keys.finish(file, &order)?;
            let column_fields = columns.finish(file, new_docs.as_deref(), doc_count)?;
            if let Some(geo) = &geo {
                geo.finish(file, new_docs.as_deref(), doc_count)?;
            }
            if let Some(shapes) = &shapes {
                shapes.finish(file, new_docs.as_deref())?;
            }
            for (number, vectors) in (0..).zip(&vectors) {
                vectors.finish(file, number, Some(&order), doc_count)?;
            }
            let raw_bytes = store.finish(file, new_docs.as_ref().map(|_| order.as_slice()))?;
            Ok::<_, SegmentError>((column_fields, raw_bytes))
        };
        let ((column_fields, raw_bytes), token_count) = if let Some(threads) = threads {
            let (sender, receiver) = std::sync::mpsc::sync_channel(1);
            let beside = || {
                let inverted = Arc::new(text.inverted(&order));
                // Nobody takes it any more where the other half has failed.
                let _ = sender.send(Arc::clone(&inverted));
                drop(sender);
                let mut sections = SectionWriter::in_memory(name.clone());
                inverted.write_lists(&mut sections)?;
                drop(inverted);
                let token_count = text.write_tokens(&mut sections, &order)?;
                Ok::<_, SegmentError>((sections, token_count))
            };
            let here = || {
                let written = write_documents(&mut file)?;
                // Nothing comes from a thread that panicked.
                if let Ok(inverted) = receiver.recv() {
                    inverted.write_unions(&mut file)?;
                }
                Ok::<_, SegmentError>(written)
            };
            let (beside, here) =
                threads.run(beside, here).map_err(|source| SegmentError::Io { file: name.clone(), source })?;
            let (written, (sections, token_count)) = (here?, beside?);
            file.append(&sections)?;
            (written, token_count)
        } else {
            let written = write_documents(&mut file)?;
            let inverted = text.inverted(&order);
            inverted.write_lists(&mut file)?;
            inverted.write_unions(&mut file)?;
            drop(inverted);
            (written, text.write_tokens(&mut file, &order)?)
        };
        let term_count = text.term_count();
        let info = Info { doc_count, term_count, token_count, raw_bytes };
        file.section(SectionKind::Info, 0, &info.encode())?;
        Ok(SegmentMeta {
            id: id.0,
            file: file.finish()?,
            doc_count,
            first_internal_id: ids[0],
            last_internal_id: ids[ids.len() - 1],
            raw_bytes,
            term_count,
            token_count,
            text_fields: self.text_fields,
            column_fields,
            geo: geo.is_some(),
            shapes: shapes.is_some(),
            column_files: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests;
