//! From a parsed filter to one that knows its fields and operands.

use std::cell::RefCell;

use hashbrown::HashMap;
use lamina_index::index::settings::{
    AvailableAttributes, FilterableFeatures, GEO_FIELD, GEOJSON_FIELD, Settings, is_listed_by_name,
};
use lamina_segment::document::FieldMapSnapshot;
use lamina_text::filter::{Comparison, Condition, Filter, Located, Location};
use lamina_text::text::normalize_facet;

use super::needles::Needles;
use super::node::Node;
use super::operand::Operand;
use super::ordinals::ValueQuestion;
use super::repeated::{joined, without_repeated};
use super::vectors::VectorQuestion;
use super::{ConditionError, embedders};
use crate::geo::{Area, BoundingBox, CIRCLE_SIDES, CIRCLE_SIDES_RANGE, Circle, Polygon, Region, ShapeRegion};

/// Names that stand for geo functions and are no fields.
const RESERVED_GEO: [&str; 3] = [GEO_FIELD, "_geoPoint", "_geoDistance"];

/// A filter whose fields are known, whose operands are normalised, and that the settings allow.
#[derive(Debug)]
pub struct PreparedFilter {
    pub(super) root: Node,
}

impl PreparedFilter {
    /// Checks `filter` against `settings` and looks up its fields. Cost: linear in the length of the filter.
    ///
    /// # Errors
    /// The first field or operator that the settings don't allow.
    pub fn new(filter: &Filter, settings: &Settings, fields: &FieldMapSnapshot) -> Result<Self, ConditionError> {
        Ok(PreparedFilter { root: Preparation::new(settings, fields).node(filter)? })
    }
}

/// Checks that the settings allow a filter, independently of the fields that documents have.
///
/// # Errors
/// The errors of [`PreparedFilter::new`].
pub fn check_filter(filter: &Filter, settings: &Settings) -> Result<(), ConditionError> {
    PreparedFilter::new(filter, settings, &FieldMapSnapshot::default()).map(drop)
}

pub(super) struct Preparation<'s> {
    settings: &'s Settings,
    fields: &'s FieldMapSnapshot,
    /// Filterable features of the fields looked up so far. The fields are few, however many conditions there are.
    features: RefCell<HashMap<String, Option<FilterableFeatures>>>,
}

impl<'s> Preparation<'s> {
    pub(super) fn new(settings: &'s Settings, fields: &'s FieldMapSnapshot) -> Preparation<'s> {
        Preparation { settings, fields, features: RefCell::default() }
    }
}

