use super::*;

fn patch(json: &str) -> SettingsPatch {
    serde_json::from_str(json).expect("test patch is valid")
}

fn patched(json: &str) -> Settings {
    Settings::default().patched(&patch(json)).expect("consistent settings")
}

#[test]
fn the_defaults_have_the_public_shape() {
    let json = serde_json::to_value(Settings::default()).expect("serialises");
    let expected: Value = serde_json::from_str(
        r#"{"displayedAttributes":["*"],"searchableAttributes":["*"],"filterableAttributes":[],
            "sortableAttributes":[],
            "rankingRules":["words","typo","proximity","attributeRank","sort","wordPosition","exactness"],
            "stopWords":[],"nonSeparatorTokens":[],"separatorTokens":[],"dictionary":[],"synonyms":{},
            "distinctAttribute":null,"proximityPrecision":"byWord",
            "typoTolerance":{"enabled":true,"minWordSizeForTypos":{"oneTypo":5,"twoTypos":9},"disableOnWords":[],
                "disableOnAttributes":[],"disableOnNumbers":false},
            "faceting":{"maxValuesPerFacet":100,"sortFacetValuesBy":{"*":"alpha"}},
            "pagination":{"maxTotalHits":1000},"embedders":{},"searchCutoffMs":null,"localizedAttributes":null,
            "facetSearch":true,"prefixSearch":"indexingTime"}"#,
    )
    .expect("valid json");
    assert_eq!(json, expected);
    let order: Vec<&String> = json.as_object().expect("object").keys().collect();
    assert_eq!(order, expected.as_object().expect("object").keys().collect::<Vec<_>>());
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
fn a_patch_tells_absent_from_null() {
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
    assert_eq!(Value::Object(second.embedders), serde_json::json!({"a": {"source": "rest", "dimensions": 3}}));
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
