//! Passes over the tokens that are not looked for.

use lamina_text::id::TermOrdinal;

use super::decoder::ordinal;

/// The terms that a reader of documents looks for. Most tokens of a document are others, which a bit of their code shows.
pub struct WantedTerms<'a> {
    /// Terms by code; further codes are those of the other terms, in order.
    table: &'a [[u8; 4]],
    /// By code in the table, whether the term is wanted.
    bits: Box<[u64]>,
}

impl<'a> WantedTerms<'a> {
    pub(super) fn new(table: &'a [[u8; 4]], is_wanted: impl Fn(TermOrdinal) -> bool) -> WantedTerms<'a> {
        let word = |entries: &[[u8; 4]]| {
            entries.iter().rev().fold(0, |word, entry| word << 1 | u64::from(is_wanted(u32::from_le_bytes(*entry))))
        };
        WantedTerms { table, bits: table.chunks(u64::BITS as usize).map(word).collect() }
    }

    /// The term of a code; `None` for frequent ones that are not wanted.
    #[inline]
    pub fn term(&self, code: u32) -> Option<TermOrdinal> {
        let is_passed_over = (code as usize) < self.table.len()
            && self.bits.get((code / u64::BITS) as usize).is_none_or(|word| word >> (code % u64::BITS) & 1 == 0);
        if is_passed_over { None } else { Some(self.any_term(code)) }
    }

    /// The term of any code.
    #[inline]
    pub fn any_term(&self, code: u32) -> TermOrdinal {
        ordinal(self.table, code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_terms_are_passed_over_and_others_are_not() {
        for length in [0u32, 1, 63, 64, 65, 200] {
            let table: Vec<[u8; 4]> = (0..length).map(|code| (1000 - code).to_le_bytes()).collect();
            let terms = WantedTerms::new(&table, |term| term % 3 == 0);
            for code in 0..length {
                assert_eq!(terms.any_term(code), 1000 - code);
                assert_eq!(terms.term(code), Some(1000 - code).filter(|term| term % 3 == 0), "{code} of {length}");
            }
            assert_eq!([0, 7].map(|rest| terms.term(length + rest)), [Some(0), Some(7)]);
        }
    }
}
