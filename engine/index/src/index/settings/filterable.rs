//! `filterableAttributes`: which fields may be filtered, and what their filters may do.

use serde::{Deserialize, Serialize};

use super::attribute_list::covers;
use super::attribute_pattern::AttributePattern;
use super::value::Entry;

/// One entry of `filterableAttributes`; the first entry that matches a field decides what the field can do.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FilterableAttribute {
    /// A string: the field and all its nested children, with every feature. `"*"` is a field of that name.
    Field(String),
    /// An object: only the names that match a pattern.
    Patterns(FilterablePatterns),
}

/// The object form of an entry. Reading fills missing features with their defaults.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilterablePatterns {
    pub attribute_patterns: Vec<AttributePattern>,
    #[serde(default)]
    pub features: FilterableFeatures,
}

/// Operations that are allowed on a filterable field. The default is that of an object entry without `features`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FilterableFeatures {
    pub facet_search: bool,
    pub filter: FilterOperators,
}

/// Families of filter operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FilterOperators {
    /// `=`, `!=`, `IN`, `NOT IN`
    pub equality: bool,
    /// `<`, `<=`, `>`, `>=`, `TO`
    pub comparison: bool,
}

impl Default for FilterOperators {
    fn default() -> FilterOperators {
        FilterOperators { equality: true, comparison: false }
    }
}

impl Entry for FilterableAttribute {}

impl FilterableFeatures {
    /// The features of a string entry.
    pub const ALL: FilterableFeatures =
        FilterableFeatures { facet_search: true, filter: FilterOperators { equality: true, comparison: true } };

    /// A field without any operator counts as not filterable.
    pub fn is_filterable(&self) -> bool {
        self.filter.equality || self.filter.comparison
    }
}

impl FilterableAttribute {
    pub fn features(&self) -> FilterableFeatures {
        match self {
            FilterableAttribute::Field(_) => FilterableFeatures::ALL,
            FilterableAttribute::Patterns(patterns) => patterns.features,
        }
    }

    pub fn matches(&self, field: &str) -> bool {
        match self {
            FilterableAttribute::Field(name) => covers(name, field),
            FilterableAttribute::Patterns(patterns) => {
                patterns.attribute_patterns.iter().any(|pattern| pattern.matches(field))
            }
        }
    }
}

/// Returns the operations that the list `rules` allows on `field` (dotted path). The first matching entry decides.
/// Returns `None` if the field is not filterable, which includes a deciding entry that turns both operator families
/// off.
pub fn filterable_features(rules: &[FilterableAttribute], field: &str) -> Option<FilterableFeatures> {
    decided_features(rules, field).filter(FilterableFeatures::is_filterable)
}

/// Reports whether filters or facet search use the values of `field`.
pub(super) fn uses_values(rules: &[FilterableAttribute], field: &str) -> bool {
    decided_features(rules, field).is_some_and(|features| features.is_filterable() || features.facet_search)
}

fn decided_features(rules: &[FilterableAttribute], field: &str) -> Option<FilterableFeatures> {
    rules.iter().find(|rule| rule.matches(field)).map(FilterableAttribute::features)
}

/// Reserved fields such as `_geo` must be listed as plain strings: patterns never reach them.
pub fn is_listed_by_name(rules: &[FilterableAttribute], field: &str) -> bool {
    rules.iter().any(|rule| matches!(rule, FilterableAttribute::Field(name) if name == field))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> Vec<FilterableAttribute> {
        serde_json::from_str(json).expect("test rules are valid")
    }

    #[test]
    fn strings_cover_children_patterns_do_not() {
        let rules = rules(r#"["author", {"attributePatterns":["genre","cat_*"]}]"#);
        assert_eq!(filterable_features(&rules, "author.name"), Some(FilterableFeatures::ALL));
        assert_eq!(filterable_features(&rules, "authors"), None);
        assert_eq!(filterable_features(&rules, "genre"), Some(FilterableFeatures::default()));
        assert_eq!(filterable_features(&rules, "genre.main"), None);
        assert_eq!(filterable_features(&rules, "cat_a.b"), Some(FilterableFeatures::default()));
    }

    #[test]
    fn the_first_match_decides_even_when_it_forbids() {
        let rules = rules(
            r#"[{"attributePatterns":["internal*"],"features":{"filter":{"equality":false,"comparison":false}}},
                {"attributePatterns":["*"],"features":{"facetSearch":true,"filter":{"equality":true,"comparison":true}}}]"#,
        );
        assert_eq!(filterable_features(&rules, "internal.note"), None);
        assert_eq!(filterable_features(&rules, "title"), Some(FilterableFeatures::ALL));
    }

    #[test]
    fn a_string_star_is_a_field_of_that_name() {
        let rules = rules(r#"["*"]"#);
        assert_eq!(filterable_features(&rules, "title"), None);
        assert_eq!(filterable_features(&rules, "*"), Some(FilterableFeatures::ALL));
        assert!(!is_listed_by_name(&rules, "_geo"));
    }

    #[test]
    fn missing_features_are_read_back_complete() {
        let rules = rules(r#"[{"attributePatterns":["a"],"features":{"filter":{"comparison":true}}}]"#);
        assert_eq!(
            serde_json::to_string(&rules).expect("serialises"),
            r#"[{"attributePatterns":["a"],"features":{"facetSearch":false,"filter":{"equality":true,"comparison":true}}}]"#
        );
        assert!(serde_json::from_str::<FilterableAttribute>(r#"{"attributePatterns":["a"],"feature":{}}"#).is_err());
    }
}
