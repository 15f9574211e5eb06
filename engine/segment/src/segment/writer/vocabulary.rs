//! The words of a segment that is being written: text to local id, through a hash table over one arena of bytes.
//!
//! A look-up there costs three dependent cache misses, and text repeats its frequent words all the time. So a small
//! direct-mapped table of short words comes before it, which holds them whole: most words are found with one compare of
//! two registers.

use lamina_text::id::FIRST_TERM;

use crate::bits::first_bytes;
use std::cmp::Ordering;
use std::hash::BuildHasher;

/// A document number that no document has.
const NO_DOC: u32 = u32::MAX;
/// Words up to this length live in their entry: most of a text's words are found without touching the arena.
const INLINE_BYTES: usize = 8;

#[derive(Clone, Copy, Debug)]
struct Word {
    /// The bytes of a short word, first one highest, zeros behind; the offset in the arena of a longer one.
    place: u64,
    tag: u32,
    last_doc: u32,
    doc_freq: u32,
    length: u32,
}

/// A place of the table. What is compared is here: a look-up of a short word is one cache miss, not three.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Place of the entry.
    place: u64,
    /// The length of a short word; that of no word and bits of the hash of a longer one.
    tag: u32,
    /// Index of the entry, or [`FREE`].
    index: u32,
}

const FREE: u32 = u32::MAX;
const FREE_SLOT: Slot = Slot { place: 0, tag: 0, index: FREE };
const SLOTS_MIN: usize = 64;
/// The tags of long words have this bit.
const LONG: u32 = 1 << 31;

/// Words with the number of documents they are in. Local ids start at [`FIRST_TERM`], in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Vocabulary {
    /// A power of two, a quarter of them free at least.
    slots: Vec<Slot>,
    entries: Vec<Word>,
    arena: Vec<u8>,
    hasher: foldhash::fast::RandomState,
    /// Random seed on which the slots of words depend.
    seed: u64,
    /// Empty until there are enough words to pay for it; then [`RECENT_SLOTS`] long.
    recent: Vec<ShortWord>,
}

/// Slots of the table of short words: it is to stay in the second-level cache.
const RECENT_SLOTS: usize = 1 << 13;
/// Segments with fewer words do without the table.
const RECENT_FROM_WORDS: usize = 2048;

/// A word of at most 16 bytes that was met lately, with its local id.
#[derive(Clone, Copy, Debug, Default)]
struct ShortWord {
    key: ShortKey,
    id: u32,
}

/// The bytes of a short word in two registers: for each length, different words have different keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ShortKey {
    first: u64,
    last: u64,
    /// 0: no word.
    length: u32,
}

impl ShortKey {
    /// `None` for an empty word or one of more than 16 bytes. The two halves overlap when the word does not fill them.
    #[inline]
    fn new(word: &[u8]) -> Option<ShortKey> {
        let (first, last) = match word {
            [] => return None,
            [a] => (u64::from(*a), 0),
            [a, b] => (u64::from(u16::from_le_bytes([*a, *b])), 0),
            [a, b, c] => (u64::from(u32::from_le_bytes([*a, *b, *c, 0])), 0),
            _ => match (word.first_chunk::<8>(), word.last_chunk::<8>()) {
                (Some(first), Some(last)) if word.len() <= 16 => {
                    (u64::from_le_bytes(*first), u64::from_le_bytes(*last))
                }
                (Some(_), _) => return None,
                _ => (four(word.first_chunk()), four(word.last_chunk())),
            },
        };
        Some(ShortKey { first, last, length: word.len() as u32 })
    }

    #[inline]
    fn slot(self) -> usize {
        let mixed = (self.first ^ self.last.rotate_left(29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> (u64::BITS - RECENT_SLOTS.trailing_zeros())) as usize
    }
}

#[inline]
fn four(bytes: Option<&[u8; 4]>) -> u64 {
    bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(*bytes)))
}

impl Vocabulary {
    /// Local id of a word of 1 to 250 bytes.
    #[inline]
    pub(super) fn intern(&mut self, word: &[u8]) -> u32 {
        if self.recent.is_empty() {
            if self.entries.len() >= RECENT_FROM_WORDS {
                self.recent = vec![ShortWord::default(); RECENT_SLOTS];
            }
            return self.find_or_add(word);
        }
        let Some(key) = ShortKey::new(word) else { return self.find_or_add(word) };
        let slot = key.slot();
        if self.recent[slot].key == key {
            return self.recent[slot].id;
        }
        let id = self.find_or_add(word);
        self.recent[slot] = ShortWord { key, id };
        id
    }

