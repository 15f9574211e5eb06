//! "Do these words follow each other in this document?", answered from the codes of its tokens.

use lamina_text::id::{FieldId, GAP, TermOrdinal};

use super::codes::Code;
use super::decoder::{Decoder, Packed};
use super::places::Places;
use super::reader::{TokenColumn, TokensOfDoc};

/// Words in a row, as the codes that stand for them in one token column; `None` for any one word.
#[derive(Clone, Debug)]
pub struct Sequence {
    words: Vec<Option<Code>>,
    gap: Code,
    /// The rarest word, by its place in the sequence; `None` where there are no words but any.
    rarest: Option<(usize, Places)>,
}

impl Sequence {
    /// Cost: one pass over the code table for each word that has no short code.
    pub fn new(column: &TokenColumn, words: &[Option<TermOrdinal>]) -> Sequence {
        let words: Vec<_> = words.iter().map(|word| word.map(|ordinal| column.code_of(ordinal))).collect();
        // Codes are given to the terms of most documents first.
        let coded = words.iter().enumerate().filter_map(|(at, word)| Some((at, (*word)?)));
        let rarest = coded.max_by_key(|(_, code)| (code.class, code.value));
        let rarest = rarest.map(|(at, code)| (at, Places::new(column.decoder(), code)));
        Sequence { words, gap: column.code_of(GAP), rarest }
    }

    /// Reports whether the words follow each other in a field of the document that `searched` accepts. Cost: finding
    /// the places of the rarest word (see [`Places::any`]), and some nanoseconds for each.
    pub fn is_in(&self, doc: &TokensOfDoc<'_>, searched: impl Fn(FieldId) -> bool) -> bool {
        let (len, packed) = doc.packed();
        let decoder = doc.decoder();
        let Some((before, places)) = &self.rarest else {
            // Any words in a row: wherever a field is long enough.
            let Some(count) = (len + 1).checked_sub(self.words.len()) else { return false };
            let is_there = |place| self.follow(decoder, packed, 0, place, decoder.bits_before(packed.classes, place));
            return (0..count).any(|place| is_there(place) && self.are_in_field(doc, place, &searched));
        };
        places.any(decoder, len, packed, |place, bit| {
            let Some(first) = place.checked_sub(*before) else { return false };
            first + self.words.len() <= len
                && self.precede(decoder, packed, *before, place, bit)
                && self.follow(decoder, packed, before + 1, place + 1, bit + places.width())
                && self.are_in_field(doc, first, &searched)
        })
    }

    /// Reports whether a field of the document begins with the words, and `accepts` returns true for it and its number
    /// of tokens. Cost: some nanoseconds for each field that begins with a token of the same class as the first word.
    pub fn begins_field(&self, doc: &TokensOfDoc<'_>, accepts: impl Fn(FieldId, usize) -> bool) -> bool {
        let (tokens, packed) = doc.packed();
        let decoder = doc.decoder();
        let class = self.words.first().copied().flatten().map(|word| word.class);
        let mut end = 0;
        doc.lengths().any(|(field, len)| {
            let start = end;
            end = (start + len).min(tokens);
            start + self.words.len() <= end
                && class.is_none_or(|class| packed.class(start) == class)
                && accepts(field, len)
                && self.follow(decoder, packed, 0, start, decoder.bits_before(packed.classes, start))
        })
    }

    /// Reports whether the words from number `from` on are at a place and after it. Values start at `bit`.
    #[inline]
    fn follow(&self, decoder: &Decoder, packed: Packed<'_>, from: usize, place: usize, mut bit: usize) -> bool {
        self.words[from..].iter().zip(place..).all(|(word, place)| {
            let class = packed.class(place);
            let width = decoder.width(class);
            let code = Code { class, value: packed.value(bit, width) };
            bit += width;
            self.is(*word, code)
        })
    }

    /// Reports whether the words before number `to` are before a place, whose value starts at `bit`.
    #[inline]
    fn precede(&self, decoder: &Decoder, packed: Packed<'_>, to: usize, place: usize, mut bit: usize) -> bool {
        self.words[..to].iter().rev().zip((0..place).rev()).all(|(word, place)| {
            let class = packed.class(place);
            let width = decoder.width(class);
            bit -= width;
            self.is(*word, Code { class, value: packed.value(bit, width) })
        })
    }

    #[inline(always)]
    fn is(&self, word: Option<Code>, code: Code) -> bool {
        word.map_or(code != self.gap, |word| code == word)
    }

    /// Reports whether the words at a place are all in one field, and `searched` accepts that field.
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
