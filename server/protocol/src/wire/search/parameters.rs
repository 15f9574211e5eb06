//! A search in a query string.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::settings::BoostRule;
use lamina_engine::search::Fusion;
use lamina_engine::text::Language;
use serde_json::Value;

use super::body::{personalization_unavailable, rrf_k};
use super::rerank::RerankParameters;
use super::{
    ArmThresholds, Hybrid, MARK_BYTES_MAX, MATCHING_STRATEGIES, SearchQuery, component, distinct_limit, mark_too_long,
    out_of_range, size,
};
use crate::wire::json::At;
use crate::wire::query_string::{Parameter, QueryString};
use crate::wire::{boosts, generations, locale, point_in_time};

/// The parameters of a search, in the order in which messages list them.
pub const PARAMETERS: [&str; 45] = [
    "q",
    "vector",
    "offset",
    "limit",
    "page",
    "hitsPerPage",
    "attributesToRetrieve",
    "retrieveVectors",
    "attributesToCrop",
    "cropLength",
    "attributesToHighlight",
    "filter",
    "sort",
    "distinct",
    "showMatchesPosition",
    "showRankingScore",
    "showRankingScoreDetails",
    "showPerformanceDetails",
    "facets",
    "highlightPreTag",
    "highlightPostTag",
    "cropMarker",
    "matchingStrategy",
    "attributesToSearchOn",
    "hybridEmbedder",
    "hybridSemanticRatio",
    "hybridFusion",
    "hybridRrfK",
    "hybridThresholdsWords",
    "hybridThresholdsVectors",
    "rankingScoreThreshold",
    "locales",
    "personalizeUserContext",
    "useNetwork",
    "explain",
    "explainDocumentId",
    "pointInTime",
    "pointInTimeKeepAliveMs",
    "at",
    "boosts",
    "distinctLimit",
    "didYouMean",
    "rerank",
    "rerankLimit",
    "rerankTimeoutMs",
];

