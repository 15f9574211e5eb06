//! `field:asc`, `_geoPoint(lat, lng):desc`: what a request can be sorted by.

use lamina_index::index::settings::{AvailableAttributes, RankingRule, Settings};
use lamina_segment::document::FieldMapSnapshot;
use lamina_text::filter::{Coordinates, CoordinatesError, ElementField, FilterError};
use thiserror::Error;

use crate::condition::{ConditionError, ElementValues};

/// Value by which documents are compared.
#[derive(Clone, Debug, PartialEq)]
pub enum SortTarget {
    /// A field (dotted path).
    Field(String),
    /// A field of elements that pass a filter, and how it was written.
    Elements { name: String, field: Box<ElementField> },
    /// Distance from a point, in degrees.
    GeoPoint { lat: f64, lng: f64 },
    /// A number that is computed elsewhere, the largest first: which of them, its name, and the field that it reads, if any.
    Computed { index: usize, name: &'static str, field: Option<String> },
}

/// One entry of a sort.
#[derive(Clone, Debug, PartialEq)]
pub struct SortCriterion {
    pub target: SortTarget,
    pub ascending: bool,
}

/// A sort that cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SortError {
    /// The criterion does not end by `:asc` or `:desc`.
    #[error("`{found}` has no direction")]
    MissingDirection { found: String },
    /// A name with a meaning in filters.
    #[error("`{name}` cannot be sorted by")]
    ReservedGeo { name: String },
    #[error("`_geoDistance` cannot be sorted by")]
    ReservedGeoDistance,
    /// The criterion begins like a point.
    #[error("`{found}` names no point")]
    BadGeoPoint { found: String },
    #[error(transparent)]
    Coordinates(#[from] CoordinatesError),
    /// A field of elements that cannot be read.
    #[error(transparent)]
    Elements(#[from] FilterError),
    /// The condition on elements asks for what the settings do not allow.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// `sort` is not among the ranking rules of the index.
    #[error("`sort` is not among the ranking rules")]
    NoSortRule,
    #[error("`{attribute}` is not sortable")]
    NotSortable { attribute: String, available: AvailableAttributes },
}

impl SortCriterion {
    /// By the values of an attribute.
    pub fn field(field: &str, ascending: bool) -> SortCriterion {
        SortCriterion { target: SortTarget::Field(field.to_owned()), ascending }
    }

    /// The condition on elements, if there is one.
    pub fn elements(&self) -> Option<&ElementField> {
        match &self.target {
            SortTarget::Elements { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Reports whether both compare the same thing, whatever the direction.
    pub(crate) fn same_target(&self, other: &SortCriterion) -> bool {
        self.target == other.target
    }

    /// Parses one entry of `sort`. The last `:` separates the direction.
    ///
    /// # Errors
    /// What is wrong with the text; nothing is looked up.
    pub fn parse(text: &str) -> Result<SortCriterion, SortError> {
        let missing = || SortError::MissingDirection { found: text.to_owned() };
        let (target, direction) = text.rsplit_once(':').ok_or_else(missing)?;
        let ascending = match direction {
            "asc" => true,
            "desc" => false,
            _ => return Err(missing()),
        };
        if target.is_empty() {
            return Err(missing());
        }
        let call = |name: &str| target.strip_prefix(name).map(str::trim_start).filter(|rest| rest.starts_with('('));
        if let Some(arguments) = call("_geoPoint") {
            return Ok(SortCriterion { target: geo_point(text, arguments)?, ascending });
        }
        if target == "_geoPoint" {
            return Err(SortError::BadGeoPoint { found: text.to_owned() });
        }
        for name in ["_geoRadius", "_geoBoundingBox", "_geoPolygon"] {
            if target == name || call(name).is_some() {
                return Err(SortError::ReservedGeo { name: name.to_owned() });
            }
        }
        match target {
            "_geo" => Err(SortError::ReservedGeo { name: "_geo".to_owned() }),
            "_geoDistance" => Err(SortError::ReservedGeoDistance),
            name => match ElementField::parse(name)? {
                Some(field) => {
                    let (name, field) = (name.to_owned(), Box::new(field));
                    Ok(SortCriterion { target: SortTarget::Elements { name, field }, ascending })
                }
                None => Ok(SortCriterion::field(name, ascending)),
            },
        }
    }
}

fn geo_point(text: &str, arguments: &str) -> Result<SortTarget, SortError> {
    let bad = || SortError::BadGeoPoint { found: text.to_owned() };
    let inner = arguments.strip_prefix('(').and_then(|a| a.strip_suffix(')')).ok_or_else(bad)?;
    let (lat, lng) = inner.split_once(',').ok_or_else(bad)?;
    let number = |s: &str| s.trim().parse::<f64>().ok().filter(|n| n.is_finite()).ok_or_else(bad);
    let (lat, lng) = (number(lat)?, number(lng)?);
    Coordinates::new(lat, lng)?;
    Ok(SortTarget::GeoPoint { lat, lng })
}

/// Checks a request's sort against the settings of its index. `need_rule`: `sort` must be a ranking rule, as for
/// searches; listings of documents do without.
///
/// # Errors
/// [`SortError::NoSortRule`], [`SortError::NotSortable`] or [`SortError::Condition`], for the first criterion concerned.
pub fn check_sortable(settings: &Settings, criteria: &[SortCriterion], need_rule: bool) -> Result<(), SortError> {
    for criterion in criteria {
        let attribute = match &criterion.target {
            SortTarget::Field(field) => field.clone(),
            SortTarget::Elements { field, .. } => field.attribute(),
            SortTarget::GeoPoint { .. } => "_geo".to_owned(),
            // No request asks for it by itself.
            SortTarget::Computed { .. } => continue,
        };
        if !settings.is_sortable(&attribute) {
            let available = AvailableAttributes::sortable(settings);
            return Err(SortError::NotSortable { attribute, available });
        }
        if let Some(field) = criterion.elements() {
            ElementValues::new(field, settings, &FieldMapSnapshot::default())?;
        }
    }
    if need_rule && !criteria.is_empty() && !settings.ranking_rules.contains(&RankingRule::Sort) {
        return Err(SortError::NoSortRule);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_entries() {
        assert_eq!(SortCriterion::parse("price:asc"), Ok(SortCriterion::field("price", true)));
        assert_eq!(SortCriterion::parse("a:b:desc"), Ok(SortCriterion::field("a:b", false)));
        assert_eq!(
            SortCriterion::parse("_geoPoint(48.8, -2.3):asc").map(|c| c.target),
            Ok(SortTarget::GeoPoint { lat: 48.8, lng: -2.3 })
        );
    }

    #[test]
    fn fields_of_elements() {
        let entry = SortCriterion::parse("offers[stock > 0 AND at = 'a:b'].price:desc").unwrap();
        assert_eq!(entry.elements().map(ElementField::attribute).as_deref(), Some("offers.price"));
        assert!(!entry.ascending);
        assert!(matches!(SortCriterion::parse("offers[stock].price:asc"), Err(SortError::Elements(_))));
        assert_eq!(SortCriterion::parse("offers[0]:asc"), Ok(SortCriterion::field("offers[0]", true)));
        let check = |filterable: &str, sortable: &str| {
            let settings =
                serde_json::json!({ "filterableAttributes": [filterable], "sortableAttributes": [sortable] });
            let settings: Settings = serde_json::from_value(settings).unwrap();
            check_sortable(&settings, std::slice::from_ref(&entry), true)
        };
        assert_eq!(check("offers", "offers"), Ok(()));
        assert_eq!(check("offers", "offers.price"), Ok(()));
        assert!(matches!(check("offers", "price"), Err(SortError::NotSortable { .. })));
        assert!(matches!(check("offers.stock", "offers"), Err(SortError::Condition(_))));
    }

    #[test]
    fn bad_entries() {
        let error = |text: &str| SortCriterion::parse(text).expect_err(text);
        assert!(matches!(error("title"), SortError::MissingDirection { .. }));
        assert!(matches!(error("title:up"), SortError::MissingDirection { .. }));
        assert!(matches!(error(":asc"), SortError::MissingDirection { .. }));
        // Space is part of a name, and of no direction.
        assert!(matches!(error("title:asc "), SortError::MissingDirection { .. }));
        assert!(matches!(error("title: asc"), SortError::MissingDirection { .. }));
        assert_eq!(SortCriterion::parse(" title:asc"), Ok(SortCriterion::field(" title", true)));
        assert!(matches!(error("_geo:asc"), SortError::ReservedGeo { .. }));
        assert!(matches!(error("_geoRadius(1,2,3):asc"), SortError::ReservedGeo { .. }));
        assert_eq!(error("_geoDistance:asc"), SortError::ReservedGeoDistance);
        for bad in
            ["_geoPoint:asc", "_geoPoint(1):asc", "_geoPoint(1,x):asc", "_geoPoint(1,2:asc", "_geoPoint(1,nan):asc"]
        {
            assert!(matches!(error(bad), SortError::BadGeoPoint { .. }), "{bad}");
        }
        assert!(matches!(error("_geoPoint(91,0):asc"), SortError::Coordinates(CoordinatesError::Latitude(_))));
        assert!(matches!(error("_geoPoint(0,181):desc"), SortError::Coordinates(CoordinatesError::Longitude(_))));
    }
}
