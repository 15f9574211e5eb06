//! The entry points of searches: [`SearchRequest`] -> [`SearchResult`], by words ([`search`]), by vectors
//! ([`search_semantic`]) or by both ([`search_hybrid`]).

mod hybrid;
mod matching;
mod semantic;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use rayon::prelude::*;
use thiserror::Error;

use crate::bits::DocSet;
use crate::condition::{ConditionError, PreparedFilter};
use crate::filter::Filter;
use crate::highlight::MatchingTerms;
use crate::index::settings::AvailableAttributes;
use crate::index::{DocumentAddress, Snapshot};
use crate::query::expand::NodeAutomata;
use crate::query::resolve::{NotSearchable, ResolvedSettings, query_languages, resolve};
use crate::query::split::choose_splits;
use crate::query::{ParsedQuery, QueryGraph, SegmentQuery, parse_query};
use crate::rank::ScoreDetail;
use crate::rank::keyword::{KeywordSearch, SegmentInput, rank};
use crate::rank::merge::{Distinct, RankedHit, merge};
use crate::rank::plan::Plan;
use crate::sort::{SegmentSort, SortCriterion, SortError, check_sortable};
use crate::text::Language;

pub use crate::query::MatchingStrategy;
pub use hybrid::{HybridResult, search_hybrid};
pub use semantic::{SemanticQuery, dimensions, search_semantic, search_similar};

/// One search over one snapshot, all names and values already checked for shape.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The query text; `None`, empty or blank is a placeholder search.
    pub query: Option<String>,
    /// Hits skipped, best first.
    pub offset: usize,
    /// Hits returned at most.
    pub limit: usize,
    /// Totals must be exact after `distinct` and the threshold (page mode) rather than estimates.
    pub exhaustive: bool,
    pub matching: MatchingStrategy,
    /// `attributesToSearchOn`: names or patterns; `None` searches every searchable attribute.
    pub search_on: Option<Vec<String>>,
    pub filter: Option<Filter>,
    pub sort: Vec<SortCriterion>,
    /// Overrides the index's distinct attribute.
    pub distinct: Option<String>,
    /// Languages of the query; empty: rules of the index, else detection.
    pub languages: Vec<Language>,
    /// Hits with a lower global score are not hits.
    pub score_threshold: Option<f64>,
    /// Collect the forms of the query's words, for highlighting.
    pub matching_terms: bool,
    /// Time budget, counted from `received`.
    pub cutoff: Option<Duration>,
    pub received: Instant,
}

impl Default for SearchRequest {
    fn default() -> Self {
        SearchRequest {
            query: None,
            offset: 0,
            limit: 20,
            exhaustive: false,
            matching: MatchingStrategy::Last,
            search_on: None,
            filter: None,
            sort: Vec::new(),
            distinct: None,
            languages: Vec::new(),
            score_threshold: None,
            matching_terms: false,
            cutoff: None,
            received: Instant::now(),
        }
    }
}

/// One hit, best first in the result.
#[derive(Clone, Debug)]
pub struct Hit {
    pub address: DocumentAddress,
    /// 0..=1.
    pub score: f64,
    /// One entry a rule, in the order of the rules.
    pub details: Vec<ScoreDetail>,
}

/// The answer of [`search`].
#[derive(Debug)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    /// Documents that match: exact when the request asked for it, else an estimate that may count documents which
    /// `distinct` would remove.
    pub total: u64,
    /// Matching documents of each segment, for facets.
    pub candidates: Vec<DocSet>,
    /// The time budget ended before the ranking was complete.
    pub degraded: bool,
    /// Forms of the query's words, when asked for.
    pub matching_terms: Option<MatchingTerms>,
}

/// Why a search could not run: the request asks for what the settings do not allow.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    #[error(transparent)]
    Filter(#[from] ConditionError),
    #[error(transparent)]
    Sort(#[from] SortError),
    /// `attributesToSearchOn` names an attribute that is not searchable.
    #[error(transparent)]
    SearchOn(#[from] NotSearchable),
    /// The distinct attribute of the request is not filterable.
    #[error(
        "Attribute `{attribute}` is not filterable and thus, cannot be used as distinct attribute. {}",
        filterable_text(available)
    )]
    NotDistinct { attribute: String, available: AvailableAttributes },
    /// The settings know no embedder of this name.
    #[error("Cannot find embedder with name `{name}`.")]
    UnknownEmbedder { name: String },
    /// A query vector has not the embedder's size.
    #[error("Invalid vector dimensions: expected: `{expected}`, found: `{found}`.")]
    VectorDimensions { expected: usize, found: usize },
}

fn filterable_text(available: &AvailableAttributes) -> String {
    if available.is_empty() {
        return "This index does not have configured filterable attributes.".to_owned();
    }
    format!("Available filterable attributes patterns are: {}.", available.quoted_together())
}

