//! Merging the answers of several servers.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_protocol::wire::multi_search::Federation;
use serde_json::{Map, Value, json};

use super::measures;
use crate::answer::search::federated::{
    DISTINCT_VALUES, DistinctValues, EXPLAINED, HIT, IndexFacets, NOT_DISTINCT, OUTSIDE, PINNED_POSITION,
    PinnedPositions, Weighted, agree, distinct_values, merged_facets, paging,
};

/// The answer of one server.
pub(super) struct Part {
    server: Option<String>,
    positions: Vec<usize>,
    /// Best first, each with what it is compared by.
    hits: std::iter::Peekable<std::vec::IntoIter<(Weighted, Value)>>,
    /// Hits that are pinned, with the places that they are given.
    pinned: Vec<(u32, Value)>,
    rest: Map<String, Value>,
}

/// The answer of a remote, if it has the shape of one.
///
/// # Errors
/// No hits, facets without what is measured of them, or a hit without the values that hits of several servers are ordered by. A remote adds them for the header
/// that says who asks. Where something on the way drops the header, sorts and distinct values would be merged wrongly.
pub(super) fn check(answer: Value, federation: &Federation) -> ApiResult<Value> {
    let Some(hits) = answer["hits"].as_array() else {
        return Err(bad_response(
            "could not parse response from the remote host: it has no hits of a federated search",
        ));
    };
    if hits.iter().all(|hit| hit["_federation"]["weightedScoreValues"].is_array()) {
        return if measures::is_whole(&answer, federation) {
            Ok(answer)
        } else {
            Err(bad_response(
                "remote answer lacks ranges, histograms or statistics that were asked for\n  - hint: check that the remote \
                 instance has the same version",
            ))
        };
    }
    Err(bad_response(
        "remote hit does not contain `._federation.weightedScoreValues`\n  - hint: check that the remote instance has the \
         same version and that no proxy in between removes headers of requests",
    ))
}

fn bad_response(message: &str) -> ApiError {
    ApiError::new(Code::RemoteBadResponse, message)
}

impl Part {
    /// `positions`: where the queries of the server stood in the request; `is_placed`: whether hits say so already.
    pub(super) fn new(server: Option<String>, positions: &[usize], is_placed: bool, answer: Value) -> Part {
        let Value::Object(mut rest) = answer else { return Part::empty() };
        let hits = match rest.remove("hits") {
            Some(Value::Array(hits)) => hits,
            _ => Vec::new(),
        };
        let placed = |given: &Value| {
            let position = given.as_u64().and_then(|at| usize::try_from(at).ok());
            position.and_then(|at| positions.get(at)).copied().unwrap_or(0)
        };
        // Another server may answer anything: what is no hit is none.
        let place = |mut hit: Value| {
            let federation = hit.as_object_mut()?.entry("_federation").or_insert_with(|| json!({}));
            if !federation.is_object() {
                *federation = json!({});
            }
            let score = federation["weightedRankingScore"].as_f64().unwrap_or(0.0);
            let values = federation.as_object_mut().and_then(|federation| federation.remove("weightedScoreValues"));
            let weighted = Weighted::from_json(values.as_ref(), score);
            if !is_placed {
                federation["queriesPosition"] = placed(&federation["queriesPosition"]).into();
                for position in federation.get_mut(EXPLAINED).and_then(Value::as_array_mut).into_iter().flatten() {
                    *position = placed(position).into();
                }
            }
            if let Some(server) = &server {
                federation["remote"] = server.clone().into();
            }
            let position = federation.as_object_mut().and_then(|federation| federation.remove(PINNED_POSITION));
            let position = position.and_then(|position| u32::try_from(position.as_u64()?).ok());
            Some((position, weighted, hit))
        };
        let (mut ranked, mut pinned) = (Vec::new(), Vec::new());
        for (position, weighted, hit) in hits.into_iter().filter_map(place) {
            match position {
                Some(position) => pinned.push((position, hit)),
                None => ranked.push((weighted, hit)),
            }
        }
        let given = rest.get_mut("explanations").and_then(Value::as_array_mut).into_iter().flatten();
        for explanation in given.filter_map(Value::as_object_mut) {
            if !is_placed {
                let position = placed(explanation.get("queriesPosition").unwrap_or(&Value::Null));
                explanation.insert("queriesPosition".into(), position.into());
            }
            if let Some(server) = &server {
                explanation.insert("remote".into(), server.clone().into());
            }
        }
        Part { positions: positions.to_vec(), hits: ranked.into_iter().peekable(), pinned, rest, server }
    }

