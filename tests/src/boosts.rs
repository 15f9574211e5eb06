//! Boosts in settings and in searches, over HTTP.

use serde_json::{Value, json};

use crate::server::Server;

fn shop() -> Server {
    let server = Server::start();
    server.add(
        "shop",
        json!([
            {"id": 1, "title": "red shoes for running", "stars": 1, "in_stock": true, "released": "2020-01-01"},
            {"id": 2, "title": "red shoes", "stars": 0, "in_stock": false, "released": "2024-01-01"},
            {"id": 3, "title": "a red box for shoes", "stars": 80, "in_stock": false, "released": "2023-12-01"},
            {"id": 4, "title": "red", "in_stock": true, "released": 1_704_067_200, "_geo": {"lat": 1, "lng": 1}},
        ]),
    );
    server.set("shop", json!({"filterableAttributes": ["in_stock"], "sortableAttributes": ["stars"]}));
    server
}

fn by(boost: Value) -> Value {
    json!({"q": "red shoes", "matchingStrategy": "any", "boosts": [boost]})
}

#[test]
fn a_request_boosts_and_says_how() {
    let server = shop();
    assert_eq!(server.ids("shop", json!({"q": "red shoes", "matchingStrategy": "any"}))[0], 2);
    let stars = || json!({"boost": {"field": "stars", "function": "log1p", "weight": 1}});
    assert_eq!(server.ids("shop", by(stars()))[0], 3);
    assert_eq!(server.ids("shop", by(json!({"boostIf": {"filter": "in_stock = true", "weight": 5}})))[0], 1);
    let mut explained = by(stars());
    explained["showRankingScoreDetails"] = json!(true);
    explained["showRankingScore"] = json!(true);
    let answer = server.search("shop", explained);
    let details = &answer["hits"][0]["_rankingScoreDetails"];
    let factor = details["boost:stars"]["factor"].as_f64().unwrap();
    assert!((factor - (1.0 + 81_f64.ln())).abs() < 1e-9, "{details}");
    assert_eq!((&details["boost:stars"]["order"], &details["bm25"]["order"]), (&json!(1), &json!(0)));
    assert_eq!(answer["hits"][0]["_rankingScore"], details["bm25"]["score"]);
    let get = "/indexes/shop/search?q=red%20shoes&matchingStrategy=any&boosts=%5B%7B%22boost%22%3A%7B%22field%22%3A%22stars%22%7D%7D%5D";
    assert_eq!(server.get(get).ok()["hits"][0]["id"], 3);
    let body =
        json!({"queries": [{"indexUid": "shop", "q": "red shoes", "matchingStrategy": "any", "boosts": [stars()]}]});
    assert_eq!(server.post("/multi-search", body).ok()["results"][0]["hits"][0]["id"], 3);
}

#[test]
fn rules_of_the_settings_are_given_back_and_read() {
    let server = shop();
    let decay = json!({"decay": {"field": "released", "origin": "2024-01-01T00:00:00Z", "scale": "30d"}});
    let rules = json!(["words", decay, {"boostIf": {"filter": "in_stock = true", "weight": 2}}, "typo", "stars:desc"]);
    server.set("shop", json!({ "rankingRules": rules }));
    assert_eq!(server.get("/indexes/shop/settings").ok()["rankingRules"], rules);
    assert_eq!(server.get("/indexes/shop/settings/ranking-rules").ok(), rules);
    // Among those that hold all words the newest comes first; without a query all are in that order.
    assert_eq!(server.ids("shop", json!({"q": "red shoes"})), [2, 3, 1, 4]);
    assert_eq!(server.ids("shop", json!({})), [4, 2, 3, 1]);
    let details = server.search("shop", json!({"q": "red shoes", "showRankingScoreDetails": true, "limit": 1}));
    let details = &details["hits"][0]["_rankingScoreDetails"];
    assert_eq!(details["decay:released"], json!({"order": 1, "factor": 2.0}), "{details}");
    assert_eq!(details["boostIf"], json!({"order": 2, "factor": 1.0}));
    assert_eq!(server.ids("shop", json!({"q": "red shoes", "boosts": []}))[0], 3);
    // What is not displayed is not named.
    server.set("shop", json!({"displayedAttributes": ["id"]}));
    let hidden = server.search("shop", json!({"q": "red shoes", "showRankingScoreDetails": true, "limit": 1}));
    let hidden = &hidden["hits"][0]["_rankingScoreDetails"];
    assert_eq!(hidden["<hidden-rule-1>"], json!({"order": 1, "factor": "<hidden>"}), "{hidden}");
    // Filters stay allowed as long as a rule needs them.
    let unfilterable = server.patch("/indexes/shop/settings", json!({"filterableAttributes": []}));
    server.fails(&unfilterable, "invalid_settings_ranking_rules");
    server.set("shop", json!({"rankingRules": null}));
    server.set("shop", json!({"filterableAttributes": []}));
}

