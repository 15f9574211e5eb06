//! One list out of several, without repetitions.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashSet};

use lamina_engine::bits::DocSet;
use lamina_engine::index::DocumentAddress;

use super::super::refusal;
use super::Ran;
use super::distinct::DistinctValues;
use crate::error::ApiResult;

/// A hit of the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MergedHit {
    /// Position of its query.
    pub(super) query: usize,
    /// Its place among the hits of that query.
    pub(super) hit: usize,
}

/// The hits `offset..offset + limit` of the merged list. A document found by several queries is kept once, at its
/// best place; with `distinct`, so is each value of that attribute.
pub(super) fn merge(ran: &[Ran<'_>], distinct: Option<&str>, offset: usize, limit: usize) -> ApiResult<Vec<MergedHit>> {
    let mut next = vec![0; ran.len()];
    let mut seen: HashSet<(&str, DocumentAddress)> = HashSet::new();
    let mut values = distinct.map(DistinctValues::new);
    let (mut place, mut merged) = (0, Vec::new());
    while merged.len() < limit {
        let Some(query) = best(ran, &next) else { break };
        let hit = next[query];
        next[query] += 1;
        let one = &ran[query];
        let address = one.found.result.hits[hit].address;
        if !seen.insert((one.target.uid, address)) {
            continue;
        }
        if let Some(values) = &mut values {
            let document = one.target.snapshot.document(address).map_err(refusal::unretrievable)?;
            if !values.insert(&document) {
                continue;
            }
        }
        if place >= offset {
            merged.push(MergedHit { query, hit });
        }
        place += 1;
    }
    Ok(merged)
}

/// The query whose next hit comes first; of equals the first one.
fn best(ran: &[Ran<'_>], next: &[usize]) -> Option<usize> {
    let mut best: Option<usize> = None;
    for (query, one) in ran.iter().enumerate() {
        let Some(weighted) = one.weighted.get(next[query]) else { continue };
        let wins = best.is_none_or(|best| weighted.compare(&ran[best].weighted[next[best]]) == Ordering::Less);
        if wins {
            best = Some(query);
        }
    }
    best
}

/// The documents that match any query, by index and segment.
pub(super) fn candidates<'a>(ran: &[Ran<'a>]) -> BTreeMap<&'a str, Vec<DocSet>> {
    let mut union: BTreeMap<&str, Vec<DocSet>> = BTreeMap::new();
    for one in ran {
        match union.entry(one.target.uid) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(one.found.result.candidates.clone());
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                for (docs, more) in entry.get_mut().iter_mut().zip(&one.found.result.candidates) {
                    docs.or_assign(more);
                }
            }
        }
    }
    union
}
