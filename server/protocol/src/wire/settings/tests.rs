use lamina_base::error::{ApiError, Code};
use lamina_base::options::Feature;
use serde_json::json;

use lamina_engine::index::Setting;
use lamina_engine::index::settings::MatchingStrategy;

use super::*;

/// Code and message of the refusal of a settings body.
fn refused(body: Value) -> (Code, String) {
    let error = read(&body).expect_err(&body.to_string());
    (error.code, error.message)
}

/// The refusal of one setting sent through its own route.
fn refused_alone(route: &str, body: Value) -> (Code, String) {
    let error = SettingKind::by_route(route).unwrap().read(&body).expect_err(&body.to_string());
    (error.code, error.message)
}

#[test]
fn the_table_has_the_keys_of_the_settings_object_in_order() {
    let shown = show(&Settings::default(), &|_| false);
    let keys: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
    let always = SettingKind::all().filter(|setting| setting.presence == Presence::Always).map(|setting| setting.key);
    assert!(keys.iter().copied().eq(always), "{keys:?}");
    let set = Settings { matching_strategy: Some(MatchingStrategy::Any), ..Settings::default() };
    assert_eq!(show(&set, &|_| true)["matchingStrategy"], json!("any"));
    assert_eq!(show(&set, &|_| true)["foreignKeys"], json!([]));
    for setting in SettingKind::all() {
        assert!(SettingKind::by_route(setting.route).is_some());
        let name = if setting.route == "chat" { "index_chat".to_owned() } else { setting.route.replace('-', "_") };
        assert_eq!(setting.code.as_str(), format!("invalid_settings_{name}"));
        let merged = [
            "typo-tolerance",
            "faceting",
            "pagination",
            "embedders",
            "word-forms",
            "bm25",
            "rerankers",
            "completions",
            "analytics",
            "chat",
        ]
        .contains(&setting.route);
        assert_eq!(setting.verb() == WriteVerb::Patch, merged, "{}", setting.route);
    }
}

#[test]
fn every_setting_refuses_a_wrong_type_with_its_own_code() {
    for setting in SettingKind::all() {
        // Not a legal value of any setting; the array would be one of the lists.
        let wrong = json!(-1.5);
        let (code, message) = refused(json!({setting.key: wrong}));
        assert_eq!(code, setting.code);
        assert!(message.starts_with(&format!("Invalid value type at `.{}`: expected ", setting.key)), "{message}");
        assert!(message.ends_with("but found a number: `-1.5`"), "{message}");
        let (code, alone) = refused_alone(setting.route, wrong);
        assert_eq!(code, setting.code);
        assert_eq!(alone, message.replace(&format!(" at `.{}`", setting.key), ""));
    }
}

#[test]
fn null_resets_every_setting_and_absent_keys_are_left_alone() {
    assert_eq!(read(&json!({})), Ok(SettingsPatch::default()));
    let all: Map<String, Value> = SettingKind::all().map(|setting| (setting.key.to_owned(), Value::Null)).collect();
    assert_eq!(read(&Value::Object(all.clone())), Ok(SettingsPatch::reset_all()));
    let mut expected = all;
    for setting in SettingKind::all() {
        let star = ["displayedAttributes", "searchableAttributes"].contains(&setting.key);
        let reset = if star { json!(["*"]) } else { Value::Null };
        let mut alone = Map::from_iter([(setting.key.to_owned(), reset.clone())]);
        expected[setting.key] = reset;
        // Those that the protocol does not know are shown once they are set.
        if setting.presence == Presence::WhenSet {
            alone.clear();
        }
        assert_eq!(details(&setting.reset()), alone);
    }
    expected.retain(|key, _| SettingKind::all().any(|kind| kind.key == key && kind.presence != Presence::WhenSet));
    assert_eq!(details(&SettingsPatch::reset_all()), expected);
}

