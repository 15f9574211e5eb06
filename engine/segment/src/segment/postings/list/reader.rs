//! Reads posting lists.

use super::super::ZONE_BITS;
use super::block::{BlockCodes, PostingBlock, Unpacked, Zones};
use super::codes::Codes;
use super::{BLOCK_LEN, Block, DENSE, ENTRY_BYTES, Form, bitset_bytes};
use crate::bits::bitpack::{packed_bytes, unpack};
use crate::bits::little_endian::read_u32;
use crate::bits::{BitsetBuilder, DocSet};
use bitpacking::{BitPacker, BitPacker4x};
use lamina_text::id::DocId;

/// A posting list in the bytes of its section (`bytes` starts at the list and may reach beyond it).
#[derive(Clone, Copy)]
pub(crate) struct List<'a> {
    bytes: &'a [u8],
    doc_freq: usize,
    doc_count: u32,
    form: Form,
}

/// Location and encoding of a block.
struct Layout<'a> {
    docs: &'a [u8],
    doc_width: u8,
    codes: Codes,
    code_bits: &'a [u8],
    zones: Zones<'a>,
    end: usize,
}

impl<'a> List<'a> {
    pub(crate) fn new(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> List<'a> {
        List { bytes, doc_freq: doc_freq as usize, doc_count, form: Form::MARKED }
    }

    /// A list that [`super::put_set_list`] wrote.
    pub(crate) fn set(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> List<'a> {
        List { form: Form::SET, ..List::plain(bytes, doc_freq, doc_count) }
    }

    /// A list that [`super::put_plain_list`] wrote.
    pub(crate) fn plain(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> List<'a> {
        List { bytes, doc_freq: doc_freq as usize, doc_count, form: Form::PLAIN }
    }

    /// Number of documents.
    pub(crate) fn len(&self) -> u32 {
        self.doc_freq as u32
    }

    fn is_dense(&self) -> bool {
        self.form.dense_share > 0 && self.bytes.first() == Some(&DENSE)
    }

    fn full_blocks(&self) -> usize {
        self.doc_freq / BLOCK_LEN
    }

    /// Returns the offset of the first block.
    fn blocks_at(&self) -> usize {
        if self.full_blocks() == 0 || !self.form.has_entries { 0 } else { 1 + self.full_blocks() * ENTRY_BYTES }
    }

