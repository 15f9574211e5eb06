//! Dynamic search rules: their life, and what they pin in searches of every kind.

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::{Value, json};

use crate::export::settle;
use crate::keys::{self, MASTER};
use crate::server::Server;

fn pin(index: Option<&str>, id: &str, position: u32) -> Value {
    json!({"selector": {"indexUid": index, "id": id}, "action": {"type": "pin", "position": position}})
}

/// Makes a rule, and waits for it.
#[track_caller]
fn rule(server: &Server, uid: &str, body: Value) -> Value {
    server.done(&server.patch(&format!("/dynamic-search-rules/{uid}"), body))
}

fn switched_on(server: &Server) {
    server.patch("/experimental-features", json!({"dynamicSearchRules": true})).ok();
}

/// Lamps, with rules switched on.
fn shop() -> Server {
    let server = Server::start();
    switched_on(&server);
    fill(&server, "lamps");
    server
}

fn fill(server: &Server, index: &str) {
    let settings = json!({"filterableAttributes": ["color", "price"], "sortableAttributes": ["price"]});
    server.set(index, settings);
    server.add(
        index,
        json!([
            {"id": 1, "name": "lamp", "color": "blue", "price": 10},
            {"id": 2, "name": "desk lamp", "color": "red", "price": 20},
            {"id": 3, "name": "floor lamp", "color": "red", "price": 30},
            {"id": 4, "name": "rug", "color": "green", "price": 40},
            {"id": 5, "name": "clock", "color": "red", "price": 50}
        ]),
    );
}

fn ids(server: &Server, query: Value) -> Vec<u64> {
    server.ids("lamps", query).iter().map(|id| id.as_u64().expect("an id")).collect()
}

#[test]
fn rules_live_survive_and_die() {
    let mut server = Server::start();
    server.patch("/dynamic-search-rules/a", json!({})).refused(400, "feature_not_enabled");
    server.patch("/dynamic-search-rules/a", json!({"nope": 1})).refused(400, "bad_request");
    switched_on(&server);
    server.get("/dynamic-search-rules/a").refused(404, "dynamic_search_rule_not_found");
    let answer = server
        .patch("/dynamic-search-rules/a?customMetadata=m", json!({"precedence": 3, "actions": [pin(None, "1", 0)]}));
    assert_eq!(
        (answer.status, &answer.body["indexUid"], &answer.body["type"]),
        (202, &json!(".meili_dsr"), &json!("dsrUpdate"))
    );
    let task = server.done(&answer);
    let sent =
        json!({"precedence": 3, "actions": [{"selector": {"id": "1"}, "action": {"type": "pin", "position": 0}}]});
    assert_eq!(task["details"], json!({"rule": sent, "updatedRules": 1}));
    assert_eq!(task["customMetadata"], "m");
    let made = server.get("/dynamic-search-rules/a").ok();
    assert_eq!(made["lastUpdatedAt"], task["enqueuedAt"]);
    let keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["uid", "lastUpdatedAt", "precedence", "active", "conditions", "actions"]);
    server.kill();
    server.start_again();
    assert_eq!(server.get("/dynamic-search-rules/a").ok(), made);

    let bad = server.get("/dynamic-search-rules/no%20space");
    assert_eq!((bad.status, bad.text.starts_with("`no space` is not a valid index uid.")), (404, true));
    for (method, path) in
        [("GET", "/dynamic-search-rules"), ("PUT", "/dynamic-search-rules/a"), ("POST", "/dynamic-search-rules/a")]
    {
        let answer = server.send(server.request(method.parse().unwrap(), path));
        assert_eq!((answer.status, answer.text.as_str()), (405, ""), "{method} {path}");
    }
    server.delete("/dynamic-search-rules/a?force=1").refused(400, "bad_request");
    server.get("/tasks?indexUids=.meili_dsr").refused(400, "invalid_index_uid");
    assert_eq!(server.get("/tasks?types=dsrUpdate,dsrClear").ok()["total"], 1);

    // Several that wait share a batch, in which each keeps its own moment.
    let held = server.hold_queue();
    let answers: Vec<_> =
        (0..3).map(|n| server.patch(&format!("/dynamic-search-rules/r{n}"), json!({"description": "x"}))).collect();
    server.release_queue(held);
    let tasks: Vec<Value> = answers.iter().map(|answer| server.done(answer)).collect();
    let batch = server.get(&format!("/batches/{}", tasks[0]["batchUid"])).ok();
    assert_eq!(
        (&batch["details"], &batch["stats"]["indexUids"]),
        (&json!({"updatedRules": 3}), &json!({".meili_dsr": 3}))
    );
    assert_eq!(server.get("/dynamic-search-rules/r1").ok()["lastUpdatedAt"], tasks[1]["enqueuedAt"]);
    let listed = server.post("/dynamic-search-rules", json!({"limit": 2})).ok();
    assert_eq!((&listed["total"], &listed["results"][0]["uid"]), (&json!(4), &json!("r2")));
    server.done(&server.delete("/dynamic-search-rules/r0"));
    let cleared = server.done(&server.delete("/dynamic-search-rules"));
    assert_eq!((&cleared["type"], &cleared["details"]), (&json!("dsrClear"), &json!({"deletedDocuments": 3})));
    server.kill();
    server.start_again();
    assert_eq!(server.post("/dynamic-search-rules", json!({})).ok()["total"], 0);
}

