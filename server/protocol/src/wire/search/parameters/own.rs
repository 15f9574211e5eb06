//! Explanations, states, groups, suggestions, another order: mostly what the protocol does not have. A new parameter comes last.

use lamina_base::error::Code;
use serde_json::{Value, json};

use super::super::{DISTINCT_LIMIT_MAX, ExplainQuery, Rerank, distinct_limit, personalize};
use super::form::{Form, Own};
use super::{Cached, Figure, InQueryStrings, Merged, Place, Reference, SearchParameter, text};
use crate::wire::point_in_time::PointInTime;
use crate::wire::schema::{self, list, or_null};
use crate::wire::text_fields;
use crate::wire::{boosts, generations};

pub(super) const PARAMETERS: &[SearchParameter] = &[
    SearchParameter {
        in_query_strings: InQueryStrings::Fields(&personalize::TEXT_FIELDS),
        also_in: &[Place::Federation],
        merged: Merged::OfList,
        reference: Some(Reference {
            example: "null",
            purpose: "not supported: this server has no personalization service and refuses anything but `null`",
            cost: "none",
        }),
        ..SearchParameter::new(
            "personalize",
            Code::InvalidSearchPersonalize,
            Form::Own(Own {
                kind: "object: `userContext`",
                // A field of the protocol for what this server does not do: it is refused unless null.
                schema: || json!({ "type": "null" }),
                read: |_, at| if personalize::is_personalized(at)? { Err(personalize::unavailable()) } else { Ok(()) },
                written: |_| Value::Null,
                is_set: |_| false,
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Fields(&ExplainQuery::TEXT_FIELDS),
        // Explanations are rare, and read more than the hits.
        cached: Cached::Never,
        reference: Some(Reference {
            example: r#"{"documentId": "17"}"#,
            purpose: "explains why hits match, or why a document is not a hit ([ask why](explanations.md))",
            cost: "each hit is read once more",
        }),
        ..SearchParameter::new(
            "explain",
            Code::InvalidSearchExplain,
            Form::Own(Own {
                kind: "boolean, or object: `documentId`",
                schema: ExplainQuery::schema,
                read: |query, at| {
                    query.explain = ExplainQuery::read(at)?;
                    Ok(())
                },
                written: |query| json!(query.explain.as_ref().map(ExplainQuery::written)),
                is_set: |query| query.explain.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Fields(&PointInTime::TEXT_FIELDS),
        also_in: &[Place::FacetSearch],
        merged: Merged::OfList,
        // A view has an end.
        cached: Cached::Never,
        figures: &[("point_in_time.total_number_of_uses", |query| {
            Some(Figure::Count(query.point_in_time.is_some().into()))
        })],
        reference: Some(Reference {
            example: "null",
            purpose: "searches a state of the index that an earlier search holds ([paging](../how-to/paging.md))",
            cost: "the files of that state stay on disk",
        }),
        ..SearchParameter::new(
            "pointInTime",
            Code::InvalidSearchPointInTime,
            Form::Own(Own {
                kind: "object: `id`, `keepAliveMs`",
                schema: || or_null(PointInTime::schema()),
                read: |query, at| {
                    query.point_in_time = Some(PointInTime::read(at)?);
                    Ok(())
                },
                written: |query| json!(query.point_in_time.map(PointInTime::written)),
                is_set: |query| query.point_in_time.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(text::state, schema::state),
        also_in: &[Place::FacetSearch],
        merged: Merged::OfList,
        ..SearchParameter::new(
            "at",
            Code::InvalidSearchAt,
            Form::Own(Own {
                kind: "integer, or string",
                schema: || or_null(schema::state()),
                read: |query, at| {
                    query.at = Some(generations::state(at)?);
                    Ok(())
                },
                written: |query| json!(query.at.map(generations::written_state)),
                is_set: |query| query.at.is_some(),
            }),
        )
    },
    SearchParameter {
        also_in: &[Place::Variant],
        in_query_strings: InQueryStrings::Read(text::boosts, schema::text),
        reference: Some(Reference {
            example: r#"[{"boost": {"field": "popularity"}}]"#,
            purpose: "boosts that replace those of the index ([boosts](../how-to/popularity.md))",
            cost: "reads the values of each ranked hit",
        }),
        ..SearchParameter::new(
            "boosts",
            Code::InvalidSearchBoosts,
            Form::Own(Own {
                kind: "array of objects",
                schema: || or_null(list(boosts::schema())),
                read: |query, at| {
                    query.boosts = Some(boosts::read_list(at)?);
                    Ok(())
                },
                written: |query| json!(query.boosts),
                is_set: |query| query.boosts.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(
            text_fields::count,
            || json!({ "type": "integer", "minimum": 1, "maximum": DISTINCT_LIMIT_MAX }),
        ),
        merged: Merged::OfList,
        reference: Some(Reference {
            example: "3",
            purpose: "hits for each value of `distinct` ([groups](../how-to/variants.md)); the response has \
                      `totalGroups`",
            cost: "as `distinct`",
        }),
        ..SearchParameter::new(
            "distinctLimit",
            Code::InvalidSearchDistinctLimit,
            Form::Own(Own {
                kind: "integer from 1 to 1,000",
                schema: || json!({ "type": ["integer", "null"], "minimum": 1, "maximum": DISTINCT_LIMIT_MAX }),
                read: |query, at| {
                    query.distinct_limit = Some(distinct_limit(&at)?);
                    Ok(())
                },
                written: |query| json!(query.distinct_limit),
                is_set: |query| query.distinct_limit.is_some(),
            }),
        )
    },
    SearchParameter {
        merged: Merged::OfList,
        reference: Some(Reference {
            example: "true",
            purpose: "suggests a query with more or better hits ([suggestions](../how-to/autocomplete.md))",
            cost: "a second search if a word is misspelt",
        }),
        ..SearchParameter::new(
            "didYouMean",
            Code::InvalidSearchDidYouMean,
            Form::Flag(|query| &query.did_you_mean, |query| &mut query.did_you_mean),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Fields(&Rerank::TEXT_FIELDS),
        merged: Merged::OfList,
        // Providers answer as they like.
        cached: Cached::Never,
        reference: Some(Reference {
            example: r#"{"reranker": "cross"}"#,
            purpose: "a model reorders the first hits ([rerank](../how-to/rerank.md))",
            cost: "one call of the model, and a second search",
        }),
        ..SearchParameter::new(
            "rerank",
            Code::InvalidSearchRerank,
            Form::Own(Own {
                kind: "object: `reranker`, `limit` (1 to 200), `timeoutMs` (1 to 30,000)",
                schema: || or_null(Rerank::schema()),
                read: |query, at| {
                    query.rerank = Some(Rerank::read(at)?);
                    Ok(())
                },
                written: |query| json!(query.rerank.as_ref().map(Rerank::written)),
                is_set: |query| query.rerank.is_some(),
            }),
        )
    },
];
