//! The words of a segment that is being written: text to local id, through a hash table over one arena of bytes.

use crate::id::FIRST_TERM;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hasher};

/// A document number that no document has.
const NO_DOC: u32 = u32::MAX;
const LENGTH_BITS: u32 = 8;
const _: () = assert!(crate::segment::format::TERM_BYTES_MAX < 1 << LENGTH_BITS);

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Offset in the arena, above the length of the word in the low eight bits.
    place: u64,
    hash: u32,
    last_doc: u32,
    doc_freq: u32,
}

/// Words with the number of documents they are in. Local ids start at [`FIRST_TERM`], in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    table: HashTable<u32>,
    entries: Vec<Entry>,
    arena: Vec<u8>,
    hasher: foldhash::fast::RandomState,
}

impl Vocabulary {
    /// Local id of a word of 1 to 250 bytes.
    #[inline]
    pub(super) fn intern(&mut self, word: &[u8]) -> u32 {
        let mut hasher = self.hasher.build_hasher();
        hasher.write(word);
        let hash = hasher.finish();
        let Vocabulary { table, entries, arena, .. } = self;
        // The table needs the high bits for its tags and the low ones for its slots: 32 mixed bits, twice.
        let short = (hash ^ hash >> 32) as u32;
        let found = table.find(spread(short), |&index| {
            let entry = &entries[index as usize];
            entry.hash == short && text_at(arena, entry.place) == word
        });
        if let Some(&index) = found {
            return FIRST_TERM + index;
        }
        let index = entries.len() as u32;
        let place = (arena.len() as u64) << LENGTH_BITS | word.len() as u64;
        arena.extend_from_slice(word);
        entries.push(Entry { place, hash: short, last_doc: NO_DOC, doc_freq: 0 });
        table.insert_unique(spread(short), index, |&index| spread(entries[index as usize].hash));
        FIRST_TERM + index
    }

    /// The word `id` is in document `doc`; documents are counted one after the other.
    #[inline]
    pub(super) fn count(&mut self, id: u32, doc: u32) {
        let entry = &mut self.entries[(id - FIRST_TERM) as usize];
        entry.doc_freq += u32::from(entry.last_doc != doc);
        entry.last_doc = doc;
    }

    /// Takes back what [`count`](Self::count) did for a document that is left out, with any words of that document.
    pub(super) fn discount(&mut self, ids: &[u32]) {
        let mut ids: Vec<u32> = ids.iter().copied().filter(|&id| id >= FIRST_TERM).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.iter().for_each(|&id| self.entries[(id - FIRST_TERM) as usize].doc_freq -= 1);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.arena.capacity() + self.entries.capacity() * size_of::<Entry>() + self.table.capacity() * 5
    }

    fn text(&self, index: u32) -> &[u8] {
        text_at(&self.arena, self.entries[index as usize].place)
    }

    /// The words that are in a document, in byte order: text and number of documents; and the ordinal of each local id
    /// (reserved ids map to themselves).
    pub(super) fn sorted(&self) -> (SortedTerms<'_>, Vec<u32>) {
        let used = (0..self.entries.len() as u32).filter(|&index| self.entries[index as usize].doc_freq > 0);
        // Most comparisons are decided by the first eight bytes.
        let mut order: Vec<(u64, u32)> = used.map(|index| (first_bytes(self.text(index)), index)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.text(a.1).cmp(self.text(b.1))));
        let mut ordinals: Vec<u32> = (0..FIRST_TERM).collect();
        ordinals.resize(self.entries.len() + FIRST_TERM as usize, u32::MAX);
        for (rank, &(_, index)) in order.iter().enumerate() {
            ordinals[(index + FIRST_TERM) as usize] = FIRST_TERM + rank as u32;
        }
        (SortedTerms { vocabulary: self, order }, ordinals)
    }
}

/// The vocabulary in byte order.
pub(super) struct SortedTerms<'a> {
    vocabulary: &'a Vocabulary,
    order: Vec<(u64, u32)>,
}

impl SortedTerms<'_> {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    pub(super) fn text(&self, rank: usize) -> &[u8] {
        self.vocabulary.text(self.order[rank].1)
    }

    pub(super) fn doc_freq(&self, rank: usize) -> u32 {
        self.vocabulary.entries[self.order[rank].1 as usize].doc_freq
    }
}

fn spread(short: u32) -> u64 {
    u64::from(short).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn text_at(arena: &[u8], place: u64) -> &[u8] {
    let start = (place >> LENGTH_BITS) as usize;
    &arena[start..start + (place & ((1 << LENGTH_BITS) - 1)) as usize]
}

fn first_bytes(text: &[u8]) -> u64 {
    let mut first = [0; 8];
    let length = text.len().min(8);
    first[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_and_sorted() {
        let mut words = Vocabulary::default();
        let ids: Vec<u32> = ["pear", "apple", "pear", "pearl", "abandoned"].map(|w| words.intern(w.as_bytes())).into();
        assert_eq!(ids, [2, 3, 2, 4, 5]);
        words.count(2, 0);
        words.count(2, 0);
        words.count(3, 0);
        words.count(2, 1);
        words.count(4, 1);
        let (terms, ordinals) = words.sorted();
        assert_eq!(terms.len(), 3);
        assert_eq!((0..3).map(|i| terms.text(i)).collect::<Vec<_>>(), [&b"apple"[..], b"pear", b"pearl"]);
        assert_eq!((0..3).map(|i| terms.doc_freq(i)).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(ordinals, [0, 1, 3, 2, 4, u32::MAX]);
        words.discount(&[2, 0, 4, 2, 1]);
        let (terms, _) = words.sorted();
        assert_eq!((0..2).map(|i| terms.doc_freq(i)).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn many_words_keep_their_ids() {
        let mut words = Vocabulary::default();
        for i in 0..20_000u32 {
            assert_eq!(words.intern(format!("w{i}").as_bytes()), i + FIRST_TERM);
        }
        for i in 0..20_000u32 {
            assert_eq!(words.intern(format!("w{i}").as_bytes()), i + FIRST_TERM);
        }
    }
}
