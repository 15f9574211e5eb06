//! Ranks the documents that match a query: buckets decided by bitmaps, the rest by one scan of the token column.
//!
//! Levels of the `words` rule come best first, and within a level the documents without typo. They are cut into groups
//! ([`cut`](super::cut)). A group is scanned in document order into a bounded top-k ([`scan`](super::scan)); as soon as no
//! remaining document can enter, the scan ends. Groups that can not change the answer any more are not scanned, only
//! counted.

use std::sync::atomic::AtomicU64;

use lamina_segment::bits::DocSet;
use rayon::prelude::*;

use crate::query::MatchingStrategy;
use crate::query::graph::QueryGraph;
use crate::query::leading_terms::LeadingTerms;
use crate::query::level::{self, Level};
use crate::rank::context::{Context, KeywordSearch, SegmentInput, SegmentLevel};
use crate::rank::cut::{exact_groups, misspelt_groups};
use crate::rank::details::{RankedLevel, details, max_proximity};
use crate::rank::groups::Groups;
use crate::rank::merge::RankedList;
use crate::rank::order::{EntryOrder, complete_unsorted};
use crate::rank::rules::{GraphRule, Match};
use crate::rank::scan::LevelScan;
use crate::rank::score::ScoreDetail;
use crate::rank::top_k::{Entry, SharedBar, TopK};

/// The ranked documents of all segments and what is needed to explain them.
pub(crate) struct Ranked<'a> {
    pub(super) context: Context<'a>,
    /// Per segment, when terms are left out from the end.
    leading: Option<Vec<LeadingTerms>>,
    order: EntryOrder<'a>,
    pub(super) levels: Vec<RankedLevel>,
    /// Per segment: its best entries, unordered.
    pub(crate) entries: Vec<Vec<Entry>>,
    /// Per segment: all matching documents.
    pub(crate) matching: Vec<DocSet>,
    pub(crate) degraded: bool,
    /// A query can be read in more ways than were looked at.
    pub(crate) readings_cut: bool,
    /// Documents that were read.
    pub(super) scanned: AtomicU64,
}

/// Ranks. Cost: bitmap operations per level and segment, plus one token-column scan per document that could be a hit.
pub(crate) fn rank<'a>(search: &'a KeywordSearch<'a>, segments: &'a [SegmentInput<'a>]) -> Ranked<'a> {
    let graph = search.graph;
    let context = Context::new(search, segments);
    let parts = context.parts.clone();
    let frequencies = match search.strategy {
        MatchingStrategy::Frequency => frequencies(graph, segments),
        _ => Vec::new(),
    };
    let mut ranked = Ranked {
        context,
        leading: (search.strategy == MatchingStrategy::Last)
            .then(|| segments.iter().map(|_| LeadingTerms::new(graph)).collect()),
        order: EntryOrder { segments, parts: parts.clone() },
        levels: Vec::new(),
        entries: Vec::new(),
        matching: segments.iter().map(|_| DocSet::empty()).collect(),
        degraded: false,
        readings_cut: false,
        scanned: AtomicU64::new(0),
    };
    let mut tops: Vec<TopK> = segments.iter().map(|_| TopK::new(search.wanted, parts.clone())).collect();
    let mut ways_left = false;
    for step in level::steps(graph, search.strategy, &frequencies) {
        let complete = search.plan.words_first() && collected(&tops) >= search.wanted;
        let first = ranked.levels.len();
        for kept in step.ways {
            ranked.level(kept, complete, &mut tops);
        }
        // Only documents that come later could belong to a way that was passed over.
        ranked.readings_cut |= ways_left && ranked.levels[first..].iter().any(|level| level.documents > 0);
        ways_left |= !step.is_complete;
        // The scores of documents that miss equally many words have one scale.
        let step = &mut ranked.levels[first..];
        let maxima =
            step.iter().filter(|level| level.documents > 0).map(|level| (level.max_typos, level.max_proximity));
        if let Some((max_typos, max_proximity)) = maxima.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1))) {
            step.iter_mut().for_each(|level| (level.max_typos, level.max_proximity) = (max_typos, max_proximity));
        }
    }
    ranked.entries = tops.into_iter().map(TopK::into_entries).collect();
    if ranked.degraded {
        complete_unsorted(&mut ranked.entries, &ranked.matching, search.wanted);
    }
    ranked
}