    fn empty() -> Part {
        let hits = Vec::new().into_iter().peekable();
        Part { server: None, positions: Vec::new(), hits, pinned: Vec::new(), rest: Map::new() }
    }

    fn total(&self) -> u64 {
        self.rest.get("estimatedTotalHits").or_else(|| self.rest.get("totalHits")).and_then(Value::as_u64).unwrap_or(0)
    }
}

/// The fields of the merged answer; facets of which values were left out are added to `cuts`.
///
/// # Errors
/// Facets that can't be merged.
pub(super) fn merge(
    mut parts: Vec<Part>,
    federation: &Federation,
    cuts: &mut BTreeSet<String>,
) -> ApiResult<Map<String, Value>> {
    let mut fields = Map::new();
    let mut explained = Explained::default();
    fields.insert("hits".into(), Value::Array(hits(&mut parts, federation, &mut explained)));
    fields.insert("processingTimeMs".into(), json!(0));
    paging(federation.window, usize::MAX, parts.iter().map(Part::total).sum(), &mut fields);
    let semantic: Vec<u64> = parts.iter().filter_map(|part| part.rest.get("semanticHitCount")?.as_u64()).collect();
    if !semantic.is_empty() {
        fields.insert("semanticHitCount".into(), json!(semantic.iter().sum::<u64>()));
    }
    facets(&parts, federation, &mut fields, cuts)?;
    let reasons = degraded_reasons(&parts);
    if !reasons.is_empty() {
        fields.insert("degraded".into(), json!(true));
        fields.insert("degradedReasons".into(), json!(reasons));
    }
    let explanations = explanations(&parts, &explained);
    if !explanations.is_empty() {
        fields.insert("explanations".into(), explanations.into());
    }
    fields.insert("requestUid".into(), json!(uuid::Uuid::now_v7()));
    if let Some(metadata) = metadata(&parts) {
        fields.insert("metadata".into(), metadata);
    }
    Ok(fields)
}

/// Returns the reasons why the searches of any server were cut, each once.
fn degraded_reasons(parts: &[Part]) -> BTreeSet<&str> {
    let given = parts.iter().filter_map(|part| part.rest.get("degradedReasons")?.as_array());
    given.flatten().filter_map(Value::as_str).collect()
}

/// Outcome of hits that queries ask to explain, by part and position of the query.
#[derive(Default)]
struct Explained {
    shown: BTreeSet<(usize, u64)>,
    not_distinct: BTreeSet<(usize, u64)>,
}

/// A hit of the merged list, and the queries that ask to explain it.
type Explicable = (Value, Vec<(usize, u64)>);

