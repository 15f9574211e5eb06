//! Walks the postings of a list that have certain marks: the marks of a block are looked at before its documents are read.

use super::block::Zones;
use super::codes::Codes;
use super::reader::{Layout, List};
use super::{BLOCK_LEN, Block, ENTRY_BYTES, bitset_bytes};
use crate::bits::little_endian::read_u32;
use crate::id::DocId;
use crate::segment::postings::ZONE_COUNT;
use bitpacking::{BitPacker, BitPacker4x};

/// All zones of a code.
const ALL_ZONES: u8 = (1 << ZONE_COUNT) - 1;
/// The lower bit of each zone in a word of 32 zones.
const LOWER: u64 = 0x5555_5555_5555_5555;
const _: () = assert!(super::ZONE_BITS == 2 && BLOCK_LEN == u128::BITS as usize);

/// Marks of postings: some zones of each field set code, and all zones of codes that it was not given.
#[derive(Debug)]
pub(crate) struct MarkSet(Vec<u8>);

impl MarkSet {
    /// The marks that `has` says, of the codes below `code_count`.
    pub(crate) fn new(code_count: usize, has: impl Fn(u32, u8) -> bool) -> MarkSet {
        let zones = |code| (0..ZONE_COUNT as u8).filter(|&zone| has(code, zone)).fold(0, |all, zone| all | 1 << zone);
        MarkSet((0..code_count as u32).map(zones).collect())
    }

    /// Whether no posting has one of the marks.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.iter().all(|&zones| zones == 0)
    }

    pub(crate) fn has(&self, code: u32, zone: u8) -> bool {
        self.zones(code) >> zone & 1 == 1
    }

    /// One bit for each zone.
    fn zones(&self, code: u32) -> u8 {
        self.0.get(code as usize).copied().unwrap_or(ALL_ZONES)
    }
}

/// The zone of a posting of a block.
fn zone(zones: Zones<'_>, place: usize) -> u8 {
    zones.get(place / 4).map_or(0, |four| four >> (place % 4 * 2) & 3)
}

/// One bit for each posting of a block whose zone is wanted; `wanted` has one bit for each zone.
fn with_zones(zones: Zones<'_>, wanted: u8) -> u128 {
    match wanted {
        0 => return 0,
        ALL_ZONES => return u128::MAX,
        _ => {}
    }
    let mut bytes = [0; BLOCK_LEN / 4];
    let len = zones.len().min(bytes.len());
    bytes[..len].copy_from_slice(&zones[..len]);
    let is_wanted = |zone: u8| if wanted >> zone & 1 == 1 { LOWER } else { 0 };
    let [first, second, third, fourth] = [0, 1, 2, 3].map(is_wanted);
    let words = bytes.as_chunks::<8>().0.iter().enumerate();
    words.fold(0, |all, (index, word)| {
        let word = u64::from_le_bytes(*word);
        let (low, high) = (word & LOWER, word >> 1 & LOWER);
        let found = (!low & !high & first) | (low & !high & second) | (!low & high & third) | (low & high & fourth);
        all | u128::from(gathered(found)) << (index * 32)
    })
}

/// The even bits of a word next to each other.
fn gathered(word: u64) -> u32 {
    let word = word & LOWER;
    let word = (word | word >> 1) & 0x3333_3333_3333_3333;
    let word = (word | word >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    let word = (word | word >> 4) & 0x00ff_00ff_00ff_00ff;
    let word = (word | word >> 8) & 0x0000_ffff_0000_ffff;
    (word | word >> 16) as u32
}

/// The marks of one block.
struct BlockMarks<'a> {
    codes: Codes,
    code_bits: &'a [u8],
    zones: Zones<'a>,
    count: usize,
}

