//! One pass over a document that hands out every leaf with its dotted path.

use super::DocumentError;

/// A dotted path met by one [`DocumentParser`], numbered from 0 at first sight. A visitor keeps a plain vector
/// beside it; numbers of different parsers have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathId(pub u32);

impl PathId {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A number as it is filtered, sorted and searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number<'d> {
    pub value: f64,
    /// Shortest decimal text that reads back as the number (`3.5` for `3.50`): what is searched and shown as facet.
    pub text: &'d str,
}

/// Where a leaf stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    pub path: PathId,
    /// It is an element of an array (or of a value inside one): a `null` there does not make the path null.
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
    /// What stops the visit.
    type Error: From<DocumentError>;

    /// A path that this parser meets for the first time, before anything else of it. Numbers come in order.
    fn new_path(&mut self, path: PathId, name: &str) -> Result<(), Self::Error>;
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
/// costs no allocation. One per thread.
#[derive(Debug, Default)]
pub struct DocumentParser {}

impl DocumentParser {
    pub fn new() -> DocumentParser {
        DocumentParser::default()
    }

    /// Visits the object in `line`.
    pub fn visit<V: DocumentVisitor>(&mut self, line: &[u8], visitor: &mut V) -> Result<(), V::Error> {
        let _ = (line, visitor);
        unimplemented!("DocumentParser::visit")
    }
}
