//! Answers of whole searches over small indexes in memory.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use lamina_base::aliases::Aliases;
use lamina_base::error::ApiError;
use lamina_engine::index::{CommitNote, Index, IndexOptions, Operation, Payload, Progress, Upsert, WriteMethod};
use lamina_engine::storage::MemoryDirectory;
use lamina_protocol::wire::multi_search::MultiSearch;
use lamina_protocol::wire::settings;
use lamina_protocol::wire::similar::SimilarQuery;
use serde_json::{Value, json};

use super::*;
use crate::answer::points_in_time::{NamedSnapshot, Snapshots};

mod multi;

/// An index with these settings and documents; the primary key is `id`.
pub(super) fn snapshot(settings: Value, documents: &[Value]) -> Arc<Snapshot> {
    let index = Index::create_in(Arc::new(MemoryDirectory::new()), IndexOptions::default()).unwrap();
    let lines: String = documents.iter().map(|document| format!("{document}\n")).collect();
    let operations = [
        Operation::SetPrimaryKey(Some("id".into())),
        Operation::Settings(Box::new(settings::read(&settings).unwrap())),
        Operation::Upsert(Upsert {
            payload: Payload::Bytes(lines.into_bytes().into()),
            method: WriteMethod::Replace,
            primary_key: None,
            skip_creation: false,
        }),
    ];
    let note = CommitNote::new(1, |_| Vec::new());
    let outcomes = index.apply(&operations, note, &Progress::new(), &AtomicBool::new(false)).unwrap();
    for outcome in outcomes {
        outcome.unwrap();
    }
    index.snapshot()
}

pub(super) fn animals() -> Arc<Snapshot> {
    snapshot(
        json!({
            "filterableAttributes": ["kind", "weight", "_geo"], "sortableAttributes": ["weight", "_geo", "secret"],
            "displayedAttributes": ["id", "name", "kind", "weight", "_geo", "home"], "searchableAttributes": ["name", "home"]
        }),
        &[
            json!({"id": 1, "name": "red fox", "kind": ["wild", "Fur"], "weight": 7.5, "home": {"forest": "pine"}}),
            json!({"id": 2, "name": "arctic fox", "kind": "wild", "weight": 4, "_geo": {"lat": 1.0, "lng": 2.0}}),
            json!({"id": 3, "name": "house cat", "kind": "tame", "home": null, "secret": 1}),
        ],
    )
}

/// The answer to a search, without what changes from run to run.
fn answer(snapshot: &Snapshot, body: Value) -> ApiResult<Value> {
    let query = SearchQuery::from_body(&body)?;
    let (target, context) = (Target { name: "animals", uid: "animals", snapshot }, Context::now());
    let found = run(target, &query, &context)?;
    let written =
        Answer { target, query: &query, context: &context, found, names_index: false, metadata: None }.write()?;
    let mut answer: Value = serde_json::from_slice(&written.body(context.received)).unwrap();
    let fields = answer.as_object_mut().unwrap();
    let uid = fields.shift_remove("requestUid").expect("always there");
    assert_eq!(uuid::Uuid::parse_str(uid.as_str().unwrap()).unwrap().get_version_num(), 7);
    assert!(fields.shift_remove("processingTimeMs").unwrap().is_u64());
    Ok(answer)
}

fn hits(snapshot: &Snapshot, body: Value) -> Vec<Value> {
    answer(snapshot, body).unwrap()["hits"].as_array().unwrap().clone()
}

fn ids(snapshot: &Snapshot, body: Value) -> Vec<u64> {
    hits(snapshot, body).iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
}

fn refused(snapshot: &Snapshot, body: Value) -> (Code, String) {
    let error = answer(snapshot, body).unwrap_err();
    (error.code, error.message)
}

