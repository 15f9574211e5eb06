//! Several segments become one.

use super::{SegmentError, SegmentMeta, SegmentReader};
use crate::bits::DocSet;
use crate::id::{DocId, SegmentId};
use crate::storage::Directory;
use std::sync::atomic::AtomicBool;

/// A segment to merge.
#[derive(Debug)]
pub struct MergeInput<'a> {
    /// The segment.
    pub segment: &'a SegmentReader,
    /// Its deleted documents.
    pub deleted: Option<&'a DocSet>,
}

/// How to merge.
#[derive(Debug, Default)]
pub struct MergeOptions<'a> {
    /// Set from another thread to give up soon: the merge answers [`SegmentError::Cancelled`] and removes its file.
    pub cancelled: Option<&'a AtomicBool>,
    /// Fields whose columns are not carried over (no longer filterable or sortable).
    pub drop_columns: Vec<crate::id::FieldId>,
    /// Whether the geo column is not carried over.
    pub drop_geo: bool,
}

/// Where the documents of one input went.
#[derive(Clone, Debug)]
pub struct DocMap {
    new_docs: Vec<DocId>,
}

impl DocMap {
    pub(crate) const DROPPED: DocId = DocId::MAX;

    /// New id of a document, or `None` when it was deleted.
    pub fn get(&self, doc: DocId) -> Option<DocId> {
        self.new_docs.get(doc as usize).copied().filter(|&new| new != Self::DROPPED)
    }
}

/// A finished merge.
#[derive(Debug)]
pub struct Merged {
    /// The new segment; `None` when no document was left.
    pub meta: Option<SegmentMeta>,
    /// One per input, in the same order.
    pub doc_maps: Vec<DocMap>,
}

/// Writes the documents of `inputs` that are not deleted as the segment `id`, in order of their internal ids.
///
/// Streams: the memory it needs grows with the number of documents and terms (a few bytes each), not with the text.
/// A column is carried over when any input has it, unless it is to be dropped: an input without it has no document
/// with a value. (The index sees to that: it adds columns to old segments when a field becomes filterable or sortable,
/// and a segment written later got its column with the first value.) The same holds for the geo column.
pub fn merge(
    _inputs: &[MergeInput<'_>],
    _directory: &dyn Directory,
    _id: SegmentId,
    _options: &MergeOptions<'_>,
) -> Result<Merged, SegmentError> {
    unimplemented!("merge")
}
