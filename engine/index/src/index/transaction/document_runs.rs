//! The documents of a segment, read in runs.

use std::ops::Range;

use lamina_segment::segment::{SegmentError, SegmentReader};
use lamina_text::id::DocId;

use super::super::error::IndexError;

/// Documents are handed to threads in runs of this many, so that blocks of the store are read once.
const RUN_LENGTH: u32 = 2048;

/// All documents.
pub(super) fn runs_of(doc_count: u32) -> impl Iterator<Item = Range<DocId>> {
    (0..doc_count).step_by(RUN_LENGTH as usize).map(move |start| start..(start + RUN_LENGTH).min(doc_count))
}

/// Calls the store's `for_each` for callers with errors of their own.
pub(super) fn for_each_document(
    reader: &SegmentReader,
    docs: Range<DocId>,
    mut f: impl FnMut(DocId, &[u8]) -> Result<(), IndexError>,
) -> Result<(), IndexError> {
    let mut failure = None;
    let result = reader.store().for_each(docs, |doc, json| {
        f(doc, json).map_err(|error| {
            failure = Some(error);
            // Only ends the loop; the error itself is kept.
            SegmentError::Cancelled
        })
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(result?),
    }
}
