//! "Which documents lie in this region?"
//!
//! Points are kept by document, so that the distance of a hit is one load. Beside them the documents are listed along a
//! Z-curve through the world: 64 neighbours on the curve share a bounding box, 16 boxes share a larger one, and so on. A
//! region is found by walking down the boxes it touches; only points of boxes on its border are looked at.
//!
//! The layout is in `segment-format.md`.

use super::SegmentError;
use super::error::Damage;
use super::format::{SectionKind, SectionWriter};
use crate::bits::bitpack::{bit_width, get_bits, pack, packed_bytes};
use crate::bits::little_endian::{put_u32, put_u64, read_f64, read_u32, read_u64};
use crate::bits::monotone::{Monotone, put_monotone};
use crate::bits::{BitsetBuilder, DocSet};
use crate::id::DocId;
use crate::storage::OwnedBytes;

const PART_COUNT: usize = 4;
const HEADER_BYTES: usize = 4 + 4 + PART_COUNT * 8;
const FLOATS: u8 = 0;
const FIXED: u8 = 1;
/// Fixed-point coordinates count ten-millionths of a degree, about a centimetre.
const FIXED_SCALE: f64 = 1e7;
const LEAF_POINTS: usize = 64;
const FAN_OUT: usize = 16;
const BOX_BYTES: usize = 32;

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

impl GeoBox {
    pub(super) const EMPTY: GeoBox = GeoBox {
        lat_min: f64::INFINITY,
        lat_max: f64::NEG_INFINITY,
        lng_min: f64::INFINITY,
        lng_max: f64::NEG_INFINITY,
    };