#[test]
fn what_was_sent_is_echoed_and_nothing_else() {
    let sent = json!({"rankingRules": ["words", "a:b:desc"], "stopWords": null, "typoTolerance": {"enabled": false}});
    assert_eq!(Value::Object(details(&read(&sent).unwrap())), sent);
}

#[test]
fn unknown_keys() {
    let (code, message) = refused(json!({"unknown": 1}));
    assert_eq!(code, Code::BadRequest);
    assert!(
        message.starts_with("Unknown field `unknown`: expected one of `displayedAttributes`, `searchableAttributes`, "),
        "{message}"
    );
    let (_, message) = refused(json!({"displayedAtributes": []}));
    assert!(message.contains("did you mean `displayedAttributes`? expected one of"), "{message}");
    assert_eq!(
        refused(json!({"typoTolerance": {"doggo": 1}})),
        (
            Code::InvalidSettingsTypoTolerance,
            "Unknown field `doggo` inside `.typoTolerance`: expected one of `enabled`, `minWordSizeForTypos`, \
             `disableOnWords`, `disableOnAttributes`, `disableOnNumbers`"
                .into()
        )
    );
    let off = |body: Value| check_features(None, &body, &|_| false).map_err(|error| error.code);
    assert_eq!(off(json!({"foreignKeys": []})), Err(Code::FeatureNotEnabled));
    assert_eq!(off(json!({"foreignKeys": null, "stopWords": []})), Ok(()));
    let key = json!({"foreignIndexUid": "authors", "fieldName": "author"});
    assert!(read(&json!({"foreignKeys": [key]})).is_ok());
    for wrong in [json!({}), json!([{}]), json!([{"foreignIndexUid": "a b", "fieldName": "x"}]), json!([{"other": 1}])]
    {
        assert_eq!(refused(json!({"foreignKeys": wrong})).0, Code::InvalidSettingsForeignKeys);
    }
    assert_eq!(read(&json!({"chat": null})), Ok(SettingsPatch { chat: Setting::Reset, ..SettingsPatch::default() }));
    assert_eq!(off(json!({"chat": {}})), Err(Code::FeatureNotEnabled));
    assert_eq!(off(json!({"chat": null})), Ok(()));
    assert_eq!(refused(json!([])).0, Code::BadRequest);
}

#[test]
fn the_first_problem_in_the_text_wins() {
    assert_eq!(refused(json!({"stopWords": 1, "unknown": 1})).0, Code::InvalidSettingsStopWords);
    assert_eq!(refused(json!({"unknown": 1, "stopWords": 1})).0, Code::BadRequest);
}

#[test]
fn string_lists() {
    assert_eq!(
        refused_alone("displayed-attributes", json!("doggo")),
        (
            Code::InvalidSettingsDisplayedAttributes,
            "Invalid value type: expected an array, but found a string: `\"doggo\"`".into()
        )
    );
    assert_eq!(
        refused(json!({"stopWords": ["a", 2]})).1,
        "Invalid value type at `.stopWords[1]`: expected a string, but found a positive integer: `2`"
    );
}

