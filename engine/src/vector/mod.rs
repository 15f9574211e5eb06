//! Nearness of vectors: which documents of a segment lie in the direction of a query.

mod nearest;
mod scan;

pub use nearest::nearest;
pub use scan::{Pairing, QueryVector, nearest_by_scan, similarities};
