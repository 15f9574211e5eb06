//! How many documents of a set hold each value of a column.

use super::*;
use crate::bits::kernels::common_bits;

impl Column {
    /// Counts the documents of `docs` that have the value. Cost: the documents of the value, or the words of two
    /// bitsets.
    pub fn count_in(&self, ordinal: u32, docs: &DocSet) -> u32 {
        let few = || self.docs_of(ordinal).filter(|&doc| docs.contains(doc)).count() as u32;
        let DocSet::Bitset { words, .. } = docs else {
            return match (docs, self.dense(ordinal)) {
                (DocSet::Sorted(docs), Some((_, bits))) => {
                    let has =
                        |&&doc: &&DocId| bits.get(doc as usize / 8).is_some_and(|byte| byte >> (doc % 8) & 1 != 0);
                    docs.iter().filter(has).count() as u32
                }
                _ => few(),
            };
        };
        let listed = if ordinal < self.value_count { self.inverted_range(ordinal..ordinal + 1) } else { 0..0 };
        if listed.is_empty() {
            return common_bits(words, self.dense(ordinal).map_or(&[], |(_, bits)| bits));
        }
        let (bytes, width) = (self.part(INVERTED), usize::from(self.inverted_width));
        let is_in = |doc: DocId| words.get(doc as usize / 64).map_or(0, |word| (word >> (doc % 64)) as u32 & 1);
        listed.map(|index| is_in(get_bits(bytes, index * width, self.inverted_width))).sum()
    }

    /// Adds one to `counts[ordinal]` for each value of each of `docs`; there is a count for every value.
    pub fn add_counts(&self, docs: &DocSet, counts: &mut [u32]) {
        if !self.is_multi {
            return self.add_counts_of_one(docs, counts);
        }
        let (bytes, width) = (self.part(FORWARD), self.forward_width);
        let mut count = |ordinal: u32| counts.get_mut(ordinal as usize).into_iter().for_each(|count| *count += 1);
        let at = |index: usize| get_bits(bytes, index * usize::from(width), width);
        let offsets = self.part(FORWARD_OFFSETS);
        let offset =
            |doc: DocId| self.forward_offsets.get(offsets, doc as usize).min(u64::from(self.pair_count)) as usize;
        // Neighbours share an offset: where the one ends, the other starts.
        let (mut next, mut next_start) = (0, 0);
        docs.for_each(|doc| {
            let start = if doc == next { next_start } else { offset(doc) };
            (next, next_start) = (doc + 1, offset(doc + 1));
            (start..next_start).for_each(|index| count(at(index)));
        });
    }

    /// [`Column::add_counts`] where no document has more than one value.
    fn add_counts_of_one(&self, docs: &DocSet, counts: &mut [u32]) {
        let (bytes, width) = (self.part(FORWARD), self.forward_width);
        let DocSet::Bitset { words, .. } = docs else {
            // Nothing, which is stored as zero, turns into an ordinal beyond the last.
            let mut count = |ordinal: u32| counts.get_mut(ordinal as usize).into_iter().for_each(|count| *count += 1);
            docs.for_each(|doc| count(get_bits(bytes, doc as usize * usize::from(width), width).wrapping_sub(1)));
            return;
        };
        // Neighbours often have the same value: counted in turns, an addition does not wait for the one before it.
        let mut beside = vec![[0u32; COUNTED_BESIDE]; counts.len() + 1];
        let docs_left = |word: usize| (self.doc_count as usize).saturating_sub(word * 64).min(64);
        for (index, &word) in words.iter().enumerate().filter(|&(_, &word)| word != 0) {
            // Sixty-four values take whole bytes.
            let bytes = bytes.get(index * 8 * usize::from(width)..).unwrap_or_default();
            let mut add = |at: usize, value: u32, count: u32| {
                if let Some(beside) = beside.get_mut(value as usize) {
                    beside[at % COUNTED_BESIDE] += count;
                }
            };
            if word.count_ones() >= UNPACKED_FROM {
                let mut at = 0;
                unpack(bytes, docs_left(index), width, |value| {
                    add(at, value, (word >> at) as u32 & 1);
                    at += 1;
                });
                continue;
            }
            let mut rest = word;
            while rest != 0 {
                let at = rest.trailing_zeros() as usize;
                add(at, get_bits(bytes, at * usize::from(width), width), 1);
                rest &= rest - 1;
            }
        }
        for (count, beside) in counts.iter_mut().zip(&beside[1..]) {
            *count += beside.iter().sum::<u32>();
        }
    }
}
