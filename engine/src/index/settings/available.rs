//! The attributes that an error message offers instead of the one that was refused.

use std::collections::BTreeSet;

use super::{AttributeList, FilterableAttribute, Settings};

/// Stands for the names that must not be shown.
const HIDDEN: &str = "<..hidden-attributes>";

/// Names or patterns in byte order; those that are not displayed are replaced by one marker at the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AvailableAttributes(Vec<String>);

impl AvailableAttributes {
    /// The patterns of `filterableAttributes` that allow filtering.
    pub fn filterable(settings: &Settings) -> Self {
        let rules = settings.filterable_attributes.iter().filter(|rule| rule.features().is_filterable());
        Self::of_rules(rules, settings)
    }

    /// The patterns of `filterableAttributes` that allow facet search.
    pub fn facet_searchable(settings: &Settings) -> Self {
        let rules = settings.filterable_attributes.iter().filter(|rule| rule.features().facet_search);
        Self::of_rules(rules, settings)
    }

    /// `sortableAttributes`.
    pub fn sortable(settings: &Settings) -> Self {
        Self::new(settings.sortable_attributes.iter().map(String::as_str), &settings.displayed_attributes)
    }

    fn of_rules<'s>(rules: impl Iterator<Item = &'s FilterableAttribute>, settings: &Settings) -> Self {
        let patterns = rules.flat_map(|rule| match rule {
            FilterableAttribute::Field(name) => vec![name.as_str()],
            FilterableAttribute::Patterns(patterns) => {
                patterns.attribute_patterns.iter().map(|pattern| pattern.as_str()).collect()
            }
        });
        Self::new(patterns, &settings.displayed_attributes)
    }

    fn new<'s>(names: impl Iterator<Item = &'s str>, displayed: &AttributeList) -> Self {
        let names: BTreeSet<&str> = names.collect();
        let (shown, hidden): (Vec<&str>, Vec<&str>) = names.into_iter().partition(|name| displayed.selects(name));
        let marker = (!hidden.is_empty()).then_some(HIDDEN);
        AvailableAttributes(shown.into_iter().chain(marker).map(str::to_owned).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// `` `a`, `b` ``
    pub fn each_quoted(&self) -> String {
        self.0.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
    }

    /// `` `a, b` ``
    pub fn quoted_together(&self) -> String {
        format!("`{}`", self.0.join(", "))
    }
}
