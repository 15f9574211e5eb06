//! Runs the searches that requests ask for and writes their answers.
//!
//! Everything here is synchronous and works on one snapshot of an index; who is allowed to ask, which thread works and
//! where snapshots come from is decided by the routes.

mod answer;
mod by_kind;
mod details;
mod embedded;
mod experiment;
mod explanation;
mod facet_search;
mod facets;
mod federation;
mod foreign;
mod geo_distance;
mod hits;
mod measures;
mod multi;
mod pace;
mod pinned_positions;
mod pins;
mod recording;
mod refusal;
mod request;
mod rerank;
mod response_cache;
mod similar;
mod suggestions;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::aliases::IndexName;
use lamina_base::budget::costs::{EXPLAINED_BYTES, EXPLAINED_WORD_BYTES, HIT_BYTES, SCORES_BYTES};
use lamina_base::budget::{AnswerBudget, Reservation};
use lamina_base::error::{ApiResult, Code};
use lamina_data::access::Rights;
use lamina_data::instance::Instance;
use lamina_engine::facet::Measured;
use lamina_engine::filter::Filter;
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::Pagination;
use lamina_engine::search::{SearchRequest, SearchResult};
use lamina_engine::sort::SortCriterion;
use lamina_protocol::wire::filter::parse_filter;
use lamina_protocol::wire::search::{SearchQuery, Window};

pub(crate) use answer::{Answer, Metadata, WrittenAnswer};
pub(crate) use embedded::{EmbeddedTexts, TextKey};
#[cfg(test)]
pub(crate) use experiment::draft;
pub(crate) use experiment::{Group, Team};
pub(crate) use facet_search::{FacetSearch, run_facet_search};
pub(crate) use facets::Facets;
pub(crate) use federation::federated;
pub(crate) use federation::{ValuesWanted, run_federated};
pub(crate) use foreign::resolve as resolve_foreign;
pub(crate) use hits::HitWriter;
pub(crate) use multi::at_query;
pub(crate) use multi::{OwnView, Written, run_multi};
pub(crate) use pace::{Asker, Pace};
pub(crate) use pins::RulesInForce;
pub(crate) use recording::{Recorder, Shown};
pub(crate) use refusal::unknown_embedder;
pub(crate) use request::{engine_request, filter_time, parse_own_filter};
pub(crate) use rerank::{Candidates, Reranked, candidates, reranker};
pub(crate) use response_cache::{Answered, Form, ResponseCache, depends_on_time, unexpired};
pub(crate) use similar::run_similar;
pub(crate) use suggestions::{
    COMPLETIONS_MAX, CompletionQuery, DidYouMean, SOURCE_QUERIES, count_query, run_completions,
};

use by_kind::{Searched, check_embedder, embedding_took};
use experiment::{Assigned, Mixed};
use pinned_positions::PinnedPositions;
use pins::Pinned;

/// The index to search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    /// Name in the request, for responses, messages and rights.
    pub name: &'a str,
    /// Uid of the index: two names of one index have the same.
    pub uid: &'a str,
    /// State of the index.
    pub snapshot: &'a Snapshot,
}

impl<'a> Target<'a> {
    /// The index that a request names so, in a state of it.
    pub(crate) fn new(name: &'a IndexName, snapshot: &'a Snapshot) -> Target<'a> {
        Target { name: &name.asked, uid: &name.uid, snapshot }
    }
}

/// Context of a search besides its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    /// Arrival time of the request: the time budget and `processingTimeMs` count from here.
    pub received: Instant,
    /// True if filters may use `CONTAINS`.
    pub contains_filter: bool,
    /// Indexes that fields with foreign keys look up, if that feature is on.
    pub foreign: Option<Arc<Instance>>,
    /// True if another server sends the request. It needs the sort keys of hits to merge them with others.
    pub proxied: bool,
    /// Number of facet values that the requesting server wants, to merge them with others.
    pub values_wanted: Option<ValuesWanted>,
    /// Rights of the caller. They may add a filter to that of the request.
    pub rights: Rights,
    /// The vectors of the texts that are to be searched by meaning.
    pub embedded: EmbeddedTexts,
    /// The order of the first hits, if they have another one.
    pub reranked: Option<Arc<Reranked>>,
    /// Rules that pin documents, when that feature is on and there are any.
    pub rules: Option<RulesInForce>,
    /// Response cache.
    pub kept: Arc<ResponseCache>,
    /// Recorder of searches, where this server records them.
    pub recorder: Option<Recorder>,
    /// The memory of the answer.
    pub budget: AnswerBudget,
    /// Time limit of the search, together with the searches before it.
    pub pace: Pace,
}

