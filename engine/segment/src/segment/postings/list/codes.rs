//! The field set codes of a block.

use super::{BLOCK_LEN, Block};
use crate::bits::bitpack::{BitWriter, bit_width, get_bits, pack, packed_bytes, unpack};
use crate::bits::varint::{put_varint, read_varint};
use bitpacking::{BitPacker, BitPacker4x};

const CONSTANT: u8 = 255;
const EXCEPT: u8 = 254;
/// Bits of a place in a block.
const PLACE_BITS: u8 = 7;
const _: () = assert!(1 << PLACE_BITS == BLOCK_LEN);

/// Encoding of the codes of a block.
#[derive(Clone, Copy)]
pub(super) enum Codes {
    All(u32),
    Packed(u8),
    Except { common: u32, width: u8, count: u8 },
}

impl Codes {
    pub(super) fn read(bytes: &[u8], at: &mut usize) -> Option<Codes> {
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

    pub(super) fn bytes(self, count: usize) -> usize {
        match self {
            Codes::All(_) => 0,
            Codes::Packed(width) => packed_bytes(count, width),
            Codes::Except { width, count, .. } => packed_bytes(usize::from(count), PLACE_BITS + width),
        }
    }

    pub(super) fn decode(self, bytes: &[u8], out: &mut [u32]) {
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
            Codes::Except { common, .. } => {
                out.fill(common);
                self.for_each_exception(bytes, |place, code| {
                    out.get_mut(place).into_iter().for_each(|slot| *slot = code)
                });
            }
        }
    }

    /// Calls `f` with the places, below [`BLOCK_LEN`], and the codes of the postings that do not have the common code.
    #[inline]
    pub(super) fn for_each_exception(self, bytes: &[u8], mut f: impl FnMut(usize, u32)) {
        let Codes::Except { width, count, .. } = self else { return };
        let step = usize::from(PLACE_BITS + width);
        for i in 0..usize::from(count) {
            let place = get_bits(bytes, i * step, PLACE_BITS) as usize;
            f(place % BLOCK_LEN, get_bits(bytes, i * step + usize::from(PLACE_BITS), width));
        }
    }
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

pub(super) fn put_codes_head(out: &mut Vec<u8>, codes: &[u32]) -> Codes {
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

pub(super) fn put_codes(out: &mut Vec<u8>, codes: &[u32], choice: Codes) {
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
