//! Searches by vectors alone, and by those of a document.

use lamina_index::index::settings::RankingRule;
use lamina_index::index::{DocumentAddress, IndexError, Snapshot};

use super::boosting::{HitBoosts, rules};
use super::fusion::FUSED_HITS;
use super::semantic::{SemanticQuery, search_by_vectors};
use super::weighted::{compare, groups};
use super::{Limit, SearchError, SearchRequest, SearchResult, of_sound};
use crate::boost::Boosts;
use crate::vector::Pairing;

/// Searches by nearness. The text of the request is not looked at, its other parameters are.
///
/// In large segments the nearest documents are found by their codes ([`nearest`](crate::vector::nearest)) where nothing but nearness counts.
/// Else vectors are compared one by one on all threads of the pool; see [`nearest_by_scan`](crate::vector::nearest_by_scan) for the cost.
///
/// # Errors
/// [`SearchError`]: what the settings do not allow, an unknown embedder, vectors of another size, damage.
pub fn search_semantic(
    snapshot: &Snapshot,
    request: &SearchRequest,
    semantic: &SemanticQuery,
) -> Result<SearchResult, SearchError> {
    of_sound(snapshot, || boosted_by_vectors(snapshot, request, semantic))
}

/// Searches by vectors; boosts put the first hits into another order.
fn boosted_by_vectors(
    snapshot: &Snapshot,
    request: &SearchRequest,
    semantic: &SemanticQuery,
) -> Result<SearchResult, SearchError> {
    let rules = rules(snapshot, request);
    let boosts = Boosts::new(rules.iter().filter_map(RankingRule::boost), snapshot)?;
    let window = request.offset.saturating_add(request.limit);
    if boosts.is_empty() || window == 0 {
        return search_by_vectors(snapshot, request, semantic);
    }
    let first = SearchRequest { offset: 0, limit: window.max(FUSED_HITS), ..request.clone() };
    let mut result = search_by_vectors(snapshot, &first, semantic)?;
    let boosts = HitBoosts::new(&rules, &boosts, snapshot, request);
    let head = result.hits.len().min(FUSED_HITS);
    result.hits[..head].iter_mut().for_each(|hit| boosts.apply(hit));
    result.hits[..head].sort_by(|one, other| compare(&groups(one, 1.0), &groups(other, 1.0)));
    result.hits.truncate(window);
    result.hits.drain(..request.offset.min(result.hits.len()));
    if boosts.is_late {
        result.degraded = true;
        result.limits.push(Limit::TimeBudget);
    }
    Ok(result)
}

/// The documents nearest to the one at `address`, without it.
///
/// # Errors
/// The errors of [`search_semantic`].
pub fn search_similar(
    snapshot: &Snapshot,
    request: &SearchRequest,
    embedder: &str,
    address: DocumentAddress,
) -> Result<SearchResult, SearchError> {
    let reader = &snapshot.segments[address.segment as usize].reader;
    let vectors = reader.vectors_of(embedder).map(|vectors| vectors.decoded(address.doc)).transpose();
    let mut vectors = vectors.map_err(IndexError::from)?.unwrap_or_default();
    let nothing = vectors.is_empty();
    let mut pairing = Pairing::ByPosition;
    // Passages have no counterparts: what the document is about as a whole is looked for among those of others.
    if vectors.len() > 1 && snapshot.settings.embedder(embedder).is_some_and(|embedder| embedder.chunks.is_some()) {
        (vectors, pairing) = (vec![mean(&vectors)], Pairing::All);
    }
    let semantic =
        SemanticQuery { embedder: embedder.to_owned(), vectors, pairing, except: Some(address), excludes_words: false };
    if nothing {
        // Nothing to compare with: the candidates are counted all the same.
        let request = SearchRequest { limit: 0, offset: 0, score_threshold: None, ..request.clone() };
        return search_semantic(snapshot, &request, &semantic);
    }
    search_semantic(snapshot, request, &semantic)
}

/// The mean of the directions of vectors of one size.
fn mean(vectors: &[Vec<f32>]) -> Vec<f32> {
    let mut sum = vec![0.0; vectors.first().map_or(0, Vec::len)];
    for vector in vectors {
        let length = vector.iter().map(|number| number * number).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        sum.iter_mut().zip(vector).for_each(|(sum, number)| *sum += number / length);
    }
    sum
}
