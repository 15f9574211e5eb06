//! Lower bounds of the keys of many documents at once, from postings alone.
//!
//! The postings of a word tell in which fields of a document it is, so for documents that match a level without typo
//! the cost of `attributeRank` follows without reading the documents. Cut into groups by it, best first, the scan of the token column
//! ends after the first few groups instead of reading every document that holds frequent words.

use crate::bits::DocSet;
use crate::id::{DocId, TermOrdinal};
use crate::query::SegmentQuery;
use crate::query::options::NOT_SEARCHED;
use crate::rank::key::{Key, Slice};
use crate::rank::level::Level;

/// Reading a posting costs this many times less than scanning a document.
const POSTINGS_PER_SCAN: u64 = 32;
/// A prefix whose words have more postings than this many times the documents is not looked into.
const PREFIX_POSTINGS_MAX: u64 = 16;

/// Cuts groups of documents that match every word of a level without typo by what `attributeRank` costs them at least.
///
/// `groups`: disjoint sets with the smallest key of their documents; so is the answer, best first. Cost: about 2 ns per
/// posting of the level's words and per document; nothing is cut when scanning the documents would be cheaper.
pub(crate) fn cut_by_attribute(
    query: &SegmentQuery<'_>,
    level: &Level,
    groups: Vec<(Key, DocSet)>,
    slice: Slice,
) -> Vec<(Key, DocSet)> {
    let nodes = || level.starting.iter().filter_map(|s| s.first().copied());
    let docs: u64 = groups.iter().map(|(_, docs)| u64::from(docs.len())).sum();
    let postings: u64 = nodes().map(|n| known_postings(query, n)).sum();
    let most = nodes().count() * usize::from(query.options().max_weight);
    if postings == 0 || postings > docs * POSTINGS_PER_SCAN || most == 0 || most >= usize::from(u8::MAX) {
        return groups;
    }
    let mut costs = vec![0u8; query.reader().doc_count() as usize];
    for node in nodes() {
        add_costs(query, node, &mut costs);
    }
    let mut out = Vec::new();
    for (bound, docs) in groups {
        let mut parts: Vec<Vec<DocId>> = vec![Vec::new(); most + 1];
        docs.for_each(|doc| parts[usize::from(costs[doc as usize])].push(doc));
        let parts = parts.into_iter().enumerate().filter(|(_, docs)| !docs.is_empty());
        out.extend(parts.map(|(cost, docs)| (bound + slice.put(cost as u32), DocSet::from_sorted(docs))));
    }
    out.sort_by_key(|g| g.0);
    out
}

/// The words a node stands for without typo, if nothing but these words matches it.
fn words(query: &SegmentQuery<'_>, node: usize) -> Option<std::ops::Range<TermOrdinal>> {
    let e = &query.expansions()[node];
    if !e.synonyms.is_empty() || e.phrase.is_some() {
        return None;
    }
    Some(if e.prefix.is_empty() { e.exact.map_or(0..0, |o| o..o + 1) } else { e.prefix.clone() })
}

/// Postings that [`add_costs`] reads.
fn known_postings(query: &SegmentQuery<'_>, node: usize) -> u64 {
    let limit = PREFIX_POSTINGS_MAX * u64::from(query.reader().doc_count());
    let Some(words) = words(query, node) else { return 0 };
    let sum = query.reader().postings().doc_freq_sum(words, limit);
    if sum < limit { sum } else { 0 }
}

/// Adds the best weight of a field with one of the node's words to the costs of each document that has one; nothing
/// when that is not known.
fn add_costs(query: &SegmentQuery<'_>, node: usize, costs: &mut [u8]) {
    if known_postings(query, node) == 0 {
        return;
    }
    let postings = query.reader().postings();
    let weights = query.best_weights();
    let weight = |code: u32| weights.get(code as usize).copied().unwrap_or(NOT_SEARCHED);
    let words = words(query, node).unwrap_or_default();
    if words.len() == 1 {
        postings.for_each(words.start, |doc, code| {
            let weight = weight(code);
            if weight != NOT_SEARCHED
                && let Some(cost) = costs.get_mut(doc as usize)
            {
                *cost += weight as u8;
            }
        });
        return;
    }
    let mut best = vec![u8::MAX; costs.len()];
    for ordinal in words.filter(|o| query.stop().binary_search(o).is_err()) {
        postings.for_each(ordinal, |doc, code| {
            if let Some(best) = best.get_mut(doc as usize) {
                *best = (*best).min(weight(code).min(u16::from(u8::MAX)) as u8);
            }
        });
    }
    for (cost, best) in costs.iter_mut().zip(best) {
        if best != u8::MAX {
            *cost += best;
        }
    }
}