#[test]
fn an_answer_has_its_keys_in_order() {
    let animals = animals();
    assert_eq!(
        answer(&animals, json!({"q": "arctic", "facets": ["kind", "weight"]})).unwrap().to_string(),
        r#"{"hits":[{"id":2,"name":"arctic fox","kind":"wild","weight":4,"_geo":{"lat":1.0,"lng":2.0}}],"query":"arctic","limit":20,"offset":0,"estimatedTotalHits":1,"facetDistribution":{"kind":{"wild":1},"weight":{"4":1}},"facetStats":{"weight":{"min":4.0,"max":4.0}}}"#
    );
    assert_eq!(
        answer(&animals, json!({"q": "unicorn", "hitsPerPage": 1})).unwrap().to_string(),
        r#"{"hits":[],"query":"unicorn","hitsPerPage":1,"page":1,"totalPages":0,"totalHits":0}"#
    );
}

#[test]
fn hits_show_what_is_displayed_and_retrieved() {
    let animals = animals();
    let cat = json!({"q": "cat"});
    assert_eq!(hits(&animals, cat)[0], json!({"id": 3, "name": "house cat", "kind": "tame", "home": null}));
    let retrieved = json!({"q": "red", "attributesToRetrieve": ["home.forest", "secret", "nope"]});
    assert_eq!(hits(&animals, retrieved)[0], json!({"home": {"forest": "pine"}}));
    assert_eq!(hits(&animals, json!({"q": "red", "attributesToRetrieve": []}))[0], json!({}));
    // `home` is null there; a name that no document has selects nothing.
    for (name, home) in
        [("home.forest", json!({"home": null})), ("home.nope", json!({})), ("home", json!({"home": null}))]
    {
        assert_eq!(hits(&animals, json!({"q": "cat", "attributesToRetrieve": [name]}))[0], home, "{name}");
    }
}

#[test]
fn patterns_of_attributes_to_search_on_mean_children_too() {
    let animals = animals();
    let found = |name: &str| ids(&animals, json!({"q": "pine", "attributesToSearchOn": [name]}));
    assert_eq!((found("home.forest"), found("*forest"), found("home.*")), (vec![1], vec![1], vec![1]));
    let (code, _) = refused(&animals, json!({"q": "pine", "attributesToSearchOn": ["*ret"]}));
    assert_eq!(code, Code::InvalidSearchAttributesToSearchOn);
}

#[test]
fn the_first_of_several_mistakes_is_reported() {
    use Code::*;
    let animals = animals();
    let mistakes = [
        ("hybrid", json!({"embedder": "e"}), InvalidSearchEmbedder),
        ("attributesToSearchOn", json!(["nope"]), InvalidSearchAttributesToSearchOn),
        ("distinct", json!("nope"), InvalidSearchDistinct),
        ("filter", json!("nope = 1"), InvalidSearchFilter),
        ("sort", json!(["nope:asc"]), InvalidSearchSort),
    ];
    for (first, (name, value, code)) in mistakes.iter().enumerate() {
        for (other, wrong, _) in &mistakes[first + 1..] {
            let mut body = json!({"q": "fox"});
            body[*name] = value.clone();
            body[*other] = wrong.clone();
            assert_eq!(refused(&animals, body.clone()).0, *code, "{body}");
        }
    }
    let unread = json!({"q": "fox", "hybrid": {"embedder": "e"}, "filter": "kind ="});
    assert_eq!(refused(&animals, unread).0, InvalidSearchEmbedder);
}

#[test]
fn hits_end_with_what_was_asked_for_in_order() {
    let animals = animals();
    let hit = hits(
        &animals,
        json!({
            "q": "arctic fo", "attributesToRetrieve": ["_geo"], "attributesToHighlight": ["name"],
            "showMatchesPosition": true, "showRankingScore": true, "showRankingScoreDetails": true,
            "sort": ["_geoPoint(1, 2.1):asc"]
        }),
    )
    .remove(0);
    let keys: Vec<&str> = hit.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["_geo", "_geoDistance", "_formatted", "_matchesPosition", "_rankingScore", "_rankingScoreDetails"]
    );
    assert_eq!(hit["_geoDistance"], 11118);
    assert_eq!(hit["_formatted"]["name"], "<em>arctic</em> <em>fo</em>x");
    assert_eq!(hit["_matchesPosition"]["name"], json!([{"start": 0, "length": 6}, {"start": 7, "length": 2}]));
    assert_eq!(hit["_rankingScoreDetails"]["_geoPoint(1, 2.1):asc"]["value"], json!({"lat": 1.0, "lng": 2.0}));
}

