//! `stopWords`: words that queries leave out.

use std::collections::BTreeSet;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use super::SettingsError;
use super::value::SettingValue;

/// Words in the stored form of stop words: compatibility decomposition without control characters; case and accents stay.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StopWords(BTreeSet<String>);

impl Deref for StopWords {
    type Target = BTreeSet<String>;

    fn deref(&self) -> &BTreeSet<String> {
        &self.0
    }
}

impl SettingValue for StopWords {
    type Change = BTreeSet<String>;

    fn changed(&self, sent: &BTreeSet<String>) -> Result<StopWords, SettingsError> {
        let stored = |word: &String| word.nfkd().filter(|character| !character.is_control()).collect();
        Ok(StopWords(sent.iter().map(stored).collect()))
    }
}
