//! The list of settings. A line of it and the [`Definition`] that the line names are all that the engine has of a setting.

use std::fmt;

use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SettingsError;
use super::attribute_list::{DisplayedAttributes, SearchableAttributes};
use super::bm25::{Bm25, SearchableAttributesWeights};
use super::chat::Chat;
use super::completions::Completions;
use super::definition::{Definition, Effect};
use super::distinct::DistinctAttribute;
use super::embedders::Embedders;
use super::expiry::ExpiryAttribute;
use super::facet_search::FacetSearch;
use super::faceting::Faceting;
use super::filterable::FilterableAttributes;
use super::foreign_key::ForeignKeys;
use super::localized::LocalizedAttributes;
use super::matching_strategy::MatchingStrategy;
use super::pagination::Pagination;
use super::patch::Setting;
use super::prefix_search::PrefixSearch;
use super::proximity_precision::ProximityPrecision;
use super::ranking_rule::RankingRules;
use super::rerankers::Rerankers;
use super::search_cutoff::SearchCutoffMs;
use super::sortable::SortableAttributes;
use super::stop_words::StopWords;
use super::synonyms::Synonyms;
use super::typo_tolerance::TypoTolerance;
use super::word_boundaries::{Dictionary, NonSeparatorTokens, SeparatorTokens};
use super::word_forms::WordForms;

/// Makes the types that hold all settings: `field: Definition` for each, in the order in which they are stored and shown.
macro_rules! settings {
    ($($(#[$doc:meta])* $field:ident: $definition:ident,)+) => {
        /// Every setting of an index, resolved. Serialises in the stored form, see [`STORED_VERSION`].
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[$doc])* pub $field: <$definition as Definition>::Value,)+
        }

        /// A change of [`Settings`]. Serialises in the stored form: what is left alone is absent, what is reset is `null`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct SettingsPatch {
            $($(#[$doc])* pub $field: Setting<<$definition as Definition>::Patch>,)+
        }

        /// A setting as a value: what tables of settings are keyed by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SettingId {
            $($(#[$doc])* $definition,)+
        }

        impl SettingId {
            /// All settings, in order.
            pub const ALL: &[SettingId] = &[$(SettingId::$definition),+];
            const NAMES: &[&str] = &[$($definition::NAME),+];

            /// Returns the key in manifests and in the queue.
            pub(crate) fn stored_name(self) -> &'static str {
                SettingId::NAMES[self as usize]
            }

            /// Returns the effect of a change of the setting on existing segments.
            pub fn effect(self) -> Effect {
                match self {
                    $(SettingId::$definition => $definition::EFFECT,)+
                }
            }

            fn stored_as(name: &str) -> Option<SettingId> {
                SettingId::ALL.iter().copied().find(|setting| setting.stored_name() == name)
            }
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($field: $definition::default_value(),)+ }
            }
        }

        impl Settings {
            /// Returns these settings with `patch` applied: absent keys stay, `null` resets, objects merge field by field.
            ///
            /// # Errors
            /// When the merged values contradict each other; nothing is changed then.
            pub fn patched(&self, patch: &SettingsPatch) -> Result<Settings, SettingsError> {
                Ok(Settings { $($field: $definition::merged(&self.$field, &patch.$field)?,)+ })
            }

            /// The settings whose effect the change to `new` has.
            pub fn changed<'s>(&'s self, new: &'s Settings) -> impl Iterator<Item = SettingId> + 's {
                SettingId::ALL.iter().copied().filter(|setting| match setting {
                    $(SettingId::$definition => $definition::differs(&self.$field, &new.$field),)+
                })
            }
        }

        impl SettingsPatch {
            /// A patch that brings every setting back to its default.
            pub fn reset_all() -> SettingsPatch {
                SettingsPatch { $($field: Setting::Reset,)+ }
            }
        }

        impl Serialize for Settings {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(SettingId::ALL.len()))?;
                $(map.serialize_entry($definition::NAME, &self.$field)?;)+
                map.end()
            }
        }

        impl Serialize for SettingsPatch {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(None)?;
                $(if !self.$field.is_unset() {
                    map.serialize_entry($definition::NAME, &self.$field)?;
                })+
                map.end()
            }
        }

        impl<'de> Visitor<'de> for StoredSettings {
            type Value = Settings;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("settings by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
                let mut settings = Settings::default();
                while let Some(name) = map.next_key::<String>()? {
                    match SettingId::stored_as(&name) {
                        $(Some(SettingId::$definition) => settings.$field = map.next_value()?,)+
                        // Of a later version of the program that stores nothing differently.
                        None => drop(map.next_value::<IgnoredAny>()?),
                    }
                }
                Ok(settings)
            }
        }

        impl<'de> Visitor<'de> for StoredPatch {
            type Value = SettingsPatch;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("changes of settings by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SettingsPatch, A::Error> {
                let mut patch = SettingsPatch::default();
                while let Some(name) = map.next_key::<String>()? {
                    match SettingId::stored_as(&name) {
                        $(Some(SettingId::$definition) => patch.$field = map.next_value()?,)+
                        // Nothing of what was accepted may get lost.
                        None => return Err(A::Error::unknown_field(&name, SettingId::NAMES)),
                    }
                }
                Ok(patch)
            }
        }
    };
}

