use lamina_segment::document::{Part, Position, Shape};
use lamina_segment::segment::{BoxRelation, GeoBox};
use lamina_text::filter::Coordinates;
use proptest::prelude::*;

use super::distance::EARTH_RADIUS_M;
use super::*;

fn at(latitude: f64, longitude: f64) -> Coordinates {
    Coordinates::new(latitude, longitude).unwrap()
}

#[test]
fn known_distances() {
    let paris = (48.8566, 2.3522);
    let london = (51.5074, -0.1278);
    assert!((distance_m(paris, london) - 343_556.0).abs() < 100.0);
    assert_eq!(distance_m(paris, paris), 0.0);
    let half_girth = std::f64::consts::PI * EARTH_RADIUS_M;
    assert!((distance_m((0.0, 0.0), (0.0, 180.0)) - half_girth).abs() < 1e-6);
    assert!((distance_m((90.0, 0.0), (-90.0, 77.0)) - half_girth).abs() < 1e-6);
}

#[test]
fn boxes_include_their_edges_and_cross_the_antimeridian() {
    let usual = BoundingBox { top_right: at(10.0, 20.0), bottom_left: at(0.0, 10.0) };
    assert!(usual.contains(10.0, 20.0));
    assert!(usual.contains(0.0, 10.0));
    assert!(!usual.contains(5.0, 20.1));
    let crossing = BoundingBox { top_right: at(10.0, -170.0), bottom_left: at(0.0, 170.0) };
    assert!(crossing.contains(5.0, 175.0));
    assert!(crossing.contains(5.0, -175.0));
    assert!(crossing.contains(5.0, 180.0));
    assert!(!crossing.contains(5.0, 0.0));
    assert!(!crossing.contains(11.0, 175.0));
    let points = GeoBox { lat_min: 1.0, lat_max: 2.0, lng_min: -20.0, lng_max: 20.0 };
    assert_eq!(crossing.relate(&points), BoxRelation::Outside);
}

fn xy(x: f64, y: f64) -> Position {
    Position { x, y }
}

fn rectangle(west: f64, south: f64, east: f64, north: f64) -> Vec<Position> {
    vec![xy(west, south), xy(east, south), xy(east, north), xy(west, north)]
}

fn shape(part: Part) -> Shape {
    Shape { parts: vec![part] }
}

#[test]
fn polygons_touch_what_they_share_a_position_with() {
    let triangle = Area::polygon(&[at(0.0, 0.0), at(0.0, 10.0), at(10.0, 0.0)]);
    let touches = |part: Part| triangle.touches(&shape(part));
    for (x, y, is_inside) in
        [(1.0, 1.0, true), (0.0, 0.0, true), (5.0, 5.0, true), (5.1, 5.0, false), (-1.0, 0.0, false)]
    {
        assert_eq!(touches(Part::Point(xy(x, y))), is_inside, "{x} {y}");
    }
    assert!(touches(Part::Line(vec![xy(-1.0, 5.0), xy(20.0, 5.0)])), "through, with both ends outside");
    assert!(!touches(Part::Line(vec![xy(-1.0, 11.0), xy(20.0, 11.0)])));
    assert!(touches(Part::Area(vec![rectangle(1.0, 1.0, 2.0, 2.0)])), "inside");
    assert!(touches(Part::Area(vec![rectangle(-5.0, -5.0, 20.0, 20.0)])), "around");
    assert!(touches(Part::Area(vec![rectangle(5.0, 5.0, 20.0, 20.0)])), "in a corner");
    assert!(!touches(Part::Area(vec![rectangle(6.0, 6.0, 20.0, 20.0)])));
    assert!(!touches(Part::Area(vec![vec![xy(16.0, 0.0), xy(18.0, 0.0), xy(1e52, 9.0)]])), "all of it is east");
    let ring_around = Part::Area(vec![rectangle(-20.0, -20.0, 20.0, 20.0), rectangle(-5.0, -5.0, 15.0, 15.0)]);
    assert!(!touches(ring_around), "the triangle lies in the hole");
}

