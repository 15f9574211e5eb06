//! `distinctLimit`: several hits of each value, and how many groups there are.

use serde_json::{Value, json};

use crate::server::Server;

fn shelf() -> Server {
    let server = Server::start();
    let book = |id: u64| {
        let mut book = json!({"id": id, "title": "fox", "author": format!("a{}", id % 3), "year": 2000 + id % 2});
        if id >= 10 {
            book.as_object_mut().unwrap().remove("author");
        }
        book
    };
    server.add("shelf", (0..6).map(book).collect());
    server.add("shelf", (6..12).map(book).collect());
    server.set("shelf", json!({"filterableAttributes": ["author", "year"]}));
    server
}

#[test]
fn the_best_of_each_value_are_shown_and_groups_counted() {
    let server = shelf();
    let ask = |extra: Value| {
        let mut body = json!({"q": "fox", "distinct": "author"});
        body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        server.search("shelf", body)
    };
    let ids = |answer: &Value| -> Vec<u64> {
        answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
    };
    let one = ask(json!({}));
    assert_eq!((ids(&one), one.get("totalGroups")), (vec![0, 1, 2, 10, 11], None));
    let counted = ask(json!({"distinctLimit": 1}));
    assert_eq!((ids(&counted), &counted["totalGroups"]), (vec![0, 1, 2, 10, 11], &json!(5)));
    for strategy in ["last", "any"] {
        let two = ask(json!({"distinctLimit": 2, "matchingStrategy": strategy, "facets": ["author", "year"]}));
        assert_eq!(ids(&two), [0, 1, 2, 3, 4, 5, 10, 11], "{strategy}");
        assert_eq!((&two["totalGroups"], &two["estimatedTotalHits"]), (&json!(5), &json!(8)));
        assert_eq!(two["facetDistribution"]["author"], json!({"a0": 2, "a1": 2, "a2": 2}));
    }
    let page = ask(json!({"distinctLimit": 2, "page": 2, "hitsPerPage": 5}));
    assert_eq!((ids(&page), &page["totalHits"], &page["totalPages"]), (vec![5, 10, 11], &json!(8), &json!(2)));
    assert_eq!(page["totalGroups"], 5);
    let filtered = ask(json!({"distinctLimit": 9, "filter": "year = 2000", "q": ""}));
    assert_eq!((ids(&filtered), &filtered["totalGroups"]), (vec![0, 2, 4, 6, 8, 10], &json!(4)));
    let get = server.get("/indexes/shelf/search?q=fox&distinct=author&distinctLimit=2&limit=0").ok();
    assert_eq!((&get["totalGroups"], &get["estimatedTotalHits"]), (&json!(5), &json!(8)));
    server.set("shelf", json!({"distinctAttribute": "author"}));
    assert_eq!(server.search("shelf", json!({"distinctLimit": 3}))["estimatedTotalHits"], 11);
}

#[test]
fn by_meaning_and_by_both_there_are_the_same_groups() {
    let server = Server::start();
    let embedder =
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "filterableAttributes": ["kind"]});
    server.done(&server.patch("/indexes/things/settings", embedder));
    let thing = |id: u64| json!({"id": id, "kind": id % 2, "name": format!("thing {id}"), "_vectors": {"e": [1.0, id as f64 / 10.0]}});
    server.add("things", (0..8).map(thing).collect());
    for ratio in [0.5, 1.0] {
        let asked = json!({
            "q": "thing", "vector": [1, 0], "hybrid": {"embedder": "e", "semanticRatio": ratio}, "distinct": "kind",
            "distinctLimit": 3,
        });
        let answer = server.search("things", asked);
        assert_eq!(
            (&answer["totalGroups"], &answer["estimatedTotalHits"]),
            (&json!(2), &json!(6)),
            "{ratio}: {answer}"
        );
        assert_eq!(answer["hits"].as_array().unwrap().len(), 6);
    }
}

#[test]
fn what_makes_no_groups_is_refused() {
    let server = shelf();
    let code = "invalid_search_distinct_limit";
    for body in [
        json!({"distinctLimit": 2}),
        json!({"distinct": "author", "distinctLimit": 0}),
        json!({"distinct": "author", "distinctLimit": 1001}),
        json!({"distinct": "author", "distinctLimit": "2"}),
        json!({"distinct": "author", "distinctLimit": 2, "useNetwork": true}),
    ] {
        server.post("/indexes/shelf/search", body).refused(400, code);
    }
    server.get("/indexes/shelf/search?distinct=author&distinctLimit=x").refused(400, code);
    let query = json!({"indexUid": "shelf", "distinct": "author", "distinctLimit": 2});
    server.post("/multi-search", json!({"federation": {}, "queries": [query]})).refused(400, code);
    assert_eq!(server.post("/multi-search", json!({"queries": [query]})).ok()["results"][0]["totalGroups"], 5);
}
