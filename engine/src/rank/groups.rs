//! Groups of documents with their smallest keys, best first, cut as they are asked for.
//!
//! The scan of a level mostly ends within the first few groups, so documents are cut no further than the best group needs: by one
//! rule after the other, and by the least cost first.

use std::cmp::Ordering;
use std::collections::{BTreeSet, BinaryHeap};
use std::rc::Rc;

use lamina_segment::bits::DocSet;
use lamina_text::id::DocId;

use crate::rank::classes::{Classes, Pieces, Places};
use crate::rank::key::Key;

/// Maximum number of words whose sets of documents are combined. With more, the cost of each document is computed.
const COMBINED_WORDS_MAX: usize = 3;
/// Maximum number of sums of a stage times costs of the next word: words in thousands of fields are not cut by them.
const SUMS_MAX: usize = 1 << 14;

/// Disjoint groups of the documents of a level, best first.
pub(crate) struct Groups<'q> {
    stages: Vec<Stage<'q>>,
    parts: BinaryHeap<Part>,
    /// Maximum number of documents that are not cut.
    whole_max: u32,
}

/// Documents that are cut no further yet.
struct Part {
    /// The smallest key of any of them: `base` and the sum of the stage.
    bound: Key,
    /// A document that none of them comes before.
    first: DocId,
    base: Key,
    /// The documents, including those with smaller sums, which were parts before.
    docs: Rc<DocSet>,
    /// Number of those that were in no part before.
    left: u32,
    /// The stage that cuts them next.
    stage: usize,
    /// The sum of that stage that is next.
    sum: usize,
    /// True if the stages of `exactness` cut them.
    is_exact: bool,
}

impl Ord for Part {
    /// The best part is the largest.
    fn cmp(&self, other: &Part) -> Ordering {
        (other.bound, other.first).cmp(&(self.bound, self.first))
    }
}

