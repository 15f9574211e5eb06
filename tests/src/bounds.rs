//! Requests that ask for too much: refused with a sentence, or answered in a time that does not depend on them.

use serde_json::{Value, json};

use crate::server::{Answer, Server};

fn films() -> Server {
    let server = Server::start();
    server.set("films", json!({"filterableAttributes": ["id", "tag"], "sortableAttributes": ["id"]}));
    server.add("films", (0..300).map(|id| json!({"id": id, "tag": format!("tag {id}"), "title": "film"})).collect());
    server.patch("/experimental-features", json!({"containsFilter": true})).ok();
    server
}

/// A refusal that does not repeat the whole request.
#[track_caller]
fn refused(answer: &Answer, code: &str) {
    answer.refused(400, code);
    assert!(answer.text.len() < 1000, "{} bytes: {:.300}", answer.text.len(), answer.text);
}

#[test]
fn filters_have_a_size_wherever_they_are_taken() {
    let server = films();
    // The size counts here, not the time.
    server.set("films", json!({"searchCutoffMs": 60_000}));
    let chain = |count: usize| (0..count).map(|n| format!("id = {n}")).collect::<Vec<_>>().join(" OR ");
    let most = chain(50_000);
    assert_eq!(server.search("films", json!({"filter": most}))["estimatedTotalHits"], 300);
    let filter = chain(100_001);
    let asked = json!({"filter": filter});
    let search = |path: &str, body: Value| server.post(&format!("/indexes/films/{path}"), body);
    refused(&search("search", asked.clone()), "invalid_search_filter");
    refused(&search("facet-search", json!({"facetName": "tag", "filter": filter})), "invalid_search_filter");
    refused(&search("documents/fetch", asked.clone()), "invalid_document_filter");
    refused(&search("documents/delete", asked.clone()), "invalid_document_filter");
    let query = json!({"indexUid": "films", "filter": filter});
    refused(&server.post("/multi-search", json!({"queries": [query]})), "invalid_search_filter");
    refused(&server.post("/multi-search", json!({"federation": {}, "queries": [query]})), "invalid_search_filter");
    assert_eq!(server.document_count("films"), 300);
}

/// The time of one condition, or little more, for thousands of them.
#[test]
fn thousands_of_conditions_on_a_field_are_answered() {
    let server = films();
    let contains = (0..4000).map(|n| format!("tag CONTAINS 'tag {n}'")).collect::<Vec<_>>();
    let answer = server.search("films", json!({"filter": contains.join(" OR ")}));
    assert_eq!((&answer["estimatedTotalHits"], answer.get("degraded")), (&json!(300), None), "{answer}");
    let none = contains.join(" AND NOT ").replacen("tag", "NOT tag", 1);
    assert_eq!(server.search("films", json!({"filter": none}))["estimatedTotalHits"], 0);
    let listed =
        server.post("/indexes/films/documents/fetch", json!({"filter": contains.join(" OR "), "limit": 1})).ok();
    assert_eq!(listed["total"], 300);
    let deleted =
        server.done(&server.post("/indexes/films/documents/delete", json!({"filter": contains.join(" OR ")})));
    assert_eq!(deleted["details"]["deletedDocuments"], 300);
}

#[test]
fn lists_of_requests_have_a_length() {
    let server = films();
    let names: Vec<String> = (0..200_000).map(|n| format!("n{n}")).collect();
    let sorts: Vec<String> = names.iter().map(|name| format!("{name}:asc")).collect();
    for (name, list, code) in [
        ("sort", &sorts, "invalid_search_sort"),
        ("facets", &names, "invalid_search_facets"),
        ("attributesToRetrieve", &names, "invalid_search_attributes_to_retrieve"),
        ("attributesToHighlight", &names, "invalid_search_attributes_to_highlight"),
        ("attributesToCrop", &names, "invalid_search_attributes_to_crop"),
        ("attributesToSearchOn", &names, "invalid_search_attributes_to_search_on"),
        ("locales", &vec!["eng".to_owned(); 200_000], "invalid_search_locales"),
    ] {
        refused(&server.post("/indexes/films/search", json!({ name: list })), code);
    }
    let listed = |body: Value| server.post("/indexes/films/documents/fetch", body);
    refused(&listed(json!({"fields": names})), "invalid_document_fields");
    refused(&listed(json!({"sort": sorts})), "invalid_document_sort");
    let ids: Vec<u64> = (0..200_000).collect();
    assert_eq!(listed(json!({"ids": ids, "limit": 1})).ok()["total"], 300);
    let queries = vec![json!({"indexUid": "films", "limit": 0}); 100_000];
    refused(&server.post("/multi-search", json!({"queries": queries})), "bad_request");
    assert_eq!(server.post("/multi-search", json!({"queries": queries[..1000]})).status, 200);
}

