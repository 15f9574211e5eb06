//! A change of settings: each one left alone, reset to its default, or set.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::attribute_list::AttributeList;
use super::faceting::{FacetingPatch, PaginationPatch};
use super::filterable::FilterableAttribute;
use super::foreign_key::ForeignKey;
use super::localized::LocalizedAttributes;
use super::matching_strategy::MatchingStrategy;
use super::ranking_rule::RankingRule;
use super::typo_tolerance::TypoTolerancePatch;
use super::{PrefixSearch, ProximityPrecision};

/// One setting of a patch. In JSON: key absent, `null`, or a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting<T> {
    /// Leave as it is.
    #[default]
    Unset,
    /// Back to the default.
    Reset,
    Set(T),
}

impl<T> Setting<T> {
    pub fn is_unset(&self) -> bool {
        matches!(self, Setting::Unset)
    }

    pub fn as_set(&self) -> Option<&T> {
        match self {
            Setting::Set(value) => Some(value),
            _ => None,
        }
    }
}

impl<T: Clone> Setting<T> {
    pub(super) fn merged(&self, current: &T, default: T) -> T {
        match self {
            Setting::Unset => current.clone(),
            Setting::Reset => default,
            Setting::Set(value) => value.clone(),
        }
    }
}

impl<T: Serialize> Serialize for Setting<T> {
    /// An unset field must be skipped by the struct that holds it; here it would read back as a reset.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Setting::Unset | Setting::Reset => serializer.serialize_none(),
            Setting::Set(value) => value.serialize(serializer),
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Setting<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Setting<T>, D::Error> {
        Ok(match Option::<T>::deserialize(deserializer)? {
            Some(value) => Setting::Set(value),
            None => Setting::Reset,
        })
    }
}

/// A change of [`Settings`](super::Settings), in the public JSON shape.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SettingsPatch {
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub displayed_attributes: Setting<AttributeList>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub searchable_attributes: Setting<AttributeList>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub filterable_attributes: Setting<Vec<FilterableAttribute>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub sortable_attributes: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub ranking_rules: Setting<Vec<RankingRule>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub stop_words: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub non_separator_tokens: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub separator_tokens: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub dictionary: Setting<BTreeSet<String>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub synonyms: Setting<BTreeMap<String, Vec<String>>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub distinct_attribute: Setting<String>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub proximity_precision: Setting<ProximityPrecision>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub typo_tolerance: Setting<TypoTolerancePatch>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub faceting: Setting<FacetingPatch>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub pagination: Setting<PaginationPatch>,
    /// By embedder: `null` removes it, an object is merged field by field.
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub embedders: Setting<BTreeMap<String, Setting<Value>>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub search_cutoff_ms: Setting<u64>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub localized_attributes: Setting<Vec<LocalizedAttributes>>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub facet_search: Setting<bool>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub prefix_search: Setting<PrefixSearch>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub matching_strategy: Setting<MatchingStrategy>,
    #[serde(skip_serializing_if = "Setting::is_unset")]
    pub foreign_keys: Setting<Vec<ForeignKey>>,
}

impl SettingsPatch {
    /// A patch that brings every setting back to its default.
    pub fn reset_all() -> SettingsPatch {
        SettingsPatch {
            displayed_attributes: Setting::Reset,
            searchable_attributes: Setting::Reset,
            filterable_attributes: Setting::Reset,
            sortable_attributes: Setting::Reset,
            ranking_rules: Setting::Reset,
            stop_words: Setting::Reset,
            non_separator_tokens: Setting::Reset,
            separator_tokens: Setting::Reset,
            dictionary: Setting::Reset,
            synonyms: Setting::Reset,
            distinct_attribute: Setting::Reset,
            proximity_precision: Setting::Reset,
            typo_tolerance: Setting::Reset,
            faceting: Setting::Reset,
            pagination: Setting::Reset,
            embedders: Setting::Reset,
            search_cutoff_ms: Setting::Reset,
            localized_attributes: Setting::Reset,
            facet_search: Setting::Reset,
            prefix_search: Setting::Reset,
            foreign_keys: Setting::Reset,
            matching_strategy: Setting::Reset,
        }
    }
}
