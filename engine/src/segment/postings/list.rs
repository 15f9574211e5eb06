//! The bytes of one posting list of at least two postings.
//!
//! The layout is in `segment-format.md`.
//!
//! Documents of full blocks are strictly ascending deltas in the four-lane layout of the `bitpacking` crate; tails hold
//! `document - previous - 1` (the first one counts from -1) in plain little-endian bit order.

use crate::bits::bitpack::{BitWriter, bit_width, get_bits, pack, packed_bytes, unpack};
use crate::bits::little_endian::read_u32;
use crate::bits::varint::{put_varint, read_varint};
use crate::bits::{BitsetBuilder, DocSet};
use crate::id::DocId;
use bitpacking::{BitPacker, BitPacker4x};

pub(super) const BLOCK_LEN: usize = BitPacker4x::BLOCK_LEN;
const _: () = assert!(BLOCK_LEN == 128);
const ENTRY_BYTES: usize = 8;
const DENSE: u8 = 255;
const CONSTANT: u8 = 255;
const EXCEPT: u8 = 254;
/// Bits of a zone.
const ZONE_BITS: u8 = 2;
/// Bits of a place in a block.
const PLACE_BITS: u8 = 7;
const _: () = assert!(1 << PLACE_BITS == BLOCK_LEN);
/// A list with one document in this many is a bitset.
const DENSE_SHARE: u32 = 8;
/// Of documents alone, one document in this many: a bitset that is larger than the blocks would not pay.
const DENSE_SHARE_PLAIN: u32 = 5;
/// Small segments never use bitsets: rounding up to 64 documents would cost more than it gains.
const DENSE_DOCS_MIN: u32 = 1024;

/// Segments with fewer documents keep the zones of all postings: whatever they are merged into has them then.
const ZONES_FOR_ALL_DOCS_MAX: u32 = 1 << 16;
/// In larger ones, lists with one document in this many keep them: shorter ones are cheap to rank without.
const ZONES_SHARE: u32 = 64;

/// One decoded block.
pub(super) type Block = [u32; BLOCK_LEN];

/// Whether a list of `doc_freq` postings has zones.
pub(super) fn has_zones(doc_freq: usize, doc_count: u32) -> bool {
    doc_count < ZONES_FOR_ALL_DOCS_MAX || doc_freq as u64 * u64::from(ZONES_SHARE) >= u64::from(doc_count)
}

/// Appends the list of `docs` (strictly ascending, at least one) with their codes and zones.
pub(super) fn put_list(out: &mut Vec<u8>, docs: &[DocId], codes: &[u32], zones: &[u8], doc_count: u32) {
    put(out, docs, codes, zones, doc_count, Form::of(docs.len(), doc_count));
}

/// Appends a list of documents alone, for [`List::plain`].
pub(super) fn put_plain_list(out: &mut Vec<u8>, docs: &[DocId], doc_count: u32) {
    put(out, docs, &vec![0; docs.len()], &vec![0; docs.len()], doc_count, Form::PLAIN);
}

/// What a list has besides documents and codes.
#[derive(Clone, Copy)]
struct Form {
    has_zones: bool,
    /// Whether full blocks can be left out.
    has_entries: bool,
    /// With one document in this many it is a bitset.
    dense_share: u32,
}

impl Form {
    const PLAIN: Form = Form { has_zones: false, has_entries: false, dense_share: DENSE_SHARE_PLAIN };

