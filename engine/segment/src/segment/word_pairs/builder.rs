//! Collects the pairs of frequent words while documents are written.

use lamina_text::id::{DocId, GAP, TermOrdinal};

use super::budget::Budget;
use super::cells::{Cells, CountedTerm};
use super::followers::FollowersBuilder;
use super::near::{LastPlaces, NearBuilder};
use super::pairs::PairLists;
use super::triples::TriplesBuilder;
use super::{FREQUENT_WORDS_MAX, NOWHERE};
use crate::segment::ListThresholds;
use crate::segment::format::SectionKind;

/// Smaller segments have no pairs: all their documents are scanned in half a millisecond.
const DOCS_MIN: u32 = 4096;
/// Words of so many documents are frequent, within the shares below.
const FREQUENT_DOCS: u32 = 16_384;
/// Words of fewer than one document in this many are never frequent: their pairs would take too much room.
const FREQUENT_SHARE_MIN: u32 = 32;
/// Words of at least one document in this many always are.
const FREQUENT_SHARE_MAX: u32 = 12;

/// Collects all lists of word pairs in one pass over the tokens of documents in order.
pub(crate) struct WordPairsBuilder {
    /// The frequent words, ascending.
    pub(super) words: Vec<TermOrdinal>,
    /// By ordinal the place in `words`; empty when no word is frequent.
    places: Vec<u8>,
    pairs: PairLists,
    pub(super) triples: TriplesBuilder,
    pub(super) near: NearBuilder,
    pub(super) followers: FollowersBuilder,
}

impl WordPairsBuilder {
    /// Chooses the frequent words among `by_frequency`: terms and their numbers of documents, falling. `terms`: all
    /// terms, in order.
    pub(crate) fn new(
        by_frequency: impl Iterator<Item = (TermOrdinal, u32)>,
        terms: impl Iterator<Item = CountedTerm>,
        doc_count: u32,
        ordinal_count: u32,
        thresholds: &ListThresholds,
    ) -> WordPairsBuilder {
        let least = FREQUENT_DOCS.clamp(doc_count / FREQUENT_SHARE_MIN, doc_count / FREQUENT_SHARE_MAX);
        let is_frequent = |&(_, docs): &(TermOrdinal, u32)| doc_count >= DOCS_MIN && docs >= least;
        let words: Vec<_> = by_frequency.take(FREQUENT_WORDS_MAX).take_while(is_frequent).collect();
        let has_followers = !words.is_empty() && doc_count >= thresholds.followers_docs_min;
        let cells = if has_followers { Cells::new(terms, doc_count) } else { Cells::default() };
        WordPairsBuilder::of(words, cells, doc_count, ordinal_count, thresholds)
    }

    /// `words`: with their numbers of documents.
    pub(super) fn of(
        mut words: Vec<(TermOrdinal, u32)>,
        cells: Cells,
        doc_count: u32,
        ordinal_count: u32,
        thresholds: &ListThresholds,
    ) -> WordPairsBuilder {
        words.sort_unstable();
        let (words, doc_freqs): (Vec<_>, Vec<_>) = words.into_iter().unzip();
        let mut places = Vec::new();
        if !words.is_empty() {
            places.resize(ordinal_count as usize, NOWHERE);
            (0..).zip(&words).for_each(|(place, &word)| places[word as usize] = place);
        }
        let budget = Budget::new(doc_count, thresholds);
        WordPairsBuilder {
            pairs: PairLists::new(words.len(), doc_count),
            triples: TriplesBuilder::new(budget, thresholds),
            near: NearBuilder::new(&doc_freqs, doc_count, budget, thresholds),
            followers: FollowersBuilder::new(cells, &doc_freqs, doc_count, ordinal_count, budget),
            words,
            places,
        }
    }

    /// The tokens of a field; documents ascend.
    #[inline]
    pub(crate) fn push(&mut self, doc: DocId, run: &[TermOrdinal]) {
        if self.words.is_empty() {
            return;
        }
        let mut left = NOWHERE;
        let mut places = LastPlaces::NONE;
        // That of the two words before, when both are frequent.
        let mut last_pair = None;
        for &token in run {
            let right = self.places[token as usize];
            if left != NOWHERE {
                self.followers.push(doc, left, token);
            }
            if left == NOWHERE || right == NOWHERE {
                last_pair = None;
            } else {
                let pair = self.pairs.pair(usize::from(left), usize::from(right));
                self.pairs.push(doc, pair);
                if let Some(before) = last_pair.replace(pair) {
                    self.triples.push(doc, self.pairs.triple(before, usize::from(right)), &self.pairs);
                }
            }
            left = right;
            places.push(right);
            if right != NOWHERE {
                self.near.push(doc, places, &self.pairs);
            } else if token == GAP {
                places = LastPlaces::NONE;
            }
        }
    }

    /// The sections, in the order in which they are written: none when no word is frequent, else those of the pairs, and of the
    /// others that have a list.
    pub(crate) fn finish(self) -> Vec<(SectionKind, Vec<u8>)> {
        if self.words.is_empty() {
            return Vec::new();
        }
        let followers = self.followers.finish();
        let sections = [
            (SectionKind::Pairs, Some(self.pairs.section(&self.words))),
            (SectionKind::Triples, self.triples.finish(&self.pairs)),
            (SectionKind::NearPairs, self.near.finish(&self.pairs)),
            (SectionKind::Followers, followers),
        ];
        sections.into_iter().filter_map(|(kind, section)| Some((kind, section?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_words_are_chosen_by_their_share() {
        let words = |counts: &[u32], docs| {
            let by_frequency = (2..).zip(counts.iter().copied());
            WordPairsBuilder::new(by_frequency, std::iter::empty(), docs, 1000, &ListThresholds::default()).words
        };
        assert_eq!(words(&[90_000, 10_000, 9_999], 120_000), [2, 3]);
        assert_eq!(words(&[900_000, 31_250, 31_249], 1_000_000), [2, 3]);
        assert_eq!(words(&[20_000, 16_384, 16_383], 300_000), [2, 3]);
        assert!(words(&[4000], 4095).is_empty());
        assert_eq!(words(&[4000; 900], 8000).len(), FREQUENT_WORDS_MAX);
    }
}
