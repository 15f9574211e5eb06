//! The loops themselves. Always inlined, so that each caller compiles them for its own instructions.

use super::fields::{FIELD_KEYS_MAX, FIELD_WINDOW, FieldTable};

/// Sums that grow side by side: enough to keep the multipliers of a core busy despite their latency.
const LANES: usize = 32;

/// The scalar product of `row` (little-endian `f32`) and `query`; what one of them has beyond the other is left out.
#[inline(always)]
fn dot<const FUSED: bool>(row: &[u8], query: &[f32]) -> f32 {
    let (row, _) = row.as_chunks::<4>();
    let count = row.len().min(query.len());
    let (row_blocks, row_rest) = row[..count].as_chunks::<LANES>();
    let (query_blocks, query_rest) = query[..count].as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (row, query) in row_blocks.iter().zip(query_blocks) {
        for lane in 0..LANES {
            let value = f32::from_le_bytes(row[lane]);
            // Without the instruction, a fused product is a slow library call.
            sums[lane] = if FUSED { value.mul_add(query[lane], sums[lane]) } else { value * query[lane] + sums[lane] };
        }
    }
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    let rest: f32 = row_rest.iter().zip(query_rest).map(|(row, query)| f32::from_le_bytes(*row) * query).sum();
    sums[0] + rest
}

/// [`dot`] of each row of `rows`, which follow each other without gaps.
#[inline(always)]
pub(super) fn dots<const FUSED: bool>(rows: &[u8], query: &[f32], out: &mut [f32]) {
    let row_bytes = (query.len() * 4).max(1);
    for (row, out) in rows.chunks_exact(row_bytes).zip(out) {
        *out = dot::<FUSED>(row, query);
    }
}

/// See [`super::differing_bits`].
#[inline(always)]
pub(crate) fn differing_bits(rows: &[u8], query: &[u8], out: &mut [u32]) {
    let ((rows, _), (query, _)) = (rows.as_chunks::<8>(), query.as_chunks::<8>());
    for (row, out) in rows.chunks_exact(query.len().max(1)).zip(out) {
        let mut differing = 0;
        for (a, b) in row.iter().zip(query) {
            differing += (u64::from_le_bytes(*a) ^ u64::from_le_bytes(*b)).count_ones();
        }
        *out = differing;
    }
}

/// See [`super::common_bits`].
#[inline(always)]
pub(crate) fn common_bits(words: &[u64], bits: &[u8]) -> u32 {
    let (chunks, _) = bits.as_chunks::<8>();
    words.iter().zip(chunks).map(|(word, chunk)| (word & u64::from_le_bytes(*chunk)).count_ones()).sum()
}

/// Numbers of four bits in a block of a code.
pub(super) const NIBBLE_BLOCK: usize = 64;

/// See [`super::nibble_dots`].
#[inline(always)]
pub(super) fn nibble_dots(codes: &[u8], query: &[i8], out: &mut [i32]) {
    let (query, _) = query.as_chunks::<NIBBLE_BLOCK>();
    for (row, out) in codes.chunks_exact((query.len() * NIBBLE_BLOCK / 2).max(1)).zip(out) {
        let (blocks, _) = row.as_chunks::<{ NIBBLE_BLOCK / 2 }>();
        *out = 0;
        for (block, query) in blocks.iter().zip(query) {
            let (low, high) = query.split_at(NIBBLE_BLOCK / 2);
            let halves = block.iter().zip(low).zip(high);
            *out += halves
                .map(|((byte, low), high)| {
                    i32::from(byte & 15) * i32::from(*low) + i32::from(byte >> 4) * i32::from(*high)
                })
                .sum::<i32>();
        }
    }
}

/// See [`super::fields_holding`].
#[inline(always)]
pub(crate) fn fields_holding(
    keys: &[u8],
    bits: &[u8],
    first: u32,
    table: &FieldTable,
    starts: &mut [u32; FIELD_KEYS_MAX],
) -> (u32, u32) {
    // Only at the end of a section are there fewer bytes: nothing is cleared before that.
    let Some(window) = bits.first_chunk() else {
        let mut padded = [0; FIELD_WINDOW];
        padded[..bits.len()].copy_from_slice(bits);
        return fields_holding_within(keys, &padded, first, table, starts);
    };
    fields_holding_within(keys, window, first, table, starts)
}

