//! Searching by words and by vectors at once: two lists become one.

use std::cmp::Ordering;
use std::ops::Range;

use hashbrown::HashSet;

use super::explain::{Explanation, Standing};
use super::fusion::{FUSED_HITS, Fused, Fusion, fuse};
use super::semantic::{SemanticQuery, search_semantic};
use super::{Hit, SearchError, SearchRequest, SearchResult, distinct, search};
use crate::bits::DocSet;
use crate::id::DocId;
use crate::index::{DocumentAddress, Snapshot};
use crate::rank::merge::Distinct;
use crate::rank::{ScoreDetail, SortedValue, compare_scores, compare_sorted, global_score, in_direction};

/// A list of words alone answers when each of its hits scores at least this, times the weight of words.
const GOOD_ENOUGH: f64 = 0.45;

/// What a hybrid search found.
#[derive(Debug)]
pub struct HybridResult {
    pub result: SearchResult,
    /// Hits that came by their nearness.
    pub semantic_hit_count: usize,
}

/// Searches by words, and unless these do well by vectors too. `ratio` is the weight of nearness, above 0 and below 1;
/// `vector` is asked for the query's vector only when it is needed, and may have none.
///
/// # Errors
/// As [`search`] and [`search_semantic`].
pub fn search_hybrid(
    snapshot: &Snapshot,
    request: &SearchRequest,
    ratio: f64,
    fusion: Fusion,
    vector: impl FnOnce() -> Option<SemanticQuery>,
) -> Result<HybridResult, SearchError> {
    let reading = Reading::new(snapshot, request, fusion);
    let first = SearchRequest { offset: 0, limit: reading.depth, scores: true, ..request.clone() };
    let mut words = search(snapshot, &first)?;
    let Some(semantic) = (if reading.is_answered_by(&words, ratio) { None } else { vector() }) else {
        return Ok(reading.words_alone(words));
    };
    let mut near = search_semantic(snapshot, &first, &SemanticQuery { excludes_words: true, ..semantic })?;
    let merged: Vec<Fused> = match fuse(fusion, ratio, &words.hits, &near.hits) {
        Some(fused) => fused,
        None => by_weighted_scores(std::mem::take(&mut words.hits), std::mem::take(&mut near.hits), ratio),
    };
    let mut distinct = distinct(snapshot, request)?;
    let list = List::read(merged, &reading, &mut distinct);
    let candidates = either(words.candidates, &near.candidates);
    let candidates = match &mut distinct {
        Some(distinct) => of_different_values(distinct, &candidates, &list.addresses, &list.seen),
        None => candidates,
    };
    let mut limits = words.limits;
    limits.extend(near.limits.into_iter().filter(|limit| !limits.contains(limit)).collect::<Vec<_>>());
    let result = SearchResult {
        hits: list.hits,
        total: candidates.iter().map(|docs| u64::from(docs.len())).sum(),
        candidates,
        degraded: words.degraded || near.degraded,
        limits,
        matching_terms: words.matching_terms,
        explanation: explained(words.explanation, near.explanation, list.asked),
    };
    Ok(HybridResult { result, semantic_hit_count: list.semantic_hit_count })
}

/// What is read of both lists.
struct Reading {
    /// Of the merged list, what is returned.
    page: Range<usize>,
    /// The document that is asked about.
    asked: Option<DocumentAddress>,
    /// Of the merged list, what is gone through.
    reach: usize,
    /// Of each list.
    depth: usize,
    /// Whether good words leave nearness out.
    may_be_alone: bool,
}

