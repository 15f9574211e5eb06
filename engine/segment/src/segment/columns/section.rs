//! Writes one column from its values in order.

use lamina_text::id::{DocId, FieldId};

use super::doc_sets::put_doc_set;
use super::{DENSE_DOCS_MIN, DENSE_SHARE};
use crate::bits::bitpack::{bit_width, pack};
use crate::bits::little_endian::{put_u32, put_u64};
use crate::bits::monotone::put_monotone;
use crate::segment::SegmentError;
use crate::segment::format::{SectionKind, SectionWriter};

pub(super) const PART_COUNT: usize = 9;
pub(super) const HEADER_BYTES: usize = 5 * 4 + 4 + PART_COUNT * 8;
/// Numbers are stored as they are.
pub(super) const RAW_NUMBERS: u8 = 255;
/// Numbers with up to this many decimals are stored as integers.
pub(super) const EXPONENT_MAX: u8 = 4;

/// Contents of a column.
#[derive(Debug, Default)]
pub(crate) struct ColumnData {
    pub doc_count: u32,
    /// Distinct, ascending, finite, no negative zero.
    pub numbers: Vec<f64>,
    pub strings: StringList,
    pub(crate) originals: StringList,
    /// (document, ordinal), strictly ascending.
    pub pairs: Vec<(DocId, u32)>,
    /// Strictly ascending documents.
    pub null: Vec<DocId>,
    pub empty: Vec<DocId>,
    pub exists: Vec<DocId>,
    pub blank: Vec<DocId>,
    /// True if the field of each document with a number here is that number, and is neither a list nor written with
    /// more digits than a column keeps.
    pub is_plain: bool,
}

/// Texts one after the other.
#[derive(Debug)]
pub(crate) struct StringList {
    ends: Vec<u64>,
    bytes: Vec<u8>,
}

impl Default for StringList {
    fn default() -> StringList {
        StringList { ends: vec![0], bytes: Vec::new() }
    }
}

impl StringList {
    pub(crate) fn push(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
        self.ends.push(self.bytes.len() as u64);
    }

    fn len(&self) -> usize {
        self.ends.len() - 1
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_monotone(out, &self.ends);
        out.extend_from_slice(&self.bytes);
    }
}

/// Writes the section of a column.
pub(crate) fn write_column(file: &mut SectionWriter, field: FieldId, data: &ColumnData) -> Result<(), SegmentError> {
    file.section(SectionKind::Column, field, &encode_column(data))
}

/// The bytes of the section.
pub(super) fn encode_column(data: &ColumnData) -> Vec<u8> {
    debug_assert!(data.pairs.is_sorted_by(|a, b| a < b));
    debug_assert_eq!(data.strings.len(), data.originals.len());
    let value_count = (data.numbers.len() + data.strings.len()) as u32;
    let is_multi = data.pairs.windows(2).any(|pair| pair[0].0 == pair[1].0);
    let mut counts = vec![0u32; value_count as usize];
    data.pairs.iter().for_each(|&(_, ordinal)| counts[ordinal as usize] += 1);
    let dense: Vec<u32> = (0..value_count).filter(|&o| is_dense(counts[o as usize], data.doc_count)).collect();
    let forward_width = bit_width(if is_multi { value_count.saturating_sub(1) } else { value_count });
    let inverted_width = bit_width(data.doc_count.saturating_sub(1));

    // The header is filled in at the end.
    let mut parts = vec![0; HEADER_BYTES];
    let mut ends = Vec::with_capacity(PART_COUNT);
    let mut end_part = |parts: &Vec<u8>| ends.push((parts.len() - HEADER_BYTES) as u64);
    put_numbers(&mut parts, &data.numbers);
    end_part(&parts);
    data.strings.put(&mut parts);
    end_part(&parts);
    data.originals.put(&mut parts);
    end_part(&parts);
    put_forward(&mut parts, data, is_multi, forward_width, &mut end_part);
    put_inverted(&mut parts, data, &counts, &dense, inverted_width, &mut end_part);
    put_dense(&mut parts, data, &counts, &dense);
    end_part(&parts);
    for set in [&data.null, &data.empty, &data.exists, &data.blank] {
        let at = parts.len();
        put_u32(&mut parts, 0);
        put_doc_set(&mut parts, set, data.doc_count);
        let length = (parts.len() - at - 4) as u32;
        parts[at..at + 4].copy_from_slice(&length.to_le_bytes());
    }
    end_part(&parts);

    let mut header = Vec::with_capacity(HEADER_BYTES);
    put_u32(&mut header, data.doc_count);
    put_u32(&mut header, value_count);
    put_u32(&mut header, data.numbers.len() as u32);
    put_u32(&mut header, data.pairs.len() as u32);
    put_u32(&mut header, dense.len() as u32);
    let is_plain = data.is_plain && !is_multi;
    header.extend_from_slice(&[forward_width, inverted_width, u8::from(is_multi), u8::from(is_plain)]);
    ends.iter().for_each(|&end| put_u64(&mut header, end));
    parts[..HEADER_BYTES].copy_from_slice(&header);
    parts
}

