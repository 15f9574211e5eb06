//! The search among the values of a facet.

use lamina_base::budget::costs::FACET_HIT_BYTES;
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::facet::{FacetHits, FacetSearchError, search_facet};
use lamina_engine::search::{SearchRequest, SearchResult};
use lamina_engine::text::Language;
use lamina_protocol::wire::json::{At, required};
use lamina_protocol::wire::search::{SearchQuery, selecting};
use serde_json::{Map, Value, json};

use super::answer::report_degraded;
use super::by_kind::{Searched, check_embedder, search_by_kind};
use super::multi::Written;
use super::{Context, Target, engine_request};

/// A facet search as clients write it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FacetSearch {
    /// The facet whose values are searched.
    pub facet_name: String,
    /// Prefix of the values; `None`: all values.
    pub facet_query: Option<String>,
    /// The search that selects the documents whose values count.
    pub query: SearchQuery,
}

impl FacetSearch {
    /// Reads a body. Fields that have no meaning here are ignored, so that clients can pass on those of the search beside
    /// it.
    ///
    /// # Errors
    /// The first thing wrong in the order of the text.
    pub(crate) fn from_body(body: &Value) -> ApiResult<FacetSearch> {
        let (mut facet_name, mut facet_query) = (None, None);
        let mut query = SearchQuery::default();
        let root = At::root(body);
        root.entries(|name, field| {
            match name {
                "facetName" => facet_name = Some(field.code(Code::InvalidFacetSearchFacetName).string()?),
                "facetQuery" => {
                    facet_query = field.code(Code::InvalidFacetSearchQuery).optional(|f| f.string())?;
                }
                "exhaustiveFacetCount" => {
                    // Counts are exhaustive without it, too.
                    field.code(Code::InvalidFacetSearchExhaustiveFacetCount).optional(|f| f.boolean())?;
                }
                _ if selecting().contains(&name) => query.read_selecting(name, field)?,
                _ => {}
            }
            Ok(())
        })?;
        let facet_name = required(facet_name, &root, "facetName", Code::MissingFacetSearchFacetName)?;
        Ok(FacetSearch { facet_name, facet_query, query })
    }
}

/// Runs a facet search and writes its answer.
///
/// # Errors
/// A facet that can't be searched, or what is wrong with the search that selects documents.
pub(crate) fn run_facet_search(target: Target<'_>, asked: &FacetSearch, context: &Context) -> ApiResult<Written> {
    check_embedder(target, &asked.query)?;
    let request = engine_request(target, &asked.query, context)?;
    let request = SearchRequest { offset: 0, limit: 0, exhaustive: true, ..request };
    let selected = search_by_kind(target, &asked.query, context, &request)?;
    let found = search_values(target, asked, &selected.result, &request.languages)?;
    context.budget.take(found.hits.iter().map(|hit| FACET_HIT_BYTES + hit.value.len() * 3).sum())?;
    Ok(written(asked, context, &selected, &found))
}

/// The values of the facet among the documents that the search selected.
fn search_values(
    target: Target<'_>,
    asked: &FacetSearch,
    selected: &SearchResult,
    languages: &[Language],
) -> ApiResult<FacetHits> {
    let (name, text) = (asked.facet_name.as_str(), asked.facet_query.as_deref());
    search_facet(target.snapshot, &selected.candidates, name, text, languages).map_err(|error| {
        let code = match error {
            FacetSearchError::Disabled => Code::FacetSearchDisabled,
            _ => Code::InvalidFacetSearchFacetName,
        };
        ApiError::new(code, error.sentence())
    })
}

fn written(asked: &FacetSearch, context: &Context, selected: &Searched, found: &FacetHits) -> Written {
    let hits: Vec<Value> = found.hits.iter().map(|hit| json!({ "value": hit.value, "count": hit.count })).collect();
    let millis = u64::try_from(context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut answer = Map::new();
    answer.insert("facetHits".into(), hits.into());
    answer.insert("facetQuery".into(), json!(asked.facet_query));
    answer.insert("processingTimeMs".into(), json!(millis));
    report_degraded(&selected.limits, &mut answer);
    let mut out = Written::default();
    out.outcomes.degraded = selected.result.degraded.into();
    out.cut_by(selected.limits.iter().map(|limit| (*limit).to_owned()));
    out.cut_by(found.is_cut.then(|| format!("maxValuesPerFacet:{}", asked.facet_name)));
    out.body = Value::Object(answer).to_string().into_bytes();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies() {
        let refused = |body: Value| FacetSearch::from_body(&body).unwrap_err().code;
        assert_eq!(refused(json!({})), Code::MissingFacetSearchFacetName);
        assert_eq!(refused(json!({"facetName": 1})), Code::InvalidFacetSearchFacetName);
        assert_eq!(refused(json!({"facetName": "a", "facetQuery": 1})), Code::InvalidFacetSearchQuery);
        assert_eq!(
            refused(json!({"facetName": "a", "exhaustiveFacetCount": 1})),
            Code::InvalidFacetSearchExhaustiveFacetCount
        );
        let body = json!({"facetName": "a", "facetQuery": null, "q": "x", "limit": "ignored", "doggo": 1});
        let read = FacetSearch::from_body(&body);
        assert_eq!(
            read,
            Ok(FacetSearch {
                facet_name: "a".into(),
                facet_query: None,
                query: SearchQuery { q: Some("x".into()), ..SearchQuery::default() },
            })
        );
    }
}
