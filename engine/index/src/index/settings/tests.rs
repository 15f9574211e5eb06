use serde_json::Value;

use super::*;

fn patch(json: &str) -> SettingsPatch {
    serde_json::from_str(json).expect("test patch is valid")
}

fn patched(json: &str) -> Settings {
    Settings::default().patched(&patch(json)).expect("consistent settings")
}

/// The stored form of [`every_setting`]. It is normative for version 1, like `database-format.md`: programs read it for good.
const STORED: &str = r#"{
    "displayedAttributes": ["title", "year", "author.name"],
    "searchableAttributes": ["title", "overview"],
    "filterableAttributes": ["genre", "_geo", {
        "attributePatterns": ["cat_*", "*_id"],
        "features": {"facetSearch": true, "filter": {"equality": true, "comparison": true}}
    }],
    "sortableAttributes": ["_geo", "year"],
    "rankingRules": ["words", "sort", "typo", "attribute", "exactness", "year:desc"],
    "stopWords": ["The", "the"],
    "nonSeparatorTokens": ["+"],
    "separatorTokens": ["&sep"],
    "dictionary": ["J. R. R."],
    "synonyms": {"film": ["movie", "motion picture"], "maxValuesPerFacet": ["a"]},
    "distinctAttribute": "sku",
    "proximityPrecision": "byAttribute",
    "typoTolerance": {
        "enabled": false, "minWordSizeForTypos": {"oneTypo": 4, "twoTypos": 8}, "disableOnWords": ["ete"],
        "disableOnAttributes": ["sku"], "disableOnNumbers": true
    },
    "faceting": {"maxValuesPerFacet": 7, "sortFacetValuesBy": {"*": "alpha", "genre": "count"}},
    "pagination": {"maxTotalHits": 50},
    "embedders": {
        "own": {"source": "userProvided", "dimensions": 3, "binaryQuantized": true},
        "web": {
            "source": "rest", "url": "local:embed", "request": "{{text}}", "response": "{{embedding}}",
            "headers": {"X-Tenant": "t"}, "dimensions": 2, "documentTemplate": "{{doc.title}}",
            "documentTemplateMaxBytes": 100, "distribution": {"mean": 0.5, "sigma": 0.2}
        }
    },
    "searchCutoffMs": 70,
    "localizedAttributes": [{"attributePatterns": ["*_ja"], "locales": ["jpn"]}],
    "facetSearch": false,
    "prefixSearch": "disabled",
    "matchingStrategy": "frequency",
    "foreignKeys": [{"foreignIndexUid": "authors", "fieldName": "author"}],
    "expiryAttribute": "expiresAt",
    "wordForms": {
        "enabled": true, "languages": ["eng"], "disableOnAttributes": ["sku"], "exceptions": ["news"],
        "dictionary": {"mouse": ["mice"]}, "inPhrases": true
    },
    "bm25": {"k1": 0.5, "b": 0.25},
    "searchableAttributesWeights": {"title": 3.5},
    "rerankers": {"cross": {"url": "local:rerank", "apiKey": "k"}},
    "completions": {"fromQueries": true, "minCount": 7},
    "analytics": {"searches": true, "retentionDays": 30},
    "chat": {"description": "films", "searchParameters": {"limit": 5}}
}"#;

fn stored() -> Value {
    serde_json::from_str(STORED).expect("valid json")
}

/// Settings none of which has its default.
pub(in super::super) fn every_setting() -> Settings {
    patched(STORED)
}

#[test]
fn the_stored_form_is_that_of_version_1() {
    assert_eq!(STORED_VERSION, 1, "a new version needs a test of its own, beside this one");
    let written = serde_json::to_value(every_setting()).expect("serialises");
    assert_eq!(written.to_string(), stored().to_string(), "also in its order");
    assert_eq!(serde_json::from_value::<Settings>(stored()).expect("reads"), every_setting());
    let names: Vec<&str> = SettingId::ALL.iter().map(|setting| setting.stored_name()).collect();
    assert_eq!(written.as_object().expect("an object").keys().collect::<Vec<_>>(), names);
}

