//! Updates that send only some fields.

use super::DocumentError;

/// `old` with the top-level fields of `new` put over it, as one line. Fields keep the order of `old`; those that are
/// new follow in the order of `new`. Nested objects are replaced, not merged.
pub fn merge_documents(old: &[u8], new: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let _ = (old, new);
    unimplemented!("merge_documents")
}
