//! Polygons on the globe, for points.
//!
//! Latitude and longitude are flat coordinates of a cylinder: a side is a straight line on it, and goes the short way round.
//! Where two corners are half of the globe apart, it goes the way that does not cross the antimeridian. A point lies inside
//! when the way along its meridian to the north pole crosses an odd number of sides, and on the border always. A polygon whose
//! sides go round the globe holds the pole that its corners are nearer to.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{BoxRelation, Geo, GeoBox};
use lamina_text::filter::Coordinates;

use super::region::{Region, is_usual};

/// Degrees around a side in which boxes are looked at point by point, for rounding.
const MARGIN: f64 = 1e-9;
/// Sides from which the clock is looked at.
const LARGE: usize = 128;

/// A polygon, which closes itself and may cross itself.
#[derive(Clone, Debug)]
pub struct Polygon {
    sides: Vec<Side>,
    /// The sides go round the globe, and the north pole is inside.
    holds_north: bool,
}

/// A side, from its western end to the east.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Longitude of the western end, never 180.
    west: f64,
    /// Degrees to the eastern end, up to 180.
    width: f64,
    west_lat: f64,
    east_lat: f64,
}

/// Position of a point relative to a side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    On,
    /// The way to the north pole crosses the side.
    South,
    /// The point is elsewhere.
    Elsewhere,
}

impl Polygon {
    /// The polygon with these corners.
    pub fn new(corners: &[Coordinates]) -> Polygon {
        let next = corners.iter().cycle().skip(1);
        let pairs = || corners.iter().zip(next.clone());
        // Longitudes come back to where they began; each side that crosses the antimeridian takes a turn from the way, or
        // adds one.
        let turns = pairs().filter(|(a, b)| (a.longitude() - b.longitude()).abs() > 180.0).count();
        let latitudes: f64 = corners.iter().map(|corner| corner.latitude()).sum();
        let sides = pairs().map(|(a, b)| Side::between(*a, *b)).collect();
        Polygon { sides, holds_north: turns % 2 == 1 && latitudes >= 0.0 }
    }
}

impl Region for Polygon {
    fn contains(&self, latitude: f64, longitude: f64) -> bool {
        if !(-90.0..=90.0).contains(&latitude) {
            return false;
        }
        let mut inside = self.holds_north;
        let longitude = normal(longitude);
        for side in &self.sides {
            match side.place_of(latitude, longitude) {
                Place::On => return true,
                Place::South => inside = !inside,
                Place::Elsewhere => {}
            }
        }
        inside
    }

    fn relate(&self, points: &GeoBox) -> BoxRelation {
        // Degrees of documents are not checked; what is said of whole boxes only holds on the usual globe.
        if !is_usual(points) || self.sides.iter().any(|side| side.is_near(points)) {
            return BoxRelation::Crossing;
        }
        // Without a side in the box, all of it lies where its corner does.
        if self.contains(points.lat_min, points.lng_min) { BoxRelation::Inside } else { BoxRelation::Outside }
    }

    fn documents_unless(&self, geo: &Geo, stop: &dyn Fn() -> bool) -> DocSet {
        if self.sides.len() < LARGE {
            return self.documents(geo);
        }
        // A look at the clock is nothing beside a look at all sides.
        let relate = |points: &GeoBox| if stop() { BoxRelation::Outside } else { self.relate(points) };
        geo.search(relate, |latitude, longitude| !stop() && self.contains(latitude, longitude))
    }
}

impl Side {
    fn between(a: Coordinates, b: Coordinates) -> Side {
        let apart = (a.longitude() - b.longitude()).abs();
        let goes_around = apart > 180.0;
        // On the map the western end is the one with the smaller longitude; over the antimeridian it is the other one.
        let (west, east) = if (a.longitude() <= b.longitude()) == goes_around { (b, a) } else { (a, b) };
        // Where the eastern end lies is computed as it is for points, so that one on its meridian is exactly there.
        Side {
            west: normal(west.longitude()),
            width: east_of(normal(west.longitude()), normal(east.longitude())),
            west_lat: west.latitude(),
            east_lat: east.latitude(),
        }
    }

    /// Greater than zero north of the side (of the line it lies on), less than zero south of it. `along`: degrees east of its
    /// western end.
    fn north_of(&self, latitude: f64, along: f64) -> f64 {
        self.width * (latitude - self.west_lat) - along * (self.east_lat - self.west_lat)
    }

    /// `longitude` is a normal one. The eastern end belongs to the next side, so that a corner counts once.
    fn place_of(&self, latitude: f64, longitude: f64) -> Place {
        let along = east_of(self.west, longitude);
        if along > self.width {
            return Place::Elsewhere;
        }
        let north_of = self.north_of(latitude, along);
        let (low, high) = (self.west_lat.min(self.east_lat), self.west_lat.max(self.east_lat));
        if north_of == 0.0 && (low..=high).contains(&latitude) {
            Place::On
        } else if north_of < 0.0 && along < self.width {
            Place::South
        } else {
            Place::Elsewhere
        }
    }

