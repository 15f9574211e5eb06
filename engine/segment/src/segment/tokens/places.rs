//! "Where in this document is this word?", answered from the codes of its tokens.

use super::codes::Code;
use super::decoder::{Decoder, Packed, TOKENS_PER_BYTE};
use crate::bits::kernels::{FIELD_KEYS_MAX, FieldTable, fields_holding};

/// Finds the places of a word in the documents of one token column. Nothing is decoded, and no token is looked up in the
/// code table.
#[derive(Clone, Debug)]
pub(super) struct Places {
    word: Code,
    /// Bits of its value.
    width: usize,
    /// By the classes of four tokens, where those of the class of the word have their values.
    fields: Box<FieldTable>,
}

impl Places {
    /// Cost: about a microsecond.
    pub(super) fn new(decoder: &Decoder, word: Code) -> Places {
        let width = decoder.width(word.class);
        let of_class = |classes: u8| {
            let tokens = (0..TOKENS_PER_BYTE).filter(move |token| classes >> (2 * token) & 3 == word.class);
            let starts = tokens.map(move |token| decoder.bits_of(classes, token) as u32);
            (starts, decoder.bits_of(classes, TOKENS_PER_BYTE) as u8)
        };
        Places { word, width, fields: Box::new(FieldTable::new(word.value, width as u32, of_class)) }
    }

    /// Bits of the value of the word.
    #[inline(always)]
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Reports whether `is_last` accepts any of the word's places among `len` tokens. It is called with each place and
    /// the bit at which its value starts, ascending, until it accepts one. Cost: some nanoseconds for every four tokens
    /// up to the accepted place.
    #[inline]
    pub(super) fn any(
        &self,
        decoder: &Decoder,
        len: usize,
        packed: Packed<'_>,
        mut is_last: impl FnMut(usize, usize) -> bool,
    ) -> bool {
        let bytes = packed.classes.get(..len.div_ceil(TOKENS_PER_BYTE)).unwrap_or_default();
        let (mut first, mut bit) = (0, 0);
        for bytes in bytes.chunks(FIELD_KEYS_MAX) {
            // Where the word may be is found without a branch, which would be guessed wrongly each time.
            let mut starts = [0; FIELD_KEYS_MAX];
            let values = packed.values.get(bit >> 3..).unwrap_or_default();
            let whole = bit & !7;
            let (mut found, end) = fields_holding(bytes, values, bit as u32 & 7, &self.fields, &mut starts);
            while found != 0 {
                let at = found.trailing_zeros() as usize % FIELD_KEYS_MAX;
                found &= found - 1;
                let start = whole + starts[at] as usize;
                let mut tokens = self.among_four(decoder, packed, bytes[at], start);
                while tokens != 0 {
                    let token = tokens.trailing_zeros() as usize;
                    tokens &= tokens - 1;
                    let place = first + at * TOKENS_PER_BYTE + token;
                    if place < len && is_last(place, start + decoder.bits_of(bytes[at], token)) {
                        return true;
                    }
                }
            }
            bit = whole + end as usize;
            first += FIELD_KEYS_MAX * TOKENS_PER_BYTE;
        }
        false
    }

    /// Returns, as bits, the tokens among four that are the word. Their values start at `start`.
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
