//! Filters on one element of an array of objects, over HTTP.

use serde_json::json;

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