impl Context {
    /// A request that comes in now, with nothing special, that may search everything and take any memory.
    pub(crate) fn now() -> Context {
        Context {
            received: Instant::now(),
            contains_filter: false,
            foreign: None,
            proxied: false,
            values_wanted: None,
            rights: Rights::all(),
            embedded: EmbeddedTexts::default(),
            reranked: None,
            rules: None,
            kept: Arc::new(ResponseCache::new(0)),
            recorder: None,
            budget: AnswerBudget::UNLIMITED,
            pace: Pace::default(),
        }
    }
}

impl Context {
    /// The filter that the caller's rights add to searches of the index `uid` by this name.
    ///
    /// # Errors
    /// `code` when the rights were granted with a filter that can't be read.
    pub(crate) fn imposed_filter(&self, name: &str, uid: &str, code: Code) -> ApiResult<Option<Filter>> {
        match self.rights.imposed_filter(name, uid) {
            Some(filter) => parse_filter(&filter, code, self.contains_filter),
            None => Ok(None),
        }
    }
}

/// A search that has run.
#[derive(Debug)]
pub(crate) struct Found {
    /// Result of the engine.
    pub result: SearchResult,
    /// Reasons why the answer may be cut, as answers name them.
    pub limits: Vec<&'static str>,
    /// The request's sort, parsed.
    pub sort: Vec<SortCriterion>,
    /// Counts of facet values, when asked for.
    pub facets: Option<Facets>,
    /// The answers to the measures that were asked for, in their order.
    pub measured: Vec<Measured>,
    /// Hits that came by their meaning, for searches that have such a part.
    pub semantic_hit_count: Option<usize>,
    /// The vector that documents were compared with, if any.
    pub vector: Option<Vec<f32>>,
    /// A better query, when asked for and there is one.
    pub did_you_mean: Option<DidYouMean>,
    /// Durations of the steps, in their order.
    pub steps: Vec<(&'static str, Duration)>,
    /// Documents that rules pin, by their places.
    pinned: Vec<Pinned>,
    /// Effect of an experiment.
    mixed: Mixed,
    /// Range of requested hits, and its limit by `maxTotalHits`.
    pub window: Reach,
    /// The memory of all this.
    pub held: Reservation,
}

/// The step that the engine takes.
const SEARCH: &str = "search";

/// Range of hits that a search could return.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// Skipped, within `total_max`.
    pub offset: usize,
    /// Returned at most, within `total_max`.
    pub limit: usize,
    /// Hits of a full page: the last one has fewer, and the beginning of a merged list is longer.
    pub page_limit: usize,
    /// True if more hits than `total_max` would change the response: the request reaches beyond it, or counts pages.
    pub is_cut: bool,
    /// `maxTotalHits`
    pub total_max: usize,
}

impl Found {
    /// The limits that changed the answer, by the name of the setting or of the thing that is limited.
    pub(crate) fn cuts(&self) -> Vec<String> {
        let mut cuts: Vec<String> = self.limits.iter().map(|&limit| limit.to_owned()).collect();
        if self.window.is_cut && self.result.total > self.window.total_max as u64 {
            cuts.push("maxTotalHits".to_owned());
        }
        cuts.extend(self.facets.iter().flat_map(Facets::cuts));
        cuts
    }
}

/// Runs one search.
///
/// # Errors
/// What the settings of the index do not allow, with the code of the parameter.
pub(crate) fn run(target: Target<'_>, query: &SearchQuery, context: &Context) -> ApiResult<Found> {
    let total_max = target.snapshot.settings.pagination.max_total_hits;
    let is_scored =
        query.show_ranking_score || query.show_ranking_score_details || query.did_you_mean || query.explain.is_some();
    let assigned = context.assigned(target, query);
    let how = How { scores: is_scored || context.proxied, places_pins: true, assigned: assigned.as_ref() };
    run_for(target, query, context, Reach::new(query.window(), total_max), how)
}

/// Returns the number of hits to report if an index has `found` hits. Pages are counted only as far as they can be
/// reached, so that none of them is empty.
pub(crate) fn total_of(window: Window, pagination: Pagination, found: u64) -> u64 {
    match window {
        Window::Offset { .. } => pagination.estimate(found),
        Window::Page { .. } => pagination.reachable(found),
    }
}

impl Reach {
    /// The hits of `window`, of which an index returns the first `total_max`.
    pub(crate) fn new(window: Window, total_max: usize) -> Reach {
        let (first, number) = window.bounds(usize::MAX);
        let (offset, limit) = window.bounds(total_max);
        let is_cut = matches!(window, Window::Page { .. }) || first.saturating_add(number) > total_max;
        Reach { offset, limit, page_limit: number.min(total_max), is_cut, total_max }
    }
}

