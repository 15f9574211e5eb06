//! Parts of settings whose rules are their own.

use lamina_base::engine_errors::inverted_typo_sizes;
use lamina_base::error::ApiResult;
use lamina_engine::text::{Language, has_stems};
use serde_json::{Value, json};

use super::shape::Shape::{self, Byte, Fields, Flag, List, Own, Record, Text};
use crate::wire::json::{At, Kind};
use crate::wire::{locale, schema};

/// An entry of `filterableAttributes`: a field, or patterns with features.
pub(super) const FILTERABLE: Shape = Own(
    |at| match at.value() {
        Value::String(_) => Text.read(at),
        Value::Object(_) => FILTERABLE_PATTERNS.read(at),
        _ => Err(at.wrong_type(&[Kind::String, Kind::Object])),
    },
    || json!({ "anyOf": [Text.schema(), FILTERABLE_PATTERNS.schema()] }),
);

const FILTERABLE_PATTERNS: Shape = Record(&[
    ("attributePatterns", true, List(&Text, &[])),
    (
        "features",
        false,
        Record(&[
            ("facetSearch", false, Flag),
            ("filter", false, Record(&[("equality", false, Flag), ("comparison", false, Flag)])),
        ]),
    ),
]);

/// A language code of two or three letters, which is stored in its three-letter form.
pub(super) const LOCALE: Shape =
    Own(|at| at.language().map(|language| language.code().into()), || schema::named("Locale"));

/// A language whose word forms are known.
pub(super) const LANGUAGE_WITH_FORMS: Shape = Own(
    |at| {
        let language = at.language()?;
        if has_stems(language) {
            return Ok(language.code().into());
        }
        let text = at.string()?;
        Err(at.unknown_value(&text, &languages_with_forms()))
    },
    || schema::one_of(&languages_with_forms()),
);

/// The codes of all such languages.
fn languages_with_forms() -> Vec<&'static str> {
    let has_forms = |code: &&str| Language::parse(code).is_some_and(has_stems);
    locale::accepted().into_iter().filter(has_forms).collect()
}

/// One word, without white space.
pub(super) const WORD: Shape = Own(
    |at| {
        let word = at.string()?;
        check_word(&at, &word)?;
        Ok(word.into())
    },
    || json!({ "type": "string", "pattern": "^\\S+$" }),
);

/// Refuses an object of which a key is not one word.
///
/// # Errors
/// With the code of `at`.
pub(super) fn keys_are_words(at: &At<'_>) -> ApiResult<()> {
    at.entries(|name, value| check_word(&value, name))
}

fn check_word(at: &At<'_>, word: &str) -> ApiResult<()> {
    if word.trim().is_empty() || word.contains(char::is_whitespace) {
        return Err(at.invalid(format!("`{word}` is not one word.")));
    }
    Ok(())
}

/// The lengths from which words have one typo, and two.
pub(super) const TYPO_SIZES: Shape = Shape::After(&Fields(&[("oneTypo", Byte), ("twoTypos", Byte)]), |at, sizes| {
    let size = |name: &str| sizes[name].as_u64().and_then(|size| u8::try_from(size).ok());
    match (size("oneTypo"), size("twoTypos")) {
        (Some(one), Some(two)) if one > two => Err(at.invalid(inverted_typo_sizes(one, two))),
        _ => Ok(()),
    }
});

/// A number of hits, at least one.
pub(super) const HITS: Shape = Own(
    |at| match at.positive_integer()? {
        0 => {
            Err(at.invalid("a non-zero integer value lower than `18446744073709551615` was expected, but found a zero"))
        }
        hits => Ok(hits.into()),
    },
    || schema::at_least(1),
);

/// The uid of an index.
pub(super) const INDEX_UID: Shape = Own(|at| at.index_uid().map(Value::from), schema::index_uid);
