//! `wordForms`: whether and where other forms of a word count, such as plurals.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// Use of other forms of a word, and the attributes in which they do not count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WordForms {
    /// `None`: of questions only.
    pub enabled: Option<bool>,
    /// Three-letter codes of languages whose forms count; empty: those that queries are in.
    pub languages: Vec<String>,
    /// Each covers its nested children.
    pub disable_on_attributes: BTreeSet<String>,
    /// Words that have no other form, and are none.
    pub exceptions: BTreeSet<String>,
    /// By word, its other forms: all of them are forms of each other.
    pub dictionary: BTreeMap<String, Vec<String>>,
    /// Forms count inside quotes, too.
    pub in_phrases: bool,
}

/// Change of [`WordForms`], merged field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct WordFormsPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub enabled: Setting<bool>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub languages: Setting<Vec<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub disable_on_attributes: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub exceptions: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub dictionary: Setting<BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub in_phrases: Setting<bool>,
}

impl Definition for WordForms {
    const NAME: &'static str = "wordForms";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = WordForms;
    type Patch = WordFormsPatch;

    fn default_value() -> WordForms {
        WordForms::default()
    }

    fn applied(current: &WordForms, sent: &WordFormsPatch) -> Result<WordForms, SettingsError> {
        let default = WordForms::default();
        Ok(WordForms {
            enabled: match sent.enabled {
                Setting::Unset => current.enabled,
                Setting::Reset => default.enabled,
                Setting::Set(is_on) => Some(is_on),
            },
            languages: sent.languages.merged(&current.languages, default.languages),
            disable_on_attributes: sent
                .disable_on_attributes
                .merged(&current.disable_on_attributes, default.disable_on_attributes),
            exceptions: sent.exceptions.merged(&current.exceptions, default.exceptions),
            dictionary: sent.dictionary.merged(&current.dictionary, default.dictionary),
            in_phrases: sent.in_phrases.merged(&current.in_phrases, default.in_phrases),
        })
    }
}
