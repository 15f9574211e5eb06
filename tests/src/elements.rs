//! Filters on one element of an array of objects, over HTTP.

use serde_json::{Value, json};

use crate::server::Server;

#[test]
fn one_element_passes_all_conditions() {
    let server = Server::start();
    server.add(
        "goods",
        json!([
            {"id": 1, "name": "boot", "offers": [{"price": 8, "stock": 0}, {"price": 12, "stock": 3}]},
            {"id": 2, "name": "boot", "offers": [{"price": 9, "stock": 5, "sizes": [{"eu": 42, "left": 1}]}]},
            {"id": 3, "name": "shoe", "offers": {"price": 7, "stock": 1}},
            {"id": 4, "name": "shoe"},
        ]),
    );
    server.set("goods", json!({"filterableAttributes": ["offers"]}));
    let check = |when: &str| {
        for (filter, expected) in [
            ("offers.price < 10 AND offers.stock > 0", &[1, 2, 3][..]),
            ("offers[price < 10 AND stock > 0]", &[2, 3]),
            ("NOT offers[price < 10 AND stock > 0]", &[1, 4]),
            ("offers[sizes[eu = 42 AND left > 0]]", &[2]),
        ] {
            assert_eq!(server.ids("goods", json!({"filter": filter})), expected, "{when}: {filter}");
        }
    };
    check("at first");
    check("again");
    server.done(&server.post("/indexes/goods/compact", json!(null)));
    check("merged");
    let filter = "offers[price < 10 AND stock > 0]";
    assert_eq!(server.ids("goods", json!({"q": "boot", "filter": [filter, "offers EXISTS"]})), [2]);
    let fetched = server.post("/indexes/goods/documents/fetch", json!({"filter": filter})).ok();
    assert_eq!(fetched["total"], 2);
    server.done(&server.post("/indexes/goods/documents/delete", json!({"filter": filter})));
    assert_eq!(server.ids("goods", json!({})), [1, 4]);
}

#[test]
fn what_may_not_stand_between_brackets() {
    let server = Server::start();
    server.add("goods", json!([{"id": 1, "offers": [{"price": 8}]}]));
    server.set("goods", json!({"filterableAttributes": ["offers.price", "_geo"]}));
    for (filter, says) in [
        ("offers[stock > 0]", "Attribute `offers.stock` is not filterable"),
        ("offers[_geoRadius(1, 2, 3)]", "Only conditions on the fields of an element may stand between `[` and `]`"),
        ("offers[price > 1", "offers[price > 1"),
    ] {
        let answer = server.post("/indexes/goods/search", json!({"filter": filter}));
        answer.refused(400, "invalid_search_filter");
        assert!(answer.text.contains(says), "{}", answer.text);
    }
    assert_eq!(server.ids("goods", json!({"filter": "offers[price > 1]"})), [1]);
}

/// Goods with offers, some of them sold out.
fn goods() -> Server {
    let server = Server::start();
    server.set("goods", json!({"filterableAttributes": ["offers"], "sortableAttributes": ["offers.price", "id"]}));
    let goods = json!([
        {"id": 1, "offers": [{"shop": "A", "price": 3, "stock": 0}, {"shop": "B", "price": 12, "stock": 3}]},
        {"id": 2, "offers": [{"shop": "A", "price": 9, "stock": 5}, {"shop": "C", "price": 30, "stock": 1}]},
        {"id": 3, "offers": [{"shop": "C", "price": 1, "stock": 0}]},
        {"id": 4},
    ]);
    server.add("goods", goods);
    server
}

