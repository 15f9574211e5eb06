//! What a hit looks like: which attributes it shows, where the query matched in them, and the formatted copy with
//! tags around matches and long texts cropped.
//!
//! Everything works on the stored JSON text of a document. What is shown unchanged is copied as bytes, so numbers keep
//! the digits and keys the order they were sent with.

mod crop;
mod formatter;
mod matcher;
mod matches;
mod projection;
#[cfg(test)]
mod properties;
mod selection;
mod terms;
mod value;

#[cfg(test)]
mod tests;

pub use formatter::{FormatOptions, Formatted, Formatter};
pub use projection::{Projection, append_field};
pub use selection::{CropSelection, Selection};
pub use terms::{Covers, MatchingTerms};
pub use value::StoredDocumentError;
