//! Which words of a query a document may lack.

use serde::{Deserialize, Serialize};

/// What to do when not all words of a query are in a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MatchingStrategy {
    /// Drop words from the end, one at a time.
    #[default]
    Last,
    /// Every word is required.
    All,
    /// Drop the most frequent words first.
    Frequency,
    /// For questions: any word is enough, and BM25 decides instead of the relevancy rules.
    Any,
}