impl BlockMarks<'_> {
    /// One bit for each posting with one of the marks; `codes` is filled if there are any and they differ.
    fn picked(&self, marks: &MarkSet, codes: &mut Block) -> u128 {
        let inside = if self.count < BLOCK_LEN { (1 << self.count) - 1 } else { u128::MAX };
        let mut bits = match self.codes {
            Codes::All(code) => return with_zones(self.zones, marks.zones(code)) & inside,
            Codes::Except { common, .. } => with_zones(self.zones, marks.zones(common)),
            Codes::Packed(_) => {
                let codes = &mut codes[..self.count];
                self.codes.decode(self.code_bits, codes);
                let is_picked = |(place, &code): (usize, &u32)| marks.has(code, zone(self.zones, place));
                return codes
                    .iter()
                    .enumerate()
                    .fold(0, |bits, posting| bits | u128::from(is_picked(posting)) << posting.0);
            }
        };
        self.codes.for_each_exception(self.code_bits, |place, code| {
            let bit = 1u128 << (place % BLOCK_LEN);
            bits = if marks.has(code, zone(self.zones, place)) { bits | bit } else { bits & !bit };
        });
        bits &= inside;
        if bits != 0 {
            self.codes.decode(self.code_bits, &mut codes[..self.count]);
        }
        bits
    }

    /// Calls `f(doc, code, zone)` for the postings of `bits`.
    fn for_each(&self, mut bits: u128, docs: &[DocId], codes: &Block, mut f: impl FnMut(DocId, u32, u8)) {
        while bits != 0 {
            let place = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let Some(&doc) = docs.get(place) else { return };
            let code = if let Codes::All(code) = self.codes { code } else { codes[place] };
            f(doc, code, zone(self.zones, place));
        }
    }
}

impl List<'_> {
    /// Calls `f(doc, code, zone)` for each posting with one of the marks, ascending by document. Cost: some instructions for
    /// each posting whose block has one; a tenth of that for each other one.
    pub(crate) fn for_each_picked(&self, marks: &MarkSet, f: impl FnMut(DocId, u32, u8)) {
        if self.is_dense() { self.for_each_picked_dense(marks, f) } else { self.for_each_picked_in_blocks(marks, f) }
    }

    fn for_each_picked_in_blocks(&self, marks: &MarkSet, mut f: impl FnMut(DocId, u32, u8)) {
        let (mut docs, mut codes): (Block, Block) = ([0; BLOCK_LEN], [0; BLOCK_LEN]);
        let mut at = self.blocks_at();
        let mut previous = None;
        let packer = BitPacker4x::new();
        for block in 0..self.full_blocks() {
            let Some(layout) = self.layout(at, BLOCK_LEN) else { return };
            at = layout.end;
            let block_marks = layout.marks(BLOCK_LEN);
            let bits = block_marks.picked(marks, &mut codes);
            if bits == 0 && self.has_entries() {
                let Some(last) = read_u32(self.bytes(), 1 + block * ENTRY_BYTES) else { return };
                previous = Some(last);
                continue;
            }
            packer.decompress_strictly_sorted(previous, layout.docs, &mut docs, layout.doc_width);
            if !self.are_inside(&docs) {
                return;
            }
            block_marks.for_each(bits, &docs, &codes, &mut f);
            previous = Some(docs[BLOCK_LEN - 1]);
        }
        let Some((layout, rest)) = self.tail(at, previous, &mut docs) else { return };
        let block_marks = layout.marks(rest);
        let bits = block_marks.picked(marks, &mut codes);
        block_marks.for_each(bits, &docs[..rest], &codes, f);
    }

    fn for_each_picked_dense(&self, marks: &MarkSet, mut f: impl FnMut(DocId, u32, u8)) {
        let (mut docs, mut codes): (Block, Block) = ([0; BLOCK_LEN], [0; BLOCK_LEN]);
        let mut at = 1 + bitset_bytes(self.doc_count());
        let mut bits_of_docs = Documents::new(self);
        let mut left = self.len() as usize;
        while left > 0 {
            let count = left.min(BLOCK_LEN);
            let Some(block) = self.dense_marks(&mut at, count) else { return };
            let bits = block.picked(marks, &mut codes);
            if bits == 0 {
                bits_of_docs.skip(count);
            } else {
                let found = bits_of_docs.take(&mut docs[..count]);
                block.for_each(bits, &docs[..found], &codes, &mut f);
            }
            left -= count;
        }
    }

    /// The marks of the next block of a bitset.
    fn dense_marks(&self, at: &mut usize, count: usize) -> Option<BlockMarks<'_>> {
        let bytes = self.bytes();
        let codes = Codes::read(bytes, at)?;
        let code_bits = bytes.get(*at..)?;
        *at += codes.bytes(count);
        let zones = bytes.get(*at..*at + self.zone_bytes(count))?;
        *at += zones.len();
        Some(BlockMarks { codes, code_bits, zones, count })
    }

    /// Calls `f(code, zone)` for the postings of the first block.
    pub(crate) fn for_each_first(&self, mut f: impl FnMut(u32, u8)) {
        let count = (self.len() as usize).min(BLOCK_LEN);
        let layout;
        let block = if self.is_dense() {
            self.dense_marks(&mut (1 + bitset_bytes(self.doc_count())), count)
        } else {
            layout = self.layout(self.blocks_at(), count);
            layout.as_ref().map(|layout| layout.marks(count))
        };
        let Some(block) = block else { return };
        let mut codes: Block = [0; BLOCK_LEN];
        block.codes.decode(block.code_bits, &mut codes[..count]);
        codes[..count].iter().enumerate().for_each(|(place, &code)| f(code, zone(block.zones, place)));
    }
}

