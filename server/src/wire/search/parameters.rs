//! A search in a query string.

use lamina_engine::index::settings::BoostRule;
use lamina_engine::text::Language;
use serde_json::Value;

use super::body::personalization_unavailable;
use super::{
    ArmThresholds, Hybrid, MARK_BYTES_MAX, MATCHING_STRATEGIES, SearchQuery, component, distinct_limit, mark_too_long,
    out_of_range, size,
};
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::boosts;
use crate::wire::json::At;
use crate::wire::query_string::{Parameter, QueryString};
use crate::wire::{generations, locale, point_in_time};

/// The parameters of a search, in the order in which messages list them.
pub const PARAMETERS: [&str; 39] = [
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
];

impl SearchQuery {
    /// Reads a query string.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub fn from_parameters(parameters: &QueryString) -> ApiResult<SearchQuery> {
        let mut query = SearchQuery::default();
        let (mut embedder, mut semantic_ratio, mut fusion) = (None, None, None);
        parameters.parameters(&PARAMETERS, |name, parameter| {
            match name {
                "hybridEmbedder" => {
                    embedder = Some(parameter.code(Code::InvalidSearchEmbedder).text()?.to_owned());
                }
                "hybridFusion" => {
                    let parameter = parameter.code(Code::InvalidSearchHybridQuery);
                    fusion = Some(parameter.one_of(&Hybrid::FUSIONS)?);
                }
                "hybridSemanticRatio" => {
                    let parameter = parameter.code(Code::InvalidSearchSemanticRatio);
                    semantic_ratio = Some(unit_interval("hybridSemanticRatio", &parameter)? as f32);
                }
                _ => query.read_parameter(name, parameter)?,
            }
            Ok(())
        })?;
        if embedder.is_none() && fusion.is_some() {
            return Err(ApiError::new(
                Code::InvalidSearchHybridQuery,
                "`hybridEmbedder` is mandatory when `hybridFusion` is present",
            ));
        }
        query.hybrid = match (embedder, semantic_ratio) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(ApiError::new(
                    Code::InvalidSearchHybridQuery,
                    "`hybridEmbedder` is mandatory when `hybridSemanticRatio` is present",
                ));
            }
            (Some(embedder), ratio) => {
                let semantic_ratio = ratio.unwrap_or(Hybrid::DEFAULT_RATIO);
                Some(Hybrid { embedder, semantic_ratio, fusion, thresholds: ArmThresholds::default() })
            }
        };
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

/// Splits at commas that are not between the parentheses of `_geoPoint(lat,lng)`.
pub(in crate::wire) fn sort(text: &str) -> Vec<String> {
    let mut entries = vec![String::new()];
    let mut depth = 0_u32;
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
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
