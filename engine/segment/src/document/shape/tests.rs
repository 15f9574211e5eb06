use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn read(value: Value) -> Result<Option<Shape>, GeoJsonError> {
    Shape::from_geojson(&value)
}

fn at(x: f64, y: f64) -> Position {
    Position { x, y }
}

#[test]
fn every_kind_of_geometry_is_read() {
    let point = Part::Point(at(2.0, 48.5));
    let line = Part::Line(vec![at(0.0, 0.0), at(1.0, 1.0)]);
    let area = Part::Area(vec![
        vec![at(0.0, 0.0), at(4.0, 0.0), at(0.0, 4.0)],
        vec![at(1.0, 1.0), at(2.0, 1.0), at(1.0, 2.0)],
    ]);
    let rings = json!([[[0, 0], [4, 0], [0, 4], [0, 0]], [[1, 1], [2, 1, 100], [1, 2], [1, 1]]]);
    for (value, parts) in [
        (json!({"type": "Point", "coordinates": [2, 48.5]}), vec![point.clone()]),
        (json!({"type": "MultiPoint", "coordinates": [[2, 48.5], [2, 48.5, 7]]}), vec![point.clone(), point.clone()]),
        (json!({"type": "LineString", "coordinates": [[0, 0], [1, 1]]}), vec![line.clone()]),
        (json!({"type": "MultiLineString", "coordinates": [[[0, 0], [1, 1]]]}), vec![line.clone()]),
        (json!({"type": "Polygon", "coordinates": rings}), vec![area.clone()]),
        (json!({"type": "MultiPolygon", "coordinates": [rings]}), vec![area]),
        (
            json!({"type": "FeatureCollection", "features": [
                {"type": "Feature", "properties": {"name": "a"}, "geometry": {"type": "GeometryCollection", "geometries": [
                    {"type": "Point", "coordinates": [2, 48.5]}, {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}]}},
                {"type": "Feature", "geometry": null}]}),
            vec![point, line],
        ),
    ] {
        assert_eq!(read(value), Ok(Some(Shape { parts })));
    }
    assert_eq!(read(Value::Null), Ok(None));
    assert_eq!(read(json!({"type": "Feature", "geometry": null})), Ok(None));
    assert_eq!(read(json!({"type": "MultiPoint", "coordinates": []})), Ok(None));
}

#[test]
fn what_is_wrong_is_reported() {
    for (value, message) in [
        (json!([1]), "expected an object, found `[1]`"),
        (json!({"coordinates": [1, 2]}), "missing member `type`"),
        (json!({"type": "Circle"}), "unknown type `Circle`"),
        (json!({"type": "Point"}), "missing member `coordinates`"),
        (
            json!({"type": "Point", "coordinates": ["1", 2]}),
            "a position is an array of at least two finite numbers, longitude first, found `[\"1\",2]`",
        ),
        (json!({"type": "LineString", "coordinates": [[1, 2]]}), "a line needs at least 2 positions, found 1"),
        (json!({"type": "Polygon", "coordinates": []}), "a polygon needs at least one ring"),
        (json!({"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}), "a ring needs at least 3 positions, found 2"),
        (json!({"type": "Polygon", "coordinates": 3}), "expected `coordinates` to be an array, found `3`"),
    ] {
        assert_eq!(read(value).unwrap_err().to_string(), message);
    }
    let mut deep = json!({"type": "Point", "coordinates": [1, 2]});
    for _ in 0..40 {
        deep = json!({"type": "GeometryCollection", "geometries": [deep]});
    }
    assert_eq!(read(deep), Err(GeoJsonError::TooDeep { most: 32 }));
}

/// Comparisons of shapes look at the first position of a line and of a ring.
#[test]
fn parts_of_too_few_positions_are_refused() {
    let encoded = |part: Part| {
        let mut bytes = Vec::new();
        Shape { parts: vec![part] }.encode(&mut bytes);
        bytes
    };
    let positions = |count: usize| vec![at(1.0, 2.0); count];
    let areas = |count| Part::Area(vec![positions(3), positions(count)]);
    for count in 0..4 {
        assert_eq!(Shape::decode(&encoded(Part::Line(positions(count)))).is_some(), count >= 2);
        assert_eq!(Shape::decode(&encoded(areas(count))).is_some(), count >= 3);
    }
}

fn part() -> impl Strategy<Value = Part> {
    let position = || (-180.0..=180.0, -90.0..=90.0).prop_map(|(x, y)| at(x, y));
    prop_oneof![
        position().prop_map(Part::Point),
        vec(position(), 2..6).prop_map(Part::Line),
        vec(vec(position(), 3..6), 1..3).prop_map(Part::Area),
    ]
}

proptest! {
    #[test]
    fn bytes_come_back(parts in vec(part(), 1..4), cut in any::<prop::sample::Index>()) {
        let shape = Shape { parts };
        let mut bytes = Vec::new();
        shape.encode(&mut bytes);
        prop_assert_eq!(Shape::decode(&bytes), Some(shape));
        // Cut anywhere, they are refused.
        prop_assert_eq!(Shape::decode(&bytes[..cut.index(bytes.len())]), None);
    }

    #[test]
    fn any_bytes_are_read_without_harm(bytes in vec(any::<u8>(), 0..80)) {
        Shape::decode(&bytes);
    }
}
