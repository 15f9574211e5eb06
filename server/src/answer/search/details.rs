//! `_rankingScoreDetails`: what each ranking rule said of a hit.

use lamina_engine::filter::attribute_of;
use lamina_engine::index::settings::AttributeList;
use lamina_engine::rank::{ExactMatch, Exactness, FusedArm, Rank, ScoreDetail, SortedValue};
use serde_json::{Map, Value, json};

/// One key for each applied rule, in order. Sorts by fields that are not displayed keep their place but hide name and
/// value.
pub(super) fn details(details: &[ScoreDetail], displayed: &AttributeList) -> Value {
    let mut shown = Map::new();
    for (order, detail) in details.iter().enumerate() {
        let (mut key, mut fields) = one(detail, displayed, order);
        // Several boosts may read the same.
        if shown.contains_key(&key) {
            key = format!("{key}#{order}");
        }
        let mut value = Map::from_iter([("order".to_owned(), json!(order))]);
        value.append(&mut fields);
        shown.insert(key, Value::Object(value));
    }
    Value::Object(shown)
}

/// The key of a sort by `field`, the rule at place `order`.
pub(super) fn field_key(field: &str, ascending: bool, displayed: &AttributeList, order: usize) -> String {
    if displayed.selects(&attribute_of(field)) {
        format!("{field}:{}", direction(ascending))
    } else {
        format!("<hidden-rule-{order}>")
    }
}

/// The key of a boost, the rule at place `order`.
pub(super) fn boost_key(name: &str, field: Option<&str>, displayed: &AttributeList, order: usize) -> String {
    match field {
        None => name.to_owned(),
        Some(field) if displayed.selects(field) => format!("{name}:{field}"),
        Some(_) => format!("<hidden-rule-{order}>"),
    }
}

/// The key of a sort by the distance from a point.
pub(super) fn geo_key(lat: f64, lng: f64, ascending: bool) -> String {
    format!("_geoPoint({lat}, {lng}):{}", direction(ascending))
}

fn one(detail: &ScoreDetail, displayed: &AttributeList, order: usize) -> (String, Map<String, Value>) {
    match detail {
        ScoreDetail::Words { matching, max } => (
            "words".into(),
            object(json!({
                "matchingWords": matching,
                "maxMatchingWords": max,
                "score": Rank { rank: *matching, max: *max }.local_score(),
            })),
        ),
        ScoreDetail::Typo { count, max, .. } => (
            "typo".into(),
            object(json!({
                "typoCount": count,
                "maxTypoCount": max,
                "score": Rank::from_cost(*count, *max).local_score(),
            })),
        ),
        ScoreDetail::Proximity(rank) => ("proximity".into(), score(rank.local_score())),
        ScoreDetail::AttributeRank(rank) => ("attributeRank".into(), score(rank.local_score())),
        ScoreDetail::WordPosition(rank) => ("wordPosition".into(), score(rank.local_score())),
        ScoreDetail::Attribute { rank, position } => (
            "attribute".into(),
            object(json!({
                "attributeRankingOrderScore": rank.local_score(),
                "queryWordDistanceScore": position.local_score(),
                "score": Rank::combined(*rank, *position),
            })),
        ),
        ScoreDetail::Exactness(exact) => ("exactness".into(), exactness(*exact)),
        ScoreDetail::Sort { field, ascending, value } => {
            let value = if displayed.selects(&attribute_of(field)) { sorted_value(value) } else { json!("<hidden>") };
            (field_key(field, *ascending, displayed, order), object(json!({ "value": value })))
        }
        ScoreDetail::GeoSort { target: [lat, lng], ascending, value, distance_m } => (
            geo_key(*lat, *lng, *ascending),
            object(json!({
                "value": value.map(|[lat, lng]| json!({ "lat": lat, "lng": lng })),
                "distance": distance_m.map(|metres| metres.round() as u64),
            })),
        ),
        ScoreDetail::Bm25 { value, max, matching_words, max_matching_words, score } => (
            "bm25".into(),
            object(json!({
                "matchingWords": matching_words,
                "maxMatchingWords": max_matching_words,
                "value": value,
                "maxValue": max,
                "score": score,
            })),
        ),
        ScoreDetail::Vector(similarity) => ("vectorSort".into(), object(json!({ "similarity": similarity }))),
        ScoreDetail::Fusion { score, words, nearness } => ("fusion".into(), fusion(*score, [words, nearness])),
        ScoreDetail::Boost { name, field, factor, .. } => boost(name, field.as_deref(), *factor, displayed, order),
        ScoreDetail::Pin { position, .. } => ("pin".into(), object(json!({ "position": position }))),
        ScoreDetail::Rerank { score, rank } => ("rerank".into(), object(json!({ "score": score, "rank": rank }))),
        ScoreDetail::Skipped => ("skipped".into(), Map::new()),
    }
}

