//! The settings of an index: resolved values with their defaults, patches, and what a change of them costs.
//!
//! [`Settings`] serialises in the public JSON shape, every key present. Shapes and bounds of what users send are
//! checked by the server; here remain the rules that depend on the stored values.

mod attribute_list;
mod attribute_pattern;
mod available;
mod change;
mod embedder;
mod faceting;
mod filterable;
mod foreign_key;
mod localized;
mod matching_strategy;
mod patch;
mod ranking_rule;
mod resolved;
#[cfg(test)]
mod tests;
mod typo_tolerance;
mod word_boundaries;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;
use unicode_normalization::UnicodeNormalization;

pub use attribute_list::{AttributeList, covers, lineage};
pub use attribute_pattern::AttributePattern;
pub use available::AvailableAttributes;
pub(crate) use change::SettingsChange;
pub use embedder::{
    DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, DIMENSIONS_MAX, Distribution, EmbedderSettings, FRAGMENTS_MAX,
    INDEXING_FRAGMENTS, SEARCH_FRAGMENTS, fragments_of,
};
pub use faceting::{FacetOrder, Faceting, FacetingPatch, Pagination, PaginationPatch};
use filterable::uses_values;
pub use filterable::{
    FilterOperators, FilterableAttribute, FilterableFeatures, FilterablePatterns, filterable_features,
    is_listed_by_name,
};
pub use foreign_key::ForeignKey;
pub use localized::{LocalizedAttributes, locales_of};
pub use matching_strategy::MatchingStrategy;
pub use patch::{Setting, SettingsPatch};
pub use ranking_rule::{RankingRule, UnknownRankingRule};
pub use resolved::{ALTERNATIVES_MAX, ResolvedSettings};
pub use typo_tolerance::{MinWordSizeForTypos, MinWordSizeForTyposPatch, TypoTolerance, TypoTolerancePatch};

use attribute_list::without_duplicates;

/// The field that holds a document's position.
pub const GEO_FIELD: &str = "_geo";
/// The field that holds a document's shapes.
pub const GEOJSON_FIELD: &str = "_geojson";
/// The field that holds a document's own vectors.
pub const VECTORS_FIELD: &str = "_vectors";

/// Every setting of an index, resolved. Field order is the order of the public JSON object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    pub displayed_attributes: AttributeList,
    pub searchable_attributes: AttributeList,
    pub filterable_attributes: Vec<FilterableAttribute>,
    pub sortable_attributes: BTreeSet<String>,
    pub ranking_rules: Vec<RankingRule>,
    /// Case- and accent-sensitive: only decomposed (see [`normalize_stop_word`]).
    pub stop_words: BTreeSet<String>,
    pub non_separator_tokens: BTreeSet<String>,
    pub separator_tokens: BTreeSet<String>,
    pub dictionary: BTreeSet<String>,
    pub synonyms: BTreeMap<String, Vec<String>>,
    pub distinct_attribute: Option<String>,
    pub proximity_precision: ProximityPrecision,
    pub typo_tolerance: TypoTolerance,
    pub faceting: Faceting,
    pub pagination: Pagination,
    /// Name to configuration, kept as the public JSON.
    pub embedders: Map<String, Value>,
    /// `None`: [`DEFAULT_SEARCH_CUTOFF_MS`].
    pub search_cutoff_ms: Option<u64>,
    pub localized_attributes: Option<Vec<LocalizedAttributes>>,
    pub facet_search: bool,
    pub prefix_search: PrefixSearch,
    /// Of searches that name none. Shown only when it is set: the protocol does not know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matching_strategy: Option<MatchingStrategy>,
    /// Left out of the JSON when there are none: most servers know no such setting.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub foreign_keys: Vec<ForeignKey>,
}

/// Time after which a search answers with the best so far when the index sets no other, in milliseconds.
pub const DEFAULT_SEARCH_CUTOFF_MS: u64 = 1500;