#[inline(always)]
fn fields_holding_within(
    keys: &[u8],
    window: &[u8; FIELD_WINDOW],
    first: u32,
    table: &FieldTable,
    starts: &mut [u32; FIELD_KEYS_MAX],
) -> (u32, u32) {
    let (mut bit, mut found) = (first & 7, 0);
    for (at, (&key, start)) in keys.iter().zip(starts).enumerate() {
        let fields = &table.fields[usize::from(key)];
        *start = bit;
        // No start is beyond the last byte that is asked for here: the compiler sees that all of them are within.
        let bytes = &window[(bit >> 3) as usize & (FIELD_WINDOW - 9)..];
        let word = bytes.first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes)) >> (bit & 7);
        let rest = (word ^ fields.values) & fields.covered;
        found |= u32::from(rest.wrapping_sub(fields.lowest) & !rest & fields.highest != 0) << at;
        bit += u32::from(table.bits[usize::from(key)]);
    }
    (found, bit)
}

/// See [`super::add_where`].
#[inline(always)]
pub(crate) fn add_where(bytes: &mut [u8], words: &[u64], byte: u8) {
    /// Four bits, each of them in a byte of its own.
    const SPREAD: [u32; 2] = [0x0020_4081, 0x0101_0101];
    for (chunk, &word) in bytes.as_chunks_mut::<64>().0.iter_mut().zip(words) {
        if word == 0 {
            continue;
        }
        let halves = chunk.as_chunks_mut::<32>().0.iter_mut().zip([word as u32, (word >> 32) as u32]);
        for (half, bits) in halves {
            for (at, four) in half.as_chunks_mut::<4>().0.iter_mut().enumerate() {
                let ones = (bits >> (4 * at) & 0xf).wrapping_mul(SPREAD[0]) & SPREAD[1];
                // Sums stay below 256, so no carry leaves a byte.
                let added = ones.wrapping_mul(u32::from(byte));
                *four = u32::from_le_bytes(*four).wrapping_add(added).to_le_bytes();
            }
        }
    }
}

/// See [`super::next_reaching`].
#[inline(always)]
pub(crate) fn next_reaching(bytes: &[u8], from: usize, least: u8) -> usize {
    let chunks = bytes.as_chunks::<64>().0;
    for (at, chunk) in chunks.iter().enumerate().skip(from) {
        if chunk.iter().fold(0, |most, &byte| most.max(byte)) >= least {
            return at;
        }
    }
    from.max(chunks.len())
}

/// See [`super::share`].
#[inline(always)]
pub(super) fn share(byte: u8, of: u8) -> u8 {
    let product = u16::from(byte) * u16::from(of) + 254;
    ((product + 1 + (product >> 8)) >> 8) as u8
}

/// See [`super::share_each`].
#[inline(always)]
pub(crate) fn share_each(bytes: &mut [u8], of: &[u8]) {
    bytes.iter_mut().zip(of).for_each(|(byte, &of)| *byte = share(*byte, of));
}

/// Leaves the bits that are in both, and counts them.
#[inline(always)]
pub(super) fn and_words(words: &mut [u64], other: &[u64]) -> u32 {
    combine(words, other, |a, b| a & b)
}

/// Leaves the bits that are not in the other, and counts them.
#[inline(always)]
pub(super) fn and_not_words(words: &mut [u64], other: &[u64]) -> u32 {
    combine(words, other, |a, b| a & !b)
}

/// Adds the bits of the other, and counts all.
#[inline(always)]
pub(super) fn or_words(words: &mut [u64], other: &[u64]) -> u32 {
    combine(words, other, |a, b| a | b)
}

/// Counts the bits that are in both.
#[inline(always)]
pub(super) fn count_common(words: &[u64], other: &[u64]) -> u32 {
    words.iter().zip(other).map(|(a, b)| (a & b).count_ones()).sum()
}

/// Counts the bits.
#[inline(always)]
pub(super) fn count_ones(words: &[u64]) -> u32 {
    words.iter().map(|word| word.count_ones()).sum()
}

/// Words past the end of `other` are counted as they are.
#[inline(always)]
fn combine(words: &mut [u64], other: &[u64], with: impl Fn(u64, u64) -> u64) -> u32 {
    let (words, rest) = words.split_at_mut(words.len().min(other.len()));
    let mut count = 0;
    for (word, &other) in words.iter_mut().zip(other) {
        *word = with(*word, other);
        count += word.count_ones();
    }
    count + count_ones(rest)
}
