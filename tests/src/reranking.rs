//! Searches whose first hits a model puts into another order: a server in this process that answers as the tests say.

use serde_json::{Value, json};

use crate::embedders::LOCAL;
use crate::receiver::{Behaviour, Receiver};
use crate::server::Server;

/// Notes about foxes, and a reranker that answers with `script`.
fn notes(options: &[&str], script: Vec<Behaviour>) -> (Server, Receiver) {
    let (server, receiver) = (Server::with_options(options), Receiver::start(script));
    let texts = ["fox", "fox and owl", "fox and owl and bear", "fox and owl and bear and wolf", "nothing"];
    let document =
        |(id, text): (u64, &&str)| json!({"id": id, "text": text, "kind": if id < 3 { "short" } else { "long" }});
    server.add("notes", (1..).zip(&texts).map(document).collect());
    let reranker = json!({
        "url": receiver.url, "apiKey": "a-long-and-secret-key", "model": "cross", "documentTemplate": "{{doc.text}}",
        "headers": {"X-Of": "tests"}
    });
    server.set("notes", json!({"rerankers": {"r": reranker}, "filterableAttributes": ["kind"]}));
    (server, receiver)
}

fn asked(more: Value) -> Value {
    let mut query = json!({"q": "fox", "rerank": {"reranker": "r"}});
    for (key, value) in more.as_object().unwrap() {
        query[key] = value.clone();
    }
    query
}

fn scores(of: Value) -> Behaviour {
    let entry = |(place, score): (usize, &Value)| json!({"index": place, "relevance_score": score});
    let entries: Vec<Value> = of.as_array().unwrap().iter().enumerate().map(entry).collect();
    Behaviour::Say(200, "", json!({"id": "x", "results": entries}).to_string())
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
}

#[test]
fn a_model_orders_the_first_hits() {
    let worst_first = || scores(json!([0.1, 0.2, 0.9, 0.3]));
    let (server, receiver) = notes(&LOCAL, (0..6).map(|_| worst_first()).collect());
    assert_eq!(server.ids("notes", json!({"q": "fox"})), [1, 2, 3, 4]);
    let answer = server.search(
        "notes",
        asked(json!({"facets": ["kind"], "showRankingScoreDetails": true, "showPerformanceDetails": true})),
    );
    assert_eq!((ids(&answer), &answer["estimatedTotalHits"]), (vec![3, 4, 2, 1], &json!(4)), "{answer}");
    assert_eq!(answer["facetDistribution"], json!({"kind": {"long": 2, "short": 2}}));
    let detail = &answer["hits"][0]["_rankingScoreDetails"]["rerank"];
    assert_eq!((&detail["score"], &detail["rank"]), (&json!(0.9), &json!(3)), "{answer}");
    assert!(answer["performanceDetails"]["rerank"].is_string(), "{answer}");
    assert!(answer.get("degraded").is_none(), "{answer}");
    let received = receiver.next();
    assert_eq!(received.header("authorization"), Some("Bearer a-long-and-secret-key"));
    assert_eq!(received.header("x-of"), Some("tests"));
    let texts = json!(["fox", "fox and owl", "fox and owl and bear", "fox and owl and bear and wolf"]);
    let body: Value = serde_json::from_str(received.text()).unwrap();
    assert_eq!(body, json!({"query": "fox", "documents": texts, "model": "cross"}));
    // Pages are pages of the new order, and never kept.
    assert_eq!(ids(&server.search("notes", asked(json!({"limit": 2})))), [3, 4]);
    assert_eq!(ids(&server.search("notes", asked(json!({"offset": 2, "limit": 1})))), [2]);
    assert_eq!(ids(&server.search("notes", asked(json!({"page": 2, "hitsPerPage": 3})))), [1]);
    let held = server.search("notes", asked(json!({"pointInTime": {}})));
    let again = asked(json!({"pointInTime": {"id": held["pointInTime"]["id"]}, "offset": 1}));
    assert_eq!((ids(&held), ids(&server.search("notes", again))), (vec![3, 4, 2, 1], vec![4, 2, 1]));
    (0..5).for_each(|_| drop(receiver.next()));
    // Nothing to compare with, nothing to compare.
    assert_eq!(ids(&server.search("notes", asked(json!({"q": " "})))).len(), 5);
    assert!(ids(&server.search("notes", asked(json!({"q": "unknown"})))).is_empty());
    receiver.nothing_more();
}

#[test]
fn only_the_first_hits_are_sent_and_those_without_a_score_stay() {
    let some = || Behaviour::Say(200, "", json!([{"index": 1, "score": -3}]).to_string());
    let (server, receiver) = notes(&LOCAL, vec![some(), some()]);
    let query = asked(json!({"rerank": {"reranker": "r", "limit": 2}, "explain": {"documentId": 1}}));
    let answer = server.search("notes", query);
    assert_eq!(ids(&answer), [2, 1, 3, 4], "{answer}");
    assert_eq!(answer["explanation"]["document"]["position"], 1, "{answer}");
    let body: Value = serde_json::from_str(receiver.next().text()).unwrap();
    assert_eq!(body["documents"], json!(["fox", "fox and owl"]));
    // Documents that the template makes nothing of are not sent.
    server.set("notes", json!({"rerankers": {"r": {"documentTemplate": "{{doc.missing}}", "request": null}}}));
    assert_eq!(ids(&server.search("notes", asked(json!({})))), [1, 2, 3, 4]);
    receiver.nothing_more();
}

