//! Levels of the `words` rule: which terms are kept, and how they may be read.

use crate::query::MatchingStrategy;
use crate::query::graph::QueryGraph;

/// Terms that a document must match, and the nodes that may cover them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// Terms, ascending.
    pub(crate) kept: Vec<usize>,
    /// Per kept term: nodes that start there.
    pub(crate) starting: Vec<Vec<usize>>,
    /// Words of the query that are not kept.
    pub(crate) missing_words: u32,
}

impl Level {
    /// Nodes that cover consecutive kept terms only; `usable` filters them.
    pub(crate) fn new(graph: &QueryGraph, kept: Vec<usize>, usable: impl Fn(usize) -> bool) -> Level {
        let starting = kept
            .iter()
            .enumerate()
            .map(|(at, &first)| {
                graph
                    .nodes
                    .iter()
                    .enumerate()
                    .filter(|(index, n)| {
                        n.first == first
                            && (1..n.len).all(|i| kept.get(at + i) == Some(&(first + i)))
                            && (n.len == 1 || usable(*index))
                    })
                    .map(|(index, _)| index)
                    .collect()
            })
            .collect();
        let kept_words: u32 = kept.iter().map(|&t| graph.terms[t].word_count()).sum();
        Level { kept, starting, missing_words: graph.word_count() - kept_words }
    }

    /// Words an attribute has that is exactly the kept terms: from one, when other terms are not in the index at all,
    /// to all of their positions.
    pub(crate) fn positions(&self, graph: &QueryGraph) -> std::ops::RangeInclusive<usize> {
        let all = self.kept.iter().map(|&t| {
            let term = &graph.terms[t];
            usize::from(term.last_position - term.first_position) + 1
        });
        1..=all.sum()
    }

    /// Ways to cover the kept terms, as node lists, single words first, and whether these are all.
    pub(crate) fn tilings(&self, graph: &QueryGraph) -> (Vec<Vec<usize>>, bool) {
        /// Their number doubles with each word that can be joined; answers tell when there are more.
        const TILINGS_MAX: usize = 256;
        let mut out = Vec::new();
        let mut stack = vec![(0, Vec::new())];
        while let Some((at, path)) = stack.pop() {
            if at == self.kept.len() {
                out.push(path);
                if out.len() == TILINGS_MAX {
                    return (out, stack.is_empty());
                }
                continue;
            }
            // Depth first, shorter nodes first: pushed in reverse.
            for &node in self.starting[at].iter().rev() {
                let mut next = path.clone();
                next.push(node);
                stack.push((at + graph.nodes[node].len, next));
            }
        }
        (out, true)
    }

    /// The largest sum of `cost` over the nodes of a way to cover the kept terms. Linear in the number of nodes.
    pub(crate) fn most(&self, graph: &QueryGraph, cost: impl Fn(usize) -> u32) -> u32 {
        let mut most: Vec<Option<u32>> = vec![None; self.kept.len() + 1];
        most[0] = Some(0);
        for (at, starting) in self.starting.iter().enumerate() {
            let Some(so_far) = most[at] else { continue };
            for &node in starting {
                let end = &mut most[at + graph.nodes[node].len];
                *end = (*end).max(Some(so_far + cost(node)));
            }
        }
        most.pop().flatten().unwrap_or(0)
    }
}

/// The kept terms of each level, best first. `frequencies`: documents of each term, 0 when unknown.
pub(crate) fn kept_terms(graph: &QueryGraph, strategy: MatchingStrategy, frequencies: &[u64]) -> Vec<Vec<usize>> {
    let all: Vec<usize> = (0..graph.terms.len()).collect();
    let mut droppable: Vec<usize> = all.iter().copied().filter(|&t| !graph.terms[t].is_phrase()).collect();
    let has_phrase = droppable.len() < all.len();
    // Groups in the order in which they are dropped.
    let mut groups: Vec<Vec<usize>> = match strategy {
        MatchingStrategy::All | MatchingStrategy::Any => Vec::new(),
        MatchingStrategy::Last => droppable.iter().rev().map(|&t| vec![t]).collect(),
        MatchingStrategy::Frequency => {
            let frequency = |t: usize| if frequencies[t] == 0 { u64::MAX } else { frequencies[t] };
            droppable.sort_by_key(|&t| std::cmp::Reverse(frequency(t)));
            droppable.chunk_by(|&a, &b| frequency(a) == frequency(b)).map(<[usize]>::to_vec).collect()
        }
    };
    if !has_phrase {
        groups.pop();
    }
    let mut levels = vec![all];
    for group in groups {
        let last = levels.last().expect("starts with one level");
        levels.push(last.iter().copied().filter(|t| !group.contains(t)).collect());
    }
    levels
}
