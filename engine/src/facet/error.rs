//! Why facets can't be computed.

use thiserror::Error;

use crate::index::settings::AvailableAttributes;

/// What is wrong with the `facets` of a request. Displays as the sentence for the user.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FacetError {
    #[error("Invalid facet distribution: {} {}", refused(.patterns), offer(.available))]
    NotFilterable { patterns: Vec<String>, available: AvailableAttributes },
    /// The entry number `rule` of `filterableAttributes` decides for the attribute and allows no filter.
    #[error(
        "Invalid facet distribution: Attribute `{attribute}` matched rule #{rule} in filterableAttributes, but this \
         rule does not enable filtering.\nHint: enable filtering in rule #{rule} by modifying the features.filter \
         object\nHint: prepend another rule matching `{attribute}` with appropriate filter features before rule \
         #{rule}"
    )]
    FilteringDisabled { attribute: String, rule: usize },
}

fn refused(patterns: &[String]) -> String {
    let names = patterns.join(", ");
    if patterns.len() == 1 {
        format!("Pattern `{names}` is not filterable.")
    } else {
        format!("Patterns `{names}` are not filterable.")
    }
}

fn offer(available: &AvailableAttributes) -> String {
    if available.is_empty() {
        "This index does not have configured filterable attributes.".to_owned()
    } else {
        format!("Available filterable attributes patterns are: {}.", available.quoted_together())
    }
}

/// Why the values of a facet can't be searched. Displays as the sentence for the user.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum FacetSearchError {
    #[error("The facet search is disabled for this index")]
    Disabled,
    #[error(
        "Attribute `{attribute}` is not facet-searchable. {} To make it facet-searchable add it to the \
         `filterableAttributes` index settings.",
        searchable(.available)
    )]
    NotFacetSearchable { attribute: String, available: AvailableAttributes },
    /// The entry number `rule` of `filterableAttributes` decides for the attribute and lacks the feature.
    #[error(
        "Attribute `{attribute}` is not facet-searchable. {} Note: this attribute matches rule #{rule} in \
         `filterableAttributes`, but this rule does not enable facetSearch.\nHint: enable facetSearch in rule #{rule} \
         by adding `\"facetSearch\": true` to the rule.\nHint: prepend another rule matching `{attribute}` with \
         `facetSearch: true` before rule #{rule}.",
        searchable(.available)
    )]
    FeatureDisabled { attribute: String, rule: usize, available: AvailableAttributes },
}

fn searchable(available: &AvailableAttributes) -> String {
    if available.is_empty() {
        "This index does not have configured facet-searchable attributes.".to_owned()
    } else {
        format!("Available facet-searchable attributes patterns are: {}.", available.quoted_together())
    }
}
