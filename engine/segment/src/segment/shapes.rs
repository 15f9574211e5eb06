//! "Which shapes may lie in this region?"
//!
//! Shapes are listed along a Z-curve through the middles of their boxes, each with its box; 16 boxes share a larger one,
//! and so on. A region is found by walking down the boxes it touches, and only shapes whose box crosses its border are
//! decoded.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use super::boxes::{BoxTree, curve_position, put_boxes};
use super::error::Damage;
use super::format::{SectionKind, SectionWriter};
use super::{BoxRelation, GeoBox, SegmentError};
use crate::bits::little_endian::{put_u32, put_u64, read_u32, read_u64};
use crate::bits::monotone::{Monotone, put_monotone};
use crate::bits::{BitsetBuilder, DocSet};
use crate::document::{Position, Shape};
use crate::storage::OwnedBytes;

const PART_COUNT: usize = 4;
const HEADER_BYTES: usize = 8 + PART_COUNT * 8;
/// A box of the lowest level is that of one shape.
const LEAF_SHAPES: usize = 1;

const DOCS: usize = 0;
const ENDS: usize = 1;
const BOXES: usize = 2;
const DATA: usize = 3;

/// The shapes of a segment's documents.
#[derive(Clone)]
pub struct Shapes {
    bytes: OwnedBytes,
    doc_count: u32,
    count: usize,
    parts: [usize; PART_COUNT + 1],
    ends: Monotone,
}

impl Shapes {
    pub fn open(bytes: OwnedBytes, doc_count: u32) -> Result<Shapes, Damage> {
        Shapes::parse(bytes, doc_count).ok_or(Damage("the shapes are cut or contradict themselves"))
    }

    fn parse(bytes: OwnedBytes, doc_count: u32) -> Option<Shapes> {
        let count = read_u32(&bytes, 0)?;
        let mut parts = [HEADER_BYTES; PART_COUNT + 1];
        for part in 0..PART_COUNT {
            let end = usize::try_from(read_u64(&bytes, 8 + 8 * part)?).ok()?;
            parts[part + 1] = HEADER_BYTES.checked_add(end)?;
        }
        if !parts.is_sorted() || parts[PART_COUNT] != bytes.len() || count > doc_count {
            return None;
        }
        let part = |index: usize| &bytes[parts[index]..parts[index + 1]];
        let count = count as usize;
        let ends = Monotone::open(part(ENDS)).filter(|ends| ends.len() == count)?;
        let consistent = part(DOCS).len() == count * 4 && part(BOXES).len() == BoxTree::byte_len(count, LEAF_SHAPES);
        let bytes = bytes.clone();
        consistent.then_some(Shapes { bytes, doc_count, count, parts, ends })
    }

    fn part(&self, index: usize) -> &[u8] {
        self.bytes.as_slice().get(self.parts[index]..self.parts[index + 1]).unwrap_or_default()
    }

    /// Number of documents with a shape.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Reports whether no document has a shape.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The document and the encoded shape at `index`, in no order that means anything.
    pub fn raw(&self, index: usize) -> Option<(DocId, &[u8])> {
        let ends = self.part(ENDS);
        let start = index.checked_sub(1).map_or(0, |before| self.ends.get(ends, before));
        let range = usize::try_from(start).ok()?..usize::try_from(self.ends.get(ends, index)).ok()?;
        Some((read_u32(self.part(DOCS), index * 4)?, self.part(DATA).get(range)?))
    }

    /// Bytes of all shapes as they are stored.
    pub(crate) fn data_bytes(&self) -> usize {
        self.part(DATA).len()
    }

    fn boxes(&self) -> BoxTree<'_> {
        BoxTree::new(self.part(BOXES), self.count, LEAF_SHAPES)
    }

    /// Documents of a region: `relate` judges the boxes of shapes, `touches` the shapes of crossing boxes. Cost: the
    /// boxes that the border of the region crosses, and the shapes in them.
    pub fn search(
        &self,
        relate: impl FnMut(&GeoBox) -> BoxRelation,
        mut touches: impl FnMut(&Shape) -> bool,
    ) -> DocSet {
        let mut set = BitsetBuilder::new(self.doc_count);
        self.boxes().search(relate, |shapes, relation| {
            for (doc, bytes) in shapes.filter_map(|index| self.raw(index)) {
                if relation == BoxRelation::Inside || Shape::decode(bytes).is_some_and(|shape| touches(&shape)) {
                    set.insert(doc);
                }
            }
        });
        set.finish()
    }

    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let boxes = self.boxes();
        let mut seen = vec![false; self.doc_count as usize];
        for index in 0..self.count {
            let shape = self.raw(index).and_then(|(doc, bytes)| Some((doc, Shape::decode(bytes)?)));
            let mut fresh = |doc: DocId| seen.get_mut(doc as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            if !shape.is_some_and(|(doc, shape)| boxes.leaf(index) == Some(bounds(&shape)) && fresh(doc)) {
                return Err(Damage("a shape cannot be read or is not the one of its box and document"));
            }
        }
        let all = self.search(|_| BoxRelation::Crossing, |_| true);
        if all.len() as usize == self.count { Ok(()) } else { Err(Damage("shapes cannot all be found")) }
    }
}

