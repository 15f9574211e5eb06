//! Hybrid searches that fuse the lists by words and by nearness: pages, totals, facets, `distinct`, federation, whole values.

use serde_json::{Value, json};

use crate::server::Server;

const FUSIONS: [&str; 3] = ["score", "rrf", "relative"];
const DOCUMENTS: u64 = 24;

/// Lamps with numbers, kinds and directions: those with small numbers point east.
fn lamps() -> Server {
    let server = Server::start();
    let embedder = json!({"source": "userProvided", "dimensions": 2});
    let attributes = json!(["title", "sku", "kind"]);
    server.set(
        "lamps",
        json!({"embedders": {"e": embedder}, "filterableAttributes": ["kind"], "searchableAttributes": attributes}),
    );
    let document = |id: u64| {
        let angle = id as f64 * std::f64::consts::PI / DOCUMENTS as f64;
        let words = ["red lamp", "blue lamp and ab 12 lamps", "green chair"][id as usize % 3];
        let kind = if id.is_multiple_of(2) { "light" } else { "other" };
        json!({
            "id": id, "title": words, "sku": format!("AB-{id}"), "kind": kind,
            "_vectors": {"e": [angle.cos(), angle.sin()]},
        })
    };
    server.add("lamps", (1..=DOCUMENTS).map(document).collect());
    server
}

fn query(fusion: &str, q: &str, ratio: f64) -> Value {
    json!({
        "q": q, "vector": [1, 0], "hybrid": {"embedder": "e", "semanticRatio": ratio, "fusion": fusion},
        "matchingStrategy": "any", "showRankingScore": true, "attributesToRetrieve": ["id", "kind"],
    })
}

fn with(mut query: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        query[key] = value.clone();
    }
    query
}

fn ids(answer: &Value) -> Vec<u64> {
    answer["hits"].as_array().unwrap().iter().map(|hit| hit["id"].as_u64().unwrap()).collect()
}

#[test]
fn pages_fit_together_and_totals_count_both_lists() {
    let server = lamps();
    for fusion in FUSIONS {
        let all = server.search("lamps", with(query(fusion, "red lamp", 0.5), json!({"limit": 100})));
        let listed = ids(&all);
        assert_eq!((listed.len() as u64, &all["estimatedTotalHits"]), (DOCUMENTS, &json!(DOCUMENTS)), "{fusion}");
        let page = |offset: usize| {
            ids(&server.search("lamps", with(query(fusion, "red lamp", 0.5), json!({"limit": 5, "offset": offset}))))
        };
        let pages: Vec<u64> = [0, 5, 10, 15, 20].into_iter().flat_map(page).collect();
        assert_eq!(pages, listed, "{fusion}");
        let finite = server.search("lamps", with(query(fusion, "red lamp", 0.5), json!({"page": 2, "hitsPerPage": 5})));
        assert_eq!((ids(&finite).as_slice(), &finite["totalHits"]), (&listed[5..10], &json!(DOCUMENTS)), "{fusion}");
        let scores: Vec<f64> =
            all["hits"].as_array().unwrap().iter().map(|hit| hit["_rankingScore"].as_f64().unwrap()).collect();
        assert!(scores.is_sorted_by(|one, next| one >= next) || fusion == "score", "{fusion}: {scores:?}");
    }
}

#[test]
fn facets_filters_and_distinct_see_all_that_either_list_has() {
    let server = lamps();
    for fusion in FUSIONS {
        let facets = server.search("lamps", with(query(fusion, "lamp", 0.5), json!({"facets": ["kind"]})));
        assert_eq!(facets["facetDistribution"]["kind"], json!({"light": 12, "other": 12}), "{fusion}");
        let filtered = with(query(fusion, "lamp", 0.5), json!({"filter": "kind = light", "limit": 100}));
        let filtered = server.search("lamps", filtered);
        assert_eq!(filtered["estimatedTotalHits"], 12, "{fusion}");
        assert!(ids(&filtered).iter().all(|id| id.is_multiple_of(2)));
        let distinct = server.search("lamps", with(query(fusion, "lamp", 0.5), json!({"distinct": "kind"})));
        assert_eq!((ids(&distinct).len(), &distinct["estimatedTotalHits"]), (2, &json!(2)), "{fusion}");
        let all = server.search("lamps", with(query(fusion, "lamp", 0.5), json!({"limit": 100})));
        assert_eq!(ids(&distinct)[0], ids(&all)[0], "{fusion}: the best of its value");
    }
}

#[test]
fn federated_searches_merge_fused_lists() {
    let server = lamps();
    for fusion in FUSIONS {
        let mut fused = with(query(fusion, "red lamp", 0.5), json!({"indexUid": "lamps"}));
        let alone = ids(&server.search("lamps", with(query(fusion, "red lamp", 0.5), json!({"limit": 100}))));
        let federated = json!({"federation": {"limit": 100}, "queries": [fused.clone()]});
        assert_eq!(ids(&server.post("/multi-search", federated).ok()), alone, "{fusion}");
        fused["federationOptions"] = json!({"weight": 0.01});
        let words =
            json!({"indexUid": "lamps", "q": "chair", "matchingStrategy": "any", "attributesToRetrieve": ["id"]});
        let federated = json!({"federation": {"limit": 100}, "queries": [fused, words]});
        let merged = server.post("/multi-search", federated).ok();
        assert_eq!(ids(&merged).len() as u64, DOCUMENTS, "{fusion}: every document once");
        assert_eq!(ids(&merged)[0] % 3, 2, "{fusion}: a chair");
    }
}