#[test]
fn pins_have_their_places_on_every_page() {
    let server = shop();
    rule(
        &server,
        "a",
        json!({"conditions": {"query": {"words": "lamp"}}, "actions": [pin(None, "4", 9), pin(None, "5", 1), pin(None, "404", 0)]}),
    );
    assert_eq!(ids(&server, json!({"q": "lamp"})), [1, 5, 2, 3, 4]);
    for (offset, expected) in [(0, vec![1, 5]), (1, vec![5, 2]), (3, vec![3, 4]), (4, vec![4]), (5, vec![])] {
        assert_eq!(ids(&server, json!({"q": "lamp", "offset": offset, "limit": 2})), expected, "{offset}");
    }
    let page = server.search("lamps", json!({"q": "lamp", "page": 2, "hitsPerPage": 2, "facets": ["color"]}));
    assert_eq!((&page["totalHits"], &page["totalPages"]), (&json!(5), &json!(3)));
    assert_eq!(page["facetDistribution"]["color"], json!({"blue": 1, "green": 1, "red": 3}));
    assert_eq!(ids(&server, json!({"q": "lamp", "filter": "color = red"})), [2, 5, 3], "a pin must pass the filter");
    assert_eq!(ids(&server, json!({"q": "lamp", "sort": ["price:desc"]})), [3, 5, 2, 1, 4]);
    assert_eq!(ids(&server, json!({"q": "lamps"})), [1, 2, 3], "whole words");
    // Where the first place of a page is asked for before one with a higher precedence.
    rule(&server, "b", json!({"actions": [pin(None, "3", 0)]}));
    rule(&server, "a", json!({"precedence": 0}));
    assert_eq!(ids(&server, json!({"q": "lamp", "limit": 1})), [3]);
    // With values that must be different, pins are outside of it and counted.
    let distinct = server.search("lamps", json!({"q": "lamp", "distinct": "color", "page": 1}));
    assert_eq!((distinct["hits"].as_array().unwrap().len(), &distinct["totalHits"]), (5, &json!(5)));
    // An answer that was kept is not that of other rules.
    server.done(&server.delete("/dynamic-search-rules"));
    assert_eq!(ids(&server, json!({"q": "lamp"})), [1, 2, 3]);
}

