//! The entry points of searches: [`SearchRequest`] -> [`SearchResult`], by words ([`search`]), by vectors
//! ([`search_semantic`]) or by both ([`search_hybrid`]).

mod any;
#[cfg(test)]
mod boost_tests;
mod boosting;
mod by_vectors;
#[cfg(test)]
mod damage_tests;
#[cfg(test)]
mod element_tests;
mod explain;
mod filtering;
mod fusion;
mod hybrid;
mod matching;
mod passages;
#[cfg(test)]
mod scan_tests;
mod semantic;
mod settled;
mod suggest;
#[cfg(test)]
mod tests;
mod weighted;
mod whole_values;
#[cfg(test)]
mod word_tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_index::index::settings::{AvailableAttributes, BoostRule, RankingRule};
use lamina_index::index::{DocumentAddress, IndexError, SegmentView, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_text::filter::Filter;
use lamina_text::text::Language;
use rayon::prelude::*;
use thiserror::Error;

use crate::boost::BoostError;
use crate::condition::ConditionError;
use crate::highlight::MatchingTerms;
use crate::query::parser::{QUESTION_TERMS_MAX, TERMS_MAX};
use crate::query::resolve::{NotSearchable, query_languages, resolve};
use crate::query::split::choose_splits;
use crate::query::word_forms::form_options;
use crate::query::{Excluded, ParseOptions, ParsedQuery, QueryGraph, QueryOptions, SegmentQuery, parse_query, warm_up};
use crate::rank::context::{KeywordSearch, SegmentInput};
use crate::rank::keyword::{beside_largest, rank};
use crate::rank::merge::{Distinct, RankedHit, RankedList, Wanted, merge};
use crate::rank::plan::Plan;
use crate::rank::{RuleCandidates, ScoreDetail, SearchThresholds};
use crate::sort::{SegmentSort, SortCriterion, SortError, check_sortable};

use explain::{Clock, Explainer};
use filtering::Filtering;

pub use crate::query::MatchingStrategy;
pub use by_vectors::{search_semantic, search_similar};
pub use explain::{
    DocumentExplanation, Explain, Explanation, MatchKind, Nearness, Stage, Standing, TermMatch, WordMatches,
};
pub use fusion::{DEFAULT_RRF_K, Fusion};
pub use hybrid::{HybridResult, search_hybrid};
pub use passages::{NearPassage, NearPassages};
pub use semantic::{SemanticQuery, dimensions};
pub use settled::{Admitted, QueryWords, query_words};
pub use suggest::{Completion, complete, corrected, documents_with};

/// Documents of segments in which words are looked up about as long as a thread takes to wake up.
const MANY_DOCS: u64 = 1 << 14;

/// One search over one snapshot, all names and values already checked for shape.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The query text; `None`, empty or blank is a placeholder search.
    pub query: Option<String>,
    /// Hits skipped, best first.
    pub offset: usize,
    /// Hits returned at most.
    pub limit: usize,
    /// Hits of a page, whatever makes `limit` another number: if good keyword hits of a hybrid search fill the first page, they come first on
    /// all pages. `None`: as `limit`. The largest number: never, for a beginning of a list whose pages are not known.
    pub page_limit: Option<usize>,
    /// A search by vectors with a threshold counts all documents above it (page mode), not only those it ranks. Totals
    /// of searches by words are always exact.
    pub exhaustive: bool,
    pub matching: MatchingStrategy,
    /// `attributesToSearchOn`: names or patterns; `None` searches every searchable attribute.
    pub search_on: Option<Vec<String>>,
    pub filter: Option<Filter>,
    /// Documents that are no hits: the caller has settled their places.
    pub except: Vec<DocumentAddress>,
    pub sort: Vec<SortCriterion>,
    /// In place of the boosts of the settings.
    pub boosts: Option<Vec<BoostRule>>,
    /// Overrides the index's distinct attribute.
    pub distinct: Option<String>,
    /// Hits of each value of the distinct attribute, at least 1.
    pub distinct_limit: u32,
    /// Languages of the query; empty: rules of the index, else detection.
    pub languages: Vec<Language>,
    /// Hits with a lower global score are not hits.
    pub score_threshold: Option<f64>,
    /// The same, of the hits by nearness in a hybrid search; `None`: as those by words.
    pub near_score_threshold: Option<f64>,
    /// Hits of a search by words have their score. Without it each hit is read once less.
    pub scores: bool,
    /// Collect the forms of the query's words, for highlighting.
    pub matching_terms: bool,
    /// Time budget, counted from `received`. A filter is evaluated within it, or for 0.2 seconds where less is left.
    pub cutoff: Option<Duration>,
    pub received: Instant,
    /// Explanation that the request wants; `None`: none.
    pub explain: Option<Explain>,
    /// From how many documents on more is done than to scan them.
    pub thresholds: SearchThresholds,
}

