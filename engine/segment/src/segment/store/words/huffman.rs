//! Prefix codes: frequent symbols get short ones. Codes of the same length are numbered in the order of the symbols, so the
//! lengths are all that has to be known.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of the longest code of any.
pub(super) const BITS_MAX: usize = 24;

/// Bits of the code of each symbol, at most `bits_max`. The last symbol gets the longest code, which is all ones. `counts`
/// are at least two, and none of them is 0.
pub(super) fn code_lengths(mut counts: Vec<u64>, bits_max: u8) -> Vec<u8> {
    loop {
        let mut lengths = unlimited(&counts);
        let longest = lengths.iter().copied().max().unwrap_or(0);
        if longest <= bits_max {
            let of_longest = lengths.iter().rposition(|&length| length == longest).unwrap_or(0);
            let last = lengths.len() - 1;
            lengths.swap(of_longest, last);
            return lengths;
        }
        // Nearer to each other, codes are more alike.
        counts.iter_mut().for_each(|count| *count = *count / 2 + 1);
    }
}

fn unlimited(counts: &[u64]) -> Vec<u8> {
    let leaves = counts.len();
    let mut parents = vec![0_usize; leaves];
    let mut open: BinaryHeap<Reverse<(u64, usize)>> =
        counts.iter().zip(0..).map(|(&count, i)| Reverse((count, i))).collect();
    while let Some(Reverse((least, one))) = open.pop() {
        let Some(Reverse((next, other))) = open.pop() else { break };
        let parent = parents.len();
        (parents[one], parents[other]) = (parent, parent);
        parents.push(0);
        open.push(Reverse((least + next, parent)));
    }
    let mut depths = vec![0_u8; parents.len()];
    for node in (0..parents.len() - 1).rev() {
        depths[node] = depths[parents[node]].saturating_add(1);
    }
    depths.truncate(leaves);
    depths
}

/// Reports whether each symbol has a code of at most `bits_max` bits and any sequence of bits can be decoded.
pub(super) fn is_complete(lengths: &[u8], bits_max: u8) -> bool {
    let have_codes = lengths.iter().all(|length| (1..=bits_max).contains(length));
    have_codes && lengths.iter().map(|length| 1_u64 << (BITS_MAX as u8 - length)).sum::<u64>() == 1 << BITS_MAX
}

/// By length the first code, as if all had [`BITS_MAX`] bits, and how many symbols have shorter ones.
fn firsts(lengths: &[u8]) -> [(u32, u32); BITS_MAX + 2] {
    let mut counts = [0_u32; BITS_MAX + 1];
    lengths.iter().for_each(|&length| counts[usize::from(length)] += 1);
    let mut firsts = [(0, 0); BITS_MAX + 2];
    for length in 1..=BITS_MAX {
        let (code, before) = firsts[length];
        firsts[length + 1] = (code + (counts[length] << (BITS_MAX - length)), before + counts[length]);
    }
    firsts
}

/// The code of each symbol; the lengths are [complete](is_complete).
pub(super) fn codes(lengths: &[u8]) -> Vec<u32> {
    let mut next = firsts(lengths).map(|(code, _)| code);
    let mut code_of = |&length: &u8| {
        let code = next[usize::from(length)];
        next[usize::from(length)] += 1 << (BITS_MAX as u8 - length);
        code >> (BITS_MAX as u8 - length)
    };
    lengths.iter().map(&mut code_of).collect()
}

/// Symbols in the order of their codes; the lengths are [complete](is_complete).
pub(super) fn in_code_order(lengths: &[u8]) -> Vec<u32> {
    let mut next = firsts(lengths).map(|(_, before)| before);
    let mut sorted = vec![0_u32; lengths.len()];
    for (symbol, &length) in (0..).zip(lengths) {
        let place = &mut next[usize::from(length)];
        sorted[*place as usize] = symbol;
        *place += 1;
    }
    sorted
}

/// Finds the code that bits begin with. Codes have ranks, from 0 in their order: what belongs to frequent ones lies side by
/// side, where it is kept by rank.
pub(super) struct CodeTable {
    /// By first bits: rank and, in the lowest byte, length; 0 where the code is longer.
    short: Box<[u32]>,
    short_bits: u8,
    firsts: [(u32, u32); BITS_MAX + 2],
}

impl CodeTable {
    /// The lengths are [complete](is_complete).
    pub(super) fn new(lengths: &[u8], short_bits: u8) -> CodeTable {
        let mut short = vec![0; 1 << short_bits].into_boxed_slice();
        let mut at = 0;
        for (rank, symbol) in (0..).zip(in_code_order(lengths)) {
            let length = lengths[symbol as usize];
            if length > short_bits {
                break;
            }
            let end = at + (1 << (short_bits - length));
            short[at..end].fill(rank << 8 | u32::from(length));
            at = end;
        }
        CodeTable { short, short_bits, firsts: firsts(lengths) }
    }

    /// The rank of the code that `bits` begin with, from the highest, and its length, at most [`BITS_MAX`].
    #[inline(always)]
    pub(super) fn rank(&self, bits: u64) -> (u32, u32) {
        let found = self.short[(bits >> (64 - self.short_bits)) as usize];
        if found != 0 { (found >> 8, found & 0xff) } else { self.long(bits) }
    }

    fn long(&self, bits: u64) -> (u32, u32) {
        let code = (bits >> (64 - BITS_MAX)) as u32;
        let mut length = usize::from(self.short_bits) + 1;
        while length < BITS_MAX && code >= self.firsts[length + 1].0 {
            length += 1;
        }
        let (first, before) = self.firsts[length];
        (before + (code.wrapping_sub(first) >> (BITS_MAX - length)), length as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn codes_come_back(counts in prop::collection::vec(prop_oneof![1u64..20, 1u64..1_000_000_000], 2..400), short in 1u8..13) {
            let lengths = code_lengths(counts.clone(), 20);
            prop_assert!(is_complete(&lengths, 20));
            let codes = codes(&lengths);
            let last = codes.len() - 1;
            prop_assert_eq!(codes[last], (1 << lengths[last]) - 1, "the last one is all ones");
            let (table, sorted) = (CodeTable::new(&lengths, short), in_code_order(&lengths));
            for (symbol, (&code, &length)) in codes.iter().zip(&lengths).enumerate() {
                for rest in [0, u64::MAX >> length] {
                    let bits = u64::from(code) << (64 - length) | rest;
                    let (rank, width) = table.rank(bits);
                    prop_assert_eq!((sorted[rank as usize], width), (symbol as u32, u32::from(length)));
                }
            }
        }
    }

    #[test]
    fn frequent_symbols_have_short_codes() {
        assert_eq!(code_lengths(vec![8, 4, 2, 1, 1], 24), [1, 2, 3, 4, 4]);
        // Counts that would make long codes.
        let counts: Vec<u64> = (0..40).map(|i| 1 << i).collect();
        let lengths = code_lengths(counts, 15);
        assert!(is_complete(&lengths, 15));
        assert!(!is_complete(&lengths, 14));
        assert!(!is_complete(&[1, 2], 24));
        assert!(!is_complete(&[1, 1, 1], 24));
        assert!(!is_complete(&[0, 1, 1], 24));
    }
}
