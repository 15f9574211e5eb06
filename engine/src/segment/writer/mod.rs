//! Gathers documents in memory and writes a segment.

mod text;
mod vocabulary;

use super::columns::ColumnsBuilder;
use super::format::{DOCS_MAX, SectionKind, SectionWriter, segment_file_name};
use super::geo::GeoBuilder;
use super::info::Info;
use super::keys::KeysBuilder;
use super::shapes::ShapesBuilder;
use super::store::StoreParts;
use super::vectors::{VectorShape, VectorsBuilder};
use super::{SegmentError, SegmentMeta, StoreDictionary, TextFields};
use crate::bits::monotone::put_monotone;
use crate::document::Shape;
use crate::id::{DocId, FieldId, Gap, InternalId, SegmentId};
use crate::storage::Directory;
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

/// A segment in the making. One thread fills it; threads that index together each have their own.
///
/// Per document: [`begin_document`](Self::begin_document), then words and column values in any order of fields, then
/// [`end_document`](Self::end_document). When two documents have the same internal id, the later one wins.
#[derive(Debug)]
pub struct SegmentWriter {
    text_fields: TextFields,
    ids: Vec<InternalId>,
    keys: Vec<u8>,
    key_ends: Vec<usize>,
    text: TextBuilder,
    columns: ColumnsBuilder,
    geo: Option<GeoBuilder>,
    shapes: Option<ShapesBuilder>,
    vectors: Vec<VectorsBuilder>,
    store: StoreParts,
    /// The document that was begun, until it is ended.
    open: Option<OpenDocument>,
    json: Vec<u8>,
    /// The first failure of a compressor; reported when the segment is finished.
    failure: Option<SegmentError>,
}

#[derive(Debug)]
struct OpenDocument {
    id: InternalId,
    key_end: usize,
}

impl SegmentWriter {
    /// An empty segment.
    pub fn new(options: SegmentWriterOptions) -> SegmentWriter {
        SegmentWriter {
            text_fields: options.text_fields,
            ids: Vec::new(),
            keys: Vec::new(),
            key_ends: Vec::new(),
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
        self.keys.extend_from_slice(key.as_bytes());
        self.json.clear();
        self.json.extend_from_slice(json);
        self.open = Some(OpenDocument { id, key_end: self.keys.len() });
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
        let Some(OpenDocument { id, key_end }) = self.open.take() else {
            debug_assert!(false, "a document was begun");
            return;
        };
        self.text.end_document();
        if let Err(failure) = self.store.push(&self.json) {
            self.failure.get_or_insert(failure);
        }
        self.ids.push(id);
        self.key_ends.push(key_end);
    }

    /// Forgets the document begun last (before `end_document`), for a document that turns out to be unusable.
    pub fn abandon_document(&mut self) {
        if self.open.take().is_some() {
            self.keys.truncate(self.key_ends.last().copied().unwrap_or(0));
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
            + self.keys.capacity()
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

    fn key(&self, doc: u32) -> &[u8] {
        let start = doc.checked_sub(1).map_or(0, |before| self.key_ends[before as usize]);
        &self.keys[start..self.key_ends[doc as usize]]
    }

    /// Writes `seg-<id>.lam` and syncs its content (the caller syncs the directory). At least one document.
    pub fn finish(mut self, directory: &dyn Directory, id: SegmentId) -> Result<SegmentMeta, SegmentError> {
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
        let mut file = SectionWriter::create(directory, segment_file_name(id.0))?;

        let ids: Vec<u64> = order.iter().map(|&old| self.ids[old as usize]).collect();
        let mut section = Vec::new();
        put_monotone(&mut section, &ids);
        file.section(SectionKind::InternalIds, 0, &section)?;
        self.write_keys(&mut file, &order)?;

        let column_fields = self.columns.finish(&mut file, new_docs.as_deref(), doc_count)?;
        if let Some(geo) = &self.geo {
            geo.finish(&mut file, new_docs.as_deref(), doc_count)?;
        }
        if let Some(shapes) = &self.shapes {
            shapes.finish(&mut file, new_docs.as_deref())?;
        }
        for (number, vectors) in (0..).zip(&self.vectors) {
            vectors.finish(&mut file, number, Some(&order), doc_count)?;
        }
        let raw_bytes = self.store.finish(&mut file, new_docs.as_ref().map(|_| order.as_slice()))?;
        let (term_count, token_count) = self.text.finish(&mut file, &order)?;
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
            geo: self.geo.is_some(),
            shapes: self.shapes.is_some(),
            column_files: Vec::new(),
        })
    }

    fn write_keys(&self, file: &mut SectionWriter, order: &[u32]) -> Result<(), SegmentError> {
        let mut docs: Vec<u32> = (0..order.len() as u32).collect();
        docs.sort_unstable_by(|&a, &b| self.key(order[a as usize]).cmp(self.key(order[b as usize])));
        let mut keys = KeysBuilder::new(docs.len());
        for doc in docs {
            keys.push(self.key(order[doc as usize]), doc)?;
        }
        keys.write(file)
    }
}
