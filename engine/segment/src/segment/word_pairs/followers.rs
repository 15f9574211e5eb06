//! "Which documents have a word that begins like this right after that frequent word?"
//!
//! A prefix of one to three letters behind a frequent word is the other case in which the order by proximity has to read
//! nearly every document that holds both: few of the completions are frequent, so no pairs know which documents have one
//! of them next to the word. The terms of a segment are therefore cut into *cells*, ranges of ordinals of which the words
//! that begin with the same letters fill few, and for each of the most frequent words and each cell the documents are
//! listed in which a word of the cell follows it. Lists are left out that would be long or hold most of the documents
//! with both: then nothing is known of the cell.
//!
//! The layout is in `segment-format.md`.

use std::ops::Range;

use lamina_text::id::{DocId, FIRST_TERM, TermOrdinal};

use super::NOWHERE;
use super::budget::{Budget, price};
use super::cells::Cells;
use super::open_list::OpenList;
use crate::bits::monotone::{Monotone, put_monotone};
use crate::bits::varint::{put_varint, read_varint};
use crate::bits::{BitsetBuilder, DocSet};
use crate::segment::error::Damage;
use crate::storage::OwnedBytes;

/// No more words than this have followers: the most frequent ones.
const WORDS_MAX: usize = 64;
/// A list has at most this many documents,
const SHORT: u32 = 8;
/// or one in this many of those that hold both, as far as the counts of the words go.
const SPARING_SHARE: u32 = 16;
/// Bytes of the place of a list, about.
const BYTES_PER_LIST: usize = 1;

/// Collects the lists while documents are written in order. Memory: eight bytes a document, two a term, and 36 for each word
/// and cell.
pub(super) struct FollowersBuilder {
    cells: Cells,
    /// By ordinal its cell.
    cell_of: Vec<u16>,
    /// By the place of a frequent word the number of its first list.
    first_lists: Vec<Option<u32>>,
    /// The places of the words that have followers, ascending.
    words: Vec<u8>,
    lists: Vec<OpenList>,
    /// By list how many documents hold the word and one of the cell, about.
    holding: Vec<u32>,
    /// Size of the lists in bytes.
    bytes: usize,
    budget: Budget,
    /// One in this many of those that hold both may be listed,
    share: u32,
    /// and this many always.
    short: u32,
}

impl FollowersBuilder {
    /// `doc_freqs`: of the frequent words, by place.
    pub(super) fn new(
        cells: Cells,
        doc_freqs: &[u32],
        doc_count: u32,
        ordinal_count: u32,
        budget: Budget,
    ) -> FollowersBuilder {
        let mut words: Vec<u8> = (0..doc_freqs.len() as u8).collect();
        words.sort_by_key(|&place| std::cmp::Reverse(doc_freqs[usize::from(place)]));
        words.truncate(if cells.starts.is_empty() { 0 } else { WORDS_MAX });
        words.sort_unstable();
        let mut first_lists = vec![None; usize::from(NOWHERE) + 1];
        let mut holding = Vec::with_capacity(words.len() * cells.starts.len());
        for &place in &words {
            first_lists[usize::from(place)] = Some(holding.len() as u32);
            let of_word = u64::from(doc_freqs[usize::from(place)]);
            let doc_count = u64::from(doc_count.max(1));
            holding
                .extend(cells.doc_freqs.iter().map(|&of_cell| (of_word * of_cell.min(doc_count) / doc_count) as u32));
        }
        let mut cell_of = Vec::new();
        if !words.is_empty() {
            cell_of.reserve(ordinal_count as usize);
            let ends = cells.starts.iter().skip(1).copied().chain([ordinal_count]);
            // Ordinals before the first term are not asked for.
            (0..).zip(ends).for_each(|(cell, end)| cell_of.resize(end as usize, cell));
        }
        let lists = vec![OpenList::default(); holding.len()];
        FollowersBuilder {
            cells,
            cell_of,
            first_lists,
            words,
            lists,
            holding,
            bytes: 0,
            budget,
            share: SPARING_SHARE,
            short: SHORT,
        }
    }

