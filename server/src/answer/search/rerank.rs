//! Another order for the first hits of a search, by a provider that is asked between two searches of the same state: the
//! first finds the hits, the second puts them to their places. No thread of the pool waits in between.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use lamina_base::budget::Reservation;
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::embedding::{TextTemplate, cut};
use lamina_engine::index::settings::VECTORS_FIELD;
use lamina_engine::index::{DocumentAddress, Snapshot};
use lamina_engine::rank::{FusedArm, ScoreDetail};
use lamina_engine::search::{Hit, NearPassages, SearchRequest, SearchResult, Standing};
use lamina_models::rerankers::Reranker;
use lamina_protocol::wire::search::{Hybrid, Rerank, SearchQuery};

use super::by_kind::{Searched, check_embedder, search_by_kind};
use super::{Context, Target, engine_request, hits_bytes, pins, refusal};

/// The texts of the first hits.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// Texts that the reranker compares with the query.
    pub texts: Vec<String>,
    /// Address of the document of each text.
    pub addresses: Vec<DocumentAddress>,
    /// Memory of the texts.
    pub held: Reservation,
}

/// Outcome of a reranking.
#[derive(Debug)]
pub(crate) struct Reranked {
    /// The state that the hits are of.
    pub snapshot: Arc<Snapshot>,
    /// Duration of the reranking.
    pub took: Duration,
    /// Score by document, best first; `None`: the reranker failed or was late.
    pub scores: Option<Vec<(DocumentAddress, f64)>>,
}

/// The reranker that a search names.
///
/// # Errors
/// `invalid_search_rerank`
pub(crate) fn reranker(target: Target<'_>, rerank: &Rerank) -> ApiResult<Reranker> {
    let configuration = target.snapshot.settings.rerankers.get(&rerank.reranker).and_then(|one| one.as_object());
    configuration.map(Reranker::new).ok_or_else(|| {
        let message = format!("Index `{}` has no reranker with name `{}`.", target.name, rerank.reranker);
        ApiError::new(Code::InvalidSearchRerank, message)
    })
}

/// The first hits of a search as texts: their nearest passages, if they have any. Documents that the template makes no text of are left out, as are pinned ones.
///
/// # Errors
/// What the search itself would be refused for, or a template that cannot be used.
pub(crate) fn candidates(
    target: Target<'_>,
    query: &SearchQuery,
    rerank: &Rerank,
    reranker: &Reranker,
    context: &Context,
) -> ApiResult<Candidates> {
    check_embedder(target, query)?;
    let request = engine_request(target, query, context)?;
    let pinned = pins::pinned(target, query, &request, context)?;
    let settings = &target.snapshot.settings;
    let request = SearchRequest {
        offset: 0,
        limit: rerank.limit.min(settings.pagination.max_total_hits),
        except: pinned.iter().map(|pin| pin.address).collect(),
        scores: false,
        matching_terms: false,
        explain: None,
        ..request
    };
    let bytes = request.limit.saturating_mul(reranker.text_bytes_max);
    let held = context.budget.hold(hits_bytes(target.snapshot, &request).saturating_add(bytes))?;
    let Searched { result: found, vector, .. } = search_by_kind(target, query, context, &request)?;
    let by_meaning = query.hybrid.as_ref().zip(vector.as_deref());
    let near = by_meaning.and_then(|(hybrid, vector)| NearPassages::new(target.snapshot, &hybrid.embedder, vector));
    let unusable = |reason: String| {
        let message = format!("The template of reranker `{}` cannot be used: {reason}", rerank.reranker);
        ApiError::new(Code::InvalidSearchRerank, message)
    };
    let template = TextTemplate::new(&reranker.template, reranker.text_bytes_max);
    let template = template.map_err(|error| unusable(error.sentence()))?;
    let is_searchable = |name: &str| name != VECTORS_FIELD && settings.searchable_attributes.selects(name);
    let mut candidates = Candidates { texts: Vec::new(), addresses: Vec::new(), held };
    for hit in found.hits {
        let document = target.snapshot.document(hit.address).map_err(refusal::unretrievable)?;
        let passage = near.as_ref().and_then(|near| near.embedded_text(hit.address, &document));
        let passage = passage.map(|text| cut(&text, reranker.text_bytes_max).to_owned());
        if let Some(text) = passage.or_else(|| template.render(&document, &is_searchable).ok())
            && !text.trim().is_empty()
        {
            candidates.texts.push(text);
            candidates.addresses.push(hit.address);
        }
    }
    Ok(candidates)
}

