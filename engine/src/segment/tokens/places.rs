//! "Where in this document is this word?", told from the codes of its tokens.

use super::codes::CLASS_COUNT;
use super::decoder::{Code, Decoder, Packed, TOKENS_PER_BYTE};

/// Finds the places of a word in the documents of one token column. Nothing is decoded, and no token is looked up in the
/// code table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    word: Code,
    /// Bits of its value.
    width: usize,
}

/// Bytes of classes that are looked at together.
const BYTES_PER_STEP: usize = 16;

/// Where the values of one class are among those of four tokens.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FourFields {
    /// The lowest bit of each.
    lowest: u64,
    /// Bits of all four values, of whatever class.
    bits: u8,
    /// Not all of them are within 64 bits, wherever in a byte the first one starts.
    is_wide: bool,
}

impl FourFields {
    /// By the classes of four tokens. Cost: some microseconds.
    pub(super) fn of_class(class: u8, widths: [usize; CLASS_COUNT]) -> Box<[FourFields; 256]> {
        let mut all = Box::new([FourFields::default(); 256]);
        for (classes, four) in all.iter_mut().enumerate() {
            let mut at = 0;
            for token in 0..TOKENS_PER_BYTE {
                let of_token = classes >> (2 * token) & 3;
                let end = at + widths[of_token];
                if of_token == usize::from(class) {
                    if end == at || end + 7 > u64::BITS as usize {
                        four.is_wide = true;
                    } else {
                        four.lowest |= 1 << at;
                    }
                }
                at = end;
            }
            four.bits = at as u8;
        }
        all
    }

    /// Whether one of the fields may have a value. `bits`: the values, and what follows.
    ///
    /// A field that is zero once the value is taken off borrows from its highest bit when one is subtracted (the zero byte
    /// test of Hacker's Delight 6-1, for fields anywhere). What it borrows further up does not matter, as one zero is
    /// enough. The fields do not overlap, so a product puts the value into each.
    #[inline(always)]
    fn may_hold(&self, bits: u64, value: u64, mask: u64, width: usize) -> bool {
        let rest = (bits ^ self.lowest.wrapping_mul(value)) & self.lowest.wrapping_mul(mask);
        let highest = self.lowest << (width.wrapping_sub(1) & 63);
        self.is_wide | (rest.wrapping_sub(self.lowest) & !rest & highest != 0)
    }
}

impl Places {
    pub(super) fn new(decoder: &Decoder, word: Code) -> Places {
        Places { word, width: decoder.width(word.class) }
    }

    /// Bits of the value of the word.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Whether `is_last` accepts any of the word's places among `len` tokens: it gets the place and the bit at which its
    /// value starts, ascending, until it accepts one. Cost: some nanoseconds for four tokens up to the accepted place.
    #[inline]
    pub(super) fn any(
        &self,
        decoder: &Decoder,
        (len, packed): (usize, Packed<'_>),
        mut is_last: impl FnMut(usize, usize) -> bool,
    ) -> bool {
        let bytes = packed.classes.get(..len.div_ceil(TOKENS_PER_BYTE)).unwrap_or_default();
        let fields = decoder.fields(self.word.class);
        let (value, mask) = (u64::from(self.word.value), (1 << self.width) - 1);
        let (mut first, mut bit) = (0, 0);
        for bytes in bytes.chunks(BYTES_PER_STEP) {
            // Where the word may be is found without a branch, which would be guessed wrongly each time.
            let mut starts = [0; BYTES_PER_STEP];
            let mut found = 0u32;
            for (at, &classes) in bytes.iter().enumerate() {
                let four = &fields[usize::from(classes)];
                starts[at] = bit;
                found |= u32::from(four.may_hold(packed.bits(bit), value, mask, self.width)) << at;
                bit += usize::from(four.bits);
            }
            while found != 0 {
                let at = found.trailing_zeros() as usize % BYTES_PER_STEP;
                found &= found - 1;
                let mut tokens = self.among_four(decoder, packed, bytes[at], starts[at]);
                while tokens != 0 {
                    let token = tokens.trailing_zeros() as usize;
                    tokens &= tokens - 1;
                    let place = first + at * TOKENS_PER_BYTE + token;
                    if place < len && is_last(place, starts[at] + decoder.bits_of(bytes[at], token)) {
                        return true;
                    }
                }
            }
            first += BYTES_PER_STEP * TOKENS_PER_BYTE;
        }
        false
    }

    /// Which of four tokens are the word, as bits; their values start at `start`.
    #[inline]
    fn among_four(&self, decoder: &Decoder, packed: Packed<'_>, classes: u8, start: usize) -> u32 {
        let mut tokens = 0;
        for token in 0..TOKENS_PER_BYTE {
            let at = start + decoder.bits_of(classes, token);
            let is_of_class = classes >> (2 * token) & 3 == self.word.class;
            tokens |= u32::from(is_of_class & (packed.value(at, self.width) == self.word.value)) << token;
        }
        tokens
    }
}
