//! "How near to this word is one of those, in this document?"

use super::places::{CodedWord, any_place};
use super::reader::{TokenColumn, TokensOfDoc};
use crate::id::TermOrdinal;

/// Looks for terms around the places of a word in the documents of one token column. Only what is around these places
/// is decoded.
#[derive(Clone, Debug)]
pub(crate) struct Nearest {
    word: CodedWord,
    /// The first of the terms that are looked for, and their number.
    terms: (TermOrdinal, u32),
}

impl Nearest {
    /// Cost: one pass over the code table, if the word has no short code.
    pub(crate) fn new(column: &TokenColumn, word: TermOrdinal, terms: (TermOrdinal, u32)) -> Nearest {
        Nearest { word: CodedWord::new(column.code_of(word), column.decoder()), terms }
    }

    /// The smallest distances at which one of the terms is before the word and behind it, as far as they are below those
    /// given. Fields follow each other as if they were one. Cost: see [`any_place`], and a few nanoseconds for each token
    /// that is decoded.
    #[inline]
    pub(crate) fn distances(&self, doc: &TokensOfDoc<'_>, [mut before, mut behind]: [usize; 2]) -> [usize; 2] {
        let (len, packed) = doc.packed();
        let decoder = doc.decoder();
        any_place(decoder, packed, &[self.word], len, |place, start| {
            let mut bit = start + self.word.width;
            for distance in 1..behind.min(len - place) {
                let class = packed.class(place + distance);
                let width = decoder.width(class);
                if self.is(doc.ordinal(class, packed.value(bit, width))) {
                    behind = distance;
                    break;
                }
                bit += width;
            }
            let mut bit = start;
            for distance in 1..before.min(place + 1) {
                let class = packed.class(place - distance);
                let width = decoder.width(class);
                bit -= width;
                if self.is(doc.ordinal(class, packed.value(bit, width))) {
                    before = distance;
                    break;
                }
            }
            before <= 1 && behind <= 1
        });
        [before, behind]
    }

    fn is(&self, ordinal: TermOrdinal) -> bool {
        ordinal.wrapping_sub(self.terms.0) < self.terms.1
    }
}