#[test]
fn hits_are_formatted_for_displayed_attributes_only() {
    let animals = animals();
    let formatted = |fields: Value| {
        let mut query = json!({"q": "red", "attributesToRetrieve": ["id"]});
        query.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
        hits(&animals, query)[0].get("_formatted").cloned()
    };
    for nothing in [json!(["nope"]), json!(["secret"]), json!([])] {
        assert_eq!(formatted(json!({ "attributesToHighlight": nothing, "attributesToCrop": ["nope:3"] })), None);
    }
    assert_eq!(formatted(json!({"attributesToCrop": ["home.forest:1"]})).unwrap()["home"], json!({"forest": "pine"}));
    // Known to the index, though not to this document.
    assert_eq!(formatted(json!({"attributesToHighlight": ["_geo"]})), Some(json!({"id": "1"})));
}

#[test]
fn hidden_sorts_hide_their_value() {
    let details = &hits(&animals(), json!({"q": "cat", "sort": ["secret:asc"], "showRankingScoreDetails": true}))[0]["_rankingScoreDetails"];
    let hidden: Vec<_> = details.as_object().unwrap().iter().filter(|(key, _)| key.starts_with("<hidden")).collect();
    assert_eq!(hidden.len(), 1);
    assert_eq!(hidden[0].1["value"], "<hidden>");
}

#[test]
fn pages_and_offsets() {
    let animals = animals();
    assert_eq!(ids(&animals, json!({})), [1, 2, 3]);
    assert_eq!(ids(&animals, json!({"offset": 1, "limit": 1})), [2]);
    assert_eq!(ids(&animals, json!({"page": 2, "hitsPerPage": 2})), [3]);
    assert_eq!(ids(&animals, json!({"page": 0})), [0; 0]);
    let page = answer(&animals, json!({"page": 2, "hitsPerPage": 2})).unwrap();
    assert_eq!((&page["totalPages"], &page["totalHits"]), (&json!(2), &json!(3)));
    let bounded =
        snapshot(json!({"pagination": {"maxTotalHits": 2}}), &[json!({"id": 1}), json!({"id": 2}), json!({"id": 3})]);
    let answer = answer(&bounded, json!({"offset": 5, "limit": 7})).unwrap();
    assert_eq!((&answer["offset"], &answer["limit"], &answer["estimatedTotalHits"]), (&json!(2), &json!(7), &json!(2)));
}

#[test]
fn filters_sorts_and_distinct_reach_the_engine() {
    let animals = animals();
    assert_eq!(ids(&animals, json!({"filter": ["kind = wild", ["weight > 5", "weight = 1"]]})), [1]);
    assert_eq!(ids(&animals, json!({"sort": ["weight:asc"]})), [2, 1, 3]);
    assert_eq!(ids(&animals, json!({"distinct": "kind"})), [1, 3]);
    assert_eq!(ids(&animals, json!({"q": "fox pine", "matchingStrategy": "all"})), [1]);
    assert_eq!(ids(&animals, json!({"q": "pine", "attributesToSearchOn": ["name"]})), [0; 0]);
    assert_eq!(ids(&animals, json!({"q": "red fox", "rankingScoreThreshold": 0.9})), [1]);
}

