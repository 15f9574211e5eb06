//! The settings of an index on the wire: the table of them, reading changes, showing values.
//!
//! Everything decidable from the request alone is checked here and refused at once; what depends on the stored values
//! is checked by [`merged`] when the task runs.

mod bounds;
mod embedders;
mod filterable;
mod foreign_keys;
mod localized;
mod ranking_rules;
mod secrets;
mod typo_tolerance;

#[cfg(test)]
mod tests;

pub(crate) use embedders::FIELDS as EMBEDDER_FIELDS;
use lamina_engine::index::settings::{
    FacetOrder, FacetingPatch, PaginationPatch, PrefixSearch, ProximityPrecision, SettingsError,
};
use lamina_engine::index::{Setting, Settings, SettingsPatch};
use serde_json::{Map, Value};

pub(crate) use secrets::remove_secrets;

use super::json::At;
use super::search::MATCHING_STRATEGIES;
use crate::error::{ApiError, ApiResult, Code};

/// The HTTP verb that writes a sub-setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteVerb {
    /// The value is replaced.
    Put,
    /// An object, merged field by field.
    Patch,
}

/// One setting: its names, and how it is read into a patch.
#[derive(Debug)]
pub struct SettingKind {
    /// Key of the settings object.
    pub key: &'static str,
    /// Last segment of its own route.
    pub route: &'static str,
    /// How its own route is written to.
    pub verb: WriteVerb,
    code: Code,
    read: fn(At<'_>, &mut SettingsPatch) -> ApiResult<()>,
}

use WriteVerb::{Patch, Put};

/// All settings, in the order of the settings object.
pub const SETTINGS: [SettingKind; 21] = [
    SettingKind {
        key: "displayedAttributes",
        route: "displayed-attributes",
        verb: Put,
        code: Code::InvalidSettingsDisplayedAttributes,
        read: |at, patch| {
            patch.displayed_attributes = setting(at, |at| Ok(at.strings()?.into()))?;
            Ok(())
        },
    },
    SettingKind {
        key: "searchableAttributes",
        route: "searchable-attributes",
        verb: Put,
        code: Code::InvalidSettingsSearchableAttributes,
        read: |at, patch| {
            patch.searchable_attributes = setting(at, |at| Ok(at.strings()?.into()))?;
            Ok(())
        },
    },
    SettingKind {
        key: "filterableAttributes",
        route: "filterable-attributes",
        verb: Put,
        code: Code::InvalidSettingsFilterableAttributes,
        read: |at, patch| {
            patch.filterable_attributes = setting(at, |at| at.list(filterable::read))?;
            Ok(())
        },
    },
    SettingKind {
        key: "sortableAttributes",
        route: "sortable-attributes",
        verb: Put,
        code: Code::InvalidSettingsSortableAttributes,
        read: |at, patch| {
            patch.sortable_attributes = setting(at, string_set)?;
            Ok(())
        },
    },
    SettingKind {
        key: "rankingRules",
        route: "ranking-rules",
        verb: Put,
        code: Code::InvalidSettingsRankingRules,
        read: |at, patch| {
            patch.ranking_rules = setting(at, ranking_rules::read)?;
            Ok(())
        },
    },
    SettingKind {
        key: "stopWords",
        route: "stop-words",
        verb: Put,
        code: Code::InvalidSettingsStopWords,
        read: |at, patch| {
            patch.stop_words = setting(at, string_set)?;
            Ok(())
        },
    },
    SettingKind {
        key: "nonSeparatorTokens",
        route: "non-separator-tokens",
        verb: Put,
        code: Code::InvalidSettingsNonSeparatorTokens,
        read: |at, patch| {
            patch.non_separator_tokens = setting(at, string_set)?;
            Ok(())
        },
    },
    SettingKind {
        key: "separatorTokens",
        route: "separator-tokens",
        verb: Put,
        code: Code::InvalidSettingsSeparatorTokens,
        read: |at, patch| {
            patch.separator_tokens = setting(at, string_set)?;
            Ok(())
        },
    },
    SettingKind {
        key: "dictionary",
        route: "dictionary",
        verb: Put,
        code: Code::InvalidSettingsDictionary,
        read: |at, patch| {
            patch.dictionary = setting(at, string_set)?;
            Ok(())
        },
    },
    SettingKind {
        key: "synonyms",
        route: "synonyms",
        verb: Put,
        code: Code::InvalidSettingsSynonyms,
        read: |at, patch| {
            patch.synonyms = setting(at, |at| map(at, |values| values.strings()))?;
            Ok(())
        },
    },
    SettingKind {
        key: "distinctAttribute",
        route: "distinct-attribute",
        verb: Put,
        code: Code::InvalidSettingsDistinctAttribute,
        read: |at, patch| {
            patch.distinct_attribute = setting(at, |at| at.string())?;
            Ok(())
        },
    },
    SettingKind {
        key: "proximityPrecision",
        route: "proximity-precision",
        verb: Put,
        code: Code::InvalidSettingsProximityPrecision,
        read: |at, patch| {
            patch.proximity_precision = setting(at, |at| {
                at.one_of(&[("byWord", ProximityPrecision::ByWord), ("byAttribute", ProximityPrecision::ByAttribute)])
            })?;
            Ok(())
        },
    },
    SettingKind {
        key: "typoTolerance",
        route: "typo-tolerance",
        verb: Patch,
        code: Code::InvalidSettingsTypoTolerance,
        read: |at, patch| {
            patch.typo_tolerance = setting(at, typo_tolerance::read)?;
            Ok(())
        },
    },
    SettingKind {
        key: "faceting",
        route: "faceting",
        verb: Patch,
        code: Code::InvalidSettingsFaceting,
        read: |at, patch| {
            patch.faceting = setting(at, faceting)?;
            Ok(())
        },
    },
    SettingKind {
        key: "pagination",
        route: "pagination",
        verb: Patch,
        code: Code::InvalidSettingsPagination,
        read: |at, patch| {
            patch.pagination = setting(at, pagination)?;
            Ok(())
        },
    },
    SettingKind {
        key: "embedders",
        route: "embedders",
        verb: Patch,
        code: Code::InvalidSettingsEmbedders,
        read: |at, patch| {
            patch.embedders = setting(at, |at| map(at, |embedder| setting(embedder, embedders::read)))?;
            Ok(())
        },
    },
    SettingKind {
        key: "searchCutoffMs",
        route: "search-cutoff-ms",
        verb: Put,
        code: Code::InvalidSettingsSearchCutoffMs,
        read: |at, patch| {
            patch.search_cutoff_ms = setting(at, |at| at.positive_integer())?;
            Ok(())
        },
    },
    SettingKind {
        key: "localizedAttributes",
        route: "localized-attributes",
        verb: Put,
        code: Code::InvalidSettingsLocalizedAttributes,
        read: |at, patch| {
            patch.localized_attributes = setting(at, |at| at.list(localized::read))?;
            Ok(())
        },
    },
    SettingKind {
        key: "facetSearch",
        route: "facet-search",
        verb: Put,
        code: Code::InvalidSettingsFacetSearch,
        read: |at, patch| {
            patch.facet_search = setting(at, |at| at.boolean())?;
            Ok(())
        },
    },
    SettingKind {
        key: "prefixSearch",
        route: "prefix-search",
        verb: Put,
        code: Code::InvalidSettingsPrefixSearch,
        read: |at, patch| {
            patch.prefix_search = setting(at, |at| {
                at.one_of(&[("indexingTime", PrefixSearch::IndexingTime), ("disabled", PrefixSearch::Disabled)])
            })?;
            Ok(())
        },
    },
    SettingKind {
        key: "matchingStrategy",
        route: "matching-strategy",
        verb: Put,
        code: Code::InvalidSettingsMatchingStrategy,
        read: |at, patch| {
            patch.matching_strategy = setting(at, |at| at.one_of(&MATCHING_STRATEGIES))?;
            Ok(())
        },
    },
];

/// Behind an experimental feature, and shown only when that is on.
const FOREIGN_KEYS: SettingKind = SettingKind {
    key: "foreignKeys",
    route: "foreign-keys",
    verb: Put,
    code: Code::InvalidSettingsForeignKeys,
    read: |at, patch| {
        patch.foreign_keys = setting(at, |at| at.list(foreign_keys::read))?;
        Ok(())
    },
};

/// A setting of the protocol behind an experimental feature that this server does not have: key, and feature.
const GATED: [(&str, &str); 1] = [("chat", "chat completions")];

impl SettingKind {
    /// All settings, whatever features are on.
    pub fn all() -> impl Iterator<Item = &'static SettingKind> {
        SETTINGS.iter().chain([&FOREIGN_KEYS])
    }

