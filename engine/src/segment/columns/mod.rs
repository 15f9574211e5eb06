//! "I have a field: which values are there, which document has which, and which documents have a value?"

use super::{ColumnFileMeta, SegmentError, SegmentMeta};
use crate::bits::{BitsetBuilder, DocSet};
use crate::id::{DocId, FieldId};
use crate::storage::Directory;
use std::ops::Range;

/// The columns of a segment.
#[derive(Debug)]
pub struct Columns {}

impl Columns {
    /// The column of a field, or `None` when the segment was written without it.
    pub fn get(&self, _field: FieldId) -> Option<Column> {
        unimplemented!("columns")
    }
    /// The fields that have a column, ascending.
    pub fn fields(&self) -> impl Iterator<Item = FieldId> + '_ {
        std::iter::empty()
    }
}

/// One column. Its values are numbered by ordinals: first the distinct numbers ascending, then the distinct normalised
/// strings in byte order. Cheap to clone (shared bytes).
#[derive(Clone, Debug)]
pub struct Column {}

impl Column {
    /// Number of distinct values.
    pub fn value_count(&self) -> u32 {
        unimplemented!("columns")
    }
    /// Number of distinct numbers; ordinals below it are numbers, from it on strings.
    pub fn number_count(&self) -> u32 {
        unimplemented!("columns")
    }
    /// The number of an ordinal (NaN for others).
    pub fn number(&self, _ordinal: u32) -> f64 {
        unimplemented!("columns")
    }
    /// The normalised string of an ordinal (empty for others).
    pub fn string(&self, _ordinal: u32) -> &str {
        unimplemented!("columns")
    }
    /// The string as the first document with it wrote it (empty for others).
    pub fn original(&self, _ordinal: u32) -> &str {
        unimplemented!("columns")
    }
    /// Whether no document has more than one value.
    pub fn is_single_valued(&self) -> bool {
        unimplemented!("columns")
    }
    /// Replaces `out` by the ordinals of a document, ascending.
    pub fn ordinals_of(&self, _doc: DocId, _out: &mut Vec<u32>) {
        unimplemented!("columns")
    }
    /// Calls `f` with each ordinal of a document, ascending.
    pub fn for_each_ordinal(&self, _doc: DocId, _f: impl FnMut(u32)) {
        unimplemented!("columns")
    }
    /// Smallest ordinal of a document.
    pub fn first(&self, _doc: DocId) -> Option<u32> {
        unimplemented!("columns")
    }
    /// Largest ordinal of a document.
    pub fn last(&self, _doc: DocId) -> Option<u32> {
        unimplemented!("columns")
    }
    /// Number of documents that have the value.
    pub fn doc_freq(&self, _ordinal: u32) -> u32 {
        unimplemented!("columns")
    }
    /// Calls `f(ordinal, doc)` for each document of each value of the range, by ascending ordinal, then document.
    pub fn for_each_doc(&self, _ordinals: Range<u32>, _f: impl FnMut(u32, DocId)) {
        unimplemented!("columns")
    }
    /// The documents of one value, ascending.
    pub fn docs_of(&self, _ordinal: u32) -> Box<dyn Iterator<Item = DocId> + '_> {
        unimplemented!("columns")
    }
    /// Adds the documents of the values of a range.
    pub fn add_docs(&self, _ordinals: Range<u32>, _set: &mut BitsetBuilder) {
        unimplemented!("columns")
    }
    /// Ordinal of a normalised string, or where it would be inserted.
    pub fn find_string(&self, _value: &str) -> Result<u32, u32> {
        unimplemented!("columns")
    }
    /// Ordinal of a number, or where it would be inserted.
    pub fn find_number(&self, _value: f64) -> Result<u32, u32> {
        unimplemented!("columns")
    }
    /// Documents in which the field is null.
    pub fn null(&self) -> DocSet {
        unimplemented!("columns")
    }
    /// Documents in which the field is an empty string, array or object.
    pub fn empty(&self) -> DocSet {
        unimplemented!("columns")
    }
    /// Documents that have the field at all.
    pub fn exists(&self) -> DocSet {
        unimplemented!("columns")
    }
}

/// Builds columns for the documents of an existing segment, as a file beside it.
///
/// Call [`begin_document`](Self::begin_document) once for each document of the segment, in order, then the values.
#[derive(Debug)]
pub struct ColumnFileWriter {}

impl ColumnFileWriter {
    /// Columns of `fields` (and of every other field that gets a value), and the geo column when `geo` is set.
    pub fn new(_fields: &[FieldId], _geo: bool) -> ColumnFileWriter {
        unimplemented!("columns")
    }
    /// Starts the next document.
    pub fn begin_document(&mut self) {
        unimplemented!("columns")
    }
    /// See [`SegmentWriter`](super::SegmentWriter).
    pub fn column_number(&mut self, _field: FieldId, _value: f64) {
        unimplemented!("columns")
    }
    /// `normalised` is the facet form of `original`.
    pub fn column_string(&mut self, _field: FieldId, _normalised: &str, _original: &str) {
        unimplemented!("columns")
    }
    /// The field is null.
    pub fn column_null(&mut self, _field: FieldId) {
        unimplemented!("columns")
    }
    /// The field is an empty string, array or object.
    pub fn column_empty(&mut self, _field: FieldId) {
        unimplemented!("columns")
    }
    /// The field is there (an object with children, an array): nothing but its existence.
    pub fn column_exists(&mut self, _field: FieldId) {
        unimplemented!("columns")
    }
    /// The point of `_geo`.
    pub fn geo(&mut self, _lat: f64, _lng: f64) {
        unimplemented!("columns")
    }
    /// Writes `seg-<id>-c<n>.lam`, where `n` is one more than the highest that `meta` names, synced. Add the answer
    /// to `meta.column_files` and reopen the segment.
    pub fn finish(self, _directory: &dyn Directory, _meta: &SegmentMeta) -> Result<ColumnFileMeta, SegmentError> {
        unimplemented!("columns")
    }
}
