//! A place in a text that a query matched.

use std::ops::Range;

use super::terms::Covers;

/// One match: a word, the head of a word, or a run of words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Match {
    /// Places of its first and last token among all tokens of the text.
    pub(super) tokens: (usize, usize),
    /// The same among the tokens that are words.
    pub(super) words: (usize, usize),
    /// Bytes of the text.
    pub(super) range: Range<usize>,
    pub(super) covers: Covers,
    /// The words of the query themselves, not typos, other forms or words that begin alike.
    pub(super) is_exact: bool,
}

impl Match {
    /// Words of the text between its ends, both included.
    pub(super) fn word_count(&self) -> usize {
        self.words.1 - self.words.0 + 1
    }
}