/// How finely the `proximity` rule looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ProximityPrecision {
    /// Distances in words.
    #[default]
    ByWord,
    /// Same attribute or not.
    ByAttribute,
}

/// Whether the last word of a query may be a prefix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PrefixSearch {
    #[default]
    IndexingTime,
    Disabled,
}

/// A patch that contradicts the stored settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("a word accepts two typos from {two_typos} characters but one typo only from {one_typo}")]
    TypoSizesInverted { one_typo: u8, two_typos: u8 },
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            displayed_attributes: AttributeList::All,
            searchable_attributes: AttributeList::All,
            filterable_attributes: Vec::new(),
            sortable_attributes: BTreeSet::new(),
            ranking_rules: RankingRule::defaults(),
            stop_words: BTreeSet::new(),
            non_separator_tokens: BTreeSet::new(),
            separator_tokens: BTreeSet::new(),
            dictionary: BTreeSet::new(),
            synonyms: BTreeMap::new(),
            distinct_attribute: None,
            proximity_precision: ProximityPrecision::ByWord,
            typo_tolerance: TypoTolerance::default(),
            faceting: Faceting::default(),
            pagination: Pagination::default(),
            embedders: Map::new(),
            search_cutoff_ms: None,
            localized_attributes: None,
            facet_search: true,
            prefix_search: PrefixSearch::IndexingTime,
            matching_strategy: None,
            foreign_keys: Vec::new(),
        }
    }
}

impl Settings {
    /// These settings with `patch` applied: absent keys stay, `null` resets, objects merge field by field.
    ///
    /// # Errors
    /// When the merged values contradict each other; nothing is changed then.
    pub fn patched(&self, patch: &SettingsPatch) -> Result<Settings, SettingsError> {
        let default = Settings::default();
        let typo_tolerance = match &patch.typo_tolerance {
            Setting::Unset => self.typo_tolerance.clone(),
            Setting::Reset => default.typo_tolerance,
            Setting::Set(typos) => self.typo_tolerance.patched(typos)?,
        };
        let faceting = match &patch.faceting {
            Setting::Unset => self.faceting.clone(),
            Setting::Reset => default.faceting,
            Setting::Set(faceting) => self.faceting.patched(faceting),
        };
        let pagination = match &patch.pagination {
            Setting::Unset => self.pagination,
            Setting::Reset => default.pagination,
            Setting::Set(pagination) => self.pagination.patched(pagination),
        };
        let stop_words = patch.stop_words.merged(&self.stop_words, default.stop_words);
        Ok(Settings {
            displayed_attributes: patch
                .displayed_attributes
                .merged(&self.displayed_attributes, default.displayed_attributes),
            searchable_attributes: patch
                .searchable_attributes
                .merged(&self.searchable_attributes, default.searchable_attributes),
            filterable_attributes: without_duplicates(
                patch.filterable_attributes.merged(&self.filterable_attributes, default.filterable_attributes),
            ),
            sortable_attributes: patch
                .sortable_attributes
                .merged(&self.sortable_attributes, default.sortable_attributes),
            ranking_rules: without_duplicates(patch.ranking_rules.merged(&self.ranking_rules, default.ranking_rules)),
            stop_words: stop_words.iter().map(|word| normalize_stop_word(word)).collect(),
            non_separator_tokens: patch
                .non_separator_tokens
                .merged(&self.non_separator_tokens, default.non_separator_tokens),
            separator_tokens: patch.separator_tokens.merged(&self.separator_tokens, default.separator_tokens),
            dictionary: patch.dictionary.merged(&self.dictionary, default.dictionary),
            synonyms: patch.synonyms.merged(&self.synonyms, default.synonyms),
            distinct_attribute: optional(&patch.distinct_attribute, &self.distinct_attribute),
            proximity_precision: patch
                .proximity_precision
                .merged(&self.proximity_precision, default.proximity_precision),
            typo_tolerance,
            faceting,
            pagination,
            embedders: patched_embedders(&self.embedders, &patch.embedders),
            search_cutoff_ms: optional(&patch.search_cutoff_ms, &self.search_cutoff_ms),
            localized_attributes: optional(&patch.localized_attributes, &self.localized_attributes)
                .map(without_duplicates),
            facet_search: patch.facet_search.merged(&self.facet_search, default.facet_search),
            prefix_search: patch.prefix_search.merged(&self.prefix_search, default.prefix_search),
            foreign_keys: without_duplicates(patch.foreign_keys.merged(&self.foreign_keys, default.foreign_keys)),
            matching_strategy: optional(&patch.matching_strategy, &self.matching_strategy),
        })
    }