    /// The setting whose own route ends with `route`.
    pub fn by_route(route: &str) -> Option<&'static SettingKind> {
        SettingKind::all().find(|setting| setting.route == route)
    }

    /// Reads the body of the setting's own route: the bare value; null resets.
    ///
    /// # Errors
    /// The setting's own code, places being relative to the value.
    pub fn read(&self, body: &Value) -> ApiResult<SettingsPatch> {
        let mut patch = SettingsPatch::default();
        self.read_into(At::root(body), &mut patch)?;
        Ok(patch)
    }

    fn read_into(&self, at: At<'_>, patch: &mut SettingsPatch) -> ApiResult<()> {
        let at = at.code(self.code);
        bounds::check(self.key, &at)?;
        (self.read)(at, patch)
    }

    /// The change that brings the setting back to its default.
    pub fn reset(&self) -> SettingsPatch {
        self.read(&Value::Null).expect("null resets every setting")
    }

    /// The value as clients see it.
    pub fn show(&self, settings: &Settings) -> Value {
        show(settings).get_mut(self.key).map(Value::take).unwrap_or_default()
    }
}

/// Reads the body of a settings update: absent keys are left alone, null resets.
///
/// # Errors
/// `bad_request` for unknown keys, else the code of the setting.
pub fn read(body: &Value) -> ApiResult<SettingsPatch> {
    let mut patch = SettingsPatch::default();
    let known = SettingKind::all;
    let accepted: Vec<&str> = known().map(|setting| setting.key).chain(GATED.map(|(key, _)| key)).collect();
    At::root(body).fields(&accepted, |name, field| {
        if let Some(setting) = known().find(|setting| setting.key == name) {
            return setting.read_into(field, &mut patch);
        }
        match GATED.iter().find(|(key, _)| *key == name) {
            Some((key, feature)) if !field.value().is_null() => {
                Err(ApiError::feature_not_enabled(format!("setting `{key}` in the index settings"), feature))
            }
            _ => Ok(()),
        }
    })?;
    Ok(patch)
}

