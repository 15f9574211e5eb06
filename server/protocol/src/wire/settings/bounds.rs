//! How much a setting may hold. What is beyond is of no use, and would make every search or every indexed document slow.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::Settings;
use lamina_engine::index::embedding::cut;
use lamina_engine::index::settings::ALTERNATIVES_MAX;
use serde_json::Value;

use crate::wire::json::At;

/// Attributes and patterns of one setting, in all its rules.
const ATTRIBUTES_MAX: usize = 10_000;
/// Ranking rules; each is a comparison of every document that is ranked.
const RANKING_RULES_MAX: usize = 200;
/// Stop words, and words without typos.
const WORDS_MAX: usize = 200_000;
/// Words of the dictionary, and separators of one kind.
const DICTIONARY_WORDS_MAX: usize = 1_000_000;
/// Words and phrases that have synonyms.
const SYNONYMS_MAX: usize = 200_000;
/// Alternatives of all of them taken together; one has [`ALTERNATIVES_MAX`] at most.
const SYNONYM_ALTERNATIVES_MAX: usize = 1_000_000;
/// Embedders of an index.
const EMBEDDERS_MAX: usize = 256;
/// Rerankers of an index.
const RERANKERS_MAX: usize = 16;
/// Fields that refer to other indexes.
const FOREIGN_KEYS_MAX: usize = 256;
/// Bytes of a word, a name or a pattern: longer words are not indexed, and field names that are longer are no names.
const TEXT_BYTES_MAX: usize = 1000;

/// Refuses too many attributes and patterns.
///
/// # Errors
/// As all here, with the code of `at`.
pub(super) fn attributes(at: &At<'_>) -> ApiResult<()> {
    count(at, "attributes and patterns", elements(at.value()), ATTRIBUTES_MAX)?;
    texts(at)
}

/// A rule for each language at most makes sense.
pub(super) fn localized_attributes(at: &At<'_>) -> ApiResult<()> {
    count(at, "patterns and locales", elements(at.value()), ATTRIBUTES_MAX)?;
    texts(at)
}

pub(super) fn ranking_rules(at: &At<'_>) -> ApiResult<()> {
    count(at, "ranking rules", elements(at.value()), RANKING_RULES_MAX)?;
    texts(at)
}

pub(super) fn words(at: &At<'_>) -> ApiResult<()> {
    count(at, "words", elements(at.value()), WORDS_MAX)?;
    texts(at)
}

/// Checks the bounds of the dictionary, and of separators of one kind.
pub(super) fn dictionary(at: &At<'_>) -> ApiResult<()> {
    count(at, "words", elements(at.value()), DICTIONARY_WORDS_MAX)?;
    texts(at)
}

pub(super) fn synonyms(at: &At<'_>) -> ApiResult<()> {
    let value = at.value();
    count(at, "entries", members(value), SYNONYMS_MAX)?;
    count(at, "alternatives", elements(value), SYNONYM_ALTERNATIVES_MAX)?;
    let largest = value.as_object().into_iter().flatten().max_by_key(|(_, alternatives)| elements(alternatives));
    if let Some((word, alternatives)) = largest {
        let of_word = format!("alternatives for `{}`", start_of(word));
        count(at, &of_word, elements(alternatives), ALTERNATIVES_MAX)?;
    }
    texts(at)
}

pub(super) fn typo_tolerance(at: &At<'_>) -> ApiResult<()> {
    count(at, "words", elements(&at.value()["disableOnWords"]), WORDS_MAX)?;
    count(at, "attributes", elements(&at.value()["disableOnAttributes"]), ATTRIBUTES_MAX)?;
    texts(at)
}

pub(super) fn word_forms(at: &At<'_>) -> ApiResult<()> {
    let value = at.value();
    count(at, "attributes", elements(&value["disableOnAttributes"]), ATTRIBUTES_MAX)?;
    count(at, "words", elements(&value["exceptions"]), WORDS_MAX)?;
    let dictionary = &value["dictionary"];
    count(at, "words with their forms", members(dictionary) + elements(dictionary), WORDS_MAX)?;
    texts(at)
}