fn hits(parts: &mut [Part], federation: &Federation, explained: &mut Explained) -> Vec<Value> {
    let (offset, limit) = federation.window.bounds(usize::MAX);
    let pinned = pinned(parts);
    let places = PinnedPositions::new(pinned.iter().map(|(position, _)| *position));
    let (from, to) = places.ranked_between(offset, offset.saturating_add(limit));
    let mut used = DistinctValues::default();
    let (mut place, mut ranked, mut is_all) = (0, Vec::new(), false);
    while ranked.len() < to - from {
        let Some((part, mut hit)) = next_hit(parts) else {
            is_all = true;
            break;
        };
        let asking = asking(part, &mut hit);
        if let Some(attribute) = &federation.distinct {
            // Servers of another make send no values: what they show of the hit counts.
            let given = distinct_values_sent(&mut hit);
            if !used.admit(given.unwrap_or_else(|| distinct_values(&hit, attribute))) {
                explained.not_distinct.extend(asking);
                continue;
            }
        }
        if place >= from {
            ranked.push((hit, asking));
        }
        place += 1;
    }
    let places = if is_all { places.among(place) } else { places };
    let mut pinned: Vec<Option<Explicable>> = pinned.into_iter().map(|(_, hit)| Some(hit)).collect();
    let joined =
        places.joined(offset..offset.saturating_add(limit), ranked, |pin| pinned[pin].take().unwrap_or_default());
    let shown = joined.into_iter().map(|(hit, asking)| {
        explained.shown.extend(asking);
        hit
    });
    shown.collect()
}

/// The best of the next hits of all parts, and whose it is; of equals that of the first.
fn next_hit(parts: &mut [Part]) -> Option<(usize, Value)> {
    let mut best: Option<(usize, Weighted)> = None;
    for (index, part) in parts.iter_mut().enumerate() {
        let Some((weighted, _)) = part.hits.peek() else { continue };
        let wins = best.as_ref().is_none_or(|(_, known)| weighted.compare(known) == Ordering::Less);
        if wins {
            best = Some((index, weighted.clone()));
        }
    }
    let (part, _) = best?;
    let (_, hit) = parts[part].hits.next()?;
    Some((part, hit))
}

/// The pinned hits of all parts by their places, those of one place by index and query.
fn pinned(parts: &mut [Part]) -> Vec<(u32, Explicable)> {
    let mut all = Vec::new();
    for (index, part) in parts.iter_mut().enumerate() {
        for (position, mut hit) in std::mem::take(&mut part.pinned) {
            let asking = asking(index, &mut hit);
            // It is left in and leaves others in, whatever its values.
            distinct_values_sent(&mut hit);
            all.push((position, (hit, asking)));
        }
    }
    all.sort_by_cached_key(|(position, (hit, _))| {
        let federation = &hit["_federation"];
        let uid = federation["indexUid"].as_str().unwrap_or_default().to_owned();
        (*position, uid, federation["queriesPosition"].as_u64())
    });
    all
}

/// Takes from a hit which queries ask to explain it.
fn asking(part: usize, hit: &mut Value) -> Vec<(usize, u64)> {
    let asking = hit["_federation"].as_object_mut().and_then(|federation| federation.remove(EXPLAINED));
    let asking = asking.iter().filter_map(Value::as_array).flatten().filter_map(Value::as_u64);
    asking.map(|position| (part, position)).collect()
}

/// Takes from a hit the values that it was sent with.
fn distinct_values_sent(hit: &mut Value) -> Option<Vec<String>> {
    let given = hit["_federation"].as_object_mut().and_then(|federation| federation.remove(DISTINCT_VALUES));
    given.and_then(|given| serde_json::from_value(given).ok())
}

