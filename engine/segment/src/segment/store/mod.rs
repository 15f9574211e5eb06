//! "I have a document id: what was the document?"
//!
//! The original JSON of the documents, in order, cut into blocks of a few kilobytes. What documents have between their values
//! is written as short codes; then either each document is codes of words, by a model of them, or a block is compressed with
//! zstd. What is known of documents beforehand, the model or a dictionary of zstd, is trained on documents of the index. A
//! store may hold several dictionaries: merging copies whole blocks together with the number of the dictionary they need.
//!
//! The layout is in `segment-format.md`.

mod block;
mod compress;
mod merge;
mod pieces;
mod prepared;
mod reader;
mod train;
mod walk;
mod words;
mod writer;

pub(crate) use merge::merge_stores;
#[cfg(test)]
pub(super) use pieces::{PIECES_BYTES_MAX, PIECES_MAX, example as pieces_example};
pub use reader::Store;
pub(crate) use reader::StoreSections;
pub(super) use walk::walked_index;
pub use writer::StoreDictionary;
pub(crate) use writer::StoreParts;

/// A block is closed before it grows past this many bytes of JSON (a larger document has a block of its own).
///
/// To read a document, all of its block is decompressed, a microsecond a kilobyte. 2 KB pack catalogue documents to
/// 0.311 of their size, 1.5 KB to 0.316. (Before pieces had numbers 4 KB packed them to 0.333, 2 KB to 0.341, 1 KB to
/// 0.358.)
const BLOCK_BYTES: usize = 3 * 512;
/// The same where documents are codes of words: of those only the wanted one is decoded, but all of the block is compared with
/// its checksum.
const WORD_BLOCK_BYTES: usize = 4 * 1024;
/// Dictionaries a store may hold: their numbers fit a byte, and each one costs some 300 KB of heap when it is used, a
/// model of words three times that.
pub(super) const DICTIONARIES_MAX: usize = 16;
