//! One pass over a document that hands out every leaf with its dotted path.

use super::DocumentError;
use super::number::Number;
use super::paths::{Paths, Reserved};
use super::scan::{DEPTH_MAX, RawString, Scanner, unescape};

/// A dotted path met by one [`DocumentParser`], numbered from 0 at first sight. A visitor keeps a plain vector
/// beside it; numbers of different parsers have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Position of a leaf in a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: PathId,
    /// True for an element of an array, or of one inside of it: a `null` there does not make the path null. The fields of an
    /// object are no elements, wherever the object is.
    pub in_array: bool,
    /// A text-bearing leaf (string, number, boolean) was already given for this path in this document: the next
    /// words start after a hard gap.
    pub repeated: bool,
}

/// Receives a document's leaves in reading order. All methods but the strings and numbers default to nothing.
///
/// `_vectors` and `_geojson` at the top level are not descended; they come as raw JSON. `_geo` comes as raw JSON
/// *and* is descended, for its coordinates are fields like others.
pub trait DocumentVisitor {
    /// Error that stops the visit.
    type Error: From<DocumentError>;

    /// A path that this parser meets for the first time, before anything else of it. Numbers come in order.
    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), Self::Error>;
    /// Reports whether anything at `path` or below it is needed. The parser calls it for each key at that path, and
    /// skips the value unread if it returns false.
    fn wants(&mut self, path: PathId) -> bool {
        let _ = path;
        true
    }
    /// A key is there, whatever its value. A path may be met several times in a document (objects in arrays).
    fn key(&mut self, path: PathId, top_level: bool) -> Result<(), Self::Error> {
        let _ = (path, top_level);
        Ok(())
    }
    /// May be empty; [`DocumentVisitor::empty`] follows then.
    fn string(&mut self, leaf: Leaf, value: &str) -> Result<(), Self::Error>;
    fn number(&mut self, leaf: Leaf, value: Number<'_>) -> Result<(), Self::Error>;
    fn boolean(&mut self, leaf: Leaf, value: bool) -> Result<(), Self::Error>;
    fn null(&mut self, leaf: Leaf) -> Result<(), Self::Error> {
        let _ = leaf;
        Ok(())
    }
    /// The value is `""`, `[]` or `{}`.
    fn empty(&mut self, leaf: Leaf) -> Result<(), Self::Error> {
        let _ = leaf;
        Ok(())
    }
    /// Top-level `_geo`, any JSON value.
    fn geo(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
    /// Top-level `_vectors`, any JSON value.
    fn vectors(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
    /// Top-level `_geojson`, any JSON value.
    fn geojson(&mut self, json: &str) -> Result<(), Self::Error> {
        let _ = json;
        Ok(())
    }
}

/// Visits documents one after the other; keeps the paths it has met and its scratch space, so that a document
/// costs no allocation once its paths are known. One per thread.
#[derive(Debug, Default)]
pub struct DocumentParser {
    paths: Paths,
    text: String,
    key: String,
    number: Vec<u8>,
}

impl DocumentParser {
    pub fn new() -> DocumentParser {
        DocumentParser::default()
    }

    /// Visits the object in `line`. Errors of the visitor end the visit; the parser can be used again.
    pub fn visit<V: DocumentVisitor>(&mut self, line: &[u8], visitor: &mut V) -> Result<(), V::Error> {
        let line = std::str::from_utf8(line).map_err(|error| DocumentError::Utf8 { at: error.valid_up_to() })?;
        self.paths.begin_document();
        let mut visit = Visit { parser: self, visitor, line, scanner: Scanner::new(line.as_bytes()) };
        visit.object(None, false, 1)?;
        if visit.scanner.peek().is_some() { Ok(visit.scanner.error()?) } else { Ok(()) }
    }
}

struct Visit<'v, 'd, V> {
    parser: &'v mut DocumentParser,
    visitor: &'v mut V,
    line: &'d str,
    scanner: Scanner<'d>,
}

impl<V: DocumentVisitor> Visit<'_, '_, V> {
    /// The fields of an object at `parent`, the document itself being `None`. The opening brace comes next.
    fn object(&mut self, parent: Option<PathId>, in_array: bool, depth: usize) -> Result<(), V::Error> {
        self.scanner.expect(b'{')?;
        if self.scanner.accept(b'}') {
            return match parent {
                Some(path) => self.visitor.empty(Leaf { path, in_array, repeated: false }),
                None => Ok(()),
            };
        }
        let mut hint = 0;
        loop {
            let key = self.scanner.key()?;
            self.field(parent, key, &mut hint, depth)?;
            if self.scanner.accept(b'}') {
                return Ok(());
            }
            self.scanner.expect(b',')?;
        }
    }

    fn field(
        &mut self,
        parent: Option<PathId>,
        key: RawString,
        hint: &mut usize,
        depth: usize,
    ) -> Result<(), V::Error> {
        let line = self.line;
        let DocumentParser { paths, key: scratch, .. } = &mut *self.parser;
        let key = text(line, key, scratch)?;
        if parent.is_none() && key == "_vectors" {
            let value = self.scanner.skip()?;
            return self.visitor.vectors(&line[value]);
        }
        let (child, is_new) = paths.child(parent, key, hint);
        if is_new {
            self.visitor.new_path(child.path, self.parser.paths.name(child.path))?;
        }
        if !self.visitor.wants(child.path) {
            self.scanner.skip()?;
            return Ok(());
        }
        self.visitor.key(child.path, parent.is_none())?;
        match child.reserved {
            Reserved::No => {}
            Reserved::GeoJson => {
                let value = self.scanner.skip()?;
                return self.visitor.geojson(&line[value]);
            }
            Reserved::Geo => {
                let value = self.scanner.clone().skip()?;
                self.visitor.geo(&line[value])?;
            }
        }
        self.value(child.path, false, depth)
    }

    /// The value that comes next, at `path`, inside `depth` objects and arrays.
    fn value(&mut self, path: PathId, in_array: bool, depth: usize) -> Result<(), V::Error> {
        let line = self.line;
        match self.scanner.peek() {
            Some(b'"') => {
                let string = self.scanner.string()?;
                let leaf = self.text_leaf(path, in_array);
                let value = text(line, string, &mut self.parser.text)?;
                self.visitor.string(leaf, value)?;
                if value.is_empty() { self.visitor.empty(leaf) } else { Ok(()) }
            }
            Some(b'{' | b'[') if depth >= DEPTH_MAX => Err(DocumentError::TooDeep { max: DEPTH_MAX }.into()),
            Some(b'{') => self.object(Some(path), in_array, depth + 1),
            Some(b'[') => self.array(path, in_array, depth + 1),
            Some(first @ (b't' | b'f')) => {
                let value = first == b't';
                self.scanner.literal(if value { b"true" } else { b"false" })?;
                let leaf = self.text_leaf(path, in_array);
                self.visitor.boolean(leaf, value)
            }
            Some(b'n') => {
                self.scanner.literal(b"null")?;
                self.visitor.null(Leaf { path, in_array, repeated: false })
            }
            _ => {
                let raw = self.scanner.number()?;
                let leaf = self.text_leaf(path, in_array);
                let number = Number::read(&line[raw], &mut self.parser.number);
                self.visitor.number(leaf, number)
            }
        }
    }

    fn array(&mut self, path: PathId, in_array: bool, depth: usize) -> Result<(), V::Error> {
        self.scanner.expect(b'[')?;
        if self.scanner.accept(b']') {
            return self.visitor.empty(Leaf { path, in_array, repeated: false });
        }
        loop {
            self.value(path, true, depth)?;
            if self.scanner.accept(b']') {
                return Ok(());
            }
            self.scanner.expect(b',')?;
        }
    }

    fn text_leaf(&mut self, path: PathId, in_array: bool) -> Leaf {
        Leaf { path, in_array, repeated: self.parser.paths.repeated(path) }
    }
}

/// The text of a string of `line`; in `scratch` when it has escapes.
fn text<'t>(line: &'t str, string: RawString, scratch: &'t mut String) -> Result<&'t str, DocumentError> {
    let raw = &line[string.range()];
    if !string.escaped {
        return Ok(raw);
    }
    scratch.clear();
    unescape(raw.as_bytes(), string.start, scratch)?;
    Ok(scratch)
}

#[cfg(test)]
mod tests;
