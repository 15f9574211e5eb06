//! What a document says about a field, and whether it passes a filter, by reading it.

use std::cmp::Ordering;

use lamina_segment::document::Shape;
use lamina_text::filter::{Comparison, Condition, Coordinates, ElementField, Filter};
use lamina_text::text::Moment;
use serde_json::Value;
use unicode_normalization::UnicodeNormalization;

use crate::geo::{Area, CIRCLE_SIDES, Polygon, Region, ShapeRegion};

/// Everything that a document says about one dotted path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) numbers: Vec<f64>,
    /// Exact value of each number, if it is an integer.
    pub(crate) integers: Vec<Option<i128>>,
    /// Strings as they were written.
    pub(crate) strings: Vec<String>,
    pub(crate) exists: bool,
    pub(crate) null: bool,
    pub(crate) empty: bool,
    /// A string of no characters, or of spaces.
    pub(crate) blank: bool,
}

/// The form in which strings are compared.
pub(crate) fn normal(text: &str) -> String {
    let mut normal = String::new();
    for c in text.trim().nfkd().collect::<String>().to_lowercase().chars() {
        if normal.len() + c.len_utf8() > 468 {
            break;
        }
        normal.push(c);
    }
    normal
}

/// Latitude and longitude.
pub(crate) fn point(document: &Value) -> Option<(f64, f64)> {
    let coordinate = |name| match document.get("_geo")?.get(name)? {
        Value::String(text) => text.parse().ok(),
        other => other.as_f64(),
    };
    coordinate("lat").zip(coordinate("lng"))
}

impl Facts {
    pub(crate) fn of(document: &Value, path: &str) -> Facts {
        let mut facts = Facts::default();
        facts.search(document, "", path);
        facts
    }

    /// Collects the facts of the elements that pass.
    pub(crate) fn of_elements(document: &Value, asked: &ElementField) -> Facts {
        let (mut facts, mut elements) = (Facts::default(), Vec::new());
        gather_elements(document, "", &asked.elements.value, &mut elements);
        elements.retain(|element| matches(element, &asked.filter));
        elements.into_iter().for_each(|element| facts.search(element, "", &asked.field));
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
            Value::Number(number) => {
                self.numbers.push(number.as_f64().expect("test numbers fit"));
                self.integers.push(number.to_string().parse().ok());
            }
            Value::String(text) => {
                self.empty |= text.is_empty() && !in_array;
                match normal(text).is_empty() {
                    true => self.blank = true,
                    false => self.strings.push(text.clone()),
                }
            }
            Value::Array(elements) => {
                self.empty |= elements.is_empty() && !in_array;
                elements.iter().for_each(|value| self.gather(value, true));
            }
            Value::Object(members) => self.empty |= members.is_empty() && !in_array,
        }
    }

    fn any(&self, number: impl Fn(Exact) -> bool, string: impl Fn(&str) -> bool) -> bool {
        let mut numbers = self.numbers.iter().zip(&self.integers);
        numbers.any(|(&float, &integer)| number(Exact { float, integer }))
            || self.strings.iter().any(|value| string(&normal(value)))
    }
}

/// A number, compared digit by digit with another one if both are integers.
#[derive(Clone, Copy)]
struct Exact {
    float: f64,
    integer: Option<i128>,
}

impl Exact {
    fn of(operand: &str) -> Option<Exact> {
        let float = operand.parse::<f64>().ok().filter(|number| number.is_finite())?;
        Some(Exact { float, integer: operand.parse().ok() })
    }

    fn order(self, other: Exact) -> Ordering {
        match (self.integer, other.integer) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => self.float.partial_cmp(&other.float).expect("both are finite"),
        }
    }
}

