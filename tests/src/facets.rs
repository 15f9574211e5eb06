//! Values of facets over HTTP: what is one value, in which order values come, and totals that can be paged to.

use serde_json::{Value, json};

use crate::server::Server;

/// Name and count of the values of a facet, in the order of the answer.
fn listed(answer: &Value, facet: &str) -> Vec<(String, u64)> {
    let values = answer["facetDistribution"][facet].as_object().expect("the facet is there");
    values.iter().map(|(value, count)| (value.clone(), count.as_u64().expect("a count"))).collect()
}

fn found(server: &Server, index: &str, filter: Value) -> u64 {
    server.search(index, json!({"filter": filter, "limit": 0}))["estimatedTotalHits"].as_u64().expect("a total")
}

fn models() -> Value {
    let rows = [
        (json!(308), "a"),
        (json!(308), "a"),
        (json!("308"), "b"),
        (json!("308 SW"), "b"),
        (json!([3008, "3008"]), "a"),
        (json!("3008"), "a"),
        (json!(0.5), "b"),
        (json!(" 0.5"), "b"),
        (json!("0.50"), "b"),
        (json!("b"), "b"),
    ];
    (0..).zip(rows).map(|(id, (model, kind)): (u64, _)| json!({"id": id, "model": model, "kind": kind})).collect()
}

#[test]
fn a_number_and_a_text_that_look_alike_are_one_value() {
    let server = Server::start();
    server.add("cars", models());
    server.set("cars", json!({"filterableAttributes": ["model", "kind"]}));
    for filter in [json!([]), json!("kind = a"), json!("kind = b")] {
        let answer = server.search("cars", json!({"facets": ["model"], "filter": filter}));
        for (value, count) in listed(&answer, "model") {
            assert_eq!(
                count,
                found(&server, "cars", json!([format!("model = '{value}'"), filter])),
                "{value} {filter}"
            );
        }
        assert_eq!(answer["facetStats"]["model"]["min"], if filter == "kind = a" { 308.0 } else { 0.5 });
    }
    let searched = |query: Value| server.post("/indexes/cars/facet-search", query).ok()["facetHits"].clone();
    assert_eq!(
        searched(json!({"facetName": "model", "facetQuery": "308"})),
        json!([{"value": "308", "count": 3}, {"value": "308 SW", "count": 1}])
    );
    // One document of each value.
    let answer = server.search("cars", json!({"facets": ["model"], "distinct": "model", "filter": "model = 308"}));
    assert_eq!((&answer["estimatedTotalHits"], listed(&answer, "model")), (&json!(1), vec![("308".to_owned(), 1)]));
}

#[test]
fn counts_decide_the_order_whatever_the_type() {
    let server = Server::start();
    let values = [json!(42), json!("5"), json!("5"), json!("5"), json!(7), json!(7), json!("b")];
    server.add("v", (0..).zip(values).map(|(id, v): (u64, _)| json!({"id": id, "v": v})).collect());
    server.set("v", json!({"filterableAttributes": ["v"], "faceting": {"sortFacetValuesBy": {"*": "count"}}}));
    let values = |limit: u64| {
        server.set("v", json!({"faceting": {"maxValuesPerFacet": limit}}));
        listed(&server.search("v", json!({"facets": ["v"]})), "v")
    };
    let all = [("5", 3), ("7", 2), ("42", 1), ("b", 1)].map(|(value, count)| (value.to_owned(), count));
    assert_eq!(values(100), all);
    assert_eq!(values(1), all[..1]);
}

#[test]
fn merged_facets_join_what_looks_alike() {
    let server = Server::start();
    server.add("one", json!([{"id": 1, "c": 42}, {"id": 2, "c": "5"}, {"id": 3, "c": 5}, {"id": 4, "c": "5.0"}]));
    // So many texts before `7` that a list of them ends before it.
    let others = (0..150).map(|n| json!({"id": n + 20, "c": format!("{n:04}x")}));
    let two = [json!({"id": 5, "c": "5"}), json!({"id": 6, "c": 7}), json!({"id": 7, "c": 5})];
    server.add("two", two.into_iter().chain(others.clone()).collect());
    server.add("three", others.chain([json!({"id": 8, "c": "7"})]).collect());
    for order in ["alpha", "count"] {
        for index in ["one", "two", "three"] {
            server.set(index, json!({"filterableAttributes": ["c"], "faceting": {"sortFacetValuesBy": {"*": order}}}));
        }
        let body = json!({
            "federation": {"facetsByIndex": {"one": ["c"], "two": ["c"], "three": ["c"]}, "mergeFacets": {}},
            "queries": [{"indexUid": "one"}, {"indexUid": "two"}, {"indexUid": "three"}],
        });
        let merged = listed(&server.post("/multi-search", body).ok(), "c");
        assert_eq!(merged.len(), 100);
        let sum =
            |value: &str| ["one", "two", "three"].map(|index| found(&server, index, json!(format!("c = '{value}'"))));
        for (value, count) in merged {
            assert_eq!(count, sum(&value).iter().sum::<u64>(), "{value} by {order}");
        }
    }
}

