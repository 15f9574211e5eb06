//! "Which documents have these two frequent words next to each other?"
//!
//! Two words that most documents hold are the worst case of everything that looks at neighbours: phrases, words read as
//! two, and the order by proximity would have to scan the tokens of nearly every document. For the most frequent words of
//! a segment the documents of each pair of neighbours are therefore kept as a list of their own. There are few such
//! words, so the lists take one to two percent of the documents' size. Lists that would hold nearly all documents are
//! left out: they tell little.
//!
//! The layout is in `segment-format.md`.

use std::ops::Range;

use super::flagged_lists::FlaggedLists;
use super::followers::{self, Cells, CountedTerm, Followers, FollowersBuilder};

use super::near::{LastPlaces, Near, NearBuilder};
use super::triples::{InARow, TriplesBuilder};
use crate::bits::DocSet;
use crate::bits::varint::{put_varint, read_varint};
use crate::id::{DocId, GAP, TermOrdinal};
use crate::segment::error::Damage;
use crate::segment::postings::{List, put_plain_list};
use crate::storage::OwnedBytes;

/// Smaller segments have no pairs: all their documents are scanned in half a millisecond.
const DOCS_MIN: u32 = 4096;
/// Words of so many documents are frequent, within the shares below.
const FREQUENT_DOCS: u32 = 16_384;
/// Words of fewer than one document in this many are never frequent: their pairs would take too much room.
const FREQUENT_SHARE_MIN: u32 = 32;
/// Words of at least one document in this many always are.
const FREQUENT_SHARE_MAX: u32 = 12;
/// No more words than this are frequent.
pub(crate) const WORDS_MAX: usize = 192;
/// A pair that all but one document in this many have is not listed.
const WITHOUT_SHARE: u32 = 8;

/// The most documents that a listed pair has.
fn listed_max(doc_count: u32) -> u32 {
    doc_count - doc_count / WITHOUT_SHARE
}

/// Place of a word that is not frequent.
pub(super) const NOWHERE: u8 = u8::MAX;
const _: () = assert!(WORDS_MAX < NOWHERE as usize);

/// Collects the pairs, what [`TriplesBuilder`] and [`NearBuilder`] make of them, and the followers of their words, while
/// documents are written in order.
pub(crate) struct PairsBuilder {
    /// The frequent words.
    words: Vec<TermOrdinal>,
    /// By ordinal the place in `words`; empty when there are no pairs.
    places: Vec<u8>,
    pairs: PairLists,
    triples: TriplesBuilder,
    near: NearBuilder,
    followers: FollowersBuilder,
}

/// The documents of each pair so far. A pair is a number: that of its first word, by its place among the frequent ones,
/// times their number, plus that of the second word.
pub(super) struct PairLists {
    /// Of the segment.
    pub(super) doc_count: u32,
    pub(super) word_count: usize,
    lists: Vec<OpenList>,
}

impl PairLists {
    /// A pair that more documents have is not listed.
    pub(super) fn listed_max(&self) -> u32 {
        listed_max(self.doc_count)
    }

    pub(super) fn pair(&self, left: usize, right: usize) -> usize {
        left * self.word_count + right
    }

    /// The number of three words: that of the first two times the number of frequent words, plus that of the third.
    pub(super) fn triple(&self, pair: usize, last: usize) -> u32 {
        (pair * self.word_count + last) as u32
    }

    /// The two pairs of a triple.
    pub(super) fn pairs_of(&self, triple: u32) -> [usize; 2] {
        let left = triple as usize / self.word_count;
        [left, triple as usize % (self.word_count * self.word_count)]
    }

    /// How many documents have a pair; above [`PairLists::listed_max`], some more may.
    pub(super) fn doc_freq(&self, pair: usize) -> u32 {
        self.lists[pair].count
    }

    /// The documents of a listed pair.
    pub(super) fn docs(&self, pair: usize) -> DocSet {
        DocSet::from_sorted(self.lists[pair].docs(self.listed_max()).unwrap_or_default())
    }
}

/// Some documents, as distances.
#[derive(Clone, Default)]
pub(super) struct OpenList {
    /// The document after the last one.
    next: DocId,
    count: u32,
    gaps: Vec<u8>,
}