impl SearchQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_parameters(parameters: &QueryString) -> ApiResult<SearchQuery> {
        let mut query = SearchQuery::default();
        let (mut hybrid, mut rerank) = (HybridParameters::default(), RerankParameters::default());
        parameters.parameters(&PARAMETERS, |name, parameter| match name {
            _ if name.starts_with("hybrid") => hybrid.read(name, parameter),
            _ if name.starts_with("rerank") => rerank.read(name, parameter),
            _ => query.read_parameter(name, parameter),
        })?;
        (query.hybrid, query.rerank) = (hybrid.hybrid()?, rerank.rerank()?);
        query.check_network()?;
        Ok(query)
    }

    fn read_parameter(&mut self, name: &str, parameter: Parameter<'_>) -> ApiResult<()> {
        use Code::*;
        match name {
            "q" => self.q = Some(parameter.code(InvalidSearchQ).text()?.to_owned()),
            "vector" => {
                let vector = parameter
                    .code(InvalidSearchVector)
                    .list(|element| component(element.number()?).map_err(|reason| element.invalid(reason)));
                self.vector = Some(vector?);
            }
            "filter" => self.filter = Some(filter(parameter.code(InvalidSearchFilter).text()?)),
            "sort" => self.sort = Some(sort(parameter.code(InvalidSearchSort).text()?)),
            "distinct" => self.distinct = Some(parameter.code(InvalidSearchDistinct).text()?.to_owned()),
            "matchingStrategy" => {
                let strategy = parameter.code(InvalidSearchMatchingStrategy).one_of(&MATCHING_STRATEGIES)?;
                self.matching_strategy = Some(strategy);
            }
            "attributesToSearchOn" => {
                self.attributes_to_search_on = Some(parameter.code(InvalidSearchAttributesToSearchOn).strings()?);
            }
            "rankingScoreThreshold" => {
                let parameter = parameter.code(InvalidSearchRankingScoreThreshold);
                self.ranking_score_threshold = Some(unit_interval("rankingScoreThreshold", &parameter)?);
            }
            "locales" => self.locales = locales(&parameter.code(InvalidSearchLocales))?,
            "pointInTime" => {
                let id = point_in_time::id(&parameter.code(InvalidSearchPointInTime))?;
                self.point_in_time.get_or_insert_default().id = id;
            }
            "pointInTimeKeepAliveMs" => {
                let millis = parameter.code(InvalidSearchPointInTime).positive_integer()?;
                self.point_in_time.get_or_insert_default().keep_alive = point_in_time::keep_alive(millis);
            }
            "at" => self.at = Some(generations::state_parameter(&parameter.code(InvalidSearchAt))?),
            "useNetwork" => self.use_network = parameter.code(InvalidSearchUseNetwork).boolean()?,
            "distinctLimit" => {
                let parameter = parameter.code(InvalidSearchDistinctLimit);
                let limit = distinct_limit(parameter.positive_integer()?);
                self.distinct_limit = Some(limit.map_err(|reason| parameter.invalid(reason))?);
            }
            "boosts" => self.boosts = Some(boost_list(&parameter.code(InvalidSearchBoosts))?),
            _ => self.read_shown_parameter(name, parameter)?,
        }
        Ok(())
    }

    /// Reads a parameter of what the answer shows: which of the hits, and what of them and around them.
    fn read_shown_parameter(&mut self, name: &str, parameter: Parameter<'_>) -> ApiResult<()> {
        use Code::*;
        match name {
            "offset" => self.offset = size(parameter.code(InvalidSearchOffset).positive_integer()?),
            "limit" => self.limit = size(parameter.code(InvalidSearchLimit).positive_integer()?),
            "page" => self.page = Some(size(parameter.code(InvalidSearchPage).positive_integer()?)),
            "hitsPerPage" => {
                self.hits_per_page = Some(size(parameter.code(InvalidSearchHitsPerPage).positive_integer()?));
            }
            "attributesToRetrieve" => {
                self.attributes_to_retrieve = Some(parameter.code(InvalidSearchAttributesToRetrieve).strings()?);
            }
            "retrieveVectors" => self.retrieve_vectors = parameter.code(InvalidSearchRetrieveVectors).boolean()?,
            "attributesToCrop" => {
                self.attributes_to_crop = Some(parameter.code(InvalidSearchAttributesToCrop).strings()?);
            }
            "cropLength" => self.crop_length = size(parameter.code(InvalidSearchCropLength).positive_integer()?),
            "cropMarker" => self.crop_marker = mark(&parameter.code(InvalidSearchCropMarker))?,
            "attributesToHighlight" => {
                self.attributes_to_highlight = Some(parameter.code(InvalidSearchAttributesToHighlight).strings()?);
            }
            "highlightPreTag" => self.highlight_pre_tag = mark(&parameter.code(InvalidSearchHighlightPreTag))?,
            "highlightPostTag" => self.highlight_post_tag = mark(&parameter.code(InvalidSearchHighlightPostTag))?,
            "showMatchesPosition" => {
                self.show_matches_position = parameter.code(InvalidSearchShowMatchesPosition).boolean()?;
            }
            "showRankingScore" => {
                self.show_ranking_score = parameter.code(InvalidSearchShowRankingScore).boolean()?;
            }
            "showRankingScoreDetails" => {
                self.show_ranking_score_details = parameter.code(InvalidSearchShowRankingScoreDetails).boolean()?;
            }
            "showPerformanceDetails" => {
                self.show_performance_details = parameter.code(InvalidSearchShowPerformanceDetails).boolean()?;
            }
            "facets" => self.facets = Some(parameter.code(InvalidSearchFacets).strings()?),
            "didYouMean" => self.did_you_mean = parameter.code(InvalidSearchDidYouMean).boolean()?,
            "explain" => {
                if parameter.code(InvalidSearchExplain).boolean()? {
                    self.explain.get_or_insert_default();
                }
            }
            "explainDocumentId" => {
                let id = parameter.code(InvalidSearchExplain).text()?.to_owned();
                self.explain.get_or_insert_default().document_id = Some(id);
            }
            _ => return Err(personalization_unavailable()),
        }
        Ok(())
    }
}

/// `hybrid` of a body, field by field.
#[derive(Default)]
struct HybridParameters {
    embedder: Option<String>,
    semantic_ratio: Option<f32>,
    fusion: Option<Fusion>,
    k: Option<f64>,
    thresholds: ArmThresholds,
    /// The first one that says something of an embedder.
    dependent: Option<String>,
}

