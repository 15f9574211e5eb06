//! "I have a document id: what was the document?"
//!
//! The original JSON of the documents, in order, cut into blocks of a few kilobytes that are compressed one by one with
//! zstd. Small blocks make reading one document cheap; what they lose in ratio comes back from a dictionary trained on
//! documents of the index. A store may hold several dictionaries: merging copies whole compressed blocks together
//! with the number of the dictionary they need.
//!
//! ```text
//! store := block{…}
//! block := dictionary u8 (0: none, else its number from 1), bytes of the lengths varint, bytes of JSON varint, zstd frame
//! raw   := length varint {documents of the block}, JSON {documents of the block}
//! index := first document of each block and the document count (monotone), ends of the blocks (monotone, from 0)
//! dictionaries := count u8, length u32 {count}, bytes
//! ```

mod compress;
mod merge;
mod reader;
mod writer;

pub(crate) use merge::merge_stores;
pub use reader::Store;
pub use writer::StoreDictionary;
pub(crate) use writer::StoreParts;

/// A block is closed before it grows past this many raw bytes (a larger document has a block of its own).
const BLOCK_BYTES: usize = 4 * 1024;
/// Dictionaries a store may hold: their numbers fit a byte, and each one costs some 150 KB of heap when it is used.
const DICTIONARIES_MAX: usize = 16;
