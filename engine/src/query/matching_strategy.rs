//! Which words a document may lack.

/// What to drop when not enough documents hold all the words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchingStrategy {
    /// From the end, one word at a time.
    #[default]
    Last,
    /// Nothing: every word is required.
    All,
    /// The most frequent words first.
    Frequency,
}
