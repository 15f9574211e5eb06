//! "Which documents have these three frequent words one after the other?"
//!
//! Documents that have both pairs of a phrase of three frequent words mostly have the phrase, or mostly do not. To count it,
//! the tokens of all of them would have to be read; instead the segment keeps a list of the fewer: those that have the
//! three words in a row, or those that have both pairs elsewhere only. These lists take about a thousandth of the
//! documents' size.
//!
//! The layout is in `segment-format.md`.

use hashbrown::HashMap;
use lamina_text::id::DocId;

use super::budget::Budget;
use super::flagged_lists::put_flagged_lists;
use super::open_list::OpenList;
use super::pairs::PairLists;
use crate::bits::DocSet;
use crate::segment::ListThresholds;

/// Triples of fewer documents than one in so many of the segment have no list.
const CANDIDATES_SHARE: u32 = 256;
/// Number of words before and after each middle word that are considered: those with most documents.
const NEIGHBOURS_MAX: usize = 32;

/// Three words, as numbered by [`PairLists::triple`].
type Triple = u32;

/// Collects the triples while documents are written in order. Memory: eight bytes a document, at the end as much again for
/// bitmaps, and some megabytes.
pub(super) struct TriplesBuilder {
    budget: Budget,
    thresholds: ListThresholds,
    lists: HashMap<Triple, OpenList, foldhash::fast::FixedState>,
    /// Size of all lists in bytes.
    bytes: usize,
    next_look: DocId,
    /// True if triples were met that have no list.
    is_full: bool,
}

impl TriplesBuilder {
    pub(super) fn new(budget: Budget, thresholds: &ListThresholds) -> TriplesBuilder {
        TriplesBuilder {
            budget,
            thresholds: *thresholds,
            lists: HashMap::default(),
            bytes: 0,
            next_look: 0,
            is_full: false,
        }
    }

