//! What matches a query, and how matches are shown.

use lamina_base::error::Code;
use lamina_engine::search::MatchingStrategy;
use serde_json::{Value, json};

use super::super::{
    DEFAULT_CROP_MARKER, DEFAULT_POST_TAG, DEFAULT_PRE_TAG, LOCALES_MAX, MATCHING_STRATEGIES, NAMES_MAX, strategy_names,
};
use super::form::{Form, Own};
use super::{Figure, InQueryStrings, Place, Reference, SearchParameter, text};
use crate::wire::schema::{self, list, named, one_of, or_null};
use crate::wire::text_fields;

pub(super) const PARAMETERS: &[SearchParameter] = &[
    SearchParameter {
        figures: &[("formatting.highlight_pre_tag", |query| {
            Some(Figure::Any(query.highlight_pre_tag != DEFAULT_PRE_TAG))
        })],
        reference: Some(Reference { example: r#""<mark>""#, purpose: "text before a match", cost: "none" }),
        ..SearchParameter::new(
            "highlightPreTag",
            Code::InvalidSearchHighlightPreTag,
            Form::Mark(|query| &query.highlight_pre_tag, |query| &mut query.highlight_pre_tag, DEFAULT_PRE_TAG),
        )
    },
    SearchParameter {
        figures: &[("formatting.highlight_post_tag", |query| {
            Some(Figure::Any(query.highlight_post_tag != DEFAULT_POST_TAG))
        })],
        reference: Some(Reference { example: r#""</mark>""#, purpose: "text after a match", cost: "none" }),
        ..SearchParameter::new(
            "highlightPostTag",
            Code::InvalidSearchHighlightPostTag,
            Form::Mark(|query| &query.highlight_post_tag, |query| &mut query.highlight_post_tag, DEFAULT_POST_TAG),
        )
    },
    SearchParameter {
        figures: &[("formatting.crop_marker", |query| Some(Figure::Any(query.crop_marker != DEFAULT_CROP_MARKER)))],
        reference: Some(Reference { example: r#"" [...] ""#, purpose: "marks where a text was cropped", cost: "none" }),
        ..SearchParameter::new(
            "cropMarker",
            Code::InvalidSearchCropMarker,
            Form::Mark(|query| &query.crop_marker, |query| &mut query.crop_marker, DEFAULT_CROP_MARKER),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(text_fields::text, || one_of(&strategy_names())),
        also_in: &[Place::Variant, Place::FacetSearch],
        figures: &[("matching_strategy.most_used_strategy", |query| {
            Some(Figure::Most(strategy_name(query.matching_strategy.unwrap_or(MatchingStrategy::Last))))
        })],
        reference: Some(Reference {
            example: r#""any""#,
            purpose: "which words a hit may lack; `null` means the setting of the index, or `last` \
                      ([questions](../how-to/questions.md))",
            cost: "`all` is the fastest, `any` ranks more documents",
        }),
        ..SearchParameter::new(
            "matchingStrategy",
            Code::InvalidSearchMatchingStrategy,
            Form::Own(Own {
                kind: "`last`, `all`, `frequency` or `any`",
                schema: || or_null(one_of(&strategy_names())),
                read: |query, at| {
                    query.matching_strategy = Some(at.one_of(&MATCHING_STRATEGIES)?);
                    Ok(())
                },
                written: |query| json!(query.matching_strategy.map(strategy_name)),
                is_set: |query| query.matching_strategy.is_some(),
            }),
        )
    },
    SearchParameter {
        also_in: &[Place::Variant, Place::FacetSearch, Place::Completions],
        figures: &[("attributes_to_search_on.total_number_of_uses", |query| {
            Some(Figure::Count(query.attributes_to_search_on.is_some().into()))
        })],
        reference: Some(Reference {
            example: r#"["title"]"#,
            purpose: "searches only these attributes",
            cost: "lower",
        }),
        ..SearchParameter::new(
            "attributesToSearchOn",
            Code::InvalidSearchAttributesToSearchOn,
            Form::Texts(|query| &query.attributes_to_search_on, |query| &mut query.attributes_to_search_on, NAMES_MAX),
        )
    },
    SearchParameter {
        also_in: &[Place::Variant, Place::FacetSearch],
        with_code: &[(Place::Similar, Code::InvalidSimilarRankingScoreThreshold)],
        figures: &[("scoring.ranking_score_threshold", |query| {
            Some(Figure::Any(query.ranking_score_threshold.is_some()))
        })],
        reference: Some(Reference {
            example: "0.5",
            purpose: "drops hits with a lower `_rankingScore`",
            cost: "totals count the hits that are left",
        }),
        ..SearchParameter::new(
            "rankingScoreThreshold",
            Code::InvalidSearchRankingScoreThreshold,
            Form::Share(|query| &query.ranking_score_threshold, |query| &mut query.ranking_score_threshold),
        )
    },
    SearchParameter {
        in_query_strings: InQueryStrings::Read(text::locales, schema::text),
        also_in: &[Place::Variant, Place::FacetSearch, Place::Completions],
        figures: &[("locales", |query| {
            Some(Figure::Words(query.locales.iter().map(|language| language.code()).collect()))
        })],
        reference: Some(Reference {
            example: r#"["jpn"]"#,
            purpose: "languages of `q`, if detection is not enough ([languages](languages.md))",
            cost: "none",
        }),
        ..SearchParameter::new(
            "locales",
            Code::InvalidSearchLocales,
            Form::Own(Own {
                kind: "array of language codes",
                schema: || or_null(list(named("Locale"))),
                read: |query, at| {
                    query.locales = at.at_most(LOCALES_MAX)?.list(|locale| locale.language())?;
                    Ok(())
                },
                written: |query| match query.locales.as_slice() {
                    [] => Value::Null,
                    locales => locales.iter().map(|language| language.code()).collect(),
                },
                is_set: |query| !query.locales.is_empty(),
            }),
        )
    },
];

fn strategy_name(strategy: MatchingStrategy) -> &'static str {
    let known = MATCHING_STRATEGIES.iter().find(|(_, known)| *known == strategy);
    known.expect("all strategies have names").0
}
