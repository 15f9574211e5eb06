use std::time::Duration;

use lamina_base::error::Code;
use serde_json::json;

use super::*;
use crate::wire::query_string::QueryString;

fn refused(body: Value) -> (Code, String) {
    let error = SearchQuery::from_body(&body).expect_err(&body.to_string());
    (error.code, error.message)
}

fn refused_get(query: &str) -> (Code, String) {
    let error = SearchQuery::from_parameters(&QueryString::parse(query)).expect_err(query);
    (error.code, error.message)
}

/// A value that no type accepts, and the code and expectation of each field.
/// What a request says of the embedder `e` with its name alone.
fn hybrid() -> Hybrid {
    let thresholds = ArmThresholds::default();
    Hybrid { embedder: "e".into(), semantic_ratio: 0.5, fusion: None, thresholds, passages: 1 }
}

#[test]
fn every_field_refuses_a_wrong_type_with_its_own_code() {
    for (name, code, expected) in [
        ("q", Code::InvalidSearchQ, "a string"),
        ("vector", Code::InvalidSearchVector, "an array"),
        ("hybrid", Code::InvalidSearchHybridQuery, "an object"),
        ("offset", Code::InvalidSearchOffset, "a positive integer"),
        ("limit", Code::InvalidSearchLimit, "a positive integer"),
        ("page", Code::InvalidSearchPage, "a positive integer"),
        ("hitsPerPage", Code::InvalidSearchHitsPerPage, "a positive integer"),
        ("attributesToRetrieve", Code::InvalidSearchAttributesToRetrieve, "an array"),
        ("retrieveVectors", Code::InvalidSearchRetrieveVectors, "a boolean"),
        ("attributesToCrop", Code::InvalidSearchAttributesToCrop, "an array"),
        ("cropLength", Code::InvalidSearchCropLength, "a positive integer"),
        ("attributesToHighlight", Code::InvalidSearchAttributesToHighlight, "an array"),
        ("showMatchesPosition", Code::InvalidSearchShowMatchesPosition, "a boolean"),
        ("showRankingScore", Code::InvalidSearchShowRankingScore, "a boolean"),
        ("showRankingScoreDetails", Code::InvalidSearchShowRankingScoreDetails, "a boolean"),
        ("showPerformanceDetails", Code::InvalidSearchShowPerformanceDetails, "a boolean"),
        ("useNetwork", Code::InvalidSearchUseNetwork, "a boolean"),
        ("sort", Code::InvalidSearchSort, "an array"),
        ("distinct", Code::InvalidSearchDistinct, "a string"),
        ("facets", Code::InvalidSearchFacets, "an array"),
        ("highlightPreTag", Code::InvalidSearchHighlightPreTag, "a string"),
        ("highlightPostTag", Code::InvalidSearchHighlightPostTag, "a string"),
        ("cropMarker", Code::InvalidSearchCropMarker, "a string"),
        ("matchingStrategy", Code::InvalidSearchMatchingStrategy, "a string"),
        ("attributesToSearchOn", Code::InvalidSearchAttributesToSearchOn, "an array"),
        ("locales", Code::InvalidSearchLocales, "an array"),
        ("personalize", Code::InvalidSearchPersonalize, "an object"),
    ] {
        assert_eq!(
            refused(json!({name: -1.5})),
            (code, format!("Invalid value type at `.{name}`: expected {expected}, but found a number: `-1.5`"))
        );
        assert!(fields().contains(&name));
    }
    assert_eq!(
        refused(json!({"rankingScoreThreshold": "a"})).1,
        "Invalid value type at `.rankingScoreThreshold`: expected a number, but found a string: `\"a\"`"
    );
}

