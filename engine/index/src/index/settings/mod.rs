//! The settings of an index: resolved values with their defaults, patches, and what a change of them costs.
//!
//! A setting is a row of the list in [`list`], which has its name, its type, its default, and what a change of it has to write
//! again; the types that hold all settings and their stored form follow. Most types are common ones of [`value`]; those of one
//! setting only have a file each. Shapes and bounds of what users send are checked by the server; here remain the rules that
//! depend on the stored values.

mod analytics;
mod attribute_list;
mod attribute_pattern;
mod available;
mod bm25;
mod boost;
mod change;
mod choices;
mod completions;
mod embedder;
mod embedders;
mod faceting;
mod filterable;
mod foreign_key;
mod list;
mod localized;
mod opaque;
mod pagination;
mod patch;
mod ranking_rule;
mod resolved;
mod stop_words;
#[cfg(test)]
pub(super) mod tests;
mod typo_tolerance;
mod value;
mod word_boundaries;
mod word_forms;

use thiserror::Error;

pub use analytics::{Analytics, AnalyticsPatch};
pub use attribute_list::lineage;
pub use attribute_list::{AttributeList, covers};
pub use attribute_pattern::AttributePattern;
pub use available::AvailableAttributes;
pub use bm25::{Bm25, Bm25Patch};
pub use boost::{
    BOOSTS_MAX, Boost, BoostFunction, BoostRule, Decay, DecayFunction, FieldBoost, FilterBoost, InvalidBoost, Origin,
    decay_functions, functions,
};
pub use change::SettingsChange;
pub use choices::{MatchingStrategy, PrefixSearch, ProximityPrecision};
pub use completions::{Completions, CompletionsPatch};
pub use embedder::{
    DEFAULT_TEMPLATE, DEFAULT_TEMPLATE_BYTES_MAX, DIMENSIONS_MAX, Distribution, EmbedderSettings, FRAGMENTS_MAX,
    INDEXING_FRAGMENTS, SEARCH_FRAGMENTS, STATIC_TEMPLATE_BYTES_MAX, fragments_of,
};
pub use embedders::Embedders;
pub use faceting::{FacetOrder, Faceting, FacetingPatch};
pub use filterable::is_listed_by_name;
use filterable::uses_values;
pub use filterable::{
    FilterOperators, FilterableAttribute, FilterableFeatures, FilterablePatterns, filterable_features,
};
pub use foreign_key::ForeignKey;
pub use list::STORED_VERSION;
pub use list::{SettingId, Settings, SettingsPatch};
pub use localized::{LocalizedAttributes, locales_of};
pub use opaque::Opaque;
pub use pagination::{Pagination, PaginationPatch};
pub use patch::Setting;
pub use ranking_rule::{RankingRule, UnknownRankingRule};
pub use resolved::KnownForms;
pub use resolved::{ALTERNATIVES_MAX, ResolvedSettings};
pub use stop_words::StopWords;
pub use typo_tolerance::{MinWordSizeForTypos, MinWordSizeForTyposPatch, TypoTolerance, TypoTolerancePatch};
pub use value::{Effect, Entry, SettingValue};
pub use word_forms::{WordForms, WordFormsPatch};

/// Time after which a search answers with the best so far when the index sets no other, in milliseconds.
pub const DEFAULT_SEARCH_CUTOFF_MS: u64 = 1500;

/// The field that holds a document's position.
pub const GEO_FIELD: &str = "_geo";
/// The field that holds a document's shapes.
pub const GEOJSON_FIELD: &str = "_geojson";
/// The field that holds a document's own vectors.
pub const VECTORS_FIELD: &str = "_vectors";

/// A patch that contradicts the stored settings.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    #[error("a word accepts two typos from {two_typos} characters but one typo only from {one_typo}")]
    TypoSizesInverted { one_typo: u8, two_typos: u8 },
}

impl Settings {
    /// Returns the operations that filters may use on `field`, or `None` if it is not filterable.
    pub fn filterable(&self, field: &str) -> Option<FilterableFeatures> {
        filterable_features(&self.filterable_attributes, field)
    }

    /// Reports whether templates see the top-level `field` as searchable.
    pub fn is_searchable_to_templates(&self, field: &str) -> bool {
        !covers(VECTORS_FIELD, field) && self.searchable_attributes.selects(field)
    }

    /// Reports whether requests may sort by `field` (dotted path), because it or an ancestor is listed.
    pub fn is_sortable(&self, field: &str) -> bool {
        lineage(field).any(|name| self.sortable_attributes.contains(name))
    }

    /// Reports whether positions are read from documents. Malformed ones are an error then.
    pub fn uses_geo(&self) -> bool {
        is_listed_by_name(&self.filterable_attributes, GEO_FIELD)
            || self.sortable_attributes.contains(GEO_FIELD)
            || self.boosts().any(|rule| rule.field() == Some(GEO_FIELD))
    }

    /// The boosts among the ranking rules.
    pub fn boosts(&self) -> impl Iterator<Item = &BoostRule> {
        self.ranking_rules.iter().filter_map(RankingRule::boost)
    }

    /// Reports whether shapes are read from documents. Malformed ones are an error then.
    pub(crate) fn uses_shapes(&self) -> bool {
        is_listed_by_name(&self.filterable_attributes, GEOJSON_FIELD)
    }

    /// Reports whether segments have a column of `field`. They do if it is filterable or open to facet search,
    /// sortable, the distinct attribute (or one of its children), the expiry attribute, or the field of a custom
    /// ranking rule.
    pub fn needs_column(&self, field: &str) -> bool {
        !is_reserved(field)
            && (uses_values(&self.filterable_attributes, field)
                || self.is_sortable(field)
                || self.distinct_attribute.as_deref().is_some_and(|distinct| covers(distinct, field))
                || self.expiry_attribute.as_deref() == Some(field)
                || self.ranking_rules.iter().filter_map(RankingRule::field).any(|name| covers(name, field)))
    }
}

/// Reports whether `field` is reserved (`_geo`, `_geojson`, `_vectors`), so that it has no column.
pub fn is_reserved(field: &str) -> bool {
    covers(GEO_FIELD, field) || !has_text(field)
}

/// Reports whether the words of `field` can be searched at all, whatever the searchable attributes are.
pub fn has_text(field: &str) -> bool {
    !covers(VECTORS_FIELD, field) && !covers(GEOJSON_FIELD, field)
}
