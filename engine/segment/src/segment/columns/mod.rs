//! "I have a field: which values are there, which document has which, and which documents have a value?"
//!
//! A column numbers the distinct values of a field by ordinals: first the numbers, ascending, then the normalised
//! strings, in byte order. Comparing ordinals compares values, a range of values is a range of ordinals, and a facet
//! count is a count per ordinal. Both directions are stored: ordinals by document (for sorting and counting) and
//! documents by ordinal (for filters and walks in sorted order). Values that at least one document in 16 has keep a
//! bitset of their documents instead of a list.
//!
//! The layout is in `segment-format.md`.

mod builder;
mod by_field;
mod doc_sets;
mod file;
mod patched;
mod reader;
mod section;

pub use builder::ColumnsBuilder;
pub use by_field::Columns;
pub use file::ColumnFileWriter;
pub use file::{write_patch_file, write_vector_file};
pub use reader::Column;
pub(crate) use section::ColumnData;
pub(crate) use section::write_column;

/// Value that a field of a document received after its segment was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum NewValue {
    /// Finite.
    Number(f64),
    /// In its normalised form, which is as it was sent.
    Text(&'static str),
}

/// A value of at least one document in this many is dense.
const DENSE_SHARE: u32 = 16;
/// Small segments have no dense values: rounding up to 64 documents would cost more than it gains.
const DENSE_DOCS_MIN: u32 = 1024;
