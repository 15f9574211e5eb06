//! Schemas of the settings of an index: as they are written, where null resets, and as they are read.

use serde_json::{Value, json};

use super::schema::{
    anything, at_least, count, exactly, flag, index_uid, list, map_of, named, one_of, or_null, share, text, texts,
};
use crate::wire::search;
use crate::wire::settings::{EMBEDDER_FIELDS, SettingKind, WriteVerb};

/// The body of a change of several settings.
pub(super) fn body() -> Value {
    // A setting of the protocol for what this server does not do: it is refused unless null.
    let chat = [("chat", json!({ "type": "null" }))];
    exactly(keys().map(|key| (key, or_null(value(key)))).chain(chat), &[])
}

/// The value of one setting, as it is read and written.
pub(super) fn of(setting: &SettingKind) -> Value {
    json!({ "$ref": format!("#/components/schemas/Settings/properties/{}", setting.key) })
}

/// The settings whose own routes have this method.
pub(super) fn written_by(method: &str) -> impl Iterator<Item = &'static SettingKind> {
    SettingKind::all().filter(move |setting| match method {
        "PUT" => setting.verb == WriteVerb::Put,
        "PATCH" => setting.verb == WriteVerb::Patch,
        _ => true,
    })
}

/// All settings of an index, by the names of their schemas.
pub(super) fn answers() -> Vec<(&'static str, Value)> {
    // These two are there when they are set and when their feature is on.
    let is_always = |key: &&str| !matches!(*key, "matchingStrategy" | "foreignKeys");
    let always: Vec<&str> = keys().filter(is_always).collect();
    // What is not set is shown with its default, and what has none as null.
    let shown = keys().map(|key| (key, or_null(value(key))));
    vec![("Settings", exactly(shown, &always)), ("Embedder", embedder())]
}

fn keys() -> impl Iterator<Item = &'static str> {
    SettingKind::all().map(|setting| setting.key)
}

/// The value of a setting that is set.
fn value(key: &str) -> Value {
    match key {
        "filterableAttributes" => list(json!({ "anyOf": [text(), filterable_patterns()] })),
        "rankingRules" => list(json!({
            "type": "string",
            "pattern": "^(words|typo|proximity|attribute|attributeRank|wordPosition|sort|exactness|.+:(asc|desc))$",
        })),
        "synonyms" => map_of(texts()),
        "distinctAttribute" => text(),
        "proximityPrecision" => one_of(&["byWord", "byAttribute"]),
        "typoTolerance" => typo_tolerance(),
        "faceting" => {
            let orders = map_of(one_of(&["alpha", "count"]));
            exactly([("maxValuesPerFacet", or_null(count())), ("sortFacetValuesBy", or_null(orders))], &[])
        }
        "pagination" => exactly([("maxTotalHits", or_null(at_least(1)))], &[]),
        "embedders" => map_of(or_null(named("Embedder"))),
        "searchCutoffMs" => count(),
        "localizedAttributes" => {
            let fields = [("attributePatterns", texts()), ("locales", list(named("Locale")))];
            list(exactly(fields, &["attributePatterns", "locales"]))
        }
        "facetSearch" => flag(),
        "prefixSearch" => one_of(&["indexingTime", "disabled"]),
        "matchingStrategy" => one_of(&search::strategy_names()),
        "foreignKeys" => {
            let fields = [("foreignIndexUid", index_uid()), ("fieldName", text())];
            list(exactly(fields, &["foreignIndexUid", "fieldName"]))
        }
        // Lists of attributes and of words.
        _ => texts(),
    }
}

fn filterable_patterns() -> Value {
    let filter = exactly([("equality", flag()), ("comparison", flag())], &[]);
    let features = exactly([("facetSearch", flag()), ("filter", filter)], &[]);
    exactly([("attributePatterns", texts()), ("features", features)], &["attributePatterns"])
}

fn typo_tolerance() -> Value {
    let size = || or_null(json!({ "type": "integer", "minimum": 0, "maximum": 255 }));
    let sizes = exactly([("oneTypo", size()), ("twoTypos", size())], &[]);
    exactly(
        [
            ("enabled", or_null(flag())),
            ("minWordSizeForTypos", or_null(sizes)),
            ("disableOnWords", or_null(texts())),
            ("disableOnAttributes", or_null(texts())),
            ("disableOnNumbers", or_null(flag())),
        ],
        &[],
    )
}

/// Which of the fields belong depends on the source; `docs/semantic-search.md` has the table.
fn embedder() -> Value {
    exactly(EMBEDDER_FIELDS.into_iter().map(|name| (name, or_null(embedder_field(name)))), &[])
}

fn embedder_field(name: &str) -> Value {
    match name {
        "source" => one_of(&["openAi", "huggingFace", "ollama", "userProvided", "rest", "composite"]),
        "pooling" => one_of(&["useModel", "forceMean", "forceCls"]),
        "dimensions" | "documentTemplateMaxBytes" => at_least(1),
        "binaryQuantized" => flag(),
        "headers" => map_of(text()),
        "distribution" => {
            let sigma = json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 });
            exactly([("mean", share()), ("sigma", sigma)], &["mean", "sigma"])
        }
        "searchEmbedder" | "indexingEmbedder" => named("Embedder"),
        // Templates: any JSON with a placeholder somewhere.
        "request" | "response" => anything(),
        "indexingFragments" | "searchFragments" => map_of(or_null(exactly([("value", anything())], &["value"]))),
        _ => text(),
    }
}