    fn of(doc_freq: usize, doc_count: u32) -> Form {
        Form { has_zones: has_zones(doc_freq, doc_count), has_entries: true, dense_share: DENSE_SHARE }
    }
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

pub(super) fn bitset_bytes(doc_count: u32) -> usize {
    (doc_count as usize).div_ceil(64) * 8
}

/// Most words of most texts are in one field only: a block where few codes differ from the most frequent one lists the
/// exceptions.
fn choose_codes(codes: &[u32]) -> Codes {
    // Codes are numbered by falling frequency, so the smallest one is nearly always the most frequent.
    let common = codes.iter().copied().min().unwrap_or(0);
    let width = bit_width(codes.iter().fold(0, |all, code| all | code));
    let count = codes.iter().filter(|&&code| code != common).count();
    if count == 0 {
        return Codes::All(common);
    }
    let listed = packed_bytes(count, PLACE_BITS + width) + 3;
    if listed < packed_bytes(codes.len(), width) {
        Codes::Except { common, width, count: count as u8 }
    } else {
        Codes::Packed(width)
    }
}

fn put_codes_head(out: &mut Vec<u8>, codes: &[u32]) -> Codes {
    let choice = choose_codes(codes);
    match choice {
        Codes::All(0) => out.push(0),
        Codes::All(code) => {
            out.push(CONSTANT);
            put_varint(out, u64::from(code));
        }
        Codes::Packed(width) => out.push(width),
        Codes::Except { common, width, count } => {
            out.push(EXCEPT);
            put_varint(out, u64::from(common));
            out.extend_from_slice(&[width, count]);
        }
    }
    choice
}

fn put_codes(out: &mut Vec<u8>, codes: &[u32], choice: Codes) {
    match choice {
        Codes::All(_) => {}
        Codes::Packed(width) => match <&Block>::try_from(codes) {
            Ok(block) => {
                let at = out.len();
                out.resize(at + packed_bytes(BLOCK_LEN, width), 0);
                BitPacker4x::new().compress(block, &mut out[at..], width);
            }
            Err(_) => pack(out, codes.iter().copied(), width),
        },
        Codes::Except { common, width, .. } => {
            let mut writer = BitWriter::new(out);
            for (place, &code) in codes.iter().enumerate().filter(|&(_, &code)| code != common) {
                writer.put(place as u32, PLACE_BITS);
                writer.put(code, width);
            }
            writer.finish();
        }
    }
}

/// How the codes of a block are stored.
#[derive(Clone, Copy)]
enum Codes {
    All(u32),
    Packed(u8),
    Except { common: u32, width: u8, count: u8 },
}

impl Codes {
    fn read(bytes: &[u8], at: &mut usize) -> Option<Codes> {
        let head = *bytes.get(*at)?;
        *at += 1;
        match head {
            CONSTANT => Some(Codes::All(read_varint(bytes, at)? as u32)),
            EXCEPT => {
                let common = read_varint(bytes, at)? as u32;
                let (width, count) = (*bytes.get(*at)?, *bytes.get(*at + 1)?);
                *at += 2;
                (width <= 32).then_some(Codes::Except { common, width, count })
            }
            0 => Some(Codes::All(0)),
            1..=32 => Some(Codes::Packed(head)),
            _ => None,
        }
    }

    fn bytes(self, count: usize) -> usize {
        match self {
            Codes::All(_) => 0,
            Codes::Packed(width) => packed_bytes(count, width),
            Codes::Except { width, count, .. } => packed_bytes(usize::from(count), PLACE_BITS + width),
        }
    }

    fn decode(self, bytes: &[u8], out: &mut [u32]) {
        match self {
            Codes::All(code) => out.fill(code),
            Codes::Packed(width) => {
                let count = out.len();
                if count == BLOCK_LEN && bytes.len() >= packed_bytes(BLOCK_LEN, width) {
                    BitPacker4x::new().decompress(&bytes[..packed_bytes(BLOCK_LEN, width)], out, width);
                    return;
                }
                let mut slots = out.iter_mut();
                unpack(bytes, count, width, |code| {
                    if let Some(slot) = slots.next() {
                        *slot = code;
                    }
                });
            }
            Codes::Except { common, width, count } => {
                out.fill(common);
                let step = usize::from(PLACE_BITS + width);
                for i in 0..usize::from(count) {
                    let place = get_bits(bytes, i * step, PLACE_BITS) as usize;
                    if let Some(slot) = out.get_mut(place) {
                        *slot = get_bits(bytes, i * step + usize::from(PLACE_BITS), width);
                    }
                }
            }
        }
    }
}

/// A posting list in the bytes of its section (`bytes` starts at the list and may reach beyond it).
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    bytes: &'a [u8],
    doc_freq: usize,
    doc_count: u32,
    form: Form,
}