#[test]
fn circles_around_poles_and_the_antimeridian_are_polygons() {
    let point = |lat: f64, lng: f64| shape(Part::Point(xy(lng, lat)));
    for (center, inside, outside) in [
        (at(0.0, 179.0), [(0.0, -179.5), (1.0, 178.0)], [(0.0, -176.0), (0.0, 175.0)]),
        (at(0.0, -179.0), [(0.0, 179.5), (1.0, -178.0)], [(0.0, 176.0), (0.0, -175.0)]),
        (at(89.0, 0.0), [(89.5, 180.0), (89.9, -90.0)], [(86.0, 0.0), (87.5, 180.0)]),
        (at(-90.0, 0.0), [(-89.0, 77.0), (-90.0, -180.0)], [(-87.0, 77.0), (90.0, 0.0)]),
    ] {
        let circle = Area::circle(center, 240_000.0, 125).unwrap();
        for (lat, lng) in inside {
            assert!(circle.touches(&point(lat, lng)), "{center:?} {lat} {lng}");
        }
        for (lat, lng) in outside {
            assert!(!circle.touches(&point(lat, lng)), "{center:?} {lat} {lng}");
        }
    }
    assert!(Area::circle(at(0.0, 0.0), 1.2e7, 125).is_none());
    let most = ShapeRegion::circle(at(0.0, 0.0), 1.2e7, 125);
    assert!(most.touches(&point(0.0, 100.0)));
    assert!(!most.touches(&point(0.0, 170.0)));
}

#[test]
fn unusual_degrees_are_looked_at_one_by_one() {
    let circle = Circle { center: at(0.0, 0.0), radius_m: 1000.0 };
    let points = GeoBox { lat_min: 0.0, lat_max: 0.0, lng_min: 359.0, lng_max: 361.0 };
    assert_eq!(circle.relate(&points), BoxRelation::Crossing);
    assert!(circle.contains(0.0, 360.0));
}

