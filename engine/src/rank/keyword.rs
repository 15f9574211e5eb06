//! Ranks the documents that match a query: buckets decided by bitmaps, the rest by one scan of the token column.
//!
//! Levels of the `words` rule come best first, and within a level the documents without typo. A group is scanned in
//! document order into a bounded top-k; as soon as no remaining document can enter, the scan ends. Groups that can
//! not change the answer any more are not scanned, only counted.

use std::cmp::Ordering;
use std::time::Instant;

use rayon::prelude::*;

use crate::bits::DocSet;
use crate::id::{DocId, FieldId, InternalId, TermOrdinal};
use crate::query::MatchingStrategy;
use crate::query::SegmentQuery;
use crate::query::graph::QueryGraph;
use crate::query::options::QueryOptions;
use crate::rank::bounds::cut_by_costs;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::level::{Level, kept_terms};
use crate::rank::matcher::{Matcher, Occurrences};
use crate::rank::path::{POSITION_COST_MAX, PROXIMITY_COST_MAX, PathFinder};
use crate::rank::plan::{Plan, Told};
use crate::rank::rules::GraphRule;
use crate::rank::score::{ExactMatch, Rank, ScoreDetail};
use crate::rank::top_k::{Entry, Part, TopK};
use crate::rank::vertex::node_of;
use crate::segment::SegmentReader;
use crate::sort::SegmentSort;

/// Documents scanned between two looks at the clock.
const DOCS_PER_CLOCK_CHECK: u32 = 256;
/// Cost of the first step of `exactness` when no attribute starts with the query.
const EXACT_ATTRIBUTE_WORST: u32 = 2;
/// Positions below this are not rounded by `wordPosition`.
const EXACT_POSITIONS: u16 = 16;
/// Groups of at most this many documents are scanned without a look at the postings.
const SCANNED_WHOLE_MAX: u32 = 1024;
/// Level of documents that complete a degraded answer, unsorted.
const UNSORTED: u16 = u16::MAX;

/// Larger groups are scanned on two threads.
const SCANNED_ALONE_MAX: u32 = 8192;
/// Documents of a large group that are scanned before it is shared out.
const SCANNED_FIRST: usize = 1024;

/// Documents of one segment and level whose keys are at least `bound`.
#[derive(Clone, Copy)]
struct Group {
    index: usize,
    number: u16,
    bound: Key,
    /// Every word of the level is in them without typo.
    without_typo: bool,
}

/// How a scan ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scan {
    Complete,
    /// No remaining document can enter the top-k.
    NothingBetter,
    TimeIsUp,
}

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
}

/// A level together with what its details are computed from.
#[derive(Debug)]
struct RankedLevel {
    level: Level,
    max_typos: u32,
}

/// The ranked documents of all segments and what is needed to explain them.
pub(crate) struct Ranked<'a> {
    search: &'a KeywordSearch<'a>,
    segments: &'a [SegmentInput<'a>],
    matchers: Vec<Matcher>,
    layout: KeyLayout,
    parts: Vec<Part>,
    levels: Vec<RankedLevel>,
    exact_known: Vec<bool>,
    /// Per segment: its best entries, unordered.
    pub(crate) entries: Vec<Vec<Entry>>,
    /// Per segment: all matching documents.
    pub(crate) matching: Vec<DocSet>,
    pub(crate) degraded: bool,
}

