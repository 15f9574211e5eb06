//! `typoTolerance`: resolved value and its field-by-field patch.

use std::collections::BTreeSet;

use lamina_text::text::normalize_word;
use serde::{Deserialize, Serialize};

use super::SettingsError;
use super::definition::{Definition, Effect};
use super::patch::Setting;

/// Conditions under which a query word may differ from a document word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TypoTolerance {
    pub enabled: bool,
    pub min_word_size_for_typos: MinWordSizeForTypos,
    /// Normalised like words are.
    pub disable_on_words: BTreeSet<String>,
    /// Each covers its nested children.
    pub disable_on_attributes: BTreeSet<String>,
    pub disable_on_numbers: bool,
}

/// Lengths in characters from which a query word accepts typos; `one_typo <= two_typos`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MinWordSizeForTypos {
    pub one_typo: u8,
    pub two_typos: u8,
}

impl Default for TypoTolerance {
    fn default() -> TypoTolerance {
        TypoTolerance {
            enabled: true,
            min_word_size_for_typos: MinWordSizeForTypos::default(),
            disable_on_words: BTreeSet::new(),
            disable_on_attributes: BTreeSet::new(),
            disable_on_numbers: false,
        }
    }
}

impl Default for MinWordSizeForTypos {
    fn default() -> MinWordSizeForTypos {
        MinWordSizeForTypos { one_typo: 5, two_typos: 9 }
    }
}

/// Change of [`TypoTolerance`], merged field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct TypoTolerancePatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub enabled: Setting<bool>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub min_word_size_for_typos: Setting<MinWordSizeForTyposPatch>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub disable_on_words: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub disable_on_attributes: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub disable_on_numbers: Setting<bool>,
}

/// Change of [`MinWordSizeForTypos`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct MinWordSizeForTyposPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub one_typo: Setting<u8>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub two_typos: Setting<u8>,
}

impl Definition for TypoTolerance {
    const NAME: &'static str = "typoTolerance";
    const EFFECT: Effect = Effect::SearchOnly;
    type Value = TypoTolerance;
    type Patch = TypoTolerancePatch;

    fn default_value() -> TypoTolerance {
        TypoTolerance::default()
    }

    fn applied(current: &TypoTolerance, sent: &TypoTolerancePatch) -> Result<TypoTolerance, SettingsError> {
        let default = TypoTolerance::default();
        let sizes = match &sent.min_word_size_for_typos {
            Setting::Unset => current.min_word_size_for_typos,
            Setting::Reset => MinWordSizeForTypos::default(),
            Setting::Set(sizes) => current.min_word_size_for_typos.patched(sizes),
        };
        if sizes.one_typo > sizes.two_typos {
            return Err(SettingsError::TypoSizesInverted { one_typo: sizes.one_typo, two_typos: sizes.two_typos });
        }
        let disable_on_words = match &sent.disable_on_words {
            Setting::Set(words) => words.iter().map(|word| normalize_word(word)).collect(),
            other => other.merged(&current.disable_on_words, default.disable_on_words),
        };
        Ok(TypoTolerance {
            enabled: sent.enabled.merged(&current.enabled, default.enabled),
            min_word_size_for_typos: sizes,
            disable_on_words,
            disable_on_attributes: sent
                .disable_on_attributes
                .merged(&current.disable_on_attributes, default.disable_on_attributes),
            disable_on_numbers: sent.disable_on_numbers.merged(&current.disable_on_numbers, default.disable_on_numbers),
        })
    }
}

impl MinWordSizeForTypos {
    fn patched(self, patch: &MinWordSizeForTyposPatch) -> MinWordSizeForTypos {
        let default = MinWordSizeForTypos::default();
        MinWordSizeForTypos {
            one_typo: patch.one_typo.merged(&self.one_typo, default.one_typo),
            two_typos: patch.two_typos.merged(&self.two_typos, default.two_typos),
        }
    }
}
