//! Areas of the flat map, and which shapes they touch.
//!
//! Shapes of documents are flat (see [`Shape`]), so what they are compared with is flat as well: a circle becomes a
//! polygon around the points at its distance, a box its four corners.

use std::f64::consts::FRAC_PI_2;

use lamina_segment::bits::DocSet;
use lamina_segment::document::{Part, Position, Ring, Shape};
use lamina_segment::segment::{BoxRelation, GeoBox, Shapes};
use lamina_text::filter::Coordinates;

use super::distance::{EARTH_RADIUS_M, distance_m};

/// Sides of the polygon that stands for a circle, when the filter says nothing.
pub(crate) const CIRCLE_SIDES: usize = 125;
/// Bounds of that number.
pub(crate) const CIRCLE_SIDES_RANGE: std::ops::RangeInclusive<usize> = 3..=1000;

/// Corners from which an area is looked at only while there is time.
const LARGE: usize = 128;

/// Rings of the flat map; what lies inside an odd number of them belongs to the area. Borders belong to it.
#[derive(Clone, Debug)]
pub struct Area {
    rings: Vec<Ring>,
    bounds: GeoBox,
}

/// A side of a ring or line.
type Side = (Position, Position);

impl Area {
    fn new(rings: Vec<Ring>) -> Area {
        let mut bounds = GeoBox {
            lat_min: f64::INFINITY,
            lat_max: f64::NEG_INFINITY,
            lng_min: f64::INFINITY,
            lng_max: f64::NEG_INFINITY,
        };
        for position in rings.iter().flatten() {
            bounds.lat_min = bounds.lat_min.min(position.y);
            bounds.lat_max = bounds.lat_max.max(position.y);
            bounds.lng_min = bounds.lng_min.min(position.x);
            bounds.lng_max = bounds.lng_max.max(position.x);
        }
        Area { rings, bounds }
    }

    /// Inside the polygon with these corners, which closes itself.
    pub fn polygon(corners: &[Coordinates]) -> Area {
        Area::new(vec![corners.iter().map(|corner| at(corner.longitude(), corner.latitude())).collect()])
    }

    /// Between two corners; on both sides of the antimeridian when the western longitude is the greater one.
    pub fn between(top_right: Coordinates, bottom_left: Coordinates) -> Area {
        let (west, east) = (bottom_left.longitude(), top_right.longitude());
        let (south, north) = (bottom_left.latitude(), top_right.latitude());
        let rectangle = |west, east| vec![at(west, south), at(east, south), at(east, north), at(west, north)];
        if west <= east {
            Area::new(vec![rectangle(west, east)])
        } else {
            Area::new(vec![rectangle(west, 180.0), rectangle(-180.0, east)])
        }
    }

    /// Not farther than `radius_m` metres from `center`, as a polygon of `sides` corners at that distance. `None` for
    /// circles larger than half of the globe, which are no polygon of the map.
    pub fn circle(center: Coordinates, radius_m: f64, sides: usize) -> Option<Area> {
        let angle = radius_m.max(0.0) / EARTH_RADIUS_M;
        if angle >= FRAC_PI_2 {
            return None;
        }
        let step = std::f64::consts::TAU / sides as f64;
        let ring: Ring = (0..sides).map(|side| at_distance(center, angle, side as f64 * step)).collect();
        let pole = FRAC_PI_2 - center.latitude().to_radians().abs();
        if angle >= pole {
            return Some(Area::new(vec![around_pole(ring, center.latitude())]));
        }
        // Longitudes of the ring run on over the antimeridian; the part beyond it is the same ring, one turn away.
        let turned = |turn: f64| ring.iter().map(|position| at(position.x + turn, position.y)).collect();
        let other = match () {
            () if ring.iter().any(|position| position.x < -180.0) => turned(360.0),
            () if ring.iter().any(|position| position.x > 180.0) => turned(-360.0),
            () => return Some(Area::new(vec![ring])),
        };
        Some(Area::new(vec![ring, other]))
    }

    /// Reports whether the area contains a position.
    pub fn contains(&self, position: Position) -> bool {
        within(&self.rings, position)
    }

