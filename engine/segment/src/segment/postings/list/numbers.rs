//! Numbers that a table has for the postings of a block: what a ranking makes of their fields and zones.

use super::block::Zones;
use super::codes::Codes;
use super::{BLOCK_LEN, Block, ZONE_BITS};
use crate::segment::postings::ZONE_COUNT;

/// A number by field set code and zone; 0 for codes that it does not have.
pub(crate) type MarkNumbers = [[u16; ZONE_COUNT]];

/// Number of documents whose zones are packed together.
const ZONES_PER_BYTE: usize = u8::BITS as usize / ZONE_BITS as usize;
const _: () = assert!(ZONES_PER_BYTE == 4);
const _: () = assert!(ZONE_COUNT == 1 << ZONE_BITS);

/// Finds the numbers of one block after the other.
pub(super) struct BlockNumbers<'t> {
    table: &'t MarkNumbers,
    codes: Block,
    numbers: [u16; BLOCK_LEN],
}

/// The zones in a byte.
#[inline]
fn unpacked(bits: u8) -> [usize; ZONES_PER_BYTE] {
    [bits & 3, bits >> 2 & 3, bits >> 4 & 3, bits >> 6].map(usize::from)
}

impl BlockNumbers<'_> {
    pub(super) fn new(table: &MarkNumbers) -> BlockNumbers<'_> {
        BlockNumbers { table, codes: [0; BLOCK_LEN], numbers: [0; BLOCK_LEN] }
    }

    /// The numbers of a block of `count` postings, with its packed codes and zones.
    pub(super) fn of(&mut self, count: usize, codes: Codes, code_bits: &[u8], zones: Zones<'_>) -> &[u16] {
        // Lists without zones have the first one everywhere.
        let mut padded = [0; BLOCK_LEN / ZONES_PER_BYTE];
        let there = zones.len().min(padded.len());
        padded[..there].copy_from_slice(&zones[..there]);
        // Most lists are short.
        let used = &padded[..count.div_ceil(ZONES_PER_BYTE)];
        let fours = self.numbers.as_chunks_mut::<ZONES_PER_BYTE>().0.iter_mut().zip(used);
        match codes {
            Codes::All(common) | Codes::Except { common, .. } => {
                let row = self.table.get(common as usize).copied().unwrap_or_default();
                fours.for_each(|(four, &bits)| *four = unpacked(bits).map(|zone| row[zone]));
                let table = self.table;
                codes.for_each_exception(code_bits, |place, code| {
                    let zone =
                        padded[place / ZONES_PER_BYTE] >> (usize::from(ZONE_BITS) * (place % ZONES_PER_BYTE)) & 3;
                    self.numbers[place] = table.get(code as usize).map_or(0, |row| row[usize::from(zone)]);
                });
            }
            Codes::Packed(_) => {
                codes.decode(code_bits, &mut self.codes[..count]);
                let flat = self.table.as_flattened();
                for ((four, &bits), codes) in fours.zip(self.codes.as_chunks::<ZONES_PER_BYTE>().0) {
                    let zones = unpacked(bits);
                    *four = std::array::from_fn(|place| {
                        let mark = codes[place] as usize * ZONE_COUNT + zones[place];
                        flat.get(mark).copied().unwrap_or_default()
                    });
                }
            }
        }
        &self.numbers[..count]
    }
}
