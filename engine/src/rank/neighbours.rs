//! Which documents can have the words of a level next to each other.

use std::collections::BTreeMap;

use crate::bits::kernels::{MARKS, marks_within};
use crate::bits::{BitsetBuilder, DocSet};
use crate::id::TermOrdinal;
use crate::query::SegmentQuery;
use crate::query::level::Level;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::path::PROXIMITY_COST_MAX;
use crate::rank::rules::GraphRule;

/// Neighbours that are looked up; more of them would cut groups that are small already.
const LOOKED_UP_MAX: usize = 4;
/// Completions of a prefix that are looked into one by one.
const COMPLETIONS_MAX: usize = 4096;
/// They may be in one of so many documents, together.
const COMPLETIONS_SHARE: u64 = 2;

/// Terms by start and number: one word, or the completions of a prefix.
type Terms = (TermOrdinal, u32);

/// The words of a level that cost least when they are next to each other, without typo.
pub(super) struct Neighbours {
    pairs: Vec<[Terms; 2]>,
}

impl Neighbours {
    /// `None` when nothing has to be next to anything, or when more than single words may match.
    pub(super) fn new(query: &SegmentQuery<'_>, level: &Level) -> Option<Neighbours> {
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
        (!pairs.is_empty()).then_some(Neighbours { pairs })
    }

    /// What a document with these tokens costs at least, if not more than `limit`. Too little where fields or values meet.
    pub(super) fn least_cost(&self, tokens: &[TermOrdinal], limit: u32) -> Option<u32> {
        self.pairs.iter().try_fold(0, |sum, &[left, right]| Some(sum + least_cost(tokens, left, right, limit - sum)?))
    }

    /// What no document costs more than.
    pub(super) fn most(&self) -> u32 {
        self.pairs.len() as u32 * PROXIMITY_COST_MAX
    }
}

/// The cost of the nearest places of two words, if not more than `limit`. Marks the places of each, 64 tokens at a time.
fn least_cost(tokens: &[TermOrdinal], left: Terms, right: Terms, limit: u32) -> Option<u32> {
    let mut best = PROXIMITY_COST_MAX;
    let mut before = [0; 2];
    for tokens in tokens.chunks(MARKS) {
        let marks = [marks_within(tokens, left), marks_within(tokens, right)];
        // Moved to the places that are `distance` behind.
        let moved = |word: usize, distance: u32| marks[word] << distance | before[word] >> (u64::BITS - distance);
        // Words in the wrong order cost one more.
        let is = |cost: u32| moved(0, cost + 1) & marks[1] != 0 || (cost > 0 && moved(1, cost) & marks[0] != 0);
        best = (0..best.min(limit + 1)).find(|&cost| is(cost)).unwrap_or(best);
        before = marks;
    }
    (best <= limit).then_some(best)
}

/// Cuts groups of documents by how many neighbours they lack, as far as the stored pairs of frequent words tell: each
/// that is missing costs at least one of `proximity`. Groups come with the smallest key of their documents, and leave
/// the same way.
pub(super) fn cut_by_neighbours(
    query: &SegmentQuery<'_>,
    level: &Level,
    groups: Vec<(Key, DocSet)>,
    layout: &KeyLayout,
) -> Vec<(Key, DocSet)> {
    let (Some(proximity), Some(neighbours)) = (layout.slice(GraphRule::Proximity), Neighbours::new(query, level))
    else {
        return groups;
    };
    let mut groups: BTreeMap<Key, DocSet> = groups.into_iter().collect();
    for near in neighbours.pairs.iter().filter_map(|&pair| near(query, pair)).take(LOOKED_UP_MAX) {
        let mut cut: BTreeMap<Key, DocSet> = BTreeMap::new();
        for (key, docs) in groups {
            for (key, docs) in [(key, docs.and(&near)), (key + proximity.put(1), docs.and_not(&near))] {
                if !docs.is_empty() {
                    cut.entry(key).or_insert_with(DocSet::empty).or_assign(&docs);
                }
            }
        }
        groups = cut;
    }
    groups.into_iter().collect()
}

/// All documents that can have a term of the one right before a term of the other, and maybe some that do not; `None`
/// when that is not known.
fn near(query: &SegmentQuery<'_>, [left, right]: [Terms; 2]) -> Option<DocSet> {
    let (pairs, postings) = (query.reader().pairs(), query.reader().postings());
    let (left, 1) = left else { return None };
    if right.1 == 1 {
        return pairs.docs([left, right.0]);
    }
    let doc_count = query.reader().doc_count();
    let completions = right.0..right.0 + right.1;
    if completions.len() > COMPLETIONS_MAX || pairs.words().binary_search(&left).is_err() {
        return None;
    }
    let (frequent, others): (Vec<_>, Vec<_>) = completions.partition(|word| pairs.words().binary_search(word).is_ok());
    let holding: u64 = others.iter().map(|&word| u64::from(postings.doc_freq(word))).sum();
    if frequent.is_empty() || holding * COMPLETIONS_SHARE > u64::from(doc_count) {
        return None;
    }
    let mut docs = BitsetBuilder::new(doc_count);
    others.iter().for_each(|&word| postings.add_to(word, &mut docs));
    let mut docs = docs.finish();
    for word in frequent {
        docs.or_assign(&pairs.docs([left, word])?);
    }
    Some(docs)
}