/// Each list has a threshold of its own, in place of that of the request.
#[test]
fn each_list_may_have_its_own_threshold() {
    let server = lamps();
    for fusion in FUSIONS {
        let found = |ratio: f64, thresholds: Value, of_all: Value| -> (Vec<u64>, Value) {
            let mut asked = with(query(fusion, "chair", ratio), json!({"limit": 100, "rankingScoreThreshold": of_all}));
            asked["hybrid"]["thresholds"] = thresholds;
            let answer = server.search("lamps", asked);
            let mut found = ids(&answer);
            found.sort_unstable();
            (found, answer["estimatedTotalHits"].clone())
        };
        let chairs: Vec<u64> = (1..=DOCUMENTS).filter(|id| id % 3 == 2).collect();
        let near = vec![1, 2, 3, 4];
        let mut either: Vec<u64> = chairs.iter().chain(&near).copied().collect();
        either.sort_unstable();
        either.dedup();
        for (ratio, thresholds, of_all, expected) in [
            (0.5, json!({"vectors": 0.9}), json!(null), &either),
            (0.5, json!({"words": 0.0}), json!(0.9), &either),
            (0.5, json!({"words": 1.0, "vectors": 0.9}), json!(null), &near),
            (0.5, json!({"words": null, "vectors": 1.0}), json!(null), &chairs),
            (1.0, json!({"words": 0.0, "vectors": 0.9}), json!(0.1), &near),
            (0.0, json!({"words": 1.0, "vectors": 0.0}), json!(null), &Vec::new()),
        ] {
            let (found, total) = found(ratio, thresholds.clone(), of_all);
            assert_eq!((&found, total), (expected, json!(expected.len())), "{fusion} {ratio} {thresholds}");
        }
        let all = found(0.5, json!(null), json!(null)).0;
        assert_eq!(all.len() as u64, DOCUMENTS, "{fusion}: without one, everything is near to some degree");
    }
}

/// Checks that a query for a number finds the document that has it, regardless of near neighbours.
#[test]
fn a_query_that_is_a_whole_value_is_not_lost_to_neighbours() {
    let server = lamps();
    for fusion in ["rrf", "relative"] {
        for strategy in ["any", "last"] {
            for ratio in [0.1, 0.5, 0.95] {
                let asked = with(query(fusion, "AB-20", ratio), json!({"matchingStrategy": strategy, "limit": 3}));
                let answer = server.search("lamps", asked);
                assert_eq!(ids(&answer)[0], 20, "{fusion} {strategy} {ratio}: {answer}");
                assert_eq!(answer["hits"][0]["_rankingScore"], 1.0);
                assert!(answer["hits"][1]["_rankingScore"].as_f64().unwrap() < 1.0);
            }
        }
        // Part of a value is none.
        let part = server.search("lamps", query(fusion, "chair", 0.95));
        assert!(part["hits"][0]["_rankingScore"].as_f64().unwrap() < 1.0, "{fusion}: {part}");
        // A value of many documents is a kind of them.
        let kind = ids(&server.search("lamps", with(query(fusion, "light", 0.95), json!({"limit": 5}))));
        assert!(kind.iter().any(|id| !id.is_multiple_of(2)), "{fusion}: {kind:?}");
        let title_only = with(query(fusion, "AB-20", 0.95), json!({"attributesToSearchOn": ["title"]}));
        assert_ne!(ids(&server.search("lamps", title_only))[0], 20, "{fusion}");
    }
}

/// Pages of a list repeat and miss nothing, where good keyword hits fill the first one: in one index, with a pinned document and a bound
/// of all pages, and merged.
#[test]
fn good_keyword_hits_are_on_one_page_only() {
    let server = Server::start();
    server.set(
        "foxes",
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "pagination": {"maxTotalHits": 5}}),
    );
    let texts = ["red fox", "red fox", "red fox", "red dog", "blue"];
    let vectors = [[0.0, 1.0], [1.0, 0.1], [0.0, -1.0], [1.0, 0.0], [1.0, 0.0]];
    let documents = (1..).zip(texts.iter().zip(vectors));
    let documents = documents.map(|(id, (text, vector))| json!({"id": id, "text": text, "_vectors": {"e": vector}}));
    server.add("foxes", documents.collect());
    let asked = json!({"q": "red fox", "vector": [1.0, 0.0], "hybrid": {"embedder": "e", "semanticRatio": 0.5}});
    let pages = |size: usize, page: &dyn Fn(Value) -> Value| {
        let mut found: Vec<u64> =
            (0..6).flat_map(|number| ids(&page(json!({"offset": number * size, "limit": size})))).collect();
        let shown = found.clone();
        found.sort_unstable();
        assert_eq!(found, [1, 2, 3, 4, 5], "pages of {size}: {shown:?}");
    };
    let alone = |window: Value| server.search("foxes", with(asked.clone(), window));
    let merged = |window: Value| {
        let query = with(asked.clone(), json!({"indexUid": "foxes"}));
        server.post("/multi-search", json!({"federation": window, "queries": [query]})).ok()
    };
    for size in 1..=4 {
        pages(size, &alone);
        pages(size, &merged);
    }
    server.patch("/experimental-features", json!({"dynamicSearchRules": true})).ok();
    let pin = json!({"selector": {"indexUid": "foxes", "id": "5"}, "action": {"type": "pin", "position": 1}});
    server.done(&server.patch("/dynamic-search-rules/a", json!({"actions": [pin]})));
    for size in 1..=4 {
        pages(size, &alone);
    }
}
