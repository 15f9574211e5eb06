//! Boosts: orders and scores against what is computed document by document.

use lamina_index::index::settings::BoostRule;
use serde_json::{Value, json};

use super::tests::{ids, index};
use super::*;

fn rule(value: Value) -> BoostRule {
    BoostRule::try_from(value).unwrap()
}

fn popularity(id: u64) -> u64 {
    id * 7919 % 1009
}

/// Books in several segments, with a popularity, a date, a place, and some in stock.
fn books(rules: Value) -> Snapshot {
    let words = ["red", "fox", "blue", "dog", "green", "owl"];
    let document = |id: u64| {
        let text: Vec<&str> = (0..2 + id % 5).map(|n| words[((id * 31 + n * n * 7) % 6) as usize]).collect();
        let mut document = json!({
            "id": id, "text": text.join(" "), "popularity": popularity(id), "in_stock": id.is_multiple_of(3),
            "released": format!("20{:02}-06-15", id % 24), "_geo": {"lat": (id % 90) as f64, "lng": 0},
            "sizes": [id % 10, 40 + id % 10],
        });
        if id.is_multiple_of(11) {
            document.as_object_mut().unwrap().retain(|name, _| name == "id" || name == "text");
        }
        document
    };
    let batches: Vec<Vec<Value>> = (0..4).map(|batch| (0..80).map(|n| document(batch * 80 + n)).collect()).collect();
    let batches: Vec<&[Value]> = batches.iter().map(Vec::as_slice).collect();
    let settings = json!({
        "rankingRules": rules, "filterableAttributes": ["in_stock"],
        "sortableAttributes": ["popularity", "released", "_geo", "sizes"],
    });
    index(settings, &batches).snapshot().as_ref().clone()
}

fn default_rules() -> Value {
    json!(["words", "typo", "proximity", "attributeRank", "sort", "wordPosition", "exactness"])
}

fn asking(query: &str, matching: MatchingStrategy, boosts: &[Value]) -> SearchRequest {
    let boosts = Some(boosts.iter().cloned().map(rule).collect());
    SearchRequest { query: Some(query.into()), matching, boosts, limit: 20, ..SearchRequest::default() }
}

fn bm25(hit: &Hit) -> f64 {
    let value = hit.details.iter().find_map(|detail| match detail {
        ScoreDetail::Bm25 { value, .. } => Some(*value),
        _ => None,
    });
    value.expect("by BM25")
}

fn factors(hit: &Hit) -> Vec<f64> {
    let factor = |detail: &ScoreDetail| match detail {
        ScoreDetail::Boost { factor, .. } => Some(*factor),
        _ => None,
    };
    hit.details.iter().filter_map(factor).collect()
}

/// Expected factor that a boost gives a book.
type Factor = fn(u64) -> f64;

/// All boosts there are, with what they make of a book.
fn all_boosts() -> Vec<(Value, Factor)> {
    vec![
        (json!({"boost": {"field": "popularity", "function": "log1p", "weight": 0.2}}), |id: u64| {
            if id.is_multiple_of(11) { 1.0 } else { 1.0 + 0.2 * (popularity(id) as f64).ln_1p() }
        }),
        (json!({"boost": {"field": "sizes", "function": "linear", "weight": 0.01}}), |id: u64| {
            if id.is_multiple_of(11) { 1.0 } else { 1.0 + 0.01 * (40 + id % 10) as f64 }
        }),
        (json!({"decay": {"field": "sizes", "origin": 0, "scale": 4, "function": "linear"}}), |id: u64| {
            if id.is_multiple_of(11) { 1.0 } else { 1.0 + (1.0 - 0.5 * (id % 10) as f64 / 4.0).max(0.0) }
        }),
        (
            json!({"decay": {"field": "released", "origin": "2023-06-15T00:00:00Z", "scale": "365.25d", "function": "exp"}}),
            |id: u64| {
                if id.is_multiple_of(11) { 1.0 } else { 1.0 + 0.5_f64.powf((23 - id % 24) as f64) }
            },
        ),
        (
            json!({"decay": {"field": "_geo", "origin": {"lat": 0, "lng": 0}, "scale": "1000km", "weight": 3}}),
            |id: u64| {
                let distance_m = crate::geo::distance_m((0.0, 0.0), ((id % 90) as f64, 0.0));
                if id.is_multiple_of(11) { 1.0 } else { 1.0 + 3.0 * 0.5_f64.powf((distance_m / 1e6).powi(2)) }
            },
        ),
        (json!({"boostIf": {"filter": "in_stock = true", "weight": 2}}), |id: u64| {
            if id.is_multiple_of(3) && !id.is_multiple_of(11) { 2.0 } else { 1.0 }
        }),
        (json!({"boostIf": {"filter": "in_stock = false", "weight": 0.25}}), |id: u64| {
            if !id.is_multiple_of(3) && !id.is_multiple_of(11) { 0.25 } else { 1.0 }
        }),
    ]
}

