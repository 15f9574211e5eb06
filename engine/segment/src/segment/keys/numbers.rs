//! Keys that are whole numbers: sorted, and their documents in that order.

use super::super::error::Damage;
use crate::bits::bitpack::{bit_width, get_bits, pack, packed_bytes};
use crate::bits::monotone::{MONOTONE_SPAN_MAX, Monotone, put_monotone};
use crate::storage::OwnedBytes;
use fst::raw::Output;
use lamina_text::id::DocId;

/// The number that a key is: decimal digits without zeros before them, up to what neighbours of a monotone array may be apart.
pub(super) fn number_of(key: &[u8]) -> Option<u64> {
    let is_plain = matches!(key, [b'0'] | [b'1'..=b'9', ..]) && key.len() <= 18;
    let mut number = 0;
    for byte in key {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u64::from(digit);
        if number > MONOTONE_SPAN_MAX {
            return None;
        }
    }
    is_plain.then_some(number)
}

/// The primary keys of a segment, as numbers.
pub(super) struct NumberKeys {
    bytes: OwnedBytes,
    numbers: Monotone,
    first: u64,
    last: u64,
    /// Bits of a document; 0: the documents have the numbers in their order.
    doc_width: u8,
    docs_at: usize,
}

impl NumberKeys {
    pub(super) fn open(bytes: OwnedBytes, doc_count: u32) -> Result<NumberKeys, Damage> {
        NumberKeys::parse(bytes, doc_count).ok_or(Damage("the numbers of the documents are cut"))
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<NumberKeys> {
        let numbers = Monotone::open(&bytes)?;
        let count = numbers.len();
        let width_at = numbers.byte_len();
        let doc_width = *bytes.get(width_at)?;
        let is_whole = count == doc_count as usize
            && count > 0
            && doc_width <= 32
            && bytes.len() == width_at + 1 + packed_bytes(count, doc_width);
        let (first, last) = (numbers.get(&bytes, 0), numbers.get(&bytes, count.saturating_sub(1)));
        is_whole.then_some(NumberKeys { first, last, numbers, doc_width, docs_at: width_at + 1, bytes })
    }

    fn at(&self, index: usize) -> u64 {
        self.numbers.get(&self.bytes, index)
    }

    fn doc_at(&self, index: usize) -> DocId {
        if self.doc_width == 0 {
            return index as DocId;
        }
        let docs = self.bytes.get(self.docs_at..).unwrap_or_default();
        get_bits(docs, index * usize::from(self.doc_width), self.doc_width)
    }

    /// The document of a number. Cost: a load or two where the numbers follow each other, or this one is not between them.
    pub(super) fn get(&self, number: u64) -> Option<DocId> {
        if number < self.first || number > self.last {
            return None;
        }
        let index = self.position(number);
        (self.at(index) == number).then(|| self.doc_at(index))
    }

    /// The first index whose number is not below this one, which lies between the first and the last. Starts from where it
    /// would be if the numbers had equal steps.
    fn position(&self, number: u64) -> usize {
        let top = self.numbers.len() - 1;
        let span = u128::from(self.last - self.first).max(1);
        let guess = ((u128::from(number - self.first) * top as u128 / span) as usize).min(top);
        // Numbers before `low` are below, the one at `high` is not (or it is the last).
        let (mut low, mut high, mut step) = (0, top, 1);
        if self.at(guess) < number {
            low = guess + 1;
            while low + step < top {
                if self.at(low + step) >= number {
                    high = low + step;
                    break;
                }
                low += step + 1;
                step *= 2;
            }
        } else {
            high = guess;
            while step <= high {
                if self.at(high - step) < number {
                    low = high - step + 1;
                    break;
                }
                high -= step;
                step *= 2;
            }
        }
        while low < high {
            let middle = low.midpoint(high);
            if self.at(middle) < number {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Calls `f` with each number and its document, the numbers ascending.
    pub(super) fn for_each(&self, mut f: impl FnMut(u64, DocId)) {
        (0..self.numbers.len()).for_each(|index| f(self.at(index), self.doc_at(index)));
    }

    /// All numbers in the order of their digits.
    pub(super) fn stream(&self) -> NumberStream {
        let mut docs = Vec::with_capacity(self.numbers.len());
        self.for_each(|number, doc| docs.push((aligned(number), number, doc)));
        // Where digits are the same up to the end of one, it is the smaller number.
        docs.sort_unstable();
        NumberStream { docs, next: 0, text: String::new() }
    }

    pub(super) fn validate(&self) -> Result<(), Damage> {
        let count = self.numbers.len();
        let mut seen = vec![false; count];
        let (mut next, mut is_valid) = (0, true);
        self.for_each(|number, doc| {
            let slot = seen.get_mut(doc as usize);
            is_valid &= number >= next && number <= MONOTONE_SPAN_MAX && self.get(number) == Some(doc);
            is_valid &= slot.is_some_and(|seen| !std::mem::replace(seen, true));
            next = number.saturating_add(1);
        });
        if is_valid && seen.iter().all(|&seen| seen) {
            Ok(())
        } else {
            Err(Damage("numbers and documents are not one to one"))
        }
    }
}

/// The number with zeros behind it up to eighteen digits: these sort as the texts do, but for one that begins another.
fn aligned(number: u64) -> u64 {
    let mut aligned = number;
    while aligned != 0 && aligned < 10_u64.pow(17) {
        aligned *= 10;
    }
    aligned
}

/// Numbers as texts, in byte order.
pub(crate) struct NumberStream {
    docs: Vec<(u64, u64, DocId)>,
    next: usize,
    text: String,
}

impl NumberStream {
    pub(super) fn next(&mut self) -> Option<(&[u8], Output)> {
        use std::fmt::Write;
        let &(_, number, doc) = self.docs.get(self.next)?;
        self.next += 1;
        self.text.clear();
        write!(self.text, "{number}").expect("a String takes everything");
        Some((self.text.as_bytes(), Output::new(doc.into())))
    }
}

/// The section of numbers, which ascend, with their documents.
pub(super) fn section(keys: &[(u64, DocId)]) -> Vec<u8> {
    let numbers: Vec<u64> = keys.iter().map(|key| key.0).collect();
    let mut section = Vec::new();
    put_monotone(&mut section, &numbers);
    let is_in_order = keys.iter().map(|key| key.1).eq(0..keys.len() as DocId);
    let width = if is_in_order { 0 } else { bit_width(keys.len() as u32 - 1) };
    section.push(width);
    pack(&mut section, keys.iter().map(|key| key.1), width);
    section
}

/// The worked example of `segment-format.md`.
#[cfg(test)]
pub(in crate::segment) fn example() -> Vec<u8> {
    section(&[(7, 1), (12, 0)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Keys of these numbers, the documents in the order of the numbers or the other way round.
    fn check(numbers: &BTreeSet<u64>, is_reversed: bool) {
        let count = numbers.len() as DocId;
        let doc = |index: usize| if is_reversed { count - 1 - index as DocId } else { index as DocId };
        let pairs: Vec<(u64, DocId)> = numbers.iter().enumerate().map(|(i, &number)| (number, doc(i))).collect();
        let bytes = section(&pairs);
        let keys = NumberKeys::open(OwnedBytes::from(bytes.clone()), count).unwrap();
        keys.validate().unwrap();
        for &(number, doc) in &pairs {
            assert_eq!(keys.get(number), Some(doc));
            for other in [number.saturating_sub(1), number + 1] {
                assert_eq!(keys.get(other).is_some(), numbers.contains(&other), "{other}");
            }
        }
        let mut stream = keys.stream();
        let mut texts = Vec::new();
        while let Some((text, doc)) = stream.next() {
            assert_eq!(keys.get(number_of(text).unwrap()), Some(doc.value() as DocId));
            texts.push(text.to_vec());
        }
        assert!(texts.is_sorted_by(|a, b| a < b));
        assert_eq!(texts.len(), numbers.len());
        for cut in 0..bytes.len() {
            assert!(NumberKeys::open(OwnedBytes::from(bytes[..cut].to_vec()), count).is_err(), "cut at {cut}");
        }
        assert!(NumberKeys::open(OwnedBytes::from(bytes), count + 1).is_err());
    }

    #[test]
    fn numbers_that_follow_each_other_cost_their_blocks_alone() {
        for is_reversed in [false, true] {
            check(&(0..300).collect(), is_reversed);
            check(&BTreeSet::from([5]), is_reversed);
            check(&BTreeSet::from([0, MONOTONE_SPAN_MAX]), is_reversed);
        }
        let keys: Vec<(u64, DocId)> = (0..6400).map(|i| (i + 9, i as DocId)).collect();
        assert!(section(&keys).len() < 1700);
    }

    #[test]
    fn other_texts_are_no_numbers() {
        for key in ["", "00", "01", "-1", "+1", "1a", "a", "1.0", " 1", "144115188075855872", "1000000000000000000"] {
            assert_eq!(number_of(key.as_bytes()), None, "{key}");
        }
        let most = MONOTONE_SPAN_MAX.to_string();
        for (key, number) in [("0", 0), ("7", 7), ("120", 120), (&*most, MONOTONE_SPAN_MAX)] {
            assert_eq!(number_of(key.as_bytes()), Some(number));
        }
    }

    #[test]
    fn damage_under_valid_lengths_is_found() {
        let mut bytes = section(&[(7, 1), (12, 0)]);
        let last = bytes.len() - 1;
        bytes[last] = 0b11;
        let keys = NumberKeys::open(OwnedBytes::from(bytes), 2).unwrap();
        keys.validate().unwrap_err();
    }

    proptest! {
        #[test]
        fn numbers_are_found(numbers in prop::collection::btree_set(0..=MONOTONE_SPAN_MAX, 1..200), is_reversed: bool) {
            check(&numbers, is_reversed);
        }

        #[test]
        fn near_numbers_are_found(numbers in prop::collection::btree_set(0u64..400, 1..200), is_reversed: bool) {
            check(&numbers, is_reversed);
        }
    }
}
