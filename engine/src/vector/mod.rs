//! Nearness of vectors: which documents of a segment lie in the direction of a query.

mod scan;

pub use scan::{Pairing, QueryVector, similarities};
