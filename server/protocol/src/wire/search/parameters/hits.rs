//! Which of the hits are shown, and what of them.

use lamina_base::error::Code;

use super::super::{DEFAULT_CROP_LENGTH, DEFAULT_LIMIT, NAMES_MAX, SearchQuery, Window};
use super::form::Form;
use super::{Cached, Figure, Merged, Place, Reference, SearchParameter};

/// Hits of a page, and those before it.
fn page(query: &SearchQuery) -> (usize, usize) {
    match query.window() {
        Window::Offset { offset, limit } => (limit, offset),
        Window::Page { page, hits_per_page } => (hits_per_page, page.saturating_sub(1).saturating_mul(hits_per_page)),
    }
}

fn length(names: Option<&Vec<String>>) -> Option<Figure> {
    Some(Figure::Max(names.map_or(0, Vec::len)))
}

pub(super) const PARAMETERS: &[SearchParameter] = &[
    SearchParameter {
        also_in: &[Place::Federation],
        with_code: &[(Place::Similar, Code::InvalidSimilarOffset)],
        merged: Merged::Paging,
        figures: &[("pagination.max_offset", |query| Some(Figure::Max(page(query).1)))],
        reference: Some(Reference {
            example: "20",
            purpose: "number of hits to skip",
            cost: "as `limit`: skipped hits are ranked too",
        }),
        ..SearchParameter::new(
            "offset",
            Code::InvalidSearchOffset,
            Form::Count(|query| &query.offset, |query| &mut query.offset, 0),
        )
    },
    SearchParameter {
        also_in: &[Place::Completions, Place::Federation],
        with_code: &[(Place::Similar, Code::InvalidSimilarLimit)],
        merged: Merged::Paging,
        figures: &[("pagination.max_limit", |query| Some(Figure::Max(page(query).0)))],
        reference: Some(Reference {
            example: "50",
            purpose: "maximum number of hits",
            cost: "ranking keeps `offset + limit` hits; each hit is read and sent",
        }),
        ..SearchParameter::new(
            "limit",
            Code::InvalidSearchLimit,
            Form::Count(|query| &query.limit, |query| &mut query.limit, DEFAULT_LIMIT),
        )
    },
    SearchParameter {
        also_in: &[Place::Federation],
        merged: Merged::Paging,
        figures: &[("pagination.most_used_navigation", |query| {
            let is_page = matches!(query.window(), Window::Page { .. });
            Some(Figure::Most(if is_page { "exhaustive" } else { "estimated" }))
        })],
        reference: Some(Reference {
            example: "2",
            purpose: "page of hits, from 1; the response has `totalHits` and `totalPages`",
            cost: "as `offset`",
        }),
        ..SearchParameter::new(
            "page",
            Code::InvalidSearchPage,
            Form::OptionalCount(|query| &query.page, |query| &mut query.page),
        )
    },
    SearchParameter {
        also_in: &[Place::Federation],
        merged: Merged::Paging,
        reference: Some(Reference { example: "10", purpose: "hits per page", cost: "as `limit`" }),
        ..SearchParameter::new(
            "hitsPerPage",
            Code::InvalidSearchHitsPerPage,
            Form::OptionalCount(|query| &query.hits_per_page, |query| &mut query.hits_per_page),
        )
    },
    SearchParameter {
        with_code: &[(Place::Similar, Code::InvalidSimilarAttributesToRetrieve)],
        figures: &[("formatting.max_attributes_to_retrieve", |query| length(query.attributes_to_retrieve.as_ref()))],
        reference: Some(Reference {
            example: r#"["title", "year"]"#,
            purpose: "attributes that hits contain; `[\"*\"]` means all displayed attributes",
            cost: "fewer are faster to send",
        }),
        ..SearchParameter::new(
            "attributesToRetrieve",
            Code::InvalidSearchAttributesToRetrieve,
            Form::Texts(|query| &query.attributes_to_retrieve, |query| &mut query.attributes_to_retrieve, NAMES_MAX),
        )
    },
    SearchParameter {
        with_code: &[(Place::Similar, Code::InvalidSimilarRetrieveVectors)],
        figures: &[("vector.retrieve_vectors", |query| Some(Figure::Any(query.retrieve_vectors)))],
        reference: Some(Reference { example: "true", purpose: "hits contain their vectors", cost: "large responses" }),
        ..SearchParameter::new(
            "retrieveVectors",
            Code::InvalidSearchRetrieveVectors,
            Form::Flag(|query| &query.retrieve_vectors, |query| &mut query.retrieve_vectors),
        )
    },
    SearchParameter {
        figures: &[("formatting.max_attributes_to_crop", |query| length(query.attributes_to_crop.as_ref()))],
        reference: Some(Reference {
            example: r#"["overview:20"]"#,
            purpose: "attributes that `_formatted` crops around their matches, optionally with a number of words",
            cost: "each hit is tokenised",
        }),
        ..SearchParameter::new(
            "attributesToCrop",
            Code::InvalidSearchAttributesToCrop,
            Form::Texts(|query| &query.attributes_to_crop, |query| &mut query.attributes_to_crop, NAMES_MAX),
        )
    },
    SearchParameter {
        figures: &[("formatting.crop_length", |query| Some(Figure::Any(query.crop_length != DEFAULT_CROP_LENGTH)))],
        reference: Some(Reference { example: "20", purpose: "words in a cropped text", cost: "none" }),
        ..SearchParameter::new(
            "cropLength",
            Code::InvalidSearchCropLength,
            Form::Count(|query| &query.crop_length, |query| &mut query.crop_length, DEFAULT_CROP_LENGTH),
        )
    },
    SearchParameter {
        figures: &[("formatting.max_attributes_to_highlight", |query| length(query.attributes_to_highlight.as_ref()))],
        reference: Some(Reference {
            example: r#"["title"]"#,
            purpose: "attributes in which `_formatted` highlights matches; `[\"*\"]` means all",
            cost: "each hit is tokenised",
        }),
        ..SearchParameter::new(
            "attributesToHighlight",
            Code::InvalidSearchAttributesToHighlight,
            Form::Texts(|query| &query.attributes_to_highlight, |query| &mut query.attributes_to_highlight, NAMES_MAX),
        )
    },
    SearchParameter {
        figures: &[("formatting.show_matches_position", |query| Some(Figure::Any(query.show_matches_position)))],
        reference: Some(Reference {
            example: "true",
            purpose: "hits contain the byte positions of their matches",
            cost: "each hit is tokenised",
        }),
        ..SearchParameter::new(
            "showMatchesPosition",
            Code::InvalidSearchShowMatchesPosition,
            Form::Flag(|query| &query.show_matches_position, |query| &mut query.show_matches_position),
        )
    },
    SearchParameter {
        with_code: &[(Place::Similar, Code::InvalidSimilarShowRankingScore)],
        figures: &[("scoring.show_ranking_score", |query| Some(Figure::Any(query.show_ranking_score)))],
        reference: Some(Reference { example: "true", purpose: "hits have `_rankingScore`, from 0 to 1", cost: "none" }),
        ..SearchParameter::new(
            "showRankingScore",
            Code::InvalidSearchShowRankingScore,
            Form::Flag(|query| &query.show_ranking_score, |query| &mut query.show_ranking_score),
        )
    },
    SearchParameter {
        with_code: &[(Place::Similar, Code::InvalidSimilarShowRankingScoreDetails)],
        figures: &[("scoring.show_ranking_score_details", |query| Some(Figure::Any(query.show_ranking_score_details)))],
        reference: Some(Reference {
            example: "true",
            purpose: "hits have the score of each ranking rule",
            cost: "each hit is read once more",
        }),
        ..SearchParameter::new(
            "showRankingScoreDetails",
            Code::InvalidSearchShowRankingScoreDetails,
            Form::Flag(|query| &query.show_ranking_score_details, |query| &mut query.show_ranking_score_details),
        )
    },
    SearchParameter {
        with_code: &[
            (Place::Similar, Code::InvalidSimilarShowPerformanceDetails),
            (Place::Federation, Code::InvalidMultiSearchQueryShowPerformanceDetails),
        ],
        merged: Merged::OfList,
        // Times are those of one search.
        cached: Cached::Never,
        reference: Some(Reference { example: "true", purpose: "the response has the time of each step", cost: "none" }),
        ..SearchParameter::new(
            "showPerformanceDetails",
            Code::InvalidSearchShowPerformanceDetails,
            Form::Flag(|query| &query.show_performance_details, |query| &mut query.show_performance_details),
        )
    },
];
