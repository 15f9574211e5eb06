//! The best path of one document through the query graph, and its cost under every graph rule.

use lamina_text::id::FieldId;

use crate::query::graph::{Node, QueryGraph};
use crate::query::level::Level;
use crate::query::options::{NOT_SEARCHED, QueryOptions};
use crate::query::vertex::{CLASSES, VertexIndex, class_of, node_of, vertex};
use crate::rank::key::{Key, KeyLayout, Slice};
use crate::rank::matcher::{NOWHERE, Occurrence, Occurrences};
use crate::rank::rules::GraphRule;

/// Cost of a pair of words that are not near each other.
pub(crate) const PROXIMITY_COST_MAX: u32 = 3;
/// Largest cost of `wordPosition` for one word.
pub(crate) const POSITION_COST_MAX: u32 = 10;

/// Positions below this are not rounded by `wordPosition`.
pub(crate) const EXACT_POSITIONS: u16 = 16;

/// Cost of the distance between a word's position in the query and in an attribute.
pub(crate) fn position_cost(distance: u32) -> u32 {
    match distance {
        0 => 0,
        1 => 1,
        2..=4 => 2,
        5..=7 => 3,
        8..=11 => 4,
        12..=16 => 5,
        17..=24 => 6,
        25..=64 => 7,
        65..=256 => 8,
        257..=1024 => 9,
        _ => POSITION_COST_MAX,
    }
}

/// Positions as the protocol knows them: exact below 16, then grouped.
pub(crate) fn bucketed_position(position: u32) -> u32 {
    match position {
        0..16 => position,
        16..24 => 24,
        _ => position.next_power_of_two(),
    }
}

#[derive(Clone, Copy, Debug)]
struct Reached {
    vertex: VertexIndex,
    cost: Key,
    /// Index of the predecessor in the list of the boundary it ends at; `usize::MAX` at the start.
    back: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Slices {
    words: Option<Slice>,
    typo: Option<Slice>,
    forms: Option<Slice>,
    proximity: Option<Slice>,
    rank: Option<Slice>,
    position: Option<Slice>,
    exact_attribute: Option<Slice>,
    exact_words: Option<Slice>,
}

/// Evaluates documents of one level; keeps its buffers from document to document.
#[derive(Debug)]
pub(crate) struct PathFinder<'q> {
    graph: &'q QueryGraph,
    options: &'q QueryOptions,
    level: &'q Level,
    slices: Slices,
    /// Terms whose exact word is in the index at all.
    exact_known: &'q [bool],
    /// True if documents are ordered by typos before `exactness`. Then a misspelt word excludes the exact one;
    /// otherwise the exact word still counts as missing.
    has_typos_apart: bool,
    /// Per boundary of the kept terms: vertices that end there and are reached.
    reached: Vec<Vec<Reached>>,
    path: Vec<VertexIndex>,
    exact_terms: Vec<(VertexIndex, u32)>,
}

fn put(slice: Option<Slice>, cost: u32) -> Key {
    slice.map_or(0, |s| s.put(cost))
}

