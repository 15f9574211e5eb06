//! "How near to this word is one of those, in this document?"

use std::ops::Range;

use lamina_text::id::TermOrdinal;

use super::decoder::Packed;
use super::places::Places;
use super::reader::{TokenColumn, TokensOfDoc};

/// Looks for terms around the places of a word in the documents of one token column. Only what is around these places
/// is decoded.
#[derive(Clone, Debug)]
pub struct Nearest {
    places: Places,
    /// The first of the terms that are looked for, and their number.
    terms: (TermOrdinal, u32),
    /// More of them.
    others: Vec<TermOrdinal>,
    /// The bits that their ordinals lead to.
    filter: u64,
}

/// Returns the bit of a filter to which an ordinal maps.
fn bit(ordinal: TermOrdinal) -> u64 {
    1 << (ordinal % u64::BITS)
}

impl Nearest {
    /// Cost: one pass over the code table, if the word has no short code.
    pub fn new(column: &TokenColumn, word: TermOrdinal, terms: Range<TermOrdinal>, others: &[TermOrdinal]) -> Nearest {
        let places = Places::new(column.decoder(), column.code_of(word));
        let filter = others.iter().fold(0, |filter, &other| filter | bit(other));
        Nearest { places, terms: (terms.start, terms.len() as u32), others: others.to_vec(), filter }
    }

    /// The smallest distances at which one of the terms is before the word and behind it, as far as they are below those
    /// given. Fields follow each other as if they were one. Cost: finding the places of the word (see [`Places::any`]), and
    /// some nanoseconds for each token that is decoded around one.
    pub fn distances(&self, doc: &TokensOfDoc<'_>, [mut before, mut behind]: [usize; 2]) -> [usize; 2] {
        let (len, packed) = doc.packed();
        self.places.any(doc.decoder(), len, packed, |place, bit| {
            self.look_around(doc, packed, [place, len], bit, [&mut before, &mut behind]);
            before <= 1 && behind <= 1
        });
        [before, behind]
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
        let mut bit = start + self.places.width();
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
            || (self.filter & bit(ordinal) != 0 && self.others.contains(&ordinal))
    }
}
