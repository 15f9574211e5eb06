//! Searching by words and by vectors at once: two lists become one.

use std::cmp::Ordering;
use std::ops::Range;

use hashbrown::HashSet;
use lamina_index::index::settings::RankingRule;
use lamina_index::index::{DocumentAddress, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_text::id::DocId;

use super::boosting::{HitBoosts, rules};
use super::by_vectors::search_semantic;
use super::explain::{Explanation, Standing};
use super::fusion::{FUSED_HITS, Fused, Fusion, fuse};
use super::semantic::SemanticQuery;
use super::weighted::{compare, groups};
use super::whole_values::with_whole_value;
use super::{Hit, Limit, SearchError, SearchRequest, SearchResult, distinct, search};
use crate::boost::Boosts;
use crate::query::resolve::resolve;
use crate::rank::merge::Distinct;

/// Keyword hits are good if their score times the weight of words is at least this.
const GOOD_ENOUGH: f64 = 0.45;

/// Result of a hybrid search.
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
/// The errors of [`search`] and [`search_semantic`].
pub fn search_hybrid(
    snapshot: &Snapshot,
    request: &SearchRequest,
    ratio: f64,
    fusion: Fusion,
    vector: impl FnOnce() -> Option<SemanticQuery>,
) -> Result<HybridResult, SearchError> {
    let rules = rules(snapshot, request);
    let boosts = Boosts::new(rules.iter().filter_map(RankingRule::boost), snapshot)?;
    let is_boosted = !boosts.is_empty();
    let reading = FusionWindow::new(snapshot, request, fusion, is_boosted);
    // The merged list is boosted, not those that it is made of.
    let unboosted = Some(Vec::new());
    let first = SearchRequest { offset: 0, limit: reading.depth, scores: true, boosts: unboosted, ..request.clone() };
    let mut words = search(snapshot, &first)?;
    let first_by_words = reading.first_by_words(&words, ratio);
    let Some(semantic) = (if reading.is_filled_by(first_by_words) { None } else { vector() }) else {
        if is_boosted {
            return Ok(HybridResult { result: search(snapshot, request)?, semantic_hit_count: 0 });
        }
        return Ok(reading.words_alone(words));
    };
    let by_nearness =
        SearchRequest { score_threshold: request.near_score_threshold.or(first.score_threshold), ..first };
    let mut near = search_semantic(snapshot, &by_nearness, &SemanticQuery { excludes_words: true, ..semantic })?;
    let whole = whole_values(snapshot, request, fusion, &words)?;
    let boosts = is_boosted.then(|| HitBoosts::new(&rules, &boosts, snapshot, request));
    let first = words.hits.drain(..first_by_words.unwrap_or(0)).map(|hit| Fused { hit, is_semantic: false }).collect();
    let lists = [&mut words.hits, &mut near.hits];
    let merged = merged(lists, first, &Merging { fusion, ratio, whole: &whole, boosts: boosts.as_ref() });
    let is_late = boosts.is_some_and(|boosts| boosts.is_late);
    let mut distinct = distinct(snapshot, request)?;
    let list = List::read(merged, &reading, &mut distinct);
    let candidates = either(words.candidates, &near.candidates);
    let candidates = match &mut distinct {
        Some(distinct) => of_different_values(distinct, &candidates, &list.addresses, &list.seen),
        None => candidates,
    };
    let mut limits = words.limits;
    let late = is_late.then_some(Limit::TimeBudget);
    limits.extend(near.limits.into_iter().chain(late).filter(|limit| !limits.contains(limit)).collect::<Vec<_>>());
    let result = SearchResult {
        hits: list.hits,
        total: candidates.iter().map(|docs| u64::from(docs.len())).sum(),
        groups: distinct.as_ref().map(Distinct::groups),
        candidates,
        degraded: words.degraded || near.degraded || is_late,
        limits,
        matching_terms: words.matching_terms,
        explanation: explained(words.explanation, near.explanation, list.asked),
    };
    Ok(HybridResult { result, semantic_hit_count: list.semantic_hit_count })
}

/// Amount that is read of both lists.
struct FusionWindow {
    /// Range of the merged list that is returned.
    page: Range<usize>,
    /// The document that is asked about.
    asked: Option<DocumentAddress>,
    /// Number of hits of the merged list that are examined.
    reach: usize,
    /// Number of hits that are read of each list.
    depth: usize,
    /// True if good keyword hits come first, and need no vectors.
    may_be_alone: bool,
    /// Hits of the first page.
    page_limit: usize,
    /// True if totals are those of both lists on every page.
    is_exhaustive: bool,
}

impl FusionWindow {
    fn new(snapshot: &Snapshot, request: &SearchRequest, fusion: Fusion, is_boosted: bool) -> FusionWindow {
        let window = request.offset.saturating_add(request.limit);
        let asked = request.explain.as_ref().and_then(|explain| explain.document.as_deref());
        // To find the place of a document, as far as there are pages.
        let reach = if asked.is_some() { window.max(snapshot.settings.pagination.max_total_hits) } else { window };
        let is_fused = fusion != Fusion::Score;
        // Who asks for no hits but for all that match, as a facet search does, gets both sides.
        let counts_alone = window == 0 && request.exhaustive;
        let page_limit = request.page_limit.unwrap_or(request.limit);
        let may_be_alone = !is_fused && !is_boosted && !counts_alone && page_limit < usize::MAX;
        FusionWindow {
            page: request.offset..window,
            asked: asked.and_then(|id| snapshot.find(id)),
            reach,
            depth: match window {
                0 => reach,
                _ if may_be_alone => reach.max(page_limit),
                _ if is_fused || is_boosted => reach.max(FUSED_HITS),
                _ => reach,
            },
            may_be_alone,
            page_limit,
            is_exhaustive: request.exhaustive,
        }
    }

    /// Counts the good keyword hits at the beginning, if they fill the first page of this size. Then they come first on all
    /// pages, so that no page repeats a hit of another one.
    fn first_by_words(&self, words: &SearchResult, ratio: f64) -> Option<usize> {
        let is_good = |hit: &&Hit| hit.score * (1.0 - ratio) >= GOOD_ENOUGH;
        let good = words.hits.iter().take_while(is_good).count();
        (self.may_be_alone && good >= self.page_limit).then_some(good)
    }

    /// Reports whether the hits that come first by words fill all pages up to this one.
    fn is_filled_by(&self, first_by_words: Option<usize>) -> bool {
        !self.is_exhaustive && first_by_words.is_some_and(|first| first >= self.page.end)
    }

    fn words_alone(&self, mut words: SearchResult) -> HybridResult {
        words.hits.truncate(self.page.end);
        words.hits.drain(..self.page.start.min(words.hits.len()));
        HybridResult { result: words, semantic_hit_count: 0 }
    }
}

/// The merged list, as far as it was gone through.
struct List {
    /// Hits of the page.
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
    fn read(merged: Vec<Fused>, reading: &FusionWindow, distinct: &mut Option<Distinct>) -> List {
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

/// Merges the explanations of both lists. `asked`: the document that is to be explained, with its place in the merged
/// list.
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

/// Parameters for merging two lists.
struct Merging<'a> {
    fusion: Fusion,
    ratio: f64,
    /// Documents of which the query is a whole value.
    whole: &'a HashSet<DocumentAddress>,
    boosts: Option<&'a HitBoosts<'a>>,
}

/// The first hits by words of which the query is a whole value, where lists are fused.
fn whole_values(
    snapshot: &Snapshot,
    request: &SearchRequest,
    fusion: Fusion,
    words: &SearchResult,
) -> Result<HashSet<DocumentAddress>, SearchError> {
    if fusion == Fusion::Score {
        return Ok(HashSet::new());
    }
    let first = &words.hits[..words.hits.len().min(FUSED_HITS)];
    Ok(with_whole_value(snapshot, request, &resolve(snapshot, request.search_on.as_deref())?, first))
}

/// The hits of both lists, by words and by nearness, as one, after those that come first; of equal hits, the better one
/// comes first.
fn merged([words, near]: [&mut Vec<Hit>; 2], mut first: Vec<Fused>, merging: &Merging<'_>) -> Vec<Fused> {
    let &Merging { fusion, ratio, whole, boosts } = merging;
    let rest = match (fuse(fusion, ratio, words, near, whole), boosts) {
        (Some(fused), Some(boosts)) => in_boosted_order(fused, boosts, |_| 1.0),
        (Some(fused), None) => fused,
        (None, Some(boosts)) => {
            let rest = (split_off(words), split_off(near));
            let weight = |fused: &Fused| if fused.is_semantic { ratio } else { 1.0 - ratio };
            let first = by_weighted_scores(std::mem::take(words), std::mem::take(near), ratio);
            let mut merged = in_boosted_order(first, boosts, weight);
            merged.extend(by_weighted_scores(rest.0, rest.1, ratio));
            merged
        }
        (None, None) => by_weighted_scores(std::mem::take(words), std::mem::take(near), ratio),
    };
    first.extend(rest);
    first
}

/// Takes the hits of a list that boosts do not reach.
fn split_off(hits: &mut Vec<Hit>) -> Vec<Hit> {
    hits.split_off(hits.len().min(FUSED_HITS))
}

/// The hits in the order of their boosted scores, each times its weight.
fn in_boosted_order(mut merged: Vec<Fused>, boosts: &HitBoosts<'_>, weight: impl Fn(&Fused) -> f64) -> Vec<Fused> {
    merged.iter_mut().for_each(|fused| boosts.apply(&mut fused.hit));
    merged.sort_by(|one, other| compare(&groups(&one.hit, weight(one)), &groups(&other.hit, weight(other))));
    merged
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

/// Selects one document for each distinct value from the documents that either list contains: those of the merged list,
/// which `distinct` has seen, and any document for each other value. Each list may have chosen different documents for
/// the same value.
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
