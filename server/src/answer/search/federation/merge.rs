//! One list out of several, without repetitions.

use std::cmp::Ordering;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use lamina_engine::bits::DocSet;
use lamina_engine::facet::UsedValues;
use lamina_engine::id::DocId;
use lamina_engine::index::DocumentAddress;
use lamina_protocol::wire::search::Window;

use super::super::pinned_positions::PinnedPositions;
use super::super::pins::add;
use super::Ran;
use crate::answer::search::total_of;

/// A hit of the merged list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MergedHit {
    /// Position of its query.
    pub(super) query: usize,
    /// Place of the hit among those of the query.
    pub(super) hit: usize,
}

/// The merged list.
#[derive(Debug)]
pub(super) struct Merged<'a> {
    /// Hits of the window.
    pub(super) hits: Vec<MergedHit>,
    /// The documents that count, by index and segment.
    pub(super) candidates: Candidates<'a>,
    /// Documents that `distinct` left out, where a query explains.
    pub(super) not_distinct: HashSet<Place<'a>>,
}

/// Index, and place in it.
pub(super) type Place<'a> = (&'a str, DocumentAddress);

/// The hits of `window` of the merged list. A document found by several queries is kept once, at its
/// best place; with `distinct`, so is each value of that attribute. An index gives as many hits as its total says.
///
/// With `distinct`, the whole list is gone through where the queries gave all of their hits; then the candidates are its
/// documents. Elsewhere they are documents with as many values: for the total that is the same, unless documents have
/// several values.
pub(super) fn merge<'a>(
    ran: &[Ran<'a>],
    candidates: Candidates<'a>,
    distinct: Option<&str>,
    window: Window,
) -> Merged<'a> {
    let (offset, limit) = window.bounds(usize::MAX);
    let pinned = pinned(ran);
    let places = PinnedPositions::new(pinned.iter().map(|(position, _)| *position));
    let (from, to) = places.ranked_between(offset, offset.saturating_add(limit));
    let mut next = vec![0; ran.len()];
    // What is pinned is no other hit as well.
    let mut seen: HashSet<Place<'a>> = pinned.iter().map(|(_, pin)| pin.place(ran)).collect();
    let settled: Vec<Place<'a>> = seen.iter().copied().collect();
    let (is_explained, mut not_distinct) = (ran.iter().any(|one| one.query.explain.is_some()), HashSet::new());
    let mut used = UsedValues::default();
    let mut left = left_of_each(ran, window);
    let mut kept = distinct.filter(|_| ran.iter().all(|one| one.is_complete)).map(|_| Kept::of_none(ran));
    let (mut place, mut hits, mut is_all) = (0, Vec::new(), false);
    while !is_all && (hits.len() < to - from || kept.is_some()) {
        let Some(query) = best(ran, &next) else {
            is_all = true;
            continue;
        };
        let hit = next[query];
        next[query] += 1;
        let one = &ran[query];
        let address = one.found.result.hits[hit].address;
        if !seen.insert((one.target.uid, address)) {
            continue;
        }
        if distinct.is_some_and(|attribute| !used.admit_document(one.target.snapshot, attribute, address)) {
            if is_explained {
                not_distinct.insert((one.target.uid, address));
            }
            continue;
        }
        if let Some(kept) = &mut kept {
            kept.push(one, address);
        }
        if let Some(left) = left.get_mut(one.target.uid) {
            if *left == 0 {
                continue;
            }
            *left -= 1;
        }
        if place >= from && hits.len() < to - from {
            hits.push(MergedHit { query, hit });
        }
        place += 1;
    }
    let places = if is_all { places.among(place) } else { places };
    let hits = places.joined(offset..offset.saturating_add(limit), hits, |pin| pinned[pin].1);
    let candidates = match (kept, distinct) {
        (Some(kept), _) => with(kept.into_candidates(), &settled),
        (None, Some(attribute)) => with(first_of_each(ran, without(candidates, &settled), attribute), &settled),
        (None, None) => candidates,
    };
    Merged { hits, candidates, not_distinct }
}