impl Layout<'_> {
    fn marks(&self, count: usize) -> BlockMarks<'_> {
        BlockMarks { codes: self.codes, code_bits: self.code_bits, zones: self.zones, count }
    }
}

/// The documents of a bitset, ascending, of which some are passed over without a look at each.
struct Documents<'a> {
    chunks: std::slice::Iter<'a, [u8; 8]>,
    /// What is left of the present word.
    word: u64,
    /// The document of its first bit.
    first: DocId,
    /// Of the next word.
    next_first: DocId,
    /// Documents behind the present word.
    left: usize,
    doc_count: u32,
}

impl<'a> Documents<'a> {
    fn new(list: &List<'a>) -> Documents<'a> {
        let chunks = list.bitset().as_chunks::<8>().0.iter();
        Documents { chunks, word: 0, first: 0, next_first: 0, left: list.len() as usize, doc_count: list.doc_count() }
    }

    /// Goes on to the next word with documents; `false` at the end.
    fn advance(&mut self) -> bool {
        for chunk in self.chunks.by_ref() {
            let mut word = u64::from_le_bytes(*chunk);
            self.first = self.next_first;
            self.next_first = self.first.saturating_add(u64::BITS);
            // A damaged bitset may have more documents than were announced, or than there are.
            while word.count_ones() as usize > self.left
                || (word != 0 && self.first.saturating_add(word.ilog2()) >= self.doc_count)
            {
                word &= !(1 << word.ilog2());
            }
            self.left -= word.count_ones() as usize;
            self.word = word;
            if word != 0 {
                return true;
            }
        }
        false
    }

    fn skip(&mut self, mut count: usize) {
        loop {
            let here = self.word.count_ones() as usize;
            if here > count {
                (0..count).for_each(|_| self.word &= self.word - 1);
                return;
            }
            count -= here;
            self.word = 0;
            if count == 0 || !self.advance() {
                return;
            }
        }
    }

    /// Fills `out` as far as there are documents; answers how many there are.
    fn take(&mut self, out: &mut [DocId]) -> usize {
        let mut found = 0;
        while found < out.len() && (self.word != 0 || self.advance()) {
            while self.word != 0 && found < out.len() {
                out[found] = self.first + self.word.trailing_zeros();
                self.word &= self.word - 1;
                found += 1;
            }
        }
        found
    }
}
