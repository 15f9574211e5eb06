//! Ranks the documents that match a query: buckets decided by bitmaps, the rest by one scan of the token column.
//!
//! Levels of the `words` rule come best first, and within a level the documents without typo. A group is scanned in
//! document order into a bounded top-k; as soon as no remaining document can enter, the scan ends. Groups that can
//! not change the answer any more are not scanned, only counted.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use rayon::prelude::*;

use crate::bits::DocSet;
use crate::query::MatchingStrategy;
use crate::query::SegmentQuery;
use crate::query::graph::{Node, QueryGraph};
use crate::query::leading_terms::LeadingTerms;
use crate::query::level::{self, Level};
use crate::query::options::QueryOptions;
use crate::query::vertex::node_of;
use crate::rank::bounds::{Cutting, Match, cut_by_costs};
use crate::rank::groups::Groups;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::matcher::Matcher;
use crate::rank::merge::RankedList;
use crate::rank::neighbours::cut_by_neighbours;
use crate::rank::order::{EntryOrder, complete_unsorted};
use crate::rank::path::{POSITION_COST_MAX, PROXIMITY_COST_MAX, PathFinder};
use crate::rank::plan::{Plan, Told};
use crate::rank::rules::GraphRule;
use crate::rank::scan::{DocumentScanner, LevelScan};
use crate::rank::score::{ExactMatch, Exactness, Rank, ScoreDetail};
use crate::rank::thresholds::SearchThresholds;
use crate::rank::top_k::{Entry, Part, SharedBar, TopK};
use crate::sort::SegmentSort;

/// Cost of the first step of `exactness` when no attribute starts with the query.
pub(super) const EXACT_ATTRIBUTE_WORST: u32 = 2;
/// More segments than this do not make them smaller: to cut one costs as much as to scan some of its documents.
const SEGMENTS_MAX: usize = 8;
/// Bitmaps of fewer documents, over all segments, are combined on one thread.
const PARALLEL_FROM: u64 = 1 << 20;

/// One segment of a keyword search.
pub(crate) struct SegmentInput<'a> {
    pub(crate) query: SegmentQuery<'a>,
    /// Documents that may be hits.
    pub(crate) universe: DocSet,
    pub(crate) sort: SegmentSort<'a>,
}

/// Everything a keyword search is made of.
pub(crate) struct KeywordSearch<'a> {
    pub(crate) graph: &'a QueryGraph,
    pub(crate) options: &'a QueryOptions,
    pub(crate) plan: &'a Plan,
    pub(crate) strategy: MatchingStrategy,
    /// Entries wanted, over all segments; `usize::MAX` ranks every document.
    pub(crate) wanted: usize,
    pub(crate) deadline: Option<Instant>,
    pub(crate) thresholds: SearchThresholds,
}

/// A level together with what its details are computed from.
#[derive(Debug)]
pub(super) struct RankedLevel {
    pub(super) level: Level,
    max_typos: u32,
    /// Of documents in which no words are joined.
    max_proximity: u32,
    /// That match it and no earlier one.
    pub(super) documents: u32,
    /// Of these, those that need no typo; `None` where nobody had to know.
    pub(super) without_typo: Option<u32>,
    /// Of these, those that came to the rules for which documents are read.
    pub(super) compared: u32,
}