    /// Reports whether the side may pass through a box, or so close to it that rounding decides.
    fn is_near(&self, points: &GeoBox) -> bool {
        let (low, high) = (self.west_lat.min(self.east_lat), self.west_lat.max(self.east_lat));
        if points.lat_min > high + MARGIN || points.lat_max < low - MARGIN {
            return false;
        }
        let start = east_of(self.west, normal(points.lng_min));
        let length = points.lng_max - points.lng_min;
        // A box reaches a side from the west, too, over the meridian of its western end.
        [start, start - 360.0].into_iter().any(|start| {
            let end = start + length;
            start <= self.width + MARGIN && end >= -MARGIN && !self.is_beside(points, start, end)
        })
    }

    /// Reports whether all corners of a box lie on the same side of the line, and not close to it.
    fn is_beside(&self, points: &GeoBox, start: f64, end: f64) -> bool {
        let corners = [(points.lat_min, start), (points.lat_min, end), (points.lat_max, start), (points.lat_max, end)];
        let distances = corners.map(|(latitude, along)| self.north_of(latitude, along));
        let margin = MARGIN * (self.width + (self.east_lat - self.west_lat).abs());
        distances.iter().all(|distance| *distance > margin) || distances.iter().all(|distance| *distance < -margin)
    }
}

/// Returns how many degrees `longitude` lies east of `west`. Both are normal.
fn east_of(west: f64, longitude: f64) -> f64 {
    let degrees = longitude - west;
    if degrees < 0.0 { degrees + 360.0 } else { degrees }
}