impl Preparation<'_> {
    fn node(&self, filter: &Filter) -> Result<Node, ConditionError> {
        Ok(match filter {
            Filter::And(filters) => {
                let (mut all, mut none) = (Vec::new(), Vec::new());
                for filter in without_repeated(filters) {
                    match self.node(filter)? {
                        Node::Not(node) => none.push(*node),
                        Node::And { all: mut inner, none: mut not_inner } => {
                            all.append(&mut inner);
                            none.append(&mut not_inner);
                        }
                        node => all.push(node),
                    }
                }
                Node::And { all, none: joined(none) }
            }
            Filter::Or(filters) => {
                let nodes = without_repeated(filters).into_iter().map(|filter| self.node(filter));
                any_of(joined(nodes.collect::<Result<_, _>>()?))
            }
            Filter::Not(filter) => complement(self.node(filter)?),
            Filter::Condition { field, condition } => self.condition(field, condition)?,
            Filter::GeoRadius { center, radius_m, resolution, at } => {
                let (center, radius_m) = (*center, *radius_m);
                let sides = resolution.map_or(CIRCLE_SIDES, |sides| sides as usize);
                let sides = sides.clamp(*CIRCLE_SIDES_RANGE.start(), *CIRCLE_SIDES_RANGE.end());
                let shapes = || ShapeRegion::circle(center, radius_m, sides);
                self.points_and_shapes(Circle { center, radius_m }, shapes, &at.at)?
            }
            Filter::GeoBoundingBox { top_right, bottom_left, at } => {
                let (top_right, bottom_left) = (*top_right, *bottom_left);
                let shapes = || ShapeRegion::Area(Area::between(top_right, bottom_left));
                self.points_and_shapes(BoundingBox { top_right, bottom_left }, shapes, &at.at)?
            }
            Filter::GeoPolygon { at, .. } if !self.is_listed(GEO_FIELD) && !self.is_listed(GEOJSON_FIELD) => {
                return Err(self.not_filterable(GEOJSON_FIELD, &at.at));
            }
            Filter::GeoPolygon { points, at } => {
                let shapes = || ShapeRegion::Area(Area::polygon(points));
                self.points_and_shapes(Polygon::new(points), shapes, &at.at)?
            }
            Filter::Vectors(vectors) => {
                embedders::check(&vectors.value, self.settings)?;
                Node::Vectors(VectorQuestion::new(&vectors.value, self.settings))
            }
            Filter::Element { field, filter: inner } => self.element(field, inner, filter.to_string())?,
            Filter::Foreign { at, .. } => {
                return Err(ConditionError::Unsupported { function: "_foreign", at: at.at.clone() });
            }
        })
    }

    pub(super) fn condition(&self, field: &Located<String>, condition: &Condition) -> Result<Node, ConditionError> {
        self.check(field, condition)?;
        let Some(id) = self.fields.get(&field.value) else {
            // No document has the field; only a negation can hold.
            return Ok(if matches!(condition, Condition::NotEqual(_)) {
                complement(Node::Nothing)
            } else {
                Node::Nothing
            });
        };
        let values = |question: ValueQuestion| match question.needs_digits() {
            true => Node::Digits(id, field.value.clone(), question),
            false => Node::Values(id, question),
        };
        let one_of = |list: &[String]| {
            // The empty text is no value of columns.
            let (blank, operands): (Vec<_>, Vec<_>) =
                list.iter().map(|value| Operand::new(value)).partition(|operand| operand.text.is_empty());
            let node = values(ValueQuestion::OneOf(operands));
            match blank.is_empty() {
                true => node,
                false => Node::Or(vec![node, Node::Blank(id)]),
            }
        };
        Ok(match condition {
            Condition::Equal(value) => one_of(std::slice::from_ref(value)),
            Condition::NotEqual(value) => complement(one_of(std::slice::from_ref(value))),
            Condition::In(list) => one_of(list),
            Condition::Compare(comparison, value) => values(ValueQuestion::Compare(*comparison, Operand::new(value))),
            Condition::Between { from, to } => values(ValueQuestion::Between(Operand::new(from), Operand::new(to))),
            Condition::Exists => Node::Exists(id),
            Condition::Null => Node::Null(id),
            Condition::Empty => Node::Empty(id),
            Condition::Contains(part) => {
                values(ValueQuestion::Contains(Needles::parts(vec![normalize_facet(&part.value).into_owned()])))
            }
            Condition::StartsWith(prefix) => match normalize_facet(prefix) {
                prefix if prefix.is_empty() => Node::Exists(id),
                prefix => values(ValueQuestion::StartsWith(prefix.into_owned())),
            },
        })
    }

    /// Documents that have the field at all.
    pub(super) fn existing(&self, field: &str) -> Node {
        self.fields.get(field).map_or(Node::Nothing, Node::Exists)
    }

    /// Refuses fields and operators that the settings don't allow.
    pub(super) fn check(&self, field: &Located<String>, condition: &Condition) -> Result<(), ConditionError> {
        let name = field.value.as_str();
        if RESERVED_GEO.contains(&name) {
            return Err(ConditionError::ReservedGeo { name: name.to_owned(), at: field.at.clone() });
        }
        let features = self.features(name).ok_or_else(|| self.not_filterable(name, &field.at))?;
        let (operator, allowed) = match condition {
            Condition::Equal(_) => ("=", features.filter.equality),
            Condition::NotEqual(_) => ("!=", features.filter.equality),
            Condition::In(_) => ("IN", features.filter.equality),
            Condition::Compare(comparison, _) => (symbol(*comparison), features.filter.comparison),
            Condition::Between { .. } => ("TO", features.filter.comparison),
            _ => return Ok(()),
        };
        if allowed {
            return Ok(());
        }
        let rule = self.settings.filterable_attributes.iter().position(|rule| rule.matches(name));
        Err(ConditionError::OperatorNotAllowed {
            attribute: name.to_owned(),
            operator,
            rule: rule.expect("features come from a rule that matches"),
            features,
        })
    }

    /// The documents whose `_geo` lies in `points` or whose `_geojson` touches `shapes`, as far as they are filterable.
    fn points_and_shapes(
        &self,
        points: impl Region + Send + Sync + 'static,
        shapes: impl FnOnce() -> ShapeRegion,
        at: &Location,
    ) -> Result<Node, ConditionError> {
        match (self.is_listed(GEO_FIELD), self.is_listed(GEOJSON_FIELD)) {
            (true, false) => Ok(Node::Region(Box::new(points))),
            (false, true) => Ok(Node::Shapes(shapes())),
            (true, true) => Ok(Node::Or(vec![Node::Region(Box::new(points)), Node::Shapes(shapes())])),
            (false, false) => Err(self.not_filterable("_geo/_geojson", at)),
        }
    }

    fn features(&self, name: &str) -> Option<FilterableFeatures> {
        let mut known = self.features.borrow_mut();
        match known.get(name) {
            Some(features) => *features,
            None => *known.entry(name.to_owned()).or_insert(self.settings.filterable(name)),
        }
    }

    fn is_listed(&self, name: &str) -> bool {
        is_listed_by_name(&self.settings.filterable_attributes, name)
    }

    fn not_filterable(&self, attribute: &str, at: &Location) -> ConditionError {
        ConditionError::NotFilterable {
            attribute: attribute.to_owned(),
            available: AvailableAttributes::filterable(self.settings),
            at: at.clone(),
        }
    }
}

fn any_of(mut nodes: Vec<Node>) -> Node {
    if nodes.len() == 1 { nodes.remove(0) } else { Node::Or(nodes) }
}

fn complement(node: Node) -> Node {
    match node {
        Node::Not(inner) => *inner,
        node => Node::Not(Box::new(node)),
    }
}

fn symbol(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
    }
}
