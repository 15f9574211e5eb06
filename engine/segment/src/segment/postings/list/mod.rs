//! The bytes of one posting list of at least two postings.
//!
//! The layout is in `segment-format.md`.
//!
//! Documents of full blocks are strictly ascending deltas in the four-lane layout of the `bitpacking` crate; tails hold
//! `document - previous - 1` (the first one counts from -1) in plain little-endian bit order.

mod block;
mod codes;
mod reader;
mod writer;

pub(crate) use reader::List;
pub(super) use writer::put_list;
pub(crate) use writer::put_plain_list;
pub(super) use writer::put_set_list;

use bitpacking::{BitPacker, BitPacker4x};

const BLOCK_LEN: usize = BitPacker4x::BLOCK_LEN;
const _: () = assert!(BLOCK_LEN == 128);
/// The last document of a full block, and where the block ends.
const ENTRY_BYTES: usize = 8;
/// First byte of a list that is a bitset.
const DENSE: u8 = 255;
/// A list of documents that is a set with one document in this many is a bitset: that is larger than the blocks, and meets other
/// sets without being read.
const DENSE_SHARE_SET: u32 = 8;
/// Divisor like [`DENSE_SHARE_SET`], for other lists of documents alone: a bitset that is larger than the blocks would not pay.
const DENSE_SHARE_PLAIN: u32 = 5;
/// Small segments never use bitsets: rounding up to 64 documents would cost more than it gains.
const DENSE_DOCS_MIN: u32 = 1024;

/// One decoded block.
type Block = [u32; BLOCK_LEN];

/// Parts of a list besides documents.
#[derive(Clone, Copy)]
struct Form {
    /// True if postings have codes and zones.
    has_marks: bool,
    /// True if full blocks can be skipped.
    has_entries: bool,
    /// With one document in this many it is a bitset; 0: never.
    dense_share: u32,
}

impl Form {
    const MARKED: Form = Form { has_marks: true, has_entries: true, dense_share: 0 };
    const PLAIN: Form = Form { has_marks: false, has_entries: false, dense_share: DENSE_SHARE_PLAIN };
    const SET: Form = Form { has_entries: true, dense_share: DENSE_SHARE_SET, ..Form::PLAIN };
}

fn bitset_bytes(doc_count: u32) -> usize {
    (doc_count as usize).div_ceil(64) * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{BitsetBuilder, DocSet};
    use proptest::prelude::*;

    fn check(postings: &[(u32, u32)], doc_count: u32) {
        let docs: Vec<u32> = postings.iter().map(|p| p.0).collect();
        let codes: Vec<u32> = postings.iter().map(|p| p.1).collect();
        let mut bytes = Vec::new();
        let zone = |doc: u32| (doc.wrapping_mul(0x9E37_79B1) >> 29) as u8;
        let zones: Vec<u8> = docs.iter().map(|&doc| zone(doc)).collect();
        put_list(&mut bytes, &docs, &codes, &zones, doc_count);
        let list = List::new(&bytes, docs.len() as u32, doc_count);
        let mut found = Vec::new();
        list.for_each(|doc, code, zone| found.push((doc, code, zone)));
        let want: Vec<_> = postings.iter().map(|&(doc, code)| (doc, code, zone(doc))).collect();
        assert_eq!(found, want);
        assert!(list.is_valid(u32::MAX));
        let mut all = Vec::new();
        list.docs(&mut all);
        assert_eq!(all, docs);
        let mut set = BitsetBuilder::new(doc_count);
        list.add_to(&mut set);
        assert_eq!(set.finish(), DocSet::from_sorted(docs.clone()));
        for step in [1, 3, 200, 1000] {
            let wanted: Vec<u32> = (0..doc_count).step_by(step).collect();
            let mut among = Vec::new();
            list.docs_among(&wanted, &mut among);
            let expected: Vec<u32> = docs.iter().copied().filter(|d| d % step as u32 == 0).collect();
            assert_eq!(among, expected, "every {step}th document");
        }
        for (list, put) in [
            (
                List::plain as fn(&'static [u8], u32, u32) -> List<'static>,
                put_plain_list as fn(&mut Vec<u8>, &[u32], u32),
            ),
            (List::set, put_set_list),
        ] {
            let mut bytes = Vec::new();
            put(&mut bytes, &docs, doc_count);
            let list = list(bytes.leak(), docs.len() as u32, doc_count);
            assert!(list.is_valid(1));
            assert_eq!(list.to_set().to_vec(), docs);
            let (mut found, mut among) = (Vec::new(), Vec::new());
            list.for_each(|doc, _, _| found.push(doc));
            list.docs_among(&docs, &mut among);
            assert_eq!((&found, &among), (&docs, &docs));
        }
        for cut in 0..bytes.len().min(400) {
            let short = List::new(&bytes[..cut], docs.len() as u32, doc_count);
            short.for_each(|_, _, _| {});
        }
    }

    fn every(step: usize, count: usize, code: impl Fn(u32) -> u32) -> Vec<(u32, u32)> {
        (0..count as u32).map(|i| (i * step as u32, code(i))).collect()
    }

    #[test]
    fn edge_shapes() {
        for count in [1, 2, 127, 128, 129, 255, 256, 257, 1000] {
            for step in [1, 7, 8, 9, 1000] {
                let doc_count = (count * step) as u32 + 1;
                check(&every(step, count, |_| 0), doc_count);
                check(&every(step, count, |_| 5), doc_count);
                check(&every(step, count, |i| i % 3), doc_count);
                check(&every(step, count, |i| if i == 127 { 70_000 } else { 0 }), doc_count);
            }
        }
        check(&[(DOCS_MAX_TEST, 1)], DOCS_MAX_TEST + 1);
    }
    const DOCS_MAX_TEST: u32 = 100_000;

    proptest! {
        #[test]
        fn lists_come_back(docs in prop::collection::btree_map(0u32..5000, 0u32..9, 1..700)) {
            check(&docs.into_iter().collect::<Vec<_>>(), 5000);
        }

        #[test]
        fn damaged_lists_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400), doc_freq in 1u32..600) {
            for doc_count in [100, 5000] {
                let list = List::new(&bytes, doc_freq, doc_count);
                list.for_each(|_, _, _| {});
                let mut set = BitsetBuilder::new(doc_count);
                list.add_to(&mut set);
                prop_assert!(set.finish().len() <= doc_count);
                let mut out = Vec::new();
                list.docs_among(&[1, 50, 99], &mut out);
            }
        }
    }
}
