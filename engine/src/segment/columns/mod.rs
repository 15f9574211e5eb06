//! "I have a field: which values are there, which document has which, and which documents have a value?"
//!
//! A column numbers the distinct values of a field by ordinals: first the numbers, ascending, then the normalised
//! strings, in byte order. Comparing ordinals compares values, a range of values is a range of ordinals, and a facet
//! count is a count per ordinal. Both directions are stored: ordinals by document (for sorting and counting) and
//! documents by ordinal (for filters and walks in sorted order). Values that at least one document in 16 has keep a
//! bitset of their documents instead of a list.
//!
//! ```text
//! column := doc_count u32, value_count u32, number_count u32, pair_count u32, dense_count u32,
//!           forward width u8, inverted width u8, multi-valued u8, zero u8, end of each part u64 {9}, parts
//! parts  := numbers, strings, originals, forward offsets, forward ordinals, inverted offsets, inverted documents,
//!           dense values, document sets
//! numbers   := 255 f64 {number_count}    as they are
//!            | exponent u8, smallest i64, monotone {number_count}      (smallest + value) / 10^exponent
//! strings   := monotone ends from 0 {strings + 1}, bytes
//! originals := the same; an empty one equals its string
//! forward   := single-valued: ordinal + 1 per document, 0 for none, at the forward width
//!            | multi-valued: offsets monotone {doc_count + 1}; ordinals at the forward width
//! inverted  := offsets monotone {value_count + 1}; documents at the inverted width; dense values have none there
//! dense     := (ordinal u32, number of documents u32) {dense_count}, bitset {dense_count}
//! sets      := null, empty, exists: each a length u32 and a document set
//! ```

mod builder;
mod doc_sets;
mod file;
mod reader;
mod section;

pub(crate) use builder::ColumnsBuilder;
pub use file::ColumnFileWriter;
pub use reader::{Column, Columns};
pub(crate) use section::{ColumnData, write_column};

/// A value of at least one document in this many is dense.
const DENSE_SHARE: u32 = 16;
/// Small segments have no dense values: rounding up to 64 documents would cost more than it gains.
const DENSE_DOCS_MIN: u32 = 1024;