    /// Documents ascend.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, triple: Triple, pairs: &PairLists) {
        if self.lists.len() >= self.thresholds.open_triples_max && !self.lists.contains_key(&triple) {
            self.is_full = true;
            return;
        }
        self.bytes += self.lists.entry(triple).or_default().push(doc, pairs.listed_max());
        if doc >= self.next_look || self.bytes > self.budget.open_bytes {
            self.close_rare(doc, pairs);
        }
    }

    /// Closes the lists of triples of which one pair is in too few of the documents so far: first in half as many as will
    /// be asked for, then in more and more until the lists have room again, at last all: what every document has would not
    /// be closed otherwise, and this would be called for each of them.
    #[cold]
    fn close_rare(&mut self, doc: DocId, pairs: &PairLists) {
        self.next_look = self.thresholds.triples_first_look.max(2 * doc);
        let mut share = 2 * CANDIDATES_SHARE;
        loop {
            let is_rare = |pair| share == 1 || pairs.doc_freq(pair) < doc / share;
            let rare = self.lists.iter_mut().filter(|(triple, _)| pairs.pairs_of(**triple).into_iter().any(is_rare));
            rare.for_each(|(_, list)| list.close());
            self.bytes = self.lists.values().map(OpenList::bytes).sum();
            if self.bytes <= self.budget.open_bytes / 2 || share == 1 {
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
        let least = self.thresholds.triple_candidates_min.max(pairs.doc_count / CANDIDATES_SHARE);
        let listed = |pair| (least..=pairs.listed_max()).contains(&pairs.doc_freq(pair));
        let mut entries: Vec<(Triple, bool, Vec<DocId>)> = Vec::new();
        for middle in 0..pairs.word_count {
            let word_pairs = |pair: &dyn Fn(usize) -> usize| -> Vec<(usize, DocSet)> {
                let mut words: Vec<usize> = (0..pairs.word_count).filter(|&word| listed(pair(word))).collect();
                words.sort_by_key(|&word| std::cmp::Reverse(pairs.doc_freq(pair(word))));
                words.truncate(NEIGHBOURS_MAX);
                words.into_iter().map(|word| (word, pairs.docs(pair(word)).into_bitset(pairs.doc_count))).collect()
            };
            let before = word_pairs(&|word| pairs.pair(word, middle));
            let behind = word_pairs(&|word| pairs.pair(middle, word));
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

#[cfg(test)]
mod tests {
    use super::super::tests::{builder, built, with_triples};
    use super::*;
    use crate::segment::format::SectionKind;
    use crate::segment::word_pairs::Known;
    use lamina_text::id::TermOrdinal;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const DOCS: u32 = 6000;

    #[test]
    fn the_example_says_what_it_should() {
        let pairs = with_triples();
        let known = |complement, docs: &[DocId]| {
            let documents = DocSet::from_sorted(docs.to_vec());
            Some(Known { documents, complement, cost: 0 })
        };
        assert_eq!(pairs.in_a_row([5, 3, 5]), known(true, &[20, 30]));
        assert_eq!(pairs.in_a_row([3, 5, 3]), known(false, &[]));
        assert_eq!(pairs.in_a_row([5, 5, 5]), None, "no document has its pairs");
        assert_eq!(pairs.in_a_row([5, 3, 4]), None, "no frequent word");
        assert_eq!(pairs.known_in_a_row().collect::<Vec<_>>(), [[3, 5, 3], [5, 3, 5]]);
        pairs.validate(10).unwrap();
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
            built(&[3, 5], DOCS, (0..).zip(docs.map(|run| vec![run])))
        };
        assert_eq!(pairs(true).next_doc_freq([5, 3]), Some(1001));
        assert_eq!(pairs(true).in_a_row([5, 3, 5]), None);
        let known = pairs(false).in_a_row([5, 3, 5]).unwrap();
        assert!(known.complement);
        assert!(known.documents.is_empty());
    }

    #[test]
    fn what_all_documents_say_does_not_fill_the_memory() {
        let boilerplate: Vec<TermOrdinal> =
            (2..10).flat_map(|word| [word, (word * 5) % 8 + 2, (word * 3) % 8 + 2]).collect();
        let mut builder = builder(&(2..10).collect::<Vec<_>>(), DOCS);
        for doc in 0..DOCS {
            builder.push(doc, &boilerplate);
            assert!(builder.triples.bytes() <= ListThresholds::SMALL.open_bytes_per_doc * DOCS as usize, "after {doc}");
        }
        let kinds: Vec<SectionKind> = builder.finish().into_iter().map(|(kind, _)| kind).collect();
        assert!(kinds.contains(&SectionKind::Pairs));
        assert!(!kinds.contains(&SectionKind::Triples));
    }

    proptest! {
        #[test]
        fn what_is_known_is_so(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..8, 1..12), 0..3), 1..400),
            few in any::<bool>(),
        ) {
            let words: &[TermOrdinal] = if few { &[2, 3, 7] } else { &[2, 3, 5, 7] };
            let pairs = built(words, 400, (0..).zip(docs.clone()));
            let mut held: BTreeMap<&[TermOrdinal], BTreeSet<DocId>> = BTreeMap::new();
            for (doc, runs) in (0..).zip(&docs) {
                runs.iter().flat_map(|run| run.windows(3)).for_each(|row| {
                    held.entry(row).or_default().insert(doc);
                });
            }
            pairs.validate(10).unwrap();
            for row in pairs.known_in_a_row() {
                prop_assert!(row.iter().all(|word| words.contains(word)));
                let both = pairs.next([row[0], row[1]]).unwrap().documents.and(&pairs.next([row[1], row[2]]).unwrap().documents);
                let known = pairs.in_a_row(row).unwrap();
                prop_assert!(2 * known.documents.len() <= both.len(), "the others are fewer");
                prop_assert!(both.len() >= ListThresholds::SMALL.triple_candidates_min);
                let mut having = both;
                known.narrow(&mut having);
                prop_assert_eq!(having.to_vec(), held.remove(&row[..]).unwrap_or_default().into_iter().collect::<Vec<_>>());
            }
        }
    }
}
