//! What is known of each term without its list.
//!
//! All infos of a segment have the same width, the least that its numbers fit into, so any of them is one load away.

use super::ZONE_BITS;
use crate::bits::bitpack::{bit_width, bit_width_u64};
use crate::bits::little_endian::read_u64_padded;
use crate::segment::format::{DOCS_MAX, POSTINGS_BYTES_MAX};
use crate::storage::OwnedBytes;

/// The info of one term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermInfo {
    /// The only posting.
    Single { doc: u32, code: u32, zone: u8 },
    /// Number of postings, and where they are in the postings section.
    List { doc_freq: u32, offset: u64 },
}

const DOC_BITS: u8 = bit_width(DOCS_MAX);
const OFFSET_BITS: u8 = bit_width_u64(POSTINGS_BYTES_MAX - 1);
/// Wider infos take 64 bits, so that each is within one load.
const WIDTH_MAX: u8 = 57;
/// Widths of documents, codes, numbers of postings, offsets.
const HEADER_BYTES: usize = 4;

/// Bit widths of the parts of a term info. From the lowest bit on, an info is either 1 (a single posting), its
/// document, code and zone; or 0, the number of postings and the offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    doc: u8,
    code: u8,
    doc_freq: u8,
    offset: u8,
}

impl Shape {
    /// The least widths that every number fits into.
    const NOTHING: Shape = Shape { doc: 0, code: 0, doc_freq: 0, offset: 0 };
    const WIDEST: Shape = Shape { doc: DOC_BITS, code: 32, doc_freq: DOC_BITS, offset: OFFSET_BITS };

    fn of(infos: &[TermInfo]) -> Shape {
        infos.iter().fold(Shape::NOTHING, |all, info| match *info {
            TermInfo::Single { doc, code, .. } => {
                Shape { doc: all.doc.max(bit_width(doc)), code: all.code.max(bit_width(code)), ..all }
            }
            TermInfo::List { doc_freq, offset } => Shape {
                doc_freq: all.doc_freq.max(bit_width(doc_freq)),
                offset: all.offset.max(bit_width_u64(offset)),
                ..all
            },
        })
    }

    fn width(self) -> u8 {
        let width = 1 + (self.doc + self.code + ZONE_BITS).max(self.doc_freq + self.offset);
        if width > WIDTH_MAX { 64 } else { width }
    }

    fn fits(self, widest: Shape) -> bool {
        self.doc <= widest.doc
            && self.code <= widest.code
            && self.doc_freq <= widest.doc_freq
            && self.offset <= widest.offset
    }

    fn pack(self, info: TermInfo) -> u64 {
        match info {
            TermInfo::Single { doc, code, zone } => {
                1 | (u64::from(doc) | (u64::from(code) | u64::from(zone) << self.code) << self.doc) << 1
            }
            TermInfo::List { doc_freq, offset } => (u64::from(doc_freq) | offset << self.doc_freq) << 1,
        }
    }

    #[inline]
    fn unpack(self, bits: u64) -> TermInfo {
        let rest = bits >> 1;
        let low = |bits: u64, width: u8| bits & ((1 << width) - 1);
        if bits & 1 == 1 {
            TermInfo::Single {
                doc: low(rest, self.doc) as u32,
                code: low(rest >> self.doc, self.code) as u32,
                zone: low(rest >> (self.doc + self.code), ZONE_BITS) as u8,
            }
        } else {
            TermInfo::List {
                doc_freq: low(rest, self.doc_freq) as u32,
                offset: low(rest >> self.doc_freq, self.offset),
            }
        }
    }
}

/// The section of some infos, in the order of their terms.
pub(super) fn put_infos(infos: &[TermInfo]) -> Vec<u8> {
    let shape = Shape::of(infos);
    let width = usize::from(shape.width());
    let mut out = vec![shape.doc, shape.code, shape.doc_freq, shape.offset];
    out.resize(HEADER_BYTES + (infos.len() * width).div_ceil(8), 0);
    for (index, &info) in infos.iter().enumerate() {
        let bit = index * width;
        let bytes = (u128::from(shape.pack(info)) << (bit % 8)).to_le_bytes();
        out[HEADER_BYTES + bit / 8..].iter_mut().zip(bytes).for_each(|(byte, more)| *byte |= more);
    }
    out
}

/// The infos of a mapped segment.
#[derive(Clone)]
pub(super) struct TermInfos {
    bytes: OwnedBytes,
    shape: Shape,
    width: usize,
    count: u32,
}

impl TermInfos {
    /// `None` when there are not `count` of them.
    pub(super) fn open(bytes: OwnedBytes, count: u32) -> Option<TermInfos> {
        let &[doc, code, doc_freq, offset] = bytes.first_chunk::<HEADER_BYTES>()?;
        let shape = Shape { doc, code, doc_freq, offset };
        if !shape.fits(Shape::WIDEST) {
            return None;
        }
        let width = usize::from(shape.width());
        let len = HEADER_BYTES + (count as usize * width).div_ceil(8);
        (bytes.len() == len).then_some(TermInfos { bytes, shape, width, count })
    }

    /// The info of the term at `index`, counted from the first term. One load.
    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<TermInfo> {
        if index >= self.count {
            return None;
        }
        let bit = index as usize * self.width;
        let bits = read_u64_padded(&self.bytes, HEADER_BYTES + bit / 8) >> (bit % 8);
        Some(self.shape.unpack(bits & (u64::MAX >> (64 - self.width))))
    }
}

#[cfg(test)]
mod tests {
    use super::super::ZONE_MAX;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn infos_come_back(
            raw in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u32>(), any::<u64>()), 0..200),
            narrow in 0u32..27,
        ) {
            let info = |&(single, a, b, c): &(bool, u32, u32, u64)| {
                if single {
                    TermInfo::Single { doc: (a & DOCS_MAX) >> narrow, code: b >> narrow, zone: c as u8 & ZONE_MAX }
                } else {
                    TermInfo::List { doc_freq: (a & DOCS_MAX) >> narrow, offset: (c % POSTINGS_BYTES_MAX) >> narrow }
                }
            };
            let infos: Vec<TermInfo> = raw.iter().map(info).collect();
            let section = put_infos(&infos);
            let read = TermInfos::open(OwnedBytes::from(section.clone()), infos.len() as u32).unwrap();
            for (index, &info) in (0..).zip(&infos) {
                prop_assert_eq!(read.get(index), Some(info));
            }
            prop_assert_eq!(read.get(infos.len() as u32), None);
            let more = infos.len() as u32 + 8;
            prop_assert!(TermInfos::open(OwnedBytes::from(section), more).is_none());
        }

        #[test]
        fn damaged_infos_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..40), count in 0u32..20) {
            if let Some(infos) = TermInfos::open(OwnedBytes::from(bytes), count) {
                prop_assert!((0..count).all(|index| infos.get(index).is_some()));
            }
        }
    }
}