    /// A term right behind the frequent word at a place; documents ascend.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, place: u8, follower: TermOrdinal) {
        let (Some(first), true) = (self.first_lists[usize::from(place)], follower >= FIRST_TERM) else { return };
        let Some(&cell) = self.cell_of.get(follower as usize) else { return };
        let at = first as usize + usize::from(cell);
        let most = self.most(at);
        let list = &mut self.lists[at];
        let before = list.bytes();
        list.push(doc, most);
        self.bytes = self.bytes + list.bytes() - before;
        while self.bytes > self.budget.open_bytes {
            self.close_longest();
        }
    }

    /// The most documents that a list has.
    #[inline]
    fn most(&self, list: usize) -> u32 {
        self.short.max(self.holding[list] / self.share)
    }

    /// Closes those lists that spare least.
    #[cold]
    fn close_longest(&mut self) {
        let before = self.bytes;
        self.share = self.share.saturating_mul(2);
        self.close_too_long();
        if self.bytes == before {
            // Short ones fill the memory of a small segment.
            self.short /= 2;
            self.close_too_long();
        }
    }

    fn close_too_long(&mut self) {
        for at in 0..self.lists.len() {
            if self.lists[at].len() > self.most(at) && self.lists[at].bytes() > 0 {
                self.close(at);
            }
        }
    }

    fn close(&mut self, list: usize) {
        self.bytes -= self.lists[list].bytes();
        self.lists[list].close();
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        assert_eq!(self.lists.iter().map(OpenList::bytes).sum::<usize>(), self.bytes);
        self.bytes
    }

    /// The section; `None` when nothing is listed.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        self.leave_out_longest();
        if self.words.is_empty() {
            return None;
        }
        let mut section = vec![self.words.len() as u8];
        section.extend_from_slice(&self.words);
        let starts: Vec<u64> = self.cells.starts.iter().map(|&start| start.into()).collect();
        put_monotone(&mut section, &starts);
        let (mut lists, mut ends) = (Vec::new(), vec![0]);
        for (at, list) in self.lists.iter().enumerate() {
            if list.len() > self.most(at) {
                put_varint(&mut lists, 0);
            } else if list.len() > 0 {
                put_varint(&mut lists, list.len().into());
                lists.extend_from_slice(list.gaps());
            }
            ends.push(lists.len() as u64);
        }
        put_monotone(&mut section, &ends);
        section.extend_from_slice(&lists);
        Some(section)
    }

    /// Closes lists that are not short, until what is left has room: those first that spare least for their size.
    fn leave_out_longest(&mut self) {
        let mut room = self.budget.bytes.saturating_sub(BYTES_PER_LIST * self.lists.len());
        let mut long = Vec::new();
        for (at, list) in self.lists.iter().enumerate().filter(|&(at, list)| list.len() <= self.most(at)) {
            if list.len() <= self.short {
                room = room.saturating_sub(list.bytes());
            } else {
                long.push((price(list.bytes(), self.holding[at], list.len()), at));
            }
        }
        long.sort_unstable();
        for (_, at) in long {
            match room.checked_sub(self.lists[at].bytes()) {
                Some(left) => room = left,
                None => self.close(at),
            }
        }
    }
}

/// The lists of a mapped segment: some hundred bytes of heap.
pub(crate) struct Followers {
    bytes: OwnedBytes,
    /// Positions of the words among the frequent words.
    places: Vec<u8>,
    starts: Monotone,
    ends: Monotone,
    /// Offsets of `starts`, `ends` and the lists.
    at: [usize; 3],
    doc_count: u32,
}

impl Followers {
    /// `frequent`: the number of frequent words.
    pub(super) fn open(bytes: OwnedBytes, frequent: usize, doc_count: u32) -> Result<Followers, Damage> {
        Followers::parse(bytes, frequent, doc_count).ok_or(Damage("the followers are cut or out of range"))
    }

    fn parse(bytes: OwnedBytes, frequent: usize, doc_count: u32) -> Option<Followers> {
        let count = usize::from(*bytes.first()?);
        let places = bytes.get(1..1 + count)?.to_vec();
        if !places.is_sorted_by(|a, b| a < b) || places.last().is_some_and(|&last| usize::from(last) >= frequent) {
            return None;
        }
        let starts_at = 1 + count;
        let starts = Monotone::open(bytes.get(starts_at..)?)?;
        let ends_at = starts_at + starts.byte_len();
        let ends = Monotone::open(bytes.get(ends_at..)?)?;
        let lists_at = ends_at + ends.byte_len();
        let lists = starts.len().checked_mul(count)?;
        let end = ends.get(bytes.get(ends_at..)?, lists);
        let is_whole = ends.len() == lists + 1 && end == (bytes.len() - lists_at) as u64;
        is_whole.then_some(Followers { bytes, places, starts, ends, at: [starts_at, ends_at, lists_at], doc_count })
    }