/// Where a block is and how it is packed.
struct Layout<'a> {
    docs: &'a [u8],
    doc_width: u8,
    codes: Codes,
    code_bits: &'a [u8],
    zones: Zones<'a>,
    end: usize,
}

/// The packed zones of a block; nothing when the list has none.
type Zones<'a> = &'a [u8];

/// Unpacks the zones of a block: four to a byte.
fn unpack_zones(zones: Zones<'_>, out: &mut [u8; BLOCK_LEN]) {
    for (four, &bits) in out.as_chunks_mut::<4>().0.iter_mut().zip(zones) {
        *four = [bits & 3, bits >> 2 & 3, bits >> 4 & 3, bits >> 6];
    }
}

/// Some postings of a list, documents ascending.
pub(crate) struct PostingBlock<'a> {
    pub(crate) docs: &'a [DocId],
    pub(crate) codes: BlockCodes<'a>,
    /// One for each document.
    pub(crate) zones: &'a [u8],
}

/// The field set codes of a block.
#[derive(Clone, Copy)]
pub(crate) enum BlockCodes<'a> {
    /// All documents have this one.
    All(u32),
    /// One for each document.
    Each(&'a [u32]),
}

impl PostingBlock<'_> {
    /// Calls `f(doc, code, zone)` for each posting.
    #[inline]
    pub(crate) fn for_each(&self, mut f: impl FnMut(DocId, u32, u8)) {
        let postings = self.docs.iter().zip(self.zones);
        match self.codes {
            BlockCodes::All(code) => postings.for_each(|(&doc, &zone)| f(doc, code, zone)),
            BlockCodes::Each(codes) => postings.zip(codes).for_each(|((&doc, &zone), &code)| f(doc, code, zone)),
        }
    }
}

/// Buffers for what is unpacked of a block.
struct Unpacked {
    codes: Block,
    zones: [u8; BLOCK_LEN],
}

impl Unpacked {
    fn new() -> Unpacked {
        Unpacked { codes: [0; BLOCK_LEN], zones: [0; BLOCK_LEN] }
    }

    /// A block of `docs`, with its packed codes and zones.
    fn block<'a>(
        &'a mut self,
        docs: &'a [DocId],
        codes: Codes,
        code_bits: &[u8],
        zones: Zones<'_>,
    ) -> PostingBlock<'a> {
        let codes = match codes {
            Codes::All(code) => BlockCodes::All(code),
            codes => {
                codes.decode(code_bits, &mut self.codes[..docs.len()]);
                BlockCodes::Each(&self.codes[..docs.len()])
            }
        };
        unpack_zones(zones, &mut self.zones);
        PostingBlock { docs, codes, zones: &self.zones[..docs.len()] }
    }
}

impl<'a> List<'a> {
    pub(super) fn new(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> List<'a> {
        List { bytes, doc_freq: doc_freq as usize, doc_count, form: Form::of(doc_freq as usize, doc_count) }
    }