/// Ranks. Cost: bitmap operations per level and segment, plus one token-column scan per document that could be a hit.
pub(crate) fn rank<'a>(search: &'a KeywordSearch<'a>, segments: &'a [SegmentInput<'a>]) -> Ranked<'a> {
    let graph = search.graph;
    let layout = layout(search);
    let parts = search.plan.parts(&layout);
    let exact_known = exact_known(graph, segments);
    let frequencies = match search.strategy {
        MatchingStrategy::Frequency => frequencies(graph, segments),
        _ => Vec::new(),
    };
    let mut ranked = Ranked {
        search,
        segments,
        matchers: segments.iter().map(|s| s.query.matcher()).collect(),
        layout,
        parts: parts.clone(),
        levels: Vec::new(),
        exact_known,
        entries: Vec::new(),
        matching: segments.iter().map(|_| DocSet::empty()).collect(),
        degraded: false,
    };
    let mut tops: Vec<TopK> = segments.iter().map(|_| TopK::new(search.wanted, parts.clone())).collect();
    for kept in kept_terms(graph, search.strategy, &frequencies) {
        let complete = search.plan.words_first() && collected(&tops) >= search.wanted;
        ranked.level(kept, complete, &mut tops);
    }
    ranked.entries = tops.into_iter().map(TopK::into_entries).collect();
    if ranked.degraded {
        ranked.complete_unsorted();
    }
    ranked
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
    fn level(&mut self, kept: Vec<usize>, complete: bool, tops: &mut [TopK]) {
        let search = self.search;
        let graph = search.graph;
        let usable = |node: usize| self.segments.iter().any(|s| !s.query.is_empty(node));
        let level = Level::new(graph, kept, usable);
        let groups: Vec<DocSet> = self
            .segments
            .par_iter()
            .zip(&mut self.matching)
            .map(|(segment, matching)| {
                let remaining = segment.universe.and_not(matching);
                let docs = segment.query.level_docs(&level, &remaining, false);
                matching.or_assign(&docs);
                docs
            })
            .collect();
        let (level, max_typos) = self.needed_readings(level, &groups);
        let number = self.levels.len() as u16;
        self.levels.push(RankedLevel { level, max_typos });
        if complete || self.degraded || groups.iter().all(DocSet::is_empty) {
            return;
        }
        if !search.plan.typo_first() {
            let bound = self.bound(number);
            self.degraded = self.scan_all(tops, number, false, |index| vec![(bound, groups[index].clone())]);
            return;
        }
        let exact: Vec<DocSet> = self
            .segments
            .par_iter()
            .zip(&groups)
            .map(|(s, docs)| s.query.level_docs(&self.levels[usize::from(number)].level, docs, true))
            .collect();
        self.degraded = self.scan_all(tops, number, true, |index| self.groups(index, &exact[index], number));
        if !self.degraded && collected(tops) < search.wanted {
            let bound = self.bound(number) + self.layout.slice(GraphRule::Typo).map_or(0, |s| s.put(1));
            self.degraded =
                self.scan_all(tops, number, false, |index| vec![(bound, groups[index].and_not(&exact[index]))]);
        }
    }

    /// Scans groups of documents of every segment, in parallel over segments, and tells whether the time ran out.
    /// Groups come best first, each with the smallest key of its documents.
    fn scan_all(
        &self,
        tops: &mut [TopK],
        number: u16,
        without_typo: bool,
        groups: impl Fn(usize) -> Vec<(Key, DocSet)> + Sync,
    ) -> bool {
        tops.par_iter_mut()
            .enumerate()
            .map(|(index, top)| {
                let scan = |(bound, docs)| self.scan(Group { index, number, bound, without_typo }, &docs, top);
                groups(index).into_iter().any(scan)
            })
            .reduce(|| false, |a, b| a || b)
    }

    /// Keeps the concatenations without which some document of the level would not match, and tells the largest typo
    /// cost of the readings that remain.
    fn needed_readings(&self, level: Level, groups: &[DocSet]) -> (Level, u32) {
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
            let max = every.tilings(graph).iter().map(|t| typos(t)).max().unwrap_or(0);
            return (level, max);
        }
        let mut left: Vec<DocSet> = groups.to_vec();
        let mut needed = hashbrown::HashSet::new();
        let mut max_typos = 0;
        for tiling in level.tilings(graph) {
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
    /// have, best first.
    fn groups(&self, index: usize, docs: &DocSet, number: u16) -> Vec<(Key, DocSet)> {
        let bound = self.bound(number);
        if docs.len() <= SCANNED_WHOLE_MAX {
            return vec![(bound, docs.clone())];
        }
        let query = &self.segments[index].query;
        let level = &self.levels[usize::from(number)].level;
        let groups = match self.layout.slice(GraphRule::ExactWords) {
            Some(words) if query.completes(level) => {
                let exact = query.exact_docs(level, docs);
                let rest = docs.and_not(&exact);
                let known = level.kept.iter().all(|&t| self.exact_known[t]);
                let attribute = self.layout.slice(GraphRule::ExactAttribute).filter(|_| known);
                let inexact = words.put(1) + attribute.map_or(0, |s| s.put(EXACT_ATTRIBUTE_WORST));
                vec![(bound, exact), (bound + inexact, rest)]
            }
            _ => vec![(bound, docs.clone())],
        };
        let mut groups = cut_by_costs(query, level, groups, &self.layout);
        self.mark_displaced(level, &mut groups);
        groups
    }

    /// An attribute that is, or starts with, the query has every exact word in its place: where all words are exact, a
    /// document with a word that is not in its place costs the most in the first step of `exactness`.
    fn mark_displaced(&self, level: &Level, groups: &mut [(Key, DocSet)]) {
        let slices = (self.layout.slice(GraphRule::WordPosition), self.layout.slice(GraphRule::ExactAttribute));
        let (Some(position), Some(attribute)) = slices else { return };
        // Positions are known exactly up to here.
        let close = |&t: &usize| self.search.graph.terms[t].last_position < EXACT_POSITIONS;
        if !level.kept.iter().all(|t| close(t) && self.exact_known[*t]) {
            return;
        }
        for (bound, _) in groups {
            if position.get(*bound) > 0 && attribute.get(*bound) == 0 {
                *bound += attribute.put(EXACT_ATTRIBUTE_WORST);
            }
        }
    }

    /// Offers documents to the top-k; `true` when the time ran out. Large groups are scanned on two threads, once
    /// their first documents have raised the bar.
    fn scan(&self, group: Group, docs: &DocSet, top: &mut TopK) -> bool {
        let Some(first) = docs.first() else { return false };
        if !top.admits_any(group.bound, first) {
            return false;
        }
        // Where nothing but values orders documents, only those that lead the first order need a look.
        let segment = &self.segments[group.index];
        let doc_count = segment.query.reader().doc_count();
        let leading = self.sorts_only().then(|| segment.sort.leading(docs, doc_count, self.search.wanted)).flatten();
        let docs = leading.as_ref().unwrap_or(docs);
        if docs.len() < SCANNED_ALONE_MAX {
            return self.scan_docs(group, docs.iter(), top) == Scan::TimeIsUp;
        }
        let mut docs = docs.iter();
        match self.scan_docs(group, docs.by_ref().take(SCANNED_FIRST), top) {
            Scan::TimeIsUp => return true,
            Scan::NothingBetter => return false,
            Scan::Complete => {}
        }
        let rest: Vec<DocId> = docs.collect();
        let (left, right) = rest.split_at(rest.len() / 2);
        let mut other = top.fork();
        let (a, b) = rayon::join(
            || self.scan_docs(group, left.iter().copied(), top),
            || self.scan_docs(group, right.iter().copied(), &mut other),
        );
        top.absorb(other);
        a == Scan::TimeIsUp || b == Scan::TimeIsUp
    }

    fn sorts_only(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|p| matches!(p, Part::Sort(_)))
    }

    fn scan_docs(&self, group: Group, docs: impl Iterator<Item = DocId>, top: &mut TopK) -> Scan {
        let search = self.search;
        let segment = &self.segments[group.index];
        let level = &self.levels[usize::from(group.number)].level;
        let sorted = self.parts.iter().any(|p| matches!(p, Part::Sort(_)));
        let graph_rules = self.parts.iter().any(|p| matches!(p, Part::Graph(_)));
        let mut paths = PathFinder::new(search.graph, search.options, level, &self.layout, &self.exact_known);
        let mut scanner = Scanner::new(segment.query.reader(), &self.matchers[group.index], search.options);
        let mut sorts = Vec::new();
        let short_of_exact = self
            .layout
            .slice(GraphRule::ExactAttribute)
            .filter(|slice| slice.get(group.bound) == 0)
            .map(|slice| (group.bound + slice.put(1), ExactFields::new(&segment.query, level, group.without_typo)));
        let short_of_adjacent = self
            .layout
            .slice(GraphRule::Proximity)
            .filter(|_| group.without_typo)
            .and_then(|slice| Some((group.bound + slice.put(1), Adjacent::new(&segment.query, level)?)));
        for (scanned, doc) in (0_u32..).zip(docs) {
            if scanned % DOCS_PER_CLOCK_CHECK == 0 && search.deadline.is_some_and(|d| Instant::now() >= d) {
                return Scan::TimeIsUp;
            }
            if sorted {
                segment.sort.keys(doc, &mut sorts);
            }
            if !top.admits(group.bound, &sorts, doc) {
                if sorted {
                    continue;
                }
                return Scan::NothingBetter;
            }
            // When only an exact attribute could still win, its length tells without reading the words.
            if let Some((bound, fields)) = &short_of_exact
                && !top.admits(*bound, &sorts, doc)
                && !fields.possible(doc)
            {
                continue;
            }
            let key = if graph_rules {
                scanner.read(doc);
                // When only words next to each other could still win, that is seen at once.
                if let Some((bound, adjacent)) = &short_of_adjacent
                    && !top.admits(*bound, &sorts, doc)
                    && !adjacent.possible(&scanner.tokens)
                {
                    continue;
                }
                let Some(key) = paths.evaluate(scanner.find()) else { continue };
                if !top.admits(key, &sorts, doc) {
                    continue;
                }
                key
            } else {
                group.bound
            };
            top.push(Entry { key, sorts: sorts.clone(), level: group.number, doc });
        }
        Scan::Complete
    }

    /// After the time budget: adds matching documents in document order until the answer is full.
    fn complete_unsorted(&mut self) {
        for (entries, matching) in self.entries.iter_mut().zip(&self.matching) {
            let known: hashbrown::HashSet<DocId> = entries.iter().map(|e| e.doc).collect();
            let missing = self.search.wanted.saturating_sub(known.len());
            let unsorted = matching.iter().filter(|d| !known.contains(d)).take(missing);
            entries.extend(unsorted.map(|doc| Entry { key: Key::MAX, sorts: Vec::new(), level: UNSORTED, doc }));
        }
    }

    /// Compares entries of any two segments, best first.
    pub(crate) fn compare(&self, a: (usize, &Entry), b: (usize, &Entry)) -> Ordering {
        let unsorted = |e: &Entry| e.level == UNSORTED;
        if unsorted(a.1) || unsorted(b.1) {
            return unsorted(a.1).cmp(&unsorted(b.1)).then_with(|| self.insertion(a).cmp(&self.insertion(b)));
        }
        for part in &self.parts {
            let ordering = match *part {
                Part::Graph(mask) => (a.1.key & mask).cmp(&(b.1.key & mask)),
                Part::Sort(i) if a.0 == b.0 => a.1.sorts[i].cmp(&b.1.sorts[i]),
                Part::Sort(i) => {
                    let (x, y) = (&self.segments[a.0].sort, &self.segments[b.0].sort);
                    x.compare_across(i, a.1.doc, y, b.1.doc)
                }
            };
            if ordering.is_ne() {
                return ordering;
            }
        }
        self.insertion(a).cmp(&self.insertion(b))
    }

    fn insertion(&self, entry: (usize, &Entry)) -> InternalId {
        self.segments[entry.0].query.reader().internal_id(entry.1.doc)
    }

    /// What each rule says of a ranked document. Cost: one more scan of the document.
    pub(crate) fn details(&self, segment: usize, entry: &Entry) -> Vec<ScoreDetail> {
        let Some(ranked) = self.levels.get(usize::from(entry.level)) else { return vec![ScoreDetail::Skipped] };
        let search = self.search;
        let graph = search.graph;
        let input = &self.segments[segment];
        let mut paths = PathFinder::new(graph, search.options, &ranked.level, &self.layout, &self.exact_known);
        let mut scanner = Scanner::new(input.query.reader(), &self.matchers[segment], search.options);
        let key = paths.evaluate(scanner.scan(entry.doc)).unwrap_or(entry.key);
        let cost = |rule| self.layout.slice(rule).map_or(0, |s| s.get(key));
        let path: Vec<_> = paths.path().iter().map(|&v| &graph.nodes[node_of(v)]).collect();
        let words: u32 = path.iter().map(|n| n.len as u32).sum();
        let proximity_max = path.first().map_or(0, |n| n.len as u32 - 1)
            + path
                .windows(2)
                .map(|pair| {
                    let adjacent = u32::from(pair[0].last_position) + 1 == u32::from(pair[1].first_position);
                    (pair[1].len as u32 - 1) + if adjacent { PROXIMITY_COST_MAX } else { 0 }
                })
                .sum::<u32>();
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
                Told::Exactness => ScoreDetail::Exactness(match cost(GraphRule::ExactAttribute) {
                    0 => ExactMatch::Exact,
                    1 => ExactMatch::Starts,
                    _ => ExactMatch::None {
                        matching_words: words - cost(GraphRule::ExactWords),
                        max_matching_words: words,
                    },
                }),
                Told::Sort(index) => ScoreDetail::of_sort(&input.sort, *index, entry.doc),
            })
            .collect()
    }
}