    fn find_or_add(&mut self, word: &[u8]) -> u32 {
        if 3 * self.slots.len() <= 4 * self.entries.len() {
            self.grow();
        }
        let length = word.len() as u32;
        let is_short = word.len() <= INLINE_BYTES;
        let bytes = if is_short { first_bytes(word) } else { 0 };
        let tag = if is_short { length } else { LONG | self.hasher.hash_one(word) as u32 };
        let mask = self.slots.len() - 1;
        let mut at = self.first_slot(tag, bytes);
        loop {
            let slot = self.slots[at & mask];
            if slot.index == FREE {
                break;
            }
            let is_it =
                slot.tag == tag && if is_short { slot.place == bytes } else { self.long_text(slot.index) == word };
            if is_it {
                return FIRST_TERM + slot.index;
            }
            at += 1;
        }
        let index = self.entries.len() as u32;
        let place = if is_short { bytes } else { self.arena.len() as u64 };
        if !is_short {
            self.arena.extend_from_slice(word);
        }
        self.slots[at & mask] = Slot { place, tag, index };
        self.entries.push(Word { place, tag, last_doc: NO_DOC, doc_freq: 0, length });
        FIRST_TERM + index
    }

    /// Returns the slot at which the search for a word starts. `bytes`: those of a short word. Clients who choose the
    /// words do not know the seed.
    #[inline]
    fn first_slot(&self, tag: u32, bytes: u64) -> usize {
        let mixed =
            u128::from(bytes ^ u64::from(tag).rotate_right(8) ^ self.seed) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        (mixed as u64 ^ (mixed >> 64) as u64) as usize & (self.slots.len() - 1)
    }

    fn long_text(&self, index: u32) -> &[u8] {
        text_at(&self.arena, &self.entries[index as usize])
    }

    /// Doubles the table.
    #[cold]
    fn grow(&mut self) {
        if self.slots.is_empty() {
            self.seed = self.hasher.hash_one(0_u64);
        }
        let count = (2 * self.slots.len()).max(SLOTS_MIN);
        // The old table goes first: the entries are all that is needed.
        self.slots = Vec::new();
        self.slots = vec![FREE_SLOT; count];
        for (index, entry) in (0..).zip(&self.entries) {
            let bytes = if entry.tag & LONG == 0 { entry.place } else { 0 };
            let first = self.first_slot(entry.tag, bytes);
            let free =
                (first..).find(|at| self.slots[at & (count - 1)].index == FREE).expect("a quarter of them is free");
            self.slots[free & (count - 1)] = Slot { place: entry.place, tag: entry.tag, index };
        }
    }

    /// The word `id` is in document `doc`; documents are counted one after the other.
    #[inline]
    pub(super) fn count(&mut self, id: u32, doc: u32) {
        let entry = &mut self.entries[(id - FIRST_TERM) as usize];
        entry.doc_freq += u32::from(entry.last_doc != doc);
        entry.last_doc = doc;
    }

    /// Adds the words of another vocabulary, whose documents are others. Answers the id here of each id there.
    pub(super) fn absorb(&mut self, other: &Vocabulary) -> Vec<u32> {
        let mut ids: Vec<u32> = (0..FIRST_TERM).collect();
        for entry in &other.entries {
            let bytes = entry.place.to_be_bytes();
            let length = entry.length as usize;
            let id =
                self.find_or_add(if length <= INLINE_BYTES { &bytes[..length] } else { text_at(&other.arena, entry) });
            self.entries[(id - FIRST_TERM) as usize].doc_freq += entry.doc_freq;
            ids.push(id);
        }
        ids
    }

    /// Takes back what [`count`](Self::count) did for a document that is left out, with any words of that document.
    pub(super) fn discount(&mut self, ids: &[u32]) {
        let mut ids: Vec<u32> = ids.iter().copied().filter(|&id| id >= FIRST_TERM).collect();
        ids.sort_unstable();
        ids.dedup();
        ids.iter().for_each(|&id| self.entries[(id - FIRST_TERM) as usize].doc_freq -= 1);
    }

    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.arena.capacity()
            + self.entries.capacity() * size_of::<Word>()
            + self.slots.capacity() * size_of::<Slot>()
            + self.recent.capacity() * size_of::<ShortWord>()
    }

    fn first_bytes(&self, index: u32) -> u64 {
        let entry = &self.entries[index as usize];
        if entry.length as usize <= INLINE_BYTES { entry.place } else { first_bytes(text_at(&self.arena, entry)) }
    }

    /// Order of two words with the same first bytes. A short word is a prefix of the other one, or they are both long.
    fn compare_rest(&self, a: u32, b: u32) -> Ordering {
        let (a, b) = (&self.entries[a as usize], &self.entries[b as usize]);
        if a.length as usize > INLINE_BYTES && b.length as usize > INLINE_BYTES {
            text_at(&self.arena, a).cmp(text_at(&self.arena, b))
        } else {
            a.length.cmp(&b.length)
        }
    }

    /// The words that are in a document, in byte order: text and number of documents; and the ordinal of each local id
    /// (reserved ids map to themselves).
    pub(super) fn sorted(self) -> (SortedTerms, Vec<u32>) {
        let used = (0..self.entries.len() as u32).filter(|&index| self.entries[index as usize].doc_freq > 0);
        // Most comparisons are decided by the first eight bytes.
        let mut order: Vec<(u64, u32)> = used.map(|index| (self.first_bytes(index), index)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.compare_rest(a.1, b.1)));
        let mut ordinals: Vec<u32> = (0..FIRST_TERM).collect();
        ordinals.resize(self.entries.len() + FIRST_TERM as usize, u32::MAX);
        for (rank, &(_, index)) in order.iter().enumerate() {
            ordinals[(index + FIRST_TERM) as usize] = FIRST_TERM + rank as u32;
        }
        let Vocabulary { entries, arena, .. } = self;
        (SortedTerms { entries, arena, order }, ordinals)
    }
}

