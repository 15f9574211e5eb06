//! "Which documents lie in this region?"
//!
//! Points are kept by document, so that the distance of a hit is one load. Beside them the documents are listed along a
//! Z-curve through the world: 64 neighbours on the curve share a bounding box, 16 boxes share a larger one, and so on. A
//! region is found by walking down the boxes it touches; only points of boxes on its border are looked at.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::boxes::{BoxTree, curve_position, put_boxes};
use super::error::Damage;
use super::format::{SectionKind, SectionWriter};
use super::{BoxRelation, GeoBox, SegmentError};
use crate::bits::bitpack::{bit_width, get_bits, pack, packed_bytes};
use crate::bits::little_endian::{put_u32, put_u64, read_f64, read_u32, read_u64};
use crate::bits::monotone::{Monotone, put_monotone};
use crate::bits::{BitsetBuilder, DocSet};
use crate::storage::OwnedBytes;

const PART_COUNT: usize = 4;
const HEADER_BYTES: usize = 4 + 4 + PART_COUNT * 8;
const FLOATS: u8 = 0;
const FIXED: u8 = 1;
/// Fixed-point coordinates count ten-millionths of a degree, about a centimetre.
const FIXED_SCALE: f64 = 1e7;
const LEAF_POINTS: usize = 64;

/// The points of a segment's documents, clustered so that a region is found without reading all of them.
pub struct Geo {
    bytes: OwnedBytes,
    doc_count: u32,
    point_count: u32,
    encoding: u8,
    order_width: u8,
    parts: [usize; PART_COUNT + 1],
    docs: Option<Monotone>,
}

const DOCS: usize = 0;
const POINTS: usize = 1;
const ORDER: usize = 2;
const BOXES: usize = 3;

impl Geo {
    pub fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Geo, Damage> {
        Geo::parse(bytes, doc_count).ok_or(Damage("the geo column is cut or contradicts itself"))
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<Geo> {
        let point_count = read_u32(&bytes, 0)?;
        let (encoding, order_width) = (*bytes.get(4)?, *bytes.get(5)?);
        let mut parts = [HEADER_BYTES; PART_COUNT + 1];
        for part in 0..PART_COUNT {
            let end = usize::try_from(read_u64(&bytes, 8 + 8 * part)?).ok()?;
            parts[part + 1] = HEADER_BYTES.checked_add(end)?;
        }
        if !parts.is_sorted() || parts[PART_COUNT] != bytes.len() || point_count > doc_count || order_width > 32 {
            return None;
        }
        let part = |index: usize| &bytes[parts[index]..parts[index + 1]];
        let docs = if point_count < doc_count {
            Some(Monotone::open(part(DOCS)).filter(|docs| docs.len() == point_count as usize)?)
        } else {
            None
        };
        let count = point_count as usize;
        let consistent = encoding <= FIXED
            && part(POINTS).len() == count * point_bytes(encoding)
            && part(ORDER).len() == packed_bytes(count, order_width)
            && part(BOXES).len() == BoxTree::byte_len(count, LEAF_POINTS);
        let geo_bytes = bytes.clone();
        consistent.then_some(Geo { bytes: geo_bytes, doc_count, point_count, encoding, order_width, parts, docs })
    }

    fn part(&self, index: usize) -> &[u8] {
        self.bytes.as_slice().get(self.parts[index]..self.parts[index + 1]).unwrap_or_default()
    }

    /// Number of documents with a point.
    pub fn len(&self) -> u32 {
        self.point_count
    }

    /// Reports whether no document has a point.
    pub fn is_empty(&self) -> bool {
        self.point_count == 0
    }

    fn coordinates(&self, index: usize) -> Option<(f64, f64)> {
        let (bytes, at) = (self.part(POINTS), index * point_bytes(self.encoding));
        if self.encoding == FLOATS {
            return Some((read_f64(bytes, at)?, read_f64(bytes, at + 8)?));
        }
        let degrees = |at| read_u32(bytes, at).map(|fixed| f64::from(fixed as i32) / FIXED_SCALE);
        Some((degrees(at)?, degrees(at + 4)?))
    }

    fn doc_at(&self, index: usize) -> DocId {
        match &self.docs {
            None => index as DocId,
            Some(docs) => docs.get(self.part(DOCS), index) as DocId,
        }
    }

    /// Latitude and longitude of a document, exactly as given.
    pub fn point(&self, doc: DocId) -> Option<(f64, f64)> {
        let index = match &self.docs {
            None => doc as usize,
            Some(docs) => {
                let bytes = self.part(DOCS);
                let index = docs.partition_point(bytes, |d| d < u64::from(doc));
                if index >= docs.len() || docs.get(bytes, index) != u64::from(doc) {
                    return None;
                }
                index
            }
        };
        if index < self.point_count as usize { self.coordinates(index) } else { None }
    }

    /// Documents with a point.
    pub fn exists(&self) -> DocSet {
        match &self.docs {
            None => DocSet::full(self.doc_count),
            Some(docs) => {
                let mut set = BitsetBuilder::new(self.doc_count);
                (0..docs.len()).for_each(|index| set.insert(self.doc_at(index)));
                set.finish()
            }
        }
    }

    fn boxes(&self) -> BoxTree<'_> {
        BoxTree::new(self.part(BOXES), self.point_count as usize, LEAF_POINTS)
    }

