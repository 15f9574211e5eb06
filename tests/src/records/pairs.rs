//! Valid values of parameters, in a query string and in a body.

use serde_json::{Value, json};

use crate::receiver::{Reply, answering};

/// Documents that all searches are made on.
pub(super) fn documents() -> Value {
    json!([
        {"id": 1, "title": "Jurassic Park", "about": "Dinosaurs on an island.", "year": 1993,
            "genre": ["adventure", "science"], "_vectors": {"films": [1, 0]}},
        {"id": 2, "title": "Jurassic World", "about": "More dinosaurs, and a park.", "year": 2015,
            "genre": ["adventure"], "_vectors": {"films": [0, 1]}},
        {"id": 3, "title": "Park Row", "about": "A newspaper in New York.", "year": 1952,
            "genre": ["drama"], "_vectors": {"films": [1, 1]}},
    ])
}

/// The address of a model that prefers the last hit.
pub(super) fn reranker() -> String {
    answering(|request| {
        let asked: Value = serde_json::from_slice(&request.body).expect("JSON");
        let places = 0..asked["documents"].as_array().expect("documents").len();
        let results = places.map(|place| json!({"index": place, "relevance_score": place as f64 / 10.0}));
        Some(Reply::new(200, json!({"results": results.collect::<Vec<Value>>()}).to_string()))
    })
}

/// The number of the first state of the index, which is another one in each run.
pub(super) const STATE: &str = "{state}";

/// A query string and a body that mean the same.
pub(super) struct Pair {
    pub(super) query: &'static str,
    pub(super) body: Value,
}

fn pair(query: &'static str, body: Value) -> Pair {
    Pair { query, body }
}

/// Pairs that decide which hits there are, and their order.
fn of_hits() -> Vec<Pair> {
    let films = json!({"embedder": "films", "semanticRatio": 1});
    let boost = json!([{"boostIf": {"filter": "year > 2000", "weight": 9}}]);
    vec![
        pair("q=newspaper", json!({"q": "newspaper"})),
        pair("q=", json!({"q": ""})),
        pair("q=park&offset=1", json!({"q": "park", "offset": 1})),
        pair("q=park&limit=1", json!({"q": "park", "limit": 1})),
        pair("q=park&page=2&hitsPerPage=1", json!({"q": "park", "page": 2, "hitsPerPage": 1})),
        pair("q=park&page=0", json!({"q": "park", "page": 0})),
        pair("q=park&filter=year > 1990", json!({"q": "park", "filter": "year > 1990"})),
        pair(
            "filter=[[\"genre = drama\",\"genre = science\"],\"year < 1990\"]",
            json!({"filter": [["genre = drama", "genre = science"], "year < 1990"]}),
        ),
        pair("sort=year:desc", json!({"sort": ["year:desc"]})),
        pair("distinct=genre", json!({"distinct": "genre"})),
        pair("distinct=genre&distinctLimit=2", json!({"distinct": "genre", "distinctLimit": 2})),
        pair("q=park dinosaurs&matchingStrategy=all", json!({"q": "park dinosaurs", "matchingStrategy": "all"})),
        pair("q=park&attributesToSearchOn=about", json!({"q": "park", "attributesToSearchOn": ["about"]})),
        pair("q=park&rankingScoreThreshold=0.99", json!({"q": "park", "rankingScoreThreshold": 0.99})),
        pair("q=park&locales=eng,fra", json!({"q": "park", "locales": ["eng", "fra"]})),
        pair(
            "q=park&boosts=[{\"boostIf\":{\"filter\":\"year > 2000\",\"weight\":9}}]",
            json!({"q": "park", "boosts": boost}),
        ),
        pair("vector=0,1&hybridEmbedder=films&hybridSemanticRatio=1", json!({"vector": [0, 1], "hybrid": films})),
        pair("q=park&useNetwork=true", json!({"q": "park", "useNetwork": true})),
        pair("at={state}", json!({"at": STATE})),
        pair("at=2020-01-01T00:00:00Z", json!({"at": "2020-01-01T00:00:00Z"})),
        pair("pointInTimeKeepAliveMs=60000", json!({"pointInTime": {"keepAliveMs": 60000}})),
        pair(
            "pointInTime=00000000-0000-4000-8000-000000000000",
            json!({"pointInTime": {"id": "00000000-0000-4000-8000-000000000000"}}),
        ),
        pair("personalizeUserContext=x", json!({"personalize": {"userContext": "x"}})),
    ]
}