#[test]
fn a_text_of_megabytes_is_cut_and_the_answer_says_so() {
    let server = films();
    for q in [format!("film {}", "word ".repeat(400_000)), format!("\"film {}", "x".repeat(2_000_000))] {
        let answer = server.post("/indexes/films/search", json!({"q": q, "limit": 1, "attributesToRetrieve": ["id"]}));
        assert_eq!(answer.limits.as_deref(), Some("queryTerms"));
        assert_eq!(answer.ok()["degradedReasons"], json!(["queryTerms"]));
    }
}

#[test]
fn settings_have_a_size() {
    let server = films();
    let names: Vec<String> = (0..300_000).map(|n| format!("n{n}")).collect();
    let rules: Vec<String> = names[..40_000].iter().map(|name| format!("{name}:asc")).collect();
    for (route, key, value, code) in [
        ("ranking-rules", "rankingRules", json!(rules), "invalid_settings_ranking_rules"),
        ("synonyms", "synonyms", json!({"film": names}), "invalid_settings_synonyms"),
        ("searchable-attributes", "searchableAttributes", json!(names), "invalid_settings_searchable_attributes"),
        ("stop-words", "stopWords", json!(names), "invalid_settings_stop_words"),
    ] {
        let put = server.request(reqwest::Method::PUT, &format!("/indexes/films/settings/{route}")).json(&value);
        refused(&server.send(put), code);
        refused(&server.patch("/indexes/films/settings", json!({ key: value })), code);
    }
}

/// Half a million words took minutes, for every change of the settings and the first search after it.
#[test]
fn a_large_dictionary_is_of_use() {
    let server = films();
    let words: Vec<String> = (0..100_000).map(|n| format!("n. {n}")).collect();
    let stops: Vec<String> = (0..100_000).map(|n| format!("s{n}")).collect();
    server.set("films", json!({"dictionary": words, "stopWords": stops, "synonyms": {"film": words[..1000]}}));
    server.add("films", json!([{"id": 1000, "title": "see n. 77777 there"}]));
    assert_eq!(server.ids("films", json!({"q": "\"n. 77777\""})), [1000]);
    assert_eq!(server.search("films", json!({"q": "film"}))["estimatedTotalHits"], 300);
}

/// Checks that the explanation of a hit does not grow with its text.
#[test]
fn few_positions_of_a_long_text_are_explained() {
    let server = films();
    server.add("films", json!([{"id": 1000, "title": "reel ".repeat(500)}, {"id": 1001, "title": "reel reel"}]));
    let found = server.search("films", json!({"q": "reel", "explain": {"documentId": "1000"}}));
    let positions = |matches: &Value| matches[0]["positions"].as_array().expect("positions").len();
    let of_hit = |id: u64| {
        let hit = found["hits"].as_array().unwrap().iter().find(|hit| hit["id"] == id).expect("a hit");
        positions(&hit["_explanation"]["words"][0]["matches"])
    };
    assert_eq!((of_hit(1000), of_hit(1001)), (100, 2), "{found}");
}

/// A column keeps the start of a text, whatever its length.
#[test]
fn long_texts_are_facets_by_their_start() {
    let server = films();
    let tag = "Reel ".repeat(20_000);
    server.add("films", json!([{"id": 1000, "tag": tag}]));
    let found = server.search("films", json!({"filter": "id = 1000", "facets": ["tag"]}));
    assert_eq!(found["facetDistribution"]["tag"], json!({&tag[..4096]: 1}));
    assert_eq!(server.search("films", json!({"filter": format!("tag = '{tag}'")}))["estimatedTotalHits"], 1);
    assert_eq!(server.get("/indexes/films/documents/1000").ok()["tag"], json!(tag));
}
