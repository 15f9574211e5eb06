//! The empty text as a value that documents are compared with.

use super::reading::passing_when_read;
use super::time_limit::{OutOfTime, TimeLimit};
use crate::bits::DocSet;
use crate::document::{DocumentError, DocumentVisitor, Leaf, Number, PathId};
use crate::segment::{Column, SegmentReader};
use crate::text::normalize_facet;

/// The documents that have an empty text, or one of spaces, among the values of the field `name`, which `column` belongs
/// to. Cost: one set; in segments of versions that did not note them, reading all documents with the field.
///
/// # Errors
/// When the time is up.
pub(super) fn blank_documents(
    name: &str,
    column: &Column,
    reader: &SegmentReader,
    limit: TimeLimit<'_>,
) -> Result<DocSet, OutOfTime> {
    if let Some(docs) = column.blank() {
        return Ok(docs);
    }
    let mut paths = Vec::new();
    passing_when_read(&column.exists(), reader, limit, |_, parser, json| {
        let mut texts = Texts { name, paths: &mut paths, has_blank: false };
        parser.visit(json, &mut texts).is_ok() && texts.has_blank
    })
}

/// Looks for an empty text in one field of a document.
struct Texts<'q> {
    name: &'q str,
    /// By path of the parser: whether it is the field.
    paths: &'q mut Vec<bool>,
    has_blank: bool,
}

impl DocumentVisitor for Texts<'_> {
    type Error = DocumentError;

    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), DocumentError> {
        debug_assert_eq!(path.index(), self.paths.len(), "paths come in order");
        self.paths.push(name == self.name);
        Ok(())
    }

    fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), DocumentError> {
        self.has_blank |= self.paths[leaf.path.index()] && normalize_facet(value).is_empty();
        Ok(())
    }

    fn number(&mut self, _leaf: Leaf, _value: Number<'_>) -> Result<(), DocumentError> {
        Ok(())
    }

    fn boolean(&mut self, _leaf: Leaf, _value: bool) -> Result<(), DocumentError> {
        Ok(())
    }
}
