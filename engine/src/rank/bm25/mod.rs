//! Ranks the documents that hold any of the words of a question by a fielded BM25, instead of by the relevancy rules.
//!
//! For a document `d`, with `f` over its searched fields, `t` over the words of the query and `r` over the expansions of a
//! word (itself, any of its forms, a completion, a misspelling, see [`expansions`]):
//!
//! ```text
//! score(d) = sum over t of  max over r of  discount(r) * idf(r) * saturated(occurrences(r, d))
//!          + sum over t of  NEAR * min(worth of t, of the word before t) * saturated(occurrences of both side by side)
//! occurrences(r, d) = sum over f of  weight(f) * count(r, f, d) / (1 - b + b * tokens(f, d) / average tokens(f))
//! saturated(n) = n * (k1 + 1) / (n + k1)
//! idf(r) = ln(1 + (N - n + 1/2) / (n + 1/2)) ^ SHARPNESS,   n: documents of this expansion and the better ones of the word
//! ```
//!
//! A word counts as often as the question says it.
//!
//! All statistics are sums over the live documents of the snapshot. Postings hold no frequencies, the token column does.
//! So bounds of all scores come from postings ([`bounds`]), and documents are scored from their tokens, largest bound
//! first (lowered by what a single word can count in a document at all, see [`max_impacts`]), until no bound is above the worst score that still counts. The bar is shared by all segments.

mod bounds;
mod expansions;
mod max_impacts;
mod scorer;
mod statistics;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use lamina_index::index::SegmentView;
use lamina_index::index::settings::BoostRule;
use lamina_segment::bits::{BitsetBuilder, DocSet};
use lamina_segment::segment::SegmentReader;
use lamina_text::id::DocId;
use rayon::prelude::*;

use self::bounds::{Bounds, Part, Scale, Share};
use self::expansions::{Expansion, Expansions, are_of_words};
use self::max_impacts::{has_max_impact, max_impacts};
use self::scorer::{Lookup, Scorer};
use self::statistics::Formula;
use crate::query::SegmentQuery;
use crate::query::graph::{Node, QueryGraph};
use crate::rank::context::SegmentInput;
use crate::rank::deadline;
use crate::rank::explain::{AppliedRule, RuleCandidates};
use crate::rank::key::Key;
use crate::rank::merge::RankedList;
use crate::rank::order::{EntryOrder, complete_unsorted, is_unsorted};
use crate::rank::plan::{Plan, PlannedRule};
use crate::rank::score::ScoreDetail;
use crate::rank::top_k::{Entry, KeyPart, TopK};

pub(crate) use expansions::is_doubtful;
pub(crate) use statistics::Statistics;

/// Documents with the largest bounds that are scored before the bar is looked at, at least.
const SCORED_FIRST: usize = 256;
/// Documents that one thread scores at a time when there are many.
const DOCS_PER_TASK: usize = 2048;

/// Input of a search that ranks by BM25.
pub(crate) struct Bm25Search<'a> {
    /// One node per word.
    pub(crate) graph: &'a QueryGraph,
    pub(crate) plan: &'a Plan,
    /// Boosts by which scores are multiplied, in the order in which the segments have them.
    pub(crate) boosts: &'a [&'a BoostRule],
    pub(crate) statistics: &'a Statistics,
    /// Entries wanted, over all segments; `usize::MAX` ranks every document.
    pub(crate) wanted: usize,
    /// Hits with a lower normalised score are not wanted.
    pub(crate) score_threshold: Option<f64>,
    pub(crate) deadline: Option<Instant>,
    /// The segments, in their order.
    pub(crate) views: &'a [SegmentView],
    /// True if max impacts may be used. They are computed for all searchable fields together only.
    pub(crate) max_impacts: bool,
}

impl Bm25Search<'_> {
    /// Lower scores are no hits. `worth`: of all words.
    fn floor(&self, worth: f64) -> f64 {
        self.score_threshold
            .map_or(0.0, |threshold| self.statistics.formula().score_at(threshold, worth, !self.boosts.is_empty()))
    }
}

/// The ranked documents of all segments.
pub(crate) struct Bm25Ranked<'a> {
    order: EntryOrder<'a>,
    boosts: &'a [&'a BoostRule],
    /// Sum of the weights of all words.
    worth: f64,
    formula: Formula,
    words: u32,
    entries: Vec<Vec<Entry>>,
    /// Per segment: all matching documents.
    pub(crate) matching: Vec<DocSet>,
    pub(crate) degraded: bool,
    /// Documents whose tokens were read.
    scored: u64,
}

