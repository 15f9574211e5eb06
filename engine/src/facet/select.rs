//! Which fields the `facets` of a request mean.

use super::FacetError;
use crate::document::FieldMapSnapshot;
use crate::id::FieldId;
use crate::index::settings::AvailableAttributes;
use crate::index::settings::{AttributePattern, FilterableAttribute, Settings, covers, is_listed_by_name, is_reserved};

/// A field whose values are counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FacetField {
    pub name: String,
    pub field: FieldId,
}

/// The fields that `facets` (names, patterns, `*`) selects among those that are known and filterable, by name.
pub fn select_facets(
    facets: &[String],
    settings: &Settings,
    fields: &FieldMapSnapshot,
) -> Result<Vec<FacetField>, FacetError> {
    let everything = facets.iter().any(|facet| facet == "*");
    let filterable = fields.names().filter(|name| !is_reserved(name) && settings.filterable(name).is_some());
    let filterable: Vec<&str> = filterable.collect();
    if !everything {
        check(facets, &filterable, settings)?;
    }
    let selected = |name: &&str| everything || facets.iter().any(|facet| selects(facet, name, settings));
    let mut selected: Vec<FacetField> = filterable
        .into_iter()
        .filter(selected)
        .filter_map(|name| Some(FacetField { name: name.to_owned(), field: fields.get(name)? }))
        .collect();
    selected.sort_unstable();
    Ok(selected)
}

/// Whether `facet` selects the filterable field `name`: by pattern, or as an ancestor that a plain entry of the
/// settings makes filterable with all its children.
fn selects(facet: &str, name: &str, settings: &Settings) -> bool {
    let with_children = || {
        let rule = settings.filterable_attributes.iter().find(|rule| rule.matches(name));
        matches!(rule, Some(FilterableAttribute::Field(_)))
    };
    AttributePattern::new(facet).matches(name) || (covers(facet, name) && with_children())
}

/// Refuses a field whose values may not be read, by its whole name. Distances are those of `_geo`, which no pattern lists.
pub(super) fn check_one(name: &str, settings: &Settings) -> Result<(), FacetError> {
    if is_reserved(name) && !is_listed_by_name(&settings.filterable_attributes, name) {
        let available = AvailableAttributes::filterable(settings);
        return Err(FacetError::NotFilterable { patterns: vec![name.to_owned()], available });
    }
    check(&[name.to_owned()], &[], settings)
}

/// Refuses entries that can select nothing under the settings.
fn check(facets: &[String], filterable: &[&str], settings: &Settings) -> Result<(), FacetError> {
    let mut refused = Vec::new();
    for facet in facets {
        let rule = settings.filterable_attributes.iter().position(|rule| rule.matches(facet));
        let allowed = rule.is_some_and(|rule| settings.filterable_attributes[rule].features().is_filterable());
        let pattern = AttributePattern::new(facet.as_str());
        if allowed || filterable.iter().any(|name| pattern.matches(name)) {
            continue;
        }
        if let Some(rule) = rule {
            return Err(FacetError::FilteringDisabled { attribute: facet.clone(), rule });
        }
        refused.push(facet.clone());
    }
    if refused.is_empty() {
        return Ok(());
    }
    refused.sort_unstable();
    refused.dedup();
    Err(FacetError::NotFilterable { patterns: refused, available: AvailableAttributes::filterable(settings) })
}
