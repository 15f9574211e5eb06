//! Nearness of vectors: which documents of a segment lie in the direction of a query.

mod nearest;
mod scan;

pub use nearest::nearest;
pub(crate) use scan::nearest_by_scan;
pub use scan::{Pairing, QueryVector, nearest_of, similarities};
