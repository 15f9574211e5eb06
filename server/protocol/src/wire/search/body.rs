//! A search in a JSON body.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::search::Fusion;
use serde_json::Value;

use super::{
    ArmThresholds, ExplainQuery, FacetMeasure, Hybrid, MARK_BYTES_MAX, MATCHING_STRATEGIES, Rerank, SearchQuery,
    component, distinct_limit, mark_too_long, out_of_range, size,
};
use crate::wire::boosts;
use crate::wire::generations;
use crate::wire::json::{At, required};
use crate::wire::point_in_time::PointInTime;

/// The fields of a search, in the order in which messages list them.
pub const FIELDS: [&str; 37] = [
    "q",
    "vector",
    "media",
    "hybrid",
    "offset",
    "limit",
    "page",
    "hitsPerPage",
    "attributesToRetrieve",
    "retrieveVectors",
    "attributesToCrop",
    "cropLength",
    "attributesToHighlight",
    "showMatchesPosition",
    "showRankingScore",
    "showRankingScoreDetails",
    "showPerformanceDetails",
    "useNetwork",
    "filter",
    "sort",
    "distinct",
    "facets",
    "highlightPreTag",
    "highlightPostTag",
    "cropMarker",
    "matchingStrategy",
    "attributesToSearchOn",
    "rankingScoreThreshold",
    "locales",
    "personalize",
    "explain",
    "pointInTime",
    "at",
    "boosts",
    "distinctLimit",
    "didYouMean",
    "rerank",
];

