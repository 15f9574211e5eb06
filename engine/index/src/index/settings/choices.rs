//! Settings that are one of a few words: `proximityPrecision`, `prefixSearch`, `matchingStrategy`.

use serde::{Deserialize, Serialize};

/// Precision of the `proximity` rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProximityPrecision {
    /// Distances in words.
    #[default]
    ByWord,
    /// Same attribute or not.
    ByAttribute,
}

/// Prefix matching of the last word of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixSearch {
    #[default]
    IndexingTime,
    Disabled,
}

/// Choice of words that a hit may lack.
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