#[test]
fn the_empty_text_is_a_value() {
    let server = Server::start();
    server.add(
        "t",
        json!([
            {"id": 1, "tag": ""}, {"id": 2, "tag": "  "}, {"id": 3, "tag": ["x", ""]}, {"id": 4, "tag": "x"},
            {"id": 5, "tag": []}, {"id": 6, "tag": null}, {"id": 7},
        ]),
    );
    server.set("t", json!({"filterableAttributes": ["tag"]}));
    let check = |when: &str| {
        for (filter, expected) in [
            ("tag = ''", &[1, 2, 3][..]),
            ("tag = \"  \"", &[1, 2, 3]),
            ("tag != ''", &[4, 5, 6, 7]),
            ("NOT tag = ''", &[4, 5, 6, 7]),
            ("tag IN ['', y]", &[1, 2, 3]),
            ("tag IN ['', x]", &[1, 2, 3, 4]),
            ("tag NOT IN ['', x]", &[5, 6, 7]),
            ("tag = '' AND tag = x", &[3]),
            ("tag = '' OR tag = x", &[1, 2, 3, 4]),
            ("missing = ''", &[]),
            ("tag IS EMPTY", &[1, 5]),
            ("tag > ''", &[3, 4]),
        ] {
            let filterable = json!({"filterableAttributes": ["tag", "missing"]});
            if filter.contains("missing") {
                server.set("t", filterable);
            }
            assert_eq!(server.ids("t", json!({"filter": filter})), expected, "{filter} {when}");
        }
        let answer = server.search("t", json!({"facets": ["tag"]}));
        assert_eq!(listed(&answer, "tag"), [("x".to_owned(), 2)], "it is not counted");
    };
    check("as written");
    // Written again, so that segments are joined.
    server.add("t", json!([{"id": 4, "tag": "x"}, {"id": 7}]));
    server.done(&server.post("/indexes/t/compact", json!(null)));
    check("after a merge");
}

#[test]
fn totals_stop_where_paging_does() {
    let server = Server::start();
    server.add("f", (0..20).map(|id| json!({"id": id, "t": "film", "g": id % 2})).collect());
    server.set("f", json!({"filterableAttributes": ["g"], "pagination": {"maxTotalHits": 7}}));
    let pages = |query: Value| {
        let mut shown = Vec::new();
        for page in 1.. {
            let mut query = query.clone();
            query["page"] = json!(page);
            query["hitsPerPage"] = json!(3);
            let answer = server.search("f", query);
            assert_eq!((&answer["totalHits"], &answer["totalPages"]), (&json!(7), &json!(3)));
            let hits = answer["hits"].as_array().unwrap().len();
            assert_eq!(hits > 0, page <= 3, "page {page}");
            if hits == 0 {
                return shown;
            }
            shown.push(hits);
        }
        unreachable!("pages end")
    };
    assert_eq!(pages(json!({"q": "film"})), [3, 3, 1]);
    assert_eq!(pages(json!({"sort": []})), [3, 3, 1]);
    let answer = server.search("f", json!({"offset": 5, "facets": ["g"]}));
    assert_eq!((&answer["estimatedTotalHits"], answer["hits"].as_array().unwrap().len()), (&json!(7), 2));
    assert_eq!(listed(&answer, "g"), [("0".to_owned(), 10), ("1".to_owned(), 10)], "facets count all that match");

    server.add("g", (0..5).map(|id| json!({"id": id, "t": "film"})).collect());
    // Two queries of one index find more than it gives.
    let queries = json!([
        {"indexUid": "f", "filter": "g = 0"}, {"indexUid": "f", "filter": "g = 1"}, {"indexUid": "g"},
    ]);
    let federated =
        |federation: Value| server.post("/multi-search", json!({"federation": federation, "queries": queries})).ok();
    let mut shown = 0;
    for page in 1..=3 {
        let answer = federated(json!({"page": page, "hitsPerPage": 4}));
        assert_eq!((&answer["totalHits"], &answer["totalPages"]), (&json!(12), &json!(3)));
        shown += answer["hits"].as_array().unwrap().len();
    }
    assert_eq!(shown, 12);
    assert_eq!(federated(json!({"limit": 50}))["hits"].as_array().unwrap().len(), 12);

    // Without pages, an index that keeps the default estimates all that were found, as recorded answers do.
    server.set("f", json!({"pagination": null}));
    server.add("f", (20..1010).map(|id| json!({"id": id, "t": "film", "g": id % 2})).collect());
    assert_eq!(server.search("f", json!({}))["estimatedTotalHits"], 1010);
    // Pages that are counted have hits.
    let last = server.search("f", json!({"page": 50, "hitsPerPage": 20}));
    assert_eq!((&last["totalHits"], &last["totalPages"]), (&json!(1000), &json!(50)));
    assert_eq!(last["hits"].as_array().unwrap().len(), 20);
    let merged = server.post(
        "/multi-search",
        json!({"federation": {"page": 50, "hitsPerPage": 20}, "queries": [
        {"indexUid": "f", "filter": "g = 0"}, {"indexUid": "f", "filter": "g = 1"}]}),
    );
    let merged = merged.ok();
    assert_eq!((&merged["totalHits"], &merged["totalPages"]), (&json!(1000), &json!(50)));
    assert_eq!(merged["hits"].as_array().unwrap().len(), 20);
}

