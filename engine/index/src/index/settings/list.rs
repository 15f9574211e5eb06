//! The list of settings. A row of it is all that the engine declares of a setting, beside a type of its value where no common
//! one does.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::SettingsError;
use super::analytics::Analytics;
use super::attribute_list::AttributeList;
use super::bm25::Bm25;
use super::choices::{MatchingStrategy, PrefixSearch, ProximityPrecision};
use super::completions::Completions;
use super::embedders::Embedders;
use super::faceting::Faceting;
use super::filterable::FilterableAttribute;
use super::foreign_key::ForeignKey;
use super::localized::LocalizedAttributes;
use super::opaque::Opaque;
use super::pagination::Pagination;
use super::patch::Setting;
use super::ranking_rule::RankingRule;
use super::stop_words::StopWords;
use super::typo_tolerance::TypoTolerance;
use super::value::{Effect, SettingValue};
use super::word_forms::WordForms;

/// Makes the types that hold all settings, from a row for each, in the order in which they are stored and shown:
/// `Id = "stored name", effect of a change, field: type = default;`
macro_rules! settings {
    ($($(#[$doc:meta])* $id:ident = $name:literal, $effect:ident, $field:ident: $value:ty = $default:expr;)+) => {
        /// Every setting of an index, resolved. Serialises in the stored form, see [`STORED_VERSION`].
        #[derive(Clone, Debug, PartialEq)]
        pub struct Settings {
            $($(#[$doc])* pub $field: $value,)+
        }

        /// A change of [`Settings`]. Serialises in the stored form: what is left alone is absent, what is reset is `null`.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct SettingsPatch {
            $($(#[$doc])* pub $field: Setting<<$value as SettingValue>::Change>,)+
        }

        /// A setting as a value: what tables of settings are keyed by.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum SettingId {
            $($(#[$doc])* $id,)+
        }

        impl SettingId {
            /// All settings, in order.
            pub const ALL: &[SettingId] = &[$(SettingId::$id),+];
            const NAMES: &[&str] = &[$($name),+];

            /// Returns the key in manifests and in the queue. It stays, whatever protocols call the setting.
            pub(crate) fn stored_name(self) -> &'static str {
                SettingId::NAMES[self as usize]
            }

            /// Returns the effect of a change of the setting on existing segments.
            pub fn effect(self) -> Effect {
                match self {
                    $(SettingId::$id => Effect::$effect,)+
                }
            }

            fn stored_as(name: &str) -> Option<SettingId> {
                SettingId::ALL.iter().copied().find(|setting| setting.stored_name() == name)
            }
        }

        impl Default for Settings {
            fn default() -> Settings {
                Settings { $($field: $default,)+ }
            }
        }

        impl Settings {
            /// Returns these settings with `patch` applied: absent keys stay, `null` resets, objects merge field by field.
            ///
            /// # Errors
            /// When the merged values contradict each other; nothing is changed then.
            pub fn patched(&self, patch: &SettingsPatch) -> Result<Settings, SettingsError> {
                Ok(Settings { $($field: patch.$field.applied(&self.$field, $default)?,)+ })
            }

            /// The settings whose effect the change to `new` has.
            pub fn changed<'s>(&'s self, new: &'s Settings) -> impl Iterator<Item = SettingId> + 's {
                SettingId::ALL.iter().copied().filter(|setting| match setting {
                    $(SettingId::$id => SettingValue::differ(Some(&self.$field), Some(&new.$field)),)+
                })
            }

            fn read_stored<'de, A: MapAccess<'de>>(&mut self, setting: SettingId, map: &mut A) -> Result<(), A::Error> {
                match setting {
                    $(SettingId::$id => self.$field = map.next_value()?,)+
                }
                Ok(())
            }
        }

        impl SettingsPatch {
            /// A patch that brings every setting back to its default.
            pub fn reset_all() -> SettingsPatch {
                SettingsPatch { $($field: Setting::Reset,)+ }
            }

            /// Reports whether the patch leaves a setting alone.
            pub fn leaves(&self, setting: SettingId) -> bool {
                match setting {
                    $(SettingId::$id => self.$field.is_unset(),)+
                }
            }

            /// Reads the change of one setting from its stored form; null is a reset.
            ///
            /// # Errors
            /// Returns an error if it is not in that form.
            pub fn read_stored<'de, D: Deserializer<'de>>(&mut self, setting: SettingId, change: D) -> Result<(), D::Error> {
                match setting {
                    $(SettingId::$id => self.$field = Setting::deserialize(change)?,)+
                }
                Ok(())
            }
        }

        impl Serialize for StoredSetting<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.1 {
                    $(SettingId::$id => self.0.$field.serialize(serializer),)+
                }
            }
        }

        impl Serialize for StoredChange<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.1 {
                    $(SettingId::$id => self.0.$field.serialize(serializer),)+
                }
            }
        }
    };
}

settings! {
    /// The fields that hits show.
    DisplayedAttributes = "displayedAttributes", SearchOnly, displayed_attributes: AttributeList = AttributeList::All;
    /// The fields whose words are searched, the most important first.
    SearchableAttributes = "searchableAttributes", SearchableText, searchable_attributes: AttributeList = AttributeList::All;
    /// The fields that filters and facets may use.
    FilterableAttributes = "filterableAttributes", Columns, filterable_attributes: Vec<FilterableAttribute> = Vec::new();
    /// The fields that requests may sort by.
    SortableAttributes = "sortableAttributes", Columns, sortable_attributes: BTreeSet<String> = BTreeSet::new();
    /// The order of hits.
    RankingRules = "rankingRules", Columns, ranking_rules: Vec<RankingRule> = RankingRule::defaults();
    /// Words that queries leave out. Case- and accent-sensitive: only decomposed.
    StopWords = "stopWords", SearchOnly, stop_words: StopWords = StopWords::default();
    /// Separators that are part of words.
    NonSeparatorTokens = "nonSeparatorTokens", Text, non_separator_tokens: BTreeSet<String> = BTreeSet::new();
    /// Texts that separate words.
    SeparatorTokens = "separatorTokens", Text, separator_tokens: BTreeSet<String> = BTreeSet::new();
    /// Texts that are one word.
    Dictionary = "dictionary", Text, dictionary: BTreeSet<String> = BTreeSet::new();
    /// By word or phrase, what else to look for.
    Synonyms = "synonyms", SearchOnly, synonyms: BTreeMap<String, Vec<String>> = BTreeMap::new();
    /// The field of whose equal values the best hit alone is shown.
    DistinctAttribute = "distinctAttribute", Columns, distinct_attribute: Option<String> = None;
    /// Precision of the `proximity` rule.
    ProximityPrecision = "proximityPrecision", SearchOnly, proximity_precision: ProximityPrecision = ProximityPrecision::ByWord;
    /// Conditions under which a query word may differ from a document word.
    TypoTolerance = "typoTolerance", SearchOnly, typo_tolerance: TypoTolerance = TypoTolerance::default();
    /// Listing of facet values.
    Faceting = "faceting", SearchOnly, faceting: Faceting = Faceting::default();
    /// Bounds of paging.
    Pagination = "pagination", SearchOnly, pagination: Pagination = Pagination::default();
    /// By name, what makes vectors of texts: a configuration as it was sent, merged field by field.
    Embedders = "embedders", Vectors, embedders: Embedders = Embedders::default();
    /// Time of a search in milliseconds; `None`: [`DEFAULT_SEARCH_CUTOFF_MS`](super::DEFAULT_SEARCH_CUTOFF_MS).
    SearchCutoffMs = "searchCutoffMs", SearchOnly, search_cutoff_ms: Option<u64> = None;
    /// The languages of fields.
    LocalizedAttributes = "localizedAttributes", Text, localized_attributes: Option<Vec<LocalizedAttributes>> = None;
    /// True if the values of facets may be searched.
    FacetSearch = "facetSearch", SearchOnly, facet_search: bool = true;
    /// Prefix matching of the last word of a query.
    PrefixSearch = "prefixSearch", SearchOnly, prefix_search: PrefixSearch = PrefixSearch::IndexingTime;
    /// Choice of words that a hit may lack, for searches that do not specify it.
    MatchingStrategy = "matchingStrategy", SearchOnly, matching_strategy: Option<MatchingStrategy> = None;
    /// Fields that hold ids of documents of other indexes.
    ForeignKeys = "foreignKeys", SearchOnly, foreign_keys: Vec<ForeignKey> = Vec::new();
    /// The field that says when a document expires.
    ExpiryAttribute = "expiryAttribute", Columns, expiry_attribute: Option<String> = None;
    /// Use of other forms of a word, and the attributes in which they do not count.
    WordForms = "wordForms", SearchOnly, word_forms: WordForms = WordForms::default();
    /// The constants of the score of questions.
    Bm25 = "bm25", SearchOnly, bm25: Bm25 = Bm25::default();
    /// By attribute, which covers its nested children, how much a word counts in the score of questions; above 0.
    SearchableAttributesWeights = "searchableAttributesWeights", SearchOnly,
        searchable_attributes_weights: BTreeMap<String, f64> = BTreeMap::new();
    /// By name, what puts the first hits of a search into another order: configurations of the caller, merged field by field.
    Rerankers = "rerankers", SearchOnly, rerankers: Opaque<2> = Opaque::default();
    /// Sources of completions of queries besides the words of the index.
    Completions = "completions", SearchOnly, completions: Completions = Completions::default();
    /// Recording of searches.
    Analytics = "analytics", SearchOnly, analytics: Analytics = Analytics::default();
    /// Data of the caller for conversations about the index, merged at any depth.
    Chat = "chat", SearchOnly, chat: Opaque<{ usize::MAX }> = Opaque::default();
}

/// Version of the form in which [`Settings`] and [`SettingsPatch`] are stored: an object with a key for each setting, its
/// name in the list. What is missing has its default. Names and values stay as they are when the protocol's change.
///
/// A version that reads earlier ones differently converts them in `manifest.rs`; one that only adds settings stays.
pub const STORED_VERSION: u32 = 1;

/// One setting of these, in its stored form.
struct StoredSetting<'s>(&'s Settings, SettingId);