/// Searches, and puts the first hits into the order that `context` has for them, if it has one.
///
/// # Errors
/// The errors of [`search_by_kind`].
pub(super) fn search(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
) -> ApiResult<Searched> {
    let (Some(rerank), Some(reranked)) = (&query.rerank, &context.reranked) else {
        return search_by_kind(target, query, context, request);
    };
    let window = request.offset.saturating_add(request.limit);
    // Another state has other addresses. It is the same one unless a caller mixes them up.
    let scores = reranked.scores.as_ref().filter(|_| std::ptr::eq(Arc::as_ptr(&reranked.snapshot), target.snapshot));
    let Some(scores) = scores else {
        let mut searched = search_by_kind(target, query, context, request)?;
        searched.result.degraded = true;
        searched.limits.push("reranker");
        return Ok(searched);
    };
    let whole = SearchRequest { offset: 0, limit: window.max(rerank.limit), ..request.clone() };
    let mut searched = search_by_kind(target, query, context, &whole)?;
    reorder(&mut searched.result, scores);
    explain(&mut searched.result, target.snapshot);
    let hits = &mut searched.result.hits;
    hits.truncate(window);
    hits.drain(..request.offset.min(hits.len()));
    if let Some(count) = &mut searched.semantic_hit_count {
        *count = hits.iter().filter(|hit| is_semantic(hit, query.hybrid.as_ref())).count();
    }
    Ok(searched)
}

/// Hits with a score first, best first; the others keep their order.
fn reorder(result: &mut SearchResult, scores: &[(DocumentAddress, f64)]) {
    let places: HashMap<DocumentAddress, (usize, f64)> =
        scores.iter().enumerate().map(|(place, &(address, score))| (address, (place, score))).collect();
    for (rank, hit) in (1u32..).zip(&mut result.hits) {
        if let Some(&(_, score)) = places.get(&hit.address) {
            hit.details.push(ScoreDetail::Rerank { score, rank });
        }
    }
    result.hits.sort_by_key(|hit| places.get(&hit.address).map_or(usize::MAX, |(place, _)| *place));
}

/// Corrects the position of the explained document.
fn explain(result: &mut SearchResult, snapshot: &Snapshot) {
    let document = result.explanation.as_mut().and_then(|explanation| explanation.document.as_mut());
    let Some(document) = document else { return };
    let Some(address) = snapshot.find(&document.id) else { return };
    let found = result.hits.iter().enumerate().find(|(_, hit)| hit.address == address);
    if let (Some((place, hit)), Standing::Hit { .. }) = (found, &document.standing) {
        document.standing = Standing::Hit { place: place as u64 };
        document.details.clone_from(&hit.details);
    }
}

/// Reports whether a hit was found by its nearness.
fn is_semantic(hit: &Hit, hybrid: Option<&Hybrid>) -> bool {
    let ratio = f64::from(hybrid.map_or(Hybrid::DEFAULT_RATIO, |hybrid| hybrid.semantic_ratio));
    let share = |arm: &Option<FusedArm>, weight: f64| arm.map_or(0.0, |arm| arm.share * weight);
    hit.details.iter().any(|detail| match detail {
        ScoreDetail::Vector(_) => true,
        ScoreDetail::Fusion { words, nearness, .. } => {
            words.is_none() || share(nearness, ratio) > share(words, 1.0 - ratio)
        }
        _ => false,
    })
}
