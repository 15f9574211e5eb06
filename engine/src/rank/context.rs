//! What a search by words is made of. All of it is known before the first document is ranked, and stays as it is.

use std::time::Instant;

use lamina_segment::bits::DocSet;
use rayon::prelude::*;

use crate::boost::SharedBoosts;
use crate::query::MatchingStrategy;
use crate::query::SegmentQuery;
use crate::query::graph::QueryGraph;
use crate::query::level::Level;
use crate::query::options::QueryOptions;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::matcher::Matcher;
use crate::rank::path::{POSITION_COST_MAX, PROXIMITY_COST_MAX};
use crate::rank::plan::Plan;
use crate::rank::rules::{EXACT_ATTRIBUTE_WORST, GraphRule};
use crate::rank::thresholds::SearchThresholds;
use crate::rank::top_k::KeyPart;
use crate::sort::SegmentSort;

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
    /// Boosts of its documents.
    pub(crate) boosts: SharedBoosts<'a>,
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

/// A search over its segments, and what follows from both.
pub(super) struct Context<'a> {
    pub(super) search: &'a KeywordSearch<'a>,
    pub(super) segments: &'a [SegmentInput<'a>],
    /// The matcher of each segment.
    pub(super) matchers: Vec<Matcher>,
    pub(super) layout: KeyLayout,
    /// Layouts of the keys of the rules before the first sort, and of those after it.
    pub(super) around_sort: [KeyLayout; 2],
    /// Parts by which documents are compared.
    pub(super) parts: Vec<KeyPart>,
    /// Per term: whether a document of any segment holds its exact word (or the words of its phrase are known).
    pub(super) exact_known: Vec<bool>,
}

impl<'a> Context<'a> {
    pub(super) fn new(search: &'a KeywordSearch<'a>, segments: &'a [SegmentInput<'a>]) -> Context<'a> {
        let layout = layout(search);
        let parts = search.plan.parts(&layout);
        let before_sort = match parts.as_slice() {
            // Without a sort every rule comes before it.
            [KeyPart::Graph(mask)] | [KeyPart::Graph(mask), KeyPart::Sort(_), ..] => *mask,
            _ => 0,
        };
        Context {
            search,
            segments,
            matchers: segments.iter().map(|s| Matcher::of(&s.query)).collect(),
            around_sort: [layout.within(before_sort), layout.within(!before_sort)],
            layout,
            parts,
            exact_known: exact_known(search.graph, segments),
        }
    }

    /// `f` of each segment, in parallel where there are so many documents that bitmaps take longer than waking threads.
    pub(super) fn per_segment<T: Send>(&self, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        let documents: u64 = self.segments.iter().map(|s| u64::from(s.query.reader().doc_count())).sum();
        let segments = 0..self.segments.len();
        if documents < PARALLEL_FROM { segments.map(f).collect() } else { segments.into_par_iter().map(f).collect() }
    }

    /// The smallest key of a document of a level.
    pub(super) fn bound(&self, level: &Level) -> Key {
        self.layout.slice(GraphRule::Words).map_or(0, |s| s.put(level.missing_words))
    }

    /// Reports whether documents are also ordered by sorts.
    pub(super) fn has_sorts(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, KeyPart::Sort(_)))
    }

    /// Reports whether a group of one segment is so small that it is scanned without being cut.
    pub(super) fn is_scanned_whole(&self, docs: &DocSet) -> bool {
        docs.len() <= self.scanned_whole_max()
    }

    /// Returns the number of documents of one segment that are scanned without being cut.
    pub(super) fn scanned_whole_max(&self) -> u32 {
        self.search.thresholds.scanned_whole_max / self.segments.len().clamp(1, SEGMENTS_MAX) as u32
    }
}

/// A level of a search in one of its segments.
#[derive(Clone, Copy)]
pub(super) struct SegmentLevel<'a> {
    pub(super) context: &'a Context<'a>,
    /// Index of the segment.
    pub(super) index: usize,
    pub(super) level: &'a Level,
}

impl<'a> SegmentLevel<'a> {
    pub(super) fn segment(&self) -> &'a SegmentInput<'a> {
        &self.context.segments[self.index]
    }

    pub(super) fn query(&self) -> &'a SegmentQuery<'a> {
        &self.segment().query
    }
}

fn layout(search: &KeywordSearch<'_>) -> KeyLayout {
    let graph = search.graph;
    let terms = graph.terms.len() as u32;
    let rules: Vec<_> = search
        .plan
        .graph_rules()
        .into_iter()
        .filter(|&rule| rule != GraphRule::Forms || search.options.forms.as_words)
        .map(|rule| {
            let max = match rule {
                GraphRule::Words => graph.word_count(),
                GraphRule::Typo => terms * 5,
                GraphRule::Forms => terms,
                GraphRule::Proximity => terms * (PROXIMITY_COST_MAX + 2),
                GraphRule::AttributeRank => terms * u32::from(search.options.max_weight),
                GraphRule::WordPosition => terms * POSITION_COST_MAX,
                GraphRule::ExactAttribute => EXACT_ATTRIBUTE_WORST,
                GraphRule::ExactWords => terms,
            };
            (rule, max)
        })
        .collect();
    KeyLayout::new(&rules)
}

/// See [`Context::exact_known`].
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
