//! Numbers as bytes and bytes as numbers: little-endian reads, varints, bit-packed arrays, and sets of documents.
//!
//! [`kernels`] are the inner loops over vectors, compiled for the instructions found at run time.
//!
//! Everything that turns bytes of a file into integers lives here, so that bounds are checked in one place. Reads are
//! total: outside the slice they answer zero or `None`, they never panic, because a damaged file must not stop the
//! process.

pub(crate) mod bitpack;
mod bitset;
mod doc_set;
mod first_bytes;
pub mod kernels;
pub mod little_endian;
pub(crate) mod monotone;
mod sorted_list;
pub(crate) mod varint;

pub use bitset::BitsetBuilder;
pub use doc_set::{DocSet, DocSetIter};
pub(crate) use first_bytes::first_bytes;