#[test]
fn scores_of_questions_are_multiplied() {
    let snapshot = books(default_rules());
    let everything = SearchRequest { limit: 1000, ..asking("red fox owl", MatchingStrategy::Any, &[]) };
    let plain = search(&snapshot, &everything).unwrap();
    let plain_ids = ids(&snapshot, &plain);
    let boosts = all_boosts();
    let mut lists: Vec<Vec<usize>> = (0..boosts.len()).map(|index| vec![index]).collect();
    lists.push((0..boosts.len()).collect());
    for list in lists {
        let values: Vec<Value> = list.iter().map(|&index| boosts[index].0.clone()).collect();
        let expected = |id: u64| list.iter().map(|&index| boosts[index].1(id)).product::<f64>();
        let mut wanted: Vec<(u64, f64)> =
            plain.hits.iter().zip(&plain_ids).map(|(hit, &id)| (id, bm25(hit) * expected(id))).collect();
        wanted.sort_by(|one, other| other.1.total_cmp(&one.1));
        let request = asking("red fox owl", MatchingStrategy::Any, &values);
        let result = search(&snapshot, &request).unwrap();
        assert_eq!((result.total, result.hits.len()), (plain.total, 20), "{values:?}");
        for ((hit, id), (_, score)) in result.hits.iter().zip(ids(&snapshot, &result)).zip(&wanted) {
            let product: f64 = factors(hit).iter().product();
            // Dates of leap years are a quarter of a day off.
            assert!(
                (product / expected(id) - 1.0).abs() < 1e-3,
                "{values:?}: {id} has {product}, not {}",
                expected(id)
            );
            assert!((bm25(hit) * product / score - 1.0).abs() < 1e-3, "{values:?}: {id}");
        }
        let scores: Vec<f64> = result.hits.iter().map(|hit| hit.score).collect();
        assert!(scores.is_sorted_by(|one, next| one >= next), "{scores:?}");
        assert!(scores.iter().all(|score| *score <= 1.0), "{scores:?}");
        // Pages and thresholds are of the same list.
        let page = search(&snapshot, &SearchRequest { offset: 5, limit: 5, ..request.clone() }).unwrap();
        assert_eq!(ids(&snapshot, &page), ids(&snapshot, &result)[5..10]);
        let threshold = SearchRequest { score_threshold: Some(scores[7]), ..request };
        let above = search(&snapshot, &threshold).unwrap();
        assert_eq!(ids(&snapshot, &above)[..8], ids(&snapshot, &result)[..8]);
        assert!(above.hits.iter().all(|hit| hit.score >= scores[7]));
    }
}

#[test]
fn elsewhere_a_boost_is_a_rule_at_its_place() {
    let boost = || json!({"boost": {"field": "popularity", "function": "sqrt"}});
    let snapshot = books(json!(["words", boost(), "typo"]));
    for matching in [MatchingStrategy::Last, MatchingStrategy::All] {
        let request = SearchRequest { limit: 1000, boosts: None, ..asking("red fox", matching, &[]) };
        let result = search(&snapshot, &request).unwrap();
        let words = |hit: &Hit| match hit.details[0] {
            ScoreDetail::Words { matching, .. } => matching,
            _ => 2,
        };
        let keys: Vec<(u32, f64)> = result.hits.iter().map(|hit| (words(hit), factors(hit)[0])).collect();
        assert!(keys.len() > 20, "{keys:?}");
        assert!(keys.is_sorted_by(|one, next| one.partial_cmp(next) != Some(std::cmp::Ordering::Less)), "{keys:?}");
        assert!(result.hits.iter().all(|hit| hit.score <= 1.0));
        assert!(result.hits.iter().all(|hit| factors(hit).len() == 1));
    }
    // Without a query it is the order, and a request that has none goes without.
    let list = search(&snapshot, &SearchRequest { limit: 3, ..SearchRequest::default() }).unwrap();
    let mut wanted: Vec<u64> = (0..320_u64).filter(|id| !id.is_multiple_of(11)).collect();
    wanted.sort_by_key(|&id| (std::cmp::Reverse(popularity(id)), id));
    assert_eq!(ids(&snapshot, &list), wanted[..3]);
    let none = SearchRequest { limit: 3, boosts: Some(Vec::new()), ..SearchRequest::default() };
    assert_eq!(ids(&snapshot, &search(&snapshot, &none).unwrap()), [0, 1, 2]);
    // Several are one order for questions, their product.
    let both = [boost(), json!({"boostIf": {"filter": "in_stock = true", "weight": 1000}})];
    let products = SearchRequest { query: None, limit: 3, ..asking("", MatchingStrategy::Any, &both) };
    wanted.retain(|id| id.is_multiple_of(3));
    assert_eq!(ids(&snapshot, &search(&snapshot, &products).unwrap()), wanted[..3]);
}

