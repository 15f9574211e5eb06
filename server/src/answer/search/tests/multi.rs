//! Several searches in one request.

use super::*;

fn states<const N: usize>(states: [(&str, Arc<Snapshot>); N]) -> Snapshots {
    states.map(|(uid, snapshot)| NamedSnapshot::named(&Aliases::default().resolve(uid.to_owned()), snapshot)).into()
}

/// The answer to a multi-search over `animals` and a second index, `plants`.
fn multi(body: Value) -> ApiResult<Value> {
    let plants = snapshot(
        json!({"filterableAttributes": ["kind"], "sortableAttributes": ["weight"]}),
        &[json!({"id": 1, "name": "fox glove", "kind": "wild", "weight": 6}), json!({"id": 2, "name": "rose"})],
    );
    let snapshots = states([("animals", animals()), ("plants", plants)]);
    let asked = MultiSearch::from_body(&body)?;
    let context = Context::now();
    let answer = match &asked.federation {
        Some(federation) => run_federated(&snapshots, &asked.queries, federation, &context, false),
        None => run_multi(&snapshots, &BTreeMap::new(), &asked.queries, &context, false),
    }?;
    Ok(serde_json::from_slice(&answer.body).unwrap())
}

#[test]
fn searches_one_by_one() {
    let answer = multi(json!({"queries": [{"indexUid": "plants", "q": "rose"}, {"indexUid": "animals", "limit": 1}]}));
    let answer = answer.unwrap();
    assert_eq!(answer["results"][0]["indexUid"], "plants");
    assert_eq!(answer["results"][0]["hits"], json!([{"id": 2, "name": "rose"}]));
    assert_eq!(answer["results"][1]["estimatedTotalHits"], 3);
    let error = multi(json!({"queries": [{"indexUid": "plants"}, {"indexUid": "nope"}]})).unwrap_err();
    assert_eq!((error.code, error.status()), (Code::IndexNotFound, 400));
    assert_eq!(error.message, "Inside `.queries[1]`: Index `nope` not found.");
    let error = multi(json!({"queries": [{"indexUid": "plants", "federationOptions": {}}]})).unwrap_err();
    assert_eq!(error.code, Code::InvalidMultiSearchFederationOptions);
}

/// Checks that a search that has not begun when the time of the request is over has no hits, and reports that.
#[test]
fn late_searches_have_no_hits() {
    let snapshots = states([("animals", animals())]);
    let queries = json!([{"indexUid": "animals", "q": "fox", "facets": ["kind"], "page": 1}, {"indexUid": "animals"}]);
    let context = Context { pace: Pace::begin(Duration::ZERO, Asker::default()), ..Context::now() };
    let asked = MultiSearch::from_body(&json!({ "queries": queries })).unwrap();
    let answer = run_multi(&snapshots, &BTreeMap::new(), &asked.queries, &context, false).unwrap();
    assert_eq!((answer.outcomes.degraded, answer.cuts), (2, vec!["searchCutoffMs".to_owned()]));
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!((&body["results"][0]["hits"], &body["results"][0]["totalHits"]), (&json!([]), &json!(0)));
    assert_eq!((&body["results"][1]["degraded"], &body["results"][1]["estimatedTotalHits"]), (&json!(true), &json!(0)));
    let merged = json!({"federation": {}, "queries": [{"indexUid": "animals"}, {"indexUid": "animals", "q": "fox"}]});
    let asked = MultiSearch::from_body(&merged).unwrap();
    let federation = asked.federation.as_ref().unwrap();
    let answer = run_federated(&snapshots, &asked.queries, federation, &context, false).unwrap();
    assert_eq!((answer.outcomes.degraded, answer.cuts), (2, vec!["searchCutoffMs".to_owned()]));
    // A mistake is one, whether there is time or not.
    let wrong = json!({"queries": [{"indexUid": "animals", "filter": "nothing ="}]});
    let wrong = MultiSearch::from_body(&wrong).unwrap();
    let refused = run_multi(&snapshots, &BTreeMap::new(), &wrong.queries, &context, false).unwrap_err();
    assert_eq!(refused.code, Code::InvalidSearchFilter);
}