/// Whatever the model does, the hits are there.
#[test]
fn a_model_that_fails_or_is_late_leaves_the_order() {
    let script = vec![
        Behaviour::Answer(500),
        Behaviour::Answer(401),
        Behaviour::Say(200, "", "<html>".to_owned()),
        Behaviour::Say(200, "", json!({"results": [{"index": 4, "relevance_score": 1}]}).to_string()),
        Behaviour::Say(200, "", json!([{"index": 0, "score": 1}, {"index": 0, "score": 2}]).to_string()),
        Behaviour::Redirect("http://127.0.0.1:1/nowhere".to_owned()),
        Behaviour::Stall,
    ];
    let count = script.len();
    let (server, receiver) = notes(&LOCAL, script);
    for number in 0..count {
        let millis = if number + 1 == count { 50 } else { 30_000 };
        let answer = server.search("notes", asked(json!({"rerank": {"reranker": "r", "timeoutMs": millis}})));
        assert_eq!(ids(&answer), [1, 2, 3, 4], "{number}");
        assert_eq!((&answer["degraded"], &answer["degradedReasons"]), (&json!(true), &json!(["reranker"])), "{number}");
        receiver.next();
    }
    assert!(!server.log().contains("a-long-and-secret-key"));
}

#[test]
fn a_search_by_address_is_reranked_too() {
    let (server, receiver) = notes(&LOCAL, vec![scores(json!([0.1, 0.9])), scores(json!([0.9, 0.1]))]);
    let path = "/indexes/notes/search?q=fox&rerank=r&rerankLimit=2&rerankTimeoutMs=30000";
    assert_eq!(ids(&server.get(path).ok()), [2, 1, 3, 4]);
    assert_eq!(ids(&server.get(path).ok()), [1, 2, 3, 4]);
    (0..2).for_each(|_| drop(receiver.next()));
    for unknown in ["q=fox&rerank=other", "rerank=other"] {
        server.get(&format!("/indexes/notes/search?{unknown}")).refused(400, "invalid_search_rerank");
    }
    server.get("/indexes/notes/search?q=fox&rerank=r&rerankLimit=0").refused(400, "invalid_search_rerank");
    receiver.nothing_more();
}

/// Each query of several has its own order, by its own reranker; all see one state.
#[test]
fn queries_of_a_multi_search_are_reranked() {
    let script = vec![scores(json!([0.1, 0.2, 0.9, 0.3])), Behaviour::Answer(500)];
    let (server, receiver) = notes(&LOCAL, script);
    let ask = |queries: Value| server.post("/multi-search", json!({ "queries": queries }));
    let of_notes = |mut more: Value| {
        more["indexUid"] = json!("notes");
        asked(more)
    };
    let plain = json!({"indexUid": "notes", "q": "fox"});
    let blank = of_notes(json!({"q": "", "limit": 1}));
    let answer = ask(json!([plain, of_notes(json!({"limit": 3, "showRankingScoreDetails": true})), blank]));
    let results = answer.ok()["results"].as_array().unwrap().clone();
    let found: Vec<Vec<u64>> = results.iter().map(ids).collect();
    assert_eq!(found, [vec![1, 2, 3, 4], vec![3, 4, 2], vec![1]]);
    assert_eq!(results[1]["hits"][0]["_rankingScoreDetails"]["rerank"]["rank"], 3, "{results:?}");
    assert!(results[1].get("degraded").is_none(), "{results:?}");
    receiver.next();
    let held = of_notes(json!({"pointInTime": {}}));
    let late = ask(json!([held, plain]));
    let results = late.ok()["results"].as_array().unwrap().clone();
    assert_eq!((ids(&results[0]), &results[0]["degradedReasons"]), (vec![1, 2, 3, 4], &json!(["reranker"])));
    assert!(results[0]["pointInTime"]["id"].is_string(), "{results:?}");
    assert!(results[1].get("degraded").is_none(), "{results:?}");
    receiver.next();
    let unknown = of_notes(json!({"rerank": {"reranker": "other"}}));
    let refused = ask(json!([plain, unknown]));
    refused.refused(400, "invalid_search_rerank");
    assert!(refused.text.contains("Inside `.queries[1]`: "), "{}", refused.text);
    let merged = server.post("/multi-search", json!({"federation": {}, "queries": [of_notes(json!({}))]}));
    merged.refused(400, "invalid_search_rerank");
    ask(json!([{"indexUid": "missing", "q": "x", "rerank": {"reranker": "r"}}])).refused(400, "index_not_found");
    receiver.nothing_more();
}

#[test]
fn addresses_are_guarded_and_requests_checked() {
    let (server, receiver) = notes(&["--no-analytics"], Vec::new());
    let answer = server.search("notes", asked(json!({})));
    assert_eq!((ids(&answer), &answer["degradedReasons"]), (vec![1, 2, 3, 4], &json!(["reranker"])), "{answer}");
    receiver.nothing_more();
    let unknown = asked(json!({"rerank": {"reranker": "other"}}));
    server.post("/indexes/notes/search", unknown).refused(400, "invalid_search_rerank");
    let mut one = asked(json!({"indexUid": "notes"}));
    let several = |query: &Value| server.post("/multi-search", json!({"queries": [query]}));
    assert_eq!(several(&one).ok()["results"][0]["degradedReasons"], json!(["reranker"]));
    one["rerank"] = json!({"reranker": "r", "limit": 0});
    several(&one).refused(400, "invalid_search_rerank");
    let partly = json!({"rerankers": {"new": {"apiKey": "k"}}});
    let task = server.wait(&server.patch("/indexes/notes/settings", partly));
    assert_eq!(task["error"]["code"], "invalid_settings_rerankers", "{task}");
}
