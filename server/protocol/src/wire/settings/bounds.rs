//! How much a setting may hold. What is beyond is of no use, and would make every search or every indexed document slow.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::embedding::cut;
use lamina_engine::index::settings::ALTERNATIVES_MAX;
use serde_json::Value;

use crate::wire::json::At;

/// The most of something that a value may hold: its name in refusals, the number, and how it is counted.
#[derive(Debug)]
pub(super) struct Limit(pub(super) &'static str, pub(super) usize, pub(super) fn(&Value) -> usize);

/// Attributes and patterns of one setting, in all its rules.
const ATTRIBUTES_MAX: usize = 10_000;
/// Words of most lists.
const WORDS_MAX: usize = 200_000;
/// Embedders of an index.
pub(super) const EMBEDDERS_MAX: usize = 256;
/// Rerankers of an index.
pub(super) const RERANKERS_MAX: usize = 16;
/// Bytes of a word, a name or a pattern: longer words are not indexed, and field names that are longer are no names.
const TEXT_BYTES_MAX: usize = 1000;

pub(super) const ATTRIBUTES_AND_PATTERNS: &[Limit] = &[Limit("attributes and patterns", ATTRIBUTES_MAX, elements)];
/// A rule for each language at most makes sense.
pub(super) const PATTERNS_AND_LOCALES: &[Limit] = &[Limit("patterns and locales", ATTRIBUTES_MAX, elements)];
pub(super) const ATTRIBUTES: &[Limit] = &[Limit("attributes", ATTRIBUTES_MAX, elements)];
/// Attributes that are the keys of an object.
pub(super) const ATTRIBUTE_KEYS: &[Limit] = &[Limit("attributes", ATTRIBUTES_MAX, members)];
/// Each is a comparison of every document that is ranked.
pub(super) const RANKING_RULES: &[Limit] = &[Limit("ranking rules", 200, elements)];
/// Stop words, words without typos, words without other forms.
pub(super) const WORDS: &[Limit] = &[Limit("words", WORDS_MAX, elements)];
/// Words of the dictionary, and separators of one kind.
pub(super) const DICTIONARY_WORDS: &[Limit] = &[Limit("words", 1_000_000, elements)];
pub(super) const WORDS_WITH_FORMS: &[Limit] =
    &[Limit("words with their forms", WORDS_MAX, |value| members(value) + elements(value))];
/// Words and phrases that have synonyms, and the alternatives of all of them taken together.
pub(super) const SYNONYMS: &[Limit] = &[Limit("entries", 200_000, members), Limit("alternatives", 1_000_000, elements)];
pub(super) const EMBEDDERS: &[Limit] = &[Limit("embedders", EMBEDDERS_MAX, members)];
pub(super) const RERANKERS: &[Limit] = &[Limit("rerankers", RERANKERS_MAX, members)];
/// Fields that refer to other indexes.
pub(super) const FOREIGN_KEYS: &[Limit] = &[Limit("entries", 256, elements)];

impl Limit {
    /// Refuses a part of the value of a setting that holds more.
    ///
    /// # Errors
    /// The error has the code of `at`, like all errors here.
    pub(super) fn check(&self, at: &At<'_>, part: &Value) -> ApiResult<()> {
        let Limit(what, most, count) = self;
        check_count(at, what, count(part), *most)
    }
}

/// Refuses a word with too many synonyms.
pub(super) fn check_alternatives(at: &At<'_>) -> ApiResult<()> {
    let largest = at.value().as_object().into_iter().flatten().max_by_key(|(_, alternatives)| elements(alternatives));
    let Some((word, alternatives)) = largest else { return Ok(()) };
    check_count(at, &format!("alternatives for `{}`", start_of(word)), elements(alternatives), ALTERNATIVES_MAX)
}

/// Refuses a text anywhere in a value that is too long.
pub(super) fn check_texts(at: &At<'_>) -> ApiResult<()> {
    check_length(at, longest(at.value()))
}

/// Refuses a key that is too long, whatever it holds.
pub(super) fn check_names(at: &At<'_>) -> ApiResult<()> {
    at.value().as_object().into_iter().flatten().try_for_each(|(name, _)| check_length(at, name))
}

fn check_length(at: &At<'_>, text: &str) -> ApiResult<()> {
    match text {
        text if text.len() > TEXT_BYTES_MAX => Err(at.invalid(format!(
            "a text of {} bytes that starts with `{}`; the longest may have {TEXT_BYTES_MAX}.",
            text.len(),
            start_of(text)
        ))),
        _ => Ok(()),
    }
}

fn check_count(at: &At<'_>, what: &str, found: usize, most: usize) -> ApiResult<()> {
    if found <= most {
        return Ok(());
    }
    Err(at.invalid(format!("{found} {what}; at most {most} are allowed.")))
}

/// Refuses configurations that are too many together with those that are stored.
///
/// # Errors
/// With `code`.
pub(super) fn check_merged(what: &str, found: usize, most: usize, code: Code) -> ApiResult<()> {
    if found <= most {
        return Ok(());
    }
    Err(ApiError::new(code, format!("The index would have {found} {what}; at most {most} are allowed.")))
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
    use lamina_engine::index::Settings;
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
            "Invalid value at `.rankingRules`: 40000 ranking rules; at most 200 are allowed."
        );
        let synonyms = json!({"a": ["b"], "word": numbered(300_000)});
        assert_eq!(
            refused(json!({"synonyms": synonyms}), Code::InvalidSettingsSynonyms),
            "Invalid value at `.synonyms`: 300000 alternatives for `word`; at most 1000 are allowed."
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
        assert!(long.contains("200000 bytes"), "{long}");
        assert!(long.contains(&"é".repeat(25)), "{long}");
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
