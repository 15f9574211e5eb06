//! The vectors of documents that are written: what comes with them is read, what is to be made is asked for.

mod active;
mod adapt;
mod complete;
mod document_vectors;
mod missing;

use lamina_segment::segment::SegmentReader;
use lamina_text::id::DocId;

pub(super) use active::ActiveEmbedder;
pub(in super::super) use adapt::asks_embedders;
pub(super) use adapt::{adapt_vectors, prepare_vectors};
pub(super) use complete::embed_waiting;
pub(super) use document_vectors::{DocumentVectors, check_log};
pub(super) use missing::Missing;

/// Previous document, if any, that a written document replaces.
#[derive(Clone, Copy, Debug)]
pub(super) enum Origin<'s> {
    /// No document: its id is new.
    New,
    /// A document that goes; vectors made from the same text are still right.
    Replaces(&'s SegmentReader, DocId),
    /// A document whose vectors it keeps, as far as it doesn't say otherwise.
    Updates(&'s SegmentReader, DocId),
    /// Itself: only its text is cut anew.
    Rewrites(&'s SegmentReader, DocId),
}

impl<'s> Origin<'s> {
    fn earlier(self) -> Option<(&'s SegmentReader, DocId)> {
        match self {
            Origin::New => None,
            Origin::Replaces(reader, doc) | Origin::Updates(reader, doc) | Origin::Rewrites(reader, doc) => {
                Some((reader, doc))
            }
        }
    }
}
