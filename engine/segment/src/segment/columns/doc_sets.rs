//! Sets of documents in a section.
//!
//! The layout is in `segment-format.md`.

use lamina_text::id::DocId;

use crate::bits::bitpack::{bit_width, pack, packed_bytes, unpack};
use crate::bits::little_endian::{put_u32, read_u32};
use crate::bits::{BitsetBuilder, DocSet};

const NONE: u8 = 0;
const ALL: u8 = 1;
const LIST: u8 = 2;
const BITSET: u8 = 3;

/// Appends `docs` (strictly ascending, below `doc_count`).
pub(crate) fn put_doc_set(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    let Some(&last) = docs.last() else { return out.push(NONE) };
    if docs.len() == doc_count as usize {
        return out.push(ALL);
    }
    let width = bit_width(last);
    let bitset_bytes = (doc_count as usize).div_ceil(64) * 8;
    if packed_bytes(docs.len(), width) + 5 <= bitset_bytes {
        out.push(LIST);
        put_u32(out, docs.len() as u32);
        out.push(width);
        return pack(out, docs.iter().copied(), width);
    }
    out.push(BITSET);
    let at = out.len();
    out.resize(at + bitset_bytes, 0);
    for &doc in docs {
        out[at + doc as usize / 8] |= 1 << (doc % 8);
    }
}

/// Reads a set; `None` when it is cut or of no known kind.
pub(crate) fn read_doc_set(bytes: &[u8], doc_count: u32) -> Option<DocSet> {
    match *bytes.first()? {
        NONE => Some(DocSet::empty()),
        ALL => Some(DocSet::full(doc_count)),
        LIST => {
            let count = read_u32(bytes, 1)?.min(doc_count) as usize;
            let width = *bytes.get(5)?;
            let packed = bytes.get(6..)?.get(..packed_bytes(count, width))?;
            if width > 32 {
                return None;
            }
            let mut docs = Vec::with_capacity(count);
            unpack(packed, count, width, |doc| docs.push(doc));
            let valid = docs.is_sorted_by(|a, b| a < b) && docs.last().is_none_or(|&last| last < doc_count);
            valid.then(|| DocSet::from_sorted(docs))
        }
        BITSET => {
            let bits = bytes.get(1..)?.get(..(doc_count as usize).div_ceil(64) * 8)?;
            let mut set = BitsetBuilder::new(doc_count);
            set.insert_bitset_bytes(bits);
            Some(set.finish())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn sets_come_back(docs in prop_oneof![
            prop::collection::btree_set(0u32..700, 0..10),
            prop::collection::btree_set(0u32..700, 0..700),
            Just((0..700).collect()),
        ]) {
            let docs: Vec<u32> = docs.into_iter().collect();
            let mut bytes = Vec::new();
            put_doc_set(&mut bytes, &docs, 700);
            prop_assert_eq!(read_doc_set(&bytes, 700), Some(DocSet::from_sorted(docs)));
            for cut in 0..bytes.len() {
                prop_assert_eq!(read_doc_set(&bytes[..cut], 700), None);
            }
        }

        #[test]
        fn damaged_sets_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Some(set) = read_doc_set(&bytes, 130) {
                prop_assert!(set.iter().all(|doc| doc < 130));
            }
        }
    }
}
