//! Writes posting lists.

use super::codes::{put_codes, put_codes_head};
use super::{BLOCK_LEN, DENSE, DENSE_DOCS_MIN, ENTRY_BYTES, Form, ZONE_BITS, bitset_bytes};
use crate::bits::bitpack::{bit_width, pack, packed_bytes};
use crate::id::DocId;
use bitpacking::{BitPacker, BitPacker4x};

/// Appends the list of `docs` (strictly ascending, at least one) with their codes and zones.
pub(crate) fn put_list(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32) {
    put(out, docs, codes, zones, doc_count, Form::of(docs.len(), doc_count));
}

/// Appends a list of documents alone, for [`super::List::plain`].
pub(crate) fn put_plain_list(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    put(out, docs, &vec![0; docs.len()], &vec![0; docs.len()], doc_count, Form::PLAIN);
}

fn put(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32, form: Form) {
    debug_assert!(docs.len() == codes.len() && docs.len() == zones.len() && !docs.is_empty());
    let put_zones = |out: &mut Vec<u8>, zones: &[u8]| {
        if form.has_zones {
            pack(out, zones.iter().map(|&zone| u32::from(zone)), ZONE_BITS);
        }
    };
    if doc_count >= DENSE_DOCS_MIN && docs.len() as u64 * u64::from(form.dense_share) >= u64::from(doc_count) {
        out.push(DENSE);
        put_bitset(out, docs, doc_count);
        for (codes, zones) in codes.chunks(BLOCK_LEN).zip(zones.chunks(BLOCK_LEN)) {
            let width = put_codes_head(out, codes);
            put_codes(out, codes, width);
            put_zones(out, zones);
        }
        return;
    }
    let full = docs.len() / BLOCK_LEN;
    let mut previous = None;
    if full > 0 {
        let entries_at = out.len() + 1;
        if form.has_entries {
            out.resize(entries_at + full * ENTRY_BYTES, 0);
        }
        let blocks_at = out.len();
        let packer = BitPacker4x::new();
        let blocks = docs.chunks_exact(BLOCK_LEN).zip(codes.chunks_exact(BLOCK_LEN)).zip(zones.chunks_exact(BLOCK_LEN));
        for (i, ((docs, codes), zones)) in blocks.enumerate() {
            let width = packer.num_bits_strictly_sorted(previous, docs);
            out.push(width);
            let code_width = put_codes_head(out, codes);
            let at = out.len();
            out.resize(at + packed_bytes(BLOCK_LEN, width), 0);
            packer.compress_strictly_sorted(previous, docs, &mut out[at..], width);
            put_codes(out, codes, code_width);
            put_zones(out, zones);
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
    let (docs, codes, zones) = (&docs[full * BLOCK_LEN..], &codes[full * BLOCK_LEN..], &zones[full * BLOCK_LEN..]);
    if docs.is_empty() {
        return;
    }
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
    put_zones(out, zones);
}

fn put_bitset(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    let at = out.len();
    out.resize(at + bitset_bytes(doc_count), 0);
    let bits = &mut out[at..];
    for &doc in docs {
        bits[doc as usize / 8] |= 1 << (doc % 8);
    }
}