#[test]
fn what_cannot_be_read_is_refused() {
    let snapshot = books(default_rules());
    for boost in [
        json!({"boost": {"field": "text"}}),
        json!({"decay": {"field": "nothing", "origin": "now", "scale": "1d"}}),
        json!({"boostIf": {"filter": "popularity = 1", "weight": 2}}),
    ] {
        for matching in [MatchingStrategy::Any, MatchingStrategy::Last] {
            let refused = search(&snapshot, &asking("fox", matching, std::slice::from_ref(&boost))).unwrap_err();
            assert!(matches!(refused, SearchError::Boost(_)), "{boost}: {refused}");
        }
    }
    // A rule of the settings brings its column with it.
    let own = json!(["words", {"boost": {"field": "id"}}]);
    let settings: lamina_index::index::Settings = serde_json::from_value(json!({ "rankingRules": own })).unwrap();
    assert!(settings.needs_column("id"));
    assert!(!settings.needs_column("text"));
    let near = json!([{"decay": {"field": "_geo", "origin": {"lat": 1, "lng": 1}, "scale": 5}}]);
    let settings: lamina_index::index::Settings = serde_json::from_value(json!({ "rankingRules": near })).unwrap();
    assert!(settings.uses_geo());
}

#[test]
fn lists_by_nearness_and_merged_ones_are_put_into_another_order() {
    let document = |id: u32, text: &str, vector: Value, stars: u32| json!({"id": id, "text": text, "stars": stars, "_vectors": {"e": vector}});
    let snapshot = index(
        json!({"embedders": {"e": {"source": "userProvided", "dimensions": 2}}, "sortableAttributes": ["stars"]}),
        &[
            &[document(1, "red fox", json!([1, 0]), 0), document(2, "red dog", json!([0.9, 0.2]), 1)],
            &[document(3, "blue fox", json!([0.5, 0.6]), 30), document(4, "blue dog", json!([-1, 0]), 0)],
        ],
    )
    .snapshot();
    let query = SemanticQuery::new("e", vec![1.0, 0.0]);
    let boosts = [json!({"boost": {"field": "stars", "function": "linear"}})];
    let request = asking("red fox", MatchingStrategy::Last, &boosts);
    let plain = SearchRequest { boosts: None, ..request.clone() };
    let near = |request: &SearchRequest| search_semantic(&snapshot, request, &query).unwrap();
    assert_eq!(ids(&snapshot, &near(&plain)), [1, 2, 3, 4]);
    let result = near(&request);
    assert_eq!(ids(&snapshot, &result), [3, 2, 1, 4]);
    assert_eq!(factors(&result.hits[0]), [31.0]);
    assert!(result.hits.iter().is_sorted_by(|one, next| one.score >= next.score));
    assert!(result.hits.iter().all(|hit| hit.score <= 1.0));
    let page = SearchRequest { offset: 1, limit: 2, ..request.clone() };
    assert_eq!(ids(&snapshot, &near(&page)), [2, 1]);
    for (fusion, matching) in [
        (Fusion::Score, MatchingStrategy::Last),
        (Fusion::Relative, MatchingStrategy::Any),
        (Fusion::Rrf { k: 60.0 }, MatchingStrategy::Any),
    ] {
        let hybrid = |request: &SearchRequest| {
            let request = SearchRequest { matching, ..request.clone() };
            search_hybrid(&snapshot, &request, 0.5, fusion, || Some(query.clone())).unwrap().result
        };
        assert_eq!(ids(&snapshot, &hybrid(&plain))[0], 1, "{fusion:?}");
        let boosted = hybrid(&request);
        assert_eq!(ids(&snapshot, &boosted)[0], 3, "{fusion:?}");
        assert_eq!((boosted.total, factors(&boosted.hits[0])), (4, vec![31.0]));
        assert_eq!(ids(&snapshot, &hybrid(&page)), ids(&snapshot, &boosted)[1..3], "{fusion:?}");
        // Where the vector fails, words alone are boosted.
        let by_words = search_hybrid(&snapshot, &SearchRequest { matching, ..request.clone() }, 0.5, fusion, || None);
        assert!(by_words.unwrap().result.hits.iter().all(|hit| factors(hit).len() == 1), "{fusion:?}");
    }
}
