//! Ranges, histograms and statistics that several servers measured, put together.

use std::collections::HashSet;

use lamina_base::error::ApiResult;
use lamina_engine::facet::Measured;
use lamina_protocol::wire::multi_search::Federation;
use lamina_protocol::wire::search::FacetMeasure;
use serde_json::{Map, Value};

use crate::answer::search::federated::{different, index_of, merged_measures, read_measured};

/// Reports whether the response of a server has all requested measures of each index that it counts.
pub(super) fn is_whole(answer: &Value, federation: &Federation) -> bool {
    let counted = answer["facetsByIndex"].as_object().into_iter().flatten();
    counted.into_iter().all(|(uid, counted)| {
        let mut asked = (0..).zip(federation.measures_by_index.get(uid).into_iter().flatten());
        asked.all(|(place, asked): (usize, _)| read_measured(asked, &counted["details"][place]).is_some())
    })
}

/// `details` of an index.
///
/// # Errors
/// More buckets than a histogram may have.
pub(super) fn of_index(answers: &[&Map<String, Value>], uid: &str, asked: &[FacetMeasure]) -> ApiResult<Value> {
    let each = (0..).zip(asked).map(|(place, one)| {
        merged_measures(one, answers.iter().filter_map(|answer| measured(answer, uid, place, one)).collect())
    });
    Ok(Value::Array(each.collect::<ApiResult<_>>()?))
}

/// `facetDetails` of the merged list.
///
/// # Errors
/// The errors of [`of_index`].
pub(super) fn of_all(answers: &[&Map<String, Value>], federation: &Federation) -> ApiResult<Value> {
    let each = different(federation).into_iter().map(|asked| {
        let (mut parts, mut seen) = (Vec::new(), HashSet::new());
        for (uid, all) in &federation.measures_by_index {
            let Some(place) = all.iter().position(|one| one.is_same(asked)) else { continue };
            for (server, answer) in answers.iter().enumerate() {
                // An index that is asked for by two names is measured once.
                let is_new = counted(answer, uid).is_some_and(|counted| seen.insert((server, index_of(uid, counted))));
                parts.extend(is_new.then(|| measured(answer, uid, place, asked)).flatten());
            }
        }
        merged_measures(asked, parts)
    });
    Ok(Value::Array(each.collect::<ApiResult<_>>()?))
}

/// Returns what a server says of an index that it counts.
fn counted<'a>(answer: &'a Map<String, Value>, uid: &str) -> Option<&'a Value> {
    answer.get("facetsByIndex")?.get(uid)
}

/// Returns what a server that counts the index has in one place of its `details`.
fn measured(answer: &Map<String, Value>, uid: &str, place: usize, asked: &FacetMeasure) -> Option<Measured> {
    read_measured(asked, counted(answer, uid)?.get("details")?.get(place)?)
}

#[cfg(test)]
mod tests {
    use lamina_protocol::wire::multi_search::MultiSearch;
    use serde_json::json;

    use super::*;

    #[test]
    fn answers_without_what_was_asked_for_are_not_whole() {
        let price = json!({"facet": "price", "ranges": [{"to": 1}], "histogram": {"interval": 1},
            "statistics": {"percentiles": [50]}});
        let body = json!({"queries": [], "federation": {"facetsByIndex": {"a": [price]}}});
        let federation = MultiSearch::from_body(&body).unwrap().federation.unwrap();
        let whole = json!({"facet": "price", "ranges": [2], "histogram": [[0.0, 1.0, 2]],
            "statistics": {"count": 2, "sum": 1.0, "mean": 0.5, "min": 0.5, "max": 0.5, "values": [[0.5, 2]]}});
        let answer = |details: Value| json!({"hits": [], "facetsByIndex": {"a": {"details": details}, "b": {}}});
        assert!(is_whole(&answer(json!([whole])), &federation));
        assert!(is_whole(&json!({"hits": []}), &federation), "it has no such index");
        let with = |name: &str, value: Value| {
            let mut changed = whole.clone();
            changed[name] = value;
            answer(json!([changed]))
        };
        for odd in [
            answer(json!(null)),
            answer(json!([])),
            with("facet", json!("other")),
            with("ranges", json!([])),
            with("ranges", json!([-1])),
            with("histogram", json!([[0.0, 1.0]])),
            with("histogram", json!([["2024-01-01", 1.0, 2]])),
            with("statistics", json!({"count": 2, "sum": 1.0})),
            with("statistics", json!({"count": 2, "sum": 1.0, "values": [[0.5]]})),
        ] {
            assert!(!is_whole(&odd, &federation), "{odd}");
        }
    }
}