    pub(super) fn include(&mut self, other: &GeoBox) {
        self.lat_min = self.lat_min.min(other.lat_min);
        self.lat_max = self.lat_max.max(other.lat_max);
        self.lng_min = self.lng_min.min(other.lng_min);
        self.lng_max = self.lng_max.max(other.lng_max);
    }
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

/// Number of boxes per level, from the leaves up, for that many points.
fn level_sizes(point_count: usize) -> Vec<usize> {
    let mut sizes = vec![point_count.div_ceil(LEAF_POINTS)];
    while let Some(&last) = sizes.last().filter(|&&last| last > 1) {
        sizes.push(last.div_ceil(FAN_OUT));
    }
    sizes
}

impl Geo {
    pub(crate) fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Geo, Damage> {
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
            && part(BOXES).len() == level_sizes(count).iter().sum::<usize>() * BOX_BYTES;
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

    /// Whether no document has a point.
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

    fn geo_box(&self, number: usize) -> Option<GeoBox> {
        let (bytes, at) = (self.part(BOXES), number * BOX_BYTES);
        Some(GeoBox {
            lat_min: read_f64(bytes, at)?,
            lat_max: read_f64(bytes, at + 8)?,
            lng_min: read_f64(bytes, at + 16)?,
            lng_max: read_f64(bytes, at + 24)?,
        })
    }

    /// Documents of a region: `relate` judges boxes, `contains(lat, lng)` single points of crossing boxes.
    pub fn search(
        &self,
        mut relate: impl FnMut(&GeoBox) -> BoxRelation,
        mut contains: impl FnMut(f64, f64) -> bool,
    ) -> DocSet {
        let mut set = BitsetBuilder::new(self.doc_count);
        if self.is_empty() {
            return set.finish();
        }
        let sizes = level_sizes(self.point_count as usize);
        let starts: Vec<usize> =
            sizes.iter().scan(0, |start, &size| Some(std::mem::replace(start, *start + size))).collect();
        let mut open = vec![(sizes.len() - 1, 0)];
        while let Some((level, number)) = open.pop() {
            let Some(bounds) = self.geo_box(starts[level] + number) else { continue };
            match relate(&bounds) {
                BoxRelation::Outside => {}
                BoxRelation::Inside => {
                    let points = LEAF_POINTS * FAN_OUT.pow(level as u32);
                    self.each_on_curve(number * points..(number + 1) * points, |index| set.insert(self.doc_at(index)));
                }
                BoxRelation::Crossing if level > 0 => {
                    let children = number * FAN_OUT..((number + 1) * FAN_OUT).min(sizes[level - 1]);
                    open.extend(children.map(|child| (level - 1, child)));
                }
                BoxRelation::Crossing => {
                    self.each_on_curve(number * LEAF_POINTS..(number + 1) * LEAF_POINTS, |index| {
                        if self.coordinates(index).is_some_and(|(lat, lng)| contains(lat, lng)) {
                            set.insert(self.doc_at(index));
                        }
                    });
                }
            }
        }
        set.finish()
    }

    /// Visits documents roughly from near to far: boxes in the order of `distance(box)`, a lower bound for its points.
    /// `visit(doc, lat, lng)` answers the distance beyond which nothing is wanted any more.
    pub fn nearest(&self, mut distance: impl FnMut(&GeoBox) -> f64, mut visit: impl FnMut(DocId, f64, f64) -> f64) {
        if self.is_empty() {
            return;
        }
        let sizes = level_sizes(self.point_count as usize);
        let starts: Vec<usize> =
            sizes.iter().scan(0, |start, &size| Some(std::mem::replace(start, *start + size))).collect();
        let mut open = std::collections::BinaryHeap::new();
        let mut limit = f64::INFINITY;
        let mut push = |open: &mut std::collections::BinaryHeap<_>, level: usize, number: usize| {
            if let Some(bounds) = self.geo_box(starts[level] + number) {
                open.push(NearBox { distance: distance(&bounds), level, number });
            }
        };
        push(&mut open, sizes.len() - 1, 0);
        while let Some(NearBox { distance, level, number }) = open.pop() {
            if distance > limit {
                return;
            }
            if level > 0 {
                let children = number * FAN_OUT..((number + 1) * FAN_OUT).min(sizes[level - 1]);
                children.for_each(|child| push(&mut open, level - 1, child));
            } else {
                self.each_on_curve(number * LEAF_POINTS..(number + 1) * LEAF_POINTS, |index| {
                    if let Some((lat, lng)) = self.coordinates(index) {
                        limit = visit(self.doc_at(index), lat, lng);
                    }
                });
            }
        }
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

/// A box in a heap whose top is the nearest one.
#[derive(PartialEq)]
struct NearBox {
    distance: f64,
    level: usize,
    number: usize,
}

impl Eq for NearBox {}

impl Ord for NearBox {
    fn cmp(&self, other: &NearBox) -> std::cmp::Ordering {
        other.distance.total_cmp(&self.distance).then_with(|| other.number.cmp(&self.number))
    }
}

impl PartialOrd for NearBox {
    fn partial_cmp(&self, other: &NearBox) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

const fn point_bytes(encoding: u8) -> usize {
    if encoding == FLOATS { 16 } else { 8 }
}

/// Position on the Z-curve: the bits of both coordinates by turns.
pub(super) fn curve_position(lat: f64, lng: f64) -> u64 {
    let cell = |value: f64, half: f64| ((value + half) / (2.0 * half) * f64::from(u32::MAX)) as u32;
    spread(cell(lat, 90.0)) << 1 | spread(cell(lng, 180.0))
}

/// The bits of `value` at the even positions.
fn spread(value: u32) -> u64 {
    let mut x = u64::from(value);
    x = (x | x << 16) & 0x0000_ffff_0000_ffff;
    x = (x | x << 8) & 0x00ff_00ff_00ff_00ff;
    x = (x | x << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x << 2) & 0x3333_3333_3333_3333;
    (x | x << 1) & 0x5555_5555_5555_5555
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

    pub(crate) fn abandon_document(&mut self, doc: DocId) {
        self.points.pop_if(|last| last.0 == doc);
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
        put_boxes(&mut parts, &points, &curve);
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

fn put_boxes(out: &mut Vec<u8>, points: &[(DocId, f64, f64)], curve: &[(u64, u32)]) {
    let around = |boxes: &mut dyn Iterator<Item = GeoBox>| {
        let mut all = GeoBox::EMPTY;
        boxes.for_each(|one| all.include(&one));
        all
    };
    let mut level: Vec<GeoBox> = curve
        .chunks(LEAF_POINTS)
        .map(|leaf| {
            around(&mut leaf.iter().map(|&(_, index)| {
                let (_, lat, lng) = points[index as usize];
                GeoBox { lat_min: lat, lat_max: lat, lng_min: lng, lng_max: lng }
            }))
        })
        .collect();
    loop {
        for bounds in &level {
            for side in [bounds.lat_min, bounds.lat_max, bounds.lng_min, bounds.lng_max] {
                put_u64(out, side.to_bits());
            }
        }
        if level.len() <= 1 {
            return;
        }
        level = level.chunks(FAN_OUT).map(|boxes| around(&mut boxes.iter().copied())).collect();
    }
}
