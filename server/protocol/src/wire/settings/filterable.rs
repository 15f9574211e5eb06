//! `filterableAttributes`: fields, or patterns with features.

use lamina_base::error::{ApiResult, Code};
use lamina_engine::index::settings::{
    AttributePattern, FilterOperators, FilterableAttribute, FilterableFeatures, FilterablePatterns, GEO_FIELD,
    SettingId,
};
use lamina_engine::index::{Setting, SettingsPatch};
use serde_json::{Value, json};

use super::bounds::attributes;
use super::kind::{Figure, Figures, Reference, SettingKind};
use super::values::{sent, setting};
use crate::wire::json::{At, Kind};
use crate::wire::schema::{self, exactly, flag, or_null, texts};

pub(super) const FILTERABLE: SettingKind = SettingKind {
    id: SettingId::FilterableAttributes,
    key: "filterableAttributes",
    route: "filterable-attributes",
    code: Code::InvalidSettingsFilterableAttributes,
    bounds: attributes,
    read: |at, patch| {
        patch.filterable_attributes = setting(at, |at| at.list(read))?;
        Ok(())
    },
    written: |settings| write_all(&settings.filterable_attributes),
    sent: |patch| sent(&patch.filterable_attributes, |attributes| write_all(attributes)),
    schema: || {
        let filter = exactly([("equality", or_null(flag())), ("comparison", or_null(flag()))], &[]);
        let features = exactly([("facetSearch", or_null(flag())), ("filter", or_null(filter))], &[]);
        let fields = [("attributePatterns", texts()), ("features", or_null(features))];
        let patterns = exactly(fields, &["attributePatterns"]);
        schema::list(json!({ "anyOf": [schema::text(), patterns] }))
    },
    figures,
    reference: Reference {
        purpose: "attributes that filters and facets may use; `_geo` and `_geojson` for places. The first entry \
                  that matches an attribute applies",
        value: "array of strings, and of objects: `attributePatterns`, `features` (`facetSearch`, `filter`: `equality`, \
                `comparison`)",
        example: r#"["genre", {"attributePatterns": ["*_id"], "features": {"filter": {"comparison": true}}}]"#,
    },
    ..SettingKind::PLAIN
};

fn write_all(attributes: &[FilterableAttribute]) -> Value {
    attributes.iter().map(write).collect()
}

fn write(attribute: &FilterableAttribute) -> Value {
    match attribute {
        FilterableAttribute::Field(name) => json!(name),
        FilterableAttribute::Patterns(FilterablePatterns { attribute_patterns, features }) => {
            let FilterOperators { equality, comparison } = features.filter;
            let patterns: Vec<&str> = attribute_patterns.iter().map(AttributePattern::as_str).collect();
            let features = json!({
                "facetSearch": features.facet_search,
                "filter": { "equality": equality, "comparison": comparison },
            });
            json!({ "attributePatterns": patterns, "features": features })
        }
    }
}

fn figures(patch: &SettingsPatch) -> Figures {
    let Setting::Set(attributes) = &patch.filterable_attributes else { return Figures::new() };
    let is_geo =
        |attribute: &FilterableAttribute| matches!(attribute, FilterableAttribute::Field(name) if name == GEO_FIELD);
    let is_pattern = |attribute: &FilterableAttribute| matches!(attribute, FilterableAttribute::Patterns(_));
    vec![
        ("filterable_attributes.total", Figure::Max(attributes.len())),
        ("filterable_attributes.has_geo", Figure::Any(attributes.iter().any(is_geo))),
        ("filterable_attributes.has_patterns", Figure::Any(attributes.iter().any(is_pattern))),
    ]
}

fn read(at: At<'_>) -> ApiResult<FilterableAttribute> {
    match at.value() {
        Value::String(name) => Ok(FilterableAttribute::Field(name.clone())),
        Value::Object(_) => patterns(at).map(FilterableAttribute::Patterns),
        _ => Err(at.wrong_type(&[Kind::String, Kind::Object])),
    }
}

fn patterns(at: At<'_>) -> ApiResult<FilterablePatterns> {
    let (mut attribute_patterns, mut features) = (None, FilterableFeatures::default());
    at.given(&["attributePatterns", "features"], &["attributePatterns"], |name, field| {
        match name {
            "attributePatterns" => {
                attribute_patterns = Some(field.list(|pattern| Ok(AttributePattern::new(pattern.string()?)))?);
            }
            _ => features = read_features(field)?,
        }
        Ok(())
    })?;
    Ok(FilterablePatterns {
        attribute_patterns: attribute_patterns.ok_or_else(|| at.missing_field("attributePatterns"))?,
        features,
    })
}

fn read_features(at: At<'_>) -> ApiResult<FilterableFeatures> {
    let mut features = FilterableFeatures::default();
    at.given(&["facetSearch", "filter"], &[], |name, field| {
        match name {
            "facetSearch" => features.facet_search = field.boolean()?,
            _ => features.filter = operators(field)?,
        }
        Ok(())
    })?;
    Ok(features)
}

fn operators(at: At<'_>) -> ApiResult<FilterOperators> {
    let mut operators = FilterOperators::default();
    at.given(&["equality", "comparison"], &[], |name, field| {
        match name {
            "equality" => operators.equality = field.boolean()?,
            _ => operators.comparison = field.boolean()?,
        }
        Ok(())
    })?;
    Ok(operators)
}
