//! Which documents can have the words of a level next to each other.

use std::collections::BTreeMap;

use crate::bits::{BitsetBuilder, DocSet};
use crate::id::TermOrdinal;
use crate::query::SegmentQuery;
use crate::query::level::Level;
use crate::rank::key::{Key, KeyLayout};
use crate::rank::path::PROXIMITY_COST_MAX;
use crate::rank::rules::GraphRule;
use crate::segment::{Nearest, SegmentReader, TokensOfDoc};

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

    /// What no document costs more than.
    pub(super) fn most(&self) -> u32 {
        self.pairs.len() as u32 * PROXIMITY_COST_MAX
    }
}

/// Tells from a few tokens of a document what its words cost at least.
pub(super) struct NearestWords {
    /// Per pair of neighbours, and whether the word whose places are looked at is the left one; `None` where both may be
    /// many words.
    pairs: Vec<Option<(Nearest, bool)>>,
}

impl NearestWords {
    pub(super) fn new(reader: &SegmentReader, neighbours: &Neighbours) -> NearestWords {
        let frequency = |(word, _): Terms| reader.postings().doc_freq(word);
        let pair = |&[left, right]: &[Terms; 2]| {
            // Of two single words, the one with fewer places.
            let is_left = match (left.1, right.1) {
                (1, 1) => frequency(left) <= frequency(right),
                (1, _) => true,
                (_, 1) => false,
                _ => return None,
            };
            let (word, others) = if is_left { (left.0, right) } else { (right.0, left) };
            Some((Nearest::new(reader.tokens(), word, others), is_left))
        };
        NearestWords { pairs: neighbours.pairs.iter().map(pair).collect() }
    }

    /// Whether a document may cost no more than `limit`. Too little is told where fields or values meet.
    pub(super) fn may_cost(&self, doc: &TokensOfDoc<'_>, limit: u32) -> bool {
        let cost = |sum: u32, pair: &Option<(Nearest, bool)>| {
            let Some((nearest, is_left)) = pair else { return Some(sum) };
            // More than the worst is not told apart.
            let most = (limit - sum + 1).min(PROXIMITY_COST_MAX) as usize;
            // Words in the wrong order cost one more, those in the right one the tokens between them.
            let bounds = if *is_left { [most, most + 1] } else { [most + 1, most] };
            let [before, behind] = nearest.distances(doc, bounds);
            let (wrong, right) = if *is_left { (before, behind) } else { (behind, before) };
            let sum = sum + wrong.min(right - 1) as u32;
            (sum <= limit).then_some(sum)
        };
        self.pairs.iter().try_fold(0, cost).is_some()
    }
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
