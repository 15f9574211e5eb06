//! Non-decreasing integers (offsets, ids, sorted numbers) with random access, at a few bits each.
//!
//! Blocks of 64 values. Value `i` of a block is `base + slope * i + excess[i]`, where the slope is the smallest step of
//! the block; the excess is bit-packed at the block's own width. Equal steps (documents that follow each other, fixed
//! sized records) therefore cost nothing but the 16 bytes of the block entry.
//!
//! The layout is in `segment-format.md`.

use super::bitpack::{bit_width_u64, packed_bytes};
use super::little_endian::{put_u32, put_u64, read_u32, read_u64, read_u64_padded};

const BLOCK_LEN: usize = 64;
const HEADER_BYTES: usize = 8;
const ENTRY_BYTES: usize = 16;
const SLOPE_MAX: u64 = (1 << 24) - 1;
/// The widest value one unaligned 64-bit load serves.
const WIDTH_MAX: u8 = 57;
/// Arrays whose values span no more than this can always be encoded.
pub(crate) const MONOTONE_SPAN_MAX: u64 = (1 << WIDTH_MAX) - 1;

/// Appends the encoding of `values`, which must not decrease and must not span 2^57 or more within 64 values.
pub(crate) fn put_monotone(out: &mut Vec<u8>, values: &[u64]) {
    debug_assert!(values.is_sorted());
    put_u32(out, values.len() as u32);
    put_u32(out, 0);
    let mut bits = Vec::new();
    for block in values.chunks(BLOCK_LEN) {
        let base = block[0];
        let slope = block.windows(2).map(|w| w[1] - w[0]).min().unwrap_or(0).min(SLOPE_MAX);
        let excess = |(i, &value): (usize, &u64)| value - base - slope * i as u64;
        let width = bit_width_u64(block.iter().enumerate().map(excess).max().unwrap_or(0));
        assert!(width <= WIDTH_MAX, "neighbouring values of a monotone array are less than 2^57 apart");
        put_u64(out, base);
        put_u32(out, bits.len() as u32);
        put_u32(out, slope as u32 | u32::from(width) << 24);
        pack_wide(&mut bits, block.iter().enumerate().map(excess), width);
    }
    out.extend_from_slice(&bits);
    out.extend_from_slice(&[0; 8]);
}

fn pack_wide(out: &mut Vec<u8>, values: impl Iterator<Item = u64>, width: u8) {
    let (mut pending, mut pending_bits) = (0u128, 0u32);
    for value in values {
        pending |= u128::from(value) << pending_bits;
        pending_bits += u32::from(width);
        while pending_bits >= 8 {
            out.push(pending as u8);
            pending >>= 8;
            pending_bits -= 8;
        }
    }
    if pending_bits > 0 {
        out.push(pending as u8);
    }
}

/// The shape of an encoded array; its bytes are passed to each call, because they live in a mapped file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Monotone {
    count: u32,
    bytes: usize,
}

impl Monotone {
    /// Reads the header at the front of `bytes` and checks that all blocks lie inside.
    pub(crate) fn open(bytes: &[u8]) -> Option<Monotone> {
        let count = read_u32(bytes, 0)?;
        let blocks = (count as usize).div_ceil(BLOCK_LEN);
        let bits_at = blocks.checked_mul(ENTRY_BYTES)?.checked_add(HEADER_BYTES)?;
        let mut end = bits_at;
        if let Some(last) = blocks.checked_sub(1) {
            let entry = HEADER_BYTES + last * ENTRY_BYTES;
            let in_last = count as usize - last * BLOCK_LEN;
            let width = (read_u32(bytes, entry + 12)? >> 24) as u8;
            end = bits_at.checked_add(read_u32(bytes, entry + 8)? as usize)?;
            end = end.checked_add(packed_bytes(in_last, width))?;
        }
        let bytes_needed = end.checked_add(8)?;
        (bytes_needed <= bytes.len()).then_some(Monotone { count, bytes: bytes_needed })
    }