/// Pairs that decide how lists of words and of vectors are merged, and what puts hits in another order.
fn of_merging() -> Vec<Pair> {
    let hybrid = |more: Value| {
        let mut hybrid = json!({"embedder": "films"});
        hybrid.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({"q": "newspaper", "vector": [0, 1], "hybrid": hybrid, "showRankingScore": true})
    };
    let rerank = |more: Value| {
        let mut rerank = json!({"reranker": "films"});
        rerank.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        json!({"q": "park", "rerank": rerank})
    };
    vec![
        pair(
            "q=newspaper&vector=0,1&hybridEmbedder=films&hybridFusion=rrf&hybridRrfK=10&showRankingScore=true",
            hybrid(json!({"fusion": "rrf", "rrfK": 10})),
        ),
        pair(
            "q=newspaper&vector=0,1&hybridEmbedder=films&hybridFusion=relative&showRankingScore=true",
            hybrid(json!({"fusion": "relative"})),
        ),
        pair(
            "q=newspaper&vector=0,1&hybridEmbedder=films&hybridThresholdsWords=0.5&hybridThresholdsVectors=0.9\
             &showRankingScore=true",
            hybrid(json!({"thresholds": {"words": 0.5, "vectors": 0.9}})),
        ),
        pair(
            "q=newspaper&vector=0,1&hybridEmbedder=films&hybridPassages=2&showRankingScore=true",
            hybrid(json!({"passages": 2})),
        ),
        pair("q=park&rerank=films", rerank(json!({}))),
        pair("q=park&rerank=films&rerankLimit=2&rerankTimeoutMs=9000", rerank(json!({"limit": 2, "timeoutMs": 9000}))),
    ]
}

/// Pairs that decide what an answer shows of the hits and around them.
fn of_answers() -> Vec<Pair> {
    vec![
        pair("attributesToRetrieve=id,title", json!({"attributesToRetrieve": ["id", "title"]})),
        pair("retrieveVectors=true", json!({"retrieveVectors": true})),
        pair(
            "q=park&attributesToCrop=about&cropLength=2&cropMarker=~",
            json!({"q": "park", "attributesToCrop": ["about"], "cropLength": 2, "cropMarker": "~"}),
        ),
        pair(
            "q=park&attributesToHighlight=title,about&highlightPreTag=<b>&highlightPostTag=</b>",
            json!({
                "q": "park", "attributesToHighlight": ["title", "about"], "highlightPreTag": "<b>",
                "highlightPostTag": "</b>"
            }),
        ),
        pair("q=park&showMatchesPosition=true", json!({"q": "park", "showMatchesPosition": true})),
        pair("q=park&showRankingScore=true", json!({"q": "park", "showRankingScore": true})),
        pair("q=park&showRankingScoreDetails=true", json!({"q": "park", "showRankingScoreDetails": true})),
        pair("q=park&showPerformanceDetails=true", json!({"q": "park", "showPerformanceDetails": true})),
        pair("facets=genre,year", json!({"facets": ["genre", "year"]})),
        pair("facets=*", json!({"facets": ["*"]})),
        pair("q=newspapre&didYouMean=true", json!({"q": "newspapre", "didYouMean": true})),
        pair("q=park&limit=1&explain=true", json!({"q": "park", "limit": 1, "explain": true})),
        pair("q=park&limit=0&explainDocumentId=3", json!({"q": "park", "limit": 0, "explain": {"documentId": 3}})),
    ]
}

/// Searches of all kinds.
pub(super) fn searches() -> Vec<Pair> {
    [of_hits(), of_merging(), of_answers()].into_iter().flatten().collect()
}

/// Requests for documents like another one.
pub(super) fn similar() -> Vec<Pair> {
    let with = |name: &str, value: Value| json!({"id": 1, "embedder": "films", name: value});
    vec![
        pair("id=1&embedder=films", json!({"id": 1, "embedder": "films"})),
        pair("id=1&embedder=films&offset=1", with("offset", json!(1))),
        pair("id=1&embedder=films&limit=1", with("limit", json!(1))),
        pair("id=1&embedder=films&filter=year < 2000", with("filter", json!("year < 2000"))),
        pair("id=1&embedder=films&attributesToRetrieve=id", with("attributesToRetrieve", json!(["id"]))),
        pair("id=1&embedder=films&retrieveVectors=true", with("retrieveVectors", json!(true))),
        pair("id=1&embedder=films&showRankingScore=true", with("showRankingScore", json!(true))),
        pair("id=1&embedder=films&showRankingScoreDetails=true", with("showRankingScoreDetails", json!(true))),
        pair("id=1&embedder=films&showPerformanceDetails=true", with("showPerformanceDetails", json!(true))),
        pair("id=1&embedder=films&rankingScoreThreshold=0.6", with("rankingScoreThreshold", json!(0.6))),
    ]
}

/// Lists of documents.
pub(super) fn lists() -> Vec<Pair> {
    vec![
        pair("offset=1", json!({"offset": 1})),
        pair("limit=1", json!({"limit": 1})),
        pair("fields=id,title", json!({"fields": ["id", "title"]})),
        pair("fields=id&retrieveVectors=true", json!({"fields": ["id"], "retrieveVectors": true})),
        pair("ids=3,1", json!({"ids": [3, 1]})),
        pair("filter=year < 2000", json!({"filter": "year < 2000"})),
        pair("sort=year:desc", json!({"sort": ["year:desc"]})),
        pair("at={state}", json!({"at": STATE})),
        pair("useNetwork=true", json!({"useNetwork": true})),
    ]
}
