//! Where documents are in the raw content of a block: their lengths stand before them.

use crate::bits::varint::read_varint;

/// Returns the range of document `wanted` in the raw content of a block with `doc_count` documents.
pub(super) fn document_range(raw: &[u8], doc_count: usize, wanted: usize) -> Option<std::ops::Range<usize>> {
    let (mut at, mut start, mut length) = (0, 0usize, 0usize);
    for doc in 0..doc_count {
        let next = read_varint(raw, &mut at)? as usize;
        if doc < wanted {
            start = start.checked_add(next)?;
        } else if doc == wanted {
            length = next;
        }
    }
    let start = start.checked_add(at)?;
    let end = start.checked_add(length)?;
    (end <= raw.len()).then_some(start..end)
}

/// Returns the offset in the raw content of a block at which the texts of its `doc_count` documents start, after their
/// lengths.
pub(super) fn lengths_end(raw: &[u8], doc_count: usize) -> Option<usize> {
    let mut at = 0;
    for _ in 0..doc_count {
        read_varint(raw, &mut at)?;
    }
    Some(at)
}

/// The sum of the lengths that these bytes hold.
pub(super) fn lengths_sum(lengths: &[u8]) -> Option<usize> {
    let (mut at, mut sum) = (0, 0usize);
    while at < lengths.len() {
        sum = sum.checked_add(usize::try_from(read_varint(lengths, &mut at)?).ok()?)?;
    }
    Some(sum)
}