fn is_dense(count: u32, doc_count: u32) -> bool {
    doc_count >= DENSE_DOCS_MIN && u64::from(count) * u64::from(DENSE_SHARE) >= u64::from(doc_count)
}

fn put_forward(parts: &mut Vec<u8>, data: &ColumnData, is_multi: bool, width: u8, end_part: &mut impl FnMut(&Vec<u8>)) {
    let mut pairs = data.pairs.iter().copied().peekable();
    if is_multi {
        let mut offsets = Vec::with_capacity(data.doc_count as usize + 1);
        let mut offset = 0u64;
        for doc in 0..data.doc_count {
            offsets.push(offset);
            while pairs.next_if(|pair| pair.0 == doc).is_some() {
                offset += 1;
            }
        }
        offsets.push(offset);
        put_monotone(parts, &offsets);
        end_part(parts);
        pack(parts, data.pairs.iter().map(|pair| pair.1), width);
    } else {
        end_part(parts);
        let values = (0..data.doc_count).map(|doc| pairs.next_if(|pair| pair.0 == doc).map_or(0, |pair| pair.1 + 1));
        pack(parts, values, width);
    }
    end_part(parts);
}

fn put_inverted(
    parts: &mut Vec<u8>,
    data: &ColumnData,
    counts: &[u32],
    dense: &[u32],
    width: u8,
    end_part: &mut impl FnMut(&Vec<u8>),
) {
    let mut offsets = Vec::with_capacity(counts.len() + 1);
    let mut offset = 0u64;
    let mut dense = dense.iter().copied().peekable();
    const DENSE: u64 = u64::MAX;
    let mut next = Vec::with_capacity(counts.len());
    for (ordinal, &count) in counts.iter().enumerate() {
        offsets.push(offset);
        if dense.next_if_eq(&(ordinal as u32)).is_some() {
            next.push(DENSE);
        } else {
            next.push(offset);
            offset += u64::from(count);
        }
    }
    offsets.push(offset);
    let mut docs = vec![0; offset as usize];
    for &(doc, ordinal) in &data.pairs {
        let slot = &mut next[ordinal as usize];
        if *slot != DENSE {
            docs[*slot as usize] = doc;
            *slot += 1;
        }
    }
    put_monotone(parts, &offsets);
    end_part(parts);
    pack(parts, docs, width);
    end_part(parts);
}

fn put_dense(parts: &mut Vec<u8>, data: &ColumnData, counts: &[u32], dense: &[u32]) {
    for &ordinal in dense {
        put_u32(parts, ordinal);
        put_u32(parts, counts[ordinal as usize]);
    }
    let bitset_bytes = (data.doc_count as usize).div_ceil(64) * 8;
    let at = parts.len();
    parts.resize(at + dense.len() * bitset_bytes, 0);
    if dense.is_empty() {
        return;
    }
    let mut places = vec![usize::MAX; counts.len()];
    dense.iter().enumerate().for_each(|(i, &ordinal)| places[ordinal as usize] = at + i * bitset_bytes);
    for &(doc, ordinal) in &data.pairs {
        let place = places[ordinal as usize];
        if place != usize::MAX {
            parts[place + doc as usize / 8] |= 1 << (doc % 8);
        }
    }
}

/// The integer that stands for `value` when it has at most `exponent` decimals, provided that it comes back exactly.
fn scaled(value: f64, exponent: u8) -> Option<i64> {
    /// Integers up to this are exact in a float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let scale = 10f64.powi(i32::from(exponent));
    let integer = (value * scale).round();
    (integer.abs() < EXACT && integer / scale == value).then_some(integer as i64)
}

fn put_numbers(out: &mut Vec<u8>, numbers: &[f64]) {
    let integers = (0..=EXPONENT_MAX).find_map(|exponent| {
        let integers: Option<Vec<i64>> = numbers.iter().map(|&n| scaled(n, exponent)).collect();
        integers.map(|integers| (exponent, integers))
    });
    let Some((exponent, integers)) = integers else {
        out.push(RAW_NUMBERS);
        return numbers.iter().for_each(|n| out.extend_from_slice(&n.to_bits().to_le_bytes()));
    };
    let smallest = integers.first().copied().unwrap_or(0);
    out.push(exponent);
    put_u64(out, smallest as u64);
    let distances: Vec<u64> = integers.iter().map(|&integer| (integer - smallest) as u64).collect();
    put_monotone(out, &distances);
}