impl HybridParameters {
    fn read(&mut self, name: &str, parameter: Parameter<'_>) -> ApiResult<()> {
        if name == "hybridEmbedder" {
            self.embedder = Some(parameter.code(Code::InvalidSearchEmbedder).text()?.to_owned());
            return Ok(());
        }
        self.dependent.get_or_insert_with(|| name.to_owned());
        let of_hybrid = parameter.clone().code(Code::InvalidSearchHybridQuery);
        match name {
            "hybridFusion" => self.fusion = Some(of_hybrid.one_of(&Hybrid::FUSIONS)?),
            "hybridRrfK" => {
                let k = rrf_k(of_hybrid.number()?);
                self.k = Some(k.map_err(|reason| of_hybrid.invalid(reason))?);
            }
            "hybridThresholdsWords" => self.thresholds.words = Some(unit_interval(name, &of_hybrid)?),
            "hybridThresholdsVectors" => self.thresholds.vectors = Some(unit_interval(name, &of_hybrid)?),
            _ => {
                let parameter = parameter.code(Code::InvalidSearchSemanticRatio);
                self.semantic_ratio = Some(unit_interval(name, &parameter)? as f32);
            }
        }
        Ok(())
    }

    /// # Errors
    /// Something that no embedder is named for, or that does not go together.
    fn hybrid(self) -> ApiResult<Option<Hybrid>> {
        let refuse = |message: String| Err(ApiError::new(Code::InvalidSearchHybridQuery, message));
        let Some(embedder) = self.embedder else {
            return match self.dependent {
                Some(name) => refuse(format!("`hybridEmbedder` is mandatory when `{name}` is present")),
                None => Ok(None),
            };
        };
        let fusion = match (self.k, self.fusion) {
            (Some(_), Some(Fusion::Score | Fusion::Relative)) => {
                return refuse(
                    "`hybridRrfK` is of `hybridFusion=rrf` only: send that, or leave `hybridRrfK` out.".into(),
                );
            }
            (Some(k), _) => Some(Fusion::Rrf { k }),
            (None, fusion) => fusion,
        };
        let semantic_ratio = self.semantic_ratio.unwrap_or(Hybrid::DEFAULT_RATIO);
        Ok(Some(Hybrid { embedder, semantic_ratio, fusion, thresholds: self.thresholds }))
    }
}

/// The list as JSON, as a body has it.
fn boost_list(parameter: &Parameter<'_>) -> ApiResult<Vec<BoostRule>> {
    let value: Value =
        serde_json::from_str(parameter.text()?).map_err(|error| parameter.invalid(format!("no JSON: {error}")))?;
    boosts::read_list(At::root(&value).code(Code::InvalidSearchBoosts))
}

/// What is put around matches, or where a text was cut.
fn mark(parameter: &Parameter<'_>) -> ApiResult<String> {
    let mark = parameter.text()?;
    if mark.len() > MARK_BYTES_MAX { Err(parameter.invalid(mark_too_long(mark.len()))) } else { Ok(mark.to_owned()) }
}

fn unit_interval(name: &str, parameter: &Parameter<'_>) -> ApiResult<f64> {
    let number = parameter.number()?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(parameter.invalid(out_of_range(name))) }
}

/// Arrays and quoted texts are JSON, everything else is an expression as it stands.
pub(in crate::wire) fn filter(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Array(_) | Value::String(_))) => value,
        _ => Value::String(text.to_owned()),
    }
}

/// Splits at commas that are not between the parentheses of `_geoPoint(lat,lng)`, or between brackets.
pub(in crate::wire) fn sort(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == ',' && depth == 0 {
            entries.push(String::new());
        } else {
            entries.last_mut().expect("starts with one entry").push(character);
        }
    }
    entries.iter().map(|entry| entry.trim().trim_matches('"').to_owned()).collect()
}

fn locales(parameter: &Parameter<'_>) -> ApiResult<Vec<Language>> {
    let read = |code: &str| {
        Language::parse(code).ok_or_else(|| {
            parameter.invalid(format!("Unsupported locale `{code}`, expected one of {}", locale::accepted().join(", ")))
        })
    };
    parameter.texts()?.into_iter().map(read).collect()
}
