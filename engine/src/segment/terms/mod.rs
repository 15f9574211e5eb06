//! "I have a word or a prefix: which ordinals are those?"

use crate::id::TermOrdinal;
use std::ops::Range;

/// The term dictionary of a segment. Ordinals `FIRST_TERM..FIRST_TERM + len()` follow the byte order of the terms.
#[derive(Debug)]
pub struct Terms {}

impl Terms {
    /// Number of terms.
    pub fn len(&self) -> u32 {
        unimplemented!("terms")
    }
    /// Whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Ordinal of a term.
    pub fn ordinal(&self, _term: &[u8]) -> Option<TermOrdinal> {
        unimplemented!("terms")
    }
    /// Ordinals of the terms that start with `prefix` (empty prefix: all).
    pub fn prefix_range(&self, _prefix: &[u8]) -> Range<TermOrdinal> {
        unimplemented!("terms")
    }
    /// The term of an ordinal (empty for the reserved ones and past the end).
    pub fn term(&self, _ordinal: TermOrdinal) -> Vec<u8> {
        unimplemented!("terms")
    }
    /// Calls `f` with each term that `automaton` accepts, in order.
    pub fn search<A: fst::Automaton>(&self, _automaton: A, _f: impl FnMut(&[u8], TermOrdinal)) {
        unimplemented!("terms")
    }
}