/// The change of one setting, in its stored form.
struct StoredChange<'p>(&'p SettingsPatch, SettingId);

impl Settings {
    /// Returns one setting in its stored form.
    pub fn stored(&self, setting: SettingId) -> impl Serialize + '_ {
        StoredSetting(self, setting)
    }
}

impl SettingsPatch {
    /// Returns the change of one setting in its stored form, null for a reset; `None` when the patch leaves the setting alone.
    pub fn stored(&self, setting: SettingId) -> Option<impl Serialize + '_> {
        (!self.leaves(setting)).then_some(StoredChange(self, setting))
    }
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(SettingId::ALL.iter().map(|setting| (setting.stored_name(), self.stored(*setting))))
    }
}

impl Serialize for SettingsPatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let changes = SettingId::ALL.iter().filter_map(|setting| Some((setting.stored_name(), self.stored(*setting)?)));
        serializer.collect_map(changes)
    }
}

struct StoredSettings;

struct StoredPatch;

impl<'de> Visitor<'de> for StoredSettings {
    type Value = Settings;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("settings by name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Settings, A::Error> {
        let mut settings = Settings::default();
        while let Some(name) = map.next_key::<String>()? {
            match SettingId::stored_as(&name) {
                Some(setting) => settings.read_stored(setting, &mut map)?,
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
            // Nothing of what was accepted may get lost.
            let setting =
                SettingId::stored_as(&name).ok_or_else(|| A::Error::unknown_field(&name, SettingId::NAMES))?;
            map.next_value_seed(OfSetting(&mut patch, setting))?;
        }
        Ok(patch)
    }
}

/// Reads the change of one setting into a patch.
struct OfSetting<'p>(&'p mut SettingsPatch, SettingId);

impl<'de> DeserializeSeed<'de> for OfSetting<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, change: D) -> Result<(), D::Error> {
        self.0.read_stored(self.1, change)
    }
}

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
