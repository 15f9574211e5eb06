//! What a search asks for, as clients write it: in a JSON body or in a query string.

mod explain;
mod hybrid;
mod kind;
mod measures;
pub(in crate::wire) mod parameters;
pub(in crate::wire) mod personalize;
mod rerank;
mod sent;

#[cfg(test)]
mod reference_tests;
#[cfg(test)]
mod tests;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::At as State;
use lamina_engine::index::settings::BoostRule;
use lamina_engine::search::MatchingStrategy;
use lamina_engine::text::Language;
use serde_json::Value;

use super::json::At;
use super::point_in_time::PointInTime;

pub use explain::ExplainQuery;
pub use hybrid::{ArmThresholds, Hybrid};
pub use kind::SearchKind;
pub use measures::FacetMeasure;
pub use parameters::{
    Figure, Reference, SearchParameter, completion_fields, federation_fields, field_schema, fields, fields_of_several,
    figures, parameter_schema, parameters, selecting, similar_fields, variant_fields,
};
pub(in crate::wire) use parameters::{Place, filter as filter_parameter, is_paging, sort as sort_parameter};
pub use rerank::Rerank;

/// Hits of a page when nothing else is asked for.
pub const DEFAULT_LIMIT: usize = 20;
/// Words of a cropped text when nothing else is asked for.
pub const DEFAULT_CROP_LENGTH: usize = 10;
const DEFAULT_PRE_TAG: &str = "<em>";
const DEFAULT_POST_TAG: &str = "</em>";
const DEFAULT_CROP_MARKER: &str = "…";

/// Hits of each value of the distinct attribute, at most.
pub const DISTINCT_LIMIT_MAX: u32 = 1000;

/// Longest list of attributes, or of facets: more are of no use, and would be looked through for every hit.
pub(in crate::wire) const NAMES_MAX: usize = 1000;
/// Most expressions of a sort: each is a comparison of every document that is ordered.
pub(in crate::wire) const SORTS_MAX: usize = 100;
/// Most facets with ranges, histograms or statistics: each looks at the values of all candidates.
pub(in crate::wire) const MEASURES_MAX: usize = 50;
/// Most languages: there are fewer.
const LOCALES_MAX: usize = 500;
/// Bytes of what is put around each match, and where a text was cut: a mark is copied as often as there are matches.
pub const MARK_BYTES_MAX: usize = 1024;

/// The parameters of one search, checked for shape and bounds; names are not looked up in settings yet.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchQuery {
    /// The text searched for.
    pub q: Option<String>,
    /// A query vector, used instead of embedding `q`.
    pub vector: Option<Vec<f32>>,
    /// Data that the search fragments of the embedder read besides `q`.
    pub media: Option<Value>,
    /// Embedder to use, and its weight.
    pub hybrid: Option<Hybrid>,
    /// Hits skipped (outside page mode).
    pub offset: usize,
    /// Hits returned at most (outside page mode).
    pub limit: usize,
    /// Page number from 1; its presence switches to page mode.
    pub page: Option<usize>,
    /// Hits of a page; its presence switches to page mode.
    pub hits_per_page: Option<usize>,
    /// `None`: all that are displayed.
    pub attributes_to_retrieve: Option<Vec<String>>,
    /// True if hits show their vectors.
    pub retrieve_vectors: bool,
    /// `attr`, `attr:length` or `*`.
    pub attributes_to_crop: Option<Vec<String>>,
    /// In words.
    pub crop_length: usize,
    /// Names or `*`.
    pub attributes_to_highlight: Option<Vec<String>>,
    /// True if hits show the positions of their matches.
    pub show_matches_position: bool,
    /// True if hits show their score.
    pub show_ranking_score: bool,
    /// True if hits show the details of their score.
    pub show_ranking_score_details: bool,
    /// True if the response reports the duration of each step.
    pub show_performance_details: bool,
    /// An expression or arrays of them; its syntax is the engine's.
    pub filter: Option<Value>,
    /// `attribute:asc` and the like; the syntax is the engine's.
    pub sort: Option<Vec<String>>,
    /// In place of the boosts of the settings.
    pub boosts: Option<Vec<BoostRule>>,
    /// Overrides the index's distinct attribute.
    pub distinct: Option<String>,
    /// Hits of each value of that attribute; `None`: one, and groups are not counted.
    pub distinct_limit: Option<u32>,
    /// Names or patterns of attributes whose values are counted.
    pub facets: Option<Vec<String>>,
    /// Facets that ask for ranges, histograms and statistics.
    pub measures: Vec<FacetMeasure>,
    /// Put before what matched.
    pub highlight_pre_tag: String,
    /// Put after what matched.
    pub highlight_post_tag: String,
    /// Put where a text was cut.
    pub crop_marker: String,
    /// Treatment of documents that lack some of the words; `None`: the setting of the index.
    pub matching_strategy: Option<MatchingStrategy>,
    /// Names or patterns of attributes; `None`: all that are searchable.
    pub attributes_to_search_on: Option<Vec<String>>,
    /// From 0 to 1.
    pub ranking_score_threshold: Option<f64>,
    /// Languages of `q`; empty: found out.
    pub locales: Vec<Language>,
    /// True if the response suggests a query that finds more or better hits.
    pub did_you_mean: bool,
    /// Another order for the first hits.
    pub rerank: Option<Rerank>,
    /// Explain why hits are hits.
    pub explain: Option<ExplainQuery>,
    /// True if all servers of the network are queried.
    pub use_network: bool,
    /// The state of the index that was there then.
    pub at: Option<State>,
    /// The state of the index to search, if not the present one.
    pub point_in_time: Option<PointInTime>,
}

