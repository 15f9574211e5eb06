//! What an index reports of itself.

use lamina_segment::segment::FileMeta;
use lamina_text::id::SegmentId;

use super::damaged::DamagedSegment;

/// The background merge of an index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeStatus {
    /// Segments being merged now; empty when none.
    pub running: Vec<SegmentId>,
    /// Merges finished since the index was opened.
    pub merge_count: u64,
    /// Reason for which the last merge failed; `None` once one succeeds. A failed merge changes nothing.
    pub last_error: Option<String>,
    /// True if the last failure was a full disk.
    pub out_of_space: bool,
}

/// The segments of an index.
#[derive(Clone, Debug, Default)]
pub struct IndexReport {
    pub generation: u64,
    pub document_count: u64,
    /// Bytes of all segment files.
    pub segment_bytes: u64,
    /// Length of the file that the last commit wrote.
    pub manifest_bytes: u64,
    pub segments: Vec<SegmentReport>,
    /// Segments that cannot be used.
    pub damaged: Vec<DamagedSegment>,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReport {
    pub id: SegmentId,
    /// Deleted ones included.
    pub doc_count: u32,
    pub deleted_count: u32,
    pub bytes: u64,
    /// Bytes of the documents' JSON.
    pub raw_bytes: u64,
    pub term_count: u32,
    pub token_count: u64,
    /// Files in the order of the manifest: the segment, then what was added to it.
    pub files: Vec<FileMeta>,
    /// Name and bytes of each section; those of a field or an embedder name it.
    pub sections: Vec<(String, u64)>,
}