#[test]
fn ranges_histograms_and_statistics() {
    let server = Server::start();
    let goods = json!([
        {"id": 1, "kind": "a", "price": 9.99, "sold": "2024-02-29T23:30:00Z", "_geo": {"lat": 0, "lng": 0.001}},
        {"id": 2, "kind": "a", "price": [10, 25], "sold": "2024-03-01", "_geo": {"lat": 0, "lng": 1}},
        {"id": 3, "kind": "b", "price": 20, "sold": 1_709_294_400},
        {"id": 4, "kind": "b", "price": "12", "sold": "soon"},
    ]);
    server.add("goods", goods);
    server.set("goods", json!({"filterableAttributes": ["kind", "price", "sold", "_geo"]}));
    let details = |facets: Value| server.search("goods", json!({"limit": 0, "facets": facets}))["facetDetails"].clone();
    assert_eq!(
        details(json!([
            {"facet": "price", "ranges": [{"to": 10, "label": "cheap"}, {"from": 10, "to": 20}, {"from": 10}]},
            {"facet": "price", "histogram": {"interval": 10}, "statistics": {"percentiles": [50]}},
        ])),
        json!([
            {"facet": "price", "ranges": [
                {"label": "cheap", "to": 10, "count": 1}, {"from": 10, "to": 20, "count": 1}, {"from": 10, "count": 2},
            ]},
            {
                "facet": "price",
                "histogram": [
                    {"from": 0.0, "to": 10.0, "count": 1}, {"from": 10.0, "to": 20.0, "count": 1},
                    {"from": 20.0, "to": 30.0, "count": 2},
                ],
                "statistics": {
                    "count": 4, "sum": 64.99, "mean": 16.2475, "min": 9.99, "max": 25.0, "percentiles": {"50": 10.0},
                },
            },
        ])
    );
    let by_month = |zone: &str| {
        details(json!([{"facet": "sold", "histogram": {"interval": "month", "timeZone": zone}}]))[0]["histogram"]
            .clone()
    };
    assert_eq!(
        by_month("Europe/Paris"),
        json!([{"from": "2024-03-01T00:00:00+01:00", "to": "2024-04-01T00:00:00+02:00", "count": 3}])
    );
    assert_eq!(by_month("UTC")[0], json!({"from": "2024-02-01T00:00:00Z", "to": "2024-03-01T00:00:00Z", "count": 1}));
    let near = json!([{"facet": "_geo", "origin": {"lat": 0, "lng": 0}, "ranges": [{"to": 1000}, {"from": 1000}]}]);
    assert_eq!(details(near)[0]["ranges"], json!([{"to": 1000, "count": 1}, {"from": 1000, "count": 1}]));

    // Filters and names beside it count as ever.
    let answer = server.search(
        "goods",
        json!({"filter": "kind = b", "facets": ["kind", {"facet": "price", "ranges": [{"from": 0}]}]}),
    );
    assert_eq!(answer["facetDetails"], json!([{"facet": "price", "ranges": [{"from": 0, "count": 1}]}]));
    assert_eq!(answer["facetDistribution"], json!({"kind": {"b": 2}}));
    assert_eq!(server.search("goods", json!({"facets": ["kind"]})).get("facetDetails"), None);
}