#[test]
fn refusals_have_the_code_of_their_parameter() {
    let animals = animals();
    for (body, code, start) in [
        (json!({"filter": "kind ="}), Code::InvalidSearchFilter, "Was expecting a value but instead got nothing."),
        (
            json!({"filter": true}),
            Code::InvalidSearchFilter,
            "Invalid syntax for the filter parameter: `expected String, Array, found: true`.",
        ),
        (
            json!({"filter": "name = x"}),
            Code::InvalidSearchFilter,
            "Index `animals`: Attribute `name` is not filterable. Available filterable attribute patterns are: ",
        ),
        (
            json!({"filter": "kind CONTAINS x"}),
            Code::FeatureNotEnabled,
            "Using `CONTAINS` in a filter requires enabling the `contains filter` experimental feature. Switch it on with ",
        ),
        (
            json!({"sort": ["weight"]}),
            Code::InvalidSearchSort,
            "Invalid syntax for the sort parameter: expected expression ending by `:asc` or `:desc`, found `weight`.",
        ),
        (json!({"sort": ["name:asc"]}), Code::InvalidSearchSort, "Index `animals`: Attribute `name` is not sortable."),
        (
            json!({"distinct": "name"}),
            Code::InvalidSearchDistinct,
            "Index `animals`: Attribute `name` is not filterable and thus, cannot be used as distinct attribute.",
        ),
        (
            json!({"q": "x", "attributesToSearchOn": ["kind"]}),
            Code::InvalidSearchAttributesToSearchOn,
            "Index `animals`: Attribute `kind` is not searchable. Available searchable attributes are: `name, home`.",
        ),
        (json!({"facets": ["name"]}), Code::InvalidSearchFacets, "Invalid facet distribution: "),
        (
            json!({"q": "x", "hybrid": {"embedder": "e"}}),
            Code::InvalidSearchEmbedder,
            "Cannot find embedder with name `e`.",
        ),
    ] {
        let (found, message) = refused(&animals, body.clone());
        assert_eq!(found, code, "{body}: {message}");
        assert!(message.starts_with(start), "{body}: {message}");
    }
}

#[test]
fn rules_and_stages_are_named() {
    let animals = animals();
    let asked = |body: Value| answer(&animals, body).unwrap();
    let sort = json!(["secret:desc", "_geoPoint(1, 2):asc", "weight:asc"]);
    let query = json!({"q": "fox", "sort": sort, "explain": true, "facets": ["kind"]});
    let answer = asked(query);
    // As hits have them: the sort stands behind `attributeRank`.
    let of_hit: Vec<&String> = answer["hits"][0]["_explanation"]["rules"].as_object().unwrap().keys().collect();
    let rules = answer["explanation"]["rules"].as_array().unwrap();
    let names: Vec<&str> =
        rules.iter().flat_map(|seen| seen["rules"].as_array().unwrap()).map(|name| name.as_str().unwrap()).collect();
    assert_eq!(names, of_hit);
    assert!(names.contains(&"<hidden-rule-4>"), "{names:?}");
    assert!(names.contains(&"_geoPoint(1, 2):asc"), "{names:?}");
    let counts: Vec<(&Value, Option<&Value>)> =
        rules.iter().map(|seen| (&seen["documents"], seen.get("read"))).collect();
    assert_eq!(counts, [(&json!(2), None), (&json!(2), None), (&json!(2), Some(&json!(2)))]);
    let stages = |answer: &Value| -> Vec<String> {
        let stages = answer["explanation"]["stages"].as_array().unwrap().iter();
        stages.map(|stage| stage["stage"].as_str().unwrap().to_owned()).collect()
    };
    let all = ["parse", "match and filter", "split words", "rank", "hits", "facets", "format"];
    assert_eq!(stages(&answer), all);
    let placeholder = asked(json!({"explain": true}));
    assert_eq!((&placeholder["explanation"]["rules"], stages(&placeholder).len()), (&json!([]), 6));
    let any = asked(json!({"q": "fox", "matchingStrategy": "any", "sort": ["secret:desc"], "explain": true}));
    let rules = json!([{"rules": ["bm25", "<hidden-rule-1>"], "documents": 2, "read": 2, "groups": {}}]);
    assert_eq!(any["explanation"]["rules"], rules);
}