#[test]
fn null_leaves_the_default_of_every_field() {
    for &name in fields() {
        assert_eq!(SearchQuery::from_body(&json!({name: null})), Ok(SearchQuery::default()), "{name}");
    }
    let hybrid = json!({"embedder": "e", "semanticRatio": null, "fusion": null, "rrfK": null, "thresholds": null});
    let with = SearchQuery::from_body(&json!({ "hybrid": hybrid })).unwrap();
    assert_eq!(with, SearchQuery::from_body(&json!({"hybrid": {"embedder": "e"}})).unwrap());
    assert!(refused(json!({"hybrid": {"embedder": null}})).1.ends_with("but found null"), "what must be there");
}

#[test]
fn the_samples_of_the_protocol() {
    assert_eq!(
        refused(json!({"limit": "doggo"})),
        (
            Code::InvalidSearchLimit,
            "Invalid value type at `.limit`: expected a positive integer, but found a string: `\"doggo\"`".into()
        )
    );
    assert_eq!(
        refused(json!({"rankingScoreThreshold": 2})),
        (
            Code::InvalidSearchRankingScoreThreshold,
            "Invalid value at `.rankingScoreThreshold`: the value of `rankingScoreThreshold` is invalid, expected a \
             float between `0.0` and `1.0`."
                .into()
        )
    );
    assert_eq!(
        refused(json!({"hybrid": {"embedder": "a", "semanticRatio": -0.1}})),
        (
            Code::InvalidSearchSemanticRatio,
            "Invalid value at `.hybrid.semanticRatio`: the value of `semanticRatio` is invalid, expected a float \
             between `0.0` and `1.0`."
                .into()
        )
    );
    assert_eq!(
        refused(json!({"matchingStrategy": "doggo"})),
        (
            Code::InvalidSearchMatchingStrategy,
            "Unknown value `doggo` at `.matchingStrategy`: expected one of `last`, `all`, `frequency`, `any`".into()
        )
    );
    let (code, message) = refused(json!({"locales": ["xx"]}));
    assert_eq!(code, Code::InvalidSearchLocales);
    assert!(message.starts_with("Unknown value `xx` at `.locales[0]`: expected one of `af`, `ak`, "), "{message}");
    let (code, message) = refused(json!({"unknownParam": 1}));
    assert_eq!(code, Code::BadRequest);
    assert!(message.starts_with("Unknown field `unknownParam`: expected one of `q`, `vector`, "), "{message}");
    assert_eq!(refused(json!({"hybrid": {}})).0, Code::InvalidSearchHybridQuery);
    assert_eq!(refused(json!({"hybrid": {"doggo": 1}})).0, Code::InvalidSearchHybridQuery);
    let of = |body: Value| SearchQuery::from_body(&body).unwrap().kind().map(|_| ()).map_err(|error| error.code);
    let hybrid = json!({"embedder": "e"});
    assert_eq!(of(json!({"media": {"a": 1}})), Err(Code::MissingSearchHybrid));
    assert_eq!(of(json!({"media": 1, "vector": [1], "hybrid": hybrid})), Err(Code::InvalidSearchMediaAndVector));
    assert_eq!(of(json!({"media": null, "vector": [1], "hybrid": hybrid})), Ok(()));
    assert_eq!(refused(json!([])).0, Code::BadRequest);
}

/// A score that is sent back as a threshold means this score, to the last bit.
#[test]
fn numbers_are_read_to_the_last_bit() {
    for whole in 2..60 {
        for part in 1..whole {
            let score = f64::from(part) / f64::from(whole);
            let body = serde_json::from_str(&format!("{{\"rankingScoreThreshold\": {score}}}")).unwrap();
            assert_eq!(SearchQuery::from_body(&body).unwrap().ranking_score_threshold, Some(score));
        }
    }
}