impl Default for SearchRequest {
    fn default() -> Self {
        SearchRequest {
            query: None,
            offset: 0,
            limit: 20,
            page_limit: None,
            exhaustive: false,
            matching: MatchingStrategy::Last,
            search_on: None,
            filter: None,
            except: Vec::new(),
            sort: Vec::new(),
            boosts: None,
            distinct: None,
            distinct_limit: 1,
            languages: Vec::new(),
            score_threshold: None,
            near_score_threshold: None,
            scores: true,
            matching_terms: false,
            cutoff: None,
            received: Instant::now(),
            explain: None,
            thresholds: SearchThresholds::default(),
        }
    }
}

impl SearchRequest {
    /// Documents that have to be ranked; all of them when it takes their order to find which are hits.
    fn wanted(&self, has_distinct: bool) -> usize {
        let asks_for_place = self.explain.as_ref().is_some_and(|explain| explain.document.is_some());
        if has_distinct || asks_for_place || self.score_threshold.is_some() {
            usize::MAX
        } else {
            self.offset.saturating_add(self.limit)
        }
    }
}

/// One hit, best first in the result.
#[derive(Clone, Debug)]
pub struct Hit {
    pub address: DocumentAddress,
    /// 0..=1; 0 where it was not asked for.
    pub score: f64,
    /// One entry a rule, in the order of the rules; none where the score was not asked for.
    pub details: Vec<ScoreDetail>,
}

/// The answer of [`search`].
#[derive(Debug)]
pub struct SearchResult {
    pub hits: Vec<Hit>,
    /// Documents that match. A search by vectors counts documents below its threshold too where it did not rank them,
    /// unless it was asked for exact totals.
    pub total: u64,
    /// Values of the distinct attribute among them, each document without one being one by itself; of searches that have such
    /// an attribute.
    pub groups: Option<u64>,
    /// Matching documents of each segment, for facets.
    pub candidates: Vec<DocSet>,
    /// A later answer may be better: the time budget ended before the ranking was complete. Callers may add their reasons.
    pub degraded: bool,
    /// Limits that took effect and so may have changed the answer.
    pub limits: Vec<Limit>,
    /// Forms of the query's words, when asked for.
    pub matching_terms: Option<MatchingTerms>,
    /// Explanation, if the request wants one. In searches by vectors alone it has no words.
    pub explanation: Option<Box<Explanation>>,
}

/// A bound on the work of a search that was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The time budget: not all documents were ranked, or the filter was not evaluated, and nothing was found.
    TimeBudget,
    /// The number of words and phrases of a query: the rest of the text was left out.
    QueryTerms,
    /// The number of ways to join the words of a query: some documents that match by a rare one may be ranked too low.
    QueryReadings,
}

