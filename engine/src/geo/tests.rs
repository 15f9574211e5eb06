use proptest::prelude::*;

use super::*;
use crate::filter::Coordinates;
use crate::segment::{BoxRelation, GeoBox};

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
    assert!(usual.contains(10.0, 20.0) && usual.contains(0.0, 10.0) && !usual.contains(5.0, 20.1));
    let crossing = BoundingBox { top_right: at(10.0, -170.0), bottom_left: at(0.0, 170.0) };
    assert!(crossing.contains(5.0, 175.0) && crossing.contains(5.0, -175.0) && crossing.contains(5.0, 180.0));
    assert!(!crossing.contains(5.0, 0.0) && !crossing.contains(11.0, 175.0));
    let points = GeoBox { lat_min: 1.0, lat_max: 2.0, lng_min: -20.0, lng_max: 20.0 };
    assert_eq!(crossing.relate(&points), BoxRelation::Outside);
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

fn vec_of_fractions() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let fraction = || prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0];
    proptest::collection::vec((fraction(), fraction()), 8)
}