impl SearchQuery {
    /// Reads a body.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_body(body: &Value) -> ApiResult<SearchQuery> {
        let mut query = SearchQuery::default();
        At::root(body).fields(&FIELDS, |name, field| query.read_field(name, field))?;
        query.check_network()?;
        Ok(query)
    }

    /// Reads one of the fields of a search. Null leaves the default, whatever the field.
    pub fn read_field(&mut self, name: &str, field: At<'_>) -> ApiResult<()> {
        use Code::*;
        if field.value().is_null() {
            return Ok(());
        }
        match name {
            "q" => self.q = field.code(InvalidSearchQ).optional(|f| f.string())?,
            "vector" => self.vector = field.code(InvalidSearchVector).optional(vector)?,
            "media" => self.media = (!field.value().is_null()).then(|| field.value().clone()),
            "hybrid" => self.hybrid = field.code(InvalidSearchHybridQuery).optional(hybrid)?,
            "filter" => self.filter = field.optional(|f| Ok(f.value().clone()))?,
            "sort" => self.sort = field.code(InvalidSearchSort).optional(|f| f.strings())?,
            "distinct" => self.distinct = field.code(InvalidSearchDistinct).optional(|f| f.string())?,
            "distinctLimit" => {
                let field = field.code(InvalidSearchDistinctLimit);
                self.distinct_limit =
                    field.optional(|at| distinct_limit(at.positive_integer()?).map_err(|reason| at.invalid(reason)))?;
            }
            "boosts" => self.boosts = field.code(InvalidSearchBoosts).optional(boosts::read_list)?,
            "matchingStrategy" => {
                let strategy = field.code(InvalidSearchMatchingStrategy).one_of(&MATCHING_STRATEGIES)?;
                self.matching_strategy = Some(strategy);
            }
            "attributesToSearchOn" => {
                self.attributes_to_search_on =
                    field.code(InvalidSearchAttributesToSearchOn).optional(|f| f.strings())?;
            }
            "rankingScoreThreshold" => {
                let field = field.code(InvalidSearchRankingScoreThreshold);
                self.ranking_score_threshold = field.optional(|f| unit_interval("rankingScoreThreshold", f))?;
            }
            "locales" => {
                let locales = field.code(InvalidSearchLocales).optional(|f| f.list(|locale| locale.language()))?;
                self.locales = locales.unwrap_or_default();
            }
            "pointInTime" => self.point_in_time = field.code(InvalidSearchPointInTime).optional(PointInTime::read)?,
            "at" => self.at = field.code(InvalidSearchAt).optional(generations::state)?,
            "rerank" => self.rerank = field.optional(Rerank::read)?,
            "useNetwork" => {
                self.use_network = field.code(InvalidSearchUseNetwork).optional(|f| f.boolean())? == Some(true);
            }
            "personalize" if is_personalized(field)? => return Err(personalization_unavailable()),
            _ => self.read_shown_field(name, field)?,
        }
        Ok(())
    }

    /// Reads a field of what the answer shows: which of the hits, and what of them and around them.
    fn read_shown_field(&mut self, name: &str, field: At<'_>) -> ApiResult<()> {
        use Code::*;
        match name {
            "offset" => self.offset = size(field.code(InvalidSearchOffset).positive_integer()?),
            "limit" => self.limit = size(field.code(InvalidSearchLimit).positive_integer()?),
            "page" => self.page = field.code(InvalidSearchPage).optional(|f| f.positive_integer().map(size))?,
            "hitsPerPage" => {
                self.hits_per_page =
                    field.code(InvalidSearchHitsPerPage).optional(|f| f.positive_integer().map(size))?;
            }
            "attributesToRetrieve" => {
                self.attributes_to_retrieve =
                    field.code(InvalidSearchAttributesToRetrieve).optional(|f| f.strings())?;
            }
            "retrieveVectors" => self.retrieve_vectors = field.code(InvalidSearchRetrieveVectors).boolean()?,
            "attributesToCrop" => {
                self.attributes_to_crop = field.code(InvalidSearchAttributesToCrop).optional(|f| f.strings())?;
            }
            "cropLength" => self.crop_length = size(field.code(InvalidSearchCropLength).positive_integer()?),
            "cropMarker" => self.crop_marker = mark(field.code(InvalidSearchCropMarker))?,
            "attributesToHighlight" => {
                self.attributes_to_highlight =
                    field.code(InvalidSearchAttributesToHighlight).optional(|f| f.strings())?;
            }
            "highlightPreTag" => self.highlight_pre_tag = mark(field.code(InvalidSearchHighlightPreTag))?,
            "highlightPostTag" => self.highlight_post_tag = mark(field.code(InvalidSearchHighlightPostTag))?,
            "showMatchesPosition" => {
                self.show_matches_position = field.code(InvalidSearchShowMatchesPosition).boolean()?;
            }
            "showRankingScore" => self.show_ranking_score = field.code(InvalidSearchShowRankingScore).boolean()?,
            "showRankingScoreDetails" => {
                self.show_ranking_score_details = field.code(InvalidSearchShowRankingScoreDetails).boolean()?;
            }
            "showPerformanceDetails" => {
                self.show_performance_details = field.code(InvalidSearchShowPerformanceDetails).boolean()?;
            }
            "didYouMean" => self.did_you_mean = field.code(InvalidSearchDidYouMean).boolean()?,
            "facets" => self.read_facets(field.code(InvalidSearchFacets))?,
            "explain" => self.explain = explain(field.code(InvalidSearchExplain))?,
            _ => {}
        }
        Ok(())
    }
}

impl SearchQuery {
    /// Names, and objects that ask for ranges, histograms and statistics.
    fn read_facets(&mut self, at: At<'_>) -> ApiResult<()> {
        (self.facets, self.measures) = (None, Vec::new());
        let mut names = Vec::new();
        let list = at.optional(|at| {
            at.list(|entry| {
                match entry.value() {
                    Value::Object(_) => self.measures.push(FacetMeasure::read(entry)?),
                    _ => names.push(entry.string()?),
                }
                Ok(())
            })
        })?;
        self.facets = list.map(|_| names);
        Ok(())
    }
}

/// What is put around matches, or where a text was cut.
fn mark(at: At<'_>) -> ApiResult<String> {
    let mark = at.string()?;
    if mark.len() > MARK_BYTES_MAX { Err(at.invalid(mark_too_long(mark.len()))) } else { Ok(mark) }
}