#[test]
fn what_vectors_find_is_explained() {
    let settings =
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "filterableAttributes": ["name"]});
    let documents = [
        json!({"id": 1, "name": "fox", "_vectors": {"e": [1, 0]}}),
        json!({"id": 2, "name": "dog", "_vectors": {"e": [0, 1]}}),
        json!({"id": 3, "name": "cat", "_vectors": {"e": null}}),
    ];
    let index = snapshot(settings, &documents);
    let asked = |fields: Value, id: u32| {
        let mut query = json!({"vector": [0, 2], "explain": {"documentId": id}});
        query.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
        let document = answer(&index, query).unwrap()["explanation"]["document"].clone();
        (document["reason"].as_str().unwrap().to_owned(), document["position"].clone(), document["nearness"].clone())
    };
    let near = |similarity: Value, position: Value| json!({"similarity": similarity, "position": position});
    let meant = |fields: Value| {
        let mut query = json!({"hybrid": {"embedder": "e", "semanticRatio": 1.0}});
        query.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
        query
    };
    assert_eq!(asked(meant(json!({})), 2), ("hit".into(), json!(0), near(json!(1.0), json!(0))));
    assert_eq!(asked(meant(json!({})), 3), ("hit".into(), json!(2), near(Value::Null, json!(2))));
    assert_eq!(asked(meant(json!({"limit": 1})), 1), ("outsideOfPage".into(), json!(1), near(json!(0.5), json!(1))));
    let below = ("belowRankingScoreThreshold".into(), Value::Null, near(json!(0.5), Value::Null));
    assert_eq!(asked(meant(json!({"rankingScoreThreshold": 0.6})), 1), below);
    assert_eq!(asked(meant(json!({"filter": "name = cat"})), 1).0, "filteredOut");
    assert_eq!(asked(meant(json!({})), 9).0, "documentNotFound");
    // Words miss the dog, its vector is the best there is.
    let both = json!({"q": "fox", "hybrid": {"embedder": "e"}});
    assert_eq!(asked(both.clone(), 2), ("hit".into(), json!(0), near(json!(1.0), json!(0))));
    assert_eq!(asked(both, 1), ("hit".into(), json!(1), near(json!(0.5), json!(1))));
}

#[test]
fn searches_by_words_and_by_vectors() {
    let settings = json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}});
    let documents = [
        json!({"id": 1, "name": "fox", "_vectors": {"e": [1, 0]}}),
        json!({"id": 2, "name": "dog", "_vectors": {"e": [0, 1], "other": 5}}),
        json!({"id": 3, "name": "cat", "_vectors": {"e": null}}),
    ];
    let index = snapshot(settings, &documents);
    let hybrid = answer(&index, json!({"q": "fox", "hybrid": {"embedder": "e"}, "vector": [0, 2]})).unwrap();
    assert_eq!(hybrid["hits"].as_array().unwrap().len(), 3);
    assert_eq!((&hybrid["estimatedTotalHits"], &hybrid["semanticHitCount"]), (&json!(3), &json!(2)));
    let semantic = json!({
        "hybrid": {"embedder": "e", "semanticRatio": 1.0}, "vector": [0, 2], "retrieveVectors": true, "limit": 1,
        "attributesToRetrieve": ["id"], "showRankingScoreDetails": true, "showRankingScore": true
    });
    assert_eq!(
        answer(&index, semantic).unwrap().to_string(),
        r#"{"hits":[{"id":2,"_vectors":{"e":{"embeddings":[[0.0,1.0]],"regenerate":false},"other":5},"_rankingScore":1.0,"_rankingScoreDetails":{"vectorSort":{"order":0,"similarity":1.0}}}],"query":"","queryVector":[0.0,2.0],"limit":1,"offset":0,"estimatedTotalHits":3,"semanticHitCount":1}"#
    );
    let words = answer(&index, json!({"q": "fox", "hybrid": {"embedder": "e"}})).unwrap();
    assert_eq!((words["hits"].as_array().unwrap().len(), &words["semanticHitCount"]), (1, &json!(0)));
    let unmade = refused(&index, json!({"q": "fox", "hybrid": {"embedder": "e", "semanticRatio": 1.0}}));
    assert_eq!(
        unmade,
        (
            Code::VectorEmbeddingError,
            "Error while generating embeddings: user error: attempt to embed the following text in a configuration \
             where embeddings must be user provided:\n  - `fox`"
                .into()
        )
    );
    let short = json!({"q": "fox", "hybrid": {"embedder": "e"}, "vector": [1]});
    assert_eq!(
        refused(&index, short),
        (Code::InvalidVectorDimensions, "Invalid vector dimensions: expected: `2`, found: `1`.".into())
    );
}

