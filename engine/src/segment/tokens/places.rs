//! Finds the places of words in the tokens of a document, told from their codes.
//!
//! The classes of tokens come before their values, two bits each: those of 32 places are compared at once, and only where
//! they agree a value is read. No token is looked up in the code table.

use super::decoder::{Code, Decoder, LOW_BITS, Packed, TOKENS_PER_BYTE, TOKENS_PER_WORD};

/// A word as it stands in a token column.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodedWord {
    /// Its class in all lanes.
    classes: u64,
    value: u32,
    /// Bits of the value.
    pub(super) width: usize,
}

impl CodedWord {
    pub(super) fn new(code: Code, decoder: &Decoder) -> CodedWord {
        let classes = LOW_BITS * u64::from(code.class);
        CodedWord { classes, value: code.value, width: decoder.width(code.class) }
    }
}

/// Whether `accepts` any of the first `count` places at which `words` follow each other, at most as many as a 64-bit word
/// has classes to spare: it gets the place and the bit at which the value of the first word starts. Cost: about a
/// nanosecond for eight tokens up to the accepted place, and a few for each place where only the classes agree.
#[inline]
pub(super) fn any_place(
    decoder: &Decoder,
    packed: Packed<'_>,
    words: &[CodedWord],
    count: usize,
    mut accepts: impl FnMut(usize, usize) -> bool,
) -> bool {
    debug_assert!(words.len() < TOKENS_PER_WORD);
    // The byte of classes whose first value is at `bit`.
    let (mut byte, mut bit) = (0, 0);
    for first in (0..count).step_by(TOKENS_PER_WORD) {
        let mut left = places_by_class(packed, words, first, count - first);
        while left != 0 {
            let place = first + left.trailing_zeros() as usize / 2;
            left &= left - 1;
            while byte < place / TOKENS_PER_BYTE {
                bit += decoder.bits_of_byte(packed, byte);
                byte += 1;
            }
            let start = bit + decoder.bits_within_byte(packed, byte, place % TOKENS_PER_BYTE);
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
    let these = packed.classes(first);
    let next = if words.len() > 1 { packed.classes(first + TOKENS_PER_WORD) } else { 0 };
    let unused = 2 * TOKENS_PER_WORD.saturating_sub(count) as u32;
    let mut places = LOW_BITS & (u64::MAX >> unused);
    for (at, word) in words.iter().enumerate() {
        let classes = if at == 0 { these } else { these >> (2 * at) | next << (64 - 2 * at) };
        let differing = classes ^ word.classes;
        places &= !(differing | differing >> 1);
    }
    places
}