fn count(sets: &[DocSet]) -> u32 {
    sets.iter().map(DocSet::len).sum()
}

/// The sum of some numbers of documents without the largest: a second thread can take that much off the first one.
pub(crate) fn beside_largest(counts: impl Iterator<Item = u32> + Clone) -> u64 {
    counts.clone().map(u64::from).sum::<u64>() - u64::from(counts.max().unwrap_or_default())
}

fn collected(tops: &[TopK]) -> usize {
    tops.iter().map(TopK::len).sum()
}

/// Per term: documents that match it in any way.
fn frequencies(graph: &QueryGraph, segments: &[SegmentInput<'_>]) -> Vec<u64> {
    let mut out = vec![0; graph.terms.len()];
    for (term, count) in out.iter_mut().enumerate() {
        for segment in segments {
            let mut docs = DocSet::empty();
            for (index, node) in graph.nodes.iter().enumerate() {
                if node.first <= term && term < node.first + node.len {
                    (0..3).for_each(|class| docs.or_assign(segment.query.docs(index, class)));
                }
            }
            *count += u64::from(segment.query.live_len(&docs));
        }
    }
    out
}

impl Ranked<'_> {
    /// Ranks the documents that match a level and none before. `complete`: enough come before all of them.
    fn level(&mut self, kept: Vec<usize>, complete: bool, tops: &mut [TopK]) {
        let search = self.context.search;
        let usable = |node: usize| self.context.segments.iter().any(|s| !s.query.is_empty(node));
        let level = Level::new(search.graph, kept, usable);
        let matching = self.matching_only(&level);
        for (all, docs) in self.matching.iter_mut().zip(&matching) {
            all.or_assign(docs);
        }
        let (level, max_typos) = self.needed_readings(level, &matching);
        let number = self.levels.len();
        let nodes = &search.graph.nodes;
        let word = |starting: &Vec<usize>| starting.iter().map(|&n| &nodes[n]).find(|node| !node.is_ngram());
        let max_proximity = max_proximity(&level.starting.iter().filter_map(word).collect::<Vec<_>>());
        let documents = count(&matching);
        self.levels.push(RankedLevel { level, max_typos, max_proximity, documents, without_typo: None, compared: 0 });
        if complete || self.degraded || matching.iter().all(DocSet::is_empty) {
            return;
        }
        let level = &self.levels[number].level;
        let bound = self.context.bound(level);
        if !search.plan.typo_first() {
            self.levels[number].compared = documents;
            self.degraded =
                self.scan(number).all(tops, &matching, None, |_, docs| Groups::whole(vec![(bound, docs.clone())]));
            return;
        }
        let exact: Vec<DocSet> = self.context.per_segment(|index| {
            let query = &self.context.segments[index].query;
            query.level_docs(level, &matching[index], true)
        });
        let ranked = &mut self.levels[number];
        ranked.compared = count(&exact);
        ranked.without_typo = Some(ranked.compared);
        self.degraded = self.scan(number).all(tops, &exact, Some(Match::Exact), exact_groups);
        // Those that match other words of as many without typo may have been collected with typos.
        let misspelt_bound = bound + self.context.layout.slice(GraphRule::Typo).map_or(0, |s| s.put(1));
        let better: usize = tops.iter().map(|top| top.count_below(misspelt_bound)).sum();
        if !self.degraded && better < search.wanted {
            self.levels[number].compared = documents;
            let misspelt: Vec<DocSet> = self.context.per_segment(|index| matching[index].and_not(&exact[index]));
            self.degraded = self.scan(number).all(tops, &misspelt, Some(Match::Misspelt), misspelt_groups);
        }
    }

    /// Per segment the documents that match a level, and none before.
    fn matching_only(&self, level: &Level) -> Vec<DocSet> {
        self.context.per_segment(|index| {
            let SegmentInput { query, universe, .. } = &self.context.segments[index];
            let known = &self.matching[index];
            match &self.leading {
                Some(leading) if level.kept.iter().copied().eq(0..level.kept.len()) => {
                    leading[index].docs(query, universe, level.kept.len()).and_not(known)
                }
                _ => query.level_docs(level, &universe.and_not(known), false),
            }
        })
    }

    fn scan(&self, number: usize) -> SegmentsScan<'_> {
        SegmentsScan {
            context: &self.context,
            level: &self.levels[number].level,
            number: number as u16,
            all_read: &self.scanned,
        }
    }

    /// Keeps the concatenations without which some document of the level would not match, and finds the largest typo
    /// cost of the readings that remain.
    fn needed_readings(&mut self, level: Level, groups: &[DocSet]) -> (Level, u32) {
        let graph = self.context.search.graph;
        let typos =
            |tiling: &[usize]| tiling.iter().map(|&n| graph.nodes[n].base_cost() + graph.nodes[n].max_typos()).sum();
        let has_ngrams = level.starting.iter().flatten().any(|&n| graph.nodes[n].is_ngram());
        let plain: Vec<usize> =
            level.starting.iter().filter_map(|s| s.iter().copied().find(|&n| !graph.nodes[n].is_ngram())).collect();
        if !has_ngrams && self.context.search.strategy != MatchingStrategy::All {
            let max = typos(&plain);
            return (level, max);
        }
        if self.context.search.strategy == MatchingStrategy::All {
            // Without the `words` rule nothing narrows the readings, whether they match or not.
            let every = Level::new(graph, level.kept.clone(), |_| true);
            let max = every.most(graph, |n| typos(&[n]));
            return (level, max);
        }
        let mut left: Vec<DocSet> = groups.to_vec();
        let mut needed = hashbrown::HashSet::new();
        let mut max_typos = 0;
        let (tilings, is_complete) = level.tilings(graph);
        for tiling in tilings {
            if left.iter().all(DocSet::is_empty) {
                break;
            }
            let mut any = false;
            for (segment, left) in self.context.segments.iter().zip(&mut left) {
                let docs = segment.query.tiling_docs(&tiling, left);
                any |= !docs.is_empty();
                left.and_not_assign(&docs);
            }
            if any {
                max_typos = max_typos.max(typos(&tiling));
                needed.extend(tiling);
            }
        }
        // Only documents that no reading so far explains could need those that were left out.
        self.readings_cut |= !is_complete && left.iter().any(|docs| !docs.is_empty());
        let kept = level.kept;
        (Level::new(graph, kept, |n| needed.contains(&n)), max_typos)
    }
}

