//! Which fields the `facets` of a request mean.

use lamina_index::index::Snapshot;
use lamina_index::index::settings::AvailableAttributes;
use lamina_index::index::settings::{AttributePattern, Settings, covers, is_listed_by_name, is_reserved};
use lamina_segment::bits::DocSet;
use lamina_segment::document::FieldMapSnapshot;
use lamina_segment::segment::Column;
use lamina_text::filter::ElementField;
use lamina_text::id::FieldId;
use rayon::prelude::*;

use super::FacetError;
use super::values::columns;
use crate::condition::{ElementValues, OutOfTime, TimeLimit};

/// A field whose values are counted.
#[derive(Clone, Debug)]
pub struct FacetField {
    /// Name as it is shown.
    pub name: String,
    values: Values,
}

/// Source of the values.
#[derive(Clone, Debug)]
enum Values {
    Field(FieldId),
    /// The columns of what elements have, with the places of their segments.
    Elements(Vec<(usize, Column)>),
}

impl FacetField {
    pub fn new(name: &str, field: FieldId) -> FacetField {
        FacetField { name: name.to_owned(), values: Values::Field(field) }
    }

    /// Returns the values of a field in those elements of `candidates` that pass a filter. `candidates`: one set per
    /// segment. Cost: that of [`ElementValues::column`].
    ///
    /// # Errors
    /// A field or filter that the settings do not allow; [`FacetError::OutOfTime`].
    pub fn of_elements(
        name: &str,
        asked: &ElementField,
        snapshot: &Snapshot,
        candidates: &[DocSet],
        limit: TimeLimit<'_>,
    ) -> Result<FacetField, FacetError> {
        check_one(&asked.attribute(), &snapshot.settings)?;
        let values = ElementValues::new(asked, &snapshot.settings, &snapshot.fields)?;
        let segments = snapshot.segments.par_iter().zip(candidates).enumerate();
        let columns = segments.map(|(place, (segment, docs))| {
            Ok::<_, OutOfTime>((place, values.column(segment, docs, limit)?.as_ref().clone()))
        });
        Ok(FacetField { name: name.to_owned(), values: Values::Elements(columns.collect::<Result<_, _>>()?) })
    }

    /// The column of each segment that has one, with its place.
    pub(super) fn columns(&self, snapshot: &Snapshot) -> Vec<(usize, Column)> {
        match &self.values {
            Values::Field(field) => columns(snapshot, *field),
            Values::Elements(columns) => columns.clone(),
        }
    }
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
    let selected = |name: &&str| everything || facets.iter().any(|facet| selects(facet, name));
    let mut selected: Vec<FacetField> = filterable
        .into_iter()
        .filter(selected)
        .filter_map(|name| Some(FacetField::new(name, fields.get(name)?)))
        .collect();
    selected.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(selected)
}

/// Returns whether `facet` selects the filterable field `name`: by pattern, or as an object that it is in.
fn selects(facet: &str, name: &str) -> bool {
    AttributePattern::new(facet).matches(name) || covers(facet, name)
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
