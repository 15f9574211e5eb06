//! Search over HTTP: what each parameter does. Ranking itself is tested against an oracle in the engine.

use serde_json::{Value, json};

use crate::server::Server;

fn films() -> Server {
    let server = Server::start();
    server.add(
        "films",
        json!([
            {"id": 1, "title": "Jurassic Park", "about": "Dinosaurs on an island.", "year": 1993, "cast": ["Sam Neill"]},
            {"id": 2, "title": "Jurassic World", "about": "More dinosaurs.", "year": 2015, "cast": ["Chris Pratt"]},
            {"id": 3, "title": "Park Row", "about": "A newspaper in New York.", "year": 1952, "cast": []},
            {"id": 4, "title": "The Park", "about": "A jurassic joke, nothing else.", "year": 2020, "info": {"tags": ["short", "silly film"]}},
        ]),
    );
    server
}

#[track_caller]
fn check(server: &Server, query: Value, expected: &[u64]) {
    assert_eq!(server.ids("films", query.clone()), expected, "{query}");
}

#[test]
fn words_typos_prefixes_phrases_negatives() {
    let server = films();
    for (q, expected) in [
        ("jurassic park", &[1, 4, 2][..]),
        ("jurasic prak", &[1, 2, 4]),
        ("dinosuar", &[1, 2]),
        ("jur", &[1, 2, 4]),
        ("jur ", &[]),
        ("\"jurassic park\"", &[1]),
        ("jurassic -park", &[2]),
        ("-jurassic", &[3]),
        ("-\"jurassic park\"", &[2, 3, 4]),
        ("newspaper", &[3]),
        ("silly film", &[4]),
        ("1993", &[1]),
        ("jurassicpark", &[1]),
        ("news paper", &[3]),
        ("", &[1, 2, 3, 4]),
        ("zzz", &[]),
    ] {
        check(&server, json!({"q": q}), expected);
    }
}

#[test]
fn matching_strategies() {
    let server = films();
    check(&server, json!({"q": "jurassic newspaper"}), &[1, 2, 4]);
    check(&server, json!({"q": "jurassic newspaper", "matchingStrategy": "all"}), &[]);
    check(&server, json!({"q": "jurassic newspaper", "matchingStrategy": "frequency"}), &[3]);
    check(&server, json!({"q": "jurassic park island", "matchingStrategy": "all"}), &[1]);
}

#[test]
fn windows_and_totals() {
    let server = films();
    let answer = server.search("films", json!({"q": "park", "limit": 1, "offset": 1}));
    assert_eq!(answer["hits"].as_array().unwrap().len(), 1);
    assert_eq!((&answer["limit"], &answer["offset"], &answer["estimatedTotalHits"]), (&json!(1), &json!(1), &json!(3)));
    assert_eq!(answer["query"], "park");
    assert!(answer["processingTimeMs"].is_u64(), "{answer}");
    assert!(answer["requestUid"].is_string(), "{answer}");
    let page = server.search("films", json!({"q": "park", "page": 2, "hitsPerPage": 2}));
    assert_eq!(page["hits"].as_array().unwrap().len(), 1);
    let totals = (&page["page"], &page["hitsPerPage"], &page["totalHits"], &page["totalPages"]);
    assert_eq!(totals, (&json!(2), &json!(2), &json!(3), &json!(2)));
    assert!(page.get("estimatedTotalHits").is_none());
    check(&server, json!({"q": "park", "limit": 0}), &[]);
    check(&server, json!({"q": "park", "offset": 10}), &[]);
}

#[test]
fn fields_scores_and_thresholds() {
    let server = films();
    let query = json!({"q": "jurassic park", "attributesToRetrieve": ["title", "info.tags"], "showRankingScore": true,
        "showRankingScoreDetails": true});
    let answer = server.search("films", query);
    let hits = answer["hits"].as_array().unwrap();
    let keys: Vec<&String> = hits[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["title", "_rankingScore", "_rankingScoreDetails"]);
    assert_eq!(hits[1]["info"], json!({"tags": ["short", "silly film"]}));
    let scores: Vec<f64> = hits.iter().map(|hit| hit["_rankingScore"].as_f64().unwrap()).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(scores[0] <= 1.0, "{scores:?}");
    assert!(scores[2] > 0.0, "{scores:?}");
    assert_eq!(hits[0]["_rankingScoreDetails"]["words"]["matchingWords"], 2, "{answer}");
    let threshold = (scores[0] + scores[1]) / 2.0;
    check(&server, json!({"q": "jurassic park", "rankingScoreThreshold": threshold}), &[1]);
    check(&server, json!({"q": "park", "attributesToSearchOn": ["about"]}), &[]);
    check(&server, json!({"q": "jurassic", "attributesToSearchOn": ["about"]}), &[4]);
    server.set("films", json!({"searchableAttributes": []}));
    check(&server, json!({"q": "park", "attributesToSearchOn": ["*"]}), &[]);
}