#[test]
fn what_is_not_stored_has_its_default() {
    let settings: Settings = serde_json::from_str(r#"{"stopWords":["a"],"ofALaterVersion":{"a":1}}"#).expect("reads");
    assert_eq!(settings, patched(r#"{"stopWords":["a"]}"#));
    assert!(serde_json::from_str::<Settings>(r#"{"stopWords":1}"#).is_err());
    let default = serde_json::to_value(Settings::default()).expect("serialises");
    for setting in SettingId::ALL {
        let name = setting.stored_name();
        assert_ne!(default[name], stored()[name], "{name}: give it another value in `STORED`");
    }
}

#[test]
fn settings_survive_a_round_trip() {
    let settings = patched(
        r#"{"filterableAttributes":["a",{"attributePatterns":["b*"]}],"rankingRules":["words","price:desc"],
            "localizedAttributes":[{"attributePatterns":["*_ja"],"locales":["jpn","eng"]}],
            "synonyms":{"b":["c d"],"a":[]},"searchCutoffMs":0,"distinctAttribute":"sku",
            "typoTolerance":{"disableOnWords":["Été"]}}"#,
    );
    let json = serde_json::to_string(&settings).expect("serialises");
    assert_eq!(serde_json::from_str::<Settings>(&json).expect("reads back"), settings);
    assert!(json.contains(r#""locales":["jpn","eng"]"#), "{json}");
    assert!(json.contains(r#""disableOnWords":["ete"]"#), "{json}");
}

#[test]
fn a_patch_distinguishes_absent_from_null() {
    let text = r#"{"stopWords":null,"pagination":{"maxTotalHits":5}}"#;
    let parsed = patch(text);
    assert_eq!(parsed.stop_words, Setting::Reset);
    assert_eq!(parsed.dictionary, Setting::Unset);
    assert_eq!(serde_json::to_string(&parsed).expect("serialises"), text);
    assert!(serde_json::from_str::<SettingsPatch>(r#"{"stopWord":[]}"#).is_err());
}

#[test]
fn object_settings_merge_field_by_field() {
    let first = patched(
        r#"{"typoTolerance":{"enabled":false,"minWordSizeForTypos":{"oneTypo":3}},
            "faceting":{"maxValuesPerFacet":7,"sortFacetValuesBy":{"genre":"count"}}}"#,
    );
    assert!(!first.typo_tolerance.enabled);
    assert_eq!(first.typo_tolerance.min_word_size_for_typos, MinWordSizeForTypos { one_typo: 3, two_typos: 9 });
    assert_eq!(first.faceting.order_of("genre"), FacetOrder::Count);
    assert_eq!(first.faceting.order_of("year"), FacetOrder::Alpha);

    let second = first
        .patched(&patch(
            r#"{"typoTolerance":{"minWordSizeForTypos":{"twoTypos":4}},"faceting":{"sortFacetValuesBy":null}}"#,
        ))
        .expect("consistent");
    assert!(!second.typo_tolerance.enabled);
    assert_eq!(second.typo_tolerance.min_word_size_for_typos, MinWordSizeForTypos { one_typo: 3, two_typos: 4 });
    assert_eq!(second.faceting.max_values_per_facet, 7);
    assert_eq!(second.faceting.sort_facet_values_by.len(), 1);

    let inverted = second.patched(&patch(r#"{"typoTolerance":{"minWordSizeForTypos":{"oneTypo":null}}}"#));
    assert_eq!(inverted, Err(SettingsError::TypoSizesInverted { one_typo: 5, two_typos: 4 }));
}

#[test]
fn stored_lists_are_sets_or_keep_their_order() {
    let settings = patched(
        r#"{"sortableAttributes":["z","a","z"],"displayedAttributes":["z","a","z"],
            "rankingRules":["typo","words","typo"],"stopWords":["The","the","ﬁn"]}"#,
    );
    assert_eq!(settings.sortable_attributes.iter().collect::<Vec<_>>(), ["a", "z"]);
    assert_eq!(settings.displayed_attributes, AttributeList::These(vec!["z".to_owned(), "a".to_owned()]));
    assert_eq!(settings.ranking_rules, [RankingRule::Typo, RankingRule::Words]);
    assert_eq!(settings.stop_words.iter().collect::<Vec<_>>(), ["The", "fin", "the"]);
}

#[test]
fn resetting_everything_gives_the_defaults() {
    let settings = patched(r#"{"stopWords":["a"],"embedders":{"e":{"source":"userProvided"}},"facetSearch":false}"#);
    assert_eq!(settings.patched(&SettingsPatch::reset_all()).expect("consistent"), Settings::default());
}

#[test]
fn lists_keep_the_first_of_equal_entries() {
    let rule = r#"{"attributePatterns":["a"],"locales":["eng"]}"#;
    let settings =
        patched(&format!(r#"{{"localizedAttributes":[{rule},{rule}],"displayedAttributes":["b","a","b"]}}"#));
    assert_eq!(settings.localized_attributes.map(|rules| rules.len()), Some(1));
    assert_eq!(settings.displayed_attributes, AttributeList::These(vec!["b".into(), "a".into()]));
}

#[test]
fn embedders_merge_by_name_then_by_field() {
    let first = patched(r#"{"embedders":{"a":{"source":"rest","url":"u"},"b":{"source":"ollama"}}}"#);
    let second = first.patched(&patch(r#"{"embedders":{"a":{"url":null,"dimensions":3},"b":null}}"#)).expect("merges");
    assert_eq!(serde_json::json!(second.embedders), serde_json::json!({"a": {"source": "rest", "dimensions": 3}}));
}

#[test]
fn changes_are_classified_by_their_cost() {
    let base = Settings::default();
    let change = |json: &str| SettingsChange::between(&base, &patched(json));
    assert_eq!(
        change(
            r#"{"stopWords":["a"],"synonyms":{"a":["b"]},"rankingRules":["sort"],"typoTolerance":{"enabled":false},
                   "localizedAttributes":[]}"#
        ),
        SettingsChange::default()
    );
    assert!(change(r#"{"separatorTokens":["&"]}"#).text);
    assert!(change(r#"{"dictionary":["J. R. R."]}"#).text);
    assert!(change(r#"{"localizedAttributes":[{"attributePatterns":["*"],"locales":["fra"]}]}"#).text);
    for columns in [
        r#"{"filterableAttributes":["a"]}"#,
        r#"{"sortableAttributes":["a"]}"#,
        r#"{"distinctAttribute":"a"}"#,
        r#"{"expiryAttribute":"a"}"#,
        r#"{"rankingRules":["a:asc"]}"#,
    ] {
        assert_eq!(change(columns), SettingsChange { columns: true, ..SettingsChange::default() });
    }
    assert!(change(r#"{"searchableAttributes":["a"]}"#).searchable);
}

#[test]
fn columns_cover_what_filters_sorts_and_rules_read() {
    let settings = patched(
        r#"{"filterableAttributes":["genre","_geo"],"sortableAttributes":["dates"],"distinctAttribute":"sku",
            "rankingRules":["stats.rank:desc"]}"#,
    );
    for field in ["genre", "genre.main", "dates.year", "sku", "stats.rank"] {
        assert!(settings.needs_column(field), "{field}");
    }
    for field in ["title", "stats", "_geo", "_geo.lat", "_vectors.e"] {
        assert!(!settings.needs_column(field), "{field}");
    }
    assert!(settings.uses_geo());
}