/// Searches. Phases: resolve the settings, parse, find the candidates of each segment, rank, merge the segments.
///
/// # Errors
/// [`SearchError`]: the request names attributes that the settings do not allow.
pub fn search(snapshot: &Snapshot, request: &SearchRequest) -> Result<SearchResult, SearchError> {
    check_sortable(&snapshot.settings, &request.sort, true)?;
    let resolved = ResolvedSettings::of(&snapshot.settings);
    let options = resolve(snapshot, &resolved, request.search_on.as_deref())?;
    let languages = match request.languages.as_slice() {
        [] => query_languages(snapshot, &options),
        named => named.to_vec(),
    };
    let parsed = match request.query.as_deref().filter(|q| !q.trim().is_empty()) {
        Some(q) => parse_query(q, &resolved.tokenizer, &languages, &options.stop_words, options.prefix_search),
        None => ParsedQuery::default(),
    };
    let filter = match &request.filter {
        Some(filter) => Some(PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields)?),
        None => None,
    };
    let distinct = distinct(snapshot, request)?;
    let all_words = request.matching == MatchingStrategy::All;
    let plan = Plan::new(&snapshot.settings.ranking_rules, &request.sort, !parsed.terms.is_empty(), all_words);
    let graph = QueryGraph::new(parsed.terms, &options);
    let automata: Vec<_> = graph.nodes.iter().map(NodeAutomata::new).collect();
    let mut segments: Vec<SegmentInput<'_>> = snapshot
        .segments
        .par_iter()
        .map(|view| {
            let query = SegmentQuery::new(&view.reader, view.deleted_set(), &graph, &automata, &options);
            let mut universe = filter.as_ref().map_or_else(|| view.live_set(), |filter| filter.evaluate(view));
            for excluded in &parsed.excluded {
                universe.and_not_assign(&query.excluded(excluded));
            }
            SegmentInput { query, universe, sort: SegmentSort::new(snapshot, view, &plan.sorts) }
        })
        .collect();
    choose_splits(&graph, &mut segments.iter_mut().map(|s: &mut SegmentInput<'_>| &mut s.query).collect::<Vec<_>>());
    let rank_all = distinct.is_some() || request.score_threshold.is_some();
    let keyword = KeywordSearch {
        graph: &graph,
        options: &options,
        plan: &plan,
        strategy: request.matching,
        wanted: if rank_all { usize::MAX } else { request.offset.saturating_add(request.limit) },
        deadline: request.cutoff.map(|c| request.received + c),
    };
    let mut ranked = rank(&keyword, &segments);
    let (hits, kept) = merge(&ranked, request.offset, request.limit, distinct, request.score_threshold);
    let candidates = match kept {
        None => std::mem::take(&mut ranked.matching),
        Some(kept) => kept.into_iter().map(|docs| docs.into_iter().collect()).collect(),
    };
    let matching_terms =
        request.matching_terms.then(|| matching::matching_terms(&graph, segments.iter().map(|s| &s.query)));
    Ok(SearchResult {
        hits: hits.into_iter().map(Hit::from).collect(),
        total: candidates.iter().map(|c: &DocSet| u64::from(c.len())).sum(),
        candidates,
        degraded: ranked.degraded,
        matching_terms,
    })
}

/// The live documents of each segment that pass the filter, and that hold no excluded word of the query if these count.
fn matching_universe(
    snapshot: &Snapshot,
    request: &SearchRequest,
    excludes_words: bool,
) -> Result<Vec<DocSet>, SearchError> {
    let filter = match &request.filter {
        Some(filter) => Some(PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields)?),
        None => None,
    };
    let passing = snapshot.segments.par_iter();
    let mut universe: Vec<DocSet> =
        passing.map(|view| filter.as_ref().map_or_else(|| view.live_set(), |filter| filter.evaluate(view))).collect();
    let text = request.query.as_deref().filter(|text| excludes_words && text.contains('-'));
    let Some(text) = text else { return Ok(universe) };
    let resolved = ResolvedSettings::of(&snapshot.settings);
    let options = resolve(snapshot, &resolved, request.search_on.as_deref())?;
    let languages = match request.languages.as_slice() {
        [] => query_languages(snapshot, &options),
        named => named.to_vec(),
    };
    let parsed = parse_query(text, &resolved.tokenizer, &languages, &options.stop_words, options.prefix_search);
    let graph = QueryGraph::new(Vec::new(), &options);
    for (view, docs) in snapshot.segments.iter().zip(&mut universe) {
        let query = SegmentQuery::new(&view.reader, view.deleted_set(), &graph, &[], &options);
        for excluded in &parsed.excluded {
            docs.and_not_assign(&query.excluded(excluded));
        }
    }
    Ok(universe)
}

/// The attribute of which hits have different values, if any. That of the settings need not be filterable.
fn distinct(snapshot: &Snapshot, request: &SearchRequest) -> Result<Option<Distinct>, SearchError> {
    let settings = &snapshot.settings;
    if let Some(attribute) = request.distinct.as_ref().filter(|name| settings.filterable(name).is_none()) {
        let available = AvailableAttributes::filterable(settings);
        return Err(SearchError::NotDistinct { attribute: attribute.clone(), available });
    }
    let name = request.distinct.as_ref().or(settings.distinct_attribute.as_ref());
    Ok(name.map(|name| Distinct::new(snapshot.fields.get(name), snapshot.segments.iter().map(|s| &*s.reader))))
}

impl From<RankedHit> for Hit {
    fn from(hit: RankedHit) -> Hit {
        Hit {
            address: DocumentAddress { segment: hit.segment as u32, doc: hit.doc },
            score: hit.score,
            details: hit.details,
        }
    }
}
