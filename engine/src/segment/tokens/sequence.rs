//! "Do these words follow each other in this document?", told from the codes of its tokens.
//!
//! The classes of tokens come before their values, two bits each: those of 32 places are compared at once, and only where
//! they agree a value is read. No token is looked up in the code table.

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
    /// The first words, up to one that can be any.
    first: Vec<CodedWord>,
}

impl Sequence {
    /// Cost: one pass over the code table for each word that has no short code.
    pub(crate) fn new(column: &TokenColumn, words: &[Option<TermOrdinal>]) -> Sequence {
        let words: Vec<_> = words.iter().map(|word| word.map(|ordinal| column.code_of(ordinal))).collect();
        let first = words.iter().map_while(|word| *word).take(COMPARED_FIRST);
        let first = first.map(|code| CodedWord::new(code, column.decoder())).collect();
        Sequence { words, gap: column.code_of(GAP), first }
    }

    /// Whether the words follow each other in a field of the document that `searched` accepts. Cost: see [`any_place`].
    pub(crate) fn is_in(&self, doc: &TokensOfDoc<'_>, searched: impl Fn(FieldId) -> bool) -> bool {
        let (len, packed) = doc.packed();
        let Some(places) = (len + 1).checked_sub(self.words.len()) else { return false };
        let decoder = doc.decoder();
        any_place(decoder, packed, &self.first, places, |place, bit| {
            (self.first.len() == self.words.len() || self.are_at(decoder, packed, place, bit))
                && self.are_in_field(doc, place, &searched)
        })
    }

    /// Whether all words are at a place, whose values start at `bit`.
    fn are_at(&self, decoder: &Decoder, packed: Packed<'_>, place: usize, mut bit: usize) -> bool {
        self.words.iter().zip(place..).all(|(word, place)| {
            let class = packed.class(place);
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

/// A word as it stands in a token column.
#[derive(Clone, Copy, Debug)]
struct CodedWord {
    /// Its class in all lanes.
    classes: u64,
    value: u32,
    /// Bits of the value.
    width: usize,
}

impl CodedWord {
    fn new(code: Code, decoder: &Decoder) -> CodedWord {
        let classes = LOW_BITS * u64::from(code.class);
        CodedWord { classes, value: code.value, width: decoder.width(code.class) }
    }
}

/// Whether `accepts` any of the first `count` places at which `words` follow each other: it gets the place and the bit at
/// which the value of the first word starts. Cost: about a nanosecond for eight tokens up to the accepted place, and a few
/// for each place where only the classes agree.
#[inline]
fn any_place(
    decoder: &Decoder,
    packed: Packed<'_>,
    words: &[CodedWord],
    count: usize,
    mut accepts: impl FnMut(usize, usize) -> bool,
) -> bool {
    // The byte of classes whose first value is at `bit`.
    let (mut byte, mut bit) = (0, 0);
    for first in (0..count).step_by(TOKENS_PER_WORD) {
        let mut left = places_by_class(packed, words, first, count - first);
        while left != 0 {
            let place = first + left.trailing_zeros() as usize / 2;
            left &= left - 1;
            while byte < place / TOKENS_PER_BYTE {
                bit += decoder.bits_of(packed.class_byte(byte), TOKENS_PER_BYTE);
                byte += 1;
            }
            let start = bit + decoder.bits_of(packed.class_byte(byte), place % TOKENS_PER_BYTE);
            let mut end = start;
            let are_there = words.iter().all(|word| {
                let is = packed.value(end, word.width) == word.value;
                end += word.width;
                is
            });
            if are_there && accepts(place, start) {
                return true;
            }
        }
    }
    false
}

/// The lower bit of each of the first `count` places from `first` on at which the classes of the words agree.
#[inline]
fn places_by_class(packed: Packed<'_>, words: &[CodedWord], first: usize, count: usize) -> u64 {
    let (these, next) = (packed.classes(first), packed.classes(first + TOKENS_PER_WORD));
    let unused = 2 * TOKENS_PER_WORD.saturating_sub(count) as u32;
    let mut places = LOW_BITS & (u64::MAX >> unused);
    for (at, word) in words.iter().enumerate() {
        let classes = if at == 0 { these } else { these >> (2 * at) | next << (64 - 2 * at) };
        let differing = classes ^ word.classes;
        places &= !(differing | differing >> 1);
    }
    places
}
