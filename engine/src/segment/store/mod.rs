//! "I have a document id: what was the document?"

use super::SegmentError;
use crate::id::DocId;

/// The original JSON of the documents.
#[derive(Debug)]
pub struct Store {}

impl Store {
    /// Replaces `out` by the JSON object of a document (one line, no newline). Decompresses one block of a few KB.
    pub fn get(&self, _doc: DocId, _out: &mut Vec<u8>) -> Result<(), SegmentError> {
        unimplemented!("store")
    }
    /// Calls `f` with each document of the range in order; each block is decompressed once.
    pub fn for_each(
        &self,
        _docs: std::ops::Range<DocId>,
        _f: impl FnMut(DocId, &[u8]) -> Result<(), SegmentError>,
    ) -> Result<(), SegmentError> {
        unimplemented!("store")
    }
    /// The compression dictionary that new segments of the same index should start from.
    pub fn dictionary(&self) -> Option<&[u8]> {
        unimplemented!("store")
    }
}
