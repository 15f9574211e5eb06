//! Writing the codes of an embedder's vectors.

use super::VectorCodes;
use super::are_coded;
use super::lists::{Centres, Check, Lists, list_count};
use super::quantizer::{Quantizer, code_bytes};
use super::rows::RowSource;
use crate::bits::little_endian::put_u32;
use crate::segment::format::{SectionKind, SectionWriter};
use crate::segment::{ListThresholds, SegmentError, VectorShape};

/// Dimensions, number of vectors, number of lists, reach.
pub(super) const HEADER_BYTES: usize = 4 * 4;
/// Codes start at a multiple of this: a block is loaded from one line of the cache.
pub(super) const CODES_ALIGNMENT: usize = 32;

/// Lists of a segment that becomes a part of the new one.
pub(crate) struct EarlierLists<'e> {
    codes: &'e VectorCodes,
    /// By number in the earlier segment, one more than the list; 0 before it was asked for.
    list_of: Vec<u32>,
    /// The number that a vector of the new segment had in the earlier one, if it was there.
    number_of: &'e dyn Fn(usize) -> Option<u32>,
}

impl<'e> EarlierLists<'e> {
    /// Takes some bytes for each vector of `codes`; `None` when it has no lists.
    pub(crate) fn new(codes: &'e VectorCodes, number_of: &'e dyn Fn(usize) -> Option<u32>) -> Option<EarlierLists<'e>> {
        codes.has_lists().then(|| EarlierLists { list_of: codes.lists_of_rows(), codes, number_of })
    }

    /// The list that a vector of the new segment is in already.
    fn list(&self, row: usize) -> Option<u32> {
        self.list_of.get((self.number_of)(row)? as usize)?.checked_sub(1)
    }

    /// Reports whether the earlier centres are enough for `vector_count` vectors.
    fn serves(&self, vector_count: usize) -> bool {
        (self.codes.vector_count() as usize) * 2 >= vector_count
            && self.codes.list_count() * 2 >= list_count(vector_count)
    }
}

/// The vectors that codes are made of.
#[derive(Clone, Copy)]
pub(crate) struct CodedRows<'r> {
    pub shape: VectorShape,
    /// Little-endian `f32`, in order.
    pub rows: &'r [&'r [u8]],
    pub thresholds: &'r ListThresholds,
}

/// Writes the codes of `coded`, unless they are too few to need any. `earlier` are the
/// lists of the largest part that was coded before.
pub(crate) fn write_codes(
    file: &mut SectionWriter,
    number: u16,
    coded: CodedRows<'_>,
    earlier: Option<EarlierLists<'_>>,
    check: &Check<'_>,
) -> Result<(), SegmentError> {
    let CodedRows { shape, rows, thresholds } = coded;
    if !are_coded(shape, rows.len(), thresholds) {
        return Ok(());
    }
    let rows = RowSource::new(shape.dimensions as usize, rows);
    let lists = match earlier.filter(|earlier| earlier.serves(rows.len())) {
        _ if rows.len() < thresholds.listed_vectors_min => None,
        Some(earlier) => Some(Lists::sort(&rows, earlier.codes.centres(), &|row| earlier.list(row), check)?),
        None => Some(Lists::sort(&rows, Centres::train(&rows, check)?, &|_| None, check)?),
    };
    write_section(file, number, &rows, lists.as_ref(), check)
}

/// Writes the section, whatever the number of vectors.
pub(super) fn write_section(
    file: &mut SectionWriter,
    number: u16,
    rows: &RowSource<'_>,
    lists: Option<&Lists>,
    check: &Check<'_>,
) -> Result<(), SegmentError> {
    let as_u32 = |number: usize| u32::try_from(number).expect("the section of the vectors counts them in 32 bits");
    let mut head = Vec::with_capacity(HEADER_BYTES);
    put_u32(&mut head, as_u32(rows.dimensions()));
    put_u32(&mut head, as_u32(rows.len()));
    put_u32(&mut head, lists.map_or(0, |lists| as_u32(lists.centres.count)));
    put_u32(&mut head, lists.map_or(0.0, |lists| lists.reach).to_bits());
    if let Some(lists) = lists {
        head.extend_from_slice(&lists.centres.bytes);
        for spread in &lists.spreads {
            put_u32(&mut head, spread.along.to_bits());
            put_u32(&mut head, spread.across.to_bits());
        }
        lists.starts.iter().for_each(|start| put_u32(&mut head, *start));
        lists.rows.iter().for_each(|row| put_u32(&mut head, *row));
    }
    file.begin_in_blocks(SectionKind::VectorCodes, number)?;
    file.write(&head)?;
    drop(head);
    let over = (file.section_bytes() % CODES_ALIGNMENT as u64) as usize;
    if over > 0 {
        file.write(&[0; CODES_ALIGNMENT][over..])?;
    }
    let mut quantizer = Quantizer::new(rows.dimensions());
    let mut code = Vec::with_capacity(code_bytes(rows.dimensions()));
    let mut factors = Vec::with_capacity(rows.len() * 4);
    for place in 0..rows.len() {
        if place % 1024 == 0 {
            check()?;
        }
        let row = lists.map_or(place, |lists| lists.rows[place] as usize);
        code.clear();
        let factor = quantizer.encode(rows.row(row), &mut code);
        factors.extend_from_slice(&factor.to_le_bytes());
        file.write(&code)?;
    }
    file.write(&factors)?;
    file.end_in_blocks(SectionKind::VectorCodeSums)
}