impl std::fmt::Debug for Shapes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Shapes({})", self.count)
    }
}

/// The smallest box around a shape.
fn bounds(shape: &Shape) -> GeoBox {
    GeoBox::around(shape.positions().map(|Position { x, y }| GeoBox::point(y, x)))
}

/// Collects shapes and writes the section.
#[derive(Debug, Default)]
pub(crate) struct ShapesBuilder {
    entries: Vec<ShapeRange>,
    /// Encoded shapes, one after the other.
    data: Vec<u8>,
}

#[derive(Clone, Debug)]
struct ShapeRange {
    doc: DocId,
    start: usize,
    end: usize,
    bounds: GeoBox,
}

impl ShapesBuilder {
    /// A later shape of the same document replaces the earlier one.
    pub(crate) fn push(&mut self, doc: DocId, shape: &Shape) {
        let start = self.data.len();
        shape.encode(&mut self.data);
        self.push_entry(doc, start, bounds(shape));
    }

    /// Works like [`push`](Self::push), for bytes of another section. Bytes that cannot be decoded are left out.
    pub(crate) fn push_encoded(&mut self, doc: DocId, bytes: &[u8]) {
        if let Some(shape) = Shape::decode(bytes) {
            let start = self.data.len();
            self.data.extend_from_slice(bytes);
            self.push_entry(doc, start, bounds(&shape));
        }
    }

    fn push_entry(&mut self, doc: DocId, start: usize, bounds: GeoBox) {
        self.entries.pop_if(|last| last.doc == doc);
        self.entries.push(ShapeRange { doc, start, end: self.data.len(), bounds });
    }

    /// Adds the documents of `other`, numbered from `first_doc` on.
    pub(crate) fn absorb(&mut self, other: &ShapesBuilder, first_doc: DocId) {
        let first = self.data.len();
        self.data.extend_from_slice(&other.data);
        let moved = |entry: &ShapeRange| ShapeRange {
            doc: entry.doc + first_doc,
            start: entry.start + first,
            end: entry.end + first,
            ..entry.clone()
        };
        self.entries.extend(other.entries.iter().map(moved));
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        self.entries.capacity() * (size_of::<ShapeRange>() + 16) + self.data.capacity()
    }

    /// `new_docs`: see `ColumnsBuilder::finish`.
    pub(crate) fn finish(&self, file: &mut SectionWriter, new_docs: Option<&[DocId]>) -> Result<(), SegmentError> {
        let new_doc = |doc: DocId| new_docs.map_or(doc, |new_docs| new_docs[doc as usize]);
        let mut entries: Vec<(u64, DocId, &ShapeRange)> = self
            .entries
            .iter()
            .map(|entry| (middle_on_curve(&entry.bounds), new_doc(entry.doc), entry))
            .filter(|(_, doc, _)| *doc != DocId::MAX)
            .collect();
        entries.sort_unstable_by_key(|&(position, doc, _)| (position, doc));

        let (mut parts, mut ends) = (Vec::new(), Vec::new());
        entries.iter().for_each(|(_, doc, _)| put_u32(&mut parts, *doc));
        ends.push(parts.len() as u64);
        let lengths = entries.iter().map(|(_, _, entry)| (entry.end - entry.start) as u64);
        let data_ends: Vec<u64> = lengths
            .scan(0, |end, length| {
                *end += length;
                Some(*end)
            })
            .collect();
        put_monotone(&mut parts, &data_ends);
        ends.push(parts.len() as u64);
        put_boxes(&mut parts, entries.iter().map(|(_, _, entry)| entry.bounds).collect());
        ends.push(parts.len() as u64);
        ends.push(parts.len() as u64 + data_ends.last().copied().unwrap_or(0));

        let mut header = Vec::with_capacity(HEADER_BYTES);
        put_u32(&mut header, entries.len() as u32);
        put_u32(&mut header, 0);
        ends.iter().for_each(|&end| put_u64(&mut header, end));
        file.begin(SectionKind::Shapes, 0)?;
        file.write(&header)?;
        file.write(&parts)?;
        for (_, _, entry) in entries {
            file.write(&self.data[entry.start..entry.end])?;
        }
        file.end();
        Ok(())
    }
}

fn middle_on_curve(bounds: &GeoBox) -> u64 {
    curve_position(bounds.lat_min.midpoint(bounds.lat_max), bounds.lng_min.midpoint(bounds.lng_max))
}
