//! The settings of the protocol: one for each of the engine's, in its order. A row is all that the protocol has of a plain
//! setting; [`super`] has modules for those that need more.

use lamina_base::error::{ApiError, Code};
use lamina_base::options::Feature;
use lamina_engine::index::settings::{GEO_FIELD, SettingId};
use serde_json::{Value, json};

use super::figures::{any, field, is_listed, is_set, total, value};
use super::kind::{Presence, SettingKind, plain};
use super::shape::Shape::{Before, Choice, Count, Fields, Flag, Integer, List, Map, Number, Record, Text};
use super::shape::words;
use super::{bounds, chat, embedders, parts, ranking_rules, rerankers};
use crate::wire::search::MATCHING_STRATEGIES;

/// The words of `matchingStrategy`, as in searches.
const MATCHING_STRATEGY_NAMES: [&str; MATCHING_STRATEGIES.len()] = words(&MATCHING_STRATEGIES);

/// All settings, in the order of [`SettingId::ALL`].
const SETTINGS: &[SettingKind; SettingId::ALL.len()] = &[
    SettingKind {
        in_task: all_for_a_reset,
        ..plain(
            SettingId::DisplayedAttributes,
            ["displayedAttributes", "displayed-attributes"],
            Code::InvalidSettingsDisplayedAttributes,
            List(&Text, bounds::ATTRIBUTES_AND_PATTERNS),
            &[
                ("displayed_attributes.total", total),
                ("displayed_attributes.with_wildcard", |names| any(names, |name| name == "*")),
            ],
            ["attributes that hits show; `[\"*\"]` means all", "array of strings", r#"["title", "year"]"#],
        )
    },
    SettingKind {
        in_task: all_for_a_reset,
        ..plain(
            SettingId::SearchableAttributes,
            ["searchableAttributes", "searchable-attributes"],
            Code::InvalidSettingsSearchableAttributes,
            List(&Text, bounds::ATTRIBUTES_AND_PATTERNS),
            &[
                ("searchable_attributes.total", total),
                ("searchable_attributes.with_wildcard", |names| any(names, |name| name == "*")),
            ],
            [
                "attributes that are searched, the most important first; `[\"*\"]` means all, with equal weight",
                "array of strings",
                r#"["title", "overview"]"#,
            ],
        )
    },
    plain(
        SettingId::FilterableAttributes,
        ["filterableAttributes", "filterable-attributes"],
        Code::InvalidSettingsFilterableAttributes,
        List(&parts::FILTERABLE, bounds::ATTRIBUTES_AND_PATTERNS),
        &[
            ("filterable_attributes.total", total),
            ("filterable_attributes.has_geo", |entries| any(entries, |entry| entry == GEO_FIELD)),
            ("filterable_attributes.has_patterns", |entries| any(entries, Value::is_object)),
        ],
        [
            "attributes that filters and facets may use; `_geo` and `_geojson` for places. The first entry \
             that matches an attribute applies",
            "array of strings, and of objects: `attributePatterns`, `features` (`facetSearch`, `filter`: `equality`, \
             `comparison`)",
            r#"["genre", {"attributePatterns": ["*_id"], "features": {"filter": {"comparison": true}}}]"#,
        ],
    ),
    plain(
        SettingId::SortableAttributes,
        ["sortableAttributes", "sortable-attributes"],
        Code::InvalidSettingsSortableAttributes,
        List(&Text, bounds::ATTRIBUTES_AND_PATTERNS),
        &[
            ("sortable_attributes.total", total),
            ("sortable_attributes.has_geo", |names| any(names, |name| name == GEO_FIELD)),
        ],
        ["attributes that requests may sort by; `_geo` for distances", "array of strings", r#"["year", "_geo"]"#],
    ),
    ranking_rules::RANKING_RULES,
    plain(
        SettingId::StopWords,
        ["stopWords", "stop-words"],
        Code::InvalidSettingsStopWords,
        List(&Text, bounds::WORDS),
        &[("stop_words.total", total)],
        ["words that queries ignore", "array of strings", r#"["the", "of"]"#],
    ),
    plain(
        SettingId::NonSeparatorTokens,
        ["nonSeparatorTokens", "non-separator-tokens"],
        Code::InvalidSettingsNonSeparatorTokens,
        List(&Text, bounds::DICTIONARY_WORDS),
        &[("non_separator_tokens.total", total)],
        ["separators that count as part of words", "array of strings", r##"["+", "#"]"##],
    ),
    plain(
        SettingId::SeparatorTokens,
        ["separatorTokens", "separator-tokens"],
        Code::InvalidSettingsSeparatorTokens,
        List(&Text, bounds::DICTIONARY_WORDS),
        &[("separator_tokens.total", total)],
        ["additional texts that separate words", "array of strings", r#"["&hellip;", "<br/>"]"#],
    ),
    plain(
        SettingId::Dictionary,
        ["dictionary", "dictionary"],
        Code::InvalidSettingsDictionary,
        List(&Text, bounds::DICTIONARY_WORDS),
        &[("dictionary.total", total)],
        ["texts that are indexed as one word", "array of strings", r#"["J. R. R.", "W. E. B."]"#],
    ),
    SettingKind {
        bounds: bounds::check_alternatives,
        ..plain(
            SettingId::Synonyms,
            ["synonyms", "synonyms"],
            Code::InvalidSettingsSynonyms,
            Map(&List(&Text, &[]), bounds::SYNONYMS),
            &[("synonyms.total", total)],
            [
                "for a word or phrase, other words and phrases that it also finds",
                "object of arrays of strings",
                r#"{"film": ["movie", "motion picture"]}"#,
            ],
        )
    },
    plain(
        SettingId::DistinctAttribute,
        ["distinctAttribute", "distinct-attribute"],
        Code::InvalidSettingsDistinctAttribute,
        Text,
        &[("distinct_attribute.set", is_set)],
        ["of documents with the same value of this attribute, only the best is a hit", "string", r#""sku""#],
    ),
    plain(
        SettingId::ProximityPrecision,
        ["proximityPrecision", "proximity-precision"],
        Code::InvalidSettingsProximityPrecision,
        Choice(&["byWord", "byAttribute"]),
        &[("proximity_precision.set", is_set), ("proximity_precision.value", value)],
        [
            "whether `proximity` counts the words in between, or only checks for the same attribute",
            "`byWord` or `byAttribute`",
            r#""byAttribute""#,
        ],
    ),
    plain(
        SettingId::TypoTolerance,
        ["typoTolerance", "typo-tolerance"],
        Code::InvalidSettingsTypoTolerance,
        Fields(&[
            ("enabled", Flag),
            ("minWordSizeForTypos", parts::TYPO_SIZES),
            ("disableOnWords", List(&Text, bounds::WORDS)),
            ("disableOnAttributes", List(&Text, bounds::ATTRIBUTES)),
            ("disableOnNumbers", Flag),
        ]),
        &[
            ("typo_tolerance.enabled", |typos| field(typos, "/enabled")),
            ("typo_tolerance.disable_on_attributes", |typos| is_listed(typos, "disableOnAttributes")),
            ("typo_tolerance.disable_on_words", |typos| is_listed(typos, "disableOnWords")),
            ("typo_tolerance.min_word_size_for_typos.one_typo", |typos| field(typos, "/minWordSizeForTypos/oneTypo")),
            ("typo_tolerance.min_word_size_for_typos.two_typos", |typos| field(typos, "/minWordSizeForTypos/twoTypos")),
        ],
        [
            "when and where typos are tolerated",
            "object: `enabled`, `minWordSizeForTypos` (`oneTypo`, `twoTypos`: 0 to 255), `disableOnWords`, \
             `disableOnAttributes`, `disableOnNumbers`",
            r#"{"minWordSizeForTypos": {"oneTypo": 4}, "disableOnAttributes": ["sku"]}"#,
        ],
    ),
    plain(
        SettingId::Faceting,
        ["faceting", "faceting"],
        Code::InvalidSettingsFaceting,
        Fields(&[
            ("maxValuesPerFacet", Count),
            ("sortFacetValuesBy", Map(&Choice(&["alpha", "count"]), bounds::ATTRIBUTE_KEYS)),
        ]),
        &[
            ("faceting.max_values_per_facet", |faceting| field(faceting, "/maxValuesPerFacet")),
            ("faceting.sort_facet_values_by_star_count", |faceting| match &faceting["sortFacetValuesBy"] {
                Value::Object(orders) => value(&json!(orders.get("*").is_some_and(|order| order == "count"))),
                _ => Vec::new(),
            }),
            ("faceting.sort_facet_values_by_total", |faceting| match &faceting["sortFacetValuesBy"] {
                Value::Object(orders) => value(&json!(orders.len())),
                _ => Vec::new(),
            }),
        ],
        [
            "how many values of a facet are listed, and their order for each attribute, `*` for the others",
            "object: `maxValuesPerFacet`, `sortFacetValuesBy` (`alpha` or `count`)",
            r#"{"sortFacetValuesBy": {"genre": "count"}}"#,
        ],
    ),
    plain(
        SettingId::Pagination,
        ["pagination", "pagination"],
        Code::InvalidSettingsPagination,
        Fields(&[("maxTotalHits", parts::HITS)]),
        &[("pagination.max_total_hits", |pagination| value(&pagination["maxTotalHits"]))],
        [
            "the number of hits that paging can reach",
            "object: `maxTotalHits`, an integer from 1",
            r#"{"maxTotalHits": 5000}"#,
        ],
    ),
    embedders::EMBEDDERS,
    plain(
        SettingId::SearchCutoffMs,
        ["searchCutoffMs", "search-cutoff-ms"],
        Code::InvalidSettingsSearchCutoffMs,
        Count,
        &[],
        ["milliseconds after which a search returns the best hits so far; `null` means 1500", "integer from 0", "200"],
    ),
    plain(
        SettingId::LocalizedAttributes,
        ["localizedAttributes", "localized-attributes"],
        Code::InvalidSettingsLocalizedAttributes,
        List(
            &Record(&[("attributePatterns", true, List(&Text, &[])), ("locales", true, List(&parts::LOCALE, &[]))]),
            bounds::PATTERNS_AND_LOCALES,
        ),
        &[],
        [
            "languages of attributes; the first rule that matches applies. Without one, the language is detected",
            "array of objects: `attributePatterns`, `locales`",
            r#"[{"attributePatterns": ["*_ja"], "locales": ["jpn"]}]"#,
        ],
    ),
    plain(
        SettingId::FacetSearch,
        ["facetSearch", "facet-search"],
        Code::InvalidSettingsFacetSearch,
        Flag,
        &[("facet_search.set", is_set), ("facet_search.value", value)],
        ["whether facet values can be searched", "boolean", "false"],
    ),
    plain(
        SettingId::PrefixSearch,
        ["prefixSearch", "prefix-search"],
        Code::InvalidSettingsPrefixSearch,
        Choice(&["indexingTime", "disabled"]),
        &[("prefix_search.set", is_set), ("prefix_search.value", value)],
        ["whether the last word of a query matches as a prefix", "`indexingTime` or `disabled`", r#""disabled""#],
    ),
    plain(
        SettingId::MatchingStrategy,
        ["matchingStrategy", "matching-strategy"],
        Code::InvalidSettingsMatchingStrategy,
        Choice(&MATCHING_STRATEGY_NAMES),
        &[],
        [
            "which words a hit may lack, unless the search sets it; `null` means `last`",
            "`last`, `all`, `frequency` or `any`",
            r#""any""#,
        ],
    )
    .when_set(),
    SettingKind {
        presence: Presence::WithFeature(Feature::ForeignKeys),
        check_features: |value, is_on| {
            if is_on(Feature::ForeignKeys) || value.is_null() {
                return Ok(());
            }
            Err(ApiError::feature_not_enabled("setting `foreignKeys` in the index settings", "foreign_keys"))
        },
        ..plain(
            SettingId::ForeignKeys,
            ["foreignKeys", "foreign-keys"],
            Code::InvalidSettingsForeignKeys,
            List(
                &Record(&[("foreignIndexUid", true, parts::INDEX_UID), ("fieldName", true, Text)]),
                bounds::FOREIGN_KEYS,
            ),
            &[],
            [
                "fields that hold ids of documents in other indexes; needs the experimental feature `foreignKeys`",
                "array of objects: `foreignIndexUid`, `fieldName`",
                r#"[{"foreignIndexUid": "authors", "fieldName": "author"}]"#,
            ],
        )
    },
    plain(
        SettingId::ExpiryAttribute,
        ["expiryAttribute", "expiry-attribute"],
        Code::InvalidSettingsExpiryAttribute,
        Text,
        &[],
        ["attribute with the expiry time of a document: a date, or seconds since 1970", "string", r#""expiresAt""#],
    )
    .when_set(),
    plain(
        SettingId::WordForms,
        ["wordForms", "word-forms"],
        Code::InvalidSettingsWordForms,
        Fields(&[
            ("enabled", Flag),
            ("languages", List(&parts::LANGUAGE_WITH_FORMS, &[])),
            ("disableOnAttributes", List(&Text, bounds::ATTRIBUTES)),
            ("exceptions", List(&parts::WORD, bounds::WORDS)),
            ("dictionary", Before(parts::keys_are_words, &Map(&List(&parts::WORD, &[]), bounds::WORDS_WITH_FORMS))),
            ("inPhrases", Flag),
        ]),
        &[],
        [
            "whether and where other forms of a word match, such as plurals; `null` means with `any` only, in \
             the language of the query or of the texts",
            "object: `enabled`, `languages`, `disableOnAttributes`, `exceptions`, `dictionary` (by word its other \
             forms), `inPhrases`",
            r#"{"enabled": true, "languages": ["eng"], "dictionary": {"mouse": ["mice"]}}"#,
        ],
    )
    .when_set(),
    plain(
        SettingId::Bm25,
        ["bm25", "bm25"],
        Code::InvalidSettingsBm25,
        // With more `k1`, occurrences are as good as counted.
        Fields(&[("k1", Number(0.0, 1000.0)), ("b", Number(0.0, 1.0))]),
        &[],
        [
            "the score of `any`: how long further occurrences of a word add to it (`k1`, 1.2), and how much \
             less long attributes count (`b`, 0.75)",
            "object: `k1` (0 to 1000), `b` (0 to 1)",
            r#"{"k1": 0.9, "b": 0.4}"#,
        ],
    )
    .when_set(),
    plain(
        SettingId::SearchableAttributesWeights,
        ["searchableAttributesWeights", "searchable-attributes-weights"],
        Code::InvalidSettingsSearchableAttributesWeights,
        // What counts less may as well not be searched.
        Map(&Number(0.001, 1000.0), bounds::ATTRIBUTE_KEYS),
        &[],
        [
            "the score of `any`: how much a word in an attribute counts. The default is 1 + 1 / (1 + its place \
             in `searchableAttributes`), or 1 if these have no order",
            "object of numbers, 0.001 to 1000",
            r#"{"title": 3, "authors": 0.5}"#,
        ],
    )
    .when_set(),
    rerankers::RERANKERS,
    plain(
        SettingId::Completions,
        ["completions", "completions"],
        Code::InvalidSettingsCompletions,
        Fields(&[("fromQueries", Flag), ("minCount", Integer(1, 1_000_000))]),
        &[],
        [
            "whether earlier queries are suggested as completions (`fromQueries`, false), and how often they \
             must have been sent (`minCount`, 3), see [search as you type](../how-to/autocomplete.md)",
            "object: `fromQueries`, `minCount` (1 to 1,000,000)",
            r#"{"fromQueries": true, "minCount": 10}"#,
        ],
    )
    .when_set(),
    plain(
        SettingId::Analytics,
        ["analytics", "analytics"],
        Code::InvalidSettingsAnalytics,
        Fields(&[("searches", Flag), ("retentionDays", Integer(1, 3650))]),
        &[],
        [
            "whether searches are recorded (`searches`, false), and after how many days they and the events of the index \
             expire (`retentionDays`, 90), see [analytics](../how-to/analytics.md)",
            "object: `searches`, `retentionDays` (1 to 3650)",
            r#"{"searches": true, "retentionDays": 30}"#,
        ],
    )
    .when_set(),
    chat::CHAT,
];

/// A row for each setting of the engine, in its order.
const _: () = {
    let mut place = 0;
    while place < SETTINGS.len() {
        assert!(SETTINGS[place].id as usize == place, "the order of the settings is that of the engine");
        place += 1;
    }
};

/// The reset of a list of attributes is shown as what it means.
fn all_for_a_reset(change: Value) -> Value {
    if change.is_null() { json!(["*"]) } else { change }
}

impl SettingKind {
    /// All settings, whatever features are on, in the order of the settings object.
    pub fn all() -> impl Iterator<Item = &'static SettingKind> {
        SETTINGS.iter()
    }

    /// The setting whose own route ends with `route`.
    pub fn by_route(route: &str) -> Option<&'static SettingKind> {
        SettingKind::all().find(|setting| setting.route == route)
    }
}