    /// A list that [`put_plain_list`] wrote.
    pub(super) fn plain(bytes: &'a [u8], doc_freq: u32, doc_count: u32) -> List<'a> {
        List { bytes, doc_freq: doc_freq as usize, doc_count, form: Form::PLAIN }
    }

    /// Number of documents.
    pub(super) fn len(&self) -> u32 {
        self.doc_freq as u32
    }

    fn is_dense(&self) -> bool {
        self.bytes.first() == Some(&DENSE)
    }

    fn full_blocks(&self) -> usize {
        self.doc_freq / BLOCK_LEN
    }

    /// Where the first block is.
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
        let codes = Codes::read(bytes, &mut at)?;
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
        if self.form.has_zones { packed_bytes(count, ZONE_BITS) } else { 0 }
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

    /// Calls `f` with the blocks of a bitset.
    fn walk_dense(&self, mut f: impl FnMut(PostingBlock<'_>)) {
        let mut at = 1 + bitset_bytes(self.doc_count);
        let mut unpacked = Unpacked::new();
        let mut block = |docs: &[DocId]| {
            let codes = Codes::read(self.bytes, &mut at).unwrap_or(Codes::All(0));
            let code_bits = self.bytes.get(at..).unwrap_or_default();
            at += codes.bytes(docs.len());
            let zones = at..at + self.zone_bytes(docs.len());
            at = zones.end;
            f(unpacked.block(docs, codes, code_bits, self.bytes.get(zones).unwrap_or_default()));
        };
        // Room for what a word adds to a block that is nearly full: nothing is asked for each bit.
        let mut docs = [0; 2 * BLOCK_LEN];
        let (mut used, mut left) = (0, self.doc_freq);
        let mut first: DocId = 0;
        for chunk in self.bitset().as_chunks::<8>().0 {
            let mut word = u64::from_le_bytes(*chunk);
            // A damaged bitset may have more documents than were announced, or than there are.
            while word.count_ones() as usize > left || (word != 0 && first + word.ilog2() >= self.doc_count) {
                word &= !(1 << word.ilog2());
            }
            left -= word.count_ones() as usize;
            while word != 0 {
                docs[used % (2 * BLOCK_LEN)] = first + word.trailing_zeros();
                used += 1;
                word &= word - 1;
            }
            if used >= BLOCK_LEN {
                block(&docs[..BLOCK_LEN]);
                docs.copy_within(BLOCK_LEN..2 * BLOCK_LEN, 0);
                used -= BLOCK_LEN;
            }
            first += u64::BITS;
        }
        if used > 0 {
            block(&docs[..used]);
        }
    }

    /// Calls `f` with the blocks of the list.
    #[inline]
    pub(super) fn for_each_block(&self, mut f: impl FnMut(PostingBlock<'_>)) {
        if self.is_dense() {
            return self.walk_dense(f);
        }
        let mut unpacked = Unpacked::new();
        self.walk(|_| false, |docs, layout| f(unpacked.block(docs, layout.codes, layout.code_bits, layout.zones)));
    }

    /// Calls `f(doc, code, zone)` for each posting.
    pub(super) fn for_each(&self, mut f: impl FnMut(DocId, u32, u8)) {
        self.for_each_block(|block| block.for_each(&mut f));
    }

    /// Adds all documents.
    pub(super) fn add_to(&self, set: &mut BitsetBuilder) {
        if self.is_dense() {
            return set.insert_bitset_bytes(self.bitset());
        }
        self.walk(|_| false, |docs, _| set.insert_all(docs));
    }

    /// Appends all documents, ascending.
    pub(super) fn docs(&self, out: &mut Vec<DocId>) {
        if self.is_dense() {
            return for_each_bit(self.bitset(), |doc| out.push(doc));
        }
        self.walk(|_| false, |docs, _| out.extend_from_slice(docs));
    }

    /// The documents as a set in the smaller form.
    pub(super) fn to_set(self) -> DocSet {
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
    pub(super) fn docs_among(&self, wanted: &[DocId], out: &mut Vec<DocId>) {
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

    /// Whether the list is as the format says: ascending, inside the segment, as many as announced.
    pub(super) fn is_valid(&self, code_count: u32) -> bool {
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
pub(super) fn for_each_bit(bits: &[u8], mut f: impl FnMut(DocId)) {
    for (index, chunk) in bits.as_chunks::<8>().0.iter().enumerate() {
        let mut word = u64::from_le_bytes(*chunk);
        while word != 0 {
            f(index as u32 * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::DocSet;
    use proptest::prelude::*;

    fn check(postings: &[(u32, u32)], doc_count: u32) {
        let docs: Vec<u32> = postings.iter().map(|p| p.0).collect();
        let codes: Vec<u32> = postings.iter().map(|p| p.1).collect();
        let mut bytes = Vec::new();
        let zone =
            |doc: u32| if has_zones(docs.len(), doc_count) { (doc.wrapping_mul(0x9E37_79B1) >> 30) as u8 } else { 0 };
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
