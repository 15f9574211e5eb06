//! `proximityPrecision`, `searchCutoffMs`, `facetSearch`, `prefixSearch`, `matchingStrategy`: single values that searches read.

use lamina_base::error::Code;
use lamina_engine::index::Setting;
use lamina_engine::index::settings::{PrefixSearch, ProximityPrecision, SettingId};
use serde_json::{Value, json};

use super::kind::{Figure, Figures, Presence, Reference, SettingKind};
use super::values::{sent, setting, word_of, words};
use crate::wire::schema;
use crate::wire::search::MATCHING_STRATEGIES;

const PROXIMITY_PRECISIONS: [(&str, ProximityPrecision); 2] =
    [("byWord", ProximityPrecision::ByWord), ("byAttribute", ProximityPrecision::ByAttribute)];

const PREFIX_SEARCHES: [(&str, PrefixSearch); 2] =
    [("indexingTime", PrefixSearch::IndexingTime), ("disabled", PrefixSearch::Disabled)];

pub(super) const PROXIMITY_PRECISION: SettingKind = SettingKind {
    id: SettingId::ProximityPrecision,
    key: "proximityPrecision",
    route: "proximity-precision",
    code: Code::InvalidSettingsProximityPrecision,
    read: |at, patch| {
        patch.proximity_precision = setting(at, |at| at.one_of(&PROXIMITY_PRECISIONS))?;
        Ok(())
    },
    written: |settings| word_of(&PROXIMITY_PRECISIONS, &settings.proximity_precision).into(),
    sent: |patch| sent(&patch.proximity_precision, |precision| word_of(&PROXIMITY_PRECISIONS, precision).into()),
    schema: || schema::one_of(&words(&PROXIMITY_PRECISIONS)),
    figures: |patch| {
        let word = |precision: &_| word_of(&PROXIMITY_PRECISIONS, precision).into();
        set_and_value("proximity_precision.set", "proximity_precision.value", &patch.proximity_precision, word)
    },
    reference: Reference {
        purpose: "whether `proximity` counts the words in between, or only checks for the same attribute",
        value: "`byWord` or `byAttribute`",
        example: r#""byAttribute""#,
    },
    ..SettingKind::PLAIN
};

pub(super) const SEARCH_CUTOFF_MS: SettingKind = SettingKind {
    id: SettingId::SearchCutoffMs,
    key: "searchCutoffMs",
    route: "search-cutoff-ms",
    code: Code::InvalidSettingsSearchCutoffMs,
    read: |at, patch| {
        patch.search_cutoff_ms = setting(at, |at| at.positive_integer())?;
        Ok(())
    },
    written: |settings| json!(settings.search_cutoff_ms),
    sent: |patch| sent(&patch.search_cutoff_ms, |millis| json!(millis)),
    schema: schema::count,
    reference: Reference {
        purpose: "milliseconds after which a search returns the best hits so far; `null` means 1500",
        value: "integer from 0",
        example: "200",
    },
    ..SettingKind::PLAIN
};

pub(super) const FACET_SEARCH: SettingKind = SettingKind {
    id: SettingId::FacetSearch,
    key: "facetSearch",
    route: "facet-search",
    code: Code::InvalidSettingsFacetSearch,
    read: |at, patch| {
        patch.facet_search = setting(at, |at| at.boolean())?;
        Ok(())
    },
    written: |settings| settings.facet_search.into(),
    sent: |patch| sent(&patch.facet_search, |is_on| json!(is_on)),
    schema: schema::flag,
    figures: |patch| set_and_value("facet_search.set", "facet_search.value", &patch.facet_search, |is_on| json!(is_on)),
    reference: Reference { purpose: "whether facet values can be searched", value: "boolean", example: "false" },
    ..SettingKind::PLAIN
};

pub(super) const PREFIX_SEARCH: SettingKind = SettingKind {
    id: SettingId::PrefixSearch,
    key: "prefixSearch",
    route: "prefix-search",
    code: Code::InvalidSettingsPrefixSearch,
    read: |at, patch| {
        patch.prefix_search = setting(at, |at| at.one_of(&PREFIX_SEARCHES))?;
        Ok(())
    },
    written: |settings| word_of(&PREFIX_SEARCHES, &settings.prefix_search).into(),
    sent: |patch| sent(&patch.prefix_search, |search| word_of(&PREFIX_SEARCHES, search).into()),
    schema: || schema::one_of(&words(&PREFIX_SEARCHES)),
    figures: |patch| {
        let word = |search: &_| word_of(&PREFIX_SEARCHES, search).into();
        set_and_value("prefix_search.set", "prefix_search.value", &patch.prefix_search, word)
    },
    reference: Reference {
        purpose: "whether the last word of a query matches as a prefix",
        value: "`indexingTime` or `disabled`",
        example: r#""disabled""#,
    },
    ..SettingKind::PLAIN
};

pub(super) const MATCHING_STRATEGY: SettingKind = SettingKind {
    id: SettingId::MatchingStrategy,
    key: "matchingStrategy",
    route: "matching-strategy",
    presence: Presence::WhenSet,
    code: Code::InvalidSettingsMatchingStrategy,
    read: |at, patch| {
        patch.matching_strategy = setting(at, |at| at.one_of(&MATCHING_STRATEGIES))?;
        Ok(())
    },
    written: |settings| settings.matching_strategy.map(|one| word_of(&MATCHING_STRATEGIES, &one)).into(),
    // Clients of the protocol do not know it, so a reset of all settings does not show it.
    sent: |patch| patch.matching_strategy.as_set().map(|one| word_of(&MATCHING_STRATEGIES, one).into()),
    schema: || schema::one_of(&words(&MATCHING_STRATEGIES)),
    reference: Reference {
        purpose: "which words a hit may lack, unless the search sets it; `null` means `last`",
        value: "`last`, `all`, `frequency` or `any`",
        example: r#""any""#,
    },
    ..SettingKind::PLAIN
};

fn set_and_value<T>(
    set: &'static str,
    value: &'static str,
    change: &Setting<T>,
    write: impl FnOnce(&T) -> Value,
) -> Figures {
    let mut figures = vec![(set, Figure::Any(change.as_set().is_some()))];
    figures.extend(change.as_set().map(|sent| (value, Figure::Last(write(sent)))));
    figures
}