impl Default for SearchQuery {
    fn default() -> SearchQuery {
        SearchQuery {
            q: None,
            vector: None,
            media: None,
            hybrid: None,
            offset: 0,
            limit: DEFAULT_LIMIT,
            page: None,
            hits_per_page: None,
            attributes_to_retrieve: None,
            retrieve_vectors: false,
            attributes_to_crop: None,
            crop_length: DEFAULT_CROP_LENGTH,
            attributes_to_highlight: None,
            show_matches_position: false,
            show_ranking_score: false,
            show_ranking_score_details: false,
            show_performance_details: false,
            filter: None,
            sort: None,
            boosts: None,
            distinct: None,
            distinct_limit: None,
            facets: None,
            measures: Vec::new(),
            highlight_pre_tag: DEFAULT_PRE_TAG.to_owned(),
            highlight_post_tag: DEFAULT_POST_TAG.to_owned(),
            crop_marker: DEFAULT_CROP_MARKER.to_owned(),
            matching_strategy: None,
            attributes_to_search_on: None,
            ranking_score_threshold: None,
            locales: Vec::new(),
            did_you_mean: false,
            rerank: None,
            explain: None,
            use_network: false,
            at: None,
            point_in_time: None,
        }
    }
}

/// Range of hits to return, and its form in the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// `offset` and `limit`; totals are estimates.
    Offset {
        /// Hits skipped.
        offset: usize,
        /// Hits returned at most.
        limit: usize,
    },
    /// `page` and `hitsPerPage`; totals are exact.
    Page {
        /// From 1; 0 shows nothing.
        page: usize,
        /// Number of hits per page.
        hits_per_page: usize,
    },
}

impl Window {
    /// Hits to skip and to return, within the first `total_max` of them.
    pub fn bounds(self, total_max: usize) -> (usize, usize) {
        let (offset, limit) = match self {
            Window::Offset { offset, limit } => (offset, limit),
            Window::Page { page: 0, .. } => (0, 0),
            Window::Page { page, hits_per_page } => ((page - 1).saturating_mul(hits_per_page), hits_per_page),
        };
        let offset = offset.min(total_max);
        (offset, limit.min(total_max - offset))
    }
}

impl SearchQuery {
    /// Returns whether the answer shows where hits match.
    pub fn shows_matches(&self) -> bool {
        let named = |names: &Option<Vec<String>>| names.as_ref().is_some_and(|names| !names.is_empty());
        self.show_matches_position || named(&self.attributes_to_highlight) || named(&self.attributes_to_crop)
    }

    /// The query text, unless it is blank.
    pub fn text(&self) -> Option<&str> {
        self.q.as_deref().filter(|q| !q.trim().is_empty())
    }

    /// Refuses what several servers cannot say together.
    ///
    /// # Errors
    /// With the code of the parameter.
    pub(in crate::wire) fn check_network(&self) -> ApiResult<()> {
        if self.use_network && self.did_you_mean {
            return Err(ApiError::new(
                Code::InvalidSearchDidYouMean,
                "`didYouMean` cannot be used with `useNetwork`: each server knows its own words only.",
            ));
        }
        if self.use_network && self.rerank.is_some() {
            return Err(ApiError::new(
                Code::InvalidSearchRerank,
                "`rerank` cannot be used with `useNetwork`: each server would put its own hits into another order.",
            ));
        }
        if self.use_network && self.distinct_limit.is_some() {
            return Err(ApiError::new(
                Code::InvalidSearchDistinctLimit,
                "`distinctLimit` cannot be used with `useNetwork`: each server would have its own groups.",
            ));
        }
        Ok(())
    }

    /// Page mode as soon as one of its two parameters is there.
    pub fn window(&self) -> Window {
        match (self.page, self.hits_per_page) {
            (None, None) => Window::Offset { offset: self.offset, limit: self.limit },
            (page, hits_per_page) => {
                Window::Page { page: page.unwrap_or(1), hits_per_page: hits_per_page.unwrap_or(DEFAULT_LIMIT) }
            }
        }
    }
}

/// The names of the strategies.
pub(in crate::wire) const MATCHING_STRATEGIES: [(&str, MatchingStrategy); 4] = [
    ("last", MatchingStrategy::Last),
    ("all", MatchingStrategy::All),
    ("frequency", MatchingStrategy::Frequency),
    ("any", MatchingStrategy::Any),
];

/// The names of the strategies, for descriptions.
pub fn strategy_names() -> Vec<&'static str> {
    MATCHING_STRATEGIES.iter().map(|(name, _)| *name).collect()
}

/// Reads the number of hits that each value of the distinct attribute may have.
fn distinct_limit(at: &At<'_>) -> ApiResult<u32> {
    let number = at.positive_integer()?;
    let limit = u32::try_from(number).ok().filter(|limit| (1..=DISTINCT_LIMIT_MAX).contains(limit));
    limit.ok_or_else(|| at.invalid(format!("expected a number from 1 to {DISTINCT_LIMIT_MAX}, but found {number}")))
}

/// A number of a vector, rounded to 32 bits, or why it is refused: they can't hold it.
fn component(number: f64) -> Result<f32, String> {
    let small = number as f32;
    if small.is_finite() { Ok(small) } else { Err(format!("`{number:e}` is too large for 32 bits")) }
}

/// Explains the refusal of a number that is not from 0 to 1.
pub(in crate::wire) fn out_of_range(name: &str) -> String {
    format!("the value of `{name}` is invalid, expected a float between `0.0` and `1.0`.")
}
