//! A view over the mapped file of a segment.

use super::{Columns, Geo, Keys, Postings, SegmentError, SegmentMeta, Store, Terms, TextFields, TokenColumn};
use crate::id::{DocId, InternalId};
use crate::storage::Directory;

/// An open segment. Everything is read from the mapped file; the heap holds a few kilobytes.
#[derive(Debug)]
pub struct SegmentReader {
    meta: SegmentMeta,
}

impl SegmentReader {
    /// Maps the files and checks their structure.
    pub fn open(_directory: &dyn Directory, _meta: &SegmentMeta) -> Result<SegmentReader, SegmentError> {
        unimplemented!("reader")
    }
    /// What the manifest says.
    pub fn meta(&self) -> &SegmentMeta {
        &self.meta
    }
    /// Number of documents, deleted ones included.
    pub fn doc_count(&self) -> u32 {
        self.meta.doc_count
    }
    /// Text fields the segment indexes.
    pub fn text_fields(&self) -> &TextFields {
        &self.meta.text_fields
    }
    /// Internal id of a document; ascends with the document.
    pub fn internal_id(&self, _doc: DocId) -> InternalId {
        unimplemented!("reader")
    }
    /// The document with this internal id.
    pub fn doc_of_internal_id(&self, _id: InternalId) -> Option<DocId> {
        unimplemented!("reader")
    }
    /// The term dictionary.
    pub fn terms(&self) -> &Terms {
        unimplemented!("reader")
    }
    /// Documents by term.
    pub fn postings(&self) -> &Postings {
        unimplemented!("reader")
    }
    /// Terms by document.
    pub fn tokens(&self) -> &TokenColumn {
        unimplemented!("reader")
    }
    /// Values by field.
    pub fn columns(&self) -> &Columns {
        unimplemented!("reader")
    }
    /// The geo column, when the segment was written with one.
    pub fn geo(&self) -> Option<&Geo> {
        unimplemented!("reader")
    }
    /// The documents.
    pub fn store(&self) -> &Store {
        unimplemented!("reader")
    }
    /// Documents by primary key.
    pub fn keys(&self) -> &Keys {
        unimplemented!("reader")
    }
    /// Re-reads every byte of all files: checksums, then the invariants of each section. Names the first damage.
    pub fn verify(&self) -> Result<(), SegmentError> {
        unimplemented!("reader")
    }
    /// Name and length in bytes of each section, for `inspect`.
    pub fn sections(&self) -> Vec<(String, u64)> {
        unimplemented!("reader")
    }
}
