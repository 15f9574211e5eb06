//! "Which documents have these two frequent words next to each other?"
//!
//! Two words that most documents hold are the worst case of everything that looks at neighbours: phrases, words read as
//! two, and the order by proximity would have to scan the tokens of nearly every document. For the most frequent words of
//! a segment the documents of each pair of neighbours are therefore kept as a list of their own. There are few such
//! words, so the lists take one to two percent of the documents' size. Lists that would hold nearly all documents are
//! left out: they exclude little.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::{DocId, TermOrdinal};

use super::FREQUENT_WORDS_MAX;
use super::open_list::OpenList;
use crate::bits::DocSet;
use crate::bits::varint::{put_varint, read_varint};
use crate::segment::error::Damage;
use crate::segment::postings::{List, put_plain_list};
use crate::storage::OwnedBytes;

/// A pair that all but one document in this many have is not listed.
const WITHOUT_SHARE: u32 = 8;

/// The most documents that a listed pair has.
fn listed_max(doc_count: u32) -> u32 {
    doc_count - doc_count / WITHOUT_SHARE
}

/// The documents of each pair so far. A pair is a number: that of its first word, by its place among the frequent ones,
/// times their number, plus that of the second word.
pub(super) struct PairLists {
    /// Number of documents in the segment.
    pub(super) doc_count: u32,
    pub(super) word_count: usize,
    lists: Vec<OpenList>,
}

impl PairLists {
    pub(super) fn new(word_count: usize, doc_count: u32) -> PairLists {
        PairLists { doc_count, word_count, lists: vec![OpenList::default(); word_count * word_count] }
    }

    /// Adds a document that has a pair; documents ascend.
    #[inline]
    pub(super) fn push(&mut self, doc: DocId, pair: usize) {
        let listed_max = self.listed_max();
        self.lists[pair].push(doc, listed_max);
    }

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

    /// Returns the number of documents that contain a pair. Above [`PairLists::listed_max`] it is a lower bound.
    pub(super) fn doc_freq(&self, pair: usize) -> u32 {
        self.lists[pair].len()
    }

    /// The documents of a listed pair.
    pub(super) fn docs(&self, pair: usize) -> DocSet {
        DocSet::from_sorted(self.lists[pair].docs(self.listed_max()).unwrap_or_default())
    }

    /// The section. `words`: the frequent ones.
    pub(super) fn section(&self, words: &[TermOrdinal]) -> Vec<u8> {
        let mut section = Vec::new();
        put_varint(&mut section, words.len() as u64);
        let mut next = 0;
        for &word in words {
            put_varint(&mut section, u64::from(word) - next);
            next = u64::from(word) + 1;
        }
        let met = || (0u64..).zip(&self.lists).filter(|(_, list)| list.len() > 0);
        put_varint(&mut section, met().count() as u64);
        let mut lists = Vec::new();
        let mut next = 0;
        for (pair, list) in met() {
            put_varint(&mut section, pair - next);
            next = pair + 1;
            let Some(docs) = list.docs(self.listed_max()) else {
                put_varint(&mut section, 0);
                continue;
            };
            let start = lists.len();
            put_plain_list(&mut lists, &docs, self.doc_count);
            put_varint(&mut section, u64::from(list.len()));
            put_varint(&mut section, (lists.len() - start) as u64);
        }
        section.extend_from_slice(&lists);
        section
    }
}

/// The pairs of a mapped segment: 16 bytes of heap for each pair that some document has, the lists in the file.
pub(super) struct StoredPairs {
    bytes: OwnedBytes,
    words: Vec<TermOrdinal>,
    /// Pairs that some document has, ascending.
    entries: Vec<PairEntry>,
    doc_count: u32,
}

struct PairEntry {
    pair: u16,
    /// 0: not listed.
    doc_freq: u32,
    at: usize,
}

impl StoredPairs {
    /// Returns the pairs of a segment that has none.
    pub(super) fn none() -> StoredPairs {
        StoredPairs { bytes: OwnedBytes::from(Vec::new()), words: Vec::new(), entries: Vec::new(), doc_count: 0 }
    }

