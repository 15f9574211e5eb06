//! Short codes of the vectors of one embedder, for finding candidates: four bits a dimension instead of 32, so a scan
//! reads an eighth, and in large segments lists of vectors that lie together, so it need not read them all.
//!
//! Codes only say who may be near; the vectors themselves say who is. A code is made of one vector alone: it is turned
//! (by a rotation that is the same for all, so that every dimension weighs equally much), divided by its length and
//! rounded to sixteen steps. So nothing is trained, codes of segments that merge are those that were, and a filter costs
//! no accuracy: whatever passes it is compared.
//!
//! Lists are the exception, they are found by [clustering](lists). They too are only a matter of speed: how far a
//! search has to look is [bounded](VectorCodes::reach) by how far vectors stray from the centre of their list.
//!
//! The layout is in `segment-format.md`.

mod lists;
mod quantizer;
mod reader;
mod rotation;
mod rows;
mod write;

pub use quantizer::CodedQuery;
pub use reader::VectorCodes;
pub(crate) use write::CodedRows;
pub(crate) use write::EarlierLists;
pub(crate) use write::write_codes;

use super::{ListThresholds, VectorShape};

/// Shorter vectors are scanned as they are: little is gained, and few dimensions average few errors out.
pub(crate) const CODED_DIMENSIONS_MIN: u32 = 32;

/// Reports whether a segment has codes for `vector_count` vectors.
pub(crate) fn are_coded(shape: VectorShape, vector_count: usize, thresholds: &ListThresholds) -> bool {
    !shape.binary && shape.dimensions >= CODED_DIMENSIONS_MIN && vector_count >= thresholds.coded_vectors_min
}

#[cfg(test)]
pub(super) mod tests;
