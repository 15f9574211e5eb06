//! Writes posting lists.

use std::ops::Range;

use super::super::ZONE_BITS;
use super::codes::{Codes, put_codes, put_codes_head};
use super::{BLOCK_LEN, DENSE, DENSE_DOCS_MIN, ENTRY_BYTES, Form, bitset_bytes};
use crate::bits::bitpack::{bit_width, pack, packed_bytes};
use bitpacking::{BitPacker, BitPacker4x};
use lamina_text::id::DocId;

/// Appends the list of `docs` (strictly ascending, at least one) with their codes and zones.
pub(crate) fn put_list(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32) {
    put(out, docs, Marks { codes, zones }, doc_count, Form::MARKED);
}

/// Appends a list of documents alone, for [`super::List::plain`].
pub(crate) fn put_plain_list(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    put(out, docs, Marks::NONE, doc_count, Form::PLAIN);
}

/// Appends a list of documents that is used as a set, for [`super::List::set`].
pub(crate) fn put_set_list(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    put(out, docs, Marks::NONE, doc_count, Form::SET);
}

/// Codes and zones of the documents of a list; none where it has none.
#[derive(Clone, Copy)]
struct Marks<'a> {
    codes: &'a [u32],
    zones: &'a [u8],
}

impl Marks<'_> {
    const NONE: Marks<'static> = Marks { codes: &[], zones: &[] };

    fn part(&self, range: Range<usize>) -> Marks<'_> {
        Marks {
            codes: self.codes.get(range.clone()).unwrap_or_default(),
            zones: self.zones.get(range).unwrap_or_default(),
        }
    }

    fn put_head(&self, out: &mut Vec<u8>, form: Form) -> Codes {
        if form.has_marks { put_codes_head(out, self.codes) } else { Codes::All(0) }
    }

    fn put(&self, out: &mut Vec<u8>, codes: Codes, form: Form) {
        put_codes(out, self.codes, codes);
        if form.has_marks {
            pack(out, self.zones.iter().map(|&zone| u32::from(zone)), ZONE_BITS);
        }
    }
}

fn put(out: &mut Vec<u8>, docs: &[DocId], marks: Marks<'_>, doc_count: u32, form: Form) {
    debug_assert!(!form.has_marks || (marks.codes.len(), marks.zones.len()) == (docs.len(), docs.len()));
    debug_assert!(!docs.is_empty());
    if doc_count >= DENSE_DOCS_MIN && docs.len() as u64 * u64::from(form.dense_share) >= u64::from(doc_count) {
        out.push(DENSE);
        put_bitset(out, docs, doc_count);
        return;
    }
    let in_blocks = docs.len() / BLOCK_LEN * BLOCK_LEN;
    let (full, rest) = docs.split_at(in_blocks);
    put_blocks(out, full, marks, form);
    if !rest.is_empty() {
        put_rest(out, full.last().copied(), rest, marks.part(in_blocks..docs.len()), form);
    }
}

/// Full blocks, behind where each of them ends if the form has that.
#[inline]
fn put_blocks(out: &mut Vec<u8>, docs: &[DocId], marks: Marks<'_>, form: Form) {
    if docs.is_empty() {
        return;
    }
    let entries_at = out.len() + 1;
    if form.has_entries {
        out.resize(entries_at + docs.len() / BLOCK_LEN * ENTRY_BYTES, 0);
    }
    let blocks_at = out.len();
    let packer = BitPacker4x::new();
    let mut previous = None;
    for (i, docs) in docs.chunks_exact(BLOCK_LEN).enumerate() {
        let marks = marks.part(i * BLOCK_LEN..(i + 1) * BLOCK_LEN);
        let width = packer.num_bits_strictly_sorted(previous, docs);
        out.push(width);
        let codes = marks.put_head(out, form);
        let at = out.len();
        out.resize(at + packed_bytes(BLOCK_LEN, width), 0);
        packer.compress_strictly_sorted(previous, docs, &mut out[at..], width);
        marks.put(out, codes, form);
        previous = Some(docs[BLOCK_LEN - 1]);
        if !form.has_entries {
            continue;
        }
        let end = (out.len() - blocks_at) as u32;
        let entry = &mut out[entries_at + i * ENTRY_BYTES..][..ENTRY_BYTES];
        entry[..4].copy_from_slice(&docs[BLOCK_LEN - 1].to_le_bytes());
        entry[4..].copy_from_slice(&end.to_le_bytes());
    }
}

/// Documents that fill no block, behind `previous`, with their codes and zones.
#[inline]
fn put_rest(out: &mut Vec<u8>, previous: Option<DocId>, docs: &[DocId], marks: Marks<'_>, form: Form) {
    let gaps = || {
        let mut next = previous.map_or(0, |p| p + 1);
        docs.iter().map(move |&doc| {
            let gap = doc - next;
            next = doc + 1;
            gap
        })
    };
    let width = bit_width(gaps().fold(0, |all, gap| all | gap));
    out.push(width);
    let codes = marks.put_head(out, form);
    pack(out, gaps(), width);
    marks.put(out, codes, form);
}

fn put_bitset(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    let at = out.len();
    out.resize(at + bitset_bytes(doc_count), 0);
    let bits = &mut out[at..];
    for &doc in docs {
        bits[doc as usize / 8] |= 1 << (doc % 8);
    }
}
