//! Writing a section: a few passes over the documents, nothing of them is kept.

use super::{StoredVectors, VectorShape};
use crate::bits::little_endian::{put_u16, put_u32};
use crate::segment::SegmentError;
use crate::segment::format::{SectionKind, SectionWriter};

/// Bytes before the name.
pub(super) const HEADER_BYTES: usize = 2 + 1 + 1 + 4 + 4 + 4;
/// Vectors are bits.
pub(super) const BINARY: u8 = 1;
/// Hashes are there.
pub(super) const HASHES: u8 = 2;
/// Each document has exactly one vector.
pub(super) const ONE_EACH: u8 = 4;
/// Parts start at multiples of this.
pub(super) const PART_ALIGNMENT: usize = 8;

/// Receives the documents of a pass.
type Visit<'v> = dyn FnMut(StoredVectors<'_>) -> Result<(), SegmentError> + 'v;

/// Writes the section of an embedder. `documents` hands all documents to its argument, in order, each time the same.
pub(super) fn write_section(
    file: &mut SectionWriter,
    number: u16,
    name: &str,
    shape: VectorShape,
    doc_count: u32,
    documents: impl Fn(&mut Visit<'_>) -> Result<(), SegmentError>,
) -> Result<(), SegmentError> {
    let (mut states, mut vector_count, mut has_hashes) = (Vec::with_capacity(doc_count as usize), 0u64, false);
    let mut one_each = true;
    documents(&mut |stored| {
        states.push(stored.state.0);
        vector_count += u64::from(stored.count);
        has_hashes |= stored.state.has_hash();
        one_each &= stored.count == 1;
        Ok(())
    })?;
    let vector_count = u32::try_from(vector_count)
        .map_err(|_| SegmentError::Limit { what: "vectors of an embedder", limit: u64::from(u32::MAX) })?;
    let mut header = Vec::with_capacity(HEADER_BYTES + name.len());
    put_u16(
        &mut header,
        u16::try_from(name.len()).map_err(|_| SegmentError::Limit {
            what: "bytes in the name of an embedder",
            limit: u64::from(u16::MAX),
        })?,
    );
    let flags = [(shape.binary, BINARY), (has_hashes, HASHES), (one_each, ONE_EACH)];
    header.push(flags.iter().filter(|(holds, _)| *holds).fold(0, |flags, (_, flag)| flags | flag));
    header.push(0);
    put_u32(&mut header, shape.dimensions);
    put_u32(&mut header, vector_count);
    put_u32(&mut header, doc_count);
    header.extend_from_slice(name.as_bytes());

    file.begin_in_blocks(SectionKind::Vectors, number)?;
    file.write(&header)?;
    pad(file)?;
    file.write(&states)?;
    drop(states);
    pad(file)?;
    let mut start = 0u32;
    file.write(&start.to_le_bytes())?;
    documents(&mut |stored| {
        start += stored.count;
        file.write(&start.to_le_bytes())
    })?;
    pad(file)?;
    if has_hashes {
        documents(&mut |stored| file.write(&stored.text_hash.to_le_bytes()))?;
    }
    if !shape.binary {
        documents(&mut |stored| file.write(stored.inverse_norms))?;
        pad(file)?;
    }
    documents(&mut |stored| file.write(stored.rows))?;
    file.end_in_blocks(SectionKind::VectorSums)
}

fn pad(file: &mut SectionWriter) -> Result<(), SegmentError> {
    let over = (file.section_bytes() % PART_ALIGNMENT as u64) as usize;
    if over == 0 { Ok(()) } else { file.write(&[0; PART_ALIGNMENT][over..]) }
}