/// Tells from the lengths of the fields whether a document can have an attribute that is exactly the query.
struct ExactFields<'a> {
    reader: &'a SegmentReader,
    /// Tokens of such a field: its words, and at most one gap between two.
    lengths: std::ops::RangeInclusive<usize>,
    /// By field: whether any document has the rarest of the words there; `None` when that is not known.
    fields: Option<Vec<bool>>,
}

impl<'a> ExactFields<'a> {
    /// `without_typo`: every document holds every word without typo.
    fn new(query: &SegmentQuery<'a>, level: &Level, without_typo: bool) -> ExactFields<'a> {
        let positions = level.positions(query.graph());
        let postings = query.reader().postings();
        // All words are in the field then; the rarest one is in the fewest fields. Misspelt ones need not be there.
        let words = level.starting.iter().map(|nodes| {
            let e = &query.expansions()[*nodes.first()?];
            match &e.phrase {
                Some(words) => words.iter().flatten().copied().min_by_key(|&word| postings.doc_freq(word)),
                None => e.exact,
            }
        });
        let words: Option<Vec<TermOrdinal>> = words.collect();
        let rarest =
            words.filter(|_| without_typo).and_then(|w| w.into_iter().min_by_key(|&word| postings.doc_freq(word)));
        let fields = rarest.map(|word| {
            let sets = postings.field_sets();
            let mut seen = vec![false; sets.len()];
            postings.for_each(word, |_, code| {
                if let Some(seen) = seen.get_mut(code as usize) {
                    *seen = true;
                }
            });
            let held = |field| (0..).zip(&seen).any(|(code, &seen)| seen && sets.fields(code).contains(&field));
            (0..query.options().weights.len() as u32).map(|field| held(field as FieldId)).collect()
        });
        ExactFields { reader: query.reader(), lengths: *positions.start()..=2 * positions.end() - 1, fields }
    }

    fn possible(&self, doc: DocId) -> bool {
        self.reader.tokens().doc(doc).fields().any(|(field, run)| {
            self.lengths.contains(&run.len())
                && self.fields.as_ref().is_none_or(|fields| fields.get(usize::from(field)).copied().unwrap_or(true))
        })
    }
}

/// Tells from the tokens whether all words of a level can be next to each other without typo.
struct Adjacent {
    /// Terms, as start and length, that must come one after the other somewhere.
    pairs: Vec<[(TermOrdinal, u32); 2]>,
}

impl Adjacent {
    /// `None` when nothing has to be next to anything, or when more than single words may match.
    fn new(query: &SegmentQuery<'_>, level: &Level) -> Option<Adjacent> {
        if query.options().proximity_by_attribute {
            return None;
        }
        let nodes: Vec<usize> = level.starting.iter().filter_map(|s| s.first().copied()).collect();
        let terms = |node: usize| {
            let e = &query.expansions()[node];
            if !e.synonyms.is_empty() || e.phrase.is_some() {
                return None;
            }
            Some(match e.exact {
                _ if !e.prefix.is_empty() => (e.prefix.start, e.prefix.len() as u32),
                Some(exact) => (exact, 1),
                None => (0, 0),
            })
        };
        let graph = query.graph();
        let pairs: Vec<_> = nodes
            .windows(2)
            .filter(|pair| {
                let (left, right) = (&graph.nodes[pair[0]], &graph.nodes[pair[1]]);
                u32::from(left.last_position) + 1 == u32::from(right.first_position)
            })
            .filter_map(|pair| Some([terms(pair[0])?, terms(pair[1])?]))
            .collect();
        (!pairs.is_empty()).then_some(Adjacent { pairs })
    }