/// Bits of a score that depend on the order in which its parts were added up, and a few more.
const NOISE_BITS: u32 = 16;

/// The score without its noise: documents that are worth the same have the same. Not decreasing.
fn rounded(score: f64) -> f64 {
    const NOISE: u64 = (1 << NOISE_BITS) - 1;
    f64::from_bits((score.to_bits() + NOISE / 2 + 1) & !NOISE)
}

/// A larger score is a smaller key.
fn key_of(score: f64) -> Key {
    Key::from(u64::MAX - rounded(score).to_bits())
}

fn score_of(key: Key) -> f64 {
    f64::from_bits(u64::MAX - key as u64)
}

/// The largest score that is known not to be worse than the last one wanted.
struct Bar(AtomicU64);

impl Bar {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }

    /// Scores are not negative, so their bits are in their order.
    fn raise(&self, score: f64) {
        self.0.fetch_max(score.to_bits(), Relaxed);
    }
}

/// Ranks. Cost: one set of documents per word and segment, one byte per document and word for the bounds, one scan of the
/// token column per document whose bound is above the worst score that counts.
pub(crate) fn rank<'a>(search: &Bm25Search<'a>, segments: &'a [SegmentInput<'a>]) -> Bm25Ranked<'a> {
    let queries: Vec<&SegmentQuery<'_>> = segments.iter().map(|segment| &segment.query).collect();
    let expansions = Expansions::new(search.graph, &queries, search.statistics);
    let parts = parts(search.plan);
    let formula = search.statistics.formula();
    let scale = scale(&expansions, formula);
    let floor = search.floor(expansions.worth);
    let (bar, scored) = (Bar(AtomicU64::new(0)), AtomicU64::new(0));
    let results: Vec<(DocSet, Vec<Entry>, bool)> = (0..segments.len())
        .into_par_iter()
        .map(|index| {
            let (matching, are_all) = matching(search.graph, &segments[index], &expansions, index);
            let lookup = Lookup::new(&expansions, search.statistics, &segments[index].query, index);
            let scan = Scan {
                segment: &segments[index],
                lookup: &lookup,
                scale,
                floor,
                bar: &bar,
                scored: &scored,
                score_first: parts.first() == Some(&SCORE),
                deadline: search.deadline,
            };
            let mut top = TopK::new(search.wanted, parts.clone());
            let reader = segments[index].query.reader();
            let max_impacts =
                search.max_impacts.then(|| max_impacts(&search.views[index], search.statistics)).flatten();
            let parts = parts_of_words(&expansions, index, scale, max_impacts.is_some().then_some(reader));
            let bounds = || Bounds::new(&matching, are_all, reader.doc_count(), max_impacts.as_deref(), &parts);
            let degraded = !matching.is_empty() && search.wanted > 0 && scan.all(&bounds(), search.wanted, &mut top);
            (matching, top.into_entries(), degraded)
        })
        .collect();
    let mut ranked = Bm25Ranked {
        order: EntryOrder { segments, parts },
        boosts: search.boosts,
        worth: expansions.worth,
        formula,
        words: search.graph.terms.len() as u32,
        entries: Vec::new(),
        matching: Vec::new(),
        degraded: false,
        scored: scored.into_inner(),
    };
    for (matching, entries, degraded) in results {
        ranked.matching.push(matching);
        ranked.entries.push(entries);
        ranked.degraded |= degraded;
    }
    if ranked.degraded {
        complete_unsorted(&mut ranked.entries, &ranked.matching, search.wanted);
    }
    ranked
}

/// The scale of the bounds.
fn scale(expansions: &Expansions, formula: Formula) -> Scale {
    let best = |of_word: &[Expansion]| of_word.iter().map(|expansion| expansion.worth).fold(0.0, f64::max);
    let mut worths: Vec<f64> = expansions.of_words().map(best).collect();
    worths.push(expansions.near.iter().sum());
    Scale::new(worths.iter().copied(), formula.most())
}

