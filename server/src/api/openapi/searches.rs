//! Schemas of searches: what is asked for, and what is answered.

use lamina_protocol::wire::schema::{
    at_least, count, exactly, flag, index_uid, instant, list, map_of, named, number, one_of, open, or_null, text, texts,
};
use lamina_protocol::wire::search::{
    FacetMeasure, SearchParameter, completion_fields, federation_fields, field_schema, selecting, similar_fields,
};
use serde_json::{Value, json};

use super::facets;
use crate::answer::search::{COMPLETIONS_MAX, Group, SOURCE_QUERIES};

/// The body of a search.
pub(in crate::api) fn body() -> Value {
    exactly(SearchParameter::all().map(|parameter| (parameter.name, described(parameter))), &[])
}

/// The schema of a parameter with its purpose; links are for pages.
fn described(parameter: &SearchParameter) -> Value {
    let mut schema = parameter.schema();
    if let Some(reference) = parameter.reference {
        schema["description"] = without_links(reference.purpose).into();
    }
    schema
}

/// Removes links but keeps their text, unless it only points to further reading: ` ([page](…))`, `, see [page](…)`.
pub(super) fn without_links(text: &str) -> String {
    let Some((before, behind)) = text.split_once("](") else { return text.to_owned() };
    let (before, shown) = before.rsplit_once('[').unwrap_or((before, ""));
    let rest = behind.split_once(')').map_or("", |(_, rest)| rest);
    let aside = before.strip_suffix(" (").zip(rest.strip_prefix(')'));
    let seen = before.strip_suffix(", see ").map(|before| (before, rest));
    match aside.or(seen) {
        Some((before, rest)) => format!("{before}{}", without_links(rest)),
        None => format!("{before}{shown}{}", without_links(rest)),
    }
}

/// The body of a search among the values of a facet: a search may say which documents count.
pub(in crate::api) fn facet_body() -> Value {
    let own = [("facetName", text()), ("facetQuery", or_null(text())), ("exhaustiveFacetCount", or_null(flag()))];
    // Anything else is taken, the rest of a search for instance, and means nothing here.
    open(selecting().iter().map(|name| (*name, field_schema(name))).chain(own), &["facetName"])
}

/// The body of a request for documents like another one.
pub(in crate::api) fn similar_body() -> Value {
    let schema = |name: &str| match name {
        "id" => named("DocumentId"),
        "embedder" => text(),
        _ => field_schema(name),
    };
    exactly(similar_fields().iter().map(|name| (*name, schema(name))), &["id", "embedder"])
}

/// The body of several searches.
pub(in crate::api) fn multi_body() -> Value {
    let own = [("indexUid", index_uid()), ("federationOptions", or_null(federation_options()))];
    let query =
        exactly(SearchParameter::all().map(|parameter| (parameter.name, parameter.schema())).chain(own), &["indexUid"]);
    let fields =
        [("queries", list(query)), ("federation", or_null(federation())), ("pointInTime", field_schema("pointInTime"))];
    exactly(fields, &["queries"])
}

fn federation_options() -> Value {
    let weight = json!({ "type": "number", "minimum": 0 });
    exactly([("weight", or_null(weight)), ("remote", or_null(text())), ("queryPosition", or_null(count()))], &[])
}

fn federation() -> Value {
    let schema = |name: &str| match name {
        "facetsByIndex" => or_null(map_of(or_null(list(FacetMeasure::entry_schema())))),
        "mergeFacets" => or_null(exactly([("maxValuesPerFacet", or_null(count()))], &[])),
        _ => field_schema(name),
    };
    exactly(federation_fields().iter().map(|name| (*name, schema(name))), &[])
}

/// The body of a request for completions.
pub(in crate::api) fn completions_body() -> Value {
    let schema = |name: &'static str| match name {
        "q" => text(),
        "limit" => json!({ "type": ["integer", "null"], "minimum": 0, "maximum": COMPLETIONS_MAX }),
        other => field_schema(other),
    };
    exactly(completion_fields().iter().map(|name| (*name, schema(name))), &["q"])
}

fn completion_answer() -> Value {
    let source = one_of(&[SOURCE_QUERIES]);
    let completion = exactly([("q", text()), ("documents", count()), ("source", source)], &["q", "documents"]);
    let fields = [("q", text()), ("completions", list(completion)), ("processingTimeMs", count())];
    exactly(fields, &["q", "completions", "processingTimeMs"])
}