#[test]
fn a_body_with_everything() {
    let query = SearchQuery::from_body(&json!({
        "q": "fox", "offset": 1, "limit": 2, "page": 3, "hitsPerPage": 4, "attributesToRetrieve": ["a"],
        "attributesToCrop": ["b:3"], "cropLength": 5, "cropMarker": "--", "attributesToHighlight": ["*"],
        "highlightPreTag": "<", "highlightPostTag": ">", "showMatchesPosition": true, "filter": ["a = 1"],
        "sort": ["a:asc"], "distinct": "d", "facets": ["*"], "matchingStrategy": "all", "locales": ["ja", "eng"],
        "attributesToSearchOn": ["t"], "rankingScoreThreshold": 0.5, "hybrid": {"embedder": "e"}, "vector": [1, 0.5],
        "retrieveVectors": true, "showRankingScore": true, "showRankingScoreDetails": true, "useNetwork": false,
        "showPerformanceDetails": true
    }))
    .unwrap();
    assert_eq!(query.window(), Window::Page { page: 3, hits_per_page: 4 });
    assert_eq!(query.filter, Some(json!(["a = 1"])));
    assert_eq!(query.locales, [Language::Jpn, Language::Eng]);
    assert_eq!(query.hybrid, Some(hybrid()));
    assert_eq!(query.vector, Some(vec![1.0, 0.5]));
    assert_eq!((query.crop_length, query.crop_marker.as_str()), (5, "--"));
    assert_eq!(query.matching_strategy, Some(MatchingStrategy::All));
}

#[test]
fn query_strings() {
    let query = SearchQuery::from_parameters(&QueryString::parse(
        "q=red%20fox&limit=3&attributesToRetrieve=a,b&sort=_geoPoint(1,2):asc,%22n:desc%22&filter=n%3E1&facets=tags\
         &showRankingScore=true&vector=1,0.5&hybridEmbedder=e&matchingStrategy=frequency&locales=fr",
    ))
    .unwrap();
    assert_eq!(query.q.as_deref(), Some("red fox"));
    assert_eq!(query.sort.unwrap(), ["_geoPoint(1,2):asc", "n:desc"]);
    assert_eq!(query.filter, Some(json!("n>1")));
    assert_eq!(query.attributes_to_retrieve.unwrap(), ["a", "b"]);
    assert_eq!(query.hybrid, Some(hybrid()));
    assert!(query.show_ranking_score);
    let filter = |text: &str| {
        SearchQuery::from_parameters(&QueryString::parse(&format!("filter={text}"))).unwrap().filter.unwrap()
    };
    assert_eq!(filter("[%22a=1%22]"), json!(["a=1"]));
    assert_eq!(filter("12"), json!("12"));
}

#[test]
fn rerank_names_a_reranker_and_its_bounds() {
    let read = |rerank: Value| SearchQuery::from_body(&json!({ "rerank": rerank })).unwrap().rerank;
    let asked = |limit, millis| Some(Rerank { reranker: "r".into(), limit, timeout: Duration::from_millis(millis) });
    assert_eq!(read(json!({"reranker": "r"})), asked(50, 1000));
    assert_eq!(read(json!({"reranker": "r", "limit": 200, "timeoutMs": 1})), asked(200, 1));
    assert_eq!(read(json!(null)), None);
    for (bad, message) in [
        (json!("r"), "Invalid value type at `.rerank`: expected an object, but found a string: `\"r\"`"),
        (json!({"limit": 3}), "Missing field `reranker` inside `.rerank`"),
        (
            json!({"reranker": 7}),
            "Invalid value type at `.rerank.reranker`: expected a string, but found a positive integer: `7`",
        ),
        (
            json!({"reranker": "r", "limit": 0}),
            "Invalid value at `.rerank.limit`: expected a number from 1 to 200, but found 0",
        ),
        (
            json!({"reranker": "r", "limit": 201}),
            "Invalid value at `.rerank.limit`: expected a number from 1 to 200, but found 201",
        ),
        (
            json!({"reranker": "r", "timeoutMs": 30_001}),
            "Invalid value at `.rerank.timeoutMs`: expected a number from 1 to 30000, but found 30001",
        ),
    ] {
        assert_eq!(refused(json!({ "rerank": bad })), (Code::InvalidSearchRerank, message.to_owned()));
    }
    let everywhere = json!({"rerank": {"reranker": "r"}, "useNetwork": true});
    assert_eq!(refused(everywhere).0, Code::InvalidSearchRerank);
    assert_eq!(refused(json!({"rerank": {"reranker": "r", "model": "m"}})).0, Code::InvalidSearchRerank);
}

