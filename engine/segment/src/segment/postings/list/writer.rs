//! Writes posting lists.

use super::codes::{put_codes, put_codes_head};
use super::{BLOCK_LEN, DENSE, DENSE_DOCS_MIN, ENTRY_BYTES, Form, ZONE_BITS, bitset_bytes};
use crate::bits::bitpack::{bit_width, pack, packed_bytes};
use bitpacking::{BitPacker, BitPacker4x};
use lamina_text::id::DocId;

/// Appends the list of `docs` (strictly ascending, at least one) with their codes and zones.
pub(crate) fn put_list(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32) {
    put(out, docs, codes, zones, doc_count, Form::of(docs.len(), doc_count));
}

/// Appends a list of documents alone, for [`super::List::plain`].
pub(crate) fn put_plain_list(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    put(out, docs, &vec![0; docs.len()], &vec![0; docs.len()], doc_count, Form::PLAIN);
}

fn put(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32, form: Form) {
    debug_assert_eq!(docs.len(), codes.len());
    debug_assert_eq!(docs.len(), zones.len());
    debug_assert!(!docs.is_empty());
    if doc_count >= DENSE_DOCS_MIN && docs.len() as u64 * u64::from(form.dense_share) >= u64::from(doc_count) {
        out.push(DENSE);
        put_bitset(out, docs, doc_count);
        for (codes, zones) in codes.chunks(BLOCK_LEN).zip(zones.chunks(BLOCK_LEN)) {
            let width = put_codes_head(out, codes);
            put_codes(out, codes, width);
            put_zones(out, zones, form);
        }
        return;
    }
    let in_blocks = docs.len() / BLOCK_LEN * BLOCK_LEN;
    let (full, rest) = docs.split_at(in_blocks);
    put_blocks(out, full, &codes[..in_blocks], &zones[..in_blocks], form);
    if !rest.is_empty() {
        put_rest(out, full.last().copied(), rest, &codes[in_blocks..]);
        put_zones(out, &zones[in_blocks..], form);
    }
}

#[inline]
fn put_zones(out: &mut Vec<u8>, zones: &[u8], form: Form) {
    if form.has_zones {
        pack(out, zones.iter().map(|&zone| u32::from(zone)), ZONE_BITS);
    }
}

/// Full blocks, behind where each of them ends if the form has that.
#[inline]
fn put_blocks(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], form: Form) {
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
    let blocks = docs.chunks_exact(BLOCK_LEN).zip(codes.chunks_exact(BLOCK_LEN)).zip(zones.chunks_exact(BLOCK_LEN));
    for (i, ((docs, codes), zones)) in blocks.enumerate() {
        let width = packer.num_bits_strictly_sorted(previous, docs);
        out.push(width);
        let code_width = put_codes_head(out, codes);
        let at = out.len();
        out.resize(at + packed_bytes(BLOCK_LEN, width), 0);
        packer.compress_strictly_sorted(previous, docs, &mut out[at..], width);
        put_codes(out, codes, code_width);
        put_zones(out, zones, form);
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

/// Documents that fill no block, behind `previous`, with their codes.
#[inline]
fn put_rest(out: &mut Vec<u8>, previous: Option<DocId>, docs: &[DocId], codes: &[u32]) {
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
    let code_width = put_codes_head(out, codes);
    pack(out, gaps(), width);
    put_codes(out, codes, code_width);
}

fn put_bitset(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    let at = out.len();
    out.resize(at + bitset_bytes(doc_count), 0);
    let bits = &mut out[at..];
    for &doc in docs {
        bits[doc as usize / 8] |= 1 << (doc % 8);
    }
}