fn region() -> impl Strategy<Value = Box<dyn Region>> {
    let circle = (-90.0..=90.0, -180.0..=180.0, prop_oneof![0.0..1e5, 0.0..2.1e7])
        .prop_map(|(lat, lng, radius_m)| Box::new(Circle { center: at(lat, lng), radius_m }) as Box<dyn Region>);
    let rectangle = (-90.0..=90.0, -90.0..=90.0, -180.0..=180.0, -180.0..=180.0).prop_map(
        |(a, b, east, west): (f64, f64, f64, f64)| {
            Box::new(BoundingBox { top_right: at(a.max(b), east), bottom_left: at(a.min(b), west) }) as Box<dyn Region>
        },
    );
    prop_oneof![circle, rectangle]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// A verdict about a box holds for each of its points.
    #[test]
    fn box_verdicts_hold_for_points(
        region in region(),
        lat in (-90.0..=90.0, 0.0..=20.0),
        lng in (-180.0..=180.0, 0.0..=60.0),
        inside in vec_of_fractions(),
    ) {
        let points = GeoBox {
            lat_min: lat.0,
            lat_max: f64::min(lat.0 + lat.1, 90.0),
            lng_min: lng.0,
            lng_max: f64::min(lng.0 + lng.1, 180.0),
        };
        for (down, across) in inside {
            let lat = points.lat_min + (points.lat_max - points.lat_min) * down;
            let lng = points.lng_min + (points.lng_max - points.lng_min) * across;
            let contains = region.contains(lat, lng);
            match region.relate(&points) {
                BoxRelation::Inside => prop_assert!(contains, "{points:?} {lat} {lng}"),
                BoxRelation::Outside => prop_assert!(!contains, "{points:?} {lat} {lng}"),
                BoxRelation::Crossing => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Compares the result with the known condition for two rectangles to meet.
    #[test]
    fn rectangles_touch_when_their_sides_overlap(a in whole_rectangle(), b in whole_rectangle(), hole in any::<bool>()) {
        let (west, south, east, north) = a;
        let area = Area::between(at(north, east), at(south, west));
        let mut rings = vec![rectangle(b.0, b.1, b.2, b.3)];
        let mut expected = b.0 <= east && west <= b.2 && b.1 <= north && south <= b.3;
        if hole && b.2 - b.0 > 2.0 && b.3 - b.1 > 2.0 {
            rings.push(rectangle(b.0 + 1.0, b.1 + 1.0, b.2 - 1.0, b.3 - 1.0));
            let in_hole = west > b.0 + 1.0 && east < b.2 - 1.0 && south > b.1 + 1.0 && north < b.3 - 1.0;
            expected &= !in_hole;
        }
        prop_assert_eq!(area.touches(&shape(Part::Area(rings))), expected);
        let points = GeoBox { lat_min: b.1, lat_max: b.3, lng_min: b.0, lng_max: b.2 };
        let inside = west < b.0 && b.2 < east && south < b.1 && b.3 < north;
        match area.relate(&points) {
            BoxRelation::Inside => prop_assert!(inside),
            BoxRelation::Outside => prop_assert!(b.0 > east || b.2 < west || b.1 > north || b.3 < south),
            BoxRelation::Crossing => prop_assert!(!inside),
        }
    }

    /// The polygon of a circle holds what is nearer than its radius, and nothing farther; a little around it is open.
    #[test]
    fn circles_hold_what_is_near(
        center in (-60.0..=60.0f64, -180.0..=180.0f64),
        radius_m in 1e4..5e5,
        point in (-8.0..=8.0f64, -20.0..=20.0f64),
    ) {
        let wrapped = (center.1 + point.1 + 180.0f64).rem_euclid(360.0) - 180.0;
        let distance = distance_m(center, (center.0 + point.0, wrapped));
        let circle = Area::circle(at(center.0, center.1), radius_m, 200).unwrap();
        let holds = circle.contains(xy(wrapped, center.0 + point.0));
        prop_assert!(holds || distance > 0.98 * radius_m, "{distance} {radius_m}");
        prop_assert!(!holds || distance < 1.02 * radius_m, "{distance} {radius_m}");
    }

    /// A verdict about a box holds for each of its positions, also for polygons that cross themselves.
    #[test]
    fn verdicts_of_polygons_hold_for_positions(
        corners in proptest::collection::vec((-10i8..=10, -10i8..=10), 3..8),
        (west, south, east, north) in whole_rectangle(),
        inside in vec_of_fractions(),
    ) {
        let corners: Vec<_> = corners.into_iter().map(|(lat, lng)| at(f64::from(lat), f64::from(lng))).collect();
        let area = Area::polygon(&corners);
        let points = GeoBox { lat_min: south, lat_max: north, lng_min: west, lng_max: east };
        let relation = area.relate(&points);
        for (down, across) in inside {
            let contains = area.contains(xy(west + (east - west) * across, south + (north - south) * down));
            match relation {
                BoxRelation::Inside => prop_assert!(contains),
                BoxRelation::Outside => prop_assert!(!contains),
                BoxRelation::Crossing => {}
            }
        }
    }
}

/// West, south, east, north: whole degrees, so that borders meet often.
fn whole_rectangle() -> impl Strategy<Value = (f64, f64, f64, f64)> {
    let side = || (-10i8..=10, 0i8..=8).prop_map(|(start, length)| (f64::from(start), f64::from(start + length)));
    (side(), side()).prop_map(|((west, east), (south, north))| (west, south, east, north))
}

fn vec_of_fractions() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let fraction = || prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0];
    proptest::collection::vec((fraction(), fraction()), 8)
}
