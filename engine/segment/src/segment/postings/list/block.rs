//! Postings of a block, unpacked.

use lamina_text::id::DocId;

use super::super::{ZONE_BITS, ZONE_MAX};
use super::codes::Codes;
use super::{BLOCK_LEN, Block};

/// Postings of a part of a list, documents ascending.
pub(crate) struct PostingBlock<'a> {
    pub docs: &'a [DocId],
    pub codes: BlockCodes<'a>,
    /// One for each document.
    pub zones: &'a [u8],
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
pub(super) struct Unpacked {
    codes: Block,
    zones: [u8; BLOCK_LEN],
}

impl Unpacked {
    pub(super) fn new() -> Unpacked {
        Unpacked { codes: [0; BLOCK_LEN], zones: [0; BLOCK_LEN] }
    }

    /// A block of `docs`, with its packed codes and zones.
    pub(super) fn block<'a>(
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

/// The packed zones of a block; nothing when the list has none.
pub(super) type Zones<'a> = &'a [u8];

/// Unpacks the zones of a block: eight to three bytes.
fn unpack_zones(zones: Zones<'_>, out: &mut [u8; BLOCK_LEN]) {
    for (eight, bytes) in out.as_chunks_mut::<8>().0.iter_mut().zip(zones.chunks(usize::from(ZONE_BITS))) {
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte));
        *eight = std::array::from_fn(|place| (bits >> (place as u32 * u32::from(ZONE_BITS))) as u8 & ZONE_MAX);
    }
}