#[test]
fn thresholds_of_lists_are_scores() {
    let hybrid = |thresholds: Value| json!({"q": "x", "hybrid": {"embedder": "e", "thresholds": thresholds}});
    let read = |thresholds: Value| SearchQuery::from_body(&hybrid(thresholds)).unwrap().score_thresholds();
    assert_eq!(read(json!({"words": 0, "vectors": 1})), [Some(0.0), Some(1.0)]);
    assert_eq!(read(json!({"vectors": 0.5})), [None, Some(0.5)]);
    assert_eq!(read(json!(null)), [None, None]);
    for (bad, message) in [
        (
            json!({"words": 1.01}),
            "Invalid value at `.hybrid.thresholds.words`: the value of `words` is invalid, expected a float between `0.0` \
             and `1.0`.",
        ),
        (
            json!({"vectors": "high"}),
            "Invalid value type at `.hybrid.thresholds.vectors`: expected a number, but found a string: `\"high\"`",
        ),
        (json!(0.5), "Invalid value type at `.hybrid.thresholds`: expected an object, but found a number: `0.5`"),
    ] {
        assert_eq!(refused(hybrid(bad)), (Code::InvalidSearchHybridQuery, message.to_owned()));
    }
    let (code, message) = refused(hybrid(json!({"near": 0.5})));
    assert_eq!(code, Code::InvalidSearchHybridQuery);
    assert!(message.starts_with("Unknown field `near` inside `.hybrid.thresholds`"), "{message}");
}

#[test]
fn query_strings_have_the_fields_of_objects() {
    let read = |text: &str| SearchQuery::from_parameters(&QueryString::parse(text)).unwrap();
    let body = |body: Value| SearchQuery::from_body(&body).unwrap();
    for (text, same) in [
        (
            "hybridEmbedder=e&hybridThresholdsWords=0.2&hybridThresholdsVectors=1",
            json!({"hybrid": {"embedder": "e", "thresholds": {"words": 0.2, "vectors": 1}}}),
        ),
        ("hybridRrfK=7&hybridEmbedder=e", json!({"hybrid": {"embedder": "e", "rrfK": 7}})),
        (
            "hybridRrfK=7.5&hybridEmbedder=e&hybridFusion=rrf&hybridSemanticRatio=0.25",
            json!({"hybrid": {"embedder": "e", "rrfK": 7.5, "fusion": "rrf", "semanticRatio": 0.25}}),
        ),
        ("rerank=r", json!({"rerank": {"reranker": "r"}})),
        (
            "rerankTimeoutMs=300&rerank=r&rerankLimit=20",
            json!({"rerank": {"reranker": "r", "limit": 20, "timeoutMs": 300}}),
        ),
    ] {
        assert_eq!(read(text), body(same), "{text}");
    }
}