pub(super) fn weights(at: &At<'_>) -> ApiResult<()> {
    count(at, "attributes", members(at.value()), ATTRIBUTES_MAX)?;
    texts(at)
}

pub(super) fn faceting(at: &At<'_>) -> ApiResult<()> {
    count(at, "attributes", members(&at.value()["sortFacetValuesBy"]), ATTRIBUTES_MAX)?;
    texts(at)
}

/// Checks the number and the names. The rules of embedders check the content.
pub(super) fn embedders(at: &At<'_>) -> ApiResult<()> {
    count(at, "embedders", members(at.value()), EMBEDDERS_MAX)?;
    names(at)
}

/// Checks the same as [`embedders`].
pub(super) fn rerankers(at: &At<'_>) -> ApiResult<()> {
    count(at, "rerankers", members(at.value()), RERANKERS_MAX)?;
    names(at)
}

/// Checks the bounds of one attribute.
pub(super) fn attribute(at: &At<'_>) -> ApiResult<()> {
    texts(at)
}

pub(super) fn foreign_keys(at: &At<'_>) -> ApiResult<()> {
    count(at, "entries", elements(at.value()), FOREIGN_KEYS_MAX)?;
    texts(at)
}

fn texts(at: &At<'_>) -> ApiResult<()> {
    length(at, longest(at.value()))
}

/// The names of members, not what they hold.
fn names(at: &At<'_>) -> ApiResult<()> {
    at.value().as_object().into_iter().flatten().try_for_each(|(name, _)| length(at, name))
}

fn length(at: &At<'_>, text: &str) -> ApiResult<()> {
    match text {
        text if text.len() > TEXT_BYTES_MAX => Err(at.invalid(format!(
            "a text of {} bytes that starts with `{}`; the longest may have {TEXT_BYTES_MAX}.",
            text.len(),
            start_of(text)
        ))),
        _ => Ok(()),
    }
}

/// Refuses embedders that are too many together with those that are stored.
///
/// # Errors
/// `invalid_settings_embedders`
pub(super) fn merged_embedders(merged: &Settings) -> ApiResult<()> {
    match merged.embedders.len() {
        found if found <= EMBEDDERS_MAX => Ok(()),
        found => Err(ApiError::new(
            Code::InvalidSettingsEmbedders,
            format!("The index would have {found} embedders, and there may be {EMBEDDERS_MAX} at most."),
        )),
    }
}

/// Checks the same as [`merged_embedders`].
///
/// # Errors
/// `invalid_settings_rerankers`
pub(super) fn merged_rerankers(merged: &Settings) -> ApiResult<()> {
    match merged.rerankers.len() {
        found if found <= RERANKERS_MAX => Ok(()),
        found => Err(ApiError::new(
            Code::InvalidSettingsRerankers,
            format!("The index would have {found} rerankers, and there may be {RERANKERS_MAX} at most."),
        )),
    }
}

fn count(at: &At<'_>, what: &str, found: usize, most: usize) -> ApiResult<()> {
    if found <= most {
        return Ok(());
    }
    Err(at.invalid(format!("{found} {what}, and there may be {most} at most.")))
}

/// Elements of all arrays in `value`.
fn elements(value: &Value) -> usize {
    match value {
        Value::Array(values) => values.len() + values.iter().map(elements).sum::<usize>(),
        Value::Object(fields) => fields.values().map(elements).sum(),
        _ => 0,
    }
}

fn members(value: &Value) -> usize {
    value.as_object().map_or(0, serde_json::Map::len)
}

/// The longest of all texts and keys in `value`.
fn longest(value: &Value) -> &str {
    let texts: Box<dyn Iterator<Item = &str>> = match value {
        Value::String(text) => return text,
        Value::Array(values) => Box::new(values.iter().map(longest)),
        Value::Object(fields) => Box::new(fields.iter().flat_map(|(key, value)| [key.as_str(), longest(value)])),
        _ => return "",
    };
    texts.max_by_key(|text| text.len()).unwrap_or_default()
}

