//! Documents that expire: no request finds them, and a task removes them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::server::{Server, soon, soon_as, until};

fn seconds_from_now(seconds: i64) -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later than 1970");
    i64::try_from(now.as_secs()).expect("it is not that late") + seconds
}

fn documents() -> Value {
    json!([
        {"id": 1, "title": "film one", "kind": "a", "until": seconds_from_now(-10), "_vectors": {"own": [1.0, 0.0]}},
        {"id": 2, "title": "film two", "kind": "a", "until": "2001-02-03T04:05:06+01:00", "_vectors": {"own": [1.0, 0.1]}},
        {"id": 3, "title": "film three", "kind": "a", "until": seconds_from_now(100_000), "_vectors": {"own": [1.0, 0.2]}},
        {"id": 4, "title": "film four", "kind": "b", "_vectors": {"own": [1.0, 0.3]}},
        {"id": 5, "title": "film five", "kind": "b", "until": [0, "2999-01-01T00:00:00Z"], "_vectors": {"own": [1.0, 0.4]}},
    ])
}

const LEFT: [u64; 3] = [3, 4, 5];

#[test]
fn expired_documents_are_in_no_answer() {
    // No task is made by the server itself.
    let server = Server::with_options(&["--experimental-replication-parameters"]);
    server.add("films", documents());
    server.set(
        "films",
        json!({"filterableAttributes": ["kind", "id"], "embedders": {"own": {"source": "userProvided", "dimensions": 2}}}),
    );
    let all = server.search("films", json!({"q": "film", "facets": ["kind"]}));
    assert_eq!(all["estimatedTotalHits"], 5);
    server.set("films", json!({"expiryAttribute": "until"}));
    assert_eq!(server.get("/indexes/films/settings").ok()["expiryAttribute"], "until");

    let answer = server.search("films", json!({"q": "film", "facets": ["kind"]}));
    assert_eq!(
        (&answer["estimatedTotalHits"], &answer["facetDistribution"]["kind"]),
        (&json!(3), &json!({"a": 1, "b": 2}))
    );
    for query in [
        json!({"q": "film"}),
        json!({}),
        json!({"filter": "id > 0"}),
        json!({"vector": [1.0, 0.0], "hybrid": {"embedder": "own"}}),
    ] {
        assert_eq!(server.ids("films", query.clone()), LEFT, "{query}");
    }
    let paged = server.search("films", json!({"q": "film", "hitsPerPage": 10}));
    assert_eq!(paged["totalHits"], 3);
    let listed = server.get("/indexes/films/documents").ok();
    assert_eq!((&listed["total"], listed["results"].as_array().map(Vec::len)), (&json!(3), Some(3)));
    let filtered = server.post("/indexes/films/documents/fetch", json!({"filter": "kind = a"})).ok();
    assert_eq!(filtered["total"], 1);
    server.get("/indexes/films/documents/1").refused(404, "document_not_found");
    server.get("/indexes/films/documents/3").ok();
    assert_eq!(server.get("/indexes/films/stats").ok()["numberOfDocuments"], 3);
    assert_eq!(server.get("/stats").ok()["indexes"]["films"]["numberOfDocuments"], 3);
    let similar = server.post("/indexes/films/similar", json!({"id": 3, "embedder": "own"})).ok();
    assert_eq!(similar["hits"].as_array().map(Vec::len), Some(2));
    server.post("/indexes/films/similar", json!({"id": 1, "embedder": "own"})).refused(400, "not_found_similar_id");
    let merged = server.post(
        "/multi-search",
        json!({
            "federation": {"facetsByIndex": {"films": ["kind"]}}, "queries": [{"indexUid": "films", "q": "film"}],
        }),
    );
    let merged = merged.ok();
    assert_eq!(merged["hits"].as_array().map(Vec::len), Some(3));
    assert_eq!(merged["facetsByIndex"]["films"]["distribution"]["kind"], json!({"a": 1, "b": 2}));
    let values = server.post("/indexes/films/facet-search", json!({"facetName": "kind", "facetQuery": "a"})).ok();
    assert_eq!(values["facetHits"], json!([{"value": "a", "count": 1}]));

    server.set("films", json!({"expiryAttribute": null}));
    assert_eq!(server.search("films", json!({"q": "film"}))["estimatedTotalHits"], 5, "nothing was removed");
}