#[test]
fn fields_of_objects_in_query_strings_are_checked() {
    use Code::{InvalidSearchHybridQuery as Hybrid, InvalidSearchRerank as Rerank};
    for (text, code, message) in [
        ("rerankLimit=3", Rerank, "`rerank` is mandatory when `rerankLimit` is present"),
        ("rerankTimeoutMs=3", Rerank, "`rerank` is mandatory when `rerankTimeoutMs` is present"),
        (
            "rerank=r&rerankLimit=201",
            Rerank,
            "Invalid value in parameter `rerankLimit`: expected a number from 1 to 200, but found 201",
        ),
        (
            "rerank=r&rerankTimeoutMs=0",
            Rerank,
            "Invalid value in parameter `rerankTimeoutMs`: expected a number from 1 to 30000, but found 0",
        ),
        (
            "rerank=r&rerankLimit=x",
            Rerank,
            "Invalid value in parameter `rerankLimit`: could not parse `x` as a positive integer",
        ),
        (
            "rerank=r&rerank=s",
            Rerank,
            "Invalid value type for parameter `rerank`: expected a string, but found multiple values",
        ),
        (
            "rerank=r&useNetwork=true",
            Rerank,
            "`rerank` cannot be used with `useNetwork`: each server would put its own hits into another order.",
        ),
        ("hybridThresholdsWords=0", Hybrid, "`hybridEmbedder` is mandatory when `hybridThresholdsWords` is present"),
        ("hybridRrfK=0", Hybrid, "`hybridEmbedder` is mandatory when `hybridRrfK` is present"),
        ("hybridFusion=rrf", Hybrid, "`hybridEmbedder` is mandatory when `hybridFusion` is present"),
        (
            "hybridEmbedder=e&hybridThresholdsVectors=1.5",
            Hybrid,
            "Invalid value in parameter `hybridThresholdsVectors`: the value of `hybridThresholdsVectors` is invalid, \
             expected a float between `0.0` and `1.0`.",
        ),
        (
            "hybridEmbedder=e&hybridRrfK=-1",
            Hybrid,
            "Invalid value in parameter `hybridRrfK`: expected a number from 0 to 1000000, but found -1",
        ),
        (
            "hybridEmbedder=e&hybridRrfK=1&hybridFusion=score",
            Hybrid,
            "`hybridRrfK` is of `hybridFusion=rrf` only: send that, or leave `hybridRrfK` out.",
        ),
    ] {
        assert_eq!(refused_get(text), (code, message.to_owned()), "{text}");
    }
}

#[test]
fn bad_query_strings() {
    for (query, code, message) in [
        (
            "limit=abc",
            Code::InvalidSearchLimit,
            "Invalid value in parameter `limit`: could not parse `abc` as a positive integer",
        ),
        (
            "showRankingScore=yes",
            Code::InvalidSearchShowRankingScore,
            "Invalid value in parameter `showRankingScore`: could not parse `yes` as a boolean, expected either \
             `true` or `false`",
        ),
        (
            "matchingStrategy=doggo",
            Code::InvalidSearchMatchingStrategy,
            "Unknown value `doggo` for parameter `matchingStrategy`: expected one of `last`, `all`, `frequency`, `any`",
        ),
        (
            "rankingScoreThreshold=2",
            Code::InvalidSearchRankingScoreThreshold,
            "Invalid value in parameter `rankingScoreThreshold`: the value of `rankingScoreThreshold` is invalid, \
             expected a float between `0.0` and `1.0`.",
        ),
        (
            "q=a&q=b",
            Code::InvalidSearchQ,
            "Invalid value type for parameter `q`: expected a string, but found multiple values",
        ),
        (
            "vector=1,x",
            Code::InvalidSearchVector,
            "Invalid value in parameter `vector[1]`: could not parse `x` as a number",
        ),
    ] {
        assert_eq!(refused_get(query), (code, message.to_owned()));
    }
    assert_eq!(refused_get("hybridSemanticRatio=0.5").0, Code::InvalidSearchHybridQuery);
    assert!(
        refused_get("locales=x")
            .1
            .starts_with("Invalid value in parameter `locales`: Unsupported locale `x`, expected one of af, ak, am, ")
    );
    let (code, message) = refused_get("media=x");
    assert_eq!(code, Code::BadRequest);
    assert!(message.starts_with("Unknown parameter `media`: expected one of `q`, `vector`, "), "{message}");
}

