//! "Do these words follow each other in this document?"

use super::decoder::{Code, Decoder, Packed};
use super::places::{CodedWord, any_place};
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
