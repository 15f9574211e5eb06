//! Numbers as bytes: little-endian reads, varints, bit-packed arrays, and sets of documents.
//!
//! Everything that turns bytes of a file into integers lives here, so that bounds are checked in one place. Reads are
//! total: outside the slice they answer zero or `None`, they never panic, because a damaged file must not stop the
//! process.

pub(crate) mod bitpack;
mod doc_set;
pub(crate) mod little_endian;
pub(crate) mod monotone;
pub(crate) mod varint;

pub use doc_set::{BitsetBuilder, DocSet, DocSetIter};
