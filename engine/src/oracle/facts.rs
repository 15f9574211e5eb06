//! What a document says about a field, and whether it passes a filter, by reading it.

use std::cmp::Ordering;

use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::condition::Moment;
use crate::document::Shape;
use crate::filter::{Comparison, Condition, Filter};
use crate::geo::{Area, BoundingBox, CIRCLE_SIDES, Circle, Region, ShapeRegion};

/// Everything that a document says about one dotted path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) numbers: Vec<f64>,
    /// As written.
    pub(crate) strings: Vec<String>,
    pub(crate) exists: bool,
    pub(crate) null: bool,
    pub(crate) empty: bool,
}

/// The form in which strings are compared.
pub(crate) fn normal(text: &str) -> String {
    text.trim().nfkd().collect::<String>().to_lowercase()
}

impl Facts {
    pub(crate) fn of(document: &Value, path: &str) -> Facts {
        let mut facts = Facts::default();
        facts.search(document, "", path);
        facts
    }

    fn search(&mut self, value: &Value, at: &str, path: &str) {
        match value {
            Value::Object(members) => {
                for (key, value) in members {
                    let at = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
                    if at == path {
                        self.exists = true;
                        self.gather(value, false);
                    }
                    if path.starts_with(&format!("{at}.")) {
                        self.search(value, &at, path);
                    }
                }
            }
            Value::Array(elements) => elements.iter().for_each(|value| self.search(value, at, path)),
            _ => {}
        }
    }

    fn gather(&mut self, value: &Value, in_array: bool) {
        match value {
            Value::Null => self.null |= !in_array,
            Value::Bool(value) => self.strings.push(value.to_string()),
            Value::Number(number) => self.numbers.push(number.as_f64().expect("test numbers fit")),
            Value::String(text) => {
                self.empty |= text.is_empty() && !in_array;
                if !normal(text).is_empty() {
                    self.strings.push(text.clone());
                }
            }
            Value::Array(elements) => {
                self.empty |= elements.is_empty() && !in_array;
                elements.iter().for_each(|value| self.gather(value, true));
            }
            Value::Object(members) => self.empty |= members.is_empty() && !in_array,
        }
    }

    fn any(&self, number: impl Fn(f64) -> bool, string: impl Fn(&str) -> bool) -> bool {
        self.numbers.iter().any(|&value| number(value)) || self.strings.iter().any(|value| string(&normal(value)))
    }
}

/// Whether `document` passes `filter`.
pub(crate) fn matches(document: &Value, filter: &Filter) -> bool {
    match filter {
        Filter::And(filters) => filters.iter().all(|filter| matches(document, filter)),
        Filter::Or(filters) => filters.iter().any(|filter| matches(document, filter)),
        Filter::Not(filter) => !matches(document, filter),
        Filter::Condition { field, condition } => holds(&Facts::of(document, &field.value), condition),
        Filter::GeoRadius { center, radius_m, .. } => {
            in_region(document, &Circle { center: *center, radius_m: *radius_m })
                || touches(document, &ShapeRegion::circle(*center, *radius_m, CIRCLE_SIDES))
        }
        Filter::GeoBoundingBox { top_right, bottom_left, .. } => {
            in_region(document, &BoundingBox { top_right: *top_right, bottom_left: *bottom_left })
                || touches(document, &ShapeRegion::Area(Area::between(*top_right, *bottom_left)))
        }
        Filter::GeoPolygon { points, .. } => touches(document, &ShapeRegion::Area(Area::polygon(points))),
        other => panic!("the oracle does not know {other}"),
    }
}

fn in_region(document: &Value, region: &dyn Region) -> bool {
    let coordinate = |name| document.get("_geo")?.get(name)?.as_f64();
    let point = coordinate("lat").zip(coordinate("lng"));
    point.is_some_and(|(latitude, longitude)| region.contains(latitude, longitude))
}

fn touches(document: &Value, region: &ShapeRegion) -> bool {
    let geojson = document.get("_geojson").unwrap_or(&Value::Null);
    Shape::from_geojson(geojson).expect("test shapes are whole").is_some_and(|shape| region.touches(&shape))
}

/// Date-times compare in time, everything else byte by byte.
fn order(value: &str, bound: &str) -> Ordering {
    let moments = Moment::parse(value).zip(Moment::parse(bound));
    moments.map_or_else(|| value.cmp(bound), |(value, bound)| value.cmp(&bound))
}

fn holds(facts: &Facts, condition: &Condition) -> bool {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite());
    let equals = |text: &str| {
        let (wanted, text) = (number(text), normal(text));
        facts.any(|value| Some(value) == wanted, |value| value == text)
    };
    match condition {
        Condition::Equal(value) => equals(value),
        Condition::NotEqual(value) => !equals(value),
        Condition::In(values) => values.iter().any(|value| equals(value)),
        Condition::Compare(comparison, bound) => {
            let (wanted, text) = (number(bound), normal(bound));
            match comparison {
                Comparison::Greater => facts.any(|v| wanted.is_some_and(|w| v > w), |v| order(v, &text).is_gt()),
                Comparison::GreaterOrEqual => {
                    facts.any(|v| wanted.is_some_and(|w| v >= w), |v| order(v, &text).is_ge())
                }
                Comparison::Less => facts.any(|v| wanted.is_some_and(|w| v < w), |v| order(v, &text).is_lt()),
                Comparison::LessOrEqual => facts.any(|v| wanted.is_some_and(|w| v <= w), |v| order(v, &text).is_le()),
            }
        }
        Condition::Between { from, to } => {
            let numbers = number(from).zip(number(to));
            let (from, to) = (normal(from), normal(to));
            facts.any(
                |v| numbers.is_some_and(|(from, to)| from <= v && v <= to),
                |v| order(v, &from).is_ge() && order(v, &to).is_le(),
            )
        }
        Condition::Exists => facts.exists,
        Condition::Null => facts.null,
        Condition::Empty => facts.empty,
        Condition::Contains(part) => facts.any(|_| false, |value| value.contains(&normal(&part.value))),
        Condition::StartsWith(prefix) if prefix.is_empty() => facts.exists,
        Condition::StartsWith(prefix) => facts.any(|_| false, |value| value.starts_with(&normal(prefix))),
    }
}