#[test]
fn ranking_rules() {
    assert_eq!(
        refused(json!({"rankingRules": ["x"]})),
        (
            Code::InvalidSettingsRankingRules,
            "Invalid value at `.rankingRules[0]`: `x` ranking rule is invalid. Valid ranking rules are words, typo, \
             proximity, attribute, attributeRank, wordPosition, sort, exactness, `ATTRIBUTE:asc`, `ATTRIBUTE:desc`, and \
             boosts, which are objects like `{\"boostIf\": {\"filter\": \"stock > 0\", \"weight\": 2}}`. The default is words, \
             typo, proximity, attributeRank, sort, wordPosition, exactness: `lamina settings reset rankingRules` restores it."
                .into()
        )
    );
    // All that it names is valid.
    let all = json!([
        "words", "typo", "proximity", "attributeRank", "wordPosition", "sort", "exactness", "a:asc", "b:desc",
        {"boostIf": {"filter": "stock > 0", "weight": 2}}
    ]);
    assert!(read(&json!({"rankingRules": all})).is_ok());
    for bad in ["_geo:asc", "_geoPoint(1, 2):asc", "_geoRadius(1,2,3)", "_geoBoundingBox:desc", "_geoDistance:asc"] {
        let (code, message) = refused_alone("ranking-rules", json!(["words", bad]));
        assert_eq!(code, Code::InvalidSettingsRankingRules);
        assert!(message.contains("is a reserved keyword and thus can't be used as a ranking rule."), "{message}");
    }
    for mixed in [json!(["attribute", "wordPosition"]), json!(["attributeRank", "words", "attribute"])] {
        let (_, message) = refused(json!({"rankingRules": mixed}));
        assert!(message.starts_with("Mixed usage of the attribute, attributeRank, and wordPosition ranking rules."));
    }
    for good in [json!([]), json!(["words", "attribute"]), json!(["attributeRank", "wordPosition", "a.b:asc"])] {
        assert!(read(&json!({"rankingRules": good})).is_ok(), "{good}");
    }
}

#[test]
fn filterable_attributes() {
    assert_eq!(
        refused(json!({"filterableAttributes": [{"features": {}}]})).1,
        "Missing field `attributePatterns` inside `.filterableAttributes[0]`"
    );
    for (bad, start) in [
        (json!([1]), "Invalid value type at `.filterableAttributes[0]`: expected a string or an object, but found"),
        (json!([{"patterns": []}]), "Unknown field `patterns` inside `.filterableAttributes[0]`: expected one of"),
        (json!([{"attributePatterns": "a"}]), "Invalid value type at `.filterableAttributes[0].attributePatterns`"),
        (
            json!(["a", {"attributePatterns": ["a"], "features": {"filter": {"equality": 1}}}]),
            "Invalid value type at `.filterableAttributes[1].features.filter.equality`: expected a boolean",
        ),
    ] {
        let (code, message) = refused(json!({"filterableAttributes": bad}));
        assert_eq!(code, Code::InvalidSettingsFilterableAttributes);
        assert!(message.starts_with(start), "{message}");
    }
    let patch = read(&json!({"filterableAttributes": ["a", {"attributePatterns": ["b*"]}]})).unwrap();
    let settings = Settings::default().patched(&patch).unwrap();
    assert_eq!(
        SettingKind::by_route("filterable-attributes").unwrap().show(&settings, &|_| false),
        json!(["a", {"attributePatterns": ["b*"],
               "features": {"facetSearch": false, "filter": {"equality": true, "comparison": false}}}])
    );
}

#[test]
fn typo_tolerance() {
    let inverted = "`minWordSizeForTypos` setting is invalid. `oneTypo` and `twoTypos` fields should be between `0` \
                    and `255`, and `twoTypos` should be greater or equals to `oneTypo` but found `oneTypo: 10` and \
                    twoTypos: 7`.";
    let body = json!({"minWordSizeForTypos": {"oneTypo": 10, "twoTypos": 7}});
    assert_eq!(
        refused_alone("typo-tolerance", body.clone()),
        (Code::InvalidSettingsTypoTolerance, format!("Invalid value at `.minWordSizeForTypos`: {inverted}"))
    );
    assert_eq!(
        refused(json!({"typoTolerance": body})).1,
        format!("Invalid value at `.typoTolerance.minWordSizeForTypos`: {inverted}")
    );
    assert_eq!(
        refused(json!({"typoTolerance": {"minWordSizeForTypos": {"oneTypo": 256}}})).0,
        Code::InvalidSettingsTypoTolerance
    );
    // Alone it is fine, against what is stored it is not.
    let patch = read(&json!({"typoTolerance": {"minWordSizeForTypos": {"twoTypos": 3}}})).unwrap();
    assert_eq!(merged(&Settings::default(), &patch).unwrap_err().code, Code::InvalidSettingsTypoTolerance);
}