impl Reading {
    fn new(snapshot: &Snapshot, request: &SearchRequest, fusion: Fusion) -> Reading {
        let window = request.offset.saturating_add(request.limit);
        let asked = request.explain.as_ref().and_then(|explain| explain.document.as_deref());
        // To find the place of a document, as far as there are pages.
        let reach = if asked.is_some() { window.max(snapshot.settings.pagination.max_total_hits) } else { window };
        let is_fused = fusion != Fusion::Score;
        // Who asks for no hits but for all that match, as a facet search does, gets both sides.
        let counts_alone = window == 0 && request.exhaustive;
        Reading {
            page: request.offset..window,
            asked: asked.and_then(|id| snapshot.find(id)),
            reach,
            depth: if is_fused && window > 0 { reach.max(FUSED_HITS) } else { reach },
            may_be_alone: !is_fused && !counts_alone,
        }
    }

    /// Whether words alone are a page of good hits.
    fn is_answered_by(&self, words: &SearchResult, ratio: f64) -> bool {
        let is_good = |hit: &Hit| hit.score * (1.0 - ratio) >= GOOD_ENOUGH;
        let window = self.page.end;
        self.may_be_alone && words.hits.len() >= window && words.hits.iter().take(window).all(is_good)
    }

    fn words_alone(&self, mut words: SearchResult) -> HybridResult {
        words.hits.truncate(self.page.end);
        words.hits.drain(..self.page.start.min(words.hits.len()));
        HybridResult { result: words, semantic_hit_count: 0 }
    }
}

/// The merged list, as far as it was gone through.
struct List {
    /// Those of the page.
    hits: Vec<Hit>,
    /// Hits that came by their nearness.
    semantic_hit_count: usize,
    /// The document that is asked about, with its place.
    asked: Option<(usize, Hit)>,
    addresses: Vec<DocumentAddress>,
    /// Also those that `distinct` left out.
    seen: HashSet<DocumentAddress>,
}

impl List {
    fn read(merged: Vec<Fused>, reading: &Reading, distinct: &mut Option<Distinct>) -> List {
        let mut seen = HashSet::new();
        let kept = merged.into_iter().filter(|fused| seen.insert(fused.hit.address)).filter(|fused| {
            let address = fused.hit.address;
            distinct.as_mut().is_none_or(|distinct| distinct.admit(address.segment as usize, address.doc))
        });
        let (mut hits, mut semantic_hit_count, mut asked) = (Vec::new(), 0, None);
        let mut addresses = Vec::new();
        for (position, fused) in kept.take(reading.reach).enumerate() {
            addresses.push(fused.hit.address);
            if reading.asked == Some(fused.hit.address) {
                asked = Some((position, fused.hit.clone()));
            }
            if reading.page.contains(&position) {
                semantic_hit_count += usize::from(fused.is_semantic);
                hits.push(fused.hit);
            }
        }
        List { hits, semantic_hit_count, asked, addresses, seen }
    }
}

/// The documents of each segment that one of the lists knows.
fn either(mut words: Vec<DocSet>, near: &[DocSet]) -> Vec<DocSet> {
    for (docs, more) in words.iter_mut().zip(near) {
        docs.or_assign(more);
    }
    words
}

/// What both lists say as one; `asked`: the document that is asked about, with its place in the merged list.
fn explained(
    words: Option<Box<Explanation>>,
    near: Option<Box<Explanation>>,
    asked: Option<(usize, Hit)>,
) -> Option<Box<Explanation>> {
    let mut explanation = words?;
    let Some(mut near) = near else { return Some(explanation) };
    explanation.stages.append(&mut near.stages);
    explanation.rules.append(&mut near.rules);
    if let (Some(document), Some(near)) = (&mut explanation.document, near.document) {
        document.nearness = near.nearness;
        match asked {
            Some((place, hit)) => {
                document.standing = Standing::Hit { place: place as u64 };
                (document.score, document.details) = (Some(hit.score), hit.details);
            }
            // What words miss, vectors may have found, beyond all pages or below the threshold.
            None if near.nearness.is_some() => document.standing = near.standing,
            None => {}
        }
    }
    Some(explanation)
}