#[test]
fn documents_expire_at_their_moment_and_are_removed_by_a_task() {
    let server = Server::start();
    server.set("films", json!({"expiryAttribute": "until"}));
    // One expires while it is looked at, and its answer was kept.
    let moment = seconds_from_now(2);
    server.add("films", json!([{"id": 1, "until": moment}, {"id": 2}, {"id": 3, "until": seconds_from_now(100_000)}]));
    let is_over = || seconds_from_now(0) >= moment;
    let (before, found) = (is_over(), server.ids("films", json!({})));
    assert!(before || is_over() || found == [1, 2, 3], "{found:?}");
    until(is_over);
    assert_eq!(server.ids("films", json!({})), [2, 3]);
    let removal = || {
        let tasks = server.get("/tasks?types=documentDeletion&statuses=succeeded").ok();
        tasks["results"].as_array().expect("a list").first().cloned()
    };
    let start = Instant::now();
    let removed = soon(removal);
    assert!(start.elapsed() < Duration::from_secs(20), "a task removes it within seconds, not {:?}", start.elapsed());
    assert_eq!((&removed["indexUid"], &removed["details"]["deletedDocuments"]), (&json!("films"), &json!(1)));
    server.set("films", json!({"expiryAttribute": null}));
    assert_eq!(server.ids("films", json!({})), [2, 3], "it is gone");
}

#[test]
fn the_setting_is_a_text() {
    let server = Server::start();
    server.add("films", json!([{"id": 1}]));
    for wrong in [json!(1), json!(["a"]), json!({})] {
        server
            .patch("/indexes/films/settings", json!({"expiryAttribute": wrong}))
            .refused(400, "invalid_settings_expiry_attribute");
        let alone = server.put("/indexes/films/settings/expiry-attribute", wrong);
        alone.refused(400, "invalid_settings_expiry_attribute");
    }
}

/// Expired documents are not found from the start; their removal gives the disk back.
#[test]
fn removed_documents_take_no_space() {
    let server = Server::start();
    let document = |id: u64| {
        let until = if id.is_multiple_of(10) { json!(null) } else { json!("2001-02-03T04:05:06Z") };
        json!({"id": id, "until": until, "title": format!("film {} {}", id * 7919 % 1_000_003, id * 104_729 % 1_000_003)})
    };
    server.add("films", (0..2000).map(document).collect());
    let size = |name: &str| {
        let stats = server.get("/indexes/films/stats?showInternalDatabaseSizes=true").ok();
        stats[name].as_u64().expect("a number")
    };
    let before = size("indexSize");
    server.set("films", json!({"expiryAttribute": "until"}));
    assert_eq!(server.document_count("films"), 200, "at once");
    soon_as(|| size("indexSize"), |bytes| *bytes <= before / 2);
    assert!(size("usedIndexSize") <= size("indexSize"));
    let tasks = server.get("/tasks?types=documentDeletion").ok();
    assert_eq!(tasks["results"][0]["details"]["deletedDocuments"], 1800, "{tasks}");
    assert_eq!(server.document_count("films"), 200);
}

#[test]
fn earlier_states_hide_what_has_expired_since() {
    let server = Server::with_options(&["--experimental-replication-parameters", "--keep", "1h"]);
    server.set("films", json!({"filterableAttributes": ["kind", "id"], "expiryAttribute": "until"}));
    server.add("films", documents());
    let generation = server.get("/indexes/films/generations").ok()["results"][0]["generation"].clone();
    let at = || server.ids("films", json!({"at": generation}));
    assert_eq!(at(), LEFT, "the present state");
    server.add("films", json!([{"id": 6, "title": "another"}]));
    assert_eq!(at(), LEFT, "an earlier one");
    let listed = server.get(&format!("/indexes/films/documents?at={generation}")).ok();
    assert_eq!(listed["total"], 3);
    server.get(&format!("/indexes/films/documents/1?at={generation}")).refused(404, "document_not_found");
    server.get(&format!("/indexes/films/documents/3?at={generation}")).ok();
}
