//! From GeoJSON (RFC 7946) to a shape.

use serde_json::{Map, Value};
use thiserror::Error;

use super::{Part, Position, Ring, Shape};

/// Collections inside collections beyond this depth are refused.
const DEPTH_MAX: usize = 32;

/// Reason for which a value is not usable GeoJSON.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GeoJsonError {
    #[error("expected an object, found `{found}`")]
    NotAnObject { found: String },
    #[error("missing member `{member}`")]
    Missing { member: &'static str },
    #[error("unknown type `{name}`")]
    UnknownType { name: String },
    #[error("expected `{member}` to be an array, found `{found}`")]
    NotAnArray { member: &'static str, found: String },
    #[error("a position is an array of at least two finite numbers, longitude first, found `{found}`")]
    Position { found: String },
    #[error("a {what} needs at least {least} positions, found {found}")]
    TooFewPositions { what: &'static str, least: usize, found: usize },
    #[error("a polygon needs at least one ring")]
    NoRing,
    #[error("collections are nested more than {most} deep")]
    TooDeep { most: usize },
}

impl Shape {
    /// The shape that `value` describes: a geometry, a feature or a collection of them. `None` for null and for features
    /// without a geometry. Third coordinates (heights) and properties are passed over.
    ///
    /// # Errors
    /// What is wrong first.
    pub fn from_geojson(value: &Value) -> Result<Option<Shape>, GeoJsonError> {
        let mut parts = Vec::new();
        add(value, &mut parts, 0)?;
        Ok((!parts.is_empty()).then_some(Shape { parts }))
    }
}

fn add(value: &Value, parts: &mut Vec<Part>, depth: usize) -> Result<(), GeoJsonError> {
    if depth > DEPTH_MAX {
        return Err(GeoJsonError::TooDeep { most: DEPTH_MAX });
    }
    let object = match value {
        Value::Null => return Ok(()),
        Value::Object(object) => object,
        other => return Err(GeoJsonError::NotAnObject { found: other.to_string() }),
    };
    let Some(Value::String(name)) = object.get("type") else {
        return Err(GeoJsonError::Missing { member: "type" });
    };
    match name.as_str() {
        "Feature" => add(object.get("geometry").unwrap_or(&Value::Null), parts, depth + 1),
        "FeatureCollection" => members(object, "features")?.iter().try_for_each(|one| add(one, parts, depth + 1)),
        "GeometryCollection" => members(object, "geometries")?.iter().try_for_each(|one| add(one, parts, depth + 1)),
        "Point" => {
            let coordinates = object.get("coordinates").ok_or(GeoJsonError::Missing { member: "coordinates" })?;
            parts.push(Part::Point(position(coordinates)?));
            Ok(())
        }
        "MultiPoint" => members(object, "coordinates")?.iter().try_for_each(|one| {
            parts.push(Part::Point(position(one)?));
            Ok(())
        }),
        "LineString" => {
            parts.push(line(members(object, "coordinates")?)?);
            Ok(())
        }
        "MultiLineString" => members(object, "coordinates")?.iter().try_for_each(|one| {
            parts.push(line(array(one, "coordinates")?)?);
            Ok(())
        }),
        "Polygon" => {
            parts.push(area(members(object, "coordinates")?)?);
            Ok(())
        }
        "MultiPolygon" => members(object, "coordinates")?.iter().try_for_each(|one| {
            parts.push(area(array(one, "coordinates")?)?);
            Ok(())
        }),
        other => Err(GeoJsonError::UnknownType { name: other.to_owned() }),
    }
}

fn members<'v>(object: &'v Map<String, Value>, member: &'static str) -> Result<&'v [Value], GeoJsonError> {
    array(object.get(member).ok_or(GeoJsonError::Missing { member })?, member)
}

fn array<'v>(value: &'v Value, member: &'static str) -> Result<&'v [Value], GeoJsonError> {
    match value {
        Value::Array(elements) => Ok(elements),
        other => Err(GeoJsonError::NotAnArray { member, found: other.to_string() }),
    }
}

fn position(value: &Value) -> Result<Position, GeoJsonError> {
    let numbers = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let coordinate = |index: usize| numbers.get(index).and_then(Value::as_f64).filter(|number| number.is_finite());
    match (coordinate(0), coordinate(1)) {
        (Some(x), Some(y)) => Ok(Position { x, y }),
        _ => Err(GeoJsonError::Position { found: value.to_string() }),
    }
}

fn positions(values: &[Value], what: &'static str, least: usize) -> Result<Vec<Position>, GeoJsonError> {
    if values.len() < least {
        return Err(GeoJsonError::TooFewPositions { what, least, found: values.len() });
    }
    values.iter().map(position).collect()
}

fn line(values: &[Value]) -> Result<Part, GeoJsonError> {
    positions(values, "line", 2).map(Part::Line)
}

fn area(values: &[Value]) -> Result<Part, GeoJsonError> {
    if values.is_empty() {
        return Err(GeoJsonError::NoRing);
    }
    values.iter().map(|ring| self::ring(array(ring, "coordinates")?)).collect::<Result<_, _>>().map(Part::Area)
}

fn ring(values: &[Value]) -> Result<Ring, GeoJsonError> {
    let mut ring = positions(values, "ring", 3)?;
    // The last position of a ring repeats the first one; here a ring closes itself.
    if ring.len() > 3 && ring.first() == ring.last() {
        ring.pop();
    }
    Ok(ring)
}
