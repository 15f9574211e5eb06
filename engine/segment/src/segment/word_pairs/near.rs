//! "Which documents have these two frequent words near each other?"
//!
//! Where few documents have two frequent words next to each other, the order by proximity has to look for those in which one
//! or two words stand between them, or which have them the other way round: it would read all that hold both. The segment
//! lists them, as far out as it takes to have more than are usually asked for. There is room for two bytes a document, which
//! the lists get that spare most documents for their size.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::budget::{Budget, price};
use super::flagged_lists::put_flagged_lists;
use super::open_list::OpenList;
use super::pairs::PairLists;
use super::{Known, NOWHERE};
use crate::bits::DocSet;
use crate::segment::ListThresholds;
use crate::segment::postings::put_plain_list;

/// A list of one cost has at most one document in so many of the segment,
const LISTED_SHARE: u32 = 16;
/// and one in so many of those that hold both words.
const SPARING_SHARE: u32 = 4;
/// Bytes of an entry, about.
const ENTRY_BYTES: usize = 3;

/// Maximum cost of the documents that are listed.
const NEAR_COST_MAX: u32 = 2;
/// Maximum distance of words that do not cost more.
pub(crate) const NEAR_DISTANCE_MAX: usize = NEAR_COST_MAX as usize + 1;

/// Places of words, [`NOWHERE`] among them.
const PLACES: usize = NOWHERE as usize + 1;

/// The places of the last words of a run, four of them, the last one lowest: they stay in a register.
#[derive(Clone, Copy)]
pub(super) struct LastPlaces(u32);

impl LastPlaces {
    /// Nothing is near what comes next.
    pub(super) const NONE: LastPlaces = LastPlaces(u32::from_le_bytes([NOWHERE; NEAR_DISTANCE_MAX + 1]));

    #[inline]
    pub(super) fn push(&mut self, place: u8) {
        self.0 = self.0 << 8 | u32::from(place);
    }

    /// The pairs that the last word makes with those before it, by places, the word first that is asked for first, and their
    /// costs, those of words next to each other in this order aside.
    #[inline]
    fn near_pairs(self) -> [([usize; 2], u8); NEAR_DISTANCE_MAX + 1] {
        let place = |behind: u32| usize::from((self.0 >> (8 * behind)) as u8);
        let (last, one, two, three) = (place(0), place(1), place(2), place(3));
        [([last, one], 1), ([two, last], 1), ([last, two], 2), ([three, last], 2)]
    }
}

/// Collects the lists while documents are written in order. Memory: eight bytes a document, 68 for each pair of frequent words,
/// and 64 kB.
pub(super) struct NearBuilder {
    /// By the places of two words what is still collected: costs up to this one. Nothing is of [`NOWHERE`].
    costs: Box<[[u8; PLACES]; PLACES]>,
    /// By pair the documents of cost 1, and of cost 2; a document may be in both.
    lists: Vec<[OpenList; NEAR_COST_MAX as usize]>,
    /// By pair how many documents hold both words, as far as the counts of the words go.
    holding: Vec<u32>,
    /// Size of all lists in bytes.
    bytes: usize,
    /// The most documents of one cost.
    listed_max: u32,
    /// So many documents are enough: what costs more is not listed.
    enough: u32,
    budget: Budget,
}

impl NearBuilder {
    /// `doc_freqs`: of the frequent words, by place.
    pub(super) fn new(doc_freqs: &[u32], doc_count: u32, budget: Budget, thresholds: &ListThresholds) -> NearBuilder {
        let mut costs = Box::new([[0; PLACES]; PLACES]);
        let mut holding = Vec::with_capacity(doc_freqs.len() * doc_freqs.len());
        for (first, of_first) in costs[..doc_freqs.len()].iter_mut().enumerate() {
            for (second, cost) in of_first[..doc_freqs.len()].iter_mut().enumerate() {
                let [one, other] = [first, second].map(|place| u64::from(doc_freqs[place]));
                let both = if first == second { one } else { one * other / u64::from(doc_count.max(1)) } as u32;
                *cost = if both < thresholds.near_holding_min { 0 } else { NEAR_COST_MAX as u8 };
                holding.push(both);
            }
        }
        NearBuilder {
            costs,
            lists: holding.iter().map(|_| Default::default()).collect(),
            holding,
            bytes: 0,
            listed_max: doc_count / LISTED_SHARE,
            enough: thresholds.near_enough,
            budget,
        }
    }