/// Reason for which a search could not run: the request needs something that the settings do not allow, or the index is
/// damaged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SearchError {
    #[error(transparent)]
    Filter(#[from] ConditionError),
    #[error(transparent)]
    Sort(#[from] SortError),
    /// A boost reads what cannot be read.
    #[error(transparent)]
    Boost(#[from] Box<BoostError>),
    /// The request names an attribute to search that is not searchable.
    #[error(transparent)]
    SearchOn(#[from] NotSearchable),
    /// The distinct attribute of the request is not filterable.
    #[error("`{attribute}` is not filterable, so hits cannot be made distinct by it")]
    NotDistinct { attribute: String, available: AvailableAttributes },
    /// The settings know no embedder of this name.
    #[error("there is no embedder `{name}`")]
    UnknownEmbedder { name: String },
    /// A query vector has not the embedder's size.
    #[error("a query vector has {found} numbers, the embedder's have {expected}")]
    VectorDimensions { expected: usize, found: usize },
    /// A segment is damaged: what it says could be wrong.
    #[error(transparent)]
    Damaged(#[from] IndexError),
}

/// Searches. Phases: resolve the settings, parse, find the candidates of each segment, rank, merge the segments.
///
/// # Errors
/// [`SearchError`]: the request names attributes that the settings do not allow, or a segment is damaged.
pub fn search(snapshot: &Snapshot, request: &SearchRequest) -> Result<SearchResult, SearchError> {
    of_sound(snapshot, || search_by_words(snapshot, request))
}

/// Runs `search`, and returns its answer only if all segments are intact before and after it. The search may meet
/// damage in code that cannot report it.
fn of_sound<T>(snapshot: &Snapshot, search: impl FnOnce() -> Result<T, SearchError>) -> Result<T, SearchError> {
    snapshot.check_health()?;
    let result = search();
    snapshot.check_health()?;
    result
}

/// The terms of the query, cut by the languages of the request or of the settings; `options` get which forms of them count.
fn parsed(snapshot: &Snapshot, request: &SearchRequest, options: &mut QueryOptions) -> ParsedQuery {
    let languages = match request.languages.as_slice() {
        [] => query_languages(snapshot, options),
        named => named.to_vec(),
    };
    let is_question = request.matching == MatchingStrategy::Any;
    let terms_max = if is_question { QUESTION_TERMS_MAX } else { TERMS_MAX };
    options.forms = form_options(snapshot, is_question, &request.languages, &languages);
    let Some(q) = request.query.as_deref().filter(|q| !q.trim().is_empty()) else { return ParsedQuery::default() };
    let tokenizer = &snapshot.resolved_settings().tokenizer;
    let asked = ParseOptions {
        languages: &languages,
        stop_words: &options.stop_words,
        prefix_search: options.prefix_search,
        possessives: options.forms.languages.contains(&Language::Eng),
        terms_max,
    };
    parse_query(q, tokenizer, &asked)
}

fn search_by_words(snapshot: &Snapshot, request: &SearchRequest) -> Result<SearchResult, SearchError> {
    let mut clock = Clock::start();
    // Of several mistakes the answer names the one that servers of the protocol name.
    let mut options = resolve(snapshot, request.search_on.as_deref())?;
    let distinct = distinct(snapshot, request)?;
    let rules = boosting::rules(snapshot, request);
    let filtering = Filtering::new(snapshot, request)?.with_boosts(&rules, snapshot)?;
    check_sortable(&snapshot.settings, &request.sort, true)?;
    if request.search_on.is_none() {
        warm_up::begin(snapshot.segments.iter().map(|view| (&view.reader, &view.caches)), &options);
    }
    let parsed = parsed(snapshot, request, &mut options);
    if request.matching == MatchingStrategy::Any && !parsed.terms.is_empty() {
        let prepared = Prepared { parsed, options: &options, rules: &rules, filtering, distinct, clock };
        return any::search_any(snapshot, request, prepared);
    }
    clock.lap("parse", None);
    let all_words = request.matching == MatchingStrategy::All;
    let mut plan = Plan::new(&rules, &request.sort, !parsed.terms.is_empty(), all_words);
    if request.matching == MatchingStrategy::Any {
        plan.join_boosts();
    }
    let filtering = filtering.with_sorts(&plan.sorts, snapshot)?;
    let graph = QueryGraph::new(parsed.terms, &options);
    let mut segments: Vec<SegmentInput<'_>> = per_segment(snapshot, |view| {
        let query = SegmentQuery::new(view.cached(), view.deleted_set(), &graph, &options);
        segment_input(snapshot, view, query, &filtering, &parsed.excluded, &plan)
    });
    none_if_late(&filtering, &mut segments);
    clock.lap("match and filter", Some(documents(segments.iter().map(|segment| &segment.universe))));
    choose_splits(&graph, &mut segments.iter_mut().map(|s: &mut SegmentInput<'_>| &mut s.query).collect::<Vec<_>>());
    clock.lap("split words", None);
    let keyword = KeywordSearch {
        graph: &graph,
        options: &options,
        plan: &plan,
        strategy: request.matching,
        wanted: request.wanted(distinct.is_some()),
        deadline: request.cutoff.map(|c| request.received + c),
        thresholds: request.thresholds,
    };
    let mut ranked = rank(&keyword, &segments);
    clock.lap("rank", Some(documents(&ranked.matching)));
    let matching_terms =
        request.matching_terms.then(|| matching::matching_terms(&graph, segments.iter().map(|s| &s.query)));
    let explainer = request.explain.as_ref().map(|_| {
        let excluded = &parsed.excluded;
        (Explainer { snapshot, request, graph: &graph, excluded, segments: &segments }, ranked.report())
    });
    let mut limits = limits(parsed.is_cut, ranked.degraded || filtering.is_late());
    limits.extend(ranked.readings_cut.then_some(Limit::QueryReadings));
    let matching = std::mem::take(&mut ranked.matching);
    finish(&ranked, request, Ending { distinct, matching, limits, matching_terms, explainer, clock })
}

/// Looks up the frequent words of large segments beforehand, on a thread of low priority; the first search begins it
/// otherwise. `true` when there is such a segment that was not there before.
pub fn warm_up(snapshot: &Snapshot) -> bool {
    let options = resolve(snapshot, None);
    // Only attributes that a request names can be unknown.
    options.is_ok_and(|options| {
        warm_up::begin(snapshot.segments.iter().map(|view| (&view.reader, &view.caches)), &options)
    })
}

fn limits(is_query_cut: bool, is_late: bool) -> Vec<Limit> {
    let query = is_query_cut.then_some(Limit::QueryTerms);
    query.into_iter().chain(is_late.then_some(Limit::TimeBudget)).collect()
}

fn documents<'a>(sets: impl IntoIterator<Item = &'a DocSet>) -> u64 {
    sets.into_iter().map(|docs| u64::from(docs.len())).sum()
}

/// Parts of the answer of a keyword search, besides the ranking.
struct Ending<'a> {
    distinct: Option<Distinct>,
    /// Documents of each segment that match.
    matching: Vec<DocSet>,
    limits: Vec<Limit>,
    matching_terms: Option<MatchingTerms>,
    explainer: Option<(Explainer<'a>, Vec<RuleCandidates>)>,
    clock: Clock,
}

/// The hits of the window and their totals.
fn finish(ranked: &impl RankedList, request: &SearchRequest, ending: Ending<'_>) -> Result<SearchResult, SearchError> {
    let Ending { mut distinct, matching, limits, matching_terms, explainer, mut clock } = ending;
    let SearchRequest { offset, limit, score_threshold, scores, .. } = *request;
    let (hits, kept) = merge(ranked, Wanted { offset, limit, score_threshold, scores }, &mut distinct);
    let (candidates, matching) = match kept {
        None => (matching, None),
        Some(kept) => (kept.into_iter().map(|docs| docs.into_iter().collect()).collect(), Some(matching)),
    };
    let hits: Vec<Hit> = hits.into_iter().map(Hit::from).collect();
    clock.lap("hits", Some(documents(&candidates)));
    let explanation = match explainer {
        Some((explainer, rules)) => {
            let addresses: Vec<DocumentAddress> = hits.iter().map(|hit| hit.address).collect();
            let sets = [matching.as_deref().unwrap_or(&candidates), &candidates];
            Some(Box::new(explainer.explain(ranked, &addresses, sets, clock.stages, rules)?))
        }
        None => None,
    };
    Ok(SearchResult {
        hits,
        total: documents(&candidates),
        groups: distinct.as_ref().map(Distinct::groups),
        candidates,
        degraded: limits.contains(&Limit::TimeBudget),
        limits,
        matching_terms,
        explanation,
    })
}

/// Resolved input that every keyword search needs.
struct Prepared<'a> {
    parsed: ParsedQuery,
    options: &'a QueryOptions,
    rules: &'a [RankingRule],
    filtering: Filtering,
    distinct: Option<Distinct>,
    clock: Clock,
}

/// `f` of each segment, in order; in parallel where those beside the largest take longer than waking a thread.
fn per_segment<'a, T: Send>(snapshot: &'a Snapshot, f: impl Fn(&'a SegmentView) -> T + Sync + Send) -> Vec<T> {
    if beside_largest(snapshot.segments.iter().map(|view| view.reader.doc_count())) < MANY_DOCS {
        snapshot.segments.iter().map(f).collect()
    } else {
        snapshot.segments.par_iter().map(f).collect()
    }
}

/// One segment of a search: its documents that pass the filter and hold nothing excluded.
fn segment_input<'a>(
    snapshot: &'a Snapshot,
    view: &'a SegmentView,
    query: SegmentQuery<'a>,
    filtering: &'a Filtering,
    excluded: &[Excluded],
    plan: &'a Plan,
) -> SegmentInput<'a> {
    let mut universe = filtering.passing(view);
    for excluded in excluded {
        universe.and_not_assign(&query.excluded(excluded));
    }
    let boosts = Arc::new(filtering.boosts(view));
    let sort = SegmentSort::new(snapshot, view, &plan.sorts)
        .with_computed(boosts.clone())
        .with_elements(filtering.element_columns(view, &universe));
    SegmentInput { query, universe, sort, boosts }
}