/// Counts of the same index on several servers are added. Names of the facets of which values were left out are added to
/// `cuts`.
fn facets(
    parts: &[Part],
    federation: &Federation,
    fields: &mut Map<String, Value>,
    cuts: &mut BTreeSet<String>,
) -> ApiResult<()> {
    if federation.facets_by_index.is_empty() {
        return Ok(());
    }
    let mut by_index: BTreeMap<&String, Vec<IndexFacets>> = BTreeMap::new();
    for (server, part) in parts.iter().enumerate() {
        for (uid, counted) in part.rest.get("facetsByIndex").and_then(Value::as_object).into_iter().flatten() {
            by_index.entry(uid).or_default().push(IndexFacets::read(uid, counted, server));
        }
    }
    by_index.values_mut().for_each(|counted| agree(counted));
    let answers: Vec<&Map<String, Value>> = parts.iter().map(|part| &part.rest).collect();
    match federation.merge_facets {
        Some(options) => {
            let all: Vec<IndexFacets> = by_index.into_values().flatten().collect();
            let facets = merged_facets(&all, options.values_max())?;
            cuts.extend(facets.cuts());
            fields.insert("facetDistribution".into(), facets.distribution());
            fields.insert("facetStats".into(), facets.stats());
            if !federation.measures_by_index.is_empty() {
                fields.insert("facetDetails".into(), measures::of_all(&answers, federation)?);
            }
        }
        None => {
            let mut shown = Map::new();
            for (uid, counted) in by_index {
                let facets = merged_facets(&counted, counted[0].faceting.max_values_per_facet)?;
                cuts.extend(facets.cuts());
                let mut of_index = json!({ "distribution": facets.distribution(), "stats": facets.stats() });
                if let Some(asked) = federation.measures_by_index.get(uid) {
                    of_index["details"] = measures::of_index(&answers, uid, asked)?;
                }
                shown.insert(uid.clone(), of_index);
            }
            fields.insert("facetsByIndex".into(), Value::Object(shown));
        }
    }
    Ok(())
}

/// Returns the explanations of all servers, in the order of the queries. What is a hit of one server need not be one of all.
fn explanations(parts: &[Part], explained: &Explained) -> Vec<Value> {
    let mut all = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let given = part.rest.get("explanations").and_then(Value::as_array).into_iter().flatten();
        for mut one in given.filter(|one| one.is_object()).cloned() {
            let asking = (index, one["queriesPosition"].as_u64().unwrap_or(u64::MAX));
            let document = one.pointer_mut("/explanation/document").and_then(Value::as_object_mut);
            if let Some(document) =
                document.filter(|document| document.get("reason").is_some_and(|reason| reason == HIT))
                && !explained.shown.contains(&asking)
            {
                let reason = if explained.not_distinct.contains(&asking) { NOT_DISTINCT } else { OUTSIDE };
                document.insert("isHit".into(), false.into());
                document.insert("reason".into(), reason.into());
            }
            all.push(one);
        }
    }
    all.sort_by_key(|one| one["queriesPosition"].as_u64());
    all
}

/// One entry per query, in the order of the request, each with its server; `None` when no server sent any.
fn metadata(parts: &[Part]) -> Option<Value> {
    let mut by_position: BTreeMap<usize, Value> = BTreeMap::new();
    for part in parts {
        let entries = part.rest.get("metadata").and_then(Value::as_array).into_iter().flatten();
        for (entry, &position) in entries.zip(&part.positions) {
            let mut entry = entry.clone();
            if let Some(server) = &part.server {
                entry["remote"] = server.clone().into();
            }
            by_position.insert(position, entry);
        }
    }
    (!by_position.is_empty()).then(|| by_position.into_values().collect())
}

#[cfg(test)]
mod tests {
    use lamina_protocol::wire::multi_search::MultiSearch;

    use super::*;

    fn federation(federation: Value) -> Federation {
        MultiSearch::from_body(&json!({"queries": [], "federation": federation})).unwrap().federation.unwrap()
    }

    fn answer(hits: &[(u64, f64)]) -> Value {
        let hit = |(id, score): &(u64, f64)| json!({"id": id, "g": id % 2, "_federation": {"queriesPosition": 0, "weightedRankingScore": score}});
        json!({
            "hits": hits.iter().map(hit).collect::<Vec<_>>(), "estimatedTotalHits": hits.len(),
            "facetsByIndex": {"x": {"distribution": {"g": {"a": hits.len()}}, "stats": {"g": {"min": 1.0, "max": 2.0}}}}
        })
    }

    fn parts() -> Vec<Part> {
        vec![
            Part::new(Some("a".into()), &[3], false, answer(&[(1, 0.9), (2, 0.5)])),
            Part::new(Some("b".into()), &[5], false, answer(&[(3, 0.7), (4, 0.1)])),
        ]
    }