/// Enough of a text to know it by.
fn start_of(text: &str) -> &str {
    cut(text, 50)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::wire::settings::{merged, read};

    fn refused(body: Value, code: Code) -> String {
        let error = read(&body).expect_err("it is too much");
        assert_eq!(error.code, code);
        assert!(error.message.len() < 300, "{}", error.message);
        error.message
    }

    fn numbered(count: usize) -> Vec<String> {
        (0..count).map(|n| format!("n{n}")).collect()
    }

    #[test]
    fn what_holds_too_much_is_refused_with_the_code_of_the_setting() {
        let rules: Vec<String> = (0..40_000).map(|n| format!("n{n}:asc")).collect();
        assert_eq!(
            refused(json!({"rankingRules": rules}), Code::InvalidSettingsRankingRules),
            "Invalid value at `.rankingRules`: 40000 ranking rules, and there may be 200 at most."
        );
        let synonyms = json!({"a": ["b"], "word": numbered(300_000)});
        assert_eq!(
            refused(json!({"synonyms": synonyms}), Code::InvalidSettingsSynonyms),
            "Invalid value at `.synonyms`: 300000 alternatives for `word`, and there may be 1000 at most."
        );
        let many = numbered(100_000);
        for (key, code) in [
            ("displayedAttributes", Code::InvalidSettingsDisplayedAttributes),
            ("searchableAttributes", Code::InvalidSettingsSearchableAttributes),
            ("filterableAttributes", Code::InvalidSettingsFilterableAttributes),
            ("sortableAttributes", Code::InvalidSettingsSortableAttributes),
        ] {
            refused(json!({ key: many }), code);
        }
        let rule = |patterns: &[String]| json!([{"attributePatterns": patterns, "locales": ["eng"]}]);
        refused(json!({"localizedAttributes": rule(&many)}), Code::InvalidSettingsLocalizedAttributes);
        refused(
            json!({"filterableAttributes": [{"attributePatterns": many}]}),
            Code::InvalidSettingsFilterableAttributes,
        );
        let orders: Value =
            many.iter().map(|name| (name.clone(), json!("alpha"))).collect::<serde_json::Map<_, _>>().into();
        refused(json!({"faceting": {"sortFacetValuesBy": orders}}), Code::InvalidSettingsFaceting);
        refused(json!({"typoTolerance": {"disableOnAttributes": many}}), Code::InvalidSettingsTypoTolerance);
        let embedders: Value =
            many.iter().map(|name| (name.clone(), json!({}))).collect::<serde_json::Map<_, _>>().into();
        refused(json!({"embedders": embedders}), Code::InvalidSettingsEmbedders);
        let name = "n".repeat(100_000);
        refused(json!({"distinctAttribute": name}), Code::InvalidSettingsDistinctAttribute);
        refused(json!({"expiryAttribute": name}), Code::InvalidSettingsExpiryAttribute);
        refused(json!({"embedders": {name.as_str(): null}}), Code::InvalidSettingsEmbedders);
        refused(json!({"rerankers": {name.as_str(): null}}), Code::InvalidSettingsRerankers);
        let long = refused(json!({"dictionary": ["é".repeat(100_000)]}), Code::InvalidSettingsDictionary);
        assert!(long.contains("200000 bytes") && long.contains(&"é".repeat(25)), "{long}");
    }

    #[test]
    fn embedders_that_come_one_after_the_other_are_counted_together() {
        let mut settings = Settings::default();
        let add = |settings: &Settings, name: String| {
            let patch = read(&json!({"embedders": { name: {"source": "userProvided", "dimensions": 2} }})).unwrap();
            merged(settings, &patch)
        };
        for number in 0..EMBEDDERS_MAX {
            settings = add(&settings, format!("e{number}")).unwrap();
        }
        assert_eq!(add(&settings, "one more".into()).unwrap_err().code, Code::InvalidSettingsEmbedders);
        add(&settings, "e0".into()).unwrap();
    }

    #[test]
    fn what_is_of_use_is_taken() {
        let attributes = numbered(1000);
        let patch = read(&json!({
            "stopWords": numbered(100_000), "dictionary": numbered(100_000), "synonyms": {"a": numbered(1000)},
            "searchableAttributes": attributes, "filterableAttributes": attributes, "typoTolerance": null, "faceting": null,
        }));
        assert!(patch.is_ok(), "{patch:?}");
    }
}
