//! Which attributes of a document a hit shows.

use lamina_segment::document::members;
use memchr::memmem;
use serde_json::value::RawValue;

use super::selection::{Selected, Selection};
use super::value::{Kind, StoredDocumentError, child_path, elements, write_string};

/// Holds a document's own vectors; shown only on request.
const VECTORS_KEY: &str = "_vectors";

/// Attributes that a hit shows: those that are both displayed and retrieved.
#[derive(Clone, Debug)]
pub struct Projection {
    /// `displayedAttributes` of the index.
    pub displayed: Selection,
    /// `attributesToRetrieve` of the request.
    pub retrieved: Selection,
    /// True if `_vectors` may be shown at all (`retrieveVectors`).
    pub with_vectors: bool,
}

impl Projection {
    /// Writes what is shown of `document` (the text of a JSON object) to `out`, as a JSON object. A document that is
    /// shown whole costs a copy of its bytes.
    pub fn write(&self, document: &[u8], out: &mut Vec<u8>) -> Result<(), StoredDocumentError> {
        let everything = self.displayed == Selection::All && self.retrieved == Selection::All;
        if everything && (self.with_vectors || memmem::find(document, VECTORS_KEY.as_bytes()).is_none()) {
            out.extend_from_slice(document);
            return Ok(());
        }
        self.write_object("", [Selected::Below; 2], std::str::from_utf8(document)?, out)?;
        Ok(())
    }

    /// Returns how the two lists select a member, given how they select the object that contains it. A selected name
    /// also selects what is nested in it, but not another key that only looks like a path below it.
    fn member(&self, parent: [Selected; 2], path: &str) -> [Selected; 2] {
        let mut lists = [&self.displayed, &self.retrieved].into_iter();
        parent.map(|parent| match (parent, lists.next()) {
            (Selected::Below, Some(list)) => list.member(path),
            (parent, _) => parent,
        })
    }

    pub(super) fn hides_vectors(&self, path: &str) -> bool {
        !self.with_vectors && path == VECTORS_KEY
    }

    /// Writes what is shown of the object; answers whether that is anything.
    fn write_object(
        &self,
        path: &str,
        lists: [Selected; 2],
        object: &str,
        out: &mut Vec<u8>,
    ) -> Result<bool, StoredDocumentError> {
        let start = out.len();
        out.push(b'{');
        for (key, value) in members(object)? {
            let (path, value) = (child_path(path, &key), value.get());
            let lists = self.member(lists, &path);
            let selected = lists[0].and(lists[1]);
            if selected == Selected::No || self.hides_vectors(&path) {
                continue;
            }
            let member = out.len();
            if out.len() > start + 1 {
                out.push(b',');
            }
            write_string(out, &key);
            out.push(b':');
            match (selected, Kind::of(value)) {
                (Selected::Whole, _) => out.extend_from_slice(value.as_bytes()),
                (_, Kind::Object) => drop(self.write_object(&path, lists, value, out)?),
                (_, Kind::Array) => self.write_array(&path, lists, value, out)?,
                // Nothing below it can be asked for, but that it is there and empty is shown.
                (_, Kind::Literal) if value == "null" => out.extend_from_slice(value.as_bytes()),
                _ => out.truncate(member),
            }
        }
        let shows_any = out.len() > start + 1;
        out.push(b'}');
        Ok(shows_any)
    }

    /// Writes what is shown of the elements; those without anything are left out.
    fn write_array(
        &self,
        path: &str,
        lists: [Selected; 2],
        array: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), StoredDocumentError> {
        let start = out.len();
        out.push(b'[');
        for value in elements(array)?.into_iter().map(RawValue::get) {
            let element = out.len();
            if out.len() > start + 1 {
                out.push(b',');
            }
            let is_shown = match Kind::of(value) {
                Kind::Object => self.write_object(path, lists, value, out)?,
                Kind::Array => self.write_array(path, lists, value, out).map(|()| true)?,
                _ => false,
            };
            if !is_shown {
                out.truncate(element);
            }
        }
        out.push(b']');
        Ok(())
    }
}

/// Adds a member to the end of the JSON object in `object`; `value` is raw JSON.
pub fn append_field(object: &mut Vec<u8>, key: &str, value: &[u8]) {
    let trimmed = object.trim_ascii_end().len();
    object.truncate(trimmed);
    assert_eq!(object.pop(), Some(b'}'), "appending needs an object");
    let inside = object.trim_ascii_end().len();
    object.truncate(inside);
    if !object.ends_with(b"{") {
        object.push(b',');
    }
    write_string(object, key);
    object.push(b':');
    object.extend_from_slice(value);
    object.push(b'}');
}