impl PartialOrd for Part {
    fn partial_cmp(&self, other: &Part) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Part {
    fn eq(&self, other: &Part) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Part {}

/// Documents of a level, with the smallest key of any of them.
pub(crate) struct Base {
    pub(crate) bound: Key,
    pub(crate) docs: DocSet,
    /// True if they can be cut by `exactness`.
    pub(crate) is_exact: bool,
    /// False if they are not cut at all.
    pub(crate) is_cut: bool,
}

impl<'q> Groups<'q> {
    /// The bases themselves.
    pub(crate) fn whole(bases: Vec<(Key, DocSet)>) -> Groups<'q> {
        let base = |(bound, docs)| Base { bound, docs, is_exact: false, is_cut: false };
        Groups::cut(bases.into_iter().map(base).collect(), Vec::new(), 0)
    }

    /// Each base cut by the stages, which are in the order of their rules, but for groups of at most `whole_max` documents. Cost: none
    /// per document, now.
    pub(crate) fn cut(bases: Vec<Base>, stages: Vec<Stage<'q>>, whole_max: u32) -> Groups<'q> {
        let mut groups = Groups { stages, parts: BinaryHeap::new(), whole_max };
        for Base { bound, docs, is_exact, is_cut } in bases {
            let stage = if is_cut { 0 } else { groups.stages.len() };
            groups.add(bound, docs, stage, is_exact);
        }
        groups
    }

    /// Adds documents that `stage` cuts next.
    fn add(&mut self, base: Key, docs: DocSet, mut stage: usize, is_exact: bool) {
        while self.stages.get(stage).is_some_and(|stage| stage.is_of_exactness && !is_exact) {
            stage += 1;
        }
        let docs = docs.shrunk();
        let Some(first) = docs.first() else { return };
        let left = docs.len();
        self.push(Part { bound: base, first, base, docs: Rc::new(docs), left, stage, sum: 0, is_exact });
    }

    fn push(&mut self, part: Part) {
        let least = self.stages.get(part.stage).map_or(0, |stage| stage.sums[part.sum]);
        self.parts.push(Part { bound: part.base + least, ..part });
    }

    /// The smallest key of all documents that have not been taken, and a document that none of those with this key
    /// comes before.
    pub(crate) fn bound(&self) -> Option<(Key, DocId)> {
        self.parts.peek().map(|part| (part.bound, part.first))
    }

    /// Takes the best group.
    pub(crate) fn take(&mut self) -> Option<(Key, DocSet)> {
        loop {
            let part = self.parts.pop()?;
            let Some(stage) = self.stages.get(part.stage) else {
                return Some((part.bound, Rc::unwrap_or_clone(part.docs)));
            };
            match &*part.docs {
                // To cut a few documents costs more than to read them.
                docs if part.sum == 0 && docs.len() <= self.whole_max => {
                    return Some((part.bound, Rc::unwrap_or_clone(part.docs)));
                }
                docs if stage.words.len() > COMBINED_WORDS_MAX => self.cut_list(&part, &docs.to_vec()),
                _ => self.cut_set(part),
            }
        }
    }

    /// Takes the documents with the next sum of a stage out of a part.
    fn cut_set(&mut self, part: Part) {
        let stage = &self.stages[part.stage];
        let sum = stage.sums[part.sum];
        let found = stage.with_sum(&part.docs, sum);
        let Part { base, stage: number, is_exact, .. } = part;
        let left = part.left.saturating_sub(found.len());
        if left > 0 && part.sum + 1 < stage.sums.len() {
            self.push(Part { left, sum: part.sum + 1, ..part });
        }
        self.add(base + sum, found, number + 1, is_exact);
    }

    /// Cuts a list by all stages that are left: the cost of each document is computed.
    fn cut_list(&mut self, part: &Part, docs: &[DocId]) {
        let mut keys = vec![part.base; docs.len()];
        let mut known = Vec::new();
        let stages = self.stages.iter().skip(part.stage);
        for stage in stages.filter(|stage| part.is_exact || !stage.is_of_exactness) {
            stage.add_sums(docs, &mut known, &mut keys);
        }
        let mut sorted: Vec<(Key, DocId)> = keys.into_iter().zip(docs.iter().copied()).collect();
        sorted.sort_unstable();
        let end = self.stages.len();
        for group in sorted.chunk_by(|a, b| a.0 == b.0) {
            let docs = group.iter().map(|one| one.1).collect();
            self.add(group[0].0, DocSet::from_sorted(docs), end, part.is_exact);
        }
    }
}

/// A rule, or several at once, by which documents are cut: the sum of the costs of the words.
pub(crate) struct Stage<'q> {
    words: Vec<Classes<'q>>,
    /// All that can be, ascending.
    sums: Vec<Key>,
    is_of_exactness: bool,
    /// The number that stands for all sums but 0, if there is one.
    any: Option<Key>,
}

impl<'q> Stage<'q> {
    /// A stage by the costs of some words. Returns `None` without words, and where there are too many sums: then the rule cuts nothing.
    pub(crate) fn new(words: Vec<Classes<'q>>) -> Option<Stage<'q>> {
        let mut sums = BTreeSet::from([0]);
        for word in &words {
            if sums.len() * word.costs().count() > SUMS_MAX {
                return None;
            }
            sums = sums.iter().flat_map(|&sum| word.costs().map(move |cost| sum + cost)).collect();
        }
        let sums: Vec<Key> = sums.into_iter().collect();
        (!words.is_empty() && !sums.is_empty()).then_some(Stage { words, sums, is_of_exactness: false, any: None })
    }

    /// A stage of `exactness`. `any`: see [`Stage::any`].
    pub(crate) fn of_exactness(words: Vec<Classes<'q>>, any: Option<Key>) -> Option<Stage<'q>> {
        let stage = Stage { is_of_exactness: true, any, ..Stage::new(words)? };
        Some(match any {
            None => stage,
            Some(any) => Stage { sums: vec![0, any], ..stage },
        })
    }

    /// The documents of a set whose words cost so much together.
    fn with_sum(&self, docs: &DocSet, sum: Key) -> DocSet {
        if self.any == Some(sum) {
            return docs.and_not(&self.with_sum(docs, 0));
        }
        fn of(docs: &DocSet, words: &[Classes<'_>], left: Key) -> DocSet {
            let Some((word, others)) = words.split_first() else { return DocSet::empty() };
            if others.is_empty() {
                return word.with_cost(docs, left);
            }
            let mut found = DocSet::empty();
            for cost in word.costs().filter(|&cost| cost <= left) {
                let docs = word.with_cost(docs, cost).shrunk();
                if !docs.is_empty() {
                    found.or_assign(&of(&docs, others, left - cost));
                }
            }
            found
        }
        of(docs, &self.words, sum)
    }

    /// Adds to the key of each document what its words cost together. `known`: places of pieces, by word.
    fn add_sums(&self, docs: &[DocId], known: &mut Vec<(Rc<Pieces<'q>>, Places)>, keys: &mut [Key]) {
        let mut sums = vec![0; docs.len()];
        for word in &self.words {
            let at = known.iter().position(|(pieces, _)| Rc::ptr_eq(pieces, word.pieces())).unwrap_or_else(|| {
                known.push((Rc::clone(word.pieces()), word.pieces().places(docs)));
                known.len() - 1
            });
            word.add_costs(&known[at].1, &mut sums);
        }
        let sum = |sum: Key| self.any.filter(|_| sum > 0).unwrap_or(sum);
        keys.iter_mut().zip(sums).for_each(|(key, costs)| *key += sum(costs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::classes::PieceMark;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const DOCS: u32 = 3000;

    /// Sets by mark, each document in some of them.
    type Word = BTreeMap<(u16, u8), Vec<DocId>>;

    fn word() -> impl Strategy<Value = Word> {
        let docs = prop::collection::btree_set(0..DOCS, 0..600).prop_map(|docs| docs.into_iter().collect());
        let every = (1u32..40).prop_map(|step| (0..DOCS).step_by(step as usize).collect());
        prop::collection::btree_map((0u16..3, 0u8..3), prop_oneof![docs, every], 1..6)
    }

    /// The pieces of a word. If `is_unnamed`, the one with the largest rank and zone names no document.
    fn pieces(word: &Word, forms: usize, is_unnamed: bool) -> Rc<Pieces<'static>> {
        let mut pieces = Pieces::new(DOCS);
        let worst = word.keys().copied().reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)));
        let set = |(&(rank, zone), docs): (&(u16, u8), &Vec<DocId>)| {
            let is_named = !is_unnamed || Some((rank, zone)) != worst;
            let set = if is_named { DocSet::from_sorted(docs.clone()) } else { DocSet::empty() };
            let is_dense = set.len() * 8 > DOCS;
            (PieceMark { rank, zone }, if is_dense { set.into_bitset(DOCS) } else { set })
        };
        pieces.add_sets(word.iter().map(set), forms);
        Rc::new(pieces)
    }

    /// The least cost of a document that has the word.
    fn least(word: &Word, doc: DocId, cost: impl Fn(PieceMark) -> Key) -> Option<Key> {
        let holding = word.iter().filter(|(_, docs)| docs.binary_search(&doc).is_ok());
        holding.map(|(&(rank, zone), _)| cost(PieceMark { rank, zone })).min()
    }

    #[test]
    fn words_in_very_many_fields_are_not_cut_by_them() {
        let mut pieces = Pieces::new(DOCS);
        pieces.add_sets(
            (0..DOCS).map(|doc| (PieceMark { rank: doc as u16, zone: 0 }, DocSet::from_sorted(vec![doc]))),
            1,
        );
        let pieces = Rc::new(pieces);
        let classes = || Classes::new(&pieces, |mark| mark.rank.into());
        assert!(Stage::new(vec![classes()]).is_some());
        assert!(Stage::new(vec![classes(), classes()]).is_none());
        assert!(
            Stage::new(vec![Classes::new(&Rc::new(Pieces::new(DOCS)), |_| 0)]).is_none(),
            "no document has the word"
        );
    }

    proptest! {
        #[test]
        fn groups_come_best_first_with_the_sums_of_the_least_costs(
            words in prop::collection::vec(word(), 1..5),
            is_exact in any::<bool>(),
            is_unnamed in any::<bool>(),
        ) {
            let rank = |mark: PieceMark| Key::from(mark.rank) << 20;
            let zone = |mark: PieceMark| Key::from(mark.zone) << 10;
            let exactness = |mark: PieceMark| Key::from(mark.zone > 0);
            let pieces: Vec<_> = words.iter().map(|word| pieces(word, 2, is_unnamed)).collect();
            let classes = |cost: fn(PieceMark) -> Key| pieces.iter().map(|of| Classes::new(of, cost)).collect::<Vec<_>>();
            let stages = vec![
                Stage::new(classes(|mark| Key::from(mark.rank) << 20)).unwrap(),
                Stage::new(classes(|mark| Key::from(mark.zone) << 10)).unwrap(),
                Stage::of_exactness(classes(|mark| Key::from(mark.zone > 0)), Some(7)).unwrap(),
            ];
            let key = |doc: DocId| {
                let sum = |cost: &dyn Fn(PieceMark) -> Key| {
                    words.iter().map(|word| least(word, doc, cost)).sum::<Option<Key>>()
                };
                let exactness = sum(&exactness)?;
                Some(5 + sum(&rank)? + sum(&zone)? + if is_exact && exactness > 0 { 7 } else { 0 })
            };
            let expected: BTreeMap<DocId, Key> = (0..DOCS).filter_map(|doc| Some((doc, key(doc)?))).collect();
            let docs: DocSet = expected.keys().copied().collect();
            let base = Base { bound: 5, docs, is_exact, is_cut: true };
            let mut groups = Groups::cut(vec![base], stages, 0);
            let (mut found, mut last) = (BTreeMap::new(), 0);
            while let Some((bound, first)) = groups.bound() {
                let Some((key, docs)) = groups.take() else { break };
                prop_assert!(bound <= key);
                prop_assert!(last <= key);
                prop_assert!(bound < key || docs.first() >= Some(first));
                last = key;
                for doc in docs.iter() {
                    prop_assert!(found.insert(doc, key).is_none());
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