#[test]
fn faceting_and_pagination() {
    assert_eq!(
        refused(json!({"faceting": {"sortFacetValuesBy": {"tags": "size"}}})),
        (
            Code::InvalidSettingsFaceting,
            "Unknown value `size` at `.faceting.sortFacetValuesBy.tags`: expected one of `alpha`, `count`".into()
        )
    );
    assert_eq!(refused(json!({"faceting": {"maxValuesPerFacet": "all"}})).0, Code::InvalidSettingsFaceting);
    assert_eq!(
        refused_alone("pagination", json!({"maxTotalHits": 0})),
        (
            Code::InvalidSettingsPagination,
            "Invalid value at `.maxTotalHits`: a non-zero integer value lower than `18446744073709551615` was \
             expected, but found a zero"
                .into()
        )
    );
    assert_eq!(refused(json!({"pagination": {"maxTotalHits": "many"}})).0, Code::InvalidSettingsPagination);
    assert_eq!(refused(json!({"searchCutoffMs": -1})).0, Code::InvalidSettingsSearchCutoffMs);
    assert!(read(&json!({"searchCutoffMs": 0, "pagination": {"maxTotalHits": null}})).is_ok());
}

#[test]
fn closed_lists_and_synonyms() {
    assert_eq!(
        refused(json!({"proximityPrecision": "byLine"})),
        (
            Code::InvalidSettingsProximityPrecision,
            "Unknown value `byLine` at `.proximityPrecision`: expected one of `byWord`, `byAttribute`".into()
        )
    );
    assert_eq!(refused(json!({"prefixSearch": "yes"})).0, Code::InvalidSettingsPrefixSearch);
    assert_eq!(refused(json!({"facetSearch": "true"})).0, Code::InvalidSettingsFacetSearch);
    assert_eq!(
        refused_alone("synonyms", json!({"a": "b"})),
        (
            Code::InvalidSettingsSynonyms,
            "Invalid value type at `.a`: expected an array, but found a string: `\"b\"`".into()
        )
    );
}

#[test]
fn localized_attributes() {
    let read_one = |body: Value| {
        let patch = read(&json!({"localizedAttributes": [body]}))?;
        let settings = Settings::default().patched(&patch).unwrap();
        Ok(show(&settings, &|_| false)["localizedAttributes"].clone())
    };
    assert_eq!(
        read_one(json!({"attributePatterns": ["*_ja"], "locales": ["ja", "cmn", "eng"]})),
        Ok(json!([{"attributePatterns": ["*_ja"], "locales": ["jpn", "cmn", "eng"]}]))
    );
    let message = |body| read_one(body).map_err(|error: ApiError| error.message).unwrap_err();
    assert!(
        message(json!({"attributePatterns": ["*"], "locales": ["japan"]}))
            .starts_with("Unknown value `japan` at `.localizedAttributes[0].locales[0]`: expected one of `af`, `ak`, ")
    );
    assert_eq!(message(json!({"locales": []})), "Missing field `attributePatterns` inside `.localizedAttributes[0]`");
}

/// Returns the refusal of an embedder without a feature.
fn without(off: Feature, body: Value) -> Result<(), Code> {
    check_features(None, &json!({"embedders": {"e": body}}), &|feature| feature != off).map_err(|error| error.code)
}

