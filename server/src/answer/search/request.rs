//! From the parameters of a search to the engine's request.

use std::time::{Duration, Instant};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::features::{Feature, Features};
use lamina_engine::condition::TimeLimit;
use lamina_engine::filter::Filter;
use lamina_engine::index::Settings;
use lamina_engine::index::settings::DEFAULT_SEARCH_CUTOFF_MS;
use lamina_engine::rank::SearchThresholds;
use lamina_engine::search::{Explain, SearchRequest};
use lamina_engine::sort::SortCriterion;
use lamina_protocol::wire::boosts::check_contains;
use lamina_protocol::wire::filter::{self, parse_filter};
use lamina_protocol::wire::search::{SearchQuery, Window};
use serde_json::Value;

use super::{Context, Reach, Target, foreign, refusal};

/// Time for a filter that no time budget of an index bounds. Those that are of use take some milliseconds.
const FILTER_TIME_MAX: Duration = Duration::from_secs(5);

/// Returns until when, from now, a filter is evaluated that belongs to no search, or to another index than the searched one.
pub(crate) fn filter_time() -> TimeLimit<'static> {
    TimeLimit::until(Instant::now() + FILTER_TIME_MAX)
}

/// The engine's request for `query`; its window is the one within the index's `maxTotalHits`.
///
/// # Errors
/// A filter or sort that can't be read.
pub(crate) fn engine_request(target: Target<'_>, query: &SearchQuery, context: &Context) -> ApiResult<SearchRequest> {
    let settings = &target.snapshot.settings;
    let filter = match &query.filter {
        Some(filter) => parse_filter(filter, Code::InvalidSearchFilter, context.contains_filter)?,
        None => None,
    };
    let imposed = context.imposed_filter(target.name, target.uid, Code::InvalidSearchFilter)?;
    let hidden = imposed.clone();
    let sort = sort(query, context)?;
    let resolved = |filter| foreign::resolve(filter, settings, context, Code::InvalidSearchFilter);
    let filter = both(imposed, filter).map(resolved).transpose()?;
    if query.distinct_limit.is_some() && query.distinct.is_none() && settings.distinct_attribute.is_none() {
        return Err(ApiError::new(
            Code::InvalidSearchDistinctLimit,
            format!("Index `{}` has no distinct attribute: `distinctLimit` needs `distinct` beside it.", target.name),
        ));
    }
    if let Some(boosts) = &query.boosts {
        check_contains(boosts, context.contains_filter)?;
    }
    let [score_threshold, near_score_threshold] = query.score_thresholds();
    let window = query.window();
    let Reach { offset, limit, page_limit, .. } = Reach::new(window, settings.pagination.max_total_hits);
    Ok(SearchRequest {
        query: query.q.clone(),
        offset,
        limit,
        page_limit: Some(page_limit),
        exhaustive: matches!(window, Window::Page { .. }),
        matching: query.matching_strategy.or(settings.matching_strategy).unwrap_or_default(),
        search_on: query.attributes_to_search_on.clone(),
        filter,
        except: Vec::new(),
        sort,
        boosts: query.boosts.clone(),
        distinct: query.distinct.clone(),
        distinct_limit: query.distinct_limit.unwrap_or(1),
        languages: query.locales.clone(),
        score_threshold,
        near_score_threshold,
        scores: true,
        matching_terms: query.shows_matches(),
        cutoff: Some(cutoff(settings)),
        received: context.received,
        explain: query
            .explain
            .as_ref()
            .map(|explain| Explain { document: explain.document_id.clone(), imposed: hidden }),
        thresholds: SearchThresholds::default(),
    })
}

fn sort(query: &SearchQuery, context: &Context) -> ApiResult<Vec<SortCriterion>> {
    let entries = query.sort.iter().flatten();
    let sort: Result<Vec<_>, _> = entries.map(|entry| SortCriterion::parse(entry)).collect();
    let sort = sort.map_err(|error| refusal::sort_syntax(&error))?;
    let mut elements = sort.iter().filter_map(SortCriterion::elements);
    elements.try_for_each(|field| filter::check_contains(&field.filter, context.contains_filter))?;
    Ok(sort)
}

/// The time budget of a search.
pub(super) fn cutoff(settings: &Settings) -> Duration {
    Duration::from_millis(settings.search_cutoff_ms.unwrap_or(DEFAULT_SEARCH_CUTOFF_MS))
}

/// Parses a filter like [`parse_filter`], for writes: only searches and lists of documents may query other indexes.
///
/// # Errors
/// Same as [`parse_filter`], and an error if the filter has a `_foreign`.
pub(crate) fn parse_own_filter(filter: &Value, code: Code, features: &Features) -> ApiResult<Option<Filter>> {
    let filter = parse_filter(filter, code, features.is_on(Feature::ContainsFilter))?;
    match filter.as_ref().and_then(Filter::first_foreign) {
        None => Ok(filter),
        Some(at) if !features.is_on(Feature::ForeignKeys) => Err(foreign::refused(at)),
        Some(at) => Err(ApiError::new(
            code,
            format!(
                "`_foreign` asks another index, which may change before the task runs: search for the documents first.\n{at}"
            ),
        )),
    }
}

/// Both filters, where there are two.
pub(super) fn both(imposed: Option<Filter>, request: Option<Filter>) -> Option<Filter> {
    match (imposed, request) {
        (Some(imposed), Some(request)) => Some(imposed.and(request)),
        (one, other) => one.or(other),
    }
}
