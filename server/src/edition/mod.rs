//! Editing documents with a function that a request brings along, in Rhai. The function sees one document and what the
//! request gives as context, and nothing else: no files, no network, no clock, no other document.

mod document;
mod function;
mod value;

pub(crate) use document::{Document, Edition};
pub(crate) use function::{EditionError, Function};