    /// Without a branch per token, so that many tokens are compared at once. Says yes too often where fields meet.
    fn possible(&self, tokens: &[TermOrdinal]) -> bool {
        let next = tokens.get(1..).unwrap_or_default();
        self.pairs.iter().all(|&[(left, left_len), (right, right_len)]| {
            let hit = |a: u32, b: u32| (a.wrapping_sub(left) < left_len) & (b.wrapping_sub(right) < right_len);
            tokens.iter().zip(next).fold(false, |found, (&a, &b)| found | hit(a, b))
        })
    }
}

/// Reads documents of one segment and finds the words of the query in them.
struct Scanner<'a> {
    reader: &'a SegmentReader,
    matcher: &'a Matcher,
    options: &'a QueryOptions,
    fields: Vec<(FieldId, u32)>,
    tokens: Vec<TermOrdinal>,
    found: Occurrences,
}

impl<'a> Scanner<'a> {
    fn new(reader: &'a SegmentReader, matcher: &'a Matcher, options: &'a QueryOptions) -> Scanner<'a> {
        Scanner { reader, matcher, options, fields: Vec::new(), tokens: Vec::new(), found: Occurrences::default() }
    }

    fn scan(&mut self, doc: DocId) -> &Occurrences {
        self.read(doc);
        self.find()
    }

    /// Reads the tokens of a document.
    fn read(&mut self, doc: DocId) {
        self.reader.tokens().doc(doc).decode(&mut self.fields, &mut self.tokens);
    }

    /// Finds the words of the query in the document that was read.
    fn find(&mut self) -> &Occurrences {
        let (matcher, found) = (self.matcher, &mut self.found);
        matcher.begin(found);
        let mut start = 0;
        for &(field, end) in &self.fields {
            let run = &self.tokens[start..end as usize];
            start = end as usize;
            if self.options.is_searchable(field) {
                matcher.field(field, run, self.options.typos_reach(field), found);
            }
        }
        matcher.finish(found);
        &self.found
    }
}