impl PairsBuilder {
    /// Chooses the frequent words among `by_frequency`: terms and their numbers of documents, falling. `terms`: all
    /// terms, in order.
    pub(crate) fn new(
        by_frequency: impl Iterator<Item = (TermOrdinal, u32)>,
        terms: impl Iterator<Item = CountedTerm>,
        doc_count: u32,
        ordinal_count: u32,
    ) -> PairsBuilder {
        let least = FREQUENT_DOCS.clamp(doc_count / FREQUENT_SHARE_MIN, doc_count / FREQUENT_SHARE_MAX);
        let words = by_frequency.take(WORDS_MAX).take_while(|&(_, docs)| doc_count >= DOCS_MIN && docs >= least);
        let words: Vec<_> = words.collect();
        let has_followers = !words.is_empty() && doc_count >= followers::DOCS_MIN;
        let cells = if has_followers { Cells::new(terms, doc_count) } else { Cells::default() };
        PairsBuilder::of(words, cells, doc_count, ordinal_count)
    }

    /// `words`: with their numbers of documents.
    pub(super) fn of(
        mut words: Vec<(TermOrdinal, u32)>,
        cells: Cells,
        doc_count: u32,
        ordinal_count: u32,
    ) -> PairsBuilder {
        words.sort_unstable();
        let (words, doc_freqs): (Vec<_>, Vec<_>) = words.into_iter().unzip();
        let mut places = Vec::new();
        if !words.is_empty() {
            places.resize(ordinal_count as usize, NOWHERE);
            (0..).zip(&words).for_each(|(place, &word)| places[word as usize] = place);
        }
        let lists = vec![OpenList::default(); words.len() * words.len()];
        let pairs = PairLists { doc_count, word_count: words.len(), lists };
        let near = NearBuilder::new(&doc_freqs, doc_count);
        let followers = FollowersBuilder::new(cells, &doc_freqs, doc_count, ordinal_count);
        PairsBuilder { words, places, pairs, triples: TriplesBuilder::default(), near, followers }
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
                let listed_max = self.pairs.listed_max();
                self.pairs.lists[pair].push(doc, listed_max);
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

    #[cfg(test)]
    pub(super) fn bytes_of_triples(&self) -> usize {
        self.triples.bytes()
    }

    #[cfg(test)]
    pub(super) fn bytes_of_near(&self) -> usize {
        self.near.bytes()
    }

    #[cfg(test)]
    pub(super) fn bytes_of_followers(&self) -> usize {
        self.followers.bytes()
    }

    #[cfg(test)]
    pub(super) fn followers_mut(&mut self) -> &mut FollowersBuilder {
        &mut self.followers
    }

    /// The sections of the pairs, of the triples, of the near pairs and of the followers; the first is there when any word
    /// is frequent.
    pub(crate) fn finish(self) -> [Option<Vec<u8>>; 4] {
        if self.words.is_empty() {
            return [None, None, None, None];
        }
        let mut section = Vec::new();
        put_varint(&mut section, self.words.len() as u64);
        let mut next = 0;
        for &word in &self.words {
            put_varint(&mut section, u64::from(word) - next);
            next = u64::from(word) + 1;
        }
        let met = || (0u64..).zip(&self.pairs.lists).filter(|(_, list)| list.count > 0);
        put_varint(&mut section, met().count() as u64);
        let mut lists = Vec::new();
        let mut next = 0;
        for (pair, list) in met() {
            put_varint(&mut section, pair - next);
            next = pair + 1;
            let Some(docs) = list.docs(self.pairs.listed_max()) else {
                put_varint(&mut section, 0);
                continue;
            };
            let start = lists.len();
            put_plain_list(&mut lists, &docs, self.pairs.doc_count);
            put_varint(&mut section, u64::from(list.count));
            put_varint(&mut section, (lists.len() - start) as u64);
        }
        section.extend_from_slice(&lists);
        let followers = self.followers.finish(self.pairs.doc_count);
        [Some(section), self.triples.finish(&self.pairs), self.near.finish(&self.pairs), followers]
    }
}

impl OpenList {
    /// Adds a document, unless there are more than `listed_max`; answers how many bytes were written.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, listed_max: u32) -> usize {
        if self.next == doc + 1 || self.count > listed_max {
            return 0;
        }
        let before = self.gaps.len();
        put_varint(&mut self.gaps, u64::from(doc - self.next));
        self.next = doc + 1;
        self.count += 1;
        let written = self.gaps.len() - before;
        if self.count > listed_max {
            self.gaps = Vec::new();
        }
        written
    }

    /// Forgets the documents, and all that come.
    pub(super) fn close(&mut self) {
        *self = OpenList { count: u32::MAX, ..OpenList::default() };
    }

    pub(super) fn bytes(&self) -> usize {
        self.gaps.len()
    }

    /// Of each document its distance from the one after the last, as a varint.
    pub(super) fn gaps(&self) -> &[u8] {
        &self.gaps
    }

