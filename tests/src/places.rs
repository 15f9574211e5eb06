//! Points and shapes over HTTP: `_geo`, `_geojson`, and the filters that ask for them.

use serde_json::{Value, json};

use crate::server::Server;

fn square(west: f64, south: f64, side: f64) -> Value {
    let (east, north) = (west + side, south + side);
    let ring = json!([[west, south], [east, south], [east, north], [west, north], [west, south]]);
    json!({"type": "Feature", "geometry": {"type": "Polygon", "coordinates": [ring]}})
}

fn documents() -> Value {
    json!([
        {"id": 1, "_geo": {"lat": 48.86, "lng": 2.35}},
        {"id": 2, "_geojson": {"type": "Point", "coordinates": [2.35, 48.86]}},
        {"id": 3, "_geojson": square(2.0, 48.0, 1.0)},
        {"id": 4, "_geojson": {"type": "LineString", "coordinates": [[-5.0, 48.5], [10.0, 48.5]]}},
        {"id": 5, "_geojson": square(10.0, 48.0, 1.0)},
        {"id": 6, "_geojson": null},
        {"id": 7},
    ])
}

const FILTERS: [(&str, &[u64]); 6] = [
    ("_geoPolygon([48.8, 2.3], [48.9, 2.3], [48.9, 2.4], [48.8, 2.4])", &[1, 2, 3]),
    ("_geoPolygon([47, 1], [50, 1], [50, 4])", &[1, 2, 3, 4]),
    ("NOT _geoPolygon([47, 1], [50, 1], [50, 4], [47, 4])", &[5, 6, 7]),
    ("_geoRadius(48.86, 2.35, 1000)", &[1, 2, 3]),
    ("_geoRadius(48.86, 2.35, 80000, 20)", &[1, 2, 3, 4]),
    ("_geoBoundingBox([49, 11], [48.4, 2.4])", &[3, 4, 5]),
];

#[test]
fn shapes_are_found_by_polygon_circle_and_box() {
    let server = Server::start();
    server.set("places", json!({"filterableAttributes": ["_geo", "_geojson"]}));
    server.add("places", documents());
    let check = |when: &str| {
        for (filter, expected) in FILTERS {
            assert_eq!(server.ids("places", json!({"filter": filter})), expected, "{when}: {filter}");
        }
    };
    check("written");
    server.add("places", json!([{"id": 8, "_geojson": square(100.0, 0.0, 1.0)}]));
    server.done(&server.delete("/indexes/places/documents/8"));
    server.done(&server.post("/indexes/places/compact", Value::Null));
    check("merged");
    server.set("places", json!({"filterableAttributes": ["id"]}));
    let refused = server.post("/indexes/places/search", json!({"filter": FILTERS[0].0}));
    refused.refused(400, "invalid_search_filter");
    let message = refused.body["message"].as_str().expect("text");
    assert!(message.starts_with("Index `places`: Attribute `_geojson` is not filterable."), "{message}");
    server.set("places", json!({"filterableAttributes": ["_geo"]}));
    for filter in [FILTERS[0].0, FILTERS[3].0] {
        assert_eq!(server.ids("places", json!({"filter": filter})), [1], "shapes that no filter may name do not count");
    }
    server.set("places", json!({"filterableAttributes": ["_geojson", "_geo"]}));
    check("filterable again");

    let added_later = Server::start();
    added_later.add("places", documents());
    added_later.set("places", json!({"filterableAttributes": ["_geojson"]}));
    assert_eq!(added_later.ids("places", json!({"filter": FILTERS[1].0})), [2, 3, 4]);
    assert_eq!(added_later.ids("places", json!({"filter": FILTERS[3].0})), [2, 3], "`_geo` is not filterable here");
}

#[test]
fn malformed_shapes_and_polygons_are_refused() {
    let server = Server::start();
    server.set("places", json!({"filterableAttributes": ["_geojson"]}));
    for (id, shape) in
        [(1, json!("here")), (2, json!({"type": "Circle"})), (3, json!({"type": "Point", "coordinates": [1]}))]
    {
        let answer = server.post("/indexes/places/documents", json!([{"id": id, "_geojson": shape}]));
        let task = server.fails(&answer, "invalid_document_geojson_field");
        let message = task["error"]["message"].as_str().expect("text");
        assert!(message.starts_with("Index `places`: Malformed geojson"), "{task}");
    }
    for (polygon, message) in [
        ("_geoPolygon([0, 0], [1, 1])", "The `_geoPolygon` filter expects at least 3 points but only 2 were specified"),
        (
            "_geoPolygon(0, 1)",
            "The `_geoPolygon` filter doesn't match the expected format: `_geoPolygon([latitude, longitude], [latitude, \
             longitude])`.",
        ),
        ("_geoPolygon([0, 0], [1, 1, 1], [2, 2])", "Was expecting 2 coordinates but instead found 3."),
        ("_geoPolygon([0, 0], [100, 1], [2, 2])", "Bad latitude `100`."),
    ] {
        let refused = server.post("/indexes/places/search", json!({"filter": polygon}));
        refused.refused(400, "invalid_search_filter");
        assert!(refused.body["message"].as_str().expect("text").contains(message), "{}", refused.text);
    }
}

/// Checks that ids are shown as JSON, in which numbers differ from texts.
#[test]
fn errors_of_points_name_the_document_as_it_was_sent() {
    let server = Server::start();
    server.set("places", json!({"sortableAttributes": ["_geo"]}));
    for (id, shown) in [(json!(42), "42"), (json!("42"), "\"42\""), (json!("x-1"), "\"x-1\"")] {
        let answer = server.post("/indexes/places/documents", json!([{"id": id, "_geo": {"lng": 1}}]));
        let task = server.fails(&answer, "invalid_document_geo_field");
        let expected = format!(
            "Index `places`: Could not find latitude in the document with the id: `{shown}`. Was expecting a `_geo.lat` \
             field."
        );
        assert_eq!(task["error"]["message"], expected);
    }
}

#[test]
fn polygons_hold_points_also_over_the_antimeridian() {
    let server = Server::start();
    server.set("islands", json!({"filterableAttributes": ["_geo"]}));
    server.add(
        "islands",
        json!([
            {"id": 1, "_geo": {"lat": -17.7, "lng": 178.0}},
            {"id": 2, "_geo": {"lat": "-16.8", "lng": "-179.9"}},
            {"id": 3, "_geo": {"lat": -13.8, "lng": -171.8}},
            {"id": 4, "_geo": {"lat": -17.7, "lng": 0.0}},
            {"id": 5, "_geo": {"lat": -89.0, "lng": 45.0}},
            {"id": 6},
        ]),
    );
    for (filter, expected) in [
        ("_geoPolygon([-20, 176], [-20, -178], [-15, -178], [-15, 176])", &[1, 2][..]),
        ("NOT _geoPolygon([-20, 176], [-20, -178], [-15, -178], [-15, 176])", &[3, 4, 5, 6]),
        ("_geoPolygon([-20, -10], [-20, 10], [0, 10], [0, -10])", &[4]),
        // Around the south pole.
        ("_geoPolygon([-70, 0], [-70, 120], [-70, -120])", &[5]),
        ("NOT _geoPolygon([42, -180], [-13, 180], [-51, -157], [-77, 169])", &[3, 4, 5, 6]),
    ] {
        assert_eq!(server.ids("islands", json!({"filter": filter})), expected, "{filter}");
    }
}