/// All settings as clients see them: every key in order, secrets redacted, embedders with their defaults.
pub fn show(settings: &Settings) -> Value {
    let mut shown = serde_json::to_value(settings).expect("settings are plain JSON");
    if let Some(Value::Object(embedders)) = shown.get_mut("embedders") {
        for embedder in embedders.values_mut() {
            *embedder = embedders::show(embedder);
        }
    }
    shown
}

/// As [`show`], with or without the setting of the feature `foreignKeys`.
pub fn show_with(settings: &Settings, foreign_keys: bool) -> Value {
    let mut shown = show(settings);
    if let Some(fields) = shown.as_object_mut() {
        let keys = fields.shift_remove(FOREIGN_KEYS.key);
        if foreign_keys {
            fields.insert(FOREIGN_KEYS.key.to_owned(), keys.unwrap_or_else(|| Value::Array(Vec::new())));
        }
    }
    shown
}

/// What the own route of a setting shows that is no part of all settings: none of it.
pub fn unset(kind: &SettingKind) -> Value {
    if kind.key == FOREIGN_KEYS.key { Value::Array(Vec::new()) } else { Value::Null }
}

/// Refuses foreign keys in a body for all settings or for `kind`, for a server where these are switched off.
///
/// # Errors
/// `feature_not_enabled`
pub fn check_foreign_keys_off(kind: Option<&SettingKind>, body: &Value) -> ApiResult<()> {
    let asked = match kind {
        None => body.get(FOREIGN_KEYS.key),
        Some(kind) => (kind.key == FOREIGN_KEYS.key).then_some(body),
    };
    match asked {
        Some(value) if !value.is_null() => {
            Err(ApiError::feature_not_enabled("setting `foreignKeys` in the index settings", "foreign_keys"))
        }
        _ => Ok(()),
    }
}

/// The change as a task tells it: only what was sent, null for a reset (or `["*"]` where that is what a reset means),
/// secrets redacted.
pub fn details(patch: &SettingsPatch) -> Map<String, Value> {
    let Ok(Value::Object(mut sent)) = serde_json::to_value(patch) else { return Map::new() };
    for name in ["displayedAttributes", "searchableAttributes"] {
        if let Some(value) = sent.get_mut(name).filter(|value| value.is_null()) {
            *value = serde_json::json!(["*"]);
        }
    }
    if let Some(Value::Object(embedders)) = sent.get_mut("embedders") {
        embedders.values_mut().for_each(secrets::redact);
    }
    // Clients of the protocol do not know it: it is told while it is set, here as in the settings.
    if sent.get("matchingStrategy").is_some_and(Value::is_null) {
        sent.shift_remove("matchingStrategy");
    }
    sent
}

