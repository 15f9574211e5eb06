//! Gathers documents in memory and writes a segment.

use super::{SegmentError, SegmentMeta, TextFields};
use crate::id::{FieldId, Gap, InternalId, SegmentId};
use crate::storage::Directory;
use std::sync::Arc;

/// What a new segment is to hold.
#[derive(Clone, Debug, Default)]
pub struct SegmentWriterOptions {
    /// Recorded in the segment; the caller decides which words it passes.
    pub text_fields: TextFields,
    /// Fields that get a column even when no document has them. A field that receives a value always gets one.
    pub column_fields: Vec<FieldId>,
    /// Whether the segment gets a geo column even when no document has a point.
    pub geo: bool,
    /// Compression dictionary of an earlier segment ([`Store::dictionary`](super::Store::dictionary)); without one a
    /// large enough segment trains its own.
    pub store_dictionary: Option<Arc<[u8]>>,
}

/// A segment in the making. One thread fills it; threads that index together each have their own.
///
/// Per document: [`begin_document`](Self::begin_document), then words and column values in any order of fields, then
/// [`end_document`](Self::end_document). When two documents have the same internal id, the later one wins.
#[derive(Debug)]
pub struct SegmentWriter {}

impl SegmentWriter {
    /// An empty segment.
    pub fn new(_options: SegmentWriterOptions) -> SegmentWriter {
        unimplemented!("writer")
    }
    /// Starts a document: its internal id, primary key and JSON (one line).
    pub fn begin_document(&mut self, _id: InternalId, _key: &str, _json: &[u8]) {
        unimplemented!("writer")
    }
    /// The next word of a field. `Gap::Hard` before the first word of a field means nothing.
    pub fn word(&mut self, _field: FieldId, _word: &str, _gap: Gap) {
        unimplemented!("writer")
    }
    /// The next word of `field` belongs to another value (array element): a hard gap comes before it.
    pub fn next_value(&mut self, _field: FieldId) {
        unimplemented!("writer")
    }
    /// A number of a column (finite).
    pub fn column_number(&mut self, _field: FieldId, _value: f64) {
        unimplemented!("writer")
    }
    /// A string of a column; `normalised` is the facet form of `original`.
    pub fn column_string(&mut self, _field: FieldId, _normalised: &str, _original: &str) {
        unimplemented!("writer")
    }
    /// The field is null.
    pub fn column_null(&mut self, _field: FieldId) {
        unimplemented!("writer")
    }
    /// The field is an empty string, array or object.
    pub fn column_empty(&mut self, _field: FieldId) {
        unimplemented!("writer")
    }
    /// The field is there (an object with children, an array): nothing but its existence.
    pub fn column_exists(&mut self, _field: FieldId) {
        unimplemented!("writer")
    }
    /// The point of `_geo`; the last one of a document counts.
    pub fn geo(&mut self, _lat: f64, _lng: f64) {
        unimplemented!("writer")
    }
    /// Completes the document.
    pub fn end_document(&mut self) {
        unimplemented!("writer")
    }
    /// Forgets the document begun last (before `end_document`), for a document that turns out to be unusable.
    pub fn abandon_document(&mut self) {
        unimplemented!("writer")
    }
    /// Bytes this writer holds now and will need at most while finishing.
    pub fn memory_bytes(&self) -> usize {
        unimplemented!("writer")
    }
    /// Number of completed documents.
    pub fn doc_count(&self) -> u32 {
        unimplemented!("writer")
    }
    /// Writes `seg-<id>.lam` and syncs its content (the caller syncs the directory). At least one document.
    pub fn finish(self, _directory: &dyn Directory, _id: SegmentId) -> Result<SegmentMeta, SegmentError> {
        unimplemented!("writer")
    }
}