    /// What may be done with `field` in filters; `None` when it is not filterable.
    pub fn filterable(&self, field: &str) -> Option<FilterableFeatures> {
        filterable_features(&self.filterable_attributes, field)
    }

    /// Whether requests may sort by `field` (dotted path): it or an ancestor is listed.
    pub fn is_sortable(&self, field: &str) -> bool {
        lineage(field).any(|name| self.sortable_attributes.contains(name))
    }

    /// Whether positions are read from documents, which also makes malformed ones an error.
    pub fn uses_geo(&self) -> bool {
        is_listed_by_name(&self.filterable_attributes, GEO_FIELD) || self.sortable_attributes.contains(GEO_FIELD)
    }

    /// Whether shapes are read from documents, which also makes malformed ones an error.
    pub fn uses_shapes(&self) -> bool {
        is_listed_by_name(&self.filterable_attributes, GEOJSON_FIELD)
    }

    /// Whether segments hold a column of `field`: it is filterable or open to facet search, sortable, the distinct attribute (or
    /// one of its children), or a custom ranking rule orders by it.
    pub fn needs_column(&self, field: &str) -> bool {
        !is_reserved(field)
            && (uses_values(&self.filterable_attributes, field)
                || self.is_sortable(field)
                || self.distinct_attribute.as_deref().is_some_and(|distinct| covers(distinct, field))
                || self.ranking_rules.iter().filter_map(RankingRule::field).any(|name| covers(name, field)))
    }
}

/// Whether `field` has a meaning of its own (`_geo`, `_geojson`, `_vectors`) and no column is made of it.
pub fn is_reserved(field: &str) -> bool {
    covers(GEO_FIELD, field) || !has_text(field)
}

/// Whether the words of `field` can be searched at all, whatever the searchable attributes.
pub fn has_text(field: &str) -> bool {
    !covers(VECTORS_FIELD, field) && !covers(GEOJSON_FIELD, field)
}

/// The stored form of a stop word: compatibility decomposition without control characters; case and accents stay.
pub fn normalize_stop_word(word: &str) -> String {
    word.nfkd().filter(|character| !character.is_control()).collect()
}

fn optional<T: Clone>(patch: &Setting<T>, current: &Option<T>) -> Option<T> {
    match patch {
        Setting::Unset => current.clone(),
        Setting::Reset => None,
        Setting::Set(value) => Some(value.clone()),
    }
}

fn patched_embedders(
    current: &Map<String, Value>,
    patch: &Setting<BTreeMap<String, Setting<Value>>>,
) -> Map<String, Value> {
    let changes = match patch {
        Setting::Unset => return current.clone(),
        Setting::Reset => return Map::new(),
        Setting::Set(changes) => changes,
    };
    let mut embedders = current.clone();
    for (name, change) in changes {
        match change {
            Setting::Unset => {}
            Setting::Reset => {
                embedders.remove(name);
            }
            Setting::Set(Value::Object(fields)) => {
                let stored = embedders.entry(name.clone()).or_insert_with(|| Value::Object(Map::new()));
                if let Value::Object(stored) = stored {
                    embedder::follow_source(stored, fields);
                    embedder::merge(stored, fields);
                }
            }
            Setting::Set(other) => {
                embedders.insert(name.clone(), other.clone());
            }
        }
    }
    embedders
}
