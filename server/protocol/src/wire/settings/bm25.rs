//! `bm25` and `searchableAttributesWeights`: how the score of questions counts occurrences of words.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::Settings;
use lamina_engine::index::settings::{Bm25, Bm25Patch, SettingId};
use serde_json::{Value, json};

use super::bounds;
use super::kind::{Presence, Reference, SettingKind, WriteVerb};
use super::values::{map, parts, sent, setting};
use crate::wire::json::At;
use crate::wire::schema::{exactly, map_of, or_null};

/// The largest `k1`: with more, occurrences are as good as counted.
const K1_MAX: f64 = 1000.0;
/// The largest weight of an attribute.
const WEIGHT_MAX: f64 = 1000.0;
/// The smallest one: what counts less may as well not be searched.
const WEIGHT_MIN: f64 = 0.001;

pub(super) const BM25: SettingKind = SettingKind {
    id: SettingId::Bm25,
    key: "bm25",
    route: "bm25",
    verb: WriteVerb::Patch,
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsBm25,
    read: |at, patch| {
        patch.bm25 = setting(at, read)?;
        Ok(())
    },
    written,
    // Clients of the protocol know neither, so a reset of all settings does not show them.
    sent: |patch| {
        let written =
            |patch: &Bm25Patch| parts([("k1", sent(&patch.k1, |k1| json!(k1))), ("b", sent(&patch.b, |b| json!(b)))]);
        patch.bm25.as_set().map(written)
    },
    schema: || exactly([("k1", or_null(between(0.0, K1_MAX))), ("b", or_null(between(0.0, 1.0)))], &[]),
    reference: Reference {
        purpose: "the score of `any`: how long further occurrences of a word add to it (`k1`, 1.2), and how much \
                  less long attributes count (`b`, 0.75)",
        value: "object: `k1` (0 to 1000), `b` (0 to 1)",
        example: r#"{"k1": 0.9, "b": 0.4}"#,
    },
    ..SettingKind::PLAIN
};

pub(super) const WEIGHTS: SettingKind = SettingKind {
    id: SettingId::SearchableAttributesWeights,
    key: "searchableAttributesWeights",
    route: "searchable-attributes-weights",
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsSearchableAttributesWeights,
    bounds: bounds::weights,
    read: |at, patch| {
        patch.searchable_attributes_weights =
            setting(at, |at| map(at, |weight| number_between(&weight, WEIGHT_MIN, WEIGHT_MAX)))?;
        Ok(())
    },
    written: |settings| {
        let weights = &settings.searchable_attributes_weights;
        if weights.is_empty() { Value::Null } else { json!(weights) }
    },
    sent: |patch| patch.searchable_attributes_weights.as_set().map(|weights| json!(weights)),
    schema: || map_of(between(WEIGHT_MIN, WEIGHT_MAX)),
    reference: Reference {
        purpose: "the score of `any`: how much a word in an attribute counts. The default is 1 + 1 / (1 + its place \
                  in `searchableAttributes`), or 1 if these have no order",
        value: "object of numbers, 0.001 to 1000",
        example: r#"{"title": 3, "authors": 0.5}"#,
    },
    ..SettingKind::PLAIN
};

fn read(at: At<'_>) -> ApiResult<Bm25Patch> {
    let mut patch = Bm25Patch::default();
    at.fields(&["k1", "b"], |name, field| {
        match name {
            "k1" => patch.k1 = setting(field, |field| number_between(&field, 0.0, K1_MAX))?,
            _ => patch.b = setting(field, |field| number_between(&field, 0.0, 1.0))?,
        }
        Ok(())
    })?;
    Ok(patch)
}

fn number_between(at: &At<'_>, least: f64, most: f64) -> ApiResult<f64> {
    let number = at.number()?;
    if (least..=most).contains(&number) {
        return Ok(number);
    }
    Err(at.invalid(format!("{number} is not between {least} and {most}.")))
}

fn between(least: f64, most: f64) -> Value {
    json!({ "type": "number", "minimum": least, "maximum": most })
}

fn written(settings: &Settings) -> Value {
    let Bm25 { k1, b } = settings.bm25;
    if settings.bm25 == Bm25::default() { Value::Null } else { json!({ "k1": k1, "b": b }) }
}
