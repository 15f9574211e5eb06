//! The documents nearest to a point, or farthest from it, without measuring all of them.

use std::f64::consts::PI;

use super::distance::{EARTH_RADIUS_M, distance_m};
use super::region::{Circle, Region};
use crate::bits::DocSet;
use crate::filter::Coordinates;
use crate::id::DocId;
use crate::segment::Geo;

/// Radius of the first look around the point, in metres.
const FIRST_RADIUS_M: f64 = 2_000.0;
/// No two points are farther from each other, in metres; a little more, for rounding.
const HALF_GIRTH_M: f64 = PI * EARTH_RADIUS_M * 1.001;

/// Which end of the distances is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extreme {
    Nearest,
    Farthest,
}

/// At least `count` documents of `among` that have a point (all of them if there are fewer), with their distance to
/// `point` in metres, the wanted end first, equal distances in document order. No document left out is better than
/// one in the answer. `None` when a circle with more than `looked_at_max` documents would be needed. Cost: the documents
/// of a circle around the point that grows until it holds enough.
pub fn nearest(
    geo: &Geo,
    point: Coordinates,
    extreme: Extreme,
    among: &DocSet,
    count: usize,
    looked_at_max: u32,
) -> Option<Vec<(DocId, f64)>> {
    // What is farthest from a point is nearest to the opposite point.
    let center = match extreme {
        Extreme::Nearest => point,
        Extreme::Farthest => opposite(point),
    };
    let mut radius_m = FIRST_RADIUS_M;
    let found = loop {
        // The longest radius holds every document with a point, also those with unusual degrees.
        let everything = radius_m >= HALF_GIRTH_M;
        let inside = if everything { geo.exists() } else { Circle { center, radius_m }.documents(geo) };
        if inside.len() > looked_at_max {
            return None;
        }
        let inside = inside.and(among);
        if everything || inside.len() as usize >= count {
            break inside;
        }
        radius_m *= 2.0;
    };
    let origin = (point.latitude(), point.longitude());
    let mut measured: Vec<(DocId, f64)> =
        found.iter().filter_map(|doc| Some((doc, distance_m(origin, geo.point(doc)?)))).collect();
    // A stable sort keeps document order among equals.
    match extreme {
        Extreme::Nearest => measured.sort_by(|a, b| a.1.total_cmp(&b.1)),
        Extreme::Farthest => measured.sort_by(|a, b| b.1.total_cmp(&a.1)),
    }
    Some(measured)
}

/// The point of the globe that is farthest from `point`.
pub fn opposite(point: Coordinates) -> Coordinates {
    let longitude = if point.longitude() > 0.0 { point.longitude() - 180.0 } else { point.longitude() + 180.0 };
    Coordinates::new(-point.latitude(), longitude).expect("the opposite of a point of the globe is on the globe")
}