/// Refuses pairs of embedders in a body for all settings or for `kind`, for a server where these are switched off.
///
/// # Errors
/// `feature_not_enabled`
pub fn check_composite_off(kind: Option<&SettingKind>, body: &Value) -> ApiResult<()> {
    embedders_in(kind, body).try_for_each(embedders::check_composite)
}

/// Refuses fragments of embedders, as [`check_composite_off`] does pairs.
///
/// # Errors
/// `feature_not_enabled`
pub fn check_multimodal_off(kind: Option<&SettingKind>, body: &Value) -> ApiResult<()> {
    embedders_in(kind, body).try_for_each(embedders::check_multimodal)
}

/// The embedders in a body for all settings or for `kind`.
fn embedders_in<'b>(kind: Option<&SettingKind>, body: &'b Value) -> impl Iterator<Item = &'b Value> {
    let embedders = match kind {
        None => body.get("embedders"),
        Some(kind) => (kind.key == "embedders").then_some(body),
    };
    embedders.and_then(Value::as_object).into_iter().flat_map(|embedders| embedders.values())
}

/// `current` with `patch` applied, after a check of the rules that depend on stored values.
///
/// # Errors
/// With the code of the setting that contradicts what is stored.
pub fn merged(current: &Settings, patch: &SettingsPatch) -> ApiResult<Settings> {
    let merged = current.patched(patch).map_err(|error| ApiError::from(&error))?;
    if matches!(patch.embedders, Setting::Set(_)) {
        bounds::check_merged(current, &merged)?;
        embedders::check_merged(&current.embedders, &merged.embedders)?;
    }
    Ok(merged)
}

impl From<&SettingsError> for ApiError {
    fn from(error: &SettingsError) -> ApiError {
        match error {
            SettingsError::TypoSizesInverted { one_typo, two_typos } => {
                ApiError::new(Code::InvalidSettingsTypoTolerance, typo_tolerance::inverted_sizes(*one_typo, *two_typos))
            }
            other => ApiError::internal(other.to_string()),
        }
    }
}

/// Null resets, anything else is read.
fn setting<T>(at: At<'_>, read: impl FnOnce(At<'_>) -> ApiResult<T>) -> ApiResult<Setting<T>> {
    if at.value().is_null() { Ok(Setting::Reset) } else { read(at).map(Setting::Set) }
}

fn string_set(at: At<'_>) -> ApiResult<std::collections::BTreeSet<String>> {
    Ok(at.strings()?.into_iter().collect())
}

/// An object with free keys.
fn map<T>(
    at: At<'_>,
    mut read: impl FnMut(At<'_>) -> ApiResult<T>,
) -> ApiResult<std::collections::BTreeMap<String, T>> {
    let mut values = std::collections::BTreeMap::new();
    at.entries(|name, value| {
        values.insert(name.to_owned(), read(value)?);
        Ok(())
    })?;
    Ok(values)
}

fn faceting(at: At<'_>) -> ApiResult<FacetingPatch> {
    let mut patch = FacetingPatch::default();
    at.fields(&["maxValuesPerFacet", "sortFacetValuesBy"], |name, field| {
        match name {
            "maxValuesPerFacet" => patch.max_values_per_facet = setting(field, size)?,
            _ => {
                patch.sort_facet_values_by = setting(field, |orders| {
                    map(orders, |order| order.one_of(&[("alpha", FacetOrder::Alpha), ("count", FacetOrder::Count)]))
                })?;
            }
        }
        Ok(())
    })?;
    Ok(patch)
}

fn pagination(at: At<'_>) -> ApiResult<PaginationPatch> {
    let mut patch = PaginationPatch::default();
    at.fields(&["maxTotalHits"], |_, field| {
        patch.max_total_hits = setting(field, |field| match size(field)? {
            0 => Err(field
                .invalid("a non-zero integer value lower than `18446744073709551615` was expected, but found a zero")),
            hits => Ok(hits),
        })?;
        Ok(())
    })?;
    Ok(patch)
}

/// A count. What does not fit the machine is as good as infinite.
fn size(at: At<'_>) -> ApiResult<usize> {
    Ok(usize::try_from(at.positive_integer()?).unwrap_or(usize::MAX))
}