    /// Documents of a region: `relate` judges boxes, `contains(lat, lng)` single points of crossing boxes.
    pub fn search(
        &self,
        relate: impl FnMut(&GeoBox) -> BoxRelation,
        mut contains: impl FnMut(f64, f64) -> bool,
    ) -> DocSet {
        let mut set = BitsetBuilder::new(self.doc_count);
        self.boxes().search(relate, |ranks, relation| {
            self.each_on_curve(ranks, |index| {
                let is_wanted = relation == BoxRelation::Inside
                    || self.coordinates(index).is_some_and(|(lat, lng)| contains(lat, lng));
                if is_wanted {
                    set.insert(self.doc_at(index));
                }
            });
        });
        set.finish()
    }

    /// Visits documents roughly from near to far: boxes in the order of `distance(box)`, a lower bound for its points.
    /// `visit(doc, lat, lng)` answers the distance beyond which nothing is wanted any more.
    pub fn nearest(&self, distance: impl FnMut(&GeoBox) -> f64, mut visit: impl FnMut(DocId, f64, f64) -> f64) {
        let mut limit = f64::INFINITY;
        self.boxes().nearest(distance, |ranks| {
            self.each_on_curve(ranks, |index| {
                if let Some((lat, lng)) = self.coordinates(index) {
                    limit = visit(self.doc_at(index), lat, lng);
                }
            });
            limit
        });
    }

    fn each_on_curve(&self, ranks: std::ops::Range<usize>, mut f: impl FnMut(usize)) {
        let (order, width) = (self.part(ORDER), self.order_width);
        for rank in ranks.start..ranks.end.min(self.point_count as usize) {
            f(get_bits(order, rank * usize::from(width), width) as usize);
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let mut seen = vec![false; self.point_count as usize];
        let mut valid = true;
        self.each_on_curve(0..self.point_count as usize, |index| {
            valid &= seen.get_mut(index).is_some_and(|seen| !std::mem::replace(seen, true));
        });
        let all = self.search(|_| BoxRelation::Crossing, |_, _| true);
        if valid && all == self.exists() && all.len() == self.point_count {
            Ok(())
        } else {
            Err(Damage("points and documents of the geo column contradict each other"))
        }
    }
}

impl std::fmt::Debug for Geo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Geo({} points)", self.point_count)
    }
}

const fn point_bytes(encoding: u8) -> usize {
    if encoding == FLOATS { 16 } else { 8 }
}