/// The same meridian as a longitude from -180 on, below 180.
fn normal(longitude: f64) -> f64 {
    if (-180.0..180.0).contains(&longitude) { longitude } else { (longitude + 180.0).rem_euclid(360.0) - 180.0 }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn polygon(corners: &[(i32, i32)]) -> Polygon {
        let at = |&(lat, lng): &(i32, i32)| Coordinates::new(f64::from(lat), f64::from(lng)).unwrap();
        Polygon::new(&corners.iter().map(at).collect::<Vec<_>>())
    }

    /// In integers: the corners in a row that does not jump, closed over the poles where it goes round, and the way to the
    /// south pole. Beside the function above in nothing.
    fn scanned(corners: &[(i32, i32)], point: (i32, i32)) -> bool {
        let corners: Vec<(i64, i64)> = corners.iter().map(|&(lat, lng)| (i64::from(lat), i64::from(lng))).collect();
        let (lat, lng) = (i64::from(point.0), i64::from(point.1));
        let mut row = vec![corners[0]];
        for at in 1..=corners.len() {
            let (from, to) = (corners[at - 1], corners[at % corners.len()]);
            let way = match to.1 - from.1 {
                way @ -180..=180 => way,
                way => way - 360 * way.signum(),
            };
            row.push((to.0, row[at - 1].1 + way));
        }
        let turns = (row[corners.len()].1 - row[0].1) / 360;
        let is_northern = corners.iter().map(|corner| corner.0).sum::<i64>() >= 0;
        let mut crossed = 0;
        for sides in row.windows(2) {
            let (a, b) = if sides[0].1 <= sides[1].1 { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
            for turned in -12..=12 {
                let lng = lng + 360 * turned;
                if !(a.1..=b.1).contains(&lng) {
                    continue;
                }
                let height = (b.1 - a.1) * (lat - a.0) - (lng - a.1) * (b.0 - a.0);
                if height == 0 && (a.0.min(b.0)..=a.0.max(b.0)).contains(&lat) {
                    return true;
                }
                crossed += i64::from(height > 0 && lng < b.1);
            }
        }
        // On the way to the south pole each side around it is crossed once.
        (crossed % 2 == 1) != (turns % 2 != 0 && !is_northern)
    }

    #[test]
    fn sides_go_the_short_way_round() {
        let over = polygon(&[(-10, 170), (-10, -170), (10, -170), (10, 170)]);
        for (lat, lng, expected) in [
            (0.0, 180.0, true),
            (0.0, -180.0, true),
            (0.0, 175.0, true),
            (0.0, -170.0, true),
            (0.0, 535.0, true),
            (0.0, 0.0, false),
            (0.0, 169.9, false),
            (10.1, 180.0, false),
        ] {
            assert_eq!(over.contains(lat, lng), expected, "{lat} {lng}");
        }
        // Half of the globe: on the map as it is written.
        let half = polygon(&[(0, 0), (0, 180), (10, 180), (10, 0)]);
        assert!(half.contains(5.0, 90.0));
        assert!(half.contains(5.0, -180.0));
        assert!(!half.contains(5.0, -90.0));
        let other_half = polygon(&[(0, 0), (0, -180), (10, -180), (10, 0)]);
        assert!(other_half.contains(5.0, -90.0));
        assert!(other_half.contains(5.0, 180.0));
        assert!(!other_half.contains(5.0, 90.0));
    }

    #[test]
    fn polygons_around_a_pole_hold_it() {
        let north = polygon(&[(60, 0), (60, 120), (60, -120)]);
        assert!(north.contains(80.0, 10.0));
        assert!(north.contains(90.0, 0.0));
        assert!(!north.contains(50.0, 10.0));
        assert!(!north.contains(91.0, 0.0), "that is nowhere");
        let south = polygon(&[(-60, 0), (-60, -120), (-60, 120)]);
        assert!(south.contains(-80.0, 10.0));
        assert!(south.contains(-90.0, 77.0));
        assert!(!south.contains(-50.0, 10.0));
    }

    #[test]
    fn a_polygon_that_once_was_judged_in_two_ways() {
        let corners = [(42, -180), (-13, 180), (-51, -157), (-77, 169)];
        assert!(!polygon(&corners).contains(1.0, -90.0));
        assert!(!scanned(&corners, (1, -90)));
    }

    /// Corners anywhere, near each other, and where longitudes end.
    fn corner() -> impl Strategy<Value = (i32, i32)> {
        let lng = prop_oneof![
            4 => -180..=180,
            2 => -10..=10,
            3 => prop::sample::select(vec![-180, -179, -90, 0, 90, 179, 180]),
        ];
        let lat = prop_oneof![4 => -90..=90, 3 => -10..=10, 1 => prop::sample::select(vec![-90, 90, 0])];
        (lat, lng)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Compares polygons with a scan in integers, including polygons that cross themselves, go round the globe or
        /// run along a meridian.
        #[test]
        fn polygons_hold_what_a_scan_in_integers_says(
            corners in vec(corner(), 3..9),
            points in vec(corner(), 1..40),
        ) {
            let polygon = polygon(&corners);
            for point in points.iter().chain(&corners) {
                let (lat, lng) = (f64::from(point.0), f64::from(point.1));
                prop_assert_eq!(polygon.contains(lat, lng), scanned(&corners, *point), "{:?}", point);
            }
        }

        /// Checks that neither the corner at which the polygon begins nor its direction changes the result.
        #[test]
        fn the_first_corner_and_the_direction_do_not_count(
            corners in vec(corner(), 3..9),
            first in 0usize..9,
            points in vec(corner(), 1..20),
        ) {
            let (one, mut turned) = (polygon(&corners), corners.clone());
            turned.rotate_left(first % corners.len());
            let rotated = polygon(&turned);
            turned.reverse();
            let reversed = polygon(&turned);
            for (lat, lng) in points.into_iter().map(|(lat, lng)| (f64::from(lat), f64::from(lng))) {
                prop_assert_eq!(one.contains(lat, lng), rotated.contains(lat, lng));
                prop_assert_eq!(one.contains(lat, lng), reversed.contains(lat, lng));
            }
        }

        /// A verdict about a box holds for each of its points.
        #[test]
        fn verdicts_about_boxes_hold_for_points(
            corners in vec((-90.0..=90.0f64, prop_oneof![-180.0..=180.0f64, 170.0..=180.0f64, Just(180.0), Just(-180.0)]), 3..9),
            south in -90.0..=90.0f64,
            west in prop_oneof![-180.0..=180.0f64, 175.0..=180.0f64, Just(-180.0)],
            size in (0.0..20.0f64, prop_oneof![0.0..20.0f64, 0.0..360.0f64]),
            inside in vec((0.0..=1.0f64, 0.0..=1.0f64), 1..20),
        ) {
            let corners: Vec<Coordinates> =
                corners.into_iter().map(|(lat, lng)| Coordinates::new(lat, lng).unwrap()).collect();
            let polygon = Polygon::new(&corners);
            let points = GeoBox {
                lat_min: south,
                lat_max: (south + size.0).min(90.0),
                lng_min: west,
                lng_max: (west + size.1).min(180.0),
            };
            let relation = polygon.relate(&points);
            for (down, across) in inside.into_iter().chain([(0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (1.0, 0.0)]) {
                let lat = (points.lat_min + (points.lat_max - points.lat_min) * down).clamp(points.lat_min, points.lat_max);
                let lng = (points.lng_min + (points.lng_max - points.lng_min) * across).clamp(points.lng_min, points.lng_max);
                match relation {
                    BoxRelation::Inside => prop_assert!(polygon.contains(lat, lng), "{} {}", lat, lng),
                    BoxRelation::Outside => prop_assert!(!polygon.contains(lat, lng), "{} {}", lat, lng),
                    BoxRelation::Crossing => {}
                }
            }
        }
    }
}