/// The pinned documents of all queries with the places that they are given, ascending: each document once.
fn pinned(ran: &[Ran<'_>]) -> Vec<(u32, MergedHit)> {
    let mut all: Vec<(u32, &str, MergedHit)> = Vec::new();
    for (query, one) in ran.iter().enumerate() {
        for (number, pin) in one.found.pinned.iter().enumerate() {
            all.push((pin.position, one.target.uid, MergedHit { query, hit: one.weighted.len() + number }));
        }
    }
    // Each query has its own in the order of their places already.
    all.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)));
    let mut seen = HashSet::new();
    all.retain(|(_, _, pin)| seen.insert(pin.place(ran)));
    all.into_iter().map(|(position, _, pin)| (position, pin)).collect()
}

impl MergedHit {
    fn place<'a>(self, ran: &[Ran<'a>]) -> Place<'a> {
        let one = &ran[self.query];
        (one.target.uid, one.found.result.hits[self.hit].address)
    }
}

/// Candidates but those at `places`.
fn without<'a>(mut candidates: Candidates<'a>, places: &[Place<'a>]) -> Candidates<'a> {
    for (uid, at) in places {
        if let Some(docs) = candidates.get_mut(*uid).and_then(|segments| segments.get_mut(at.segment as usize)) {
            docs.and_not_assign(&DocSet::from_sorted(vec![at.doc]));
        }
    }
    candidates
}

/// Candidates and those at `places`.
fn with<'a>(mut candidates: Candidates<'a>, places: &[Place<'a>]) -> Candidates<'a> {
    for (uid, at) in places {
        if let Some(segments) = candidates.get_mut(*uid) {
            add(segments, std::iter::once(*at));
        }
    }
    candidates
}

/// Returns the maximum number of hits of each index, regardless of the number of its queries. An index without such
/// a maximum has no entry.
fn left_of_each<'a>(ran: &[Ran<'a>], window: Window) -> HashMap<&'a str, u64> {
    let bound = |one: &Ran<'a>| {
        let left = total_of(window, one.target.snapshot.settings.pagination, u64::MAX);
        (left < u64::MAX).then_some((one.target.uid, left))
    };
    ran.iter().filter_map(bound).collect()
}

/// The documents of a merged list, by index and segment.
#[derive(Debug)]
struct Kept<'a>(BTreeMap<&'a str, Vec<Vec<DocId>>>);

impl<'a> Kept<'a> {
    fn of_none(ran: &[Ran<'a>]) -> Kept<'a> {
        let segments = |one: &Ran<'_>| vec![Vec::new(); one.target.snapshot.segments.len()];
        Kept(ran.iter().map(|one| (one.target.uid, segments(one))).collect())
    }

    fn push(&mut self, one: &Ran<'a>, address: DocumentAddress) {
        if let Some(segments) = self.0.get_mut(one.target.uid) {
            segments[address.segment as usize].push(address.doc);
        }
    }

    fn into_candidates(self) -> BTreeMap<&'a str, Vec<DocSet>> {
        let sets = |segments: Vec<Vec<DocId>>| segments.into_iter().map(|docs| docs.into_iter().collect()).collect();
        self.0.into_iter().map(|(uid, segments)| (uid, sets(segments))).collect()
    }
}

/// Returns those of `candidates` whose values no earlier one had, in the order of indexes and documents.
fn first_of_each<'a>(ran: &[Ran<'a>], mut candidates: Candidates<'a>, attribute: &str) -> Candidates<'a> {
    let mut used = UsedValues::default();
    for (uid, segments) in &mut candidates {
        let Some(one) = ran.iter().find(|one| one.target.uid == *uid) else { continue };
        for (segment, docs) in (0..).zip(segments) {
            docs.retain(|doc| used.admit_document(one.target.snapshot, attribute, DocumentAddress { segment, doc }));
        }
    }
    candidates
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
pub(super) type Candidates<'a> = BTreeMap<&'a str, Vec<DocSet>>;

/// Adds the documents that match a query, which does not need them itself any more.
pub(super) fn add_candidates<'a>(candidates: &mut Candidates<'a>, one: &mut Ran<'a>) {
    let of_query = std::mem::take(&mut one.found.result.candidates);
    match candidates.entry(one.target.uid) {
        Entry::Vacant(entry) => {
            entry.insert(of_query);
        }
        Entry::Occupied(mut entry) => {
            for (docs, more) in entry.get_mut().iter_mut().zip(&of_query) {
                docs.or_assign(more);
            }
        }
    }
}