settings! {
    /// The fields that hits show.
    displayed_attributes: DisplayedAttributes,
    /// The fields whose words are searched, the most important first.
    searchable_attributes: SearchableAttributes,
    /// The fields that filters and facets may use.
    filterable_attributes: FilterableAttributes,
    /// The fields that requests may sort by.
    sortable_attributes: SortableAttributes,
    /// The order of hits.
    ranking_rules: RankingRules,
    /// Words that queries leave out. Case- and accent-sensitive: only decomposed.
    stop_words: StopWords,
    /// Separators that are part of words.
    non_separator_tokens: NonSeparatorTokens,
    /// Texts that separate words.
    separator_tokens: SeparatorTokens,
    /// Texts that are one word.
    dictionary: Dictionary,
    /// By word or phrase, what else to look for.
    synonyms: Synonyms,
    /// The field of whose equal values the best hit alone is shown.
    distinct_attribute: DistinctAttribute,
    /// Precision of the `proximity` rule.
    proximity_precision: ProximityPrecision,
    /// Conditions under which a query word may differ from a document word.
    typo_tolerance: TypoTolerance,
    /// Listing of facet values.
    faceting: Faceting,
    /// Bounds of paging.
    pagination: Pagination,
    /// By name, what makes vectors of texts: a configuration as it was sent, merged field by field.
    embedders: Embedders,
    /// Time of a search in milliseconds; `None`: [`DEFAULT_SEARCH_CUTOFF_MS`](super::DEFAULT_SEARCH_CUTOFF_MS).
    search_cutoff_ms: SearchCutoffMs,
    /// The languages of fields.
    localized_attributes: LocalizedAttributes,
    /// True if the values of facets may be searched.
    facet_search: FacetSearch,
    /// Prefix matching of the last word of a query.
    prefix_search: PrefixSearch,
    /// Choice of words that a hit may lack, for searches that do not specify it.
    matching_strategy: MatchingStrategy,
    /// Fields that hold ids of documents of other indexes.
    foreign_keys: ForeignKeys,
    /// The field that says when a document expires.
    expiry_attribute: ExpiryAttribute,
    /// Use of other forms of a word, and the attributes in which they do not count.
    word_forms: WordForms,
    /// The constants of the score of questions.
    bm25: Bm25,
    /// Weights of attributes in the scores of questions.
    searchable_attributes_weights: SearchableAttributesWeights,
    /// By name, what puts the first hits of a search into another order: a configuration as it was sent, merged field by field.
    rerankers: Rerankers,
    /// Sources of completions of queries besides the words of the index.
    completions: Completions,
    /// Description of the index for the model of a conversation, and the parameters of its searches, as they were sent.
    chat: Chat,
}

/// Version of the form in which [`Settings`] and [`SettingsPatch`] are stored: an object with a key for each setting, its
/// [`Definition::NAME`]. What is missing has its default. Names and values stay as they are when the protocol's change.
///
/// A version that reads earlier ones differently converts them in `manifest.rs`; one that only adds settings stays.
pub const STORED_VERSION: u32 = 1;

struct StoredSettings;

struct StoredPatch;

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Settings, D::Error> {
        deserializer.deserialize_map(StoredSettings)
    }
}

impl<'de> Deserialize<'de> for SettingsPatch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SettingsPatch, D::Error> {
        deserializer.deserialize_map(StoredPatch)
    }
}