#[test]
fn every_parameter_refuses_a_bad_value_with_its_own_code() {
    for (name, code) in [
        ("offset", Code::InvalidSearchOffset),
        ("limit", Code::InvalidSearchLimit),
        ("page", Code::InvalidSearchPage),
        ("hitsPerPage", Code::InvalidSearchHitsPerPage),
        ("cropLength", Code::InvalidSearchCropLength),
    ] {
        for bad in ["x", "-1", "1.5", "", "99999999999999999999"] {
            assert_eq!(
                refused_get(&format!("{name}={bad}")),
                (code, format!("Invalid value in parameter `{name}`: could not parse `{bad}` as a positive integer"))
            );
        }
    }
    for (name, code) in [
        ("retrieveVectors", Code::InvalidSearchRetrieveVectors),
        ("showMatchesPosition", Code::InvalidSearchShowMatchesPosition),
        ("showRankingScore", Code::InvalidSearchShowRankingScore),
        ("showRankingScoreDetails", Code::InvalidSearchShowRankingScoreDetails),
        ("showPerformanceDetails", Code::InvalidSearchShowPerformanceDetails),
        ("useNetwork", Code::InvalidSearchUseNetwork),
    ] {
        assert_eq!(refused_get(&format!("{name}=1")).0, code);
    }
    for (name, code) in [
        ("q", Code::InvalidSearchQ),
        ("vector", Code::InvalidSearchVector),
        ("attributesToRetrieve", Code::InvalidSearchAttributesToRetrieve),
        ("attributesToCrop", Code::InvalidSearchAttributesToCrop),
        ("attributesToHighlight", Code::InvalidSearchAttributesToHighlight),
        ("filter", Code::InvalidSearchFilter),
        ("sort", Code::InvalidSearchSort),
        ("distinct", Code::InvalidSearchDistinct),
        ("facets", Code::InvalidSearchFacets),
        ("highlightPreTag", Code::InvalidSearchHighlightPreTag),
        ("highlightPostTag", Code::InvalidSearchHighlightPostTag),
        ("cropMarker", Code::InvalidSearchCropMarker),
        ("matchingStrategy", Code::InvalidSearchMatchingStrategy),
        ("attributesToSearchOn", Code::InvalidSearchAttributesToSearchOn),
        ("hybridEmbedder", Code::InvalidSearchEmbedder),
        ("hybridSemanticRatio", Code::InvalidSearchSemanticRatio),
        ("rankingScoreThreshold", Code::InvalidSearchRankingScoreThreshold),
        ("locales", Code::InvalidSearchLocales),
    ] {
        assert_eq!(
            refused_get(&format!("{name}=a&{name}=b")),
            (code, format!("Invalid value type for parameter `{name}`: expected a string, but found multiple values"))
        );
    }
    assert_eq!(refused_get("personalizeUserContext=x").0, Code::FeatureNotEnabled);
}

#[test]
fn marks_have_a_bound() {
    let (long, fits) = ("x".repeat(MARK_BYTES_MAX + 1), "é".repeat(MARK_BYTES_MAX / 2));
    for (name, code) in [
        ("highlightPreTag", Code::InvalidSearchHighlightPreTag),
        ("highlightPostTag", Code::InvalidSearchHighlightPostTag),
        ("cropMarker", Code::InvalidSearchCropMarker),
    ] {
        let error = SearchQuery::from_body(&json!({ name: long })).unwrap_err();
        let message = format!("Invalid value at `.{name}`: it has 1025 bytes, and may have at most 1024.");
        assert_eq!((error.code, error.message), (code, message));
        let message = format!("Invalid value in parameter `{name}`: it has 1025 bytes, and may have at most 1024.");
        assert_eq!(refused_get(&format!("{name}={long}")), (code, message));
        assert!(SearchQuery::from_body(&json!({ name: fits })).is_ok());
    }
}