/// Reports whether `document` passes `filter`.
pub(crate) fn matches(document: &Value, filter: &Filter) -> bool {
    match filter {
        Filter::And(filters) => filters.iter().all(|filter| matches(document, filter)),
        Filter::Or(filters) => filters.iter().any(|filter| matches(document, filter)),
        Filter::Not(filter) => !matches(document, filter),
        Filter::Condition { field, condition } => holds(&Facts::of(document, &field.value), condition),
        Filter::GeoRadius { center, radius_m, .. } => {
            in_circle(document, *center, *radius_m)
                || touches(document, &ShapeRegion::circle(*center, *radius_m, CIRCLE_SIDES))
        }
        Filter::GeoBoundingBox { top_right, bottom_left, .. } => {
            in_box(document, *top_right, *bottom_left)
                || touches(document, &ShapeRegion::Area(Area::between(*top_right, *bottom_left)))
        }
        Filter::GeoPolygon { points, .. } => {
            // What a polygon holds is compared with a scan in integers beside it.
            point(document).is_some_and(|(lat, lng)| Polygon::new(points).contains(lat, lng))
                || touches(document, &ShapeRegion::Area(Area::polygon(points)))
        }
        Filter::Element { field, filter } => {
            let mut elements = Vec::new();
            gather_elements(document, "", &field.value, &mut elements);
            elements.into_iter().any(|element| matches(element, filter))
        }
        other => panic!("the oracle does not know {other}"),
    }
}

/// The objects at a dotted path, also in arrays.
fn gather_elements<'v>(value: &'v Value, at: &str, path: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(_) if at == path => found.push(value),
        Value::Object(members) => {
            for (name, value) in members {
                let at = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
                if at == path || path.starts_with(&format!("{at}.")) {
                    gather_elements(value, &at, path, found);
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| gather_elements(value, at, path, found)),
        _ => {}
    }
}

/// By the angle between two directions from the middle of the globe.
fn in_circle(document: &Value, center: Coordinates, radius_m: f64) -> bool {
    let direction = |lat: f64, lng: f64| {
        let (lat, lng) = (lat.to_radians(), lng.to_radians());
        [lat.cos() * lng.cos(), lat.cos() * lng.sin(), lat.sin()]
    };
    let from = direction(center.latitude(), center.longitude());
    point(document).is_some_and(|(lat, lng)| {
        let to = direction(lat, lng);
        let half_chord = from.iter().zip(to).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt() / 2.0;
        2.0 * half_chord.min(1.0).asin() * 6_371_000.0 <= radius_m
    })
}

fn in_box(document: &Value, top_right: Coordinates, bottom_left: Coordinates) -> bool {
    let (west, east) = (bottom_left.longitude(), top_right.longitude());
    point(document).is_some_and(|(lat, lng)| {
        let beside = if west <= east { west <= lng && lng <= east } else { lng >= west || lng <= east };
        beside && bottom_left.latitude() <= lat && lat <= top_right.latitude()
    })
}

fn touches(document: &Value, region: &ShapeRegion) -> bool {
    let geojson = document.get("_geojson").unwrap_or(&Value::Null);
    Shape::from_geojson(geojson).expect("test shapes are whole").is_some_and(|shape| region.touches(&shape))
}

/// Dates compare in time, everything else byte by byte.
fn order(value: &str, bound: &str) -> Ordering {
    let moments = Moment::parse(value).zip(Moment::parse(bound));
    moments.map_or_else(|| value.cmp(bound), |(value, bound)| value.cmp(&bound))
}

fn holds(facts: &Facts, condition: &Condition) -> bool {
    let equals = |text: &str| {
        let (wanted, text) = (Exact::of(text), normal(text));
        if text.is_empty() {
            return facts.blank;
        }
        facts.any(|value| wanted.is_some_and(|wanted| value.order(wanted).is_eq()), |value| value == text)
    };
    match condition {
        Condition::Equal(value) => equals(value),
        Condition::NotEqual(value) => !equals(value),
        Condition::In(values) => values.iter().any(|value| equals(value)),
        Condition::Compare(comparison, bound) => {
            let (wanted, text) = (Exact::of(bound), normal(bound));
            let holds = |order: Ordering| match comparison {
                Comparison::Greater => order.is_gt(),
                Comparison::GreaterOrEqual => order.is_ge(),
                Comparison::Less => order.is_lt(),
                Comparison::LessOrEqual => order.is_le(),
            };
            facts.any(|v| wanted.is_some_and(|w| holds(v.order(w))), |v| holds(order(v, &text)))
        }
        Condition::Between { from, to } => {
            let numbers = Exact::of(from).zip(Exact::of(to));
            let (from, to) = (normal(from), normal(to));
            facts.any(
                |v| numbers.is_some_and(|(from, to)| v.order(from).is_ge() && v.order(to).is_le()),
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