#[test]
fn a_factor_beyond_the_largest_number_is_a_number() {
    let server = Server::start();
    server.set("n", json!({"sortableAttributes": ["n"]}));
    server.add("n", json!([{"id": 1, "n": 2}, {"id": 2, "n": 1e200}, {"id": 3, "n": 1e308}]));
    for function in ["square", "linear"] {
        let boost = json!({"boost": {"field": "n", "function": function, "weight": 1000}});
        let answer = server.search("n", json!({"showRankingScoreDetails": true, "boosts": [boost]}));
        let details = &answer["hits"][0]["_rankingScoreDetails"];
        assert!(details["boost:n"]["factor"].as_f64().is_some_and(f64::is_finite), "{details}");
        assert_eq!(answer["hits"][2]["id"], 1, "{function}");
    }
}

#[test]
fn answers_by_the_present_time_have_no_tag() {
    let server = shop();
    let ask = |path: &str| server.request(reqwest::Method::GET, path);
    let tag = |path: &str| ask(path).send().expect("an answer").headers().get("etag").cloned();
    let search = "/indexes/shop/search?q=red";
    assert!(tag(search).is_some());
    let decay = |origin: &str| json!({"decay": {"field": "stars", "origin": origin, "scale": "10s"}});
    let boosts = |origin: &str| format!("{search}&boosts={}", percent_encoding(&json!([decay(origin)]).to_string()));
    assert_eq!((tag(&boosts("now")), tag(&boosts("2024-01-01")).is_some()), (None, true));
    server.set("shop", json!({"rankingRules": ["words", decay("now")]}));
    assert_eq!((tag(search), tag(&boosts("2024-01-01")).is_some()), (None, true));
    assert_eq!(ask(search).header("If-None-Match", "*").send().expect("an answer").status(), 200);
}

/// Encodes a text as a value of a query string.
fn percent_encoding(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn lists_of_several_indexes_compare_boosted_hits() {
    let server = shop();
    server.add("others", json!([{"id": 9, "title": "red shoes", "stars": 5}]));
    server.set("others", json!({"sortableAttributes": ["stars"]}));
    let stars = json!([{"boost": {"field": "stars", "function": "linear"}}]);
    for strategy in ["any", "all"] {
        let query =
            |index: &str| json!({"indexUid": index, "q": "red shoes", "matchingStrategy": strategy, "boosts": stars});
        let merged = |rules: Value| {
            for index in ["shop", "others"] {
                server.set(index, json!({ "rankingRules": rules }));
            }
            let body = json!({"federation": {}, "queries": [query("shop"), query("others")]});
            let answer = server.post("/multi-search", body).ok();
            let ids = answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap());
            ids.collect::<Vec<u64>>()
        };
        let found = merged(json!([{"boost": {"field": "id"}}, "words"]));
        assert_eq!(found[..2], [3, 9], "{strategy}");
        assert_eq!(found.contains(&4), strategy == "any");
    }
    // A list by boosts and one by words have nothing in common.
    server.set("shop", json!({"rankingRules": [{"boost": {"field": "stars"}}, "words"]}));
    server.set("others", json!({"rankingRules": ["words"]}));
    let body =
        json!({"federation": {}, "queries": [{"indexUid": "shop", "q": "red"}, {"indexUid": "others", "q": "red"}]});
    server.post("/multi-search", body).refused(400, "invalid_multi_search_query_ranking_rules");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let server = shop();
    let field = |field: &str| json!({"boost": {"field": field}});
    let contains = json!({"boostIf": {"filter": "in_stock CONTAINS t", "weight": 2}});
    for (boosts, part) in [
        (json!("popularity"), "expected an array"),
        (json!([1]), "`.boosts[0]`"),
        (json!([{"boost": {"field": "stars", "function": "cube"}}]), "unknown variant `cube`"),
        (json!([{"decay": {"field": "stars", "origin": 1, "scale": "3d"}}]), "`scale` is \"3d\", expected a number"),
        (json!([field("title")]), "neither filterable nor sortable"),
        (json!([{"boostIf": {"filter": "title = x", "weight": 2}}]), "not filterable"),
        (json!(vec![field("stars"); 17]), "17 boosts; at most 16 are allowed"),
    ] {
        let refused = server.post("/indexes/shop/search", json!({ "q": "red", "boosts": boosts }));
        refused.refused(400, "invalid_search_boosts");
        assert!(refused.text.contains(&part.replace('"', "\\\"")), "{boosts}: {}", refused.text);
    }
    let off = json!({"q": "red", "boosts": [contains]});
    server.post("/indexes/shop/search", off).refused(400, "feature_not_enabled");
    server.get("/indexes/shop/search?boosts=%5B").refused(400, "invalid_search_boosts");
    for (rules, part) in [
        (json!([{"boost": {"field": "stars", "weight": -1}}]), "`weight` is -1"),
        (json!(["words", {"boost": {}}]), "missing field `field`"),
        (json!([["words"]]), "expected a string"),
        (json!((0..17).map(|n| field(&format!("f{n}"))).collect::<Vec<Value>>()), "17 boosts"),
    ] {
        let refused = server.patch("/indexes/shop/settings", json!({ "rankingRules": rules }));
        refused.refused(400, "invalid_settings_ranking_rules");
        assert!(refused.text.contains(part), "{rules}: {}", refused.text);
    }
    server.patch("/indexes/shop/settings", json!({"rankingRules": [contains]})).refused(400, "feature_not_enabled");
}
