//! Arrays of integers at a fixed bit width, readable at any index.
//!
//! Value `i` of width `w` occupies the bits `i*w .. i*w + w` of the byte string, least significant bit first. One
//! unaligned 64-bit load serves any value up to 57 bits wide, so random access and sequential decoding cost the same.
//! Full blocks of 128 sorted integers use the vertical layout of the `bitpacking` crate instead (see `postings`).

use super::little_endian::read_u64_padded;

/// Bits needed for `value`: 0 for 0, 32 for `u32::MAX`.
#[inline]
pub(crate) const fn bit_width(value: u32) -> u8 {
    (32 - value.leading_zeros()) as u8
}

/// Bits needed for `value`: 0 for 0, 64 for `u64::MAX`.
#[inline]
pub(crate) const fn bit_width_u64(value: u64) -> u8 {
    (64 - value.leading_zeros()) as u8
}

/// Bytes that `count` values of `width` bits occupy.
#[inline]
pub(crate) const fn packed_bytes(count: usize, width: u8) -> usize {
    (count * width as usize).div_ceil(8)
}

/// Appends integers of changing widths to a byte buffer.
pub(crate) struct BitWriter<'a> {
    out: &'a mut Vec<u8>,
    pending: u64,
    pending_bits: u32,
}

impl<'a> BitWriter<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        BitWriter { out, pending: 0, pending_bits: 0 }
    }

    /// Appends the low `width` bits of `value` (`width` <= 32; higher bits of `value` must be zero).
    #[inline]
    pub(crate) fn put(&mut self, value: u32, width: u8) {
        debug_assert!(width <= 32);
        debug_assert!(bit_width(value) <= width);
        self.pending |= u64::from(value) << self.pending_bits;
        self.pending_bits += u32::from(width);
        if self.pending_bits >= 32 {
            self.out.extend_from_slice(&(self.pending as u32).to_le_bytes());
            self.pending >>= 32;
            self.pending_bits -= 32;
        }
    }

    /// Writes the last partial byte.
    pub(crate) fn finish(self) {
        let bytes = self.pending_bits.div_ceil(8) as usize;
        self.out.extend_from_slice(&self.pending.to_le_bytes()[..bytes]);
    }
}

/// Appends `values` at `width` bits each.
pub(crate) fn pack(out: &mut Vec<u8>, values: impl IntoIterator<Item = u32>, width: u8) {
    if width == 0 {
        return;
    }
    let mut writer = BitWriter::new(out);
    for value in values {
        writer.put(value, width);
    }
    writer.finish();
}

/// The `width` (<= 32) bits at bit position `bit`; zeros past the end.
#[inline]
pub(crate) fn get_bits(bytes: &[u8], bit: usize, width: u8) -> u32 {
    let word = read_u64_padded(bytes, bit >> 3) >> (bit & 7);
    (word & ((1u64 << width) - 1)) as u32
}

/// Decodes `count` values of `width` (<= 32) bits that start at bit 0 of `bytes` and hands them to `f`.
///
/// Missing bytes read as zeros. The loop without the end check covers all values whose 64-bit load is inside.
#[inline]
pub(crate) fn unpack(bytes: &[u8], count: usize, width: u8, mut f: impl FnMut(u32)) {
    debug_assert!(width <= 32);
    if width == 0 {
        for _ in 0..count {
            f(0);
        }
        return;
    }
    let mask = (1u64 << width) - 1;
    let width = usize::from(width);
    // Value i loads the bytes i*w/8 .. i*w/8 + 8.
    let inside = if bytes.len() >= 8 { (((bytes.len() - 8) * 8 + 7) / width + 1).min(count) } else { 0 };
    let mut bit = 0;
    for _ in 0..inside {
        let at = bit >> 3;
        let word = bytes.get(at..at + 8).and_then(|s| s.first_chunk::<8>()).map_or(0, |c| u64::from_le_bytes(*c));
        f(((word >> (bit & 7)) & mask) as u32);
        bit += width;
    }
    for _ in inside..count {
        f(((read_u64_padded(bytes, bit >> 3) >> (bit & 7)) & mask) as u32);
        bit += width;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn widths() {
        assert_eq!(bit_width(0), 0);
        assert_eq!(bit_width(1), 1);
        assert_eq!(bit_width(u32::MAX), 32);
        assert_eq!(bit_width_u64(u64::MAX), 64);
        assert_eq!(packed_bytes(3, 3), 2);
        assert_eq!(packed_bytes(8, 32), 32);
    }

    proptest! {
        #[test]
        fn packed_values_come_back(width in 0u8..=32, raw in prop::collection::vec(any::<u32>(), 0..300)) {
            let mask = ((1u64 << width) - 1) as u32;
            let values: Vec<u32> = raw.iter().map(|v| v & mask).collect();
            let mut bytes = Vec::new();
            pack(&mut bytes, values.iter().copied(), width);
            prop_assert_eq!(bytes.len(), packed_bytes(values.len(), width));
            let mut decoded = Vec::new();
            unpack(&bytes, values.len(), width, |v| decoded.push(v));
            prop_assert_eq!(&decoded, &values);
            for (i, &value) in values.iter().enumerate() {
                prop_assert_eq!(get_bits(&bytes, i * usize::from(width), width), value);
            }
        }

        #[test]
        fn short_input_reads_zeros(width in 1u8..=32, bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut decoded = Vec::new();
            unpack(&bytes, 100, width, |v| decoded.push(v));
            prop_assert_eq!(decoded.len(), 100);
            for (i, &value) in decoded.iter().enumerate() {
                prop_assert_eq!(get_bits(&bytes, i * usize::from(width), width), value);
            }
        }
    }
}