    /// Number of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count as usize
    }

    /// Length of the encoding.
    pub(crate) fn byte_len(&self) -> usize {
        self.bytes
    }

    /// Value `index`; 0 past the end.
    #[inline]
    pub(crate) fn get(&self, bytes: &[u8], index: usize) -> u64 {
        if index >= self.count as usize {
            return 0;
        }
        self.block(bytes, index / BLOCK_LEN).get(bytes, index % BLOCK_LEN)
    }

    /// Values `index` and `index + 1`, each 0 past the end: where something starts and where it ends.
    #[inline]
    pub(crate) fn get_two(&self, bytes: &[u8], index: usize) -> [u64; 2] {
        if index % BLOCK_LEN == BLOCK_LEN - 1 || index + 1 >= self.count as usize {
            return [self.get(bytes, index), self.get(bytes, index + 1)];
        }
        let block = self.block(bytes, index / BLOCK_LEN);
        [block.get(bytes, index % BLOCK_LEN), block.get(bytes, index % BLOCK_LEN + 1)]
    }

    /// A block; one of zeros where a damaged length leads past the end.
    #[inline]
    fn block(&self, bytes: &[u8], block: usize) -> Block {
        let entry = HEADER_BYTES + block * ENTRY_BYTES;
        let Some(base) = read_u64(bytes, entry) else { return Block { base: 0, slope: 0, width: 0, at: 0 } };
        let packed = read_u64_padded(bytes, entry + 8);
        let blocks = (self.count as usize).div_ceil(BLOCK_LEN);
        Block {
            base,
            slope: packed >> 32 & SLOPE_MAX,
            width: (packed >> 56) as usize,
            at: HEADER_BYTES + blocks * ENTRY_BYTES + (packed as u32) as usize,
        }
    }

    /// Number of values below `value`, which is the index of the first that is not.
    pub(crate) fn partition_point(&self, bytes: &[u8], mut below: impl FnMut(u64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if below(self.get(bytes, middle)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Parameters from which the values of a block are computed.
struct Block {
    base: u64,
    slope: u64,
    /// Bits of an excess, and the byte at which the first one starts.
    width: usize,
    at: usize,
}

impl Block {
    #[inline]
    fn get(&self, bytes: &[u8], i: usize) -> u64 {
        let line = self.base.wrapping_add(self.slope * i as u64);
        if self.width == 0 {
            return line;
        }
        let bit = i * self.width;
        let word = read_u64_padded(bytes, self.at + (bit >> 3)) >> (bit & 7);
        line.wrapping_add(word & (u64::MAX >> (64 - self.width.min(64))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(values: &[u64]) {
        let mut bytes = vec![];
        put_monotone(&mut bytes, values);
        let array = Monotone::open(&bytes).unwrap();
        assert_eq!(array.byte_len(), bytes.len());
        assert_eq!(array.len(), values.len());
        for (i, &value) in values.iter().enumerate() {
            assert_eq!(array.get(&bytes, i), value, "value {i}");
            assert_eq!(array.partition_point(&bytes, |v| v < value), values.partition_point(|&v| v < value));
        }
        assert_eq!(array.get(&bytes, values.len()), 0);
        for cut in 0..bytes.len() {
            assert_eq!(Monotone::open(&bytes[..cut]), None, "cut at {cut}");
        }
    }

    #[test]
    fn edges() {
        check(&[]);
        check(&[0]);
        check(&[u64::MAX]);
        check(&[0, (1 << 57) - 1]);
        check(&(0..64).collect::<Vec<_>>());
        check(&(0..65).map(|i| i * 1000).collect::<Vec<_>>());
        check(&[7; 200]);
    }

    #[test]
    fn equal_steps_cost_only_their_entry() {
        let mut bytes = Vec::new();
        put_monotone(&mut bytes, &(5..5 + 6400).collect::<Vec<_>>());
        assert_eq!(bytes.len(), HEADER_BYTES + 100 * ENTRY_BYTES + 8);
    }

    proptest! {
        #[test]
        fn values_come_back(mut values in prop::collection::vec(0u64..1 << 56, 0..300)) {
            values.sort_unstable();
            check(&values);
        }

        #[test]
        fn small_steps_come_back(steps in prop::collection::vec(0u64..900, 0..300), first in any::<u32>()) {
            let mut value = u64::from(first);
            let values: Vec<u64> = steps.iter().map(|s| { value += s; value }).collect();
            check(&values);
        }

        #[test]
        fn damaged_arrays_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 8..200), count in 0u32..200) {
            bytes[..4].copy_from_slice(&count.to_le_bytes());
            if let Some(array) = Monotone::open(&bytes) {
                for i in 0..array.len() {
                    array.get(&bytes, i);
                }
            }
        }
    }
}