/// The documents of each expansion in a segment, and the most that they get for it. `reader`: of the segment, if it has
/// max impacts.
fn parts_of_words<'a>(
    expansions: &'a Expansions,
    segment: usize,
    scale: Scale,
    reader: Option<&SegmentReader>,
) -> Vec<Part<'a>> {
    let mut parts = Vec::new();
    for of_word in expansions.of_words() {
        let is_bounded = |reader| are_of_words(of_word, segment, |word| has_max_impact(reader, word));
        let share = if reader.is_some_and(is_bounded) { Share::OneWord } else { Share::Whole };
        for expansion in of_word {
            // Half of what two neighbours add counts with each of them.
            let byte = scale.byte(expansion.worth + expansions.beside(expansion.term) / 2.0);
            parts.push(Part { docs: &expansion.docs[segment], byte, share });
            if let Some(forms) = expansion.of_forms[segment].as_ref().filter(|_| share == Share::OneWord) {
                parts.push(Part { docs: &forms.several, byte, share: Share::FurtherForms });
            }
        }
    }
    parts.retain(|part| !part.docs.is_empty());
    parts
}

/// The score of an entry is its whole key.
const SCORE: KeyPart = KeyPart::Graph(u64::MAX as Key);

/// The relevancy rules become one, in the place of the first of them, or last where there are none.
fn parts(plan: &Plan) -> Vec<KeyPart> {
    let mut parts = Vec::new();
    for rule in &plan.rules {
        match rule {
            PlannedRule::Sort(index) => parts.push(KeyPart::Sort(*index)),
            _ if !parts.contains(&SCORE) => parts.push(SCORE),
            _ => {}
        }
    }
    if !parts.contains(&SCORE) {
        parts.push(SCORE);
    }
    parts
}

/// Documents that hold any of the words or phrases, and every required phrase; whether those are all that hold any.
fn matching(graph: &QueryGraph, segment: &SegmentInput<'_>, expansions: &Expansions, index: usize) -> (DocSet, bool) {
    let doc_count = segment.query.reader().doc_count();
    let mut docs = BitsetBuilder::new(doc_count);
    expansions.list.iter().for_each(|expansion| docs.insert_set(&expansion.docs[index]));
    let mut docs = docs.finish();
    let all = docs.len();
    if segment.universe.len() < doc_count {
        docs.and_assign(&segment.universe);
    }
    let is_required = |node: &Node| node.phrase.is_some() && graph.terms[node.first].is_required;
    for (node, _) in graph.nodes.iter().enumerate().filter(|(_, node)| is_required(node)) {
        docs.and_assign(segment.query.docs(node, 0));
    }
    let are_all = docs.len() == all;
    (docs, are_all)
}

/// Scoring the documents of one segment.
struct Scan<'a> {
    segment: &'a SegmentInput<'a>,
    lookup: &'a Lookup<'a>,
    scale: Scale,
    /// Lower scores are no hits.
    floor: f64,
    bar: &'a Bar,
    scored: &'a AtomicU64,
    /// Nothing comes before the score.
    score_first: bool,
    deadline: Option<Instant>,
}

impl Scan<'_> {
    /// Offers the matching documents, largest bound first; `true` when the time ran out.
    fn all(&self, bounds: &Bounds, wanted: usize, top: &mut TopK) -> bool {
        if !self.score_first {
            return self.docs(&bounds.between(1, u8::MAX), top);
        }
        let first = bounds.reached_by(wanted.saturating_mul(2).max(SCORED_FIRST));
        if self.docs(&bounds.between(first, u8::MAX), top) {
            return true;
        }
        let least = self.scale.least(self.bar.get().max(self.floor) / self.segment.boosts.most() * (1.0 - 1e-9));
        first > 1 && least < first && self.docs(&bounds.between(least, first - 1), top)
    }

    /// Offers documents on as many threads as there is work for.
    fn docs(&self, docs: &[(u8, DocId)], top: &mut TopK) -> bool {
        if docs.len() <= 2 * DOCS_PER_TASK {
            return self.some(docs, top);
        }
        // The first raise the bar.
        let (first, rest) = docs.split_at(DOCS_PER_TASK / 2);
        if self.some(first, top) {
            return true;
        }
        let forks: Vec<(TopK, bool)> = rest
            .par_chunks(DOCS_PER_TASK)
            .map(|docs| {
                let mut fork = top.fork();
                let is_late = self.some(docs, &mut fork);
                (fork, is_late)
            })
            .collect();
        let is_late = forks.iter().any(|(_, is_late)| *is_late);
        forks.into_iter().for_each(|(fork, _)| top.absorb(fork));
        is_late
    }

    /// Offers documents on this thread.
    fn some(&self, docs: &[(u8, DocId)], top: &mut TopK) -> bool {
        let mut scored = 0;
        let is_late = self.counted(docs, top, &mut scored);
        self.scored.fetch_add(scored, Relaxed);
        is_late
    }

    fn counted(&self, docs: &[(u8, DocId)], top: &mut TopK, count: &mut u64) -> bool {
        let mut scorer = Scorer::new(self.lookup);
        let tokens = self.segment.query.reader().tokens();
        let has_sorts = self.segment.sort.criteria_count() > 0;
        // What no document of the segment is boosted more by.
        let (is_boosted, most) = (!self.segment.boosts.is_empty(), self.segment.boosts.most());
        let mut sorts = Vec::new();
        for (index, docs) in tokens.fetched(docs, |&(_, doc)| Some(doc)).enumerate() {
            if deadline::is_up(self.deadline, index) {
                return true;
            }
            for (&(byte, doc), span) in docs {
                // Bounds fall: what can't enter here, can't later.
                let bound = rounded(self.scale.score(byte) * most);
                if bound < self.floor || (self.score_first && bound < self.bar.get()) {
                    return false;
                }
                let boosted = if is_boosted { self.segment.boosts.product(doc) } else { 1.0 };
                if has_sorts || is_boosted {
                    self.segment.sort.keys(doc, &mut sorts);
                    if !top.admits(key_of(self.scale.score(byte) * boosted), &sorts, doc) {
                        continue;
                    }
                }
                let scored = scorer.score(&tokens.doc_at(span));
                *count += 1;
                let score = scored.score * boosted;
                let key = key_of(score);
                if score >= self.floor && top.admits(key, &sorts, doc) {
                    top.push(Entry { key, sorts: sorts.clone(), level: scored.matching, doc });
                    if let Some(key) = top.bar().filter(|_| self.score_first) {
                        self.bar.raise(score_of(key));
                    }
                }
            }
        }
        false
    }
}