/// Runs a search like [`run`], for the hits of `window` instead of those that the query requests, with their
/// scores. Pinned hits are not included, but counted.
///
/// # Errors
/// Same as [`run`].
pub(crate) fn run_window(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    window: Reach,
) -> ApiResult<Found> {
    run_for(target, query, context, window, How { scores: true, places_pins: false, assigned: None })
}

/// Purpose of a search run.
#[derive(Clone, Copy)]
struct How<'a> {
    /// Hits have scores.
    scores: bool,
    /// Pinned documents are put to their places. They belong to another list otherwise.
    places_pins: bool,
    /// Part in an experiment. Lists that are merged with others have none.
    assigned: Option<&'a Assigned>,
}

fn run_for(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    window: Reach,
    how: How<'_>,
) -> ApiResult<Found> {
    check_embedder(target, query)?;
    // Without words, no reranker was looked up before.
    if let Some(rerank) = &query.rerank {
        reranker(target, rerank)?;
    }
    let request = engine_request(target, query, context)?;
    let Reach { offset, limit, page_limit, .. } = window;
    let request = SearchRequest { offset, limit, page_limit: Some(page_limit), scores: how.scores, ..request };
    let pinned = pins::pinned(target, query, &request, context)?;
    let places = PinnedPositions::new(pinned.iter().map(|pin| pin.position).filter(|_| how.places_pins));
    let request = pins::beside(request, window, &places, &pinned);
    let held = context.budget.hold(hits_bytes(target.snapshot, &request))?;
    // A text was embedded before the search took its thread.
    let mut steps: Vec<_> = embedding_took(target, query, context).map(|took| ("embed", took)).into_iter().collect();
    steps.extend(context.reranked.as_ref().map(|reranked| ("rerank", reranked.took)));
    let start = Instant::now();
    let (searched, mixed) = match context.pace.is_over() {
        false => experiment::search(target, query, context, &request, how.assigned)?,
        true => (Searched::late(target, query)?, Mixed::default()),
    };
    let Searched { mut result, limits, semantic_hit_count, vector } = searched;
    if how.places_pins && !pinned.is_empty() {
        pins::place(&mut result, &request, window, &places, &pinned);
    }
    pins::count(&mut result, &pinned);
    steps.push((SEARCH, start.elapsed()));
    let facets = facets_of(target, query, &result, context, &mut steps)?;
    let measured = measures::run(target.snapshot, &result.candidates, &query.measures, context, &mut steps)?;
    let sort = request.sort.clone();
    let mut found = Found {
        result,
        limits,
        sort,
        facets,
        measured,
        semantic_hit_count,
        vector,
        did_you_mean: None,
        steps,
        pinned,
        mixed,
        window,
        held,
    };
    if query.did_you_mean {
        let start = Instant::now();
        found.did_you_mean = suggestions::did_you_mean(target, query, context, &request, &found)?;
        found.steps.push(("did you mean", start.elapsed()));
    }
    Ok(found)
}

/// Counts the facets that `query` asks for; an empty list asks for none.
fn facets_of(
    target: Target<'_>,
    query: &SearchQuery,
    result: &SearchResult,
    context: &Context,
    steps: &mut Vec<(&'static str, Duration)>,
) -> ApiResult<Option<Facets>> {
    let Some(names) = query.facets.as_ref().filter(|names| !names.is_empty()) else { return Ok(None) };
    let start = Instant::now();
    let facets = Facets::count(target.snapshot, &result.candidates, names, context)?;
    steps.push(("facets", start.elapsed()));
    Ok(Some(facets))
}

/// Maximum number of words that are looked up.
const EXPLAINED_WORDS_MAX: usize = 100;

/// Computes the maximum memory of the hits before any document is read.
fn hits_bytes(snapshot: &Snapshot, request: &SearchRequest) -> usize {
    let documents = usize::try_from(snapshot.document_count()).unwrap_or(usize::MAX);
    // Those that are skipped are ranked too.
    let (kept, ranked) = (request.limit.min(documents), request.offset.saturating_add(request.limit).min(documents));
    let mut bytes = ranked.saturating_mul(HIT_BYTES);
    if request.scores {
        bytes = bytes.saturating_add(kept.saturating_mul(SCORES_BYTES));
    }
    if request.explain.is_some() {
        // Roughly: what is no letter may part words, or be one.
        let others = request.query.iter().flat_map(|q| q.chars()).filter(|one| !one.is_ascii_alphanumeric());
        let words = 1 + others.take(EXPLAINED_WORDS_MAX).count();
        bytes = bytes.saturating_add(kept.saturating_mul(EXPLAINED_BYTES.max(words * EXPLAINED_WORD_BYTES)));
    }
    bytes
}