#[test]
fn facet_searches() {
    let animals = animals();
    let target = Target { name: "animals", uid: "animals", snapshot: &animals };
    let search = |body: Value| {
        let answer = run_facet_search(target, &FacetSearch::from_body(&body)?, &Context::now())?;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        Ok::<_, ApiError>((body, answer.cuts))
    };
    let (found, cuts) = search(json!({"facetName": "kind", "facetQuery": "f", "q": "fox"})).unwrap();
    assert_eq!(found["facetHits"], json!([{"value": "Fur", "count": 1}]));
    assert_eq!(found["facetQuery"], "f");
    assert_eq!((cuts, found.get("degraded")), (Vec::new(), None));
    let (all, _) = search(json!({"facetName": "kind"})).unwrap();
    assert_eq!(all["facetHits"].as_array().unwrap().len(), 3);
    assert_eq!(search(json!({"facetName": "name"})).unwrap_err().code, Code::InvalidFacetSearchFacetName);
    let hybrid = json!({"facetName": "kind", "q": "fox", "hybrid": {"embedder": "e"}});
    assert_eq!(search(hybrid).unwrap_err().code, Code::InvalidSearchEmbedder);
}

/// Checks that documents outside the hits do not count among the values either, even with an exhaustive count.
#[test]
fn facet_searches_count_hits() {
    let settings = json!({
        "filterableAttributes": ["kind", "group"], "distinctAttribute": "group",
        "embedders": {"e": {"source": "userProvided", "dimensions": 2}}
    });
    let documents = [
        json!({"id": 1, "name": "red fox", "kind": "wild", "group": 1, "_vectors": {"e": [1, 0]}}),
        json!({"id": 2, "name": "red fox", "kind": "wild", "group": 1, "_vectors": {"e": [1, 0]}}),
        json!({"id": 3, "name": "red", "kind": "tame", "group": 2, "_vectors": {"e": [0, 1]}}),
        json!({"id": 4, "name": "red", "kind": "wild", "group": 3, "_vectors": {"e": [0.1, 1]}}),
    ];
    let by_meaning = json!({"vector": [0, 1], "hybrid": {"embedder": "e", "semanticRatio": 1.0}});
    let kinds = |settings: &Value, fields: Value| {
        let index = snapshot(settings.clone(), &documents);
        let counted = |is_exhaustive: Option<bool>| {
            let mut body = json!({"facetName": "kind", "exhaustiveFacetCount": is_exhaustive});
            body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
            let asked = FacetSearch::from_body(&body).unwrap();
            let target = Target { name: "x", uid: "x", snapshot: &index };
            let answer = run_facet_search(target, &asked, &Context::now()).unwrap();
            let answer: Value = serde_json::from_slice(&answer.body).unwrap();
            let hits = answer["facetHits"].as_array().unwrap().iter();
            hits.map(|hit| format!("{}{}", hit["value"].as_str().unwrap(), hit["count"])).collect::<Vec<_>>().join(" ")
        };
        let plain = counted(None);
        for is_exhaustive in [false, true] {
            assert_eq!(counted(Some(is_exhaustive)), plain, "{fields}");
        }
        let mut query = json!({"facets": ["kind"], "page": 1});
        query.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let distribution = answer(&index, query).unwrap()["facetDistribution"]["kind"].clone();
        let shown: Vec<String> =
            distribution.as_object().unwrap().iter().map(|(value, count)| format!("{value}{count}")).collect();
        assert_eq!(shown.join(" "), plain, "as a search counts them: {fields}");
        plain
    };
    let with_threshold = |mut fields: Value, least: f64| {
        fields["rankingScoreThreshold"] = json!(least);
        fields
    };
    let words = json!({"q": "red fox"});
    assert_eq!(kinds(&settings, words.clone()), "tame1 wild2");
    assert_eq!(kinds(&settings, with_threshold(words.clone(), 0.9)), "wild1");
    assert_eq!(kinds(&settings, with_threshold(by_meaning.clone(), 0.9)), "tame1 wild1");
    let mut without_distinct = settings.clone();
    without_distinct["distinctAttribute"] = Value::Null;
    assert_eq!(kinds(&without_distinct, words.clone()), "tame1 wild3");
    assert_eq!(kinds(&without_distinct, with_threshold(words, 0.9)), "wild2");
    assert_eq!(kinds(&without_distinct, with_threshold(by_meaning, 0.9)), "tame1 wild1");
}

