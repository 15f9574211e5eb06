//! The attributes that a caller may offer instead of the one that was refused.

use std::collections::BTreeSet;

use super::{AttributeList, FilterableAttribute, Settings};

/// Names or patterns, without those that are not displayed: of these it says only that there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AvailableAttributes {
    shown: Vec<String>,
    has_hidden: bool,
}

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

    /// `searchableAttributes`, in their order; none when that is all of them.
    pub fn searchable(settings: &Settings) -> Self {
        let names: &[String] = match &settings.searchable_attributes {
            AttributeList::All => &[],
            AttributeList::These(names) => names,
        };
        Self::in_order(names.iter().map(String::as_str), &settings.displayed_attributes)
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

    /// In byte order, each once.
    fn new<'s>(names: impl Iterator<Item = &'s str>, displayed: &AttributeList) -> Self {
        let names: BTreeSet<&str> = names.collect();
        Self::in_order(names.into_iter(), displayed)
    }

    fn in_order<'s>(names: impl Iterator<Item = &'s str>, displayed: &AttributeList) -> Self {
        let (shown, hidden): (Vec<&str>, Vec<&str>) = names.partition(|name| displayed.selects(name));
        let shown = shown.into_iter().map(str::to_owned).collect();
        AvailableAttributes { shown, has_hidden: !hidden.is_empty() }
    }

    /// Reports whether there are no attributes, hidden ones included.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty() && !self.has_hidden
    }

    /// Returns the displayed attributes, in byte order unless said otherwise.
    pub fn shown(&self) -> &[String] {
        &self.shown
    }

    /// Reports whether there are other attributes, which are not displayed.
    pub fn has_hidden(&self) -> bool {
        self.has_hidden
    }
}
