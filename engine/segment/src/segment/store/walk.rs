//! The index of a store, made of its blocks: for one whose index is damaged.

use super::block::lengths_sum;
use super::pieces::Pieces;
use super::prepared::{Prepared, unpack};
use super::writer::{BlockHead, block_sum};
use crate::bits::little_endian::{put_u32, read_u32};
use crate::bits::monotone::put_monotone;
use crate::bits::varint::read_varint;
use crate::storage::OwnedBytes;
use zstd::zstd_safe::find_frame_compressed_size;

/// A block claims no more bytes than this for its content.
const RAW_BYTES_MAX: usize = 1 << 32;

/// Returns an index of `blocks`, with the checksums that they have now. Blocks follow each other, and each gives its number of
/// documents once it is unpacked. Behind one that cannot be unpacked nothing is known, and the documents of the rest are in one
/// block that cannot be read.
pub(in crate::segment) fn walked_index(blocks: &[u8], dictionaries: &[u8], doc_count: u32) -> OwnedBytes {
    let dictionaries = prepared(dictionaries);
    let (mut first_docs, mut ends) = (vec![0_u64], vec![0_u64]);
    let (mut at, mut docs, mut raw) = (0, 0, Vec::new());
    while let Some((bytes, count)) = blocks.get(at..).and_then(|rest| block(rest, &dictionaries, &mut raw)) {
        if count == 0 || docs + count > u64::from(doc_count) {
            break;
        }
        (at, docs) = (at + bytes, docs + count);
        first_docs.push(docs);
        ends.push(at as u64);
    }
    if docs < u64::from(doc_count) || at < blocks.len() {
        // Also where the documents are all there and bytes follow: the last block is none then, but covers the rest.
        first_docs.push(doc_count.into());
        ends.push(blocks.len() as u64);
    }
    let mut index = Vec::new();
    put_monotone(&mut index, &first_docs);
    put_monotone(&mut index, &ends);
    for block in ends.windows(2) {
        put_u32(&mut index, block_sum(&blocks[block[0] as usize..block[1] as usize]));
    }
    OwnedBytes::from(index)
}

/// Length and number of documents of the block that `bytes` begin with.
fn block(bytes: &[u8], dictionaries: &[Option<Prepared>], raw: &mut Vec<u8>) -> Option<(usize, u64)> {
    let (head, rest) = BlockHead::read(bytes)?;
    let dictionary = match head.dictionary {
        0 => None,
        number => Some(dictionaries.get(usize::from(number) - 1)?.as_ref()?),
    };
    let frame_bytes = match dictionary {
        Some(Prepared::Words(_)) => head.lengths_bytes.checked_add(lengths_sum(rest.get(..head.lengths_bytes)?)?)?,
        _ => find_frame_compressed_size(rest).ok()?,
    };
    let frame = rest.get(..frame_bytes)?;
    let bytes_max = head
        .raw_bytes_max()
        .filter(|bytes| *bytes <= RAW_BYTES_MAX.min(frame.len().saturating_mul(1 << 15) + (1 << 17)))?;
    unpack(dictionary, frame, bytes_max, raw).ok()?;
    let lengths = raw.get(..head.lengths_bytes)?;
    let (mut at, mut count) = (0, 0);
    while at < lengths.len() {
        read_varint(lengths, &mut at)?;
        count += 1;
    }
    Some((bytes.len() - rest.len() + frame.len(), count))
}

fn prepared(section: &[u8]) -> Vec<Option<Prepared>> {
    let count = usize::from(section.first().copied().unwrap_or(0));
    let mut at = 1 + 4 * count;
    let mut next = |index: usize| {
        let end = at.checked_add(read_u32(section, 1 + 4 * index)? as usize)?;
        let dictionary = section.get(at..end)?;
        at = end;
        Prepared::new(dictionary, &Pieces::default())
    };
    (0..count).map(&mut next).collect()
}
