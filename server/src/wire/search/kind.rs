//! Which kind of search a request asks for.

use lamina_engine::search::{DEFAULT_RRF_K, Fusion, MatchingStrategy};

use super::SearchQuery;
use crate::error::{ApiError, ApiResult, Code};

/// The part of an embedder in a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// Name of the embedder.
    pub embedder: String,
    /// From 0 (words only) to 1 (meaning only).
    pub semantic_ratio: f32,
    /// How both lists are merged; by the strategy when it is not said.
    pub fusion: Option<Fusion>,
}

impl Hybrid {
    /// Half words, half meaning.
    pub const DEFAULT_RATIO: f32 = 0.5;
    /// The ways to merge, by name.
    pub const FUSIONS: [(&'static str, Fusion); 3] =
        [("score", Fusion::Score), ("rrf", Fusion::Rrf { k: DEFAULT_RRF_K }), ("relative", Fusion::Relative)];
    /// The largest `rrfK`.
    pub const RRF_K_MAX: f64 = 1e6;

    /// How lists are merged: as asked for, else by score, as the protocol has it, and for questions by normalised scores.
    pub fn fusion_for(&self, strategy: MatchingStrategy) -> Fusion {
        let default = if strategy == MatchingStrategy::Any { Fusion::Relative } else { Fusion::Score };
        self.fusion.unwrap_or(default)
    }
}

/// What decides about hits and their order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SearchKind<'a> {
    /// Words, or nothing at all (a placeholder search).
    Keyword,
    /// The nearness of vectors.
    Semantic(&'a Hybrid),
    /// Both, merged.
    Hybrid(&'a Hybrid),
}

impl SearchQuery {
    /// The kind of this search. The embedder's name is not looked up.
    ///
    /// # Errors
    /// `missing_search_hybrid` when there is a vector but no embedder, `invalid_search_media_and_vector`.
    pub fn kind(&self) -> ApiResult<SearchKind<'_>> {
        let has_text = self.text().is_some();
        if self.vector.is_some() && self.media.is_some() {
            return Err(ApiError::new(
                Code::InvalidSearchMediaAndVector,
                "Invalid request: both `media` and `vector` parameters are present.",
            ));
        }
        let has_vector = self.vector.is_some() || self.media.is_some();
        match &self.hybrid {
            None if has_vector => Err(ApiError::new(
                Code::MissingSearchHybrid,
                "Invalid request: missing `hybrid` parameter when `vector` or `media` are present.",
            )),
            None => Ok(SearchKind::Keyword),
            Some(hybrid) if hybrid.semantic_ratio == 0.0 || !(has_text || has_vector) => Ok(SearchKind::Keyword),
            Some(hybrid) if hybrid.semantic_ratio == 1.0 || !has_text => Ok(SearchKind::Semantic(hybrid)),
            Some(hybrid) => Ok(SearchKind::Hybrid(hybrid)),
        }
    }
}