/// One by a field that is not displayed hides what it says of it.
fn boost(
    name: &str,
    field: Option<&str>,
    factor: f64,
    displayed: &AttributeList,
    order: usize,
) -> (String, Map<String, Value>) {
    let is_shown = field.is_none_or(|field| displayed.selects(field));
    let factor = if is_shown { json!(factor) } else { json!("<hidden>") };
    (boost_key(name, field, displayed, order), object(json!({ "factor": factor })))
}

fn sorted_value(value: &SortedValue) -> Value {
    match value {
        SortedValue::Number(number) => json!(number),
        SortedValue::String(text) => json!(text),
        SortedValue::Missing => Value::Null,
    }
}

/// `arms`: by words, by nearness.
fn fusion(score: f64, arms: [&Option<FusedArm>; 2]) -> Map<String, Value> {
    let arm = |arm: &FusedArm| json!({ "rank": arm.rank, "value": arm.score, "score": arm.share });
    let [words, vectors] = arms.map(|found| found.as_ref().map(arm));
    object(json!({ "words": words, "vectors": vectors, "score": score }))
}

fn exactness(exactness: Exactness) -> Map<String, Value> {
    let score = exactness.shown_score();
    match exactness.kind {
        ExactMatch::Exact => object(json!({ "matchType": "exactMatch", "score": score })),
        ExactMatch::Starts => object(json!({ "matchType": "matchesStart", "score": score })),
        ExactMatch::None => object(json!({
            "matchType": "noExactMatch",
            "matchingWords": exactness.matching_words,
            "maxMatchingWords": exactness.max_matching_words,
            "score": score,
        })),
    }
}

fn direction(ascending: bool) -> &'static str {
    if ascending { "asc" } else { "desc" }
}

fn score(score: f64) -> Map<String, Value> {
    object(json!({ "score": score }))
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(fields) => fields,
        other => unreachable!("details are objects, not {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_fields_of_every_rule() {
        let boost = |name, field: Option<&str>| ScoreDetail::Boost {
            name,
            field: field.map(str::to_owned),
            factor: 1.5,
            is_multiplied: true,
        };
        let all = [
            ScoreDetail::Words { matching: 2, max: 2 },
            ScoreDetail::Typo { count: 1, max: 3, forms: None },
            ScoreDetail::Proximity(Rank { rank: 3, max: 4 }),
            ScoreDetail::Attribute { rank: Rank { rank: 1, max: 1 }, position: Rank { rank: 17, max: 21 } },
            ScoreDetail::Exactness(Exactness { kind: ExactMatch::None, matching_words: 2, max_matching_words: 2 }),
            ScoreDetail::Sort { field: "year".into(), ascending: false, value: SortedValue::Number(1999.0) },
            ScoreDetail::Sort { field: "secret".into(), ascending: true, value: SortedValue::String("x".into()) },
            ScoreDetail::GeoSort {
                target: [48.8, 2.3],
                ascending: true,
                value: Some([48.0, 2.0]),
                distance_m: Some(10.6),
            },
            ScoreDetail::Skipped,
            ScoreDetail::Bm25 { value: 2.0, max: 8.0, matching_words: 1, max_matching_words: 2, score: 0.25 },
            boost("boost", Some("year")),
            boost("boost", Some("year")),
            boost("decay", Some("secret")),
            boost("boostIf", None),
            ScoreDetail::Rerank { score: -1.5, rank: 7 },
        ];
        let displayed = AttributeList::These(vec!["year".into()]);
        let shown = details(&all, &displayed);
        assert_eq!(shown["words"], json!({"order": 0, "matchingWords": 2, "maxMatchingWords": 2, "score": 1.0}));
        assert_eq!(shown["typo"], json!({"order": 1, "typoCount": 1, "maxTypoCount": 3, "score": 0.75}));
        assert_eq!(shown["proximity"], json!({"order": 2, "score": 0.75}));
        assert_eq!(shown["attribute"]["queryWordDistanceScore"], json!(17.0 / 21.0));
        assert_eq!(shown["exactness"]["score"], json!(3.0 / 9.0));
        assert_eq!(shown["year:desc"], json!({"order": 5, "value": 1999.0}));
        assert_eq!(shown["<hidden-rule-6>"], json!({"order": 6, "value": "<hidden>"}));
        assert_eq!(
            shown["_geoPoint(48.8, 2.3):asc"],
            json!({"order": 7, "value": {"lat": 48.0, "lng": 2.0}, "distance": 11})
        );
        assert_eq!(shown["skipped"], json!({"order": 8}));
        assert_eq!(shown["boost:year"], json!({"order": 10, "factor": 1.5}));
        assert_eq!(shown["boost:year#11"], json!({"order": 11, "factor": 1.5}));
        assert_eq!(shown["<hidden-rule-12>"], json!({"order": 12, "factor": "<hidden>"}));
        assert_eq!(shown["boostIf"], json!({"order": 13, "factor": 1.5}));
        assert_eq!(shown["rerank"], json!({"order": 14, "score": -1.5, "rank": 7}));
        assert_eq!(
            shown["bm25"],
            json!({"order": 9, "matchingWords": 1, "maxMatchingWords": 2, "value": 2.0, "maxValue": 8.0, "score": 0.25})
        );
    }
}