#[test]
fn an_excluded_stop_word_excludes_nothing() {
    let server = films();
    check(&server, json!({"q": "jurassic -park"}), &[2]);
    server.set("films", json!({"stopWords": ["park"]}));
    check(&server, json!({"q": "jurassic -park"}), &[1, 2, 4]);
    check(&server, json!({"q": "jurassic -Park"}), &[1, 2, 4]);
    check(&server, json!({"q": "jurassic -\"park\""}), &[1, 2, 4]);
}

#[test]
fn sorting() {
    let server = films();
    server.post("/indexes/films/search", json!({"sort": ["year:asc"]})).refused(400, "invalid_search_sort");
    server.set("films", json!({"sortableAttributes": ["year"]}));
    check(&server, json!({"sort": ["year:asc"]}), &[3, 1, 2, 4]);
    check(&server, json!({"q": "park", "sort": ["year:desc"], "limit": 2}), &[4, 1]);
    server.set("films", json!({"rankingRules": ["year:asc", "words"]}));
    check(&server, json!({"q": "park"}), &[3, 1, 4]);
}

#[test]
fn get_and_post_agree() {
    let server = films();
    let path = "/indexes/films/search?q=jurassic%20park&limit=2&attributesToRetrieve=id,title&showRankingScore=true";
    let body =
        json!({"q": "jurassic park", "limit": 2, "attributesToRetrieve": ["id", "title"], "showRankingScore": true});
    assert_eq!(server.get(path).ok()["hits"], server.search("films", body)["hits"]);
}

#[test]
fn long_queries_keep_working() {
    let server = films();
    let q = "jurassic park dinosaurs ".repeat(22);
    check(&server, json!({"q": q, "limit": 1}), &[1]);
}

#[test]
fn wrong_parameters_are_refused() {
    let server = films();
    let path = "/indexes/films/search";
    let unknown = json!({"q": "park", "attributesToSearchOn": ["colour"]});
    check(&server, unknown.clone(), &[]);
    server.set("films", json!({"searchableAttributes": ["title"]}));
    server.post(path, unknown).refused(400, "invalid_search_attributes_to_search_on");
    for (body, code) in [
        (json!({"q": 1}), "invalid_search_q"),
        (json!({"limit": -1}), "invalid_search_limit"),
        (json!({"offset": "x"}), "invalid_search_offset"),
        (json!({"matchingStrategy": "some"}), "invalid_search_matching_strategy"),
        (json!({"rankingScoreThreshold": 1.5}), "invalid_search_ranking_score_threshold"),
        (json!({"colour": "red"}), "bad_request"),
    ] {
        server.post(path, body).refused(400, code);
    }
    server.get(&format!("{path}?limit=x")).refused(400, "invalid_search_limit");
    server.get(&format!("{path}?colour=red")).refused(400, "bad_request");
    server.post("/indexes/absent/search", json!({})).refused(404, "index_not_found");
}

#[test]
fn metadata_names_the_query() {
    let server = films();
    let ask = |path: &str, body: Value| {
        let request = server.request(reqwest::Method::POST, path).header("Meili-Include-Metadata", "true");
        server.send(request.json(&body)).ok()
    };
    let query_of = |metadata: &Value| {
        assert!(metadata["queryUid"].is_string(), "{metadata}");
        assert_eq!((&metadata["indexUid"], &metadata["primaryKey"]), (&json!("films"), &json!("id")));
        metadata.get("query").cloned()
    };
    let metadata = ask("/indexes/films/search", json!({"q": "park"}))["metadata"].clone();
    assert_eq!(query_of(&metadata), Some(json!("park")));
    assert_eq!(metadata.as_object().unwrap().keys().next().unwrap(), "query");
    assert_eq!(query_of(&ask("/indexes/films/search", json!({"q": ""}))["metadata"]), Some(json!("")));
    assert_eq!(query_of(&ask("/indexes/films/search", json!({"q": null}))["metadata"]), None);
    let queries = json!([{"indexUid": "films", "q": "park"}, {"indexUid": "films"}]);
    let each = ask("/multi-search", json!({"queries": queries}))["results"].clone();
    assert_eq!((query_of(&each[0]["metadata"]), query_of(&each[1]["metadata"])), (Some(json!("park")), None));
    let merged = ask("/multi-search", json!({"federation": {}, "queries": queries}))["metadata"].clone();
    assert_eq!((query_of(&merged[0]), query_of(&merged[1])), (Some(json!("park")), None));
    let plain = server.post("/indexes/films/search", json!({"q": "park"})).ok();
    assert_eq!(plain.get("metadata"), None);
}

