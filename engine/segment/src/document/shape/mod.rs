//! Shapes on the globe: what `_geojson` of a document describes.
//!
//! A shape is flat: x is the longitude and y the latitude, both in degrees, and lines between positions are straight on
//! that map. It does not wrap around at the antimeridian; a shape beyond it is sent in two parts.

mod bytes;
mod geojson;
#[cfg(test)]
mod tests;

pub use geojson::GeoJsonError;

/// A position on the flat map, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Position {
    /// Longitude.
    pub x: f64,
    /// Latitude.
    pub y: f64,
}

/// Closed or not: `ring` closes itself, its last position is not the first one again.
pub type Ring = Vec<Position>;

/// A part of a shape.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// One position.
    Point(Position),
    /// At least two positions, joined by straight lines.
    Line(Vec<Position>),
    /// The outside and then the holes, each of at least three positions.
    Area(Vec<Ring>),
}

/// Geometry of a document on the map. It has at least one part.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// In the order of the document.
    pub parts: Vec<Part>,
}

impl Part {
    /// Corners and points in the order of the document, rings closed.
    pub fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        let (point, line, rings): (_, &[Position], &[Ring]) = match self {
            Part::Point(point) => (Some(*point), &[], &[]),
            Part::Line(line) => (None, line, &[]),
            Part::Area(rings) => (None, &[], rings),
        };
        point.into_iter().chain(line.iter().copied()).chain(rings.iter().flatten().copied())
    }
}

impl Shape {
    /// All positions of all parts.
    pub fn positions(&self) -> impl Iterator<Item = Position> + '_ {
        self.parts.iter().flat_map(Part::positions)
    }
}