#[test]
fn a_field_may_be_open_to_facet_search_alone() {
    let no_filters = json!({"facetSearch": true, "filter": {"equality": false, "comparison": false}});
    let rules = json!([{"attributePatterns": ["kind"], "features": no_filters}]);
    let index = snapshot(json!({"filterableAttributes": rules}), &[json!({"id": 1, "kind": "wild"})]);
    let target = Target { name: "x", uid: "x", snapshot: &index };
    let asked = FacetSearch::from_body(&json!({"facetName": "kind"})).unwrap();
    let body: Value = serde_json::from_slice(&run_facet_search(target, &asked, &Context::now()).unwrap().body).unwrap();
    assert_eq!(body["facetHits"], json!([{"value": "wild", "count": 1}]));
    assert_eq!(refused(&index, json!({"filter": "kind = wild"})).0, Code::InvalidSearchFilter);
    assert_eq!(refused(&index, json!({"facets": ["kind"]})).0, Code::InvalidSearchFacets);
}

#[test]
fn similar_documents_say_what_is_wrong_first() {
    let index = snapshot(
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}}),
        &[json!({"id": 1, "_vectors": {"e": null}})],
    );
    let target = Target { name: "x", uid: "x", snapshot: &index };
    let refused =
        |body: Value| run_similar(target, &SimilarQuery::from_body(&body).unwrap(), &Context::now()).unwrap_err().code;
    assert_eq!(refused(json!({"id": 1, "embedder": "x"})), Code::InvalidSimilarEmbedder);
    assert_eq!(refused(json!({"id": 2, "embedder": "e"})), Code::NotFoundSimilarId);
    assert_eq!(refused(json!({"id": 1, "embedder": "e", "filter": "a ="})), Code::InvalidSimilarFilter);
}

#[test]
fn documents_similar_to_one() {
    let settings = json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}});
    let vectors = [json!([1, 0]), json!([0, 1]), json!([1, 0.1]), json!(null)];
    let documents: Vec<Value> =
        (1..).zip(vectors).map(|(id, vector): (u32, _)| json!({"id": id, "_vectors": {"e": vector}})).collect();
    let index = snapshot(settings, &documents);
    let target = Target { name: "x", uid: "x", snapshot: &index };
    let like = |body: Value| -> Value {
        let query = SimilarQuery::from_body(&body).unwrap();
        serde_json::from_slice(&run_similar(target, &query, &Context::now()).unwrap().body).unwrap()
    };
    let found = like(json!({"id": 1, "embedder": "e", "showRankingScore": true}));
    let ids: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    // Document 4 has no vector: it counts, and is no hit.
    assert_eq!(ids, [3, 2]);
    assert_eq!((&found["id"], &found["estimatedTotalHits"]), (&json!("1"), &json!(3)));
    assert_eq!(found["hits"][1]["_rankingScore"], 0.5);
    let nothing = like(json!({"id": 4, "embedder": "e"}));
    assert_eq!((&nothing["hits"], &nothing["estimatedTotalHits"]), (&json!([]), &json!(3)));
}
