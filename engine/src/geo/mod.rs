//! Distances and regions on the globe, and the documents in them.

mod area;
mod distance;
mod nearest;
mod polygon;
mod region;
#[cfg(test)]
mod tests;

pub use area::{Area, ShapeRegion};
pub(crate) use area::{CIRCLE_SIDES, CIRCLE_SIDES_RANGE};
pub use distance::distance_m;
pub use nearest::{Extreme, nearest, opposite};
pub use polygon::Polygon;
pub use region::{BoundingBox, Circle, Region};
