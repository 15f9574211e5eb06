//! The kind of search that a request asks for.

use lamina_base::error::{ApiError, ApiResult, Code};

use super::{ArmThresholds, Hybrid, SearchQuery};

/// Criterion of the hits and their order.
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
    /// Returns two minimum scores. The first is that of hits by words, or of all hits of a search by meaning alone. The
    /// second is that of hits by nearness, where there are both.
    pub fn score_thresholds(&self) -> [Option<f64>; 2] {
        let of_arms = self.hybrid.as_ref().map_or(ArmThresholds::default(), |hybrid| hybrid.thresholds);
        let of_all = self.ranking_score_threshold;
        match self.kind() {
            Ok(SearchKind::Semantic(_)) => [of_arms.vectors.or(of_all), None],
            Ok(SearchKind::Hybrid(_)) => [of_arms.words.or(of_all), of_arms.vectors.or(of_all)],
            _ => [of_arms.words.or(of_all), None],
        }
    }

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