#[test]
fn kinds() {
    let kind = |body: Value| {
        let query = SearchQuery::from_body(&body).unwrap();
        query.kind().map_err(|error| error.code).map(|kind| match kind {
            SearchKind::Keyword => "keyword",
            SearchKind::Semantic(_) => "semantic",
            SearchKind::Hybrid(_) => "hybrid",
        })
    };
    let hybrid = |ratio: f64| json!({"embedder": "e", "semanticRatio": ratio});
    assert_eq!(kind(json!({"q": "a"})), Ok("keyword"));
    assert_eq!(kind(json!({"q": "a", "vector": [1]})), Err(Code::MissingSearchHybrid));
    assert_eq!(kind(json!({"q": "a", "hybrid": hybrid(0.0), "vector": [1]})), Ok("keyword"));
    assert_eq!(kind(json!({"q": "  ", "hybrid": hybrid(1.0)})), Ok("keyword"));
    assert_eq!(kind(json!({"q": "a", "hybrid": hybrid(1.0)})), Ok("semantic"));
    assert_eq!(kind(json!({"hybrid": hybrid(1.0), "vector": [1]})), Ok("semantic"));
    assert_eq!(kind(json!({"hybrid": hybrid(0.5), "vector": [1]})), Ok("semantic"));
    assert_eq!(kind(json!({"q": "a", "hybrid": hybrid(0.5)})), Ok("hybrid"));
}

#[test]
fn windows() {
    let page = |page, hits_per_page| Window::Page { page, hits_per_page };
    assert_eq!(page(0, 20).bounds(1000), (0, 0));
    assert_eq!(page(2, 5).bounds(1000), (5, 5));
    assert_eq!(page(2, 5).bounds(7), (5, 2));
    assert_eq!(page(usize::MAX, usize::MAX).bounds(7), (7, 0));
    assert_eq!(Window::Offset { offset: 3, limit: 10 }.bounds(5), (3, 2));
    assert_eq!(Window::Offset { offset: 9, limit: 10 }.bounds(5), (5, 0));
}

#[test]
fn vectors_are_of_numbers_that_32_bits_hold() {
    let expected =
        (Code::InvalidSearchVector, "Invalid value at `.vector[1]`: `1e39` is too large for 32 bits".to_owned());
    assert_eq!(refused(json!({"vector": [1, 1e39]})), expected);
    let expected = "Invalid value in parameter `vector[1]`: `-1e39` is too large for 32 bits".to_owned();
    assert_eq!(refused_get("vector=1,-1e39"), (Code::InvalidSearchVector, expected));
}

#[test]
fn personalisation_names_what_is_wrong_with_it() {
    for (personalize, code) in [
        (json!({}), Code::InvalidSearchPersonalize),
        (json!([]), Code::InvalidSearchPersonalize),
        (json!({"userContext": 1}), Code::InvalidSearchPersonalizeUserContext),
        (json!({"userContext": "likes lamps"}), Code::FeatureNotEnabled),
    ] {
        assert_eq!(refused(json!({"personalize": personalize})).0, code);
    }
}

#[test]
fn long_lists_are_refused_with_the_code_of_the_parameter() {
    let long = |count: usize| vec!["title"; count];
    assert_eq!(
        refused(json!({"sort": long(300_000)})).1,
        "Invalid value at `.sort`: 300000 entries; at most 100 are allowed."
    );
    for (name, most, code) in [
        ("sort", 100, Code::InvalidSearchSort),
        ("facets", 1000, Code::InvalidSearchFacets),
        ("attributesToRetrieve", 1000, Code::InvalidSearchAttributesToRetrieve),
        ("attributesToCrop", 1000, Code::InvalidSearchAttributesToCrop),
        ("attributesToHighlight", 1000, Code::InvalidSearchAttributesToHighlight),
        ("attributesToSearchOn", 1000, Code::InvalidSearchAttributesToSearchOn),
    ] {
        SearchQuery::from_body(&json!({name: long(most)})).unwrap();
        assert_eq!(refused(json!({name: long(most + 1)})).0, code);
        assert_eq!(refused_get(&format!("{name}={}", long(most + 1).join(","))).0, code);
    }
    let measures = vec![json!({"facet": "price", "statistics": true}); 51];
    assert_eq!(
        refused(json!({"facets": measures})).1,
        "Invalid value at `.facets`: 51 entries; at most 50 are allowed."
    );
    assert_eq!(refused(json!({"locales": vec!["fra"; 501]})).0, Code::InvalidSearchLocales);
}