/// The answers, by the names of their schemas.
pub(super) fn answers() -> Vec<(&'static str, Value)> {
    let answer = |own: Vec<(&'static str, Value)>| open(own.into_iter().chain(shared()), &["hits", "processingTimeMs"]);
    let several = exactly([("results", list(named("SearchAnswer"))), held()], &["results"]);
    let similar = open(shared().chain([("id", text())]), &["hits", "id", "processingTimeMs", "limit", "offset"]);
    vec![
        ("Hit", hit()),
        ("FacetDistribution", map_of(map_of(count()))),
        ("FacetStats", map_of(exactly([("min", number()), ("max", number())], &["min", "max"]))),
        ("FacetDetails", facets::details()),
        ("SearchMetadata", metadata()),
        ("SearchAnswer", answer(of_one_search())),
        ("FederatedAnswer", answer(of_merged_searches())),
        ("MultiSearchAnswer", json!({ "anyOf": [several, named("FederatedAnswer")] })),
        ("FacetSearchAnswer", facet_answer()),
        ("CompletionAnswer", completion_answer()),
        ("SimilarAnswer", similar),
    ]
}

fn metadata() -> Value {
    exactly(
        [("queryUid", text()), ("indexUid", text()), ("primaryKey", text()), ("query", text()), ("remote", text())],
        &["queryUid", "indexUid"],
    )
}

fn of_one_search() -> Vec<(&'static str, Value)> {
    vec![
        ("indexUid", text()),
        ("query", text()),
        ("queryVector", list(number())),
        ("metadata", named("SearchMetadata")),
        ("experiment", exactly([("id", text()), ("variant", one_of(&Group::NAMES))], &["id", "variant"])),
    ]
}

fn of_merged_searches() -> Vec<(&'static str, Value)> {
    let facets = exactly(
        [
            ("distribution", named("FacetDistribution")),
            ("stats", named("FacetStats")),
            ("details", list(named("FacetDetails"))),
        ],
        &["distribution", "stats"],
    );
    let explanation = exactly(
        [
            ("indexUid", text()),
            ("queriesPosition", count()),
            ("remote", text()),
            ("explanation", json!({ "type": "object" })),
        ],
        &["indexUid", "queriesPosition", "explanation"],
    );
    vec![
        ("queryVectors", map_of(list(number()))),
        ("facetsByIndex", map_of(facets)),
        ("remoteErrors", map_of(named("Error"))),
        ("explanations", list(explanation)),
        ("metadata", list(named("SearchMetadata"))),
    ]
}

fn facet_answer() -> Value {
    let hit = exactly([("value", text()), ("count", count())], &["value", "count"]);
    let fields = [("facetHits", list(hit)), ("facetQuery", or_null(text())), ("processingTimeMs", count()), held()];
    exactly(fields, &["facetHits", "facetQuery", "processingTimeMs"])
}

/// Returns the fields that all responses to searches may have. The paging of the request determines which of the
/// two kinds of totals is present.
fn shared() -> impl Iterator<Item = (&'static str, Value)> {
    [
        ("hits", list(named("Hit"))),
        ("processingTimeMs", count()),
        ("limit", count()),
        ("offset", count()),
        ("estimatedTotalHits", count()),
        ("page", count()),
        ("hitsPerPage", count()),
        ("totalHits", count()),
        ("totalPages", count()),
        ("totalGroups", count()),
        ("didYouMean", exactly([("q", text()), ("estimatedTotalHits", count())], &["q", "estimatedTotalHits"])),
        ("facetDistribution", named("FacetDistribution")),
        ("facetStats", named("FacetStats")),
        ("facetDetails", list(named("FacetDetails"))),
        ("requestUid", text()),
        ("performanceDetails", map_of(text())),
        ("degraded", flag()),
        ("degradedReasons", texts()),
        ("semanticHitCount", count()),
        ("explanation", json!({ "type": "object" })),
        held(),
    ]
    .into_iter()
}

/// The state that the answer is of, if it is held.
fn held() -> (&'static str, Value) {
    ("pointInTime", exactly([("id", text()), ("expiresAt", instant())], &["id", "expiresAt"]))
}

/// A document with what the search adds to it.
fn hit() -> Value {
    let place = exactly([("start", count()), ("length", count()), ("indices", list(count()))], &["start", "length"]);
    let passage = [("text", text()), ("start", count()), ("length", count()), ("score", number())];
    let passage = exactly(passage, &["text", "start", "length", "score"]);
    let federation = open(
        [("indexUid", text()), ("queriesPosition", count()), ("weightedRankingScore", number()), ("remote", text())],
        &["indexUid", "queriesPosition", "weightedRankingScore"],
    );
    open(
        [
            ("_formatted", json!({ "type": "object" })),
            ("_passages", list(passage)),
            ("_matchesPosition", map_of(list(place))),
            ("_rankingScore", number()),
            ("_rankingScoreDetails", json!({ "type": "object" })),
            ("_geoDistance", at_least(0)),
            ("_federation", federation),
            ("_explanation", json!({ "type": "object" })),
        ],
        &[],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_left_out_of_descriptions() {
        for (text, expected) in [
            ("searches the [network](g.md#n)", "searches the network"),
            ("a model ([relevance](r.md#a)); the response", "a model; the response"),
            ("texts, see [semantic search](s.md)", "texts"),
            ("a [b](c) and ([d](e)) and [f]", "a b and and [f]"),
            ("([a](b)", "(a"),
            ("cut [a](b", "cut a"),
            ("none", "none"),
        ] {
            assert_eq!(without_links(text), expected, "{text}");
        }
        let described = body()["properties"].to_string();
        assert!(described.contains("description"));
        assert!(!described.contains("]("));
        assert!(!described.contains(".md"));
    }
}
