//! `typoTolerance`: when and where a query word may differ from a document word.

use std::collections::BTreeSet;

use lamina_text::text::normalize_word;

use super::value::object;
use super::{Setting, SettingsError};

object! {
    /// Conditions under which a query word may differ from a document word.
    #[derive(Eq)]
    TypoTolerance changed by TypoTolerancePatch {
        enabled: bool = true,
        min_word_size_for_typos: MinWordSizeForTypos = MinWordSizeForTypos::default(),
        /// Normalised like words are.
        disable_on_words: BTreeSet<String> = BTreeSet::new(),
        /// Each covers its nested children.
        disable_on_attributes: BTreeSet<String> = BTreeSet::new(),
        disable_on_numbers: bool = false,
    }
    finish with_normal_words
}

object! {
    /// Lengths in characters from which a query word accepts typos; `one_typo <= two_typos`.
    #[derive(Copy, Eq)]
    MinWordSizeForTypos changed by MinWordSizeForTyposPatch {
        one_typo: u8 = 5,
        two_typos: u8 = 9,
    }
    finish in_order
}

fn with_normal_words(mut merged: TypoTolerance, sent: &TypoTolerancePatch) -> Result<TypoTolerance, SettingsError> {
    if let Setting::Set(words) = &sent.disable_on_words {
        merged.disable_on_words = words.iter().map(|word| normalize_word(word)).collect();
    }
    Ok(merged)
}

fn in_order(merged: MinWordSizeForTypos, _: &MinWordSizeForTyposPatch) -> Result<MinWordSizeForTypos, SettingsError> {
    let MinWordSizeForTypos { one_typo, two_typos } = merged;
    if one_typo > two_typos { Err(SettingsError::TypoSizesInverted { one_typo, two_typos }) } else { Ok(merged) }
}