/// Each query of a merged list is explained, and whether a document is a hit of the list.
#[test]
fn queries_of_a_merged_list_are_explained() {
    let federated = |fields: Value, queries: Value| multi(json!({"federation": fields, "queries": queries})).unwrap();
    let ask = |id: u32| json!({"documentId": id});
    let queries = json!([
        {"indexUid": "animals", "q": "fox", "explain": ask(2)}, {"indexUid": "plants", "q": "rose"},
        {"indexUid": "plants", "q": "fox", "explain": true}, {"indexUid": "animals", "q": "cat", "explain": ask(1)}
    ]);
    let answer = federated(json!({}), queries.clone());
    assert_eq!(answer.get("explanation"), None);
    let entries = answer["explanations"].as_array().unwrap();
    let of: Vec<(&Value, &Value)> = entries.iter().map(|one| (&one["indexUid"], &one["queriesPosition"])).collect();
    let expected = [("animals", 0), ("plants", 2), ("animals", 3)].map(|(uid, position)| (json!(uid), json!(position)));
    assert_eq!(of, expected.iter().map(|(uid, position)| (uid, position)).collect::<Vec<_>>());
    let first = &entries[0]["explanation"];
    assert_eq!((&first["words"], &first["document"]["reason"]), (&json!(["fox"]), &json!("hit")));
    assert_eq!(first["document"]["position"], 1);
    let stages: Vec<&str> =
        first["stages"].as_array().unwrap().iter().map(|stage| stage["stage"].as_str().unwrap()).collect();
    assert_eq!((stages[0], stages[stages.len() - 1]), ("parse", "format"));
    assert_eq!(entries[1]["explanation"].get("document"), None);
    // It is no hit of its query, whatever another one finds.
    assert_eq!(entries[2]["explanation"]["document"]["reason"], "missingWords");
    let document = |federation: Value| {
        let answer = federated(federation, queries.clone());
        let document = &answer["explanations"][0]["explanation"]["document"];
        assert_eq!(document["isHit"], document["reason"] == "hit");
        document["reason"].as_str().unwrap().to_owned()
    };
    assert_eq!(document(json!({"limit": 2})), "outsideOfPage");
    // It is the fourth of the merged list.
    assert_eq!(document(json!({"page": 1, "hitsPerPage": 3})), "outsideOfPage");
    assert_eq!(document(json!({"page": 2, "hitsPerPage": 3})), "hit");
    assert_eq!(document(json!({"distinct": "kind"})), "notDistinct");
    let silent = federated(json!({}), json!([{"indexUid": "animals"}, {"indexUid": "plants", "explain": false}]));
    assert_eq!(silent.get("explanations"), None);
    let performance = federated(json!({"showPerformanceDetails": true}), json!([{"indexUid": "plants"}]));
    assert!(performance["performanceDetails"]["queries[0] > format"].is_string(), "{performance}");
}

#[test]
fn searches_merged_into_one_list() {
    let federated = |fields: Value, queries: Value| multi(json!({"federation": fields, "queries": queries}));
    let names = |answer: &Value| -> Vec<String> {
        let name = |hit: &Value| format!("{} {}", hit["_federation"]["indexUid"].as_str().unwrap(), hit["id"]);
        answer["hits"].as_array().unwrap().iter().map(name).collect()
    };
    let both = json!([{"indexUid": "animals", "q": "fox"}, {"indexUid": "plants", "q": "fox"}]);
    let answer = federated(json!({}), both.clone()).unwrap();
    assert_eq!(names(&answer), ["plants 1", "animals 1", "animals 2"]);
    assert_eq!(answer["estimatedTotalHits"], 3);
    assert_eq!(answer["hits"][0]["_federation"]["queriesPosition"], 1);
    let page = federated(json!({"page": 2, "hitsPerPage": 2}), both.clone()).unwrap();
    assert_eq!((names(&page), &page["totalHits"]), (vec!["animals 2".to_owned()], &json!(3)));
    let weighted = json!([
        {"indexUid": "animals", "q": "fox"}, {"indexUid": "plants", "q": "fox", "federationOptions": {"weight": 0.1}}
    ]);
    assert_eq!(names(&federated(json!({}), weighted).unwrap()), ["animals 1", "animals 2", "plants 1"]);
    let twice = json!([{"indexUid": "animals", "q": "fox"}, {"indexUid": "animals", "q": "arctic"}]);
    assert_eq!(federated(json!({}), twice).unwrap()["hits"].as_array().unwrap().len(), 2);
    let sorted = json!([
        {"indexUid": "animals", "sort": ["weight:asc"]}, {"indexUid": "plants", "sort": ["weight:asc"]}
    ]);
    assert_eq!(names(&federated(json!({"limit": 3}), sorted).unwrap()), ["animals 2", "plants 1", "animals 1"]);
    let opposed = json!([
        {"indexUid": "animals", "sort": ["weight:asc"]}, {"indexUid": "plants", "sort": ["weight:desc"]}
    ]);
    assert_eq!(federated(json!({}), opposed).unwrap_err().code, Code::InvalidMultiSearchQueryRankingRules);
    let counted = json!({
        "distinct": "kind", "limit": 0, "mergeFacets": {}, "facetsByIndex": {"animals": ["kind"], "plants": ["kind"]}
    });
    let distinct = federated(json!({"distinct": "kind"}), both.clone()).unwrap();
    assert_eq!((names(&distinct), &distinct["estimatedTotalHits"]), (vec!["plants 1".to_owned()], &json!(1)));
    let counted = federated(counted, both).unwrap();
    assert_eq!(counted["facetDistribution"], json!({"kind": {"wild": 1}}));
    let everything = json!([{"indexUid": "animals"}, {"indexUid": "plants"}]);
    let page = federated(json!({"distinct": "kind", "hitsPerPage": 1}), everything).unwrap();
    assert_eq!(page["totalPages"], page["totalHits"]);
}