    fn layout(&self, at: usize, count: usize) -> Option<Layout<'a>> {
        let bytes = self.bytes;
        let doc_width = *bytes.get(at)?;
        if doc_width > 32 {
            return None;
        }
        let mut at = at + 1;
        let codes = if self.form.has_marks { Codes::read(bytes, &mut at)? } else { Codes::All(0) };
        let codes_at = at + packed_bytes(count, doc_width);
        let zones_at = codes_at + codes.bytes(count);
        let end = zones_at + self.zone_bytes(count);
        Some(Layout {
            docs: bytes.get(at..codes_at)?,
            doc_width,
            codes,
            code_bits: bytes.get(codes_at..zones_at)?,
            zones: bytes.get(zones_at..end)?,
            end,
        })
    }

    fn zone_bytes(&self, count: usize) -> usize {
        if self.form.has_marks { packed_bytes(count, ZONE_BITS) } else { 0 }
    }

    /// Calls `f` with the documents of each block and where the rest of it is. `skip` says whether a full block with this
    /// last document can be left out.
    #[inline]
    fn walk(&self, mut skip: impl FnMut(DocId) -> bool, mut f: impl FnMut(&[DocId], &Layout<'_>)) {
        let mut docs: Block = [0; BLOCK_LEN];
        let mut at = self.blocks_at();
        let blocks_at = at;
        let mut previous = None;
        let packer = BitPacker4x::new();
        for block in 0..self.full_blocks() {
            if self.form.has_entries {
                let entry = 1 + block * ENTRY_BYTES;
                let (Some(last), Some(end)) = (read_u32(self.bytes, entry), read_u32(self.bytes, entry + 4)) else {
                    return;
                };
                if skip(last) {
                    at = blocks_at + end as usize;
                    previous = Some(last);
                    continue;
                }
            }
            let Some(layout) = self.layout(at, BLOCK_LEN) else { return };
            packer.decompress_strictly_sorted(previous, layout.docs, &mut docs, layout.doc_width);
            if !self.are_inside(&docs) {
                return;
            }
            f(&docs, &layout);
            at = layout.end;
            previous = Some(docs[BLOCK_LEN - 1]);
        }
        let rest = self.doc_freq % BLOCK_LEN;
        if rest == 0 {
            return;
        }
        let Some(layout) = self.layout(at, rest) else { return };
        let mut next = previous.map_or(0, |p: u32| p.wrapping_add(1));
        let mut i = 0;
        unpack(layout.docs, rest, layout.doc_width, |gap| {
            let doc = next.wrapping_add(gap);
            next = doc.wrapping_add(1);
            docs[i % BLOCK_LEN] = doc;
            i += 1;
        });
        if self.are_inside(&docs[..rest]) {
            f(&docs[..rest], &layout);
        }
    }

    /// Only a damaged list has documents that the segment has not.
    fn are_inside(&self, docs: &[DocId]) -> bool {
        docs.iter().fold(0, |most, &doc| most.max(doc)) < self.doc_count
    }

    fn bitset(&self) -> &'a [u8] {
        let bytes = self.bytes.get(1..).unwrap_or_default();
        bytes.get(..bitset_bytes(self.doc_count)).unwrap_or_default()
    }

    /// Calls `f` with the documents of a bitset in blocks.
    fn walk_dense(&self, mut f: impl FnMut(PostingBlock<'_>)) {
        let mut docs = Vec::with_capacity(BLOCK_LEN);
        let mut left = self.doc_freq;
        let mut block = |docs: &mut Vec<DocId>| {
            f(PostingBlock { docs, codes: BlockCodes::All(0), zones: &[0; BLOCK_LEN][..docs.len()] });
            docs.clear();
        };
        for_each_bit(self.bitset(), |doc| {
            // A damaged bitset may have more documents than were announced, or than there are.
            if left > 0 && doc < self.doc_count {
                left -= 1;
                docs.push(doc);
            }
            if docs.len() == BLOCK_LEN {
                block(&mut docs);
            }
        });
        if !docs.is_empty() {
            block(&mut docs);
        }
    }

    /// Calls `f` with the blocks of the list.
    #[inline]
    pub(crate) fn for_each_block(&self, mut f: impl FnMut(PostingBlock<'_>)) {
        if self.is_dense() {
            return self.walk_dense(f);
        }
        let mut unpacked = Unpacked::new();
        self.walk(|_| false, |docs, layout| f(unpacked.block(docs, layout.codes, layout.code_bits, layout.zones)));
    }

    /// Calls `f(doc, code, zone)` for each posting.
    pub(crate) fn for_each(&self, mut f: impl FnMut(DocId, u32, u8)) {
        self.for_each_block(|block| block.for_each(&mut f));
    }

    /// Adds all documents.
    pub(crate) fn add_to(&self, set: &mut BitsetBuilder) {
        if self.is_dense() {
            return set.insert_bitset_bytes(self.bitset());
        }
        self.walk(|_| false, |docs, _| set.insert_all(docs));
    }

    /// Appends all documents, ascending.
    pub(crate) fn docs(&self, out: &mut Vec<DocId>) {
        if self.is_dense() {
            return for_each_bit(self.bitset(), |doc| out.push(doc));
        }
        self.walk(|_| false, |docs, _| out.extend_from_slice(docs));
    }

    /// The documents as a set in the smaller form.
    pub(crate) fn to_set(self) -> DocSet {
        if self.doc_freq as u64 * 32 >= u64::from(self.doc_count) {
            let mut set = BitsetBuilder::new(self.doc_count);
            self.add_to(&mut set);
            return set.finish();
        }
        let mut docs = Vec::with_capacity(self.doc_freq.min(self.doc_count as usize));
        self.docs(&mut docs);
        // Only a damaged list is out of order or out of range; every set must ascend all the same.
        if docs.is_sorted_by(|a, b| a < b) && docs.last().is_none_or(|&last| last < self.doc_count) {
            DocSet::from_sorted(docs)
        } else {
            docs.into_iter().filter(|&doc| doc < self.doc_count).collect()
        }
    }

    /// Appends the documents that are also in `wanted` (ascending), leaving out blocks between them if the list can.
    pub(crate) fn docs_among(&self, wanted: &[DocId], out: &mut Vec<DocId>) {
        if self.is_dense() {
            let bits = self.bitset();
            out.extend(wanted.iter().filter(|&&doc| has_bit(bits, doc)));
            return;
        }
        let rest = std::cell::Cell::new(wanted);
        let skip = |last: DocId| rest.get().first().is_none_or(|&next| next > last);
        self.walk(skip, |docs, _| {
            let mut wanted = rest.get();
            let mut i = 0;
            while let Some(&want) = wanted.first() {
                while i < docs.len() && docs[i] < want {
                    i += 1;
                }
                match docs.get(i) {
                    None => break,
                    Some(&doc) if doc == want => out.push(doc),
                    Some(_) => {}
                }
                wanted = &wanted[1..];
            }
            rest.set(wanted);
        });
    }

    /// Reports whether the posting list is valid: ascending, inside the segment, and as long as announced.
    pub(crate) fn is_valid(&self, code_count: u32) -> bool {
        let (mut count, mut next, mut valid) = (0, 0, true);
        self.for_each(|doc, code, _| {
            valid &= doc >= next && doc < self.doc_count && code < code_count;
            next = doc.wrapping_add(1);
            count += 1;
        });
        valid && count == self.doc_freq
    }
}

fn has_bit(bits: &[u8], doc: DocId) -> bool {
    bits.get(doc as usize / 8).is_some_and(|byte| byte >> (doc % 8) & 1 == 1)
}

/// Calls `f` with each set bit of a little-endian bitset.
fn for_each_bit(bits: &[u8], mut f: impl FnMut(DocId)) {
    for (index, chunk) in bits.as_chunks::<8>().0.iter().enumerate() {
        let mut word = u64::from_le_bytes(*chunk);
        while word != 0 {
            f(index as u32 * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
}