    /// The number of the list of a word, by its place among the frequent ones, and the cell that has `term`.
    pub(crate) fn list_of(&self, place: u8, term: TermOrdinal) -> Option<usize> {
        let row = self.places.binary_search(&place).ok()?;
        let starts = self.bytes.get(self.at[0]..).unwrap_or_default();
        let cell = self.starts.partition_point(starts, |start| start <= term.into()).checked_sub(1)?;
        Some(row * self.starts.len() + cell)
    }

    /// Documents that have a term of the range, or one that is in a cell with these, right after a word; `None` when that
    /// is not known. Cost: some nanoseconds for each of them.
    pub(crate) fn docs(&self, place: u8, terms: Range<TermOrdinal>) -> Option<DocSet> {
        let last = terms.end.checked_sub(1).filter(|&last| last >= terms.start)?;
        let lists = self.list_of(place, terms.start)?..self.list_of(place, last)? + 1;
        if lists.clone().any(|list| self.bytes_of(list).first() == Some(&0)) {
            return None;
        }
        let mut docs = BitsetBuilder::new(self.doc_count);
        for list in lists {
            self.for_each(list, |doc| docs.insert(doc))?;
        }
        Some(docs.finish())
    }

    /// The numbers of the lists whose documents are known, and these.
    pub(crate) fn known(&self) -> impl Iterator<Item = (usize, DocSet)> {
        (0..self.places.len() * self.starts.len()).filter_map(|list| {
            let mut docs = Vec::new();
            self.for_each(list, |doc| docs.push(doc))?;
            Some((list, DocSet::from_sorted(docs)))
        })
    }

    fn bytes_of(&self, list: usize) -> &[u8] {
        let [_, ends_at, lists_at] = self.at;
        let [start, end] = self.ends.get_two(self.bytes.get(ends_at..).unwrap_or_default(), list);
        self.bytes.get(lists_at..).and_then(|lists| lists.get(start as usize..end as usize)).unwrap_or_default()
    }

    /// Calls `f` with each document of a list. Returns `None` when its documents are not stored, or a damaged one ends early or says more than there can be.
    fn for_each(&self, list: usize, mut f: impl FnMut(DocId)) -> Option<()> {
        let bytes = self.bytes_of(list);
        if bytes.is_empty() {
            return Some(());
        }
        let (mut at, mut next) = (0, 0u64);
        let count = read_varint(bytes, &mut at).filter(|&count| count > 0)?;
        for _ in 0..count {
            let doc = next.checked_add(read_varint(bytes, &mut at)?).filter(|&doc| doc < self.doc_count.into())?;
            f(doc as DocId);
            next = doc + 1;
        }
        (at == bytes.len()).then_some(())
    }

