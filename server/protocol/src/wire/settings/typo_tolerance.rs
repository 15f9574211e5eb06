//! `typoTolerance`: merged field by field, so each field is left alone, reset or set.

use lamina_base::engine_errors::inverted_typo_sizes;
use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::{MinWordSizeForTyposPatch, SettingId, TypoTolerancePatch};
use lamina_engine::index::{Setting, Settings, SettingsPatch};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Figure, Figures, Reference, SettingKind, WriteVerb};
use super::values::{parts, sent, setting, string_set};
use crate::wire::json::At;
use crate::wire::schema::{exactly, flag, or_null, texts};

pub(super) const TYPO_TOLERANCE: SettingKind = SettingKind {
    id: SettingId::TypoTolerance,
    key: "typoTolerance",
    route: "typo-tolerance",
    verb: WriteVerb::Patch,
    code: Code::InvalidSettingsTypoTolerance,
    bounds: bounds::typo_tolerance,
    read: |at, patch| {
        patch.typo_tolerance = setting(at, read)?;
        Ok(())
    },
    written,
    sent: |patch| sent(&patch.typo_tolerance, sent_parts),
    schema,
    figures,
    reference: Reference {
        purpose: "when and where typos are tolerated",
        value: "object: `enabled`, `minWordSizeForTypos` (`oneTypo`, `twoTypos`: 0 to 255), `disableOnWords`, \
                `disableOnAttributes`, `disableOnNumbers`",
        example: r#"{"minWordSizeForTypos": {"oneTypo": 4}, "disableOnAttributes": ["sku"]}"#,
    },
    ..SettingKind::PLAIN
};

const FIELDS: [&str; 5] =
    ["enabled", "minWordSizeForTypos", "disableOnWords", "disableOnAttributes", "disableOnNumbers"];

fn read(at: At<'_>) -> ApiResult<TypoTolerancePatch> {
    let mut patch = TypoTolerancePatch::default();
    at.fields(&FIELDS, |name, field| {
        match name {
            "enabled" => patch.enabled = setting(field, |field| field.boolean())?,
            "minWordSizeForTypos" => patch.min_word_size_for_typos = setting(field, sizes)?,
            "disableOnWords" => patch.disable_on_words = setting(field, string_set)?,
            "disableOnAttributes" => patch.disable_on_attributes = setting(field, string_set)?,
            _ => patch.disable_on_numbers = setting(field, |field| field.boolean())?,
        }
        Ok(())
    })?;
    Ok(patch)
}

fn sizes(at: At<'_>) -> ApiResult<MinWordSizeForTyposPatch> {
    let mut patch = MinWordSizeForTyposPatch::default();
    at.fields(&["oneTypo", "twoTypos"], |name, field| {
        let size = setting(field, |field| field.byte())?;
        match name {
            "oneTypo" => patch.one_typo = size,
            _ => patch.two_typos = size,
        }
        Ok(())
    })?;
    match (patch.one_typo, patch.two_typos) {
        (Setting::Set(one), Setting::Set(two)) if one > two => Err(at.invalid(inverted_typo_sizes(one, two))),
        _ => Ok(patch),
    }
}

fn written(settings: &Settings) -> Value {
    let typos = &settings.typo_tolerance;
    let sizes = typos.min_word_size_for_typos;
    json!({
        "enabled": typos.enabled,
        "minWordSizeForTypos": { "oneTypo": sizes.one_typo, "twoTypos": sizes.two_typos },
        "disableOnWords": typos.disable_on_words,
        "disableOnAttributes": typos.disable_on_attributes,
        "disableOnNumbers": typos.disable_on_numbers,
    })
}

fn sent_parts(patch: &TypoTolerancePatch) -> Value {
    let sizes = |sizes: &MinWordSizeForTyposPatch| {
        let size = |size: &Setting<u8>| sent(size, |size| json!(size));
        parts([("oneTypo", size(&sizes.one_typo)), ("twoTypos", size(&sizes.two_typos))])
    };
    parts([
        ("enabled", sent(&patch.enabled, |is_on| json!(is_on))),
        ("minWordSizeForTypos", sent(&patch.min_word_size_for_typos, sizes)),
        ("disableOnWords", sent(&patch.disable_on_words, |words| json!(words))),
        ("disableOnAttributes", sent(&patch.disable_on_attributes, |names| json!(names))),
        ("disableOnNumbers", sent(&patch.disable_on_numbers, |is_off| json!(is_off))),
    ])
}

fn schema() -> Value {
    let size = || or_null(json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    let sizes = exactly([("oneTypo", size()), ("twoTypos", size())], &[]);
    let [enabled, on_words, on_attributes, on_numbers] = [flag(), texts(), texts(), flag()].map(or_null);
    let schemas = [enabled, or_null(sizes), on_words, on_attributes, on_numbers];
    exactly(FIELDS.into_iter().zip(schemas), &[])
}

fn figures(patch: &SettingsPatch) -> Figures {
    let Setting::Set(typos) = &patch.typo_tolerance else { return Figures::new() };
    let sizes = typos.min_word_size_for_typos.as_set();
    let is_listed =
        |list: &Setting<std::collections::BTreeSet<String>>| list.as_set().is_some_and(|list| !list.is_empty());
    let one_typo = sizes.and_then(|sizes| sizes.one_typo.as_set());
    let two_typos = sizes.and_then(|sizes| sizes.two_typos.as_set());
    vec![
        ("typo_tolerance.enabled", Figure::Last(json!(typos.enabled.as_set()))),
        ("typo_tolerance.disable_on_attributes", Figure::Any(is_listed(&typos.disable_on_attributes))),
        ("typo_tolerance.disable_on_words", Figure::Any(is_listed(&typos.disable_on_words))),
        ("typo_tolerance.min_word_size_for_typos.one_typo", Figure::Last(json!(one_typo))),
        ("typo_tolerance.min_word_size_for_typos.two_typos", Figure::Last(json!(two_typos))),
    ]
}