/// The scan of a level in all segments.
struct SegmentsScan<'a> {
    context: &'a Context<'a>,
    level: &'a Level,
    number: u16,
    /// Counts documents that are read.
    all_read: &'a AtomicU64,
}

impl<'a> SegmentsScan<'a> {
    /// Offers the documents of each segment, in parallel where there are many beside those of the largest; `true` when the
    /// time ran out. `groups`: cuts the documents of a segment into groups that come best first, each with the smallest key
    /// of its documents.
    fn all(
        &self,
        tops: &mut [TopK],
        docs: &[DocSet],
        matched: Option<Match>,
        groups: impl Fn(SegmentLevel<'a>, &DocSet) -> Groups<'a> + Sync,
    ) -> bool {
        let bar = SharedBar::new();
        let scan_segment = |(index, top): (usize, &mut TopK)| {
            top.exchange(&bar);
            let of = SegmentLevel { context: self.context, index, level: self.level };
            let mut scan = LevelScan::new(of, self.number, matched, self.all_read);
            let mut groups = groups(of, &docs[index]);
            loop {
                let taken = scan.take(&mut groups, top);
                if taken.is_empty() {
                    return false;
                }
                if scan.groups(&taken, top) {
                    return true;
                }
                top.exchange(&bar);
            }
        };
        let thresholds = self.context.search.thresholds;
        if beside_largest(docs.iter().map(DocSet::len)) <= u64::from(thresholds.scanned_whole_max) {
            return tops.iter_mut().enumerate().any(scan_segment);
        }
        tops.par_iter_mut().enumerate().map(scan_segment).reduce(|| false, |a, b| a || b)
    }
}

impl RankedList for Ranked<'_> {
    fn entries(&self) -> &[Vec<Entry>] {
        &self.entries
    }

    fn order(&self) -> &EntryOrder<'_> {
        &self.order
    }

    /// Cost: one more scan of the document.
    fn details(&self, segment: usize, entry: &Entry) -> Vec<ScoreDetail> {
        match self.levels.get(usize::from(entry.level)) {
            Some(level) => details(&self.context, level, segment, entry),
            None => vec![ScoreDetail::Skipped],
        }
    }
}