    /// A frequent word, the last one of `places`; documents ascend.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, places: LastPlaces, pairs: &PairLists) {
        // Most is not collected any more: one branch for all of it.
        let mut is_collected = false;
        for ([first, second], cost) in places.near_pairs() {
            is_collected |= self.costs[first][second] >= cost;
        }
        if is_collected {
            self.meet_all(doc, places, pairs);
        }
    }

    #[cold]
    fn meet_all(&mut self, doc: DocId, places: LastPlaces, pairs: &PairLists) {
        for (words, cost) in places.near_pairs() {
            if self.costs[words[0]][words[1]] >= cost {
                self.meet(doc, words, usize::from(cost), pairs);
            }
        }
    }

    fn meet(&mut self, doc: DocId, words: [usize; 2], cost: usize, pairs: &PairLists) {
        let pair = pairs.pair(words[0], words[1]);
        let list = &mut self.lists[pair][cost - 1];
        self.bytes += list.push(doc, pairs.doc_count);
        if pairs.doc_freq(pair) >= self.enough || list.len() > self.listed_max.min(self.holding[pair] / SPARING_SHARE) {
            // Not listed at all: nearer ones are enough, or these are too many.
            self.keep(words, 0, pairs);
        } else if list.len() >= self.enough {
            self.keep(words, cost, pairs);
        }
        if self.bytes > self.budget.open_bytes {
            self.close_longest(pairs);
        }
    }

    /// Forgets what costs more.
    fn keep(&mut self, words: [usize; 2], cost: usize, pairs: &PairLists) {
        self.costs[words[0]][words[1]] = cost as u8;
        for list in &mut self.lists[pairs.pair(words[0], words[1])][cost..] {
            self.bytes -= std::mem::take(list).bytes();
        }
    }

    /// Makes room for half of what the lists may take.
    #[cold]
    fn close_longest(&mut self, pairs: &PairLists) {
        let room = self.bytes / 2;
        while self.bytes > room {
            self.listed_max /= 2;
            for words in
                (0..pairs.word_count).flat_map(|first| (0..pairs.word_count).map(move |second| [first, second]))
            {
                if self.lists[pairs.pair(words[0], words[1])].iter().any(|list| list.len() > self.listed_max) {
                    self.keep(words, 0, pairs);
                }
            }
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        assert_eq!(self.lists.iter().flatten().map(OpenList::bytes).sum::<usize>(), self.bytes);
        self.bytes
    }

    /// The section; `None` when nothing is worth a list.
    pub(super) fn finish(self, pairs: &PairLists) -> Option<Vec<u8>> {
        let cost = |pair: usize| self.costs[pair / pairs.word_count][pair % pairs.word_count];
        let docs = |pair: usize| {
            let lists = self.lists[pair].iter().map(|list| list.docs(pairs.doc_count).unwrap_or_default());
            let either = lists.fold(DocSet::empty(), |mut docs, list| {
                docs.or_assign(&DocSet::from_sorted(list));
                docs
            });
            either.to_vec()
        };
        let mut list = Vec::new();
        // Documents are made twice, rather than kept of lists for which there is no room.
        let mut by_price: Vec<_> = (0..self.lists.len())
            .filter(|&pair| cost(pair) > 0 && pairs.doc_freq(pair) < self.enough)
            .map(|pair| {
                let docs = docs(pair);
                list.clear();
                if !docs.is_empty() {
                    put_plain_list(&mut list, &docs, pairs.doc_count);
                }
                let bytes = list.len() + ENTRY_BYTES;
                (price(bytes, self.holding[pair], docs.len() as u32), bytes, pair)
            })
            .collect();
        by_price.sort_unstable();
        let mut room = self.budget.bytes;
        let fits = |(_, bytes, pair)| {
            room = room.checked_sub(bytes)?;
            Some((pair as u32, u32::from(cost(pair)) == NEAR_COST_MAX, docs(pair)))
        };
        let entries = by_price.into_iter().map_while(fits).collect();
        put_flagged_lists(entries, pairs.doc_count)
    }
}

/// Converts an entry of the section: the documents, and whether they may have the maximum listed cost.
pub(super) fn near((is_far, documents): (bool, DocSet)) -> Known {
    Known { documents, complement: false, cost: if is_far { NEAR_COST_MAX } else { 1 } }
}

#[cfg(test)]
mod tests {
    use super::super::builder::WordPairsBuilder;
    use super::super::cells::Cells;
    use super::super::tests::{built, opened, opened_sections, sections, with_near_pairs};
    use super::*;
    use crate::segment::format::SectionKind;
    use lamina_text::id::{GAP, TermOrdinal};
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const ENOUGH: u32 = ListThresholds::SMALL.near_enough;
    const HOLDING_MIN: u32 = ListThresholds::SMALL.near_holding_min;

    fn builder(words: Vec<(TermOrdinal, u32)>, doc_count: u32, ordinal_count: u32) -> WordPairsBuilder {
        WordPairsBuilder::of(words, Cells::default(), doc_count, ordinal_count, &ListThresholds::SMALL)
    }

    #[test]
    fn the_example_says_what_it_should() {
        let pairs = with_near_pairs();
        let near = |words| pairs.near(words).map(|near| (near.cost, near.documents.len(), near.documents.first()));
        assert_eq!(near([5, 3]), Some((1, 150, Some(0))));
        assert_eq!(near([3, 5]), Some((2, 150, Some(0))), "one more the other way round");
        assert_eq!(near([3, 3]), Some((2, 0, None)));
        assert_eq!(near([3, 4]), None, "no frequent word");
        pairs.validate(10).unwrap();
    }

