//! A set of documents of one segment, as a sorted list while it is small and as a bitset when it is dense.
//!
//! All sets that meet in an operation belong to the same segment: a bitset has one bit per document of the segment,
//! rounded up to 64, and bits at or past the document count are zero. A list of `k` documents costs `4k` bytes, a
//! bitset of `n` documents `n/8`: below one document in 32 the list is smaller, and that is where the forms switch.

use std::ops::Range;

use lamina_text::id::DocId;

use super::bitset::{bits_to_list, clear_tail, has_bit, words_for};
use super::kernels::{and_not_words, and_words, count_common, count_ones, or_words};
use super::sorted_list::{intersect_lists, subtract_lists, union_lists};

/// A set of documents of one segment. `len` is kept, so it costs nothing.
#[derive(Clone, Debug)]
pub enum DocSet {
    /// Strictly ascending document ids.
    Sorted(Vec<DocId>),
    /// One bit per document; `count` bits are set.
    Bitset {
        /// Bit `d % 64` of word `d / 64` is document `d`.
        words: Vec<u64>,
        /// Number of set bits.
        count: u32,
    },
}

/// A list is preferred when it holds fewer than one document in this many.
const LIST_MAX_SHARE: usize = 32;

impl Default for DocSet {
    fn default() -> Self {
        DocSet::empty()
    }
}

impl DocSet {
    /// No document.
    pub const fn empty() -> DocSet {
        DocSet::Sorted(Vec::new())
    }

    /// All documents `0..doc_count`.
    pub fn full(doc_count: u32) -> DocSet {
        let mut words = vec![u64::MAX; words_for(doc_count)];
        clear_tail(&mut words, doc_count);
        DocSet::Bitset { words, count: doc_count }
    }

    /// From strictly ascending ids.
    pub fn from_sorted(docs: Vec<DocId>) -> DocSet {
        debug_assert!(docs.is_sorted_by(|a, b| a < b), "ids must ascend strictly");
        DocSet::Sorted(docs)
    }

    /// From a bitset; bits at or past the segment's document count must be zero.
    pub fn from_words(words: Vec<u64>) -> DocSet {
        let count = count_ones(&words);
        DocSet::Bitset { words, count }
    }

    /// Number of documents.
    #[inline]
    pub fn len(&self) -> u32 {
        match self {
            DocSet::Sorted(docs) => docs.len() as u32,
            DocSet::Bitset { count, .. } => *count,
        }
    }

    /// Reports whether the set contains no document.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reports whether the set contains `doc`. Cost: one load for a bitset, a binary search for a list.
    #[inline]
    pub fn contains(&self, doc: DocId) -> bool {
        match self {
            DocSet::Sorted(docs) => docs.binary_search(&doc).is_ok(),
            DocSet::Bitset { words, .. } => has_bit(words, doc),
        }
    }

    /// The smallest document.
    pub fn first(&self) -> Option<DocId> {
        self.iter().next()
    }

