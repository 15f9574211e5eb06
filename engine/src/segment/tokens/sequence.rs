//! "Do these words follow each other in this document?", told from the codes of its tokens.
//!
//! Codes are compared as they are read: no token is looked up in the code table, and reading ends with the first place
//! where the words are.

use super::reader::{TokenColumn, TokensOfDoc};
use crate::id::{FieldId, GAP, TermOrdinal};

/// Tokens that are read together. Most places are in the first ones: titles and first sentences come first.
const TOKENS_PER_STEP: usize = 32;

/// Words in a row, as the codes that stand for them in one token column; `None` for any one word.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    codes: Vec<Option<u32>>,
    gap: u32,
}

impl Sequence {
    /// Cost: one pass over the code table for each word that has no short code.
    pub(crate) fn new(column: &TokenColumn, words: &[Option<TermOrdinal>]) -> Sequence {
        let codes = words.iter().map(|word| word.map(|ordinal| column.code_of(ordinal))).collect();
        Sequence { codes, gap: column.code_of(GAP) }
    }

    /// The first place from `from` on.
    fn place(&self, codes: &[u32], from: usize) -> Option<usize> {
        let rest = codes.get(from..)?;
        let is = |want: Option<u32>, have: u32| want.map_or(have != self.gap, |want| have == want);
        // Mostly the first two words tell, without a look at a list.
        let places = match *self.codes.as_slice() {
            [Some(first), Some(second), ref others @ ..] => {
                // All places at once, without a branch for each: there is hardly ever one.
                let pairs = rest.iter().zip(rest.get(1..)?);
                if !pairs.fold(false, |found, (&a, &b)| found | ((a == first) & (b == second))) {
                    return None;
                }
                rest.windows(self.codes.len()).position(|place| {
                    place[0] == first && place[1] == second && others.iter().zip(&place[2..]).all(|(&w, &h)| is(w, h))
                })
            }
            ref all => rest.windows(all.len()).position(|place| all.iter().zip(place).all(|(&w, &h)| is(w, h))),
        };
        places.map(|place| from + place)
    }

    /// Whether the words follow each other in a field of the document that `searched` accepts. `buffer`: whatever it
    /// holds is replaced. Cost: about a nanosecond for each token up to the first place.
    pub(crate) fn is_in(
        &self,
        doc: &TokensOfDoc<'_>,
        buffer: &mut Vec<u32>,
        searched: impl Fn(FieldId) -> bool,
    ) -> bool {
        buffer.clear();
        let mut reader = doc.codes();
        let mut from = 0;
        loop {
            let is_end = !reader.read(TOKENS_PER_STEP, buffer);
            while let Some(at) = self.place(buffer, from) {
                let mut start = 0;
                // Fields follow each other without a token between them.
                let field = doc.lengths().find(|&(_, len)| {
                    start += len;
                    at < start
                });
                if field.is_some_and(|(field, _)| at + self.codes.len() <= start && searched(field)) {
                    return true;
                }
                from = at + 1;
            }
            if is_end {
                return false;
            }
            from = from.max((buffer.len() + 1).saturating_sub(self.codes.len()));
        }
    }
}