#[test]
fn embedders() {
    let refused_one = |body: Value| refused(json!({"embedders": {"e": body}}));
    for (body, start) in [
        (json!({"source": "nope"}), "Unknown value `nope` at `.embedders.e.source`: expected one of `openAi`, "),
        (
            json!({"source": "userProvided"}),
            "`.embedders.e`: Missing field `dimensions` (note: this field is mandatory for source `userProvided`)",
        ),
        (
            json!({"source": "openAi", "revision": "x"}),
            "`.embedders.e`: Field `revision` unavailable for source `openAi`.\n  - note: `revision` is available for \
             sources: `huggingFace`, `static`\n  - note: available fields for source `openAi`: `source`, `model`, `apiKey`, ",
        ),
        (json!({"dimensions": 0}), "`.embedders.e.dimensions`: `dimensions` cannot be zero"),
        (json!({"url": "kefir"}), "`.embedders.e.url`: could not parse `kefir`: relative URL without a base"),
        (
            json!({"source": "openAi", "model": "doggo"}),
            "`.embedders.e.model`: Invalid model `doggo` for OpenAI. Supported models: [\"text-embedding-ada-002\", ",
        ),
        (
            json!({"source": "openAi", "model": "text-embedding-3-large", "dimensions": 42000000}),
            "`.embedders.e.dimensions`: Model `text-embedding-3-large` does not support overriding its dimensions to \
             a value higher than 3072. Found 42000000",
        ),
        (json!({"distribution": {"mean": 2, "sigma": 0.1}}), "Invalid value at `.embedders.e.distribution.mean`: "),
        (json!({"distribution": {"mean": 0.5}}), "Missing field `sigma` inside `.embedders.e.distribution`"),
        (json!({"headers": {"a": 1}}), "Invalid value type at `.embedders.e.headers.a`: expected a string"),
        (json!("x"), "Invalid value type at `.embedders.e`: expected an object, but found a string"),
    ] {
        let (code, message) = refused_one(body);
        assert_eq!(code, Code::InvalidSettingsEmbedders);
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(
        refused_alone("embedders", json!({"e": {"source": "userProvided"}})).1,
        "`.embedders.e`: Missing field `dimensions` (note: this field is mandatory for source `userProvided`)"
    );
}

#[test]
fn embedders_of_features() {
    let composite = Feature::CompositeEmbedders;
    assert_eq!(without(composite, json!({"source": "composite"})), Err(Code::FeatureNotEnabled));
    assert_eq!(without(composite, json!({"searchEmbedder": {}})), Err(Code::FeatureNotEnabled));
    assert_eq!(without(composite, json!({"source": "rest", "searchEmbedder": null})), Ok(()));
    let sides = |search: Value| {
        let indexing = json!({"source": "rest", "url": "http://x", "request": "{{text}}", "response": "{{embedding}}"});
        read(&json!({"embedders": {"e": {"source": "composite", "searchEmbedder": search, "indexingEmbedder": indexing}}}))
            .map_err(|error| error.message)
    };
    assert!(sides(json!({"source": "ollama", "model": "m"})).is_ok());
    assert_eq!(
        sides(json!({"source": "userProvided", "dimensions": 2})),
        Err("`.embedders.e.searchEmbedder.source`: Source `userProvided` is not available in a nested embedder".into())
    );
    assert_eq!(
        sides(json!({"model": "m"})),
        Err("`.embedders.e.searchEmbedder`: Missing field `source`.\n  - note: this field is mandatory for nested \
             embedders"
            .into())
    );
    assert!(sides(json!({"source": "ollama", "model": "m", "documentTemplate": "x"})).is_err());
    let multimodal = Feature::Multimodal;
    assert_eq!(without(multimodal, json!({"searchFragments": {}})), Err(Code::FeatureNotEnabled));
    assert_eq!(
        without(multimodal, json!({"indexingEmbedder": {"indexingFragments": {"a": {"value": 1}}}})),
        Err(Code::FeatureNotEnabled)
    );
    assert_eq!(without(multimodal, json!({"searchFragments": null, "url": "u"})), Ok(()));
}

#[test]
fn models_of_openai() {
    // Whatever the address: others are what `rest` is for.
    for (model, dimensions, reason) in [
        ("m", 2, "`.embedders.e.model`: Invalid model `m` for OpenAI."),
        ("text-embedding-3-small", 1537, "`.embedders.e.dimensions`: Model `text-embedding-3-small` does not support"),
        ("text-embedding-ada-002", 2, "`.embedders.e.dimensions`: Model `text-embedding-ada-002` does not support"),
    ] {
        let sent = json!({"source": "openAi", "url": "http://x/v1", "model": model, "dimensions": dimensions});
        let error = read(&json!({"embedders": {"e": sent}})).unwrap_err();
        assert!(error.message.starts_with(reason), "{}", error.message);
    }
    let known = json!({"source": "openAi", "url": "http://x/v1", "model": "text-embedding-3-small", "dimensions": 2});
    assert!(read(&json!({"embedders": {"e": known}})).is_ok());
}

#[test]
fn embedders_are_shown_with_their_defaults_and_without_their_secret() {
    let patch = read(&json!({"embedders": {
        "own": {"source": "userProvided", "dimensions": 8},
        "web": {"apiKey": "0123456789abcdef", "model": "text-embedding-3-small"},
        "gone": null
    }}))
    .unwrap();
    assert_eq!(details(&patch)["embedders"]["web"]["apiKey"], "01XXXX...");
    let settings = Settings::default().patched(&patch).unwrap();
    let shown = SettingKind::by_route("embedders").unwrap().show(&settings, &|_| false);
    assert_eq!(shown["own"], json!({"source": "userProvided", "dimensions": 8}));
    assert_eq!(shown["web"]["source"], "openAi");
    assert_eq!(shown["web"]["apiKey"], "01XXXX...");
    assert_eq!(shown["web"]["documentTemplateMaxBytes"], 400);
    assert_eq!(shown.as_object().unwrap().len(), 2);
    // Merged with what is stored, a forbidden field comes to light.
    let change = read(&json!({"embedders": {"own": {"url": "http://x/"}}})).unwrap();
    assert_eq!(merged(&settings, &change).unwrap_err().code, Code::InvalidSettingsEmbedders);
}

#[test]
fn headers_are_masked_like_the_key() {
    let rest = json!({"source": "rest", "url": "http://localhost", "request": "{{text}}", "response": "{{embedding}}",
        "headers": {"authorization": "Bearer 1234567890", "x-tenant": "t1"}});
    let masked = json!({"authorization": "Bearer 12XXXX...", "x-tenant": "XXX..."});
    assert_eq!(super::embedder::show(&rest)["headers"], masked);
    // In a pair, and in the details of a task.
    let mut pair = json!({"source": "composite", "searchEmbedder": rest, "indexingEmbedder": rest});
    super::secrets::redact(&mut pair);
    assert_eq!(pair["searchEmbedder"]["headers"], masked);
    assert_eq!(pair["indexingEmbedder"]["headers"], masked);
}

#[test]
fn secrets_are_masked_by_length() {
    for (key, masked) in [
        ("123456789", "XXX..."),
        ("1234567890", "12XXXX..."),
        ("12345678901234567890", "123XXXXX..."),
        ("123456789012345678901234567890", "12345XXXXXX..."),
    ] {
        let mut configuration = json!({"apiKey": key});
        super::secrets::redact(&mut configuration);
        assert_eq!(configuration["apiKey"], masked);
    }
}

#[test]
fn forms_of_words() {
    for (wrong, place) in [
        (json!({"enabled": 1}), ".wordForms.enabled"),
        (json!({"languages": ["jpn"]}), ".wordForms.languages[0]"),
        (json!({"languages": ["xx"]}), ".wordForms.languages[0]"),
        (json!({"languages": "eng"}), ".wordForms.languages"),
        (json!({"disableOnAttributes": 1}), ".wordForms.disableOnAttributes"),
        (json!({"exceptions": ["two words"]}), ".wordForms.exceptions[0]"),
        (json!({"exceptions": [" "]}), ".wordForms.exceptions[0]"),
        (json!({"dictionary": ["mice"]}), ".wordForms.dictionary"),
        (json!({"dictionary": {"a mouse": ["mice"]}}), ".wordForms.dictionary.a mouse"),
        (json!({"dictionary": {"mouse": ["two mice"]}}), ".wordForms.dictionary.mouse[0]"),
        (json!({"inPhrases": "yes"}), ".wordForms.inPhrases"),
    ] {
        let (code, message) = refused(json!({ "wordForms": wrong }));
        assert_eq!(code, Code::InvalidSettingsWordForms);
        assert!(message.contains(place), "{message}");
    }
    let (_, message) = refused(json!({"wordForms": {"languages": ["jpn"]}}));
    assert!(message.contains("`eng`"), "{message}");
    assert!(!message.contains("`zho`"), "{message}");
    let sent = json!({"wordForms": {"enabled": false, "languages": ["en"], "exceptions": null}});
    let merged = merged(&Settings::default(), &read(&sent).unwrap()).unwrap();
    let shown = json!({
        "enabled": false, "languages": ["eng"], "disableOnAttributes": [], "exceptions": [], "dictionary": {},
        "inPhrases": false,
    });
    assert_eq!(show(&merged, &|_| true)["wordForms"], shown);
    assert_eq!(show(&Settings::default(), &|_| true).get("wordForms"), None);
}

#[test]
fn constants_and_weights_of_questions() {
    for (key, wrong, place) in [
        ("bm25", json!({"k1": -0.1}), ".bm25.k1"),
        ("bm25", json!({"k1": 1001}), ".bm25.k1"),
        ("bm25", json!({"k1": "1"}), ".bm25.k1"),
        ("bm25", json!({"b": 1.1}), ".bm25.b"),
        ("bm25", json!({"b": -1}), ".bm25.b"),
        ("bm25", json!({"delta": 1}), ".bm25"),
        ("searchableAttributesWeights", json!({"title": 0}), ".searchableAttributesWeights.title"),
        ("searchableAttributesWeights", json!({"title": 1000.5}), ".searchableAttributesWeights.title"),
        ("searchableAttributesWeights", json!({"title": null}), ".searchableAttributesWeights.title"),
        ("searchableAttributesWeights", json!(["title"]), ".searchableAttributesWeights"),
    ] {
        let (code, message) = refused(json!({ key: wrong }));
        assert!([Code::InvalidSettingsBm25, Code::InvalidSettingsSearchableAttributesWeights].contains(&code));
        assert!(message.contains(place), "{message}");
    }
    let sent = json!({"bm25": {"k1": 0}, "searchableAttributesWeights": {"title": 2}});
    let merged = merged(&Settings::default(), &read(&sent).unwrap()).unwrap();
    assert_eq!(show(&merged, &|_| true)["bm25"], json!({"k1": 0.0, "b": 0.75}));
    assert_eq!(show(&merged, &|_| true)["searchableAttributesWeights"], json!({"title": 2.0}));
}

#[test]
fn changes_turn_settings_into_others() {
    let of = |body: Value| merged(&Settings::default(), &read(&body).unwrap()).unwrap();
    let own = json!({"source": "userProvided", "dimensions": 3});
    let [one, other] = [
        json!({
            "embedders": {"x": own, "y": own}, "searchableAttributesWeights": {"title": 2}, "synonyms": {"a": ["b"]},
            "typoTolerance": {"enabled": false}, "rankingRules": ["n:desc"], "wordForms": {"dictionary": {"mouse": ["mice"]}}
        }),
        json!({
            "embedders": {"y": {"source": "userProvided", "dimensions": 4}}, "searchableAttributesWeights": {"text": 3},
            "synonyms": {"c": ["d"]}, "matchingStrategy": "any", "wordForms": {"dictionary": {"goose": ["geese"]}}
        }),
    ]
    .map(of);
    let default = Settings::default();
    for (from, to) in [(&one, &other), (&other, &one), (&one, &default), (&default, &one), (&one, &one)] {
        let change = changes(from, to);
        assert_eq!(merged(from, &read(&change).unwrap()).unwrap(), *to, "{change}");
    }
    assert_eq!(changes(&one, &one), json!({}));
}
