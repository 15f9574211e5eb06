//! "Which documents lie in this region?"

use crate::bits::DocSet;
use crate::id::DocId;

/// The points of a segment's documents, clustered so that a region is found without reading all of them.
#[derive(Debug)]
pub struct Geo {}

/// A box of points, in degrees. Never crosses the antimeridian.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GeoBox {
    /// Smallest latitude.
    pub lat_min: f64,
    /// Largest latitude.
    pub lat_max: f64,
    /// Smallest longitude.
    pub lng_min: f64,
    /// Largest longitude.
    pub lng_max: f64,
}

/// How a box of points relates to the wanted region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxRelation {
    /// No point of the box is wanted.
    Outside,
    /// Every point of the box is wanted.
    Inside,
    /// Points have to be looked at one by one.
    Crossing,
}

impl Geo {
    /// Number of documents with a point.
    pub fn len(&self) -> u32 {
        unimplemented!("geo")
    }
    /// Whether no document has a point.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Latitude and longitude of a document, exactly as given.
    pub fn point(&self, _doc: DocId) -> Option<(f64, f64)> {
        unimplemented!("geo")
    }
    /// Documents with a point.
    pub fn exists(&self) -> DocSet {
        unimplemented!("geo")
    }
    /// Documents of a region: `relate` judges boxes, `contains(lat, lng)` single points of crossing boxes.
    pub fn search(
        &self,
        _relate: impl FnMut(&GeoBox) -> BoxRelation,
        _contains: impl FnMut(f64, f64) -> bool,
    ) -> DocSet {
        unimplemented!("geo")
    }
}
