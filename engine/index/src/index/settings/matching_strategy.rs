//! `matchingStrategy`: which words of a query a document may lack.

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Strategy for documents that do not contain all words of a query.
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

impl Definition for MatchingStrategy {
    const NAME: &'static str = "matchingStrategy";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = Option<MatchingStrategy>;
    type Patch = MatchingStrategy;

    fn default_value() -> Option<MatchingStrategy> {
        None
    }

    fn applied(
        _: &Option<MatchingStrategy>,
        sent: &MatchingStrategy,
    ) -> Result<Option<MatchingStrategy>, SettingsError> {
        Ok(Some(*sent))
    }
}