    /// The documents in ascending order.
    pub fn iter(&self) -> DocSetIter<'_> {
        match self {
            DocSet::Sorted(docs) => DocSetIter::Sorted(docs.iter()),
            DocSet::Bitset { words, .. } => {
                DocSetIter::Bitset { words, index: 0, word: words.first().copied().unwrap_or(0) }
            }
        }
    }

    /// Calls `f` for each document in ascending order; faster than [`DocSet::iter`].
    #[inline]
    pub fn for_each(&self, mut f: impl FnMut(DocId)) {
        match self {
            DocSet::Sorted(docs) => docs.iter().for_each(|&doc| f(doc)),
            DocSet::Bitset { words, .. } => {
                for (index, &word) in words.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        f((index as u32) * 64 + rest.trailing_zeros());
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    /// Calls `f` with the documents of `within` in ascending order, as runs of neighbours that are as long as can be.
    #[inline]
    pub fn for_each_run(&self, within: Range<DocId>, mut f: impl FnMut(Range<DocId>)) {
        let mut run = within.start..within.start;
        let mut add = |more: Range<DocId>| {
            if more.start == run.end {
                run.end = more.end;
            } else {
                let done = std::mem::replace(&mut run, more);
                if !done.is_empty() {
                    f(done);
                }
            }
        };
        match self {
            DocSet::Sorted(docs) => {
                let start = docs.partition_point(|doc| *doc < within.start);
                docs[start..].iter().take_while(|doc| **doc < within.end).for_each(|&doc| add(doc..doc + 1));
            }
            DocSet::Bitset { words, .. } => {
                for (index, &word) in words.iter().enumerate().skip(within.start as usize / 64) {
                    let base = index as u32 * 64;
                    if base >= within.end {
                        break;
                    }
                    let mut at = within.start.saturating_sub(base);
                    let end = (within.end - base).min(64);
                    while at < end {
                        let rest = word >> at;
                        let first = at + rest.trailing_zeros();
                        if first >= end {
                            break;
                        }
                        let length = (word >> first).trailing_ones();
                        let next = (first + length).min(end);
                        add(base + first..base + next);
                        at = next;
                    }
                }
            }
        }
        if !run.is_empty() {
            f(run);
        }
    }

    /// Ranges of ids in ascending order that together hold the set, each `size` of its documents: a bitset's up to 63
    /// more, the last one fewer. Costs a count of the bits.
    pub fn parts(&self, size: u32) -> Vec<Range<DocId>> {
        match self {
            DocSet::Sorted(docs) => {
                let chunks = docs.chunks(size.max(1) as usize);
                chunks.map(|docs| docs[0]..docs[docs.len() - 1] + 1).collect()
            }
            DocSet::Bitset { words, .. } => {
                let (mut parts, mut start, mut held) = (Vec::new(), 0, 0);
                for (end, word) in (1..).map(|index: u32| index * 64).zip(words) {
                    held += word.count_ones();
                    if held >= size.max(1) {
                        parts.push(start..end);
                        (start, held) = (end, 0);
                    }
                }
                if held > 0 {
                    parts.push(start..words.len() as u32 * 64);
                }
                parts
            }
        }
    }

    /// The documents as an ascending list.
    pub fn to_vec(&self) -> Vec<DocId> {
        match self {
            DocSet::Sorted(docs) => docs.clone(),
            DocSet::Bitset { words, count } => bits_to_list(words, *count),
        }
    }

    /// The documents of both sets.
    pub fn and(&self, other: &DocSet) -> DocSet {
        match (self, other) {
            (DocSet::Sorted(a), DocSet::Sorted(b)) => DocSet::Sorted(intersect_lists(a, b)),
            (DocSet::Sorted(list), DocSet::Bitset { words, .. })
            | (DocSet::Bitset { words, .. }, DocSet::Sorted(list)) => {
                DocSet::Sorted(list.iter().copied().filter(|&doc| has_bit(words, doc)).collect())
            }
            (DocSet::Bitset { words: a, .. }, DocSet::Bitset { words: b, .. }) => {
                let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
                let mut words = short.clone();
                let count = and_words(&mut words, long);
                DocSet::Bitset { words, count }.shrunk()
            }
        }
    }

    /// Number of documents of both sets, without building the set.
    pub fn and_len(&self, other: &DocSet) -> u32 {
        match (self, other) {
            (DocSet::Bitset { words: a, .. }, DocSet::Bitset { words: b, .. }) => count_common(a, b),
            (DocSet::Sorted(list), DocSet::Bitset { words, .. })
            | (DocSet::Bitset { words, .. }, DocSet::Sorted(list)) => {
                list.iter().filter(|&&doc| has_bit(words, doc)).count() as u32
            }
            (DocSet::Sorted(a), DocSet::Sorted(b)) => intersect_lists(a, b).len() as u32,
        }
    }

    /// The documents of either set.
    pub fn or(&self, other: &DocSet) -> DocSet {
        match (self, other) {
            (DocSet::Sorted(a), DocSet::Sorted(b)) => DocSet::Sorted(union_lists(a, b)),
            (DocSet::Sorted(list), DocSet::Bitset { words, count })
            | (DocSet::Bitset { words, count }, DocSet::Sorted(list)) => {
                let mut words = words.clone();
                let mut count = *count;
                for &doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        let bit = 1u64 << (doc % 64);
                        count += u32::from(*word & bit == 0);
                        *word |= bit;
                    }
                }
                DocSet::Bitset { words, count }
            }
            (DocSet::Bitset { words: a, .. }, DocSet::Bitset { words: b, .. }) => {
                let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
                let mut words = long.clone();
                let count = or_words(&mut words, short);
                DocSet::Bitset { words, count }
            }
        }
    }

    /// The documents of `self` that are not in `other`.
    pub fn and_not(&self, other: &DocSet) -> DocSet {
        match (self, other) {
            (DocSet::Sorted(a), DocSet::Sorted(b)) => DocSet::Sorted(subtract_lists(a, b)),
            (DocSet::Sorted(list), DocSet::Bitset { words, .. }) => {
                DocSet::Sorted(list.iter().copied().filter(|&doc| !has_bit(words, doc)).collect())
            }
            (DocSet::Bitset { words, count }, DocSet::Sorted(list)) => {
                let mut words = words.clone();
                let mut count = *count;
                for &doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        let bit = 1u64 << (doc % 64);
                        count -= u32::from(*word & bit != 0);
                        *word &= !bit;
                    }
                }
                DocSet::Bitset { words, count }
            }
            (DocSet::Bitset { words: a, .. }, DocSet::Bitset { words: b, .. }) => {
                let mut words = a.clone();
                let count = and_not_words(&mut words, b);
                DocSet::Bitset { words, count }.shrunk()
            }
        }
    }

    /// `self = self & other`, in place where the form allows it.
    pub fn and_assign(&mut self, other: &DocSet) {
        match (&mut *self, other) {
            (DocSet::Sorted(list), DocSet::Bitset { words, .. }) => list.retain(|&doc| has_bit(words, doc)),
            (DocSet::Bitset { words: a, count }, DocSet::Bitset { words: b, .. }) => {
                a.truncate(b.len());
                *count = and_words(a, b);
            }
            _ => *self = self.and(other),
        }
    }

    /// `self = self | other`, in place where the form allows it.
    pub fn or_assign(&mut self, other: &DocSet) {
        match (&mut *self, other) {
            (_, other) if other.is_empty() => {}
            (DocSet::Bitset { words, count }, DocSet::Sorted(list)) => {
                for &doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        let bit = 1u64 << (doc % 64);
                        *count += u32::from(*word & bit == 0);
                        *word |= bit;
                    }
                }
            }
            (DocSet::Bitset { words: a, count }, DocSet::Bitset { words: b, .. }) if a.len() >= b.len() => {
                *count = or_words(a, b);
            }
            _ => *self = self.or(other),
        }
    }

    /// `self = self & !other`, in place where the form allows it.
    pub fn and_not_assign(&mut self, other: &DocSet) {
        match (&mut *self, other) {
            (_, other) if other.is_empty() => {}
            (DocSet::Sorted(list), DocSet::Bitset { words, .. }) => list.retain(|&doc| !has_bit(words, doc)),
            (DocSet::Bitset { words, count }, DocSet::Sorted(list)) => {
                for &doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        let bit = 1u64 << (doc % 64);
                        *count -= u32::from(*word & bit != 0);
                        *word &= !bit;
                    }
                }
            }
            (DocSet::Bitset { words: a, count }, DocSet::Bitset { words: b, .. }) => {
                *count = and_not_words(a, b);
            }
            _ => *self = self.and_not(other),
        }
    }

    /// All documents `0..doc_count` that are not in the set.
    pub fn complement(&self, doc_count: u32) -> DocSet {
        let mut words = vec![u64::MAX; words_for(doc_count)];
        clear_tail(&mut words, doc_count);
        match self {
            DocSet::Sorted(list) => {
                for &doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        *word &= !(1u64 << (doc % 64));
                    }
                }
            }
            DocSet::Bitset { words: present, .. } => {
                words.iter_mut().zip(present).for_each(|(x, y)| *x &= !y);
            }
        }
        DocSet::from_words(words).shrunk()
    }

    /// Keeps the documents for which `keep` answers true, asked in ascending order.
    pub fn retain(&mut self, mut keep: impl FnMut(DocId) -> bool) {
        match self {
            DocSet::Sorted(list) => list.retain(|&doc| keep(doc)),
            DocSet::Bitset { words, count } => {
                for (index, word) in words.iter_mut().enumerate() {
                    let mut rest = *word;
                    while rest != 0 {
                        let bit = rest & rest.wrapping_neg();
                        if !keep((index as u32) * 64 + rest.trailing_zeros()) {
                            *word &= !bit;
                            *count -= 1;
                        }
                        rest &= rest - 1;
                    }
                }
            }
        }
    }

    /// The same set as a bitset over `0..doc_count`.
    pub fn into_bitset(self, doc_count: u32) -> DocSet {
        match self {
            DocSet::Bitset { .. } => self,
            DocSet::Sorted(list) => {
                let mut words = vec![0u64; words_for(doc_count)];
                let mut count = 0;
                for doc in list {
                    if let Some(word) = words.get_mut(doc as usize / 64) {
                        *word |= 1u64 << (doc % 64);
                        count += 1;
                    }
                }
                DocSet::Bitset { words, count }
            }
        }
    }

    /// Returns the heap memory of the set in bytes, without the size of the type itself. It is zero for all documents
    /// and for none.
    pub fn heap_bytes(&self) -> usize {
        match self {
            DocSet::Sorted(docs) => docs.capacity() * 4,
            DocSet::Bitset { words, .. } => words.capacity() * 8,
        }
    }

    /// The same set in the smaller form.
    pub fn shrunk(self) -> DocSet {
        match self {
            DocSet::Bitset { words, count } if (count as usize) * LIST_MAX_SHARE < words.len() * 64 => {
                DocSet::Sorted(bits_to_list(&words, count))
            }
            other => other,
        }
    }
}