/// The words of a vocabulary in byte order.
pub(super) struct SortedTerms {
    entries: Vec<Word>,
    arena: Vec<u8>,
    /// First bytes and index of each.
    order: Vec<(u64, u32)>,
}

impl SortedTerms {
    pub(super) fn len(&self) -> usize {
        self.order.len()
    }

    /// Replaces `out` by the term.
    pub(super) fn text_into(&self, rank: usize, out: &mut Vec<u8>) {
        out.clear();
        let entry = &self.entries[self.order[rank].1 as usize];
        if entry.length as usize <= INLINE_BYTES {
            out.extend_from_slice(&entry.place.to_be_bytes()[..entry.length as usize]);
        } else {
            out.extend_from_slice(text_at(&self.arena, entry));
        }
    }

    /// Returns the first bytes of a term, see [`first_bytes`](crate::bits::first_bytes).
    pub(super) fn first_bytes(&self, rank: usize) -> u64 {
        self.order[rank].0
    }

    pub(super) fn doc_freq(&self, rank: usize) -> u32 {
        self.entries[self.order[rank].1 as usize].doc_freq
    }
}

fn text_at<'a>(arena: &'a [u8], entry: &Word) -> &'a [u8] {
    let start = entry.place as usize;
    &arena[start..start + entry.length as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(terms: &SortedTerms) -> Vec<String> {
        let mut text = Vec::new();
        (0..terms.len())
            .map(|rank| {
                terms.text_into(rank, &mut text);
                String::from_utf8(text.clone()).unwrap()
            })
            .collect()
    }

    proptest! {
        #[test]
        fn words_of_all_lengths_are_distinguished_and_sorted(words in prop::collection::vec("[a-c\u{0}]{1,11}|[aé]{1,40}", 1..200)) {
            let mut vocabulary = Vocabulary::default();
            let ids: Vec<u32> = words.iter().map(|word| vocabulary.intern(word.as_bytes())).collect();
            ids.iter().for_each(|&id| vocabulary.count(id, 0));
            let (terms, ordinals) = vocabulary.sorted();
            let expected: std::collections::BTreeSet<&String> = words.iter().collect();
            prop_assert_eq!(texts(&terms), expected.iter().map(|word| word.to_string()).collect::<Vec<_>>());
            for (word, &id) in words.iter().zip(&ids) {
                let rank = expected.iter().position(|other| *other == word).unwrap() as u32;
                prop_assert_eq!(ordinals[id as usize], FIRST_TERM + rank);
            }
        }
    }

    #[test]
    fn words_are_counted_and_sorted() {
        let counted = || {
            let mut words = Vocabulary::default();
            let ids = ["pear", "apple", "pear", "pearl", "abandoned"].map(|word| words.intern(word.as_bytes()));
            assert_eq!(ids, [2, 3, 2, 4, 5]);
            for (id, doc) in [(2, 0), (2, 0), (3, 0), (2, 1), (4, 1)] {
                words.count(id, doc);
            }
            words
        };
        let (terms, ordinals) = counted().sorted();
        assert_eq!(terms.len(), 3);
        assert_eq!(texts(&terms), ["apple", "pear", "pearl"]);
        assert_eq!((0..3).map(|i| terms.doc_freq(i)).collect::<Vec<_>>(), [1, 2, 1]);
        assert_eq!(ordinals, [0, 1, 3, 2, 4, u32::MAX]);
        let mut words = counted();
        words.discount(&[2, 0, 4, 2, 1]);
        let (terms, _) = words.sorted();
        assert_eq!((0..2).map(|i| terms.doc_freq(i)).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn short_words_are_distinguished() {
        let alphabet = [0, b'a', b'b'];
        let mut words: Vec<Vec<u8>> = vec![Vec::new()];
        for length in 1..=8 {
            let longer = words.iter().filter(|word| word.len() == length - 1);
            let longer: Vec<Vec<u8>> =
                longer.flat_map(|word| alphabet.map(|byte| [word.as_slice(), &[byte]].concat())).collect();
            words.extend(longer);
        }
        // Longer ones: two halves of up to eight bytes, in all combinations of a few.
        let halves: Vec<Vec<u8>> = words.iter().filter(|word| word.len() >= 7).step_by(97).cloned().collect();
        words.extend(halves.iter().flat_map(|first| halves.iter().map(|last| [first.as_slice(), last].concat())));
        words.retain(|word| !word.is_empty());
        words.sort();
        words.dedup();
        let mut keys: Vec<_> = words.iter().map(|word| ShortKey::new(word).expect("short")).collect();
        keys.sort_by_key(|key| (key.first, key.last, key.length));
        keys.dedup();
        assert_eq!(keys.len(), words.len());
        assert_eq!((ShortKey::new(b""), ShortKey::new(&[b'a'; 17])), (None, None));
        assert!(keys.iter().all(|key| key.slot() < RECENT_SLOTS));
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