    pub(super) fn open(bytes: OwnedBytes, doc_count: u32) -> Result<StoredPairs, Damage> {
        StoredPairs::parse(bytes, doc_count).ok_or(Damage("the entries of the pairs are cut or out of range"))
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<StoredPairs> {
        let mut at = 0;
        let count = usize::try_from(read_varint(&bytes, &mut at)?).ok().filter(|&count| count <= FREQUENT_WORDS_MAX)?;
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
            entries.push(PairEntry { pair: pair as u16, doc_freq, at: list_at });
            if doc_freq > 0 {
                list_at = list_at.checked_add(usize::try_from(read_varint(&bytes, &mut at)?).ok()?)?;
            }
        }
        if bytes.len() - at != list_at {
            return None;
        }
        entries.iter_mut().for_each(|entry| entry.at += at);
        Some(StoredPairs { bytes, words, entries, doc_count })
    }

    fn list(&self, entry: &PairEntry) -> List<'_> {
        List::plain(self.bytes.get(entry.at..).unwrap_or_default(), entry.doc_freq, self.doc_count)
    }

    /// The list of two words by their places; `None`: not known, `Some(None)`: no document has the pair.
    pub(super) fn find(&self, [left, right]: [usize; 2]) -> Option<Option<List<'_>>> {
        let pair = left * self.words.len() + right;
        match self.entries.binary_search_by_key(&pair, |entry| usize::from(entry.pair)) {
            Err(_) => Some(None),
            Ok(index) => {
                let entry = &self.entries[index];
                (entry.doc_freq > 0).then(|| Some(self.list(entry)))
            }
        }
    }

    /// The frequent words, ascending.
    pub(super) fn words(&self) -> &[TermOrdinal] {
        &self.words
    }

    /// Checks every list of the pairs. `ordinal_count`: above all terms.
    pub(super) fn validate(&self, ordinal_count: u32) -> Result<(), Damage> {
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

#[cfg(test)]
mod tests {
    use super::super::tests::{builder, example, opened, pairs_builder as example_builder};
    use super::*;
    use crate::segment::format::SectionKind;
    use proptest::prelude::*;

    #[test]
    fn the_example_says_what_it_should() {
        let pairs = opened(example_builder(), 100);
        let docs = |words| pairs.next(words).map(|known| known.documents.to_vec());
        assert_eq!(pairs.words(), [3, 5]);
        assert_eq!(docs([5, 3]).unwrap(), [7, 9]);
        assert_eq!(pairs.next_doc_freq([5, 3]), Some(2));
        assert_eq!(docs([3, 3]), None, "too many documents have it");
        assert_eq!(docs([3, 5]), Some(vec![]));
        assert_eq!(docs([3, 2]), None, "no frequent word");
        pairs.validate(8).unwrap();
        pairs.validate(5).unwrap_err();
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_the_documents(
            docs in prop::collection::vec(prop::collection::vec(prop::collection::vec(0u32..9, 1..8), 0..3), 1..400),
        ) {
            let doc_count = 400;
            let mut builder = builder(&[2, 3, 4, 7], doc_count);
            let mut want = std::collections::BTreeMap::<[u32; 2], Vec<DocId>>::new();
            for (doc, runs) in (0..).zip(&docs) {
                for run in runs {
                    builder.push(doc, run);
                    run.windows(2).for_each(|pair| want.entry([pair[0], pair[1]]).or_default().push(doc));
                }
            }
            let pairs = opened(builder, doc_count);
            pairs.validate(9).unwrap();
            for left in 0..9 {
                for right in 0..9 {
                    let mut want = want.remove(&[left, right]).unwrap_or_default();
                    want.dedup();
                    let known = [left, right].iter().all(|word| pairs.words().contains(word))
                        && want.len() as u32 <= listed_max(doc_count);
                    prop_assert_eq!(pairs.next([left, right]).map(|known| known.documents.to_vec()), known.then_some(want));
                }
            }
        }

        #[test]
        fn damaged_sections_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..200) {
            let mut example = example(SectionKind::Pairs).to_vec();
            let at = cut % example.len();
            example[at] = bytes.first().copied().unwrap_or(0);
            for bytes in [bytes, example] {
                if let Ok(pairs) = StoredPairs::open(OwnedBytes::from(bytes), 50) {
                    let _ = pairs.validate(1000);
                    let count = pairs.words().len();
                    for places in (0..count.min(3)).flat_map(|left| [[left, 0], [left, count - 1]]) {
                        let docs = pairs.find(places).flatten().map_or_else(DocSet::empty, List::to_set);
                        prop_assert!(docs.len() <= 50);
                    }
                }
            }
        }
    }
}
