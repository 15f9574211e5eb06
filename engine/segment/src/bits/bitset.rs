//! One bit per document of a segment.

use lamina_text::id::DocId;

use super::DocSet;

pub(super) const fn words_for(doc_count: u32) -> usize {
    (doc_count as usize).div_ceil(64)
}

/// Collects documents in any order, repeats allowed, into a bitset.
#[derive(Clone, Debug)]
pub struct BitsetBuilder {
    words: Vec<u64>,
    doc_count: u32,
}

impl BitsetBuilder {
    /// An empty set over `0..doc_count`.
    pub fn new(doc_count: u32) -> BitsetBuilder {
        BitsetBuilder { words: vec![0; words_for(doc_count)], doc_count }
    }

    /// Adds `doc`; ignored when it is not below the document count (only a damaged file says so).
    #[inline]
    pub fn insert(&mut self, doc: DocId) {
        if doc < self.doc_count
            && let Some(word) = self.words.get_mut(doc as usize / 64)
        {
            *word |= 1u64 << (doc % 64);
        }
    }

    /// Adds each of `docs`.
    #[inline]
    pub(crate) fn insert_all(&mut self, docs: &[DocId]) {
        // A doc id past the count but inside the last word would break the invariant of the set: it is cut in `finish`.
        let words = self.words.as_mut_slice();
        for &doc in docs {
            if let Some(word) = words.get_mut(doc as usize / 64) {
                *word |= 1u64 << (doc % 64);
            }
        }
    }

    /// Adds the documents of `start..end`.
    pub fn insert_range(&mut self, range: std::ops::Range<DocId>) {
        let (start, end) = (range.start, range.end.min(self.doc_count));
        if start >= end {
            return;
        }
        let (first, last) = (start as usize / 64, (end - 1) as usize / 64);
        let head = u64::MAX << (start % 64);
        let tail = u64::MAX >> (63 - (end - 1) % 64);
        if first == last {
            self.words[first] |= head & tail;
        } else {
            self.words[first] |= head;
            self.words[first + 1..last].fill(u64::MAX);
            self.words[last] |= tail;
        }
    }

    /// Adds the set bits of a little-endian bitset of the same documents.
    pub(crate) fn insert_bitset_bytes(&mut self, bytes: &[u8]) {
        let (chunks, rest) = bytes.as_chunks::<8>();
        for (word, chunk) in self.words.iter_mut().zip(chunks) {
            *word |= u64::from_le_bytes(*chunk);
        }
        if let Some(word) = self.words.get_mut(chunks.len()) {
            *word |= super::little_endian::read_u64_padded(rest, 0);
        }
    }

    /// Adds all documents of `set`.
    pub fn insert_set(&mut self, set: &DocSet) {
        match set {
            DocSet::Sorted(docs) => self.insert_all(docs),
            DocSet::Bitset { words, .. } => self.words.iter_mut().zip(words).for_each(|(x, y)| *x |= y),
        }
    }

    /// Reports whether the set contains `doc`.
    #[inline]
    pub fn contains(&self, doc: DocId) -> bool {
        has_bit(&self.words, doc)
    }

    /// The documents the builder ranges over.
    pub fn doc_count(&self) -> u32 {
        self.doc_count
    }

    /// The set, in the smaller form.
    pub fn finish(mut self) -> DocSet {
        clear_tail(&mut self.words, self.doc_count);
        DocSet::from_words(self.words).shrunk()
    }
}

#[inline]
pub(super) fn has_bit(words: &[u64], doc: DocId) -> bool {
    words.get(doc as usize / 64).is_some_and(|word| word >> (doc % 64) & 1 != 0)
}

/// Clears the bits at or past `doc_count` in the last word.
pub(super) fn clear_tail(words: &mut [u64], doc_count: u32) {
    if !doc_count.is_multiple_of(64)
        && let Some(last) = words.last_mut()
    {
        *last &= (1u64 << (doc_count % 64)) - 1;
    }
}

pub(super) fn bits_to_list(words: &[u64], count: u32) -> Vec<DocId> {
    let mut docs = Vec::with_capacity(count as usize);
    for (index, &word) in words.iter().enumerate() {
        let mut rest = word;
        while rest != 0 {
            docs.push((index as u32) * 64 + rest.trailing_zeros());
            rest &= rest - 1;
        }
    }
    docs
}