/// No document matches when the filter was not evaluated in time.
fn none_if_late(filtering: &Filtering, segments: &mut [SegmentInput<'_>]) {
    if filtering.is_late() {
        segments.iter_mut().for_each(|segment| segment.universe = DocSet::empty());
    }
}

/// The live documents of each segment that pass the filter, and that hold no excluded word of the query if these count.
/// `None` when the filter was not evaluated in time.
fn matching_universe(
    snapshot: &Snapshot,
    request: &SearchRequest,
    excludes_words: bool,
) -> Result<Option<Vec<DocSet>>, SearchError> {
    let filtering = Filtering::new(snapshot, request)?;
    let mut universe: Vec<DocSet> = per_segment(snapshot, |view| filtering.passing(view));
    if filtering.is_late() {
        return Ok(None);
    }
    let text = request.query.as_deref().filter(|text| excludes_words && text.contains('-'));
    let Some(text) = text else { return Ok(Some(universe)) };
    let resolved = snapshot.resolved_settings();
    let options = resolve(snapshot, request.search_on.as_deref())?;
    let languages = match request.languages.as_slice() {
        [] => query_languages(snapshot, &options),
        named => named.to_vec(),
    };
    let asked = ParseOptions {
        languages: &languages,
        stop_words: &options.stop_words,
        prefix_search: options.prefix_search,
        possessives: false,
        terms_max: TERMS_MAX,
    };
    let parsed = parse_query(text, &resolved.tokenizer, &asked);
    let graph = QueryGraph::new(Vec::new(), &options);
    for (view, docs) in snapshot.segments.iter().zip(&mut universe) {
        let query = SegmentQuery::new(view.cached(), view.deleted_set(), &graph, &options);
        for excluded in &parsed.excluded {
            docs.and_not_assign(&query.excluded(excluded));
        }
    }
    Ok(Some(universe))
}

/// The attribute of which hits have different values, if any. That of the settings need not be filterable.
fn distinct(snapshot: &Snapshot, request: &SearchRequest) -> Result<Option<Distinct>, SearchError> {
    let settings = &snapshot.settings;
    if let Some(attribute) = request.distinct.as_ref().filter(|name| settings.filterable(name).is_none()) {
        let available = AvailableAttributes::filterable(settings);
        return Err(SearchError::NotDistinct { attribute: attribute.clone(), available });
    }
    let name = request.distinct.as_ref().or(settings.distinct_attribute.as_ref());
    let readers = || snapshot.segments.iter().map(|segment| &*segment.reader);
    Ok(name.map(|name| Distinct::new(snapshot.fields.get(name), request.distinct_limit.max(1), readers())))
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