impl PartialEq for DocSet {
    /// The same documents, whatever the form.
    fn eq(&self, other: &DocSet) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for DocSet {}

impl FromIterator<DocId> for DocSet {
    /// From ids in any order.
    fn from_iter<I: IntoIterator<Item = DocId>>(iter: I) -> DocSet {
        let mut docs: Vec<DocId> = iter.into_iter().collect();
        docs.sort_unstable();
        docs.dedup();
        DocSet::Sorted(docs)
    }
}

impl<'a> IntoIterator for &'a DocSet {
    type Item = DocId;
    type IntoIter = DocSetIter<'a>;
    fn into_iter(self) -> DocSetIter<'a> {
        self.iter()
    }
}

/// Documents of a [`DocSet`], ascending.
#[derive(Clone, Debug)]
pub enum DocSetIter<'a> {
    /// Over a list.
    Sorted(std::slice::Iter<'a, DocId>),
    /// Over a bitset: `word` holds the bits of `words[index]` not yet given.
    Bitset {
        /// A bit for each document.
        words: &'a [u64],
        /// Current word.
        index: usize,
        /// Remaining bits of the current word.
        word: u64,
    },
}

impl Iterator for DocSetIter<'_> {
    type Item = DocId;

    #[inline]
    fn next(&mut self) -> Option<DocId> {
        match self {
            DocSetIter::Sorted(docs) => docs.next().copied(),
            DocSetIter::Bitset { words, index, word } => {
                while *word == 0 {
                    *index += 1;
                    *word = *words.get(*index)?;
                }
                let doc = (*index as u32) * 64 + word.trailing_zeros();
                *word &= *word - 1;
                Some(doc)
            }
        }
    }
}

#[cfg(test)]
mod tests;