#[test]
fn explanations_name_the_rule() {
    let server = shop();
    rule(&server, "promo", json!({"actions": [pin(Some("lamps"), "5", 1)]}));
    let explained =
        server.search("lamps", json!({"q": "lamp", "explain": {"documentId": "5"}, "showRankingScoreDetails": true}));
    assert_eq!(explained["explanation"]["pins"], json!([{"rule": "promo", "documentId": "5", "position": 1}]));
    assert_eq!(explained["explanation"]["document"]["reason"], "hit");
    assert_eq!(explained["explanation"]["document"]["position"], 1);
    assert_eq!(explained["hits"][1]["_explanation"]["pinnedBy"], "promo");
    assert_eq!(explained["hits"][1]["_rankingScoreDetails"], json!({"pin": {"order": 0, "position": 1}}));
    let other = server.search("lamps", json!({"q": "lamp", "explain": {"documentId": "3"}}));
    assert_eq!(other["explanation"]["document"]["position"], 3, "behind the pinned one");
    let off = server.patch("/experimental-features", json!({"dynamicSearchRules": false}));
    off.ok();
    let explained = server.search("lamps", json!({"q": "lamp", "explain": true}));
    assert_eq!(explained["explanation"].get("pins"), None);
}

#[test]
fn times_are_compared_as_instants_and_values_with_the_filter() {
    let server = shop();
    // Half past the hour before in UTC, whatever its text looks like.
    rule(
        &server,
        "past",
        json!({"conditions": {"time": {"end": "2021-01-01T00:00:00Z"}}, "actions": [pin(None, "4", 0)]}),
    );
    rule(
        &server,
        "now",
        json!({"conditions": {"time": {"start": "2021-01-01T23:00:00-11:00", "end": "2999-01-01T00:00:00Z"}}, "actions": [pin(None, "5", 0)]}),
    );
    assert_eq!(ids(&server, json!({"q": "lamp"})), [5, 1, 2, 3]);
    server.done(&server.delete("/dynamic-search-rules"));
    rule(
        &server,
        "red",
        json!({"conditions": {"filter": {"values": {"color": "Red", "price": 50}}}, "actions": [pin(None, "5", 0)]}),
    );
    assert_eq!(ids(&server, json!({"filter": "color = red"})), [2, 3, 5]);
    assert_eq!(ids(&server, json!({"filter": "color = red AND price > 20"})), [5, 3]);
    assert_eq!(ids(&server, json!({"filter": ["color = red", ["price = 30", "price = 50"]]})), [5, 3]);
}

