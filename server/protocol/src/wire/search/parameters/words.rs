//! The query itself: words, vectors, media.

use lamina_base::error::Code;
use serde_json::json;

use super::super::{Hybrid, SearchQuery, component};
use super::form::{Form, Own};
use super::{Cached, Figure, InQueryStrings, Place, Reference, SearchParameter, text};
use crate::wire::schema::{self, anything, list, number, or_null};

fn words(query: &SearchQuery) -> impl Iterator<Item = &str> {
    query.text().unwrap_or_default().split_whitespace()
}

pub(super) const PARAMETERS: &[SearchParameter] = &[
    SearchParameter {
        also_in: &[Place::FacetSearch, Place::Completions],
        figures: &[
            ("q.max_terms_number", |query| Some(Figure::Max(words(query).count()))),
            ("requests.total_used_negative_operator", |query| {
                Some(Figure::Count(words(query).any(|word| word.len() > 1 && word.starts_with('-')).into()))
            }),
        ],
        reference: Some(Reference {
            example: r#""jurasic wrold""#,
            purpose: "the query; without one, all documents in the order of sorts and ranking rules",
            cost: "grows with the number of matches",
        }),
        ..SearchParameter::new("q", Code::InvalidSearchQ, Form::Text(|query| &query.q, |query| &mut query.q))
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(text::vector, schema::text),
        also_in: &[Place::FacetSearch],
        // Providers answer as they like.
        cached: Cached::Never,
        figures: &[("vector.max_vector_size", |query| Some(Figure::Max(query.vector.as_ref().map_or(0, Vec::len))))],
        reference: Some(Reference {
            example: "[0.1, 0.2, 0.3]",
            purpose: "the vector to search for, instead of one made from `q`; needs `hybrid`",
            cost: "that of `hybrid`, without the embedder",
        }),
        ..SearchParameter::new(
            "vector",
            Code::InvalidSearchVector,
            Form::Own(Own {
                kind: "array of numbers",
                schema: || or_null(list(number())),
                read: |query, at| {
                    let vector =
                        at.list(|element| component(element.number()?).map_err(|reason| element.invalid(reason)))?;
                    query.vector = Some(vector);
                    Ok(())
                },
                written: |query| json!(query.vector),
                is_set: |query| query.vector.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Absent,
        also_in: &[Place::FacetSearch],
        cached: Cached::Never,
        figures: &[("hybrid.total_media", |query| Some(Figure::Count(query.media.is_some().into())))],
        reference: Some(Reference {
            example: r#"{"image": "aGVsbG8="}"#,
            purpose: "input for the search fragments of the embedder, beside `q`",
            cost: "one call of the embedder",
        }),
        ..SearchParameter::new(
            "media",
            Code::InvalidSearchMedia,
            Form::Own(Own {
                kind: "object",
                schema: anything,
                read: |query, at| {
                    query.media = Some(at.value().clone());
                    Ok(())
                },
                written: |query| json!(query.media),
                is_set: |query| query.media.is_some(),
            }),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Fields(&Hybrid::TEXT_FIELDS),
        also_in: &[Place::Variant, Place::FacetSearch],
        cached: Cached::Never,
        figures: &[
            ("hybrid.enabled", |query| Some(Figure::Any(query.hybrid.is_some()))),
            ("hybrid.semantic_ratio", |query| {
                let has_own = |hybrid: &Hybrid| hybrid.semantic_ratio != Hybrid::DEFAULT_RATIO;
                Some(Figure::Any(query.hybrid.as_ref().is_some_and(has_own)))
            }),
        ],
        reference: Some(Reference {
            example: r#"{"embedder": "own", "semanticRatio": 0.7}"#,
            purpose: "hybrid or semantic search ([semantic search](embedders.md))",
            cost: "one call of the embedder; below a millisecond for 1,000,000 vectors",
        }),
        ..SearchParameter::new(
            "hybrid",
            Code::InvalidSearchHybridQuery,
            Form::Own(Own {
                kind: "object: `embedder`, `semanticRatio` (0 to 1), `fusion`, `rrfK`, `thresholds`, `passages` (0 to 10)",
                schema: || or_null(Hybrid::schema()),
                read: |query, at| {
                    query.hybrid = Some(Hybrid::read(at)?);
                    Ok(())
                },
                written: |query| json!(query.hybrid.as_ref().map(Hybrid::written)),
                is_set: |query| query.hybrid.is_some(),
            }),
        )
    },
];