    #[test]
    fn odd_answers_of_other_servers_are_survived() {
        let odd = json!({"hits": [7, null, "x", {"id": 1, "_federation": 3}, {"id": 2}, {"id": 3, "_federation": {"queriesPosition": "?"}}]});
        for is_placed in [false, true] {
            let part = Part::new(Some("a".into()), &[3], is_placed, odd.clone());
            let ids: Vec<Value> = part.hits.map(|(_, hit)| hit["id"].clone()).collect();
            assert_eq!(ids, [1, 2, 3]);
        }
        for answer in [json!(null), json!([1]), json!({"hits": {}}), json!({"explanations": [1, {}]})] {
            assert_eq!(Part::new(Some("a".into()), &[], false, answer).hits.count(), 0);
        }
    }

    #[test]
    fn hits_are_merged_by_their_scores_and_say_where_they_are_from() {
        let fields = merge(parts(), &federation(json!({"offset": 1, "limit": 2})), &mut BTreeSet::new()).unwrap();
        assert_eq!(
            fields["hits"],
            json!([
                {"id": 3, "g": 1, "_federation": {"queriesPosition": 5, "weightedRankingScore": 0.7, "remote": "b"}},
                {"id": 2, "g": 0, "_federation": {"queriesPosition": 3, "weightedRankingScore": 0.5, "remote": "a"}}
            ])
        );
        assert_eq!(
            (&fields["offset"], &fields["limit"], &fields["estimatedTotalHits"]),
            (&json!(1), &json!(2), &json!(4))
        );
    }

    #[test]
    fn values_are_shown_once_and_facets_added() {
        let facets = json!({"distinct": "g", "facetsByIndex": {"x": ["g"]}});
        let fields = merge(parts(), &federation(facets), &mut BTreeSet::new()).unwrap();
        let ids: Vec<&Value> = fields["hits"].as_array().unwrap().iter().map(|hit| &hit["id"]).collect();
        assert_eq!(ids, [1, 2]);
        assert_eq!(fields["facetsByIndex"]["x"]["distribution"], json!({"g": {"a": 4}}));
        // Values that are sent count whether they are shown or not, and are not passed on.
        let given = |id: u32, score: f64, values: Value| {
            let federation = json!({"queriesPosition": 0, "weightedRankingScore": score, "distinctValues": values});
            Part::new(None, &[0], false, json!({"hits": [{"id": id, "_federation": federation}]}))
        };
        let mut parts_given =
            vec![given(1, 0.9, json!(["sa", "sb"])), given(2, 0.8, json!(["sb"])), given(3, 0.7, json!([]))];
        let hits = hits(&mut parts_given, &federation(json!({"distinct": "hidden"})), &mut Explained::default());
        assert_eq!(hits.iter().map(|hit| hit["id"].as_u64()).collect::<Vec<_>>(), [Some(1), Some(3)]);
        assert!(hits.iter().all(|hit| hit["_federation"].get("distinctValues").is_none()), "{hits:?}");
        let merged = json!({"facetsByIndex": {"x": ["g"]}, "mergeFacets": {}});
        assert_eq!(
            merge(parts(), &federation(merged), &mut BTreeSet::new()).unwrap()["facetDistribution"],
            json!({"g": {"a": 4}})
        );
    }

    #[test]
    fn what_was_cut_anywhere_is_reported() {
        let mut parts = parts();
        assert!(!merge(parts, &federation(json!({})), &mut BTreeSet::new()).unwrap().contains_key("degraded"));
        let cut = |reasons: Value| {
            let mut answer = answer(&[(1, 0.5)]);
            answer["degraded"] = true.into();
            answer["degradedReasons"] = reasons;
            Part::new(None, &[0], false, answer)
        };
        parts = vec![cut(json!(["searchCutoffMs", "queryTerms"])), cut(json!(["queryTerms"]))];
        let fields = merge(parts, &federation(json!({})), &mut BTreeSet::new()).unwrap();
        let given = (&fields["degraded"], &fields["degradedReasons"]);
        assert_eq!(given, (&json!(true), &json!(["queryTerms", "searchCutoffMs"])));
    }

