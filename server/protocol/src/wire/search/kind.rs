//! Which kind of search a request asks for.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::search::{DEFAULT_RRF_K, Fusion, MatchingStrategy};

use super::SearchQuery;

/// The part of an embedder in a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Hybrid {
    /// Name of the embedder.
    pub embedder: String,
    /// From 0 (words only) to 1 (meaning only).
    pub semantic_ratio: f32,
    /// How both lists are merged; by the strategy when it is not said.
    pub fusion: Option<Fusion>,
    /// What the hits of each list score at least.
    pub thresholds: ArmThresholds,
}

/// What the hits of each list of a hybrid search score at least, from 0 to 1, where that is not as
/// `rankingScoreThreshold` says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmThresholds {
    /// Of those by words.
    pub words: Option<f64>,
    /// Of those by nearness: their similarity.
    pub vectors: Option<f64>,
}

impl ArmThresholds {
    /// Its fields, by the names that the details of a fused hit have for the lists.
    pub const FIELDS: [&'static str; 2] = ["words", "vectors"];
}

impl Hybrid {
    /// Its fields, in the order in which messages list them.
    pub const FIELDS: [&'static str; 5] = ["semanticRatio", "embedder", "fusion", "rrfK", "thresholds"];
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
    /// What hits by words score at least, or all hits of a search by meaning alone; and what those by nearness do where
    /// there are both.
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
