//! Which field names a document, and what names are allowed.

use super::{IdError, InferError};

/// Longest document id, in bytes.
pub const ID_BYTES_MAX: usize = 511;

/// A valid document id as text: `1` and `"1"` are the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(Box<str>);

impl DocumentId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0.into_string()
    }
}

impl std::fmt::Display for DocumentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of the document in `line`, found under the dotted `primary_key`.
pub fn document_id(line: &[u8], primary_key: &str) -> Result<DocumentId, IdError> {
    let _ = (line, primary_key);
    unimplemented!("document_id")
}

/// The one top-level field whose name ends with `id`, in any case.
pub fn infer_primary_key(line: &[u8]) -> Result<String, InferError> {
    let _ = line;
    unimplemented!("infer_primary_key")
}
