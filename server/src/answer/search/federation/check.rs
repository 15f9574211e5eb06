//! What the queries of a federated search may not ask for, and whether their orders can be compared.

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::Settings;
use lamina_engine::index::settings::RankingRule;
use lamina_engine::search::MatchingStrategy;
use lamina_engine::sort::{SortCriterion, SortTarget};
use lamina_protocol::wire::multi_search::{Federation, IndexQuery};
use lamina_protocol::wire::search::SearchKind;

use super::super::Target;
use super::super::multi::at_query;

/// Refuses what belongs to the merged list and not to one of its queries.
pub(super) fn query(asked: &IndexQuery, federation: &Federation, position: usize) -> ApiResult<()> {
    let refuse = |code, what: String, hint: String| {
        let hints = format!(" - Hint: remove it from query #{position} or remove `federation` from the request");
        Err(ApiError::new(code, format!("Using {what} is not allowed in federated queries.\n{hints}\n - Hint: {hint}")))
    };
    if let Some(field) = &asked.paging_field {
        return refuse(
            Code::InvalidMultiSearchQueryPagination,
            format!("`{field}`"),
            "pass `federation.limit` and `federation.offset` for pagination in federated search".into(),
        );
    }
    if let Some(hint) = facets_hint(asked) {
        return refuse(Code::InvalidMultiSearchQueryFacets, "facet options".into(), hint);
    }
    if asked.is_personalized {
        return refuse(
            Code::InvalidMultiSearchQueryPersonalization,
            "`personalize`".into(),
            "this server reranks no search results by a user's context".into(),
        );
    }
    if asked.query.distinct.is_some() && federation.distinct.is_some() {
        return refuse(
            Code::InvalidMultiSearchDistinct,
            "`distinct` both in a query and in `federation`".into(),
            "keep only `federation.distinct`".into(),
        );
    }
    if let Some((code, name, hint)) = of_one_index(asked) {
        return refuse(code, format!("`{name}`"), hint.into());
    }
    if asked.query.point_in_time.is_some() {
        return refuse(
            Code::InvalidSearchPointInTime,
            "`pointInTime`".into(),
            "pass `pointInTime` beside `federation` to hold the states of all indexes".into(),
        );
    }
    if asked.query.show_performance_details {
        return refuse(
            Code::InvalidMultiSearchQueryShowPerformanceDetails,
            "`showPerformanceDetails`".into(),
            "pass `federation.showPerformanceDetails` instead".into(),
        );
    }
    Ok(())
}

/// Returns a hint to the right place for the facets of a query, if it has any.
fn facets_hint(asked: &IndexQuery) -> Option<String> {
    if !asked.query.measures.is_empty() {
        return Some(format!(
            "pass them among `federation.facetsByIndex.{}` for ranges, histograms and statistics in federated search",
            asked.index_uid
        ));
    }
    let facets = asked.query.facets.as_deref().filter(|facets| !facets.is_empty())?;
    Some(format!(
        "pass `federation.facetsByIndex.{}: {}` for facets in federated search",
        asked.index_uid,
        serde_json::json!(facets)
    ))
}

/// A parameter that a merged list has no answer to.
fn of_one_index(asked: &IndexQuery) -> Option<(Code, &'static str, &'static str)> {
    if asked.query.distinct_limit.is_some() {
        let hint = "a merged list has one hit of each value of `federation.distinct`";
        return Some((Code::InvalidSearchDistinctLimit, "distinctLimit", hint));
    }
    let hint = "use it in a search of one index";
    if asked.query.rerank.is_some() {
        return Some((Code::InvalidSearchRerank, "rerank", hint));
    }
    asked.query.did_you_mean.then_some((Code::InvalidSearchDidYouMean, "didYouMean", hint))
}

/// One thing that hits are compared by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// All consecutive relevancy rules.
    Relevancy,
    Sort {
        ascending: bool,
    },
    Geo {
        ascending: bool,
    },
}

impl Step {
    fn incompatibility(self, other: Step) -> Option<&'static str> {
        use Step::{Geo, Relevancy, Sort};
        match (self, other) {
            (one, other) if one == other => None,
            (Sort { .. }, Sort { .. }) => Some("cannot compare two sort rules in opposite directions"),
            (Geo { .. }, Geo { .. }) => Some("cannot compare two geosort rules in opposite directions"),
            (Relevancy, Sort { .. }) | (Sort { .. }, Relevancy) => {
                Some("cannot compare a relevancy rule with a sort rule")
            }
            (Relevancy, Geo { .. }) | (Geo { .. }, Relevancy) => {
                Some("cannot compare a relevancy rule with a geosort rule")
            }
            _ => Some("cannot compare a sort rule with a geosort rule"),
        }
    }
}

