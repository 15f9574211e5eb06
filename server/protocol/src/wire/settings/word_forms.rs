//! `wordForms`: merged field by field, so each field is left alone, reset or set.

use std::collections::{BTreeMap, BTreeSet};

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::Settings;
use lamina_engine::index::settings::{SettingId, WordForms, WordFormsPatch};
use lamina_engine::text::{Language, has_stems};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Presence, Reference, SettingKind, WriteVerb};
use super::values::{map, parts, sent, setting, string_set};
use crate::wire::json::At;
use crate::wire::locale;
use crate::wire::schema::{exactly, flag, list, map_of, one_of, or_null, texts};

pub(super) const WORD_FORMS: SettingKind = SettingKind {
    id: SettingId::WordForms,
    key: "wordForms",
    route: "word-forms",
    verb: WriteVerb::Patch,
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsWordForms,
    bounds: bounds::word_forms,
    read: |at, patch| {
        patch.word_forms = setting(at, read)?;
        Ok(())
    },
    written,
    // Clients of the protocol do not know it, so a reset of all settings does not show it.
    sent: |patch| patch.word_forms.as_set().map(sent_parts),
    schema,
    reference: Reference {
        purpose: "whether and where other forms of a word match, such as plurals; `null` means with `any` only, in \
                  the language of the query or of the texts",
        value: "object: `enabled`, `languages`, `disableOnAttributes`, `exceptions`, `dictionary` (by word its other \
                forms), `inPhrases`",
        example: r#"{"enabled": true, "languages": ["eng"], "dictionary": {"mouse": ["mice"]}}"#,
    },
    ..SettingKind::PLAIN
};

const FIELDS: [&str; 6] = ["enabled", "languages", "disableOnAttributes", "exceptions", "dictionary", "inPhrases"];

fn read(at: At<'_>) -> ApiResult<WordFormsPatch> {
    let mut patch = WordFormsPatch::default();
    at.fields(&FIELDS, |name, field| {
        match name {
            "enabled" => patch.enabled = setting(field, |field| field.boolean())?,
            "languages" => patch.languages = setting(field, |field| field.list(language))?,
            "disableOnAttributes" => patch.disable_on_attributes = setting(field, string_set)?,
            "exceptions" => patch.exceptions = setting(field, words)?,
            "dictionary" => patch.dictionary = setting(field, dictionary)?,
            _ => patch.in_phrases = setting(field, |field| field.boolean())?,
        }
        Ok(())
    })?;
    Ok(patch)
}

/// A language whose forms are known, by its code of two or three letters; in its three-letter form.
fn language(at: At<'_>) -> ApiResult<String> {
    let language = at.language()?;
    if has_stems(language) {
        return Ok(language.code().to_owned());
    }
    let text = at.string()?;
    Err(at.unknown_value(&text, &languages()))
}

/// The codes of all such languages.
fn languages() -> Vec<&'static str> {
    let has_forms = |code: &&str| Language::parse(code).is_some_and(has_stems);
    locale::accepted().into_iter().filter(has_forms).collect()
}

fn word(at: &At<'_>) -> ApiResult<String> {
    let word = at.string()?;
    if word.trim().is_empty() || word.contains(char::is_whitespace) {
        return Err(at.invalid(format!("`{word}` is not one word.")));
    }
    Ok(word)
}

fn words(at: At<'_>) -> ApiResult<BTreeSet<String>> {
    Ok(at.list(|at| word(&at))?.into_iter().collect())
}

fn dictionary(at: At<'_>) -> ApiResult<BTreeMap<String, Vec<String>>> {
    at.entries(|name, value| {
        if name.trim().is_empty() || name.contains(char::is_whitespace) {
            return Err(value.invalid(format!("`{name}` is not one word.")));
        }
        Ok(())
    })?;
    map(at, |forms| forms.list(|at| word(&at)))
}

fn written(settings: &Settings) -> Value {
    let forms = &settings.word_forms;
    if *forms == WordForms::default() {
        return Value::Null;
    }
    json!({
        "enabled": forms.enabled,
        "languages": forms.languages,
        "disableOnAttributes": forms.disable_on_attributes,
        "exceptions": forms.exceptions,
        "dictionary": forms.dictionary,
        "inPhrases": forms.in_phrases,
    })
}

fn sent_parts(patch: &WordFormsPatch) -> Value {
    parts([
        ("enabled", sent(&patch.enabled, |is_on| json!(is_on))),
        ("languages", sent(&patch.languages, |codes| json!(codes))),
        ("disableOnAttributes", sent(&patch.disable_on_attributes, |names| json!(names))),
        ("exceptions", sent(&patch.exceptions, |words| json!(words))),
        ("dictionary", sent(&patch.dictionary, |forms| json!(forms))),
        ("inPhrases", sent(&patch.in_phrases, |is_on| json!(is_on))),
    ])
}

fn schema() -> Value {
    let words = || list(json!({ "type": "string", "pattern": "^\\S+$" }));
    let schemas = [flag(), list(one_of(&languages())), texts(), words(), map_of(words()), flag()].map(or_null);
    exactly(FIELDS.into_iter().zip(schemas), &[])
}