    /// Reports whether the area and the shape have a position in common.
    pub fn touches(&self, shape: &Shape) -> bool {
        self.touches_unless(shape, &|| false)
    }

    /// Works like [`Area::touches`], but gives up once `stop` returns true; the result is meaningless then. If the area
    /// has many sides, `stop` is called for each side of the shape.
    fn touches_unless(&self, shape: &Shape, stop: &dyn Fn() -> bool) -> bool {
        shape.parts.iter().any(|part| match part {
            Part::Point(point) => self.contains(*point),
            Part::Line(line) => self.contains(line[0]) || self.crosses(line_sides(line), stop),
            Part::Area(rings) => {
                // Without crossing borders one lies inside the other, or they have nothing in common. Each of several
                // rings may be the one that lies inside.
                self.crosses(rings.iter().flat_map(|ring| ring_sides(ring)), stop)
                    || rings.iter().any(|ring| self.contains(ring[0]))
                    || self.rings.iter().any(|ring| within(rings, ring[0]))
            }
        })
    }

    fn crosses<'s>(&'s self, sides: impl Iterator<Item = Side> + 's, stop: &dyn Fn() -> bool) -> bool {
        let near = |(a, b): &Side| {
            a.x.min(b.x) <= self.bounds.lng_max
                && a.x.max(b.x) >= self.bounds.lng_min
                && a.y.min(b.y) <= self.bounds.lat_max
                && a.y.max(b.y) >= self.bounds.lat_min
        };
        let mut sides = sides.filter(near);
        let is_large = self.is_large();
        sides.any(|side| {
            (is_large && stop()) || self.rings.iter().flat_map(|ring| ring_sides(ring)).any(|own| sides_meet(side, own))
        })
    }

    /// Reports whether the area has so many sides that reading the clock costs next to nothing beside checking all of
    /// them.
    fn is_large(&self) -> bool {
        self.rings.iter().map(Vec::len).sum::<usize>() >= LARGE
    }

    /// Classifies the box by the relation of its positions to the area.
    pub(crate) fn relate(&self, points: &GeoBox) -> BoxRelation {
        let own = &self.bounds;
        if points.lat_min > own.lat_max
            || points.lat_max < own.lat_min
            || points.lng_min > own.lng_max
            || points.lng_max < own.lng_min
        {
            return BoxRelation::Outside;
        }
        let corners = [
            at(points.lng_min, points.lat_min),
            at(points.lng_max, points.lat_min),
            at(points.lng_max, points.lat_max),
            at(points.lng_min, points.lat_max),
        ];
        let inside_box = |position: &Position| {
            (points.lng_min..=points.lng_max).contains(&position.x)
                && (points.lat_min..=points.lat_max).contains(&position.y)
        };
        if self.rings.iter().flatten().any(inside_box) || self.crosses(ring_sides(&corners), &|| false) {
            BoxRelation::Crossing
        } else if self.contains(corners[0]) {
            BoxRelation::Inside
        } else {
            BoxRelation::Outside
        }
    }
}

/// Condition on the shapes of documents.
#[derive(Clone, Debug)]
pub enum ShapeRegion {
    /// The segments touch an area.
    Area(Area),
    /// One of their positions is not farther than `radius_m` metres from `center`: for circles larger than half of the
    /// globe.
    Near { center: Coordinates, radius_m: f64 },
}

impl ShapeRegion {
    /// A circle, by a polygon of `sides` corners where there is one.
    pub fn circle(center: Coordinates, radius_m: f64, sides: usize) -> ShapeRegion {
        Area::circle(center, radius_m, sides).map_or(ShapeRegion::Near { center, radius_m }, ShapeRegion::Area)
    }

    /// Reports whether the shape touches the region.
    pub fn touches(&self, shape: &Shape) -> bool {
        match self {
            ShapeRegion::Area(area) => area.touches(shape),
            ShapeRegion::Near { center, radius_m } => {
                let center = (center.latitude(), center.longitude());
                shape.positions().any(|position| distance_m(center, (position.y, position.x)) <= *radius_m)
            }
        }
    }

