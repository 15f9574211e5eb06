//! "How near to this word is one of those, in this document?"

use super::decoder::{Code, Decoder, Packed, TOKENS_PER_BYTE};
use super::reader::{TokenColumn, TokensOfDoc};
use crate::id::TermOrdinal;

/// Looks for terms around the places of a word in the documents of one token column. Only what is around these places
/// is decoded.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    word: Code,
    /// Bits of its value.
    width: usize,
    /// By the classes of four tokens.
    four: Box<[FourValues; 256]>,
    /// The first of the terms that are looked for, and their number.
    terms: (TermOrdinal, u32),
}

/// Bytes of classes that are looked at together.
const BYTES_PER_STEP: usize = u32::BITS as usize;

/// Tells whether the word is among four tokens, from the 64 bits at which their values start.
///
/// The values that are of the class of the word are fields of one width. A field that is zero once the value of the word is
/// taken off borrows from its highest bit when one is subtracted (the zero byte test of Hacker's Delight 6-1, for fields
/// anywhere). What it borrows further up does not matter, as one zero is enough.
#[derive(Clone, Copy, Debug, Default)]
struct FourValues {
    /// The value of the word in each field.
    values: u64,
    fields: u64,
    lowest: u64,
    highest: u64,
    /// Bits of all four values.
    bits: u32,
    /// Not all fields are within 64 bits, wherever in a byte they start: the word may be there.
    is_wide: bool,
}

impl FourValues {
    fn new(decoder: &Decoder, classes: u8, word: Code) -> FourValues {
        let width = decoder.width(word.class);
        let mut four = FourValues { bits: decoder.bits_of(classes, TOKENS_PER_BYTE) as u32, ..FourValues::default() };
        for token in (0..TOKENS_PER_BYTE).filter(|token| classes >> (2 * token) & 3 == word.class) {
            let at = decoder.bits_of(classes, token);
            if width == 0 || at + width + 7 > u64::BITS as usize {
                four.is_wide = true;
                continue;
            }
            four.values |= u64::from(word.value) << at;
            four.fields |= ((1 << width) - 1) << at;
            four.lowest |= 1 << at;
            four.highest |= 1 << (at + width - 1);
        }
        four
    }

    /// `bits`: the values, and what follows.
    #[inline(always)]
    fn may_hold(&self, bits: u64) -> bool {
        let rest = (bits ^ self.values) & self.fields;
        self.is_wide | (rest.wrapping_sub(self.lowest) & !rest & self.highest != 0)
    }
}

impl Nearest {
    /// Cost: one pass over the code table, if the word has no short code, and a table of 10 kB.
    pub(crate) fn new(column: &TokenColumn, word: TermOrdinal, terms: (TermOrdinal, u32)) -> Nearest {
        let (word, decoder) = (column.code_of(word), column.decoder());
        let mut four = Box::new([FourValues::default(); 256]);
        (0..=u8::MAX).zip(four.iter_mut()).for_each(|(classes, four)| *four = FourValues::new(decoder, classes, word));
        Nearest { word, width: decoder.width(word.class), four, terms }
    }

    /// The smallest distances at which one of the terms is before the word and behind it, as far as they are below those
    /// given. Fields follow each other as if they were one. Cost: some nanoseconds for four tokens, and as many for each
    /// one that is decoded around a place of the word.
    pub(crate) fn distances(&self, doc: &TokensOfDoc<'_>, [mut before, mut behind]: [usize; 2]) -> [usize; 2] {
        let (len, packed) = doc.packed();
        let bytes = packed.classes.get(..len.div_ceil(TOKENS_PER_BYTE)).unwrap_or_default();
        let (mut first, mut bit) = (0, 0);
        for bytes in bytes.chunks(BYTES_PER_STEP) {
            // Where the word may be is found without a branch, which would be guessed wrongly each time.
            let mut starts = [0; BYTES_PER_STEP];
            let mut found = 0u32;
            for (at, &classes) in bytes.iter().enumerate() {
                let four = &self.four[usize::from(classes)];
                starts[at] = bit;
                found |= u32::from(four.may_hold(packed.bits(bit))) << at;
                bit += four.bits as usize;
            }
            while found != 0 && (before > 1 || behind > 1) {
                let at = found.trailing_zeros() as usize;
                found &= found - 1;
                let place = first + at * TOKENS_PER_BYTE;
                self.look_at_four(doc, packed, [place, len], starts[at % BYTES_PER_STEP], [&mut before, &mut behind]);
            }
            first += BYTES_PER_STEP * TOKENS_PER_BYTE;
        }
        [before, behind]
    }

    /// Lowers the distances by what is around the word among four tokens, whose values start at `start`.
    #[inline]
    fn look_at_four(
        &self,
        doc: &TokensOfDoc<'_>,
        packed: Packed<'_>,
        [first, len]: [usize; 2],
        start: usize,
        [before, behind]: [&mut usize; 2],
    ) {
        let classes = packed.class_byte(first / TOKENS_PER_BYTE);
        let mut places = 0u32;
        for token in 0..TOKENS_PER_BYTE {
            let at = start + doc.decoder().bits_of(classes, token);
            let is_of_class = classes >> (2 * token) & 3 == self.word.class;
            places |= u32::from(is_of_class & (packed.value(at, self.width) == self.word.value)) << token;
        }
        while places != 0 {
            let token = places.trailing_zeros() as usize;
            places &= places - 1;
            let at = start + doc.decoder().bits_of(classes, token);
            if first + token < len {
                self.look_around(doc, packed, [first + token, len], at, [before, behind]);
            }
        }
    }

    /// Lowers the distances by what is around a place, whose value starts at `start`.
    #[inline]
    fn look_around(
        &self,
        doc: &TokensOfDoc<'_>,
        packed: Packed<'_>,
        [place, len]: [usize; 2],
        start: usize,
        [before, behind]: [&mut usize; 2],
    ) {
        let mut bit = start + self.width;
        for distance in 1..(*behind).min(len - place) {
            let class = packed.class(place + distance);
            let width = doc.decoder().width(class);
            if self.is(doc.ordinal(class, packed.value(bit, width))) {
                *behind = distance;
                break;
            }
            bit += width;
        }
        let mut bit = start;
        for distance in 1..(*before).min(place + 1) {
            let class = packed.class(place - distance);
            let width = doc.decoder().width(class);
            bit -= width;
            if self.is(doc.ordinal(class, packed.value(bit, width))) {
                *before = distance;
                break;
            }
        }
    }

    fn is(&self, ordinal: TermOrdinal) -> bool {
        ordinal.wrapping_sub(self.terms.0) < self.terms.1
    }
}