/// The type of a switch is a matter of the switch; where it may stand is a matter of the request.
#[test]
fn performance_details_are_refused_by_two_codes() {
    let server = films();
    let ask = |federation: Value, query: Value| {
        server.post("/multi-search", json!({"federation": federation, "queries": [query]}))
    };
    ask(json!({"showPerformanceDetails": "true"}), json!({"indexUid": "films"}))
        .refused(400, "invalid_multi_search_query_show_performance_details");
    let query = json!({"indexUid": "films", "showPerformanceDetails": "true"});
    server.post("/multi-search", json!({"queries": [query]})).refused(400, "invalid_search_show_performance_details");
    ask(json!({}), json!({"indexUid": "films", "showPerformanceDetails": true}))
        .refused(400, "invalid_multi_search_query_show_performance_details");
    let shown = ask(json!({"showPerformanceDetails": true}), json!({"indexUid": "films"})).ok();
    assert!(shown["performanceDetails"].is_object(), "{shown}");
}

/// Counts are of the documents of the merged list, extremes of all that the indexes found for it.
#[test]
fn extremes_of_a_merged_list_are_those_of_its_indexes() {
    let server = Server::start();
    for (uid, numbers) in [("a", [5, 7, 9]), ("b", [1, 20, 30])] {
        server.set(uid, json!({"filterableAttributes": ["color", "n"]}));
        let colors = ["red", "red", "blue"];
        let documents = (0..3).map(|at| json!({"id": at, "color": colors[at], "n": numbers[at]}));
        server.add(uid, documents.collect::<Value>());
    }
    let ask = |federation: Value| {
        let queries = json!([{"indexUid": "a"}, {"indexUid": "b"}]);
        server.post("/multi-search", json!({"federation": federation, "queries": queries})).ok()
    };
    let wanted = json!({"a": ["color", "n"], "b": ["color", "n"]});
    let merged = ask(json!({"distinct": "color", "mergeFacets": {}, "facetsByIndex": wanted}));
    assert_eq!(merged["facetDistribution"]["n"], json!({"5": 1, "9": 1}));
    assert_eq!(merged["facetStats"], json!({"n": {"min": 1.0, "max": 30.0}}));
    let apart = ask(json!({"distinct": "color", "facetsByIndex": wanted}))["facetsByIndex"].clone();
    assert_eq!(apart["b"]["distribution"]["n"], json!({}));
    assert_eq!(apart["b"]["stats"], json!({"n": {"min": 1.0, "max": 30.0}}));
    assert_eq!(apart["a"]["stats"], json!({"n": {"min": 5.0, "max": 9.0}}));
}

/// Whatever is wrong with one query of several, the answer says with which.
#[test]
fn errors_name_their_query() {
    let key = "a key of sixteen bytes";
    let server = Server::with_options(&["--master-key", key]).with_key(key);
    server.add("films", json!([{"id": 1}]));
    let made = server.post("/keys", json!({"actions": ["search"], "indexes": ["films"], "expiresAt": null})).body;
    let server = server.with_key(made["key"].as_str().unwrap());
    for (query, code) in [
        (json!({"indexUid": "books"}), "invalid_api_key"),
        (json!({"indexUid": "films", "filter": "a = 1"}), "invalid_search_filter"),
        (json!({"indexUid": "films", "media": {"a": 1}}), "feature_not_enabled"),
        (json!({"indexUid": "films", "useNetwork": true}), "feature_not_enabled"),
        (json!({"indexUid": "films", "federationOptions": {"remote": "x"}}), "feature_not_enabled"),
        (json!({"indexUid": "films", "hybrid": {"embedder": "x"}, "q": "a"}), "invalid_search_embedder"),
    ] {
        for federation in [json!(null), json!({})] {
            let body = json!({"federation": federation, "queries": [{"indexUid": "films"}, query]});
            let refused = server.post("/multi-search", body);
            assert_eq!(refused.body["code"], code, "{query}: {}", refused.text);
            let message = refused.body["message"].as_str().unwrap();
            assert!(message.starts_with("Inside `.queries[1]`: "), "{query}: {message}");
        }
    }
    let personalized = json!({"indexUid": "films", "personalize": {"userContext": "x"}});
    let refused = server.post("/multi-search", json!({"queries": [{"indexUid": "films"}, personalized]}));
    assert!(refused.body["message"].as_str().unwrap().starts_with("Inside `.queries[1]`: "), "{}", refused.text);
}