    #[test]
    fn what_excludes_little_is_not_listed() {
        let near = |doc_count, run: &[TermOrdinal]| {
            built(&[3, 5], doc_count, (0..200).map(|doc| (doc, vec![run.to_vec()]))).near([5, 3])
        };
        assert!(near(6000, &[5, 2, 3]).is_some());
        assert_eq!(near(6000, &[5, 3]), None, "enough documents have them next to each other");
        assert_eq!(near(2000, &[5, 2, 3]), None, "too many documents");
    }

    #[test]
    fn lists_spare_enough_of_the_documents_with_both_words() {
        let is_listed = |holding, near| {
            let mut builder = builder(vec![(3, holding), (5, 6000)], 6000, 10);
            (0..near).for_each(|doc| builder.push(doc, &[5, 2, 3]));
            opened(builder, 6000).near([5, 3]).is_some()
        };
        let most = HOLDING_MIN / SPARING_SHARE;
        assert!(is_listed(HOLDING_MIN, most));
        assert!(!is_listed(HOLDING_MIN, most + 1), "too many of them are near");
        assert!(!is_listed(HOLDING_MIN - 1, most - 1), "they are soon read");
    }

    #[test]
    fn many_lists_do_not_fill_the_memory_and_those_that_spare_more_come_first() {
        const DOCS: u32 = 4000;
        // Half of the words are in all documents, or so it is said, and fill the room.
        let words = (2..122).map(|word| (word, if word % 2 == 0 { DOCS } else { DOCS / 4 * 3 }));
        let mut builder = builder(words.collect(), DOCS, 122);
        let budget = Budget::new(DOCS, &ListThresholds::SMALL);
        for doc in 0..DOCS {
            let run: Vec<TermOrdinal> = (0..60).map(|at| (doc * 7919 + at * at * 31 + doc * at) % 120 + 2).collect();
            builder.push(doc, &run);
            assert!(builder.near.bytes() <= budget.open_bytes, "after {doc}");
        }
        let sections = sections(builder);
        let bytes = sections[&SectionKind::NearPairs].len();
        let pairs = opened_sections(&sections, DOCS);
        assert!(bytes <= budget.bytes, "{bytes} bytes");
        let listed = |odd: u32| {
            let words = || (1..61).map(move |half| 2 * half + odd);
            words()
                .flat_map(|left| words().map(move |right| [left, right]))
                .filter(|&pair| pairs.near(pair).is_some())
                .count()
        };
        assert!(listed(0) > 0, "{} and {}", listed(0), listed(1));
        assert_eq!(listed(1), 0, "{} and {}", listed(0), listed(1));
    }

    proptest! {
        #[test]
        fn what_is_known_is_so(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..10, 1..12), 0..3), 1..400),
            doc_count in prop_oneof![Just(400u32), Just(6000)],
        ) {
            let words = [2, 3, 5, 7];
            let pairs = built(&words, doc_count, (0..).zip(docs.clone()));
            pairs.validate(10).unwrap();
            // By words and cost.
            let mut held: BTreeMap<([TermOrdinal; 2], u32), BTreeSet<DocId>> = BTreeMap::new();
            for (doc, run) in (0..).zip(&docs).flat_map(|(doc, runs)| runs.iter().map(move |run| (doc, run))) {
                for (start, end) in (0..run.len()).flat_map(|end| (0..end).map(move |start| (start, end))) {
                    let distance = end - start;
                    if distance <= NEAR_DISTANCE_MAX && !run[start..end].contains(&GAP) {
                        held.entry(([run[start], run[end]], distance as u32 - 1)).or_default().insert(doc);
                        held.entry(([run[end], run[start]], distance as u32)).or_default().insert(doc);
                    }
                }
            }
            for [left, right] in words.iter().flat_map(|&left| words.map(|right| [left, right])) {
                let mut costing = |costs: std::ops::RangeInclusive<u32>| -> Vec<DocId> {
                    let docs: BTreeSet<DocId> =
                        costs.flat_map(|cost| held.entry(([left, right], cost)).or_default().clone()).collect();
                    docs.into_iter().collect()
                };
                let enough = |docs: &[DocId]| docs.len() as u32 >= ENOUGH;
                match pairs.near([left, right]) {
                    Some(near) => {
                        prop_assert_eq!(near.documents.to_vec(), costing(1..=near.cost));
                        prop_assert!(!enough(&costing(0..=0)));
                        prop_assert_eq!(near.cost == NEAR_COST_MAX, !enough(&costing(1..=1)));
                    }
                    None => {
                        let is_long = (1..=2).any(|cost| costing(cost..=cost).len() as u32 > doc_count / LISTED_SHARE);
                        prop_assert!(enough(&costing(0..=0)) || is_long || doc_count < 1000, "nothing else leaves it out");
                    }
                }
            }
        }
    }
}
