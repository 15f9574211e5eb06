//! "I have a primary key: which document is it?"

use crate::id::DocId;

/// The primary keys of a segment.
#[derive(Debug)]
pub struct Keys {}

impl Keys {
    /// The document with this key. An absent key costs one load, nearly always.
    pub fn get(&self, _key: &[u8]) -> Option<DocId> {
        unimplemented!("keys")
    }
    /// Calls `f` with each key and its document, in byte order of the keys.
    pub fn for_each(&self, _f: impl FnMut(&[u8], DocId)) {
        unimplemented!("keys")
    }
}
