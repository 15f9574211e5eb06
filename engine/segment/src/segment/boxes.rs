//! A tree of boxes over items that lie along a Z-curve through the world.
//!
//! Neighbours on the curve share a bounding box, 16 boxes share a larger one, and so on. A region is found by walking down
//! the boxes it touches.

use std::collections::BinaryHeap;
use std::ops::Range;

use crate::bits::little_endian::{put_u64, read_f64};

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
    /// The box of one point.
    pub(super) fn point(lat: f64, lng: f64) -> GeoBox {
        GeoBox { lat_min: lat, lat_max: lat, lng_min: lng, lng_max: lng }
    }

    /// The smallest box around some boxes.
    pub(super) fn around(boxes: impl IntoIterator<Item = GeoBox>) -> GeoBox {
        let none = GeoBox {
            lat_min: f64::INFINITY,
            lat_max: f64::NEG_INFINITY,
            lng_min: f64::INFINITY,
            lng_max: f64::NEG_INFINITY,
        };
        boxes.into_iter().fold(none, |all, one| GeoBox {
            lat_min: all.lat_min.min(one.lat_min),
            lat_max: all.lat_max.max(one.lat_max),
            lng_min: all.lng_min.min(one.lng_min),
            lng_max: all.lng_max.max(one.lng_max),
        })
    }
}

/// Relation of a box of points to the wanted region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoxRelation {
    /// No point of the box is wanted.
    Outside,
    /// Every point of the box is wanted.
    Inside,
    /// Points have to be looked at one by one.
    Crossing,
}

/// The boxes over `count` items, level by level from the leaves up.
pub(super) struct BoxTree<'a> {
    bytes: &'a [u8],
    count: usize,
    leaf_items: usize,
    /// Number of boxes of each level, and of those before it.
    sizes: Vec<usize>,
    starts: Vec<usize>,
}

impl<'a> BoxTree<'a> {
    /// `leaf_items`: how many items share a box of the lowest level.
    pub(super) fn new(bytes: &'a [u8], count: usize, leaf_items: usize) -> BoxTree<'a> {
        let sizes = level_sizes(count, leaf_items);
        let starts = sizes.iter().scan(0, |start, &size| Some(std::mem::replace(start, *start + size))).collect();
        BoxTree { bytes, count, leaf_items, sizes, starts }
    }

    /// Bytes of the boxes of so many items.
    pub(super) fn byte_len(count: usize, leaf_items: usize) -> usize {
        level_sizes(count, leaf_items).iter().sum::<usize>() * BOX_BYTES
    }

    /// A box of the lowest level.
    pub(super) fn leaf(&self, number: usize) -> Option<GeoBox> {
        self.read(0, number)
    }

    fn read(&self, level: usize, number: usize) -> Option<GeoBox> {
        let at = (self.starts.get(level)? + number) * BOX_BYTES;
        Some(GeoBox {
            lat_min: read_f64(self.bytes, at)?,
            lat_max: read_f64(self.bytes, at + 8)?,
            lng_min: read_f64(self.bytes, at + 16)?,
            lng_max: read_f64(self.bytes, at + 24)?,
        })
    }

    /// Items below a box, along the curve.
    fn items(&self, level: usize, number: usize) -> Range<usize> {
        let items = self.leaf_items * FAN_OUT.pow(level as u32);
        number * items..((number + 1) * items).min(self.count)
    }

    fn children(&self, level: usize, number: usize) -> Range<usize> {
        number * FAN_OUT..((number + 1) * FAN_OUT).min(self.sizes[level - 1])
    }

    /// Calls `inside` with the items, along the curve, of boxes in the region, and `crossing` with those of the boxes of
    /// the lowest level on its border.
    pub(super) fn search(
        &self,
        mut relate: impl FnMut(&GeoBox) -> BoxRelation,
        mut found: impl FnMut(Range<usize>, BoxRelation),
    ) {
        if self.count == 0 {
            return;
        }
        let mut open = vec![(self.sizes.len() - 1, 0)];
        while let Some((level, number)) = open.pop() {
            let Some(bounds) = self.read(level, number) else { continue };
            match relate(&bounds) {
                BoxRelation::Outside => {}
                BoxRelation::Crossing if level > 0 => {
                    open.extend(self.children(level, number).map(|child| (level - 1, child)));
                }
                relation => found(self.items(level, number), relation),
            }
        }
    }

    /// Calls `visit` with the items of boxes of the lowest level in the order of `distance(box)`, until that is more than
    /// what `visit` answered last.
    pub(super) fn nearest(&self, mut distance: impl FnMut(&GeoBox) -> f64, mut visit: impl FnMut(Range<usize>) -> f64) {
        if self.count == 0 {
            return;
        }
        let mut open = BinaryHeap::new();
        let mut limit = f64::INFINITY;
        let mut push = |open: &mut BinaryHeap<_>, level: usize, number: usize| {
            if let Some(bounds) = self.read(level, number) {
                open.push(NearBox { distance: distance(&bounds), level, number });
            }
        };
        push(&mut open, self.sizes.len() - 1, 0);
        while let Some(NearBox { distance, level, number }) = open.pop() {
            if distance > limit {
                return;
            }
            if level > 0 {
                self.children(level, number).for_each(|child| push(&mut open, level - 1, child));
            } else {
                limit = visit(self.items(0, number));
            }
        }
    }
}

/// Number of boxes per level, from the leaves up.
fn level_sizes(count: usize, leaf_items: usize) -> Vec<usize> {
    let mut sizes = vec![count.div_ceil(leaf_items)];
    while let Some(&last) = sizes.last().filter(|&&last| last > 1) {
        sizes.push(last.div_ceil(FAN_OUT));
    }
    sizes
}

/// Writes the boxes of all levels over those of the lowest one.
pub(super) fn put_boxes(out: &mut Vec<u8>, mut level: Vec<GeoBox>) {
    loop {
        for bounds in &level {
            for side in [bounds.lat_min, bounds.lat_max, bounds.lng_min, bounds.lng_max] {
                put_u64(out, side.to_bits());
            }
        }
        if level.len() <= 1 {
            return;
        }
        level = level.chunks(FAN_OUT).map(|boxes| GeoBox::around(boxes.iter().copied())).collect();
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
