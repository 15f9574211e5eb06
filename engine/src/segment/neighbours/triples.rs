//! "Which documents have these three frequent words one after the other?"
//!
//! Documents that have both pairs of a phrase of three frequent words mostly have the phrase, or mostly do not. To count it,
//! the tokens of all of them would have to be read; instead the segment keeps a list of the fewer: those that have the
//! three words in a row, or those that have both pairs elsewhere only. These lists take about a thousandth of the
//! documents' size.
//!
//! The layout is in `segment-format.md`.

use hashbrown::HashMap;

use super::flagged_lists::put_flagged_lists;
use super::pairs::{OpenList, PairLists};
use crate::bits::DocSet;
use crate::id::DocId;

/// Fewer documents with both pairs are soon read.
const CANDIDATES_MIN: u32 = if cfg!(debug_assertions) { 16 } else { 512 };
/// The same as a share of the documents of the segment: one in so many.
const CANDIDATES_SHARE: u32 = 256;
/// Of each middle word so many words before it and behind it are looked at: those of most documents.
const NEIGHBOURS_MAX: usize = 32;
/// Triples met for the first time after so many others are unknown.
const OPEN_MAX: usize = if cfg!(debug_assertions) { 56 } else { 1 << 16 };
/// Bytes of the open lists for each document of the segment.
const OPEN_BYTES_PER_DOC: usize = if cfg!(debug_assertions) { 4 } else { 8 };
/// The first number of documents after which lists that cannot be asked for are closed; then whenever it has doubled.
const FIRST_LOOK: DocId = if cfg!(debug_assertions) { 64 } else { 4096 };

/// Three words, as numbered by [`PairLists::triple`].
type Triple = u32;

/// Collects the triples while documents are written in order. Memory: eight bytes a document, at the end as much again for
/// bitmaps, and some megabytes.
#[derive(Default)]
pub(super) struct TriplesBuilder {
    lists: HashMap<Triple, OpenList, foldhash::fast::FixedState>,
    /// Of all lists.
    bytes: usize,
    next_look: DocId,
    /// Some triples were met that have no list.
    is_full: bool,
}

impl TriplesBuilder {
    /// Documents ascend.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, triple: Triple, pairs: &PairLists) {
        if self.lists.len() >= OPEN_MAX && !self.lists.contains_key(&triple) {
            self.is_full = true;
            return;
        }
        self.bytes += self.lists.entry(triple).or_default().push(doc, pairs.listed_max());
        if doc >= self.next_look || self.bytes > OPEN_BYTES_PER_DOC * pairs.doc_count as usize {
            self.close_rare(doc, pairs);
        }
    }

    /// Closes the lists of triples of which one pair is in too few of the documents so far: first in half as many as will
    /// be asked for, then in more and more until the lists have room again, at last all: what every document has would not
    /// be closed otherwise, and this would be called for each of them.
    #[cold]
    fn close_rare(&mut self, doc: DocId, pairs: &PairLists) {
        self.next_look = FIRST_LOOK.max(2 * doc);
        let mut share = 2 * CANDIDATES_SHARE;
        loop {
            let is_rare = |pair| share == 1 || pairs.doc_freq(pair) < doc / share;
            let rare = self.lists.iter_mut().filter(|(triple, _)| pairs.pairs_of(**triple).into_iter().any(is_rare));
            rare.for_each(|(_, list)| list.close());
            self.bytes = self.lists.values().map(OpenList::bytes).sum();
            if self.bytes <= OPEN_BYTES_PER_DOC * pairs.doc_count as usize / 2 || share == 1 {
                return;
            }
            share /= 2;
        }
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The section; `None` when nothing is worth a list. Cost: for each middle word one bitmap operation for each two of its
    /// frequent neighbours.
    pub(super) fn finish(self, pairs: &PairLists) -> Option<Vec<u8>> {
        let least = CANDIDATES_MIN.max(pairs.doc_count / CANDIDATES_SHARE);
        let listed = |pair| (least..=pairs.listed_max()).contains(&pairs.doc_freq(pair));
        let mut entries: Vec<(Triple, bool, Vec<DocId>)> = Vec::new();
        for middle in 0..pairs.word_count {
            let neighbours = |pair: &dyn Fn(usize) -> usize| -> Vec<(usize, DocSet)> {
                let mut words: Vec<usize> = (0..pairs.word_count).filter(|&word| listed(pair(word))).collect();
                words.sort_by_key(|&word| std::cmp::Reverse(pairs.doc_freq(pair(word))));
                words.truncate(NEIGHBOURS_MAX);
                words.into_iter().map(|word| (word, pairs.docs(pair(word)).into_bitset(pairs.doc_count))).collect()
            };
            let before = neighbours(&|word| pairs.pair(word, middle));
            let behind = neighbours(&|word| pairs.pair(middle, word));
            for (first, have_left) in &before {
                for (last, have_right) in &behind {
                    if have_left.and_len(have_right) < least {
                        continue;
                    }
                    let triple = pairs.triple(pairs.pair(*first, middle), *last);
                    let held = match self.lists.get(&triple) {
                        Some(list) => list.docs(pairs.listed_max()),
                        None => (!self.is_full).then(Vec::new),
                    };
                    let Some(held) = held else { continue };
                    let others = have_left.and(have_right).and_not(&DocSet::from_sorted(held.clone()));
                    let are_others = (others.len() as usize) < held.len();
                    entries.push((triple, are_others, if are_others { others.to_vec() } else { held }));
                }
            }
        }
        put_flagged_lists(entries, pairs.doc_count)
    }
}

