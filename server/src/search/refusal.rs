//! Refusals of searches: from the engine's errors to public codes.

use std::fmt;

use lamina_engine::search::SearchError;
use lamina_engine::sort::SortError;

use crate::error::{ApiError, Code};

/// What the settings of the index `uid` do not allow.
pub(super) fn search(uid: &str, error: &SearchError) -> ApiError {
    let code = match error {
        SearchError::Filter(_) => Code::InvalidSearchFilter,
        SearchError::Sort(_) => Code::InvalidSearchSort,
        SearchError::SearchOn(_) => Code::InvalidSearchAttributesToSearchOn,
        SearchError::NotDistinct { .. } => Code::InvalidSearchDistinct,
        other => return ApiError::internal(other.to_string()),
    };
    ApiError::new(code, format!("Index `{uid}`: {error}"))
}

/// A sort that can't be read.
pub(super) fn sort_syntax(error: &SortError) -> ApiError {
    ApiError::new(Code::InvalidSearchSort, error.to_string())
}

/// A stored document that can't be read back.
pub(super) fn unretrievable(error: impl fmt::Display) -> ApiError {
    ApiError::new(Code::UnretrievableDocument, error.to_string())
}

/// ``Cannot find embedder with name `x`.``
pub fn unknown_embedder(name: &str, code: Code) -> ApiError {
    ApiError::new(code, format!("Cannot find embedder with name `{name}`."))
}

/// A search by meaning alone.
pub(super) fn vectors_unavailable() -> ApiError {
    ApiError::new(
        Code::VectorEmbeddingError,
        "Error while generating embeddings: error: this server keeps embedders in its settings but does not search by \
         vectors yet. Lower `hybrid.semanticRatio` to search by words.",
    )
}
