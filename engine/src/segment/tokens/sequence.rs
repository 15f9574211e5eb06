//! "Do these words follow each other in this document?", told from the codes of its tokens.
//!
//! The classes of tokens come before their values, two bits each: those of 32 places are compared at once, and only where
//! all classes agree the values are read. No token is looked up in the code table, and reading ends with the first place
//! where the words are.

use super::decoder::{Code, Decoder, LOW_BITS, Packed, TOKENS_PER_BYTE, TOKENS_PER_WORD};
use super::reader::{TokenColumn, TokensOfDoc};
use crate::id::{FieldId, GAP, TermOrdinal};

/// Words that are compared with many places at once; further ones are looked at where these are.
const COMPARED_FIRST: usize = 4;

/// Words in a row, as the codes that stand for them in one token column; `None` for any one word.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    words: Vec<Option<Code>>,
    gap: Code,
    /// Of the first words up to one that can be any, at most [`COMPARED_FIRST`]: the class in all lanes, the value and
    /// its width.
    first: Vec<(u64, u32, usize)>,
}

impl Sequence {
    /// Cost: one pass over the code table for each word that has no short code.
    pub(crate) fn new(column: &TokenColumn, words: &[Option<TermOrdinal>]) -> Sequence {
        let words: Vec<_> = words.iter().map(|word| word.map(|ordinal| column.code_of(ordinal))).collect();
        let first = words.iter().map_while(|word| *word).take(COMPARED_FIRST);
        let width = |class| column.decoder().width(class);
        let first = first.map(|code| (LOW_BITS * u64::from(code.class), code.value, width(code.class))).collect();
        Sequence { words, gap: column.code_of(GAP), first }
    }

    /// Whether the words follow each other in a field of the document that `searched` accepts. Cost: about a nanosecond
    /// for eight tokens up to the first place, and a few for each place where only the classes agree.
    pub(crate) fn is_in(&self, doc: &TokensOfDoc<'_>, searched: impl Fn(FieldId) -> bool) -> bool {
        let (len, packed) = doc.packed();
        let Some(places) = (len + 1).checked_sub(self.words.len()) else { return false };
        let decoder = doc.decoder();
        // The byte of classes whose first value is at `bit`.
        let (mut byte, mut bit) = (0, 0);
        for first in (0..places).step_by(TOKENS_PER_WORD) {
            let mut left = self.places_by_class(packed, first, places - first);
            while left != 0 {
                let place = first + left.trailing_zeros() as usize / 2;
                left &= left - 1;
                while byte < place / TOKENS_PER_BYTE {
                    bit += decoder.bits_of_byte(packed, byte);
                    byte += 1;
                }
                let start = bit + decoder.bits_within_byte(packed, byte, place % TOKENS_PER_BYTE);
                let mut end = start;
                let are_first = self.first.iter().all(|&(_, value, width)| {
                    let is = packed.value(end, width) == value;
                    end += width;
                    is
                });
                if are_first
                    && (self.first.len() == self.words.len() || self.are_at(decoder, packed, place, start))
                    && self.are_in_field(doc, place, &searched)
                {
                    return true;
                }
            }
        }
        false
    }

    /// The lower bit of each of the first `count` places from `first` on at which the classes of the first words agree.
    #[inline]
    fn places_by_class(&self, packed: Packed<'_>, first: usize, count: usize) -> u64 {
        let (these, next) = (packed.classes(first), packed.classes(first + TOKENS_PER_WORD));
        let unused = 2 * TOKENS_PER_WORD.saturating_sub(count) as u32;
        let mut places = LOW_BITS & (u64::MAX >> unused);
        for (at, &(class, ..)) in self.first.iter().enumerate() {
            let classes = if at == 0 { these } else { these >> (2 * at) | next << (64 - 2 * at) };
            let differing = classes ^ class;
            places &= !(differing | differing >> 1);
        }
        places
    }

    /// Whether all words are at a place, whose values start at `bit`.
    fn are_at(&self, decoder: &Decoder, packed: Packed<'_>, place: usize, mut bit: usize) -> bool {
        self.words.iter().zip(place..).all(|(word, place)| {
            let class = (packed.classes(place) >> (2 * (place % TOKENS_PER_BYTE)) & 3) as u8;
            let width = decoder.width(class);
            let code = Code { class, value: packed.value(bit, width) };
            bit += width;
            word.map_or(code != self.gap, |word| code == word)
        })
    }

    /// Whether the words at a place are all in one field, and in one that `searched` accepts.
    fn are_in_field(&self, doc: &TokensOfDoc<'_>, place: usize, searched: impl Fn(FieldId) -> bool) -> bool {
        let mut end = 0;
        // Fields follow each other without a token between them.
        let field = doc.lengths().find(|&(_, len)| {
            end += len;
            place < end
        });
        field.is_some_and(|(field, _)| place + self.words.len() <= end && searched(field))
    }
}