impl Bm25Ranked<'_> {
    /// Reports the candidates of the ranking by `plan` as one entry, because one look at a document decides all rules.
    pub(crate) fn report(&self, plan: &Plan) -> Vec<RuleCandidates> {
        let documents = self.matching.iter().map(|docs| u64::from(docs.len())).sum();
        let rule = |part: &KeyPart| match *part {
            KeyPart::Graph(_) => AppliedRule::Named("bm25"),
            KeyPart::Sort(index) => AppliedRule::Sort(plan.sorts[index].clone()),
        };
        let rules = self.order.parts.iter().map(rule).collect();
        vec![RuleCandidates { rules, first: 0, documents, read: Some(self.scored), groups: Vec::new() }]
    }
}

impl RankedList for Bm25Ranked<'_> {
    fn entries(&self) -> &[Vec<Entry>] {
        &self.entries
    }

    fn order(&self) -> &EntryOrder<'_> {
        &self.order
    }

    fn details(&self, segment: usize, entry: &Entry) -> Vec<ScoreDetail> {
        if is_unsorted(entry) {
            return vec![ScoreDetail::Skipped];
        }
        let boosts = &self.order.segments[segment].boosts;
        let (boosted, product) = (score_of(entry.key), boosts.product(entry.doc));
        let value = if product > 0.0 { boosted / product } else { 0.0 };
        let detail = |part: &KeyPart| match *part {
            KeyPart::Graph(_) => ScoreDetail::Bm25 {
                value,
                max: self.worth * self.formula.most(),
                matching_words: u32::from(entry.level),
                max_matching_words: self.words,
                score: self.formula.normalized(boosted, self.worth, !self.boosts.is_empty()),
            },
            KeyPart::Sort(index) => ScoreDetail::of_sort(&self.order.segments[segment].sort, index, entry.doc),
        };
        let factors = self.boosts.iter().zip(boosts.factors(entry.doc)).map(|(rule, factor)| ScoreDetail::Boost {
            name: rule.name(),
            field: rule.field().map(str::to_owned),
            factor,
            is_multiplied: true,
        });
        self.order.parts.iter().map(detail).chain(factors).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_sum_is_no_rank() {
        let parts = [0.1, 0.2, 0.3];
        let (one, other) = (parts.iter().sum::<f64>(), parts.iter().rev().sum::<f64>());
        assert!(one.to_bits() != other.to_bits());
        assert_eq!(key_of(one), key_of(other));
        assert!(key_of(one * (1.0 + 1e-9)) < key_of(one));
        let scores: Vec<f64> = (0..10_000).map(|step| f64::from_bits(one.to_bits() + 1234 * step)).collect();
        assert!(scores.is_sorted_by(|one, next| key_of(*one) >= key_of(*next)));
        assert!(scores.iter().all(|&score| (score_of(key_of(score)) - score).abs() < score * 1e-11));
        assert_eq!(score_of(key_of(0.0)), 0.0);
    }
}