/// The ranked documents of all segments and what is needed to explain them.
pub(crate) struct Ranked<'a> {
    pub(super) search: &'a KeywordSearch<'a>,
    pub(super) segments: &'a [SegmentInput<'a>],
    pub(super) matchers: Vec<Matcher>,
    /// Per segment, when terms are left out from the end.
    leading: Option<Vec<LeadingTerms>>,
    pub(super) layout: KeyLayout,
    /// Of the rules before the first sort, and of those behind it.
    around_sort: [KeyLayout; 2],
    pub(super) order: EntryOrder<'a>,
    pub(super) levels: Vec<RankedLevel>,
    pub(super) exact_known: Vec<bool>,
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
    let layout = layout(search);
    let parts = search.plan.parts(&layout);
    let before_sort = match parts.as_slice() {
        // Without a sort every rule comes before it.
        [Part::Graph(mask)] | [Part::Graph(mask), Part::Sort(_), ..] => *mask,
        _ => 0,
    };
    let around_sort = [layout.within(before_sort), layout.within(!before_sort)];
    let exact_known = exact_known(graph, segments);
    let frequencies = match search.strategy {
        MatchingStrategy::Frequency => frequencies(graph, segments),
        _ => Vec::new(),
    };
    let mut ranked = Ranked {
        search,
        segments,
        matchers: segments.iter().map(|s| Matcher::of(&s.query)).collect(),
        leading: (search.strategy == MatchingStrategy::Last)
            .then(|| segments.iter().map(|_| LeadingTerms::new(graph)).collect()),
        layout,
        around_sort,
        order: EntryOrder { segments, parts: parts.clone() },
        levels: Vec::new(),
        exact_known,
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

fn layout(search: &KeywordSearch<'_>) -> KeyLayout {
    let graph = search.graph;
    let terms = graph.terms.len() as u32;
    let rules: Vec<_> = search
        .plan
        .graph_rules()
        .into_iter()
        .map(|rule| {
            let max = match rule {
                GraphRule::Words => graph.word_count(),
                GraphRule::Typo => terms * 5,
                GraphRule::Proximity => terms * (PROXIMITY_COST_MAX + 2),
                GraphRule::AttributeRank => terms * u32::from(search.options.max_weight),
                GraphRule::WordPosition => terms * POSITION_COST_MAX,
                GraphRule::ExactAttribute => 2,
                GraphRule::ExactWords => terms,
            };
            (rule, max)
        })
        .collect();
    KeyLayout::new(&rules)
}

/// Per term: whether a document of any segment holds its exact word (or the words of its phrase are known).
fn exact_known(graph: &QueryGraph, segments: &[SegmentInput<'_>]) -> Vec<bool> {
    let mut known = vec![false; graph.terms.len()];
    for (index, node) in graph.nodes.iter().enumerate().filter(|(_, n)| !n.is_ngram()) {
        known[node.first] = segments.iter().any(|s| {
            let e = &s.query.expansions()[index];
            e.exact.is_some_and(|word| s.query.is_alive(word)) || e.phrase.is_some()
        });
    }
    known
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
    /// `f` of each segment, in parallel where there are so many documents that bitmaps take longer than waking threads.
    fn per_segment<T: Send>(&self, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        let documents: u64 = self.segments.iter().map(|s| u64::from(s.query.reader().doc_count())).sum();
        let segments = 0..self.segments.len();
        if documents < PARALLEL_FROM { segments.map(f).collect() } else { segments.into_par_iter().map(f).collect() }
    }

    fn level(&mut self, kept: Vec<usize>, complete: bool, tops: &mut [TopK]) {
        let search = self.search;
        let graph = search.graph;
        let usable = |node: usize| self.segments.iter().any(|s| !s.query.is_empty(node));
        let level = Level::new(graph, kept, usable);
        let groups: Vec<DocSet> = self.per_segment(|index| {
            let SegmentInput { query, universe, .. } = &self.segments[index];
            let known = &self.matching[index];
            match &self.leading {
                Some(leading) if level.kept.iter().copied().eq(0..level.kept.len()) => {
                    leading[index].docs(query, universe, level.kept.len()).and_not(known)
                }
                _ => query.level_docs(&level, &universe.and_not(known), false),
            }
        });
        for (matching, docs) in self.matching.iter_mut().zip(&groups) {
            matching.or_assign(docs);
        }
        let (level, max_typos) = self.needed_readings(level, &groups);
        let number = self.levels.len() as u16;
        let word = |starting: &Vec<usize>| starting.iter().map(|&n| &graph.nodes[n]).find(|node| !node.is_ngram());
        let max_proximity = max_proximity(&level.starting.iter().filter_map(word).collect::<Vec<_>>());
        let documents = count(&groups);
        self.levels.push(RankedLevel { level, max_typos, max_proximity, documents, without_typo: None, compared: 0 });
        if complete || self.degraded || groups.iter().all(DocSet::is_empty) {
            return;
        }
        if !search.plan.typo_first() {
            let bound = self.bound(number);
            self.levels[usize::from(number)].compared = documents;
            self.degraded =
                self.scan_all(tops, number, &groups, None, |index| Groups::whole(vec![(bound, groups[index].clone())]));
            return;
        }
        let level = &self.levels[usize::from(number)].level;
        let exact: Vec<DocSet> =
            self.per_segment(|index| self.segments[index].query.level_docs(level, &groups[index], true));
        let ranked = &mut self.levels[usize::from(number)];
        ranked.compared = count(&exact);
        ranked.without_typo = Some(ranked.compared);
        self.degraded =
            self.scan_all(tops, number, &exact, Some(Match::Exact), |index| self.groups(index, &exact[index], number));
        // Those that match other words of as many without typo may have been collected with typos.
        let misspelt_bound = self.bound(number) + self.layout.slice(GraphRule::Typo).map_or(0, |s| s.put(1));
        let better: usize = tops.iter().map(|top| top.count_below(misspelt_bound)).sum();
        if !self.degraded && better < search.wanted {
            self.levels[usize::from(number)].compared = documents;
            let misspelt: Vec<DocSet> = self.per_segment(|index| groups[index].and_not(&exact[index]));
            self.degraded = self.scan_all(tops, number, &misspelt, Some(Match::Misspelt), |index| {
                self.misspelt_groups(index, &misspelt[index], number)
            });
        }
    }

    /// Scans groups of the documents of each segment, in parallel where there are many beside those of the largest, and
    /// tells whether the time ran out.
    /// Groups come best first, each with the smallest key of its documents.
    fn scan_all<'s>(
        &'s self,
        tops: &mut [TopK],
        number: u16,
        docs: &[DocSet],
        matched: Option<Match>,
        groups: impl Fn(usize) -> Groups<'s> + Sync,
    ) -> bool {
        let bar = SharedBar::new();
        let scan_segment = |(index, top): (usize, &mut TopK)| {
            top.exchange(&bar);
            let mut scan = LevelScan::new(self, index, number, matched);
            let mut groups = groups(index);
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
        if beside_largest(docs.iter().map(DocSet::len)) <= u64::from(self.search.thresholds.scanned_whole_max) {
            return tops.iter_mut().enumerate().any(scan_segment);
        }
        tops.par_iter_mut().enumerate().map(scan_segment).reduce(|| false, |a, b| a || b)
    }

    /// Keeps the concatenations without which some document of the level would not match, and tells the largest typo
    /// cost of the readings that remain.
    fn needed_readings(&mut self, level: Level, groups: &[DocSet]) -> (Level, u32) {
        let graph = self.search.graph;
        let typos =
            |tiling: &[usize]| tiling.iter().map(|&n| graph.nodes[n].base_cost() + graph.nodes[n].max_typos()).sum();
        let has_ngrams = level.starting.iter().flatten().any(|&n| graph.nodes[n].is_ngram());
        let plain: Vec<usize> =
            level.starting.iter().filter_map(|s| s.iter().copied().find(|&n| !graph.nodes[n].is_ngram())).collect();
        if !has_ngrams && self.search.strategy != MatchingStrategy::All {
            let max = typos(&plain);
            return (level, max);
        }
        if self.search.strategy == MatchingStrategy::All {
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
            for (segment, left) in self.segments.iter().zip(&mut left) {
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

    /// The smallest key of a document of a level.
    fn bound(&self, number: u16) -> Key {
        let missing = self.levels[usize::from(number)].level.missing_words;
        self.layout.slice(GraphRule::Words).map_or(0, |s| s.put(missing))
    }

    /// Cuts documents that match without typo into groups by what bitmaps and postings tell of their keys: whether
    /// every word is there exactly, and in which attributes. Each group comes with the smallest key its documents can
    /// have, best first. Rules behind a sort have no part in it: groups in their order would be none in that of the keys.
    fn groups(&self, index: usize, docs: &DocSet, number: u16) -> Groups<'_> {
        self.cut(index, self.bound(number), docs, number, &self.around_sort[0])
    }

    /// Cuts documents that match with a typo by how many they need, and by what postings tell of their keys.
    fn misspelt_groups(&self, index: usize, docs: &DocSet, number: u16) -> Groups<'_> {
        let with_typos = |typos| self.bound(number) + self.layout.slice(GraphRule::Typo).map_or(0, |s| s.put(typos));
        if self.is_scanned_whole(docs) {
            return Groups::whole(vec![(with_typos(1), docs.clone())]);
        }
        let level = &self.levels[usize::from(number)].level;
        let (query, layout) = (&self.segments[index].query, &self.around_sort[0]);
        let by_typos = (0..).zip(query.docs_by_typos(level, docs)).filter(|(_, docs)| !docs.is_empty());
        let groups = by_typos.map(|(typos, docs)| (with_typos(typos), docs)).collect();
        let groups = cut_by_neighbours(query, level, groups, layout, Match::Misspelt);
        cut_by_costs(query, level, groups, layout, &self.exact_known, Match::Misspelt, self.cutting())
    }

    /// Whether a group of one segment is so small that it is scanned without being cut.
    fn is_scanned_whole(&self, docs: &DocSet) -> bool {
        docs.len() <= self.search.thresholds.scanned_whole_max / self.segments.len().clamp(1, SEGMENTS_MAX) as u32
    }

    /// Large groups are listed in pieces where there is no order: the documents that lead one are looked for in whole groups.
    fn cutting(&self) -> Cutting {
        Cutting {
            in_pieces: !self.order.parts.iter().any(|part| matches!(part, Part::Sort(_))),
            postings_per_job: self.search.thresholds.postings_per_job,
        }
    }

    /// Cuts documents that lead the first sort by the rules behind it: many may have the same value. `bound`: the smallest
    /// key of their group.
    pub(super) fn leading_groups(&self, index: usize, bound: Key, docs: &DocSet, number: u16) -> Groups<'_> {
        self.cut(index, bound, docs, number, &self.around_sort[1])
    }

    /// `bound`: the smallest key of any of the documents, without the costs of `layout`.
    fn cut<'s>(&'s self, index: usize, bound: Key, docs: &DocSet, number: u16, layout: &'s KeyLayout) -> Groups<'s> {
        if self.is_scanned_whole(docs) {
            return Groups::whole(vec![(bound, docs.clone())]);
        }
        let query = &self.segments[index].query;
        let level = &self.levels[usize::from(number)].level;
        let groups = match layout.slice(GraphRule::ExactWords) {
            // Whether a word is there exactly is looked up in attributes that are not searched, too.
            Some(words) if query.completes(level) && !query.options().is_restricted() => {
                let exact = query.exact_docs(level, docs);
                let rest = docs.and_not(&exact);
                // Words that no document holds have no part in how an attribute begins: without them, or with them alone, one
                // that lacks an exact word begins none.
                let mut known = level.kept.iter().map(|&t| self.exact_known[t]);
                let is_worst = known.next().is_none_or(|first| known.all(|known| known == first));
                let attribute = layout.slice(GraphRule::ExactAttribute).filter(|_| is_worst);
                let inexact = words.put(1) + attribute.map_or(0, |s| s.put(EXACT_ATTRIBUTE_WORST));
                vec![(bound, exact), (bound + inexact, rest)]
            }
            _ => vec![(bound, docs.clone())],
        };
        let groups = cut_by_neighbours(query, level, groups, layout, Match::Exact);
        cut_by_costs(query, level, groups, layout, &self.exact_known, Match::Exact, self.cutting())
    }
}

/// The largest cost of a path.
fn max_proximity(path: &[&Node]) -> u32 {
    let joined: u32 = path.iter().map(|node| node.len as u32 - 1).sum();
    let is_adjacent = |pair: &&[&Node]| pair[0].last_position + 1 == pair[1].first_position;
    joined + path.windows(2).filter(is_adjacent).count() as u32 * PROXIMITY_COST_MAX
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
        let Some(ranked) = self.levels.get(usize::from(entry.level)) else { return vec![ScoreDetail::Skipped] };
        let search = self.search;
        let graph = search.graph;
        let input = &self.segments[segment];
        let mut paths = PathFinder::new(graph, search.options, &ranked.level, &self.layout, &self.exact_known);
        let mut scanner = DocumentScanner::new(&self.matchers[segment], search.options);
        let key = paths.evaluate(scanner.scan(&input.query.reader().tokens().doc(entry.doc))).unwrap_or(entry.key);
        let cost = |rule| self.layout.slice(rule).map_or(0, |s| s.get(key));
        let path: Vec<_> = paths.path().iter().map(|&v| &graph.nodes[node_of(v)]).collect();
        let words: u32 = path.iter().map(|n| n.len as u32).sum();
        // Documents that need words joined are among those with as many typos, where these were counted before: what others
        // can cost is no measure for them.
        let is_apart = search.plan.tells_typos_before(Told::Proximity) && path.iter().any(|node| node.is_ngram());
        let proximity_max = if is_apart { max_proximity(&path) } else { ranked.max_proximity };
        let rank_max = words * u32::from(search.options.max_weight);
        let rank = Rank::from_cost(cost(GraphRule::AttributeRank), rank_max);
        let position = Rank::from_cost(cost(GraphRule::WordPosition), words * POSITION_COST_MAX);
        search
            .plan
            .told
            .iter()
            .map(|told| match told {
                Told::Words => {
                    let max = graph.word_count();
                    ScoreDetail::Words { matching: max - ranked.level.missing_words, max }
                }
                Told::Typo => ScoreDetail::Typo { count: cost(GraphRule::Typo), max: ranked.max_typos },
                Told::Proximity => ScoreDetail::Proximity(Rank::from_cost(cost(GraphRule::Proximity), proximity_max)),
                Told::AttributeRank => ScoreDetail::AttributeRank(rank),
                Told::WordPosition => ScoreDetail::WordPosition(position),
                Told::Attribute => ScoreDetail::Attribute { rank, position },
                Told::Exactness => ScoreDetail::Exactness(Exactness {
                    kind: match cost(GraphRule::ExactAttribute) {
                        0 => ExactMatch::Exact,
                        1 => ExactMatch::Starts,
                        _ => ExactMatch::None,
                    },
                    matching_words: words - cost(GraphRule::ExactWords),
                    max_matching_words: words,
                }),
                Told::Sort(index) => ScoreDetail::of_sort(&input.sort, *index, entry.doc),
            })
            .collect()
    }
}