/// Refuses queries of which some step can't be compared.
pub(super) fn comparable(targets: &[Target<'_>], queries: &[IndexQuery]) -> ApiResult<()> {
    let mut longest: Option<(usize, Vec<Step>)> = None;
    for (position, (target, asked)) in targets.iter().zip(queries).enumerate() {
        let steps = steps(&target.snapshot.settings, asked);
        if let Some((other, known)) = &longest {
            let refused = known.iter().zip(&steps).find_map(|(one, other)| one.incompatibility(*other));
            if let Some(reason) = refused {
                let error = ApiError::new(
                    Code::InvalidMultiSearchQueryRankingRules,
                    format!(
                        "The results of queries #{position} and #{other} are incompatible: \n  1. \
                         `queries[{position}]` is ordered by {}\n  2. `queries[{other}]` is ordered by {}\n  - \
                         {reason}",
                        described(&steps),
                        described(known)
                    ),
                );
                return Err(at_query(error, asked.query_position.unwrap_or(position)));
            }
        }
        if longest.as_ref().is_none_or(|(_, known)| known.len() < steps.len()) {
            longest = Some((position, steps));
        }
    }
    Ok(())
}

fn described(steps: &[Step]) -> String {
    let name = |step: &Step| match step {
        Step::Relevancy => "relevancy",
        Step::Sort { ascending: true } => "an ascending sort",
        Step::Sort { ascending: false } => "a descending sort",
        Step::Geo { ascending: true } => "an ascending distance",
        Step::Geo { ascending: false } => "a descending distance",
    };
    if steps.is_empty() { "nothing".to_owned() } else { steps.iter().map(name).collect::<Vec<_>>().join(", then ") }
}

fn steps(settings: &Settings, asked: &IndexQuery) -> Vec<Step> {
    let query = &asked.query;
    let is_by_words = matches!(query.kind(), Ok(SearchKind::Keyword));
    let is_any = query.matching_strategy.or(settings.matching_strategy) == Some(MatchingStrategy::Any);
    // Those of the request stand in place of the first; elsewhere they are part of the score.
    let own_boosts = query.boosts.as_ref().map(Vec::len);
    let mut boosts = match own_boosts.unwrap_or_else(|| settings.boosts().count()) {
        _ if !is_by_words || (is_any && query.text().is_some()) => 0,
        count if is_any => count.min(1),
        count => count,
    };
    // A sort that can't be parsed is refused when the query runs.
    let sort: Vec<SortCriterion> =
        asked.query.sort.iter().flatten().filter_map(|entry| SortCriterion::parse(entry).ok()).collect();
    let mut steps = Vec::new();
    let mut fields: Vec<&str> = Vec::new();
    // Nearness stands where relevancy does.
    let is_relevant = asked.query.text().is_some() || (asked.query.vector.is_some() && asked.query.hybrid.is_some());
    for rule in &settings.ranking_rules {
        match rule {
            RankingRule::Boost(_) => {
                let here = if own_boosts.is_some() || is_any { boosts } else { boosts.min(1) };
                steps.extend((0..here).map(|_| Step::Sort { ascending: false }));
                boosts -= here;
            }
            RankingRule::Sort => {
                for criterion in &sort {
                    let ascending = criterion.ascending;
                    match &criterion.target {
                        SortTarget::GeoPoint { .. } => steps.push(Step::Geo { ascending }),
                        SortTarget::Field(field) | SortTarget::Elements { name: field, .. }
                            if !fields.contains(&field.as_str()) =>
                        {
                            fields.push(field);
                            steps.push(Step::Sort { ascending });
                        }
                        SortTarget::Field(_) | SortTarget::Elements { .. } | SortTarget::Computed { .. } => {}
                    }
                }
            }
            RankingRule::Asc(field) | RankingRule::Desc(field) if !fields.contains(&field.as_str()) => {
                fields.push(field);
                steps.push(Step::Sort { ascending: matches!(rule, RankingRule::Asc(_)) });
            }
            RankingRule::Asc(_) | RankingRule::Desc(_) => {}
            _ if is_relevant && steps.last() != Some(&Step::Relevancy) => steps.push(Step::Relevancy),
            _ => {}
        }
    }
    steps.extend((0..boosts).map(|_| Step::Sort { ascending: false }));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use lamina_protocol::wire::multi_search::MultiSearch;
    use serde_json::{Value, json};

    fn first(body: Value) -> (IndexQuery, Federation) {
        let mut read = MultiSearch::from_body(&body).unwrap();
        (read.queries.remove(0), read.federation.unwrap())
    }

    #[test]
    fn what_belongs_to_the_list_is_refused_in_a_query() {
        let refused = |fields: Value, federation: Value| {
            let mut asked = json!({"indexUid": "a"});
            asked.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
            let (asked, federation) = first(json!({"federation": federation, "queries": [asked]}));
            query(&asked, &federation, 0).unwrap_err().code
        };
        assert_eq!(refused(json!({"limit": 1}), json!({})), Code::InvalidMultiSearchQueryPagination);
        assert_eq!(refused(json!({"page": 1}), json!({})), Code::InvalidMultiSearchQueryPagination);
        assert_eq!(refused(json!({"facets": ["x"]}), json!({})), Code::InvalidMultiSearchQueryFacets);
        let personalized = json!({"personalize": {"userContext": "x"}});
        assert_eq!(refused(personalized, json!({})), Code::InvalidMultiSearchQueryPersonalization);
        assert_eq!(refused(json!({"distinct": "x"}), json!({"distinct": "y"})), Code::InvalidMultiSearchDistinct);
        let grouped = json!({"distinct": "x", "distinctLimit": 2});
        assert_eq!(refused(grouped, json!({})), Code::InvalidSearchDistinctLimit);
        assert_eq!(refused(json!({"pointInTime": {}}), json!({})), Code::InvalidSearchPointInTime);
        let (asked, federation) = first(json!({"federation": {}, "queries": [{"indexUid": "a", "facets": []}]}));
        assert_eq!(query(&asked, &federation, 0), Ok(()));
    }

    #[test]
    fn steps_of_a_query() {
        let of = |rules: &[Value], fields: Value| {
            let mut asked = json!({"indexUid": "a"});
            asked.as_object_mut().unwrap().append(&mut fields.as_object().unwrap().clone());
            let (asked, _) = first(json!({"federation": {}, "queries": [asked]}));
            let ranking_rules = rules.iter().map(|rule| serde_json::from_value(rule.clone()).unwrap()).collect();
            steps(&Settings { ranking_rules, ..Settings::default() }, &asked)
        };
        let rules = ["words", "typo", "sort", "exactness", "price:desc"].map(Value::from);
        let (up, down) = (Step::Sort { ascending: true }, Step::Sort { ascending: false });
        assert_eq!(of(&rules, json!({"q": "x"})), [Step::Relevancy, down]);
        assert_eq!(of(&rules, json!({"q": "x", "sort": ["a:asc"]})), [Step::Relevancy, up, Step::Relevancy, down]);
        assert_eq!(
            of(&rules, json!({"sort": ["price:asc", "_geoPoint(1,2):asc"]})),
            [up, Step::Geo { ascending: true }]
        );
        let boost = || json!({"boost": {"field": "n"}});
        let boosted = ["words".into(), boost(), "price:asc".into()];
        assert_eq!(of(&boosted, json!({"q": "x"})), [Step::Relevancy, down, up]);
        assert_eq!(of(&boosted, json!({"q": "x", "boosts": []})), [Step::Relevancy, up]);
        assert_eq!(of(&boosted, json!({"q": "x", "boosts": [boost(), boost()]})), [Step::Relevancy, down, down, up]);
        assert_eq!(of(&boosted, json!({"q": "x", "matchingStrategy": "any"})), [Step::Relevancy, up]);
        assert_eq!(of(&boosted, json!({"matchingStrategy": "any"})), [down, up]);
        assert_eq!(of(&["words".into()], json!({"q": "x", "boosts": [boost()]})), [Step::Relevancy, down]);
        assert_eq!(Step::Relevancy.incompatibility(up), Some("cannot compare a relevancy rule with a sort rule"));
        assert_eq!(up.incompatibility(down), Some("cannot compare two sort rules in opposite directions"));
        assert_eq!(up.incompatibility(up), None);
    }
}