    /// The documents whose shape touches it; of no meaning once `stop` says yes, which ends it soon. Cost: the shapes whose
    /// box its border crosses.
    pub fn documents(&self, shapes: &Shapes, stop: &dyn Fn() -> bool) -> DocSet {
        let relate = |points: &GeoBox| match self {
            ShapeRegion::Area(area) if area.is_large() && stop() => BoxRelation::Outside,
            ShapeRegion::Area(area) => area.relate(points),
            ShapeRegion::Near { .. } => BoxRelation::Crossing,
        };
        shapes.search(relate, |shape| match self {
            ShapeRegion::Area(area) if area.is_large() => !stop() && area.touches_unless(shape, stop),
            region => region.touches(shape),
        })
    }
}

fn at(x: f64, y: f64) -> Position {
    Position { x, y }
}

/// Returns the position at the distance `angle` (radians of a great circle) from `center` in the direction `bearing`
/// (radians from north). The longitude is not wrapped: its difference from that of `center` is that of the way
/// travelled.
fn at_distance(center: Coordinates, angle: f64, bearing: f64) -> Position {
    let latitude = center.latitude().to_radians();
    let sine = latitude.sin() * angle.cos() + latitude.cos() * angle.sin() * bearing.cos();
    let turn = (bearing.sin() * angle.sin() * latitude.cos()).atan2(angle.cos() - latitude.sin() * sine);
    at(center.longitude() + turn.to_degrees(), sine.clamp(-1.0, 1.0).asin().to_degrees())
}

/// The border of a circle that holds a pole runs once around the globe: with the pole's edge of the map it is a ring.
fn around_pole(mut border: Ring, latitude: f64) -> Ring {
    for position in &mut border {
        position.x = (position.x + 180.0).rem_euclid(360.0) - 180.0;
    }
    border.sort_by(|a, b| a.x.total_cmp(&b.x));
    let (first, last) = (border[0], border[border.len() - 1]);
    let middle = first.y.midpoint(last.y);
    let pole = if latitude < 0.0 { -90.0 } else { 90.0 };
    border.insert(0, at(-180.0, middle));
    border.extend([at(180.0, middle), at(180.0, pole), at(-180.0, pole)]);
    border
}

fn line_sides(line: &[Position]) -> impl Iterator<Item = Side> + '_ {
    line.windows(2).map(|ends| (ends[0], ends[1]))
}

fn ring_sides(ring: &[Position]) -> impl Iterator<Item = Side> + '_ {
    line_sides(ring).chain(ring.last().zip(ring.first()).map(|(last, first)| (*last, *first)))
}

/// Reports whether `position` is on a side of a ring, or inside an odd number of rings.
fn within(rings: &[Ring], position: Position) -> bool {
    let mut inside = false;
    for (a, b) in rings.iter().flat_map(|ring| ring_sides(ring)) {
        if is_on((a, b), position) {
            return true;
        }
        // A ray to the east: sides are half open, so that a corner counts once.
        if (a.y > position.y) != (b.y > position.y) {
            let x = a.x + (position.y - a.y) / (b.y - a.y) * (b.x - a.x);
            // Of a side that ends at 1e22 nothing is left of the other end's digits.
            inside ^= x.clamp(a.x.min(b.x), a.x.max(b.x)) > position.x;
        }
    }
    inside
}

/// Twice the signed area of a triangle: positive when `c` is to the left of the way from `a` to `b`.
fn turn(a: Position, b: Position, c: Position) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x)
}

fn is_on((a, b): Side, position: Position) -> bool {
    turn(a, b, position) == 0.0
        && (a.x.min(b.x)..=a.x.max(b.x)).contains(&position.x)
        && (a.y.min(b.y)..=a.y.max(b.y)).contains(&position.y)
}

fn sides_meet(one: Side, other: Side) -> bool {
    let ((a, b), (c, d)) = (one, other);
    let (from_a, from_b) = (turn(c, d, a), turn(c, d, b));
    let (from_c, from_d) = (turn(a, b, c), turn(a, b, d));
    let apart = |p: f64, q: f64| (p > 0.0 && q < 0.0) || (p < 0.0 && q > 0.0);
    (apart(from_a, from_b) && apart(from_c, from_d))
        || is_on(other, a)
        || is_on(other, b)
        || is_on(one, c)
        || is_on(one, d)
}
