//! `stopWords`, `nonSeparatorTokens`, `separatorTokens`, `dictionary`: sets of words.

use std::collections::BTreeSet;

use lamina_base::error::Code;
use lamina_engine::index::Setting;
use lamina_engine::index::settings::SettingId;
use serde_json::{Value, json};

use super::bounds::{dictionary, words};
use super::kind::{Figure, Figures, Reference, SettingKind};
use super::values::{sent, setting, string_set};
use crate::wire::schema;

pub(super) const STOP_WORDS: SettingKind = SettingKind {
    id: SettingId::StopWords,
    key: "stopWords",
    route: "stop-words",
    code: Code::InvalidSettingsStopWords,
    bounds: words,
    read: |at, patch| {
        patch.stop_words = setting(at, string_set)?;
        Ok(())
    },
    written: |settings| json!(settings.stop_words),
    sent: |patch| sent_set(&patch.stop_words),
    schema: schema::texts,
    figures: |patch| total("stop_words.total", &patch.stop_words),
    reference: Reference {
        purpose: "words that queries ignore",
        value: "array of strings",
        example: r#"["the", "of"]"#,
    },
    ..SettingKind::PLAIN
};

pub(super) const NON_SEPARATOR_TOKENS: SettingKind = SettingKind {
    id: SettingId::NonSeparatorTokens,
    key: "nonSeparatorTokens",
    route: "non-separator-tokens",
    code: Code::InvalidSettingsNonSeparatorTokens,
    bounds: dictionary,
    read: |at, patch| {
        patch.non_separator_tokens = setting(at, string_set)?;
        Ok(())
    },
    written: |settings| json!(settings.non_separator_tokens),
    sent: |patch| sent_set(&patch.non_separator_tokens),
    schema: schema::texts,
    figures: |patch| total("non_separator_tokens.total", &patch.non_separator_tokens),
    reference: Reference {
        purpose: "separators that count as part of words",
        value: "array of strings",
        example: r##"["+", "#"]"##,
    },
    ..SettingKind::PLAIN
};

pub(super) const SEPARATOR_TOKENS: SettingKind = SettingKind {
    id: SettingId::SeparatorTokens,
    key: "separatorTokens",
    route: "separator-tokens",
    code: Code::InvalidSettingsSeparatorTokens,
    bounds: dictionary,
    read: |at, patch| {
        patch.separator_tokens = setting(at, string_set)?;
        Ok(())
    },
    written: |settings| json!(settings.separator_tokens),
    sent: |patch| sent_set(&patch.separator_tokens),
    schema: schema::texts,
    figures: |patch| total("separator_tokens.total", &patch.separator_tokens),
    reference: Reference {
        purpose: "additional texts that separate words",
        value: "array of strings",
        example: r#"["&hellip;", "<br/>"]"#,
    },
    ..SettingKind::PLAIN
};

pub(super) const DICTIONARY: SettingKind = SettingKind {
    id: SettingId::Dictionary,
    key: "dictionary",
    route: "dictionary",
    code: Code::InvalidSettingsDictionary,
    bounds: dictionary,
    read: |at, patch| {
        patch.dictionary = setting(at, string_set)?;
        Ok(())
    },
    written: |settings| json!(settings.dictionary),
    sent: |patch| sent_set(&patch.dictionary),
    schema: schema::texts,
    figures: |patch| total("dictionary.total", &patch.dictionary),
    reference: Reference {
        purpose: "texts that are indexed as one word",
        value: "array of strings",
        example: r#"["J. R. R.", "W. E. B."]"#,
    },
    ..SettingKind::PLAIN
};

fn sent_set(change: &Setting<BTreeSet<String>>) -> Option<Value> {
    sent(change, |words| json!(words))
}

fn total(name: &'static str, change: &Setting<BTreeSet<String>>) -> Figures {
    change.as_set().map(|words| (name, Figure::Max(words.len()))).into_iter().collect()
}