    /// How many documents were added.
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    /// `None` when there are more than `listed_max`, or it was closed.
    pub(super) fn docs(&self, listed_max: u32) -> Option<Vec<DocId>> {
        if self.count > listed_max {
            return None;
        }
        let mut docs = Vec::with_capacity(self.count as usize);
        let (mut at, mut next) = (0, 0);
        while let Some(gap) = read_varint(&self.gaps, &mut at) {
            let doc = next + gap as DocId;
            docs.push(doc);
            next = doc + 1;
        }
        Some(docs)
    }
}

/// The pairs of a mapped segment: 16 bytes of heap for each pair that some document has, the lists in the file.
pub(crate) struct Pairs {
    bytes: OwnedBytes,
    words: Vec<TermOrdinal>,
    /// Pairs that some document has, ascending.
    entries: Vec<Entry>,
    /// By number of a triple and of a pair.
    triples: FlaggedLists,
    near: FlaggedLists,
    followers: Option<Followers>,
    doc_count: u32,
}

struct Entry {
    pair: u16,
    /// 0: not listed.
    doc_freq: u32,
    at: usize,
}

impl Pairs {
    /// Of a segment that has none.
    pub(crate) fn none() -> Pairs {
        let (bytes, words) = (OwnedBytes::from(Vec::new()), Vec::new());
        Pairs {
            bytes,
            words,
            entries: Vec::new(),
            triples: FlaggedLists::none(),
            near: FlaggedLists::none(),
            followers: None,
            doc_count: 0,
        }
    }

    pub(crate) fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Pairs, Damage> {
        Pairs::parse(bytes, doc_count).ok_or(Damage("the entries of the pairs are cut or out of range"))
    }

    /// Adds the section of the triples.
    pub(crate) fn add_triples(&mut self, bytes: OwnedBytes) -> Result<(), Damage> {
        self.triples = FlaggedLists::open(bytes, (self.words.len() as u64).pow(3), self.doc_count)?;
        Ok(())
    }

    /// Adds the section of the near pairs.
    pub(crate) fn add_near(&mut self, bytes: OwnedBytes) -> Result<(), Damage> {
        self.near = FlaggedLists::open(bytes, (self.words.len() as u64).pow(2), self.doc_count)?;
        Ok(())
    }

    /// Adds the section of the followers.
    pub(crate) fn add_followers(&mut self, bytes: OwnedBytes) -> Result<(), Damage> {
        self.followers = Some(Followers::open(bytes, self.words.len(), self.doc_count)?);
        Ok(())
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<Pairs> {
        let mut at = 0;
        let count = usize::try_from(read_varint(&bytes, &mut at)?).ok().filter(|&count| count <= WORDS_MAX)?;
        let mut words = Vec::with_capacity(count);
        let mut next = 0u64;
        for _ in 0..count {
            let word = next.checked_add(read_varint(&bytes, &mut at)?)?;
            words.push(TermOrdinal::try_from(word).ok()?);
            next = word + 1;
        }
        let pairs = (count * count) as u64;
        let entry_count = read_varint(&bytes, &mut at)?;
        let mut entries = Vec::new();
        let (mut next, mut list_at) = (0u64, 0usize);
        for _ in 0..entry_count {
            let pair = next.checked_add(read_varint(&bytes, &mut at)?).filter(|&pair| pair < pairs)?;
            next = pair + 1;
            let doc_freq = u32::try_from(read_varint(&bytes, &mut at)?).ok().filter(|&docs| docs <= doc_count)?;
            entries.push(Entry { pair: pair as u16, doc_freq, at: list_at });
            if doc_freq > 0 {
                list_at = list_at.checked_add(usize::try_from(read_varint(&bytes, &mut at)?).ok()?)?;
            }
        }
        if bytes.len() - at != list_at {
            return None;
        }
        entries.iter_mut().for_each(|entry| entry.at += at);
        let (triples, near) = (FlaggedLists::none(), FlaggedLists::none());
        Some(Pairs { bytes, words, entries, triples, near, followers: None, doc_count })
    }

    fn list(&self, entry: &Entry) -> List<'_> {
        List::plain(self.bytes.get(entry.at..).unwrap_or_default(), entry.doc_freq, self.doc_count)
    }