#[test]
fn elements_that_pass_are_sorted_and_counted_by() {
    let server = goods();
    let ids = |sort: Value| server.ids("goods", json!({"sort": sort}));
    assert_eq!(ids(json!(["offers.price:asc"])), [3, 1, 2, 4]);
    assert_eq!(ids(json!(["offers[stock > 0].price:asc"])), [2, 1, 3, 4]);
    assert_eq!(ids(json!(["offers[stock > 0].price:desc", "id:desc"])), [2, 1, 4, 3]);
    let listed =
        server.get("/indexes/goods/documents?sort=offers%5Bstock%20IN%20%5B3,5%5D%5D.price:asc&fields=id").ok();
    assert_eq!(listed["results"], json!([{"id": 2}, {"id": 1}, {"id": 3}, {"id": 4}]));
    let asked = json!(["offers.shop", "offers[stock > 0].shop",
        {"facet": "offers[stock > 0].price", "ranges": [{"to": 10}, {"from": 10}], "statistics": true}]);
    let answer = server.search(
        "goods",
        json!({"facets": asked, "sort": ["offers[stock > 0].price:asc"], "showRankingScoreDetails": true}),
    );
    assert_eq!(
        answer["facetDistribution"],
        json!({"offers.shop": {"A": 2, "B": 1, "C": 2}, "offers[stock > 0].shop": {"A": 1, "B": 1, "C": 1}})
    );
    let details = &answer["facetDetails"][0];
    assert_eq!(
        (&details["facet"], &details["ranges"][0]["count"], &details["ranges"][1]["count"]),
        (&json!("offers[stock > 0].price"), &json!(1), &json!(2))
    );
    assert_eq!(details["statistics"]["sum"], 51.0);
    assert_eq!(answer["hits"][0]["_rankingScoreDetails"]["offers[stock > 0].price:asc"]["value"], 9.0);
    let federated = json!({"federation": {"facetsByIndex": {"goods": ["offers[stock > 0].shop"]}, "mergeFacets": {}},
        "queries": [{"indexUid": "goods", "filter": "id < 3", "sort": ["offers[stock > 0].price:desc"]}]});
    let refused = server.post("/multi-search", federated);
    refused.refused(400, "invalid_search_filter");
    let federated = json!({"federation": {"facetsByIndex": {"goods": ["offers[stock > 0].shop"]}, "mergeFacets": {}},
        "queries": [{"indexUid": "goods", "filter": "offers[shop = A]", "sort": ["offers[stock > 0].price:desc"]}]});
    let merged = server.post("/multi-search", federated).ok();
    assert_eq!(merged["facetDistribution"], json!({"offers[stock > 0].shop": {"A": 1, "B": 1, "C": 1}}));
    assert_eq!(merged["hits"][0]["id"], 2);
}

#[test]
fn what_no_elements_are_sorted_and_counted_by() {
    let server = goods();
    let refused = |query: Value, code: &str, says: &str| {
        let answer = server.post("/indexes/goods/search", query);
        answer.refused(400, code);
        assert!(answer.text.contains(says), "{}", answer.text);
    };
    refused(json!({"sort": ["offers[stock].price:asc"]}), "invalid_search_sort", "Was expecting an operation");
    refused(
        json!({"sort": ["offers[stock > 0].:asc"]}),
        "invalid_search_sort",
        "in the form: `array[condition].field`",
    );
    refused(json!({"sort": ["offers[stock > 0].shop:asc"]}), "invalid_search_sort", "`offers.shop` is not sortable");
    refused(json!({"sort": ["rest[stock > 0].price:asc"]}), "invalid_search_sort", "`rest.price` is not sortable");
    refused(json!({"sort": ["offers[shop CONTAINS a].price:asc"]}), "feature_not_enabled", "`CONTAINS`");
    refused(json!({"facets": ["offers[shop CONTAINS a].price"]}), "feature_not_enabled", "`CONTAINS`");
    refused(
        json!({"facets": [{"facet": "offers[shop CONTAINS a].price", "statistics": true}]}),
        "feature_not_enabled",
        "`CONTAINS`",
    );
    refused(
        json!({"facets": ["offers[_geoRadius(1, 2, 3)].price"]}),
        "invalid_search_facets",
        "Only conditions on the fields",
    );
    refused(json!({"facets": ["rest[a = 1].b"]}), "invalid_search_facets", "`rest.b` is not filterable");
    server
        .post("/indexes/goods/documents/fetch", json!({"sort": ["offers[stock].price:asc"]}))
        .refused(400, "invalid_document_sort");
}
