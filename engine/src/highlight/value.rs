//! Walks the stored JSON text of a document without building a tree of it.

use serde_json::value::RawValue;
use thiserror::Error;

/// The stored text of a document can't be read back: the store is damaged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoredDocumentError {
    #[error("a stored document is no JSON object")]
    Json(#[from] serde_json::Error),
    #[error("a stored document is not UTF-8")]
    Text(#[from] std::str::Utf8Error),
    /// Formatting it takes more memory than it may.
    #[error("a document takes more memory to format than there is for it")]
    Memory,
}

/// Type of a raw JSON value, judged by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    /// `true`, `false`, `null`
    Literal,
}

impl Kind {
    pub(super) fn of(raw: &str) -> Kind {
        match raw.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Literal,
        }
    }
}

/// The elements of an array in order.
pub(super) fn elements(array: &str) -> Result<Vec<&RawValue>, StoredDocumentError> {
    Ok(serde_json::from_str(array)?)
}

/// Writes `text` as a JSON string.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string to memory can't fail");
}

/// The path of `key` inside the object at `path`.
pub(super) fn child_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
