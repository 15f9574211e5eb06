//! Which documents are searched, their order, and what is counted of them.

use lamina_base::error::{ApiResult, Code};
use serde_json::{Value, json};

use super::super::{FacetMeasure, SORTS_MAX, SearchQuery};
use super::form::{Form, Own};
use super::{Cached, Figure, InQueryStrings, Merged, Place, Reference, SearchParameter, text};
use crate::wire::filter::mentions;
use crate::wire::json::At;
use crate::wire::schema::{self, list, named, or_null};

pub(super) const PARAMETERS: &[SearchParameter] = &[
    SearchParameter {
        merged: Merged::OfList,
        // Other servers have states of their own.
        cached: Cached::Never,
        reference: Some(Reference {
            example: "true",
            purpose: "searches all servers of the [network](../how-to/several-servers.md)",
            cost: "one request to each server",
        }),
        ..SearchParameter::new(
            "useNetwork",
            Code::InvalidSearchUseNetwork,
            Form::Flag(|query| &query.use_network, |query| &mut query.use_network),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(|parameter| Ok(text::filter(parameter.text()?)), schema::text),
        also_in: &[Place::FacetSearch, Place::Completions],
        with_code: &[(Place::Similar, Code::InvalidSimilarFilter)],
        figures: &[
            ("filter.with_geoBoundingBox", |query| uses(query, "_geoBoundingBox")),
            ("filter.with_geoRadius", |query| uses(query, "_geoRadius")),
            ("filter.on_vectors", |query| uses(query, "_vectors")),
            ("filter.most_used_syntax", |query| {
                let syntax = |filter: &Value| if filter.is_array() { "array" } else { "string" };
                query.filter.as_ref().map(|filter| Figure::Most(syntax(filter)))
            }),
        ],
        reference: Some(Reference {
            example: r#""genre = Horror AND year > 1980""#,
            purpose: "only documents that meet the condition; inner arrays mean OR \
                      ([filters](filters.md))",
            cost: "below a millisecond for most; fields must be in `filterableAttributes`",
        }),
        ..SearchParameter::new(
            "filter",
            Code::InvalidSearchFilter,
            Form::Own(Own {
                kind: "string, or array of strings and arrays of strings",
                schema: || named("Filter"),
                // The engine reads it.
                read: |query, at| {
                    query.filter = Some(at.value().clone());
                    Ok(())
                },
                written: |query| json!(query.filter),
                is_set: |query| query.filter.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(|parameter| Ok(text::sort(parameter.text()?).into()), schema::text),
        figures: &[
            ("sort.with_geoPoint", |query| {
                let has_point = |sort: &Vec<String>| sort.iter().any(|one| one.starts_with("_geoPoint"));
                query.sort.as_ref().map(|sort| Figure::Any(has_point(sort)))
            }),
            ("sort.avg_criteria_number", |query| query.sort.as_ref().map(|sort| Figure::Average(sort.len() as f64))),
        ],
        reference: Some(Reference {
            example: r#"["year:desc"]"#,
            purpose: "sort order, applied at the ranking rule `sort`; `_geoPoint(lat, lng):asc` for distances",
            cost: "fields must be in `sortableAttributes`",
        }),
        ..SearchParameter::new(
            "sort",
            Code::InvalidSearchSort,
            Form::Texts(|query| &query.sort, |query| &mut query.sort, SORTS_MAX),
        )
    },
    SearchParameter {
        with_code: &[(Place::Federation, Code::InvalidMultiSearchDistinct)],
        merged: Merged::OfList,
        figures: &[("distinct", |query| Some(Figure::Any(query.distinct.is_some())))],
        reference: Some(Reference {
            example: r#""sku""#,
            purpose: "of documents with the same value of this attribute, only the best",
            cost: "exact counts for each value: all matches are read",
        }),
        ..SearchParameter::new(
            "distinct",
            Code::InvalidSearchDistinct,
            Form::Text(|query| &query.distinct, |query| &mut query.distinct),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(text::texts, schema::text),
        merged: Merged::OfList,
        figures: &[
            ("facets.avg_facets_number", |query| {
                query.facets.as_ref().map(|facets| Figure::Average(facets.len() as f64))
            }),
            ("facets.total_distinct_facet_count", |query| {
                query.facets.as_ref().map(|facets| Figure::Count(facets.len() as u64))
            }),
            ("facets.additional_search_parameters_provided", |query| {
                query.facets.as_ref().map(|_| Figure::Any(query.q.is_some() || query.filter.is_some()))
            }),
        ],
        reference: Some(Reference {
            example: r#"["genre", "year"]"#,
            purpose: "counts the values of these attributes in all matches; `[\"*\"]` means all filterable attributes",
            cost: "all matches are counted; counts are exact",
        }),
        ..SearchParameter::new(
            "facets",
            Code::InvalidSearchFacets,
            Form::Own(Own {
                kind: "array of strings",
                schema: || or_null(list(FacetMeasure::entry_schema())),
                read: read_facets,
                written: |query| {
                    let Some(names) = &query.facets else { return Value::Null };
                    let names = names.iter().map(|name| json!(name));
                    names.chain(query.measures.iter().map(|measure| measure.written.clone())).collect()
                },
                is_set: |query| query.facets.is_some(),
            }),
        )
    },
];

/// A figure of what the filter mentions, if there is one.
fn uses(query: &SearchQuery, word: &str) -> Option<Figure> {
    query.filter.as_ref().map(|filter| Figure::Any(mentions(filter, word)))
}

/// Reads names, and objects that ask for ranges, histograms and statistics.
fn read_facets(query: &mut SearchQuery, at: At<'_>) -> ApiResult<()> {
    let (names, measures) = FacetMeasure::read_list(at)?;
    (query.facets, query.measures) = (Some(names), measures);
    Ok(())
}