    /// `None`: not known. `Some(None)`: no document has the pair.
    fn find(&self, words: [TermOrdinal; 2]) -> Option<Option<List<'_>>> {
        let [left, right] = words.map(|word| self.words.binary_search(&word).ok());
        let pair = left? * self.words.len() + right?;
        match self.entries.binary_search_by_key(&pair, |entry| usize::from(entry.pair)) {
            Err(_) => Some(None),
            Ok(index) => {
                let entry = &self.entries[index];
                (entry.doc_freq > 0).then(|| Some(self.list(entry)))
            }
        }
    }

    /// The documents that have two words one right after the other in any field; `None` when that is not known.
    pub(crate) fn docs(&self, words: [TermOrdinal; 2]) -> Option<DocSet> {
        Some(self.find(words)?.map_or_else(DocSet::empty, List::to_set))
    }

    /// How many documents [`Pairs::docs`] has.
    pub(crate) fn doc_freq(&self, words: [TermOrdinal; 2]) -> Option<u32> {
        Some(self.find(words)?.map_or(0, |list| list.len()))
    }

    /// Which documents have three words one right after the other in any field, of those that have both pairs of them;
    /// `None` when that is not known.
    pub(crate) fn in_a_row(&self, words: [TermOrdinal; 3]) -> Option<InARow> {
        let [first, middle, last] = words.map(|word| self.words.binary_search(&word).ok());
        let count = self.words.len();
        self.triples.get(((first? * count + middle?) * count + last?) as u32).map(InARow::new)
    }

    /// The words of which [`Pairs::in_a_row`] is known.
    pub(crate) fn known_in_a_row(&self) -> impl Iterator<Item = [TermOrdinal; 3]> {
        let count = self.words.len();
        let places = self.triples.numbers().map(move |triple| triple as usize);
        places.map(move |triple| {
            [triple / count / count, triple / count % count, triple % count].map(|at| self.words[at])
        })
    }

    /// The documents that have the second word near the first; `None` when that is not known.
    pub(crate) fn near(&self, words: [TermOrdinal; 2]) -> Option<Near> {
        let [left, right] = words.map(|word| self.words.binary_search(&word).ok());
        self.near.get((left? * self.words.len() + right?) as u32).map(Near::new)
    }

    /// The words of which [`Pairs::near`] is known.
    pub(crate) fn known_near(&self) -> impl Iterator<Item = [TermOrdinal; 2]> {
        let count = self.words.len();
        let places = self.near.numbers().map(move |pair| pair as usize);
        places.map(move |pair| [pair / count, pair % count].map(|at| self.words[at]))
    }

    /// The documents in which a term of a range, or one that begins like these, comes right after a word in any field; `None`
    /// when that is not known.
    pub(crate) fn followed(&self, word: TermOrdinal, by: Range<TermOrdinal>) -> Option<DocSet> {
        let place = self.words.binary_search(&word).ok()?;
        self.followers.as_ref()?.docs(place as u8, by)
    }

    /// What is known of the terms that come right after frequent words.
    pub(crate) fn followers(&self) -> Option<&Followers> {
        self.followers.as_ref()
    }

    /// The frequent words, ascending.
    pub(crate) fn words(&self) -> &[TermOrdinal] {
        &self.words
    }

    /// Checks every list of the triples.
    pub(crate) fn validate_triples(&self) -> Result<(), Damage> {
        self.triples.validate()
    }

    /// Checks every list of the near pairs.
    pub(crate) fn validate_near(&self) -> Result<(), Damage> {
        self.near.validate()
    }

    /// Checks every list of the followers. `ordinal_count`: above all terms.
    pub(crate) fn validate_followers(&self, ordinal_count: u32) -> Result<(), Damage> {
        self.followers.as_ref().map_or(Ok(()), |followers| followers.validate(ordinal_count))
    }

    /// Checks every list of the pairs. `ordinal_count`: above all terms.
    pub(crate) fn validate(&self, ordinal_count: u32) -> Result<(), Damage> {
        let listed = self.entries.iter().filter(|entry| entry.doc_freq > 0);
        if self.words.last().is_none_or(|&last| last < ordinal_count)
            && listed.map(|e| self.list(e)).all(|l| l.is_valid(1))
        {
            Ok(())
        } else {
            Err(Damage("a list of a pair is cut, out of order or out of range"))
        }
    }
}