#[test]
fn measures_that_are_refused() {
    let server = Server::start();
    server.add("many", (0..1001).map(|id| json!({"id": id, "n": id, "m": id})).collect());
    server.set("many", json!({"filterableAttributes": ["n"]}));
    let price = json!({"facet": "n", "statistics": true});
    let refused = |facets: Value, says: &str| {
        let answer = server.post("/indexes/many/search", json!({"facets": facets}));
        answer.refused(400, "invalid_search_facets");
        assert!(answer.text.contains(says), "{}", answer.text);
    };
    refused(json!([{"facet": "m", "statistics": true}]), "Pattern `m` is not filterable");
    refused(json!([{"facet": "n", "histogram": {"interval": 1}}]), "more than 1000 buckets");
    refused(json!([{"facet": "_geo", "origin": {"lat": 0, "lng": 0}, "statistics": true}]), "`_geo` is not filterable");
    refused(json!([{"facet": "n"}]), "Request `ranges`");
    refused(json!(vec![price.clone(); 51]), "at most 50 are allowed");
    let federated = json!({"federation": {}, "queries": [{"indexUid": "many", "facets": [price]}]});
    let answer = server.post("/multi-search", federated);
    answer.refused(400, "invalid_multi_search_query_facets");
    assert!(answer.text.contains("pass them among `federation.facetsByIndex.many`"), "{}", answer.text);
}

#[test]
fn merged_lists_are_measured_as_one_index_would_be() {
    let server = Server::start();
    let goods = |rest: u64| -> Value {
        (0..40u64)
            .filter(|id| id % 2 == rest)
            .map(|id| json!({"id": id, "word": "x", "price": id * id % 37, "many": [id % 5, 9]}))
            .collect()
    };
    for (index, documents) in [
        ("even", goods(0)),
        ("odd", goods(1)),
        ("all", [goods(0), goods(1)].iter().flat_map(|half| half.as_array().unwrap().clone()).collect()),
    ] {
        server.set(index, json!({"filterableAttributes": ["price", "many"]}));
        server.add(index, documents);
    }
    let asked = json!([
        {"facet": "price", "ranges": [{"to": 10, "label": "cheap"}, {"from": 10}], "histogram": {"interval": 5}, "statistics": {"percentiles": [25, 50, 90]}},
        {"facet": "many", "ranges": [{"from": 3}], "histogram": {"interval": 2}},
    ]);
    let mut whole = server.search("all", json!({"q": "x", "filter": "price != 3", "limit": 0, "facets": asked}));
    let queries = ["even", "odd"].map(|index| json!({"indexUid": index, "q": "x", "filter": "price != 3"}));
    let federated =
        |federation: Value| server.post("/multi-search", json!({"federation": federation, "queries": queries}));
    let both = json!({"even": asked, "odd": asked});
    let merged = federated(json!({"limit": 0, "facetsByIndex": both, "mergeFacets": {}})).ok();
    assert_eq!(merged["facetDetails"], whole["facetDetails"].take());
    assert_eq!(merged["facetDistribution"], json!({}));
    let apart = federated(json!({"limit": 0, "facetsByIndex": {"even": asked, "odd": ["price"]}})).ok();
    let even = server.search("even", json!({"q": "x", "filter": "price != 3", "limit": 0, "facets": asked}));
    assert_eq!(apart["facetsByIndex"]["even"]["details"], even["facetDetails"]);
    assert_eq!(apart["facetsByIndex"]["odd"].get("details"), None);
    assert_eq!(apart.get("facetDetails"), None);

    let refused = |by_index: Value| {
        let answer = federated(json!({"facetsByIndex": by_index, "mergeFacets": {}}));
        answer.refused(400, "invalid_multi_search_facets_by_index");
        answer.text
    };
    assert!(refused(json!({"even": [{"facet": "word", "statistics": true}]})).contains("`word` is not filterable"));
    refused(json!({"even": [1]}));
    refused(json!({"even": vec![asked[0].clone(); 51]}));
    refused(json!({"even": [{"facet": "price"}]}));
}

/// An object is asked for with what is in it, whether the settings name it or a pattern does.
#[test]
fn an_object_is_counted_by_its_children() {
    let objects =
        || (0..3).map(|id| json!({"id": id, "o": {"a": 1, "b": {"c": id}}, "l": [{"x": 1}, {"x": 2}]})).collect();
    let everything = json!([{"attributePatterns": ["*"]}]);
    for (number, filterable) in
        [json!(["o", "l"]), json!(["o", "o.*", "l", "l.*"]), everything, json!([{"attributePatterns": ["o*", "l*"]}])]
            .into_iter()
            .enumerate()
    {
        let server = Server::start();
        let index = format!("objects-{number}");
        server.set(&index, json!({ "filterableAttributes": filterable }));
        server.add(&index, objects());
        let counts =
            |facet: &str| server.search(&index, json!({"facets": [facet], "limit": 0}))["facetDistribution"].clone();
        let expected = json!({"o": {}, "o.a": {"1": 3}, "o.b": {}, "o.b.c": {"0": 1, "1": 1, "2": 1}});
        assert_eq!(counts("o"), expected, "{filterable}");
        assert_eq!(counts("l")["l.x"], json!({"1": 3, "2": 3}), "{filterable}");
        assert_eq!(counts("o.b"), json!({"o.b": {}, "o.b.c": {"0": 1, "1": 1, "2": 1}}), "{filterable}");
    }
}