/// `true`, or an object that names a document.
fn explain(at: At<'_>) -> ApiResult<Option<ExplainQuery>> {
    match at.value() {
        Value::Null => Ok(None),
        Value::Object(_) => {
            let mut query = ExplainQuery::default();
            at.fields(&["documentId"], |_, field| {
                let field = field.code(Code::InvalidSearchExplain);
                query.document_id = field.optional(|field| match field.value() {
                    // Ids that are integers are written as such in documents.
                    Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
                    _ => field.string(),
                })?;
                Ok(())
            })?;
            Ok(Some(query))
        }
        _ => Ok(at.boolean()?.then(ExplainQuery::default)),
    }
}

fn vector(at: At<'_>) -> ApiResult<Vec<f32>> {
    at.list(|element| component(element.number()?).map_err(|reason| element.invalid(reason)))
}

fn hybrid(at: At<'_>) -> ApiResult<Hybrid> {
    let (mut embedder, mut semantic_ratio, mut fusion, mut k) = (None, Hybrid::DEFAULT_RATIO, None, None);
    let mut thresholds = ArmThresholds::default();
    at.given(&Hybrid::FIELDS, &["embedder"], |name, field| {
        match name {
            "embedder" => embedder = Some(field.code(Code::InvalidSearchEmbedder).string()?),
            "fusion" => fusion = Some(field.code(Code::InvalidSearchHybridQuery).one_of(&Hybrid::FUSIONS)?),
            "thresholds" => {
                thresholds = field.code(Code::InvalidSearchHybridQuery).optional(arm_thresholds)?.unwrap_or_default();
            }
            "rrfK" => {
                let field = field.code(Code::InvalidSearchHybridQuery);
                k = Some(rrf_k(field.number()?).map_err(|reason| field.invalid(reason))?);
            }
            _ => {
                let field = field.code(Code::InvalidSearchSemanticRatio);
                semantic_ratio = unit_interval("semanticRatio", field)? as f32;
            }
        }
        Ok(())
    })?;
    let embedder = required(embedder, &at, "embedder", Code::InvalidSearchHybridQuery)?;
    if let Some(k) = k {
        if matches!(fusion, Some(Fusion::Score | Fusion::Relative)) {
            let at = at.code(Code::InvalidSearchHybridQuery);
            return Err(at.invalid("`rrfK` is of `\"fusion\": \"rrf\"` only: send that, or leave `rrfK` out."));
        }
        fusion = Some(Fusion::Rrf { k });
    }
    Ok(Hybrid { embedder, semantic_ratio, fusion, thresholds })
}

fn arm_thresholds(at: At<'_>) -> ApiResult<ArmThresholds> {
    let mut thresholds = ArmThresholds::default();
    at.fields(&ArmThresholds::FIELDS, |name, field| {
        let threshold = field.optional(|field| unit_interval(name, field))?;
        *(if name == "words" { &mut thresholds.words } else { &mut thresholds.vectors }) = threshold;
        Ok(())
    })?;
    Ok(thresholds)
}

pub(super) fn rrf_k(k: f64) -> Result<f64, String> {
    let most = Hybrid::RRF_K_MAX;
    if (0.0..=most).contains(&k) { Ok(k) } else { Err(format!("expected a number from 0 to {most}, but found {k}")) }
}

fn unit_interval(name: &str, at: At<'_>) -> ApiResult<f64> {
    let number = at.number()?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(at.invalid(out_of_range(name))) }
}

/// Whether a field `personalize` asks for anything.
pub(in crate::wire) fn is_personalized(at: At<'_>) -> ApiResult<bool> {
    let context = at.code(Code::InvalidSearchPersonalize).optional(|at| {
        let mut context = None;
        at.fields(&["userContext"], |_, field| {
            context = Some(field.code(Code::InvalidSearchPersonalizeUserContext).string()?);
            Ok(())
        })?;
        required(context, &at, "userContext", Code::InvalidSearchPersonalize)
    })?;
    Ok(context.is_some())
}

/// Personalisation needs an outside service that this server does not know.
pub(in crate::wire) fn personalization_unavailable() -> ApiError {
    ApiError::feature_not_enabled("reranking search results with `personalize`", "personalization")
}
