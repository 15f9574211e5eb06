//! One entry of `filterableAttributes`: a field, or patterns with features.

use lamina_engine::index::settings::{
    AttributePattern, FilterOperators, FilterableAttribute, FilterableFeatures, FilterablePatterns,
};
use serde_json::Value;

use crate::error::ApiResult;
use crate::wire::json::{At, Kind};

pub(super) fn read(at: At<'_>) -> ApiResult<FilterableAttribute> {
    match at.value() {
        Value::String(name) => Ok(FilterableAttribute::Field(name.clone())),
        Value::Object(_) => patterns(at).map(FilterableAttribute::Patterns),
        _ => Err(at.wrong_type(&[Kind::String, Kind::Object])),
    }
}

fn patterns(at: At<'_>) -> ApiResult<FilterablePatterns> {
    let (mut attribute_patterns, mut features) = (None, FilterableFeatures::default());
    at.fields(&["attributePatterns", "features"], |name, field| {
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
    at.fields(&["facetSearch", "filter"], |name, field| {
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
    at.fields(&["equality", "comparison"], |name, field| {
        match name {
            "equality" => operators.equality = field.boolean()?,
            _ => operators.comparison = field.boolean()?,
        }
        Ok(())
    })?;
    Ok(operators)
}
