//! Refusals of searches: from the engine's errors to public codes.

use std::fmt;

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, Code};
use lamina_engine::index::embedding::EmbedFailure;
use lamina_engine::search::SearchError;
use lamina_engine::sort::SortError;

/// Converts an error that the settings of the index `uid`, or its damage, cause in a search.
pub(super) fn search(uid: &str, error: &SearchError) -> ApiError {
    let code = match error {
        SearchError::Filter(_) => Code::InvalidSearchFilter,
        SearchError::Sort(_) => Code::InvalidSearchSort,
        SearchError::Boost(_) => Code::InvalidSearchBoosts,
        SearchError::SearchOn(_) => Code::InvalidSearchAttributesToSearchOn,
        SearchError::NotDistinct { .. } => Code::InvalidSearchDistinct,
        SearchError::Damaged(_) => Code::InvalidStoreFile,
        // Not about the index but about the parameter, so the index is not named.
        SearchError::UnknownEmbedder { name } => return unknown_embedder(name, Code::InvalidSearchEmbedder),
        SearchError::VectorDimensions { .. } => {
            return ApiError::new(Code::InvalidVectorDimensions, error.sentence());
        }
        other => return ApiError::internal(other.to_string()),
    };
    ApiError::new(code, format!("Index `{uid}`: {}", error.sentence()))
}

/// A sort that can't be read.
pub(super) fn sort_syntax(error: &SortError) -> ApiError {
    ApiError::new(Code::InvalidSearchSort, error.sentence())
}

/// A stored document that can't be read back.
pub(super) fn unretrievable(error: impl fmt::Display) -> ApiError {
    ApiError::new(Code::UnretrievableDocument, error.to_string())
}

/// ``Cannot find embedder with name `x`.``
pub(crate) fn unknown_embedder(name: &str, code: Code) -> ApiError {
    ApiError::new(code, format!("Cannot find embedder with name `{name}`."))
}

/// The text of a query that got no vector.
pub(super) fn not_embedded(failure: &EmbedFailure) -> ApiError {
    ApiError::new(Code::VectorEmbeddingError, format!("Error while generating embeddings: {failure}"))
}