impl std::fmt::Debug for Pairs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pairs({} words, {} pairs)", self.words.len(), self.entries.len())
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words that all documents hold.
    pub(crate) fn everywhere(words: impl IntoIterator<Item = TermOrdinal>, doc_count: u32) -> Vec<(TermOrdinal, u32)> {
        words.into_iter().map(|word| (word, doc_count)).collect()
    }

    /// The pairs of some documents, and the sections of the triples and of the near pairs that they know.
    pub(crate) fn built(
        words: &[TermOrdinal],
        doc_count: u32,
        docs: impl IntoIterator<Item = (DocId, Vec<Vec<TermOrdinal>>)>,
    ) -> (Pairs, [Option<OwnedBytes>; 2]) {
        let mut builder =
            PairsBuilder::of(everywhere(words.iter().copied(), doc_count), Cells::default(), doc_count, 10);
        docs.into_iter().for_each(|(doc, runs)| runs.iter().for_each(|run| builder.push(doc, run)));
        opened(builder, doc_count)
    }

    /// What a builder has, as [`built`].
    pub(crate) fn opened(builder: PairsBuilder, doc_count: u32) -> (Pairs, [Option<OwnedBytes>; 2]) {
        let [pairs, triples, near, followers] = builder.finish().map(|section| section.map(OwnedBytes::from));
        let mut pairs = Pairs::open(pairs.expect("there are frequent words"), doc_count).unwrap();
        followers.iter().for_each(|followers| pairs.add_followers(followers.clone()).unwrap());
        triples.iter().for_each(|triples| pairs.add_triples(triples.clone()).unwrap());
        near.iter().for_each(|near| pairs.add_near(near.clone()).unwrap());
        (pairs, [triples, near])
    }

    /// The section of the worked example.
    pub(crate) fn example() -> OwnedBytes {
        let mut builder = PairsBuilder::of(everywhere([3, 5], 100), Cells::default(), 100, 8);
        builder.push(7, &[5, 3, 2, 3, 3]);
        builder.push(9, &[5, 3]);
        (12..100).for_each(|doc| builder.push(doc, &[3, 3]));
        OwnedBytes::from(builder.finish()[0].take().expect("there are frequent words"))
    }

    #[test]
    fn the_example_says_what_it_should() {
        let pairs = Pairs::open(example(), 100).unwrap();
        assert_eq!(pairs.words(), [3, 5]);
        assert_eq!(pairs.docs([5, 3]).unwrap().to_vec(), [7, 9]);
        assert_eq!(pairs.doc_freq([5, 3]), Some(2));
        assert_eq!(pairs.docs([3, 3]), None, "too many documents have it");
        assert_eq!(pairs.docs([3, 5]), Some(DocSet::empty()));
        assert_eq!(pairs.docs([3, 2]), None, "no frequent word");
        pairs.validate(8).unwrap();
        pairs.validate(5).unwrap_err();
    }

    #[test]
    fn frequent_words_are_chosen_by_their_share() {
        let words = |counts: &[u32], docs| {
            PairsBuilder::new((2..).zip(counts.iter().copied()), std::iter::empty(), docs, 1000).words
        };
        assert_eq!(words(&[90_000, 10_000, 9_999], 120_000), [2, 3]);
        assert_eq!(words(&[900_000, 31_250, 31_249], 1_000_000), [2, 3]);
        assert_eq!(words(&[20_000, 16_384, 16_383], 300_000), [2, 3]);
        assert!(words(&[4000], 4095).is_empty());
        assert_eq!(words(&[4000; 900], 8000).len(), WORDS_MAX);
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_documents(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..9, 1..8), 0..3), 1..400),
        ) {
            let doc_count = 400;
            let mut builder = PairsBuilder::of(everywhere([2, 3, 4, 7], doc_count), Cells::default(), doc_count, 9);
            let mut want = std::collections::BTreeMap::<[u32; 2], Vec<DocId>>::new();
            for (doc, runs) in (0..).zip(&docs) {
                for run in runs {
                    builder.push(doc, run);
                    run.windows(2).for_each(|pair| want.entry([pair[0], pair[1]]).or_default().push(doc));
                }
            }
            let pairs = Pairs::open(OwnedBytes::from(builder.finish()[0].take().unwrap()), doc_count).unwrap();
            pairs.validate(9).unwrap();
            for left in 0..9 {
                for right in 0..9 {
                    let mut want = want.remove(&[left, right]).unwrap_or_default();
                    want.dedup();
                    let known = [left, right].iter().all(|word| pairs.words().contains(word))
                        && want.len() as u32 <= listed_max(doc_count);
                    prop_assert_eq!(pairs.docs([left, right]).map(|docs| docs.to_vec()), known.then_some(want));
                }
            }
        }

        #[test]
        fn damaged_sections_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let mut example = example().to_vec();
            let at = cut % example.len();
            example[at] = bytes.first().copied().unwrap_or(0);
            for bytes in [bytes, example] {
                if let Ok(pairs) = Pairs::open(OwnedBytes::from(bytes), 50) {
                    let _ = pairs.validate(1000);
                    for (left, right) in [(0, 0), (3, 5), (5, 3)] {
                        let docs = pairs.docs([left, right]).unwrap_or_else(DocSet::empty);
                        prop_assert!(docs.len() <= 50);
                    }
                }
            }
        }
    }
}