#[test]
fn metadata_of_a_merged_list_names_its_queries() {
    let snapshots = states([("animals", animals())]);
    let asked = json!({"federation": {}, "queries": [{"indexUid": "animals", "q": "fox"}, {"indexUid": "animals"}]});
    let asked = MultiSearch::from_body(&asked).unwrap();
    let federation = asked.federation.as_ref().unwrap();
    let answer = run_federated(&snapshots, &asked.queries, federation, &Context::now(), true).unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let entries = body["metadata"].as_array().unwrap().iter().map(|one| (&one["indexUid"], &one["query"]));
    assert_eq!(entries.collect::<Vec<_>>(), [(&json!("animals"), &json!("fox")), (&json!("animals"), &Value::Null)]);
}

/// The value that leads the sums leads in neither index, and stands beyond what either of them lists.
#[test]
fn merged_facets_are_exact() {
    let index = |own: &str| {
        let documents: Vec<Value> = (0..30u32)
            .map(|id| json!({"id": id, "kind": if id < 20 { format!("{own}{}", id / 4) } else { format!("both{}", id / 3) }}))
            .collect();
        let faceting = json!({"maxValuesPerFacet": 2, "sortFacetValuesBy": {"kind": "count"}});
        snapshot(json!({"filterableAttributes": ["kind"], "faceting": faceting}), &documents)
    };
    let snapshots = states([("a", index("a")), ("b", index("b"))]);
    let asked = MultiSearch::from_body(&json!({
        "queries": [{"indexUid": "a"}, {"indexUid": "b"}],
        "federation": {"facetsByIndex": {"a": ["kind"], "b": ["kind"]}, "mergeFacets": {"maxValuesPerFacet": 2}},
    }))
    .unwrap();
    let federation = asked.federation.as_ref().unwrap();
    let answer = run_federated(&snapshots, &asked.queries, federation, &Context::now(), false).unwrap();
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["facetDistribution"].to_string(), r#"{"kind":{"both7":6,"both8":6}}"#);
    assert_eq!(answer.cuts, ["maxValuesPerFacet:kind"]);
}

#[test]
fn facets_of_merged_searches() {
    let queries = json!([{"indexUid": "animals", "q": "fox"}, {"indexUid": "plants"}]);
    let by_index = json!({"facetsByIndex": {"animals": ["kind"], "plants": ["kind"]}});
    let answer = multi(json!({"federation": by_index, "queries": queries})).unwrap();
    assert_eq!(answer["facetsByIndex"]["plants"], json!({"distribution": {"kind": {"wild": 1}}, "stats": {}}));
    // Of an index that no query searches there is nothing to report.
    let answer = multi(json!({"federation": by_index, "queries": [{"indexUid": "animals"}]})).unwrap();
    assert_eq!(answer["facetsByIndex"].as_object().unwrap().keys().collect::<Vec<_>>(), ["animals"]);
    let answer = multi(json!({"federation": by_index, "queries": []})).unwrap();
    assert_eq!(answer.get("facetsByIndex"), None);
    let merged = json!({"facetsByIndex": {"animals": ["kind"], "plants": ["kind"]}, "mergeFacets": {}});
    let answer = multi(json!({"federation": merged, "queries": queries})).unwrap();
    assert_eq!(answer["facetDistribution"], json!({"kind": {"Fur": 1, "wild": 3}}));
    assert_eq!(answer.get("facetsByIndex"), None);
    let error = multi(json!({"federation": {"facetsByIndex": {"animals": ["name"]}}, "queries": []})).unwrap_err();
    assert_eq!(error.code, Code::InvalidSearchFacets);
    assert!(error.message.starts_with("Inside `.federation.facetsByIndex.animals`: Invalid facet"), "{error}");
    assert!(error.message.ends_with("\n - Note: index `animals` is not used in queries"), "{error}");
}
