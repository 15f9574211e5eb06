//! The settings of the protocol: one for each of the engine's, in its order.

use lamina_engine::index::settings::SettingId;

use super::kind::SettingKind;
use super::{
    attributes, bm25, chat, completions, distinct, embedders, expiry, faceting, filterable, foreign_keys, localized,
    pagination, ranking_rules, rerankers, searching, synonyms, typo_tolerance, word_forms, words,
};

/// Returns the description of a setting in the protocol.
fn kind_of(setting: SettingId) -> &'static SettingKind {
    match setting {
        SettingId::DisplayedAttributes => &attributes::DISPLAYED,
        SettingId::SearchableAttributes => &attributes::SEARCHABLE,
        SettingId::FilterableAttributes => &filterable::FILTERABLE,
        SettingId::SortableAttributes => &attributes::SORTABLE,
        SettingId::RankingRules => &ranking_rules::RANKING_RULES,
        SettingId::StopWords => &words::STOP_WORDS,
        SettingId::NonSeparatorTokens => &words::NON_SEPARATOR_TOKENS,
        SettingId::SeparatorTokens => &words::SEPARATOR_TOKENS,
        SettingId::Dictionary => &words::DICTIONARY,
        SettingId::Synonyms => &synonyms::SYNONYMS,
        SettingId::DistinctAttribute => &distinct::DISTINCT_ATTRIBUTE,
        SettingId::ProximityPrecision => &searching::PROXIMITY_PRECISION,
        SettingId::TypoTolerance => &typo_tolerance::TYPO_TOLERANCE,
        SettingId::Faceting => &faceting::FACETING,
        SettingId::Pagination => &pagination::PAGINATION,
        SettingId::Embedders => &embedders::EMBEDDERS,
        SettingId::SearchCutoffMs => &searching::SEARCH_CUTOFF_MS,
        SettingId::LocalizedAttributes => &localized::LOCALIZED_ATTRIBUTES,
        SettingId::FacetSearch => &searching::FACET_SEARCH,
        SettingId::PrefixSearch => &searching::PREFIX_SEARCH,
        SettingId::MatchingStrategy => &searching::MATCHING_STRATEGY,
        SettingId::ExpiryAttribute => &expiry::EXPIRY_ATTRIBUTE,
        SettingId::ForeignKeys => &foreign_keys::FOREIGN_KEYS,
        SettingId::WordForms => &word_forms::WORD_FORMS,
        SettingId::Bm25 => &bm25::BM25,
        SettingId::SearchableAttributesWeights => &bm25::WEIGHTS,
        SettingId::Rerankers => &rerankers::RERANKERS,
        SettingId::Completions => &completions::COMPLETIONS,
        SettingId::Chat => &chat::CHAT,
    }
}

impl SettingKind {
    /// All settings, whatever features are on, in the order of the settings object.
    pub fn all() -> impl Iterator<Item = &'static SettingKind> {
        SettingId::ALL.iter().map(|setting| kind_of(*setting))
    }

    /// The setting whose own route ends with `route`.
    pub fn by_route(route: &str) -> Option<&'static SettingKind> {
        SettingKind::all().find(|setting| setting.route == route)
    }
}