    #[test]
    fn explanations_are_those_of_all_servers() {
        let given = |server: Option<&str>, positions: &[usize], is_placed: bool, explanations: Value| {
            let answer = json!({"hits": [], "explanations": explanations});
            Part::new(server.map(str::to_owned), positions, is_placed, answer)
        };
        let of = |position: u32| json!({"queriesPosition": position, "explanation": {}});
        let parts = vec![
            given(None, &[1, 4], true, json!([of(4)])),
            given(Some("a"), &[0, 3], false, json!([of(0), of(1)])),
            // Whatever a server sends that is none is left out.
            given(Some("b"), &[2], false, json!([7, null, {"queriesPosition": "x"}])),
            given(Some("c"), &[2], false, json!("none")),
        ];
        let fields = merge(parts, &federation(json!({})), &mut BTreeSet::new()).unwrap();
        assert_eq!(
            fields["explanations"],
            json!([
                {"queriesPosition": 0, "explanation": {}, "remote": "a"}, {"queriesPosition": 0, "remote": "b"},
                {"queriesPosition": 3, "explanation": {}, "remote": "a"}, of(4)
            ])
        );
        // Of two servers' hits one is shown, and of a third one the better hit has its value.
        let explained = |id: u32, score: f64| {
            let hit = json!({
                "id": id, "g": id % 2,
                "_federation": {"queriesPosition": 0, "weightedRankingScore": score, "explained": [0]}
            });
            let document = json!({"documentId": id.to_string(), "isHit": true, "reason": "hit", "position": 0});
            let explanation = json!({"queriesPosition": 0, "explanation": {"document": document}});
            Part::new(None, &[0], false, json!({"hits": [hit], "explanations": [explanation]}))
        };
        let parts = vec![explained(1, 0.9), explained(2, 0.5), explained(3, 0.7)];
        let fields = merge(parts, &federation(json!({"limit": 1, "distinct": "g"})), &mut BTreeSet::new()).unwrap();
        let reasons: Vec<&Value> =
            (0..3).map(|at| &fields["explanations"][at]["explanation"]["document"]["reason"]).collect();
        assert_eq!(reasons, ["hit", "outsideOfPage", "outsideOfPage"], "the page ends before the others");
        assert_eq!(fields["hits"][0]["_federation"].get("explained"), None);
        let parts = vec![explained(1, 0.9), explained(2, 0.5), explained(3, 0.7)];
        let fields = merge(parts, &federation(json!({"distinct": "g"})), &mut BTreeSet::new()).unwrap();
        assert_eq!(fields["explanations"][2]["explanation"]["document"]["reason"], "notDistinct");
        assert_eq!(fields["explanations"][2]["explanation"]["document"]["isHit"], false);
        let without = merge(self::parts(), &federation(json!({})), &mut BTreeSet::new()).unwrap();
        assert!(!without.contains_key("explanations"));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        let hit = |federation: Value| json!({"hits": [{"id": 1, "_federation": federation}]});
        let values = json!([{"score": 0.5}]);
        for bad in [
            json!({"results": []}),
            json!({"hits": [7]}),
            json!({"hits": [{"id": 1}]}),
            hit(json!({"weightedRankingScore": 0.5})),
            hit(json!({"weightedScoreValues": null})),
        ] {
            let refused = check(bad.clone(), &federation(json!({}))).expect_err(&bad.to_string());
            assert_eq!(refused.code, Code::RemoteBadResponse);
        }
        let plain = federation(json!({}));
        assert!(check(hit(json!({"weightedRankingScore": 0.5, "weightedScoreValues": values})), &plain).is_ok());
        assert!(check(json!({"hits": []}), &plain).is_ok());
    }
}