/// Which of the documents that have both pairs of a triple have its three words in a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum InARow {
    /// These.
    Only(DocSet),
    /// All but these.
    AllBut(DocSet),
}

impl InARow {
    pub(super) fn new((are_others, docs): (bool, DocSet)) -> InARow {
        if are_others { InARow::AllBut(docs) } else { InARow::Only(docs) }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::followers::Cells;
    use super::super::pairs::tests::{built, everywhere};
    use super::super::pairs::{Pairs, PairsBuilder};
    use super::*;
    use crate::id::TermOrdinal;
    use crate::storage::OwnedBytes;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const DOCS: u32 = 6000;

    fn with_example() -> (Pairs, [Option<OwnedBytes>; 2]) {
        let docs = (0..600).map(|doc| match doc {
            20 | 30 => (doc, vec![vec![5, 3], vec![3, 5]]),
            _ => (doc, vec![vec![5, 3, 5]]),
        });
        built(&[3, 5], DOCS, docs)
    }

    /// The section of the worked example.
    pub(crate) fn example() -> OwnedBytes {
        with_example().1[0].take().expect("two triples are known")
    }

    #[test]
    fn the_example_says_what_it_should() {
        let (pairs, _) = with_example();
        assert_eq!(pairs.in_a_row([5, 3, 5]), Some(InARow::AllBut(DocSet::from_sorted(vec![20, 30]))));
        assert_eq!(pairs.in_a_row([3, 5, 3]), Some(InARow::Only(DocSet::empty())));
        assert_eq!(pairs.in_a_row([5, 5, 5]), None, "no document has its pairs");
        assert_eq!(pairs.in_a_row([5, 3, 4]), None, "no frequent word");
        assert_eq!(pairs.known_in_a_row().collect::<Vec<_>>(), [[3, 5, 3], [5, 3, 5]]);
        pairs.validate_triples().unwrap();
    }

    #[test]
    fn a_triple_that_was_rare_at_first_is_not_known() {
        // The pairs begin late, but for one document that has them before the first look.
        let pairs = |early: bool| {
            let docs = (0..DOCS).map(|doc| match doc {
                0 if early => vec![5, 3, 5],
                5000.. => vec![5, 3, 5],
                _ => vec![3, 3, 3],
            });
            built(&[3, 5], DOCS, (0..).zip(docs.map(|run| vec![run]))).0
        };
        assert_eq!(pairs(true).doc_freq([5, 3]), Some(1001));
        assert_eq!(pairs(true).in_a_row([5, 3, 5]), None);
        assert_eq!(pairs(false).in_a_row([5, 3, 5]), Some(InARow::AllBut(DocSet::empty())));
    }

    #[test]
    fn what_all_documents_say_does_not_fill_the_memory() {
        let boilerplate: Vec<TermOrdinal> =
            (2..10).flat_map(|word| [word, (word * 5) % 8 + 2, (word * 3) % 8 + 2]).collect();
        let mut builder = PairsBuilder::of(everywhere(2..10, DOCS), Cells::default(), DOCS, 10);
        for doc in 0..DOCS {
            builder.push(doc, &boilerplate);
            assert!(builder.bytes_of_triples() <= OPEN_BYTES_PER_DOC * DOCS as usize, "after {doc}");
        }
        let [pairs, triples, ..] = builder.finish();
        assert!(pairs.is_some() && triples.is_none());
    }

    proptest! {
        #[test]
        fn what_is_known_is_so(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..8, 1..12), 0..3), 1..400),
            few in any::<bool>(),
        ) {
            let words: &[TermOrdinal] = if few { &[2, 3, 7] } else { &[2, 3, 5, 7] };
            let (pairs, _) = built(words, 400, (0..).zip(docs.clone()));
            let mut held: BTreeMap<&[TermOrdinal], BTreeSet<DocId>> = BTreeMap::new();
            for (doc, runs) in (0..).zip(&docs) {
                runs.iter().flat_map(|run| run.windows(3)).for_each(|row| {
                    held.entry(row).or_default().insert(doc);
                });
            }
            pairs.validate_triples().unwrap();
            for row in pairs.known_in_a_row() {
                prop_assert!(row.iter().all(|word| words.contains(word)));
                let both = pairs.docs([row[0], row[1]]).unwrap().and(&pairs.docs([row[1], row[2]]).unwrap());
                let told = match pairs.in_a_row(row).unwrap() {
                    InARow::Only(docs) => {
                        prop_assert!(2 * docs.len() <= both.len(), "the others are fewer");
                        docs
                    }
                    InARow::AllBut(docs) => both.and_not(&docs),
                };
                prop_assert!(both.len() >= CANDIDATES_MIN);
                prop_assert_eq!(told.to_vec(), held.remove(&row[..]).unwrap_or_default().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
