//! Regions of the globe: which points lie inside, and how whole boxes of points relate to them.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{BoxRelation, Geo, GeoBox};
use lamina_text::filter::Coordinates;

use super::distance::{EARTH_RADIUS_M, distance_m};

/// Rounding of the box tests, relative to the radius: boxes this near to the edge are looked at point by point.
const MARGIN: f64 = 1e-9;

/// A set of points.
pub trait Region: std::fmt::Debug {
    /// Reports whether the region contains the point (degrees).
    fn contains(&self, latitude: f64, longitude: f64) -> bool;

    /// Classifies a box by the relation of its points to the region. [`BoxRelation::Crossing`] is always a correct
    /// answer, but a slow one.
    fn relate(&self, points: &GeoBox) -> BoxRelation;

    /// The documents whose point lies inside. Cost: the points of the boxes that cross the edge.
    fn documents(&self, geo: &Geo) -> DocSet {
        geo.search(|points| self.relate(points), |latitude, longitude| self.contains(latitude, longitude))
    }

    /// Works like [`Region::documents`], but in a region with many sides gives up soon after `stop` returns true; the
    /// result is meaningless then.
    fn documents_unless(&self, geo: &Geo, _stop: &dyn Fn() -> bool) -> DocSet {
        self.documents(geo)
    }
}

/// Points not farther than `radius_m` metres from the centre.
#[derive(Clone, Copy, Debug)]
pub struct Circle {
    pub center: Coordinates,
    pub radius_m: f64,
}

impl Circle {
    /// Metres from the centre to a point, (latitude, longitude) in degrees.
    pub(crate) fn distance_to(&self, point: (f64, f64)) -> f64 {
        distance_m((self.center.latitude(), self.center.longitude()), point)
    }

    /// Largest distance of a longitude of the circle from that of its centre, in degrees; 180 when a pole is inside.
    fn longitude_reach(&self) -> f64 {
        let angle = self.radius_m / EARTH_RADIUS_M;
        let latitude = self.center.latitude().to_radians();
        if latitude.abs() + angle >= std::f64::consts::FRAC_PI_2 {
            return 180.0;
        }
        (angle.sin() / latitude.cos()).clamp(-1.0, 1.0).asin().to_degrees()
    }

    fn is_outside(&self, points: &GeoBox) -> bool {
        let reach = (self.radius_m / EARTH_RADIUS_M).to_degrees() * (1.0 + MARGIN) + MARGIN;
        let latitude = self.center.latitude();
        if points.lat_min > latitude + reach || points.lat_max < latitude - reach {
            return true;
        }
        let reach = self.longitude_reach() * (1.0 + MARGIN) + MARGIN;
        smallest_turn(self.center.longitude(), points) > reach
    }

    fn is_inside(&self, points: &GeoBox) -> bool {
        let turn = |longitude: f64| wrap(longitude - self.center.longitude()).abs();
        // Up to a quarter turn away, the farthest point of a meridian's part is one of its ends, and distance grows
        // with the turn: the corners decide.
        if points.lng_max - points.lng_min > 90.0 || turn(points.lng_min) > 90.0 || turn(points.lng_max) > 90.0 {
            return false;
        }
        let corners = [points.lat_min, points.lat_max].map(|lat| [(lat, points.lng_min), (lat, points.lng_max)]);
        corners.iter().flatten().all(|&(lat, lng)| self.distance_to((lat, lng)) <= self.radius_m * (1.0 - MARGIN))
    }
}

impl Region for Circle {
    fn contains(&self, latitude: f64, longitude: f64) -> bool {
        self.distance_to((latitude, longitude)) <= self.radius_m
    }

    fn relate(&self, points: &GeoBox) -> BoxRelation {
        match () {
            // Degrees of documents are not checked; the shortcuts only hold on the usual globe.
            () if !is_usual(points) => BoxRelation::Crossing,
            () if self.is_outside(points) => BoxRelation::Outside,
            () if self.is_inside(points) => BoxRelation::Inside,
            () => BoxRelation::Crossing,
        }
    }
}

/// Points between two latitudes and two longitudes, ends included; crosses the antimeridian when the west longitude is
/// greater than the east one.
#[derive(Clone, Copy, Debug)]
pub struct BoundingBox {
    pub top_right: Coordinates,
    pub bottom_left: Coordinates,
}

impl Region for BoundingBox {
    fn contains(&self, latitude: f64, longitude: f64) -> bool {
        let (west, east) = (self.bottom_left.longitude(), self.top_right.longitude());
        (self.bottom_left.latitude()..=self.top_right.latitude()).contains(&latitude)
            && if west <= east { (west..=east).contains(&longitude) } else { longitude >= west || longitude <= east }
    }

    fn relate(&self, points: &GeoBox) -> BoxRelation {
        let (south, north) = (self.bottom_left.latitude(), self.top_right.latitude());
        let (west, east) = (self.bottom_left.longitude(), self.top_right.longitude());
        let crosses = west > east;
        let beside = if crosses {
            points.lng_max < west && points.lng_min > east
        } else {
            points.lng_max < west || points.lng_min > east
        };
        if points.lat_max < south || points.lat_min > north || beside {
            return BoxRelation::Outside;
        }
        let between = if crosses {
            points.lng_min >= west || points.lng_max <= east
        } else {
            points.lng_min >= west && points.lng_max <= east
        };
        if points.lat_min >= south && points.lat_max <= north && between {
            BoxRelation::Inside
        } else {
            BoxRelation::Crossing
        }
    }
}

/// Reports whether the latitudes and longitudes of a box lie within the bounds of the globe.
pub(super) fn is_usual(points: &GeoBox) -> bool {
    points.lat_min >= -90.0 && points.lat_max <= 90.0 && points.lng_min >= -180.0 && points.lng_max <= 180.0
}

/// A difference of longitudes inside -180..=180.
fn wrap(degrees: f64) -> f64 {
    (degrees + 180.0).rem_euclid(360.0) - 180.0
}

/// Degrees from a longitude to the nearest one of a box.
fn smallest_turn(longitude: f64, points: &GeoBox) -> f64 {
    if (points.lng_min..=points.lng_max).contains(&longitude) {
        return 0.0;
    }
    wrap(longitude - points.lng_min).abs().min(wrap(longitude - points.lng_max).abs())
}