    /// Checks every list. `ordinal_count`: above all terms.
    pub(crate) fn validate(&self, ordinal_count: u32) -> Result<(), Damage> {
        let starts = self.bytes.get(self.at[0]..).unwrap_or_default();
        let starts: Vec<u64> = (0..self.starts.len()).map(|cell| self.starts.get(starts, cell)).collect();
        let cells_are_sound = starts.first().is_none_or(|&first| first == u64::from(FIRST_TERM))
            && starts.is_sorted_by(|a, b| a < b)
            && starts.last().is_none_or(|&last| last < u64::from(ordinal_count));
        let mut lists = 0..self.places.len() * starts.len();
        if cells_are_sound && lists.all(|list| self.bytes_of(list) == [0] || self.for_each(list, |_| {}).is_some()) {
            Ok(())
        } else {
            Err(Damage("a list of followers or a cell is cut, out of order or out of range"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::builder::WordPairsBuilder;
    use super::super::tests::{CELL_STARTS, ORDINALS, cells, everywhere, example, followers_builder, opened};
    use super::*;
    use crate::segment::ListThresholds;
    use crate::segment::format::SectionKind;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn word_pairs_builder(
        words: Vec<(TermOrdinal, u32)>,
        cells: Cells,
        doc_count: u32,
        ordinal_count: u32,
    ) -> WordPairsBuilder {
        WordPairsBuilder::of(words, cells, doc_count, ordinal_count, &ListThresholds::SMALL)
    }

    #[test]
    fn the_example_says_what_it_should() {
        let followers = Followers::open(example(SectionKind::Followers), 2, 100).unwrap();
        let docs = |place, terms| followers.docs(place, terms).map(|docs| docs.to_vec());
        assert_eq!(docs(1, 5..6), Some(vec![7, 9]));
        assert_eq!(docs(1, 2..8), Some(vec![7, 9]));
        assert_eq!(docs(0, 3..4), Some(vec![7]), "not with a gap between");
        assert_eq!(docs(0, 2..3), Some(vec![7]), "a word of the same cell");
        assert_eq!(docs(0, 5..6), Some(vec![]));
        assert_eq!([docs(0, 6..8), docs(0, 2..8)], [None, None], "more than a list has");
        assert_eq!([docs(2, 2..3), docs(0, 2..2), docs(0, 0..1)], [None, None, None]);
        followers.validate(8).unwrap();
        followers.validate(6).unwrap_err();
    }

    #[test]
    fn lists_spare_enough_of_the_documents_with_both_words() {
        let is_known = |holding: u32, following: u32| {
            let cells = cells(&[("a", 6000), ("b", holding)], 6000);
            let mut builder = word_pairs_builder(vec![(2, 6000)], cells, 6000, 4);
            (0..following).for_each(|doc| builder.push(doc, &[2, 3]));
            opened(builder, 6000).next_in(2, 3..4).is_some()
        };
        let most = 3200 / SPARING_SHARE;
        assert!(is_known(3200, most));
        assert!(!is_known(3200, most + 1), "too many of them");
        assert!(!is_known(1600, most));
        assert!(is_known(20, SHORT), "short ones are listed");
        assert!(!is_known(20, SHORT + 1), "short ones are listed");
    }

    #[test]
    fn only_the_most_frequent_words_have_followers() {
        const COUNT: u32 = WORDS_MAX as u32 + 5;
        let words = (2..2 + COUNT).map(|word| (word, 100 + word)).collect();
        let terms = (0..COUNT).map(|_| ("a", 1)).collect::<Vec<_>>();
        let mut builder = word_pairs_builder(words, cells(&terms, 1000), 1000, FIRST_TERM + COUNT);
        (2..1 + COUNT).for_each(|word| builder.push(word, &[word, word + 1]));
        let pairs = opened(builder, 1000);
        let known: Vec<bool> = (2..2 + COUNT).map(|word| pairs.next_in(word, 2..3).is_some()).collect();
        assert_eq!(known, (0..COUNT).map(|at| at >= 5).collect::<Vec<_>>());
    }

    #[test]
    fn many_lists_do_not_fill_the_memory_and_those_that_spare_more_come_first() {
        const DOCS: u32 = 20_000;
        const TERM_COUNT: u32 = 1000;
        let terms: Vec<String> = (0..TERM_COUNT).map(|at| format!("{at:03}")).collect();
        // Cells of ten words of the first kind are said to be in most documents, those of the second in few.
        let doc_freq = |at: u32| if (at / 10).is_multiple_of(2) { DOCS / 12 } else { DOCS / 60 };
        let terms: Vec<(&str, u32)> = terms.iter().map(String::as_str).zip((0..).map(doc_freq)).collect();
        let words: Vec<TermOrdinal> = (2..2 + TERM_COUNT).step_by(100).collect();
        let frequent = everywhere(words.iter().copied(), DOCS);
        let mut builder = word_pairs_builder(frequent, cells(&terms, 1_000_000), DOCS, FIRST_TERM + TERM_COUNT);
        let budget = Budget::new(DOCS, &ListThresholds::SMALL);
        let mut random = 1u64;
        for doc in 0..DOCS {
            let mut next = || {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) as usize
            };
            let run: Vec<TermOrdinal> = (0..6)
                .flat_map(|_| [words[next() % words.len()], FIRST_TERM + (next() % TERM_COUNT as usize) as u32])
                .collect();
            builder.push(doc, &run);
            assert!(builder.followers.bytes() <= budget.open_bytes, "after {doc}");
        }
        let mut builder = builder;
        builder.followers.leave_out_longest();
        assert!(builder.followers.bytes() <= budget.bytes);
        let pairs = opened(builder, DOCS);
        let known = |kind: u32| {
            let at = (0..TERM_COUNT).filter(move |at| at / 10 % 2 == kind).map(|at| FIRST_TERM + at);
            at.flat_map(|term| words.iter().map(move |&word| (word, term)))
                .filter(|&(word, term)| pairs.next_in(word, term..term + 1).is_some())
                .count()
        };
        assert!(known(0) > 4 * known(1), "{} and {}", known(0), known(1));
    }

    #[test]
    fn short_lists_do_not_fill_the_memory_of_a_small_segment() {
        const DOCS: u32 = 40;
        let terms: Vec<String> = (0..600).map(|at| format!("{at:03}")).collect();
        let terms: Vec<(&str, u32)> = terms.iter().map(|term| (term.as_str(), 1)).collect();
        let mut builder = word_pairs_builder(everywhere(2..20, DOCS), cells(&terms, 64), DOCS, FIRST_TERM + 600);
        let budget = Budget::new(DOCS, &ListThresholds::SMALL);
        for doc in 0..DOCS {
            for word in 2..20 {
                for follower in 20..600 {
                    builder.push(doc, &[word, follower]);
                }
                assert!(builder.followers.bytes() <= budget.open_bytes, "after {doc}");
            }
        }
        assert_eq!(opened(builder, DOCS).next_in(2, 20..21), None);
    }

    proptest! {
        #[test]
        fn what_is_known_is_so(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..ORDINALS, 1..8), 0..3), 1..300),
        ) {
            let words = [2, 4, 5];
            let doc_count = 300;
            let mut builder = followers_builder(&words, doc_count);
            let mut held: BTreeMap<(TermOrdinal, usize), BTreeSet<DocId>> = BTreeMap::new();
            let cell = |term: TermOrdinal| CELL_STARTS.partition_point(|&start| start <= term) - 1;
            // Only one of the cells is in so many documents that more than a short list spares some.
            let most = [SHORT, SHORT.max(160 / SPARING_SHARE), SHORT];
            for (doc, run) in (0..).zip(&docs).flat_map(|(doc, runs)| runs.iter().map(move |run| (doc, run))) {
                builder.push(doc, run);
                for pair in run.windows(2).filter(|pair| words.contains(&pair[0]) && pair[1] >= FIRST_TERM) {
                    held.entry((pair[0], cell(pair[1]))).or_default().insert(doc);
                }
            }
            let pairs = opened(builder, doc_count);
            pairs.validate(ORDINALS).unwrap();
            for word in 0..ORDINALS {
                for (start, end) in (FIRST_TERM..ORDINALS).flat_map(|start| (start + 1..=ORDINALS).map(move |end| (start, end))) {
                    let cells = cell(start)..=cell(end - 1);
                    let list = |cell| held.get(&(word, cell)).cloned().unwrap_or_default();
                    let is_known = words.contains(&word) && cells.clone().all(|cell| list(cell).len() as u32 <= most[cell]);
                    let expected: BTreeSet<DocId> = cells.flat_map(list).collect();
                    let found = pairs.next_in(word, start..end).map(|known| known.documents.to_vec());
                    prop_assert_eq!(found, is_known.then(|| expected.into_iter().collect::<Vec<_>>()));
                }
            }
        }

        #[test]
        fn damaged_sections_are_survived(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            at in any::<prop::sample::Index>(),
        ) {
            let mut damaged = example(SectionKind::Followers).to_vec();
            let at = at.index(damaged.len());
            damaged[at] = bytes.first().copied().unwrap_or(0);
            for bytes in [bytes, damaged] {
                if let Ok(followers) = Followers::open(OwnedBytes::from(bytes), 2, 50) {
                    let _ = followers.validate(8);
                    for (place, start) in [(0, 2), (1, 5), (1, 7)] {
                        prop_assert!(followers.docs(place, start..8).is_none_or(|docs| docs.iter().all(|doc| doc < 50)));
                    }
                }
            }
        }
    }
}
