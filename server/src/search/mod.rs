//! Runs the searches that requests ask for and writes their answers.
//!
//! Everything here is synchronous and works on one snapshot of an index; who is allowed to ask, which thread works and
//! where snapshots come from is decided by the routes.

mod answer;
mod details;
mod facet_search;
mod facets;
mod federation;
mod geo_distance;
mod hits;
mod multi;
mod refusal;
mod request;
mod similar;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use lamina_engine::filter::Filter;
use lamina_engine::index::Snapshot;
use lamina_engine::search::{SearchResult, search};
use lamina_engine::sort::SortCriterion;

pub use answer::{Answer, Metadata};
pub use facet_search::{FacetSearch, run_facet_search};
pub use facets::Facets;
pub use federation::run_federated;
pub use hits::HitWriter;
pub use multi::{Snapshots, run_multi};
pub use refusal::unknown_embedder;
pub use request::{engine_request, parse_filter};
pub use similar::run_similar;

use crate::access::Rights;
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::search::{SearchKind, SearchQuery};

/// The index that is searched.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Its uid, for messages.
    pub uid: &'a str,
    /// Its state.
    pub snapshot: &'a Snapshot,
}

/// What surrounds a search beside its parameters.
#[derive(Clone, Debug)]
pub struct Context {
    /// When the request came in: time budget and `processingTimeMs` count from here.
    pub received: Instant,
    /// Whether filters may use `CONTAINS`.
    pub contains_filter: bool,
    /// What the caller may search; may add a filter to the request's.
    pub rights: Rights,
}

impl Context {
    /// A request that comes in now, with nothing special, that may search everything.
    pub fn now() -> Context {
        Context { received: Instant::now(), contains_filter: false, rights: Rights::all() }
    }
}

impl Context {
    /// The filter that the caller's rights add to searches of an index.
    ///
    /// # Errors
    /// `code` when whoever granted the rights wrote a filter that can't be read.
    pub fn imposed_filter(&self, index_uid: &str, code: Code) -> ApiResult<Option<Filter>> {
        match self.rights.imposed_filter(index_uid) {
            Some(filter) => parse_filter(filter, code, self.contains_filter),
            None => Ok(None),
        }
    }
}

/// A search that has run.
#[derive(Debug)]
pub struct Found {
    /// What the engine found.
    pub result: SearchResult,
    /// The request's sort, parsed.
    pub sort: Vec<SortCriterion>,
    /// Counts of facet values, when asked for.
    pub facets: Option<Facets>,
    /// Hits that came by their meaning, for searches that have such a part.
    pub semantic_hit_count: Option<usize>,
    /// How long each step took.
    pub steps: Vec<(&'static str, Duration)>,
}

/// Runs one search.
///
/// # Errors
/// What the settings of the index do not allow, with the code of the parameter.
pub fn run(target: Target<'_>, query: &SearchQuery, context: &Context) -> ApiResult<Found> {
    let total_max = target.snapshot.settings.pagination.max_total_hits;
    run_window(target, query, context, query.window().bounds(total_max))
}

/// As [`run`], for the hits `(offset, limit)` instead of those that the query asks for.
///
/// # Errors
/// As [`run`].
pub fn run_window(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    (offset, limit): (usize, usize),
) -> ApiResult<Found> {
    let semantic_hit_count = semantic_part(target, query)?;
    let mut request = engine_request(target, query, context)?;
    (request.offset, request.limit) = (offset, limit);
    let start = Instant::now();
    let result = search(target.snapshot, &request).map_err(|error| refusal::search(target.uid, &error))?;
    let mut steps = vec![("search", start.elapsed())];
    let facets = match &query.facets {
        // An empty list is no list.
        Some(names) if !names.is_empty() => {
            let start = Instant::now();
            let facets = Facets::count(target.snapshot, &result.candidates, names)?;
            steps.push(("facets", start.elapsed()));
            Some(facets)
        }
        _ => None,
    };
    Ok(Found { result, sort: request.sort, facets, semantic_hit_count, steps })
}

/// Number of hits by meaning, for searches that have such a part. There are no vectors to search yet: a search that
/// also goes by words answers with what these find, as when an embedder can't be reached; a search by meaning alone
/// can't be answered.
fn semantic_part(target: Target<'_>, query: &SearchQuery) -> ApiResult<Option<usize>> {
    let (hybrid, by_words) = match query.kind()? {
        SearchKind::Keyword => return Ok(None),
        SearchKind::Semantic(hybrid) => (hybrid, false),
        SearchKind::Hybrid(hybrid) => (hybrid, true),
    };
    let Some(embedder) = target.snapshot.settings.embedders.get(&hybrid.embedder) else {
        return Err(unknown_embedder(&hybrid.embedder, Code::InvalidSearchEmbedder));
    };
    let dimensions = embedder.get("dimensions").and_then(serde_json::Value::as_u64);
    if let (Some(expected), Some(vector)) = (dimensions, &query.vector)
        && expected != vector.len() as u64
    {
        return Err(ApiError::new(
            Code::InvalidVectorDimensions,
            format!("Invalid vector dimensions: expected: `{expected}`, found: `{}`.", vector.len()),
        ));
    }
    if by_words {
        return Ok(Some(0));
    }
    Err(refusal::vectors_unavailable())
}