/// Merges by score, each weighted; in the order of both lists.
fn by_weighted_scores(words: Vec<Hit>, near: Vec<Hit>, ratio: f64) -> Vec<Fused> {
    let weighted = |hits: Vec<Hit>, weight: f64, is_semantic: bool| {
        hits.into_iter().map(move |hit| (groups(&hit, weight), Fused { hit, is_semantic }))
    };
    let mut by_words = weighted(words, 1.0 - ratio, false).peekable();
    let mut by_nearness = weighted(near, ratio, true).peekable();
    let merged = std::iter::from_fn(|| match (by_words.peek(), by_nearness.peek()) {
        (Some(word), Some(near)) if compare(&word.0, &near.0) == Ordering::Less => by_words.next(),
        (_, Some(_)) => by_nearness.next(),
        (_, None) => by_words.next(),
    });
    merged.map(|(_, fused)| fused).collect()
}

/// Of the documents that one of the lists knows, one for each value: those of the merged list, which `distinct` has seen,
/// and for other values any. Each list alone may have chosen another document of the same value.
fn of_different_values(
    distinct: &mut Distinct,
    candidates: &[DocSet],
    listed: &[DocumentAddress],
    seen: &HashSet<DocumentAddress>,
) -> Vec<DocSet> {
    let mut kept: Vec<Vec<DocId>> = vec![Vec::new(); candidates.len()];
    listed.iter().for_each(|address| kept[address.segment as usize].push(address.doc));
    for (segment, (docs, kept)) in (0u32..).zip(candidates.iter().zip(&mut kept)) {
        docs.for_each(|doc| {
            let is_settled = seen.contains(&DocumentAddress { segment, doc });
            if !is_settled && distinct.admit(segment as usize, doc) {
                kept.push(doc);
            }
        });
    }
    kept.into_iter().map(|docs| docs.into_iter().collect()).collect()
}

/// What a hit is compared by: runs of relevancy rules as one number, sorts as their values.
#[derive(Clone, Debug, PartialEq)]
enum Group {
    Score(f64),
    Sort { ascending: bool, value: SortedValue },
    Geo { ascending: bool, distance_m: Option<f64> },
}

fn groups(hit: &Hit, weight: f64) -> Vec<Group> {
    let is_sort = |detail: &ScoreDetail| matches!(detail, ScoreDetail::Sort { .. } | ScoreDetail::GeoSort { .. });
    let runs = hit.details.chunk_by(|one, next| !is_sort(one) && !is_sort(next));
    runs.map(|run| match &run[0] {
        ScoreDetail::Sort { ascending, value, .. } => Group::Sort { ascending: *ascending, value: value.clone() },
        ScoreDetail::GeoSort { ascending, distance_m, .. } => {
            Group::Geo { ascending: *ascending, distance_m: *distance_m }
        }
        _ => Group::Score(global_score(run) * weight),
    })
    .collect()
}

/// `Less`: the first comes first.
fn compare(one: &[Group], other: &[Group]) -> Ordering {
    for (one, other) in one.iter().zip(other) {
        let order = match (one, other) {
            (Group::Score(one), Group::Score(other)) => compare_scores(*one, *other),
            (Group::Sort { ascending, value: one }, Group::Sort { value: other, .. }) => {
                compare_sorted(one, other, *ascending)
            }
            (Group::Geo { ascending, distance_m: one }, Group::Geo { distance_m: other, .. }) => match (one, other) {
                (Some(one), Some(other)) => in_direction(one.total_cmp(other), *ascending),
                (one, other) => other.is_some().cmp(&one.is_some()),
            },
            // A number against a value: having found nothing loses, anything else wins.
            (Group::Score(score), _) => return if *score == 0.0 { Ordering::Greater } else { Ordering::Less },
            (_, Group::Score(score)) => return if *score == 0.0 { Ordering::Less } else { Ordering::Greater },
            _ => Ordering::Equal,
        };
        if order.is_ne() {
            return order;
        }
    }
    other.len().cmp(&one.len())
}