/// Collects points and writes the section.
#[derive(Debug, Default)]
pub(crate) struct GeoBuilder {
    points: Vec<(DocId, f64, f64)>,
}

impl GeoBuilder {
    /// A later point of the same document replaces the earlier one.
    pub(crate) fn push(&mut self, doc: DocId, lat: f64, lng: f64) {
        self.points.pop_if(|last| last.0 == doc);
        self.points.push((doc, lat, lng));
    }

    /// Adds the documents of `other`, numbered from `first_doc` on.
    pub(crate) fn absorb(&mut self, other: &GeoBuilder, first_doc: DocId) {
        self.points.extend(other.points.iter().map(|&(doc, lat, lng)| (doc + first_doc, lat, lng)));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.points.capacity() * 48
    }

    /// `new_docs`: see `ColumnsBuilder::finish`.
    pub(crate) fn finish(
        &self,
        file: &mut SectionWriter,
        new_docs: Option<&[DocId]>,
        doc_count: u32,
    ) -> Result<(), SegmentError> {
        let new_doc = |doc: DocId| new_docs.map_or(doc, |new_docs| new_docs[doc as usize]);
        let mut points: Vec<(DocId, f64, f64)> =
            self.points.iter().map(|&(doc, lat, lng)| (new_doc(doc), lat, lng)).collect();
        points.retain(|point| point.0 != DocId::MAX);
        points.sort_unstable_by_key(|point| point.0);
        let mut curve: Vec<(u64, u32)> =
            points.iter().zip(0..).map(|(&(_, lat, lng), index)| (curve_position(lat, lng), index)).collect();
        curve.sort_unstable();

        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        if points.len() < doc_count as usize {
            let docs: Vec<u64> = points.iter().map(|point| u64::from(point.0)).collect();
            put_monotone(&mut parts, &docs);
        }
        ends.push(parts.len() as u64);
        let encoding = put_points(&mut parts, &points);
        ends.push(parts.len() as u64);
        let width = bit_width((points.len() as u32).saturating_sub(1));
        pack(&mut parts, curve.iter().map(|entry| entry.1), width);
        ends.push(parts.len() as u64);
        let leaf = |leaf: &[(u64, u32)]| {
            GeoBox::around(leaf.iter().map(|&(_, index)| {
                let (_, lat, lng) = points[index as usize];
                GeoBox::point(lat, lng)
            }))
        };
        put_boxes(&mut parts, curve.chunks(LEAF_POINTS).map(leaf).collect());
        ends.push(parts.len() as u64);

        let mut header = Vec::with_capacity(HEADER_BYTES);
        put_u32(&mut header, points.len() as u32);
        header.extend_from_slice(&[encoding, width, 0, 0]);
        ends.iter().for_each(|&end| put_u64(&mut header, end));
        file.begin(SectionKind::Geo, 0)?;
        file.write(&header)?;
        file.write(&parts)?;
        file.end();
        Ok(())
    }
}

/// Writes the points in fixed-point form when each comes back exactly, and answers the encoding.
fn put_points(out: &mut Vec<u8>, points: &[(DocId, f64, f64)]) -> u8 {
    let fixed = |degrees: f64| {
        let fixed = (degrees * FIXED_SCALE).round();
        let fits = fixed.abs() <= f64::from(i32::MAX) && (fixed / FIXED_SCALE).to_bits() == degrees.to_bits();
        fits.then_some(fixed as i32)
    };
    let all: Option<Vec<(i32, i32)>> = points.iter().map(|&(_, lat, lng)| Some((fixed(lat)?, fixed(lng)?))).collect();
    match all {
        Some(all) => {
            for (lat, lng) in all {
                put_u32(out, lat as u32);
                put_u32(out, lng as u32);
            }
            FIXED
        }
        None => {
            for &(_, lat, lng) in points {
                put_u64(out, lat.to_bits());
                put_u64(out, lng.to_bits());
            }
            FLOATS
        }
    }
}