#[test]
fn tenants_are_shown_no_document_that_their_filter_hides() {
    let server = keys::start(&[]).with_key(MASTER);
    switched_on(&server);
    fill(&server, "lamps");
    rule(&server, "a", json!({"actions": [pin(None, "5", 0), pin(None, "4", 0)]}));
    rule(
        &server,
        "b",
        json!({"conditions": {"filter": {"values": {"color": "green"}}}, "actions": [pin(None, "4", 0)]}),
    );
    let key = keys::make(&server, &["search"], &["lamps"]);
    let claims = json!({"apiKeyUid": key["uid"], "searchRules": {"lamps": {"filter": "color != red"}}});
    let secret = EncodingKey::from_secret(keys::value(&key).as_bytes());
    let token = encode(&Header::default(), &claims, &secret).expect("plain claims");
    let body = json!({"q": "lamp", "explain": true});
    let found = keys::ask(&server, &token, "POST", "/indexes/lamps/search", &body).ok();
    let hits: Vec<&Value> = found["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(hits, [4, 1]);
    assert_eq!(found["explanation"]["pins"].as_array().unwrap().len(), 1);
    // A key for some indexes may not touch rules.
    let scoped = keys::value(&keys::make(&server, &["*"], &["lamps"]));
    keys::ask(&server, &scoped, "POST", "/dynamic-search-rules", &json!({})).refused(403, "invalid_api_key");
    assert_eq!(keys::ask(&server, &scoped, "GET", "/tasks?types=dsrUpdate", &Value::Null).ok()["total"], 0);
}

#[test]
fn pins_act_whichever_name_the_search_uses() {
    let server = shop();
    server.done(&server.put("/aliases/lights", json!({"indexUid": "lamps"})));
    rule(&server, "clock", json!({"actions": [pin(Some("lamps"), "5", 0)]}));
    let by_alias: Vec<Value> = server.ids("lights", json!({"q": "lamp"}));
    assert_eq!(by_alias[0], 5);
    assert_eq!(by_alias, server.ids("lamps", json!({"q": "lamp"})));
}

#[test]
fn merged_lists_place_the_pins_of_all_queries() {
    let server = shop();
    fill(&server, "others");
    rule(
        &server,
        "m",
        json!({"conditions": {"query": {"words": "lamp"}}, "actions": [pin(Some("lamps"), "5", 0), pin(Some("others"), "4", 2)]}),
    );
    let query = |index: &str| json!({"indexUid": index, "q": "lamp", "attributesToRetrieve": ["id"]});
    let found =
        server.post("/multi-search", json!({"queries": [query("lamps"), query("others")], "federation": {}})).ok();
    let hits: Vec<(u64, &str)> = found["hits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|hit| (hit["id"].as_u64().unwrap(), hit["_federation"]["indexUid"].as_str().unwrap()))
        .collect();
    assert_eq!(hits[..4], [(5, "lamps"), (1, "lamps"), (4, "others"), (1, "others")]);
    assert_eq!((hits.len(), &found["estimatedTotalHits"]), (8, &json!(8)));
    let twice =
        server.post("/multi-search", json!({"queries": [query("lamps"), query("lamps")], "federation": {}})).ok();
    assert_eq!((twice["hits"].as_array().unwrap().len(), &twice["estimatedTotalHits"]), (4, &json!(4)));
    let distinct = json!({"queries": [query("lamps"), query("others")], "federation": {"distinct": "color", "facetsByIndex": {"lamps": ["color"]}}});
    let distinct = server.post("/multi-search", distinct).ok();
    let hits: Vec<&Value> = distinct["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
    assert_eq!(hits, [5, 1, 4, 2], "pins are outside of what must be different");
    assert_eq!(distinct["estimatedTotalHits"], 4);
}

#[test]
fn each_server_of_a_network_pins_by_its_own_rules() {
    let member = || {
        let server = keys::start(&["--experimental-allowed-ip-networks", "127.0.0.0/8"]).with_key(MASTER);
        server.patch("/experimental-features", json!({"network": true, "dynamicSearchRules": true})).ok();
        fill(&server, "lamps");
        server
    };
    let (near, far) = (member(), member());
    near.patch("/network", json!({"self": "near", "remotes": {"far": {"url": far.url, "searchApiKey": MASTER}}})).ok();
    rule(&near, "n", json!({"actions": [pin(None, "4", 1)]}));
    rule(&far, "f", json!({"actions": [pin(None, "5", 1)]}));
    let body = json!({"q": "lamp", "useNetwork": true, "limit": 4});
    let found = near.post("/indexes/lamps/search", body).ok();
    let hits: Vec<u64> = found["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect();
    assert_eq!(hits, [1, 4, 5, 1]);
    assert!(!found.to_string().contains("pinnedPosition"));
    assert_eq!(found["estimatedTotalHits"], 8);
}

#[test]
fn rules_outlive_swaps_and_dumps() {
    let server = shop();
    server.add("others", json!([{"id": 5, "name": "vase"}]));
    rule(&server, "first", json!({"actions": [pin(Some("lamps"), "5", 0)]}));
    rule(&server, "second", json!({"description": "ü", "active": false}));
    server.done(&server.post("/swap-indexes", json!([{"indexes": ["lamps", "others"]}])));
    assert_eq!(server.search("lamps", json!({"q": "nothing"}))["hits"][0]["name"], "vase");
    let task = server.done(&server.post("/dumps", json!(null)));
    let dump = server.folder().join(format!("dumps/{}.dump", task["details"]["dumpUid"].as_str().unwrap()));
    let restored = Server::with_options(&["--import-dump", dump.to_str().unwrap()]);
    let listed = |server: &Server| server.post("/dynamic-search-rules", json!({})).ok();
    assert_eq!(listed(&restored), listed(&server));
    assert_eq!(restored.search("lamps", json!({"q": "nothing"}))["hits"][0]["name"], "vase");
    assert_eq!(restored.get("/indexes").ok()["total"], 2, "they are no index");
}

/// Rules name indexes and documents by their names alone: what these stand for comes and goes.
#[test]
fn rules_outlive_what_they_name() {
    let server = Server::with_options(&["--keep", "24h"]);
    switched_on(&server);
    fill(&server, "lamps");
    rule(&server, "scoped", json!({"precedence": 1, "actions": [pin(Some("lamps"), "5", 0)]}));
    rule(&server, "everywhere", json!({"actions": [pin(None, "4", 0)]}));
    let rules = server.post("/dynamic-search-rules", json!({})).ok();
    let found = |index: &str, more: Value| {
        let mut query = json!({"q": "lamp", "limit": 3});
        query.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
        server.ids(index, query)
    };
    assert_eq!(found("lamps", json!({})), [5, 4, 1]);

    // A document: a state that has it shows it, also after it is gone.
    let states = server.get("/indexes/lamps/generations").ok();
    let view = server.search("lamps", json!({"limit": 1, "pointInTime": {}}))["pointInTime"]["id"].clone();
    server.done(&server.delete("/indexes/lamps/documents/5"));
    assert_eq!(found("lamps", json!({})), [4, 1, 2], "it sleeps");
    assert_eq!(found("lamps", json!({"at": states["results"][0]["generation"]})), [5, 4, 1]);
    assert_eq!(found("lamps", json!({"pointInTime": {"id": view}})), [5, 4, 1]);
    let empty = states["results"].as_array().expect("a list").last().expect("the first state")["generation"].clone();
    assert_eq!(found("lamps", json!({"at": empty})), [0; 0], "there was nothing to pin");
    server.add("lamps", json!([{"id": 5, "name": "clock"}]));
    assert_eq!(found("lamps", json!({})), [5, 4, 1]);
    server.done(&server.delete("/indexes/lamps/settings"));
    assert_eq!(found("lamps", json!({})), [5, 4, 1]);

    // An index.
    let rename = |from: &str, to: &str| {
        server.done(&server.post("/swap-indexes", json!([{"indexes": [from, to], "rename": true}])));
    };
    rename("lamps", "lights");
    assert_eq!(found("lights", json!({})), [4, 1, 2], "the other name is not in the rule");
    rename("lights", "lamps");
    assert_eq!(found("lamps", json!({})), [5, 4, 1]);
    server.done(&server.delete("/indexes/lamps"));
    assert_eq!(server.post("/dynamic-search-rules", json!({})).ok(), rules);
    fill(&server, "lamps");
    assert_eq!(found("lamps", json!({})), [5, 4, 1]);
    assert_eq!(server.post("/dynamic-search-rules", json!({})).ok(), rules, "nothing of all this changed them");

    // A snapshot has everything.
    server.done(&server.post("/snapshots", Value::Null));
    rule(&server, "later", json!({"precedence": 0, "actions": [pin(None, "3", 0)]}));
    let snapshot = server.folder().join("snapshots/data.snapshot");
    let restored = Server::with_options(&["--import-snapshot", snapshot.to_str().expect("a plain path")]);
    assert_eq!(restored.post("/dynamic-search-rules", json!({})).ok(), rules);
    assert_eq!(restored.ids("lamps", json!({"q": "lamp", "limit": 3})), [5, 4, 1]);
}

#[test]
fn exports_leave_rules_where_they_are() {
    let local = ["--experimental-allowed-ip-networks", "127.0.0.0/8"];
    let (server, target) = (Server::with_options(&local), Server::start());
    switched_on(&server);
    switched_on(&target);
    fill(&server, "lamps");
    rule(&server, "a", json!({"actions": [pin(None, "5", 0)]}));
    server.done(&server.post("/export", json!({"url": target.url})));
    settle(&target);
    assert_eq!(target.post("/dynamic-search-rules", json!({})).ok()["total"], 0);
    assert_eq!(target.ids("lamps", json!({"q": "lamp"})), [1, 2, 3]);
}