impl<'q> PathFinder<'q> {
    pub(crate) fn new(
        graph: &'q QueryGraph,
        options: &'q QueryOptions,
        level: &'q Level,
        layout: &KeyLayout,
        exact_known: &'q [bool],
    ) -> PathFinder<'q> {
        let slices = Slices {
            words: layout.slice(GraphRule::Words),
            typo: layout.slice(GraphRule::Typo),
            forms: layout.slice(GraphRule::Forms),
            proximity: layout.slice(GraphRule::Proximity),
            rank: layout.slice(GraphRule::AttributeRank),
            position: layout.slice(GraphRule::WordPosition),
            exact_attribute: layout.slice(GraphRule::ExactAttribute),
            exact_words: layout.slice(GraphRule::ExactWords),
        };
        // Earlier rules have higher bits.
        let has_typos_apart =
            slices.typo.zip(slices.exact_attribute).is_some_and(|(typo, exact)| typo.mask() > exact.mask());
        let reached = vec![Vec::new(); level.kept.len() + 1];
        let (path, exact_terms) = (Vec::new(), Vec::new());
        PathFinder { graph, options, level, slices, exact_known, has_typos_apart, reached, path, exact_terms }
    }

    /// The key of a document, or `None` when no path of this level matches it. Afterwards [`Self::path`] is its path.
    pub(crate) fn evaluate(&mut self, found: &Occurrences) -> Option<Key> {
        for list in &mut self.reached {
            list.clear();
        }
        let boundaries = self.level.kept.len();
        for boundary in 0..boundaries {
            if boundary > 0 && self.reached[boundary].is_empty() {
                continue;
            }
            for &node_index in &self.level.starting[boundary] {
                let node = &self.graph.nodes[node_index];
                for class in 0..CLASSES {
                    let v = vertex(node_index, class);
                    let occurrences = found.of(v);
                    if !occurrences.iter().any(|o| self.is_searched(o)) {
                        continue;
                    }
                    let own = self.node_cost(node, class, occurrences);
                    let best = self.best_predecessor(boundary, node, v, found);
                    let Some((cost, back)) = best else { continue };
                    self.reached[boundary + node.len].push(Reached { vertex: v, cost: cost + own, back });
                }
            }
        }
        let (end, best) =
            self.reached[boundaries].iter().enumerate().min_by_key(|(_, r)| r.cost).map(|(i, r)| (i, *r))?;
        self.trace(boundaries, end);
        let mut key = best.cost + put(self.slices.words, self.level.missing_words);
        if let Some(slice) = self.slices.exact_attribute {
            key += slice.put(self.exact_attribute(found));
        }
        Some(key)
    }

    fn is_searched(&self, occurrence: &Occurrence) -> bool {
        self.options.weight(occurrence.field) != NOT_SEARCHED
    }

    /// Vertices of the best path of the last document, in order.
    pub(crate) fn path(&self) -> &[VertexIndex] {
        &self.path
    }

    fn trace(&mut self, boundary: usize, index: usize) {
        self.path.clear();
        let (mut boundary, mut index) = (boundary, index);
        while boundary > 0 {
            let step = self.reached[boundary][index];
            self.path.push(step.vertex);
            boundary -= self.graph.nodes[node_of(step.vertex)].len;
            index = step.back;
        }
        self.path.reverse();
    }

    fn best_predecessor(
        &self,
        boundary: usize,
        node: &Node,
        v: VertexIndex,
        found: &Occurrences,
    ) -> Option<(Key, usize)> {
        if boundary == 0 {
            return Some((put(self.slices.proximity, node.len as u32 - 1), usize::MAX));
        }
        self.reached[boundary]
            .iter()
            .enumerate()
            .map(|(i, from)| {
                let edge = match self.slices.proximity {
                    Some(slice) => slice.put(self.proximity(from.vertex, node, v, found)),
                    None => 0,
                };
                (from.cost + edge, i)
            })
            .min()
    }

    fn node_cost(&self, node: &Node, class: usize, occurrences: &[Occurrence]) -> Key {
        let words = node.len as u32;
        let starts = || occurrences.iter().filter(|o| o.first != NOWHERE);
        let mut cost = put(self.slices.typo, node.base_cost() + class as u32);
        if let Some(slice) = self.slices.forms {
            let stands_itself = occurrences.iter().any(|o| !o.form && self.is_searched(o));
            cost += slice.put(if stands_itself { 0 } else { words });
        }
        if let Some(slice) = self.slices.rank {
            let searched = starts().filter(|o| self.is_searched(o));
            let weight = searched.map(|o| u32::from(self.options.weight(o.field))).min().unwrap_or(0);
            cost += slice.put(weight * words);
        }
        if let Some(slice) = self.slices.position {
            let at = u32::from(node.first_position);
            let best = starts()
                .map(|o| {
                    let distance = bucketed_position(o.first).abs_diff(at);
                    (0..words).map(|i| position_cost(distance + i)).sum()
                })
                .min()
                .unwrap_or(0);
            cost += slice.put(best);
        }
        if let Some(slice) = self.slices.exact_words {
            let exact = class == 0 && !node.is_ngram() && occurrences.iter().any(|o| o.exact && self.is_searched(o));
            cost += slice.put(if exact { 0 } else { words });
        }
        cost
    }

    /// Cost of reading `v` after `from`.
    fn proximity(&self, from: VertexIndex, node: &Node, v: VertexIndex, found: &Occurrences) -> u32 {
        let joined = node.len as u32 - 1;
        let left = &self.graph.nodes[node_of(from)];
        if u32::from(left.last_position) + 1 != u32::from(node.first_position) {
            return joined;
        }
        let (a, b) = (found.of(from), found.of(v));
        let mut best = PROXIMITY_COST_MAX;
        for x in a.iter().filter(|x| x.last != NOWHERE) {
            for y in b.iter().filter(|y| y.field == x.field && y.first != NOWHERE) {
                let cost = if self.options.proximity_by_attribute {
                    0
                } else if y.first > x.last {
                    y.first - x.last - 1
                } else if !x.phrase && !y.phrase && x.first > y.last {
                    x.first - y.last
                } else {
                    continue;
                };
                best = best.min(cost);
                if best == 0 {
                    return joined;
                }
            }
        }
        best + joined
    }

    /// 0: a searched attribute is the query; 1: it starts with it; 2: neither.
    fn exact_attribute(&mut self, found: &Occurrences) -> u32 {
        const NEITHER: u32 = 2;
        let mut positions = 0;
        let mut previous: Option<usize> = None;
        let mut terms = std::mem::take(&mut self.exact_terms);
        terms.clear();
        for &v in &self.path {
            let node = &self.graph.nodes[node_of(v)];
            let is_exact = class_of(v) == 0 && !node.is_ngram();
            let is_known = self.exact_known[node.first..][..node.len].contains(&true);
            if !is_known || (!is_exact && self.has_typos_apart) {
                continue;
            }
            let hole = match previous {
                None => node.first != 0,
                Some(p) => node.first - p > 1,
            };
            if !is_exact || hole || !found.of(v).iter().any(|o| o.exact) {
                self.exact_terms = terms;
                return NEITHER;
            }
            previous = Some(node.first);
            let term = &self.graph.terms[node.first];
            // Stop words count on neither side.
            positions += u32::from(node.last_position - node.first_position) + 1 - u32::from(term.stop_words);
            terms.push((v, u32::from(node.first_position)));
        }
        let mut best = NEITHER;
        let searched = |&&(field, _): &&(FieldId, u32)| self.options.weight(field) != NOT_SEARCHED;
        for &(field, words) in found.field_words().iter().filter(|_| !terms.is_empty()).filter(searched) {
            let starts = terms.iter().all(|&(v, position)| {
                found
                    .of(v)
                    .iter()
                    .any(|o| o.exact && o.field == field && bucketed_position(o.first) == bucketed_position(position))
            });
            if starts {
                best = best.min(if words == positions && words <= ATTRIBUTE_WORDS_COUNTED { 0 } else { 1 });
            }
        }
        self.exact_terms = terms;
        best
    }
}

/// The number of words of longer attributes is not known to the `exactness` rule.
const ATTRIBUTE_WORDS_COUNTED: u32 = 30;
