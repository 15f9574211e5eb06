//! `stopWords`: words that queries leave out.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use super::SettingsError;
use super::definition::{Definition, Effect};

/// Words that queries are searched without.
#[derive(Debug)]
pub struct StopWords;

impl Definition for StopWords {
    const NAME: &'static str = "stopWords";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = BTreeSet<String>;
    type Patch = BTreeSet<String>;

    fn default_value() -> BTreeSet<String> {
        BTreeSet::new()
    }

    fn applied(_: &BTreeSet<String>, sent: &BTreeSet<String>) -> Result<BTreeSet<String>, SettingsError> {
        Ok(sent.iter().map(|word| normalize_stop_word(word)).collect())
    }
}

/// The stored form of a stop word: compatibility decomposition without control characters; case and accents stay.
pub(crate) fn normalize_stop_word(word: &str) -> String {
    word.nfkd().filter(|character| !character.is_control()).collect()
}
