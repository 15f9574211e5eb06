//! What each rule says of a hit.

use crate::query::graph::Node;
use crate::query::level::Level;
use crate::query::vertex::node_of;
use crate::rank::context::Context;
use crate::rank::document_scanner::DocumentScanner;
use crate::rank::path::{POSITION_COST_MAX, PROXIMITY_COST_MAX, PathFinder};
use crate::rank::plan::PlannedRule;
use crate::rank::rules::GraphRule;
use crate::rank::score::{ExactMatch, Exactness, Rank, ScoreDetail};
use crate::rank::top_k::Entry;

/// A level together with what its details are computed from.
#[derive(Debug)]
pub(super) struct RankedLevel {
    pub(super) level: Level,
    pub(super) max_typos: u32,
    /// Maximum proximity cost of documents in which no words are joined.
    pub(super) max_proximity: u32,
    /// Number of documents that match it and no earlier one.
    pub(super) documents: u32,
    /// Number of these that need no typo; `None` if the search did not need it.
    pub(super) without_typo: Option<u32>,
    /// Number of these that reached the rules for which documents are read.
    pub(super) compared: u32,
}

/// The largest cost of a path.
pub(super) fn max_proximity(path: &[&Node]) -> u32 {
    let joined: u32 = path.iter().map(|node| node.len as u32 - 1).sum();
    let is_adjacent = |pair: &&[&Node]| pair[0].last_position + 1 == pair[1].first_position;
    joined + path.windows(2).filter(is_adjacent).count() as u32 * PROXIMITY_COST_MAX
}

/// One entry a rule, in the order of the rules. `ranked`: the level of the entry. Cost: one more scan of the document.
pub(super) fn details(context: &Context<'_>, ranked: &RankedLevel, segment: usize, entry: &Entry) -> Vec<ScoreDetail> {
    let search = context.search;
    let graph = search.graph;
    let input = &context.segments[segment];
    let mut paths = PathFinder::new(graph, search.options, &ranked.level, &context.layout, &context.exact_known);
    let mut scanner = DocumentScanner::new(&context.matchers[segment], search.options);
    let key = paths.evaluate(scanner.scan(&input.query.reader().tokens().doc(entry.doc))).unwrap_or(entry.key);
    let cost = |rule| context.layout.slice(rule).map_or(0, |s| s.get(key));
    let path: Vec<_> = paths.path().iter().map(|&v| &graph.nodes[node_of(v)]).collect();
    let words: u32 = path.iter().map(|n| n.len as u32).sum();
    // Documents that need words joined are among those with as many typos, where these were counted before: what others
    // can cost is no measure for them.
    let is_apart = search.plan.has_typo_before(PlannedRule::Proximity) && path.iter().any(|node| node.is_ngram());
    let proximity_max = if is_apart { max_proximity(&path) } else { ranked.max_proximity };
    let rank_max = words * u32::from(search.options.max_weight);
    let rank = Rank::from_cost(cost(GraphRule::AttributeRank), rank_max);
    let position = Rank::from_cost(cost(GraphRule::WordPosition), words * POSITION_COST_MAX);
    let detail = |rule: &PlannedRule| match rule {
        PlannedRule::Words => {
            let max = graph.word_count();
            ScoreDetail::Words { matching: max - ranked.level.missing_words, max }
        }
        PlannedRule::Typo => ScoreDetail::Typo {
            count: cost(GraphRule::Typo),
            max: ranked.max_typos,
            forms: context.layout.slice(GraphRule::Forms).map(|_| Rank::from_cost(cost(GraphRule::Forms), words)),
        },
        PlannedRule::Proximity => ScoreDetail::Proximity(Rank::from_cost(cost(GraphRule::Proximity), proximity_max)),
        PlannedRule::AttributeRank => ScoreDetail::AttributeRank(rank),
        PlannedRule::WordPosition => ScoreDetail::WordPosition(position),
        PlannedRule::Attribute => ScoreDetail::Attribute { rank, position },
        PlannedRule::Exactness => ScoreDetail::Exactness(Exactness {
            kind: match cost(GraphRule::ExactAttribute) {
                0 => ExactMatch::Exact,
                1 => ExactMatch::Starts,
                _ => ExactMatch::None,
            },
            matching_words: words - cost(GraphRule::ExactWords),
            max_matching_words: words,
        }),
        PlannedRule::Sort(index) => ScoreDetail::of_sort(&input.sort, *index, entry.doc),
    };
    search.plan.rules.iter().map(detail).collect()
}
