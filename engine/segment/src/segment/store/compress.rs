//! zstd with dictionaries: contexts are kept per thread or per writer, because creating one costs more than a block.

use std::cell::RefCell;
use std::io;
use zstd::dict::DecoderDictionary;
use zstd::zstd_safe::{CCtx, CParameter, DCtx, get_error_name};

/// With a dictionary level 3 packs catalogue documents in blocks of 1.5 KB to 0.345 of their size, level 1 to 0.41; higher
/// levels halve the speed for nothing.
pub(super) const LEVEL: i32 = 3;
/// Slots of the tables that find what came before, as powers of two: enough for the whole dictionary. With a
/// quarter of them, which level 3 takes where the dictionary is smaller, they are packed to 0.360.
const TABLE_BITS: [u32; 2] = [17, 16];
/// Nearly all blocks are not smaller than this share of their content.
const USUAL_RATIO: usize = 16;
/// Room for the content of a small frame.
const ROOM_BYTES: usize = 64 << 10;
/// By how much room grows where it is not enough.
const ROOM_GROWTH: usize = 4;
/// Error message of zstd when the room is not enough.
const NO_ROOM: &str = "Destination buffer is too small";

pub(super) fn failed(code: usize) -> io::Error {
    io::Error::other(get_error_name(code))
}

/// Compresses blocks with one dictionary.
pub(super) struct Compressor {
    context: CCtx<'static>,
}

impl Compressor {
    pub(super) fn new(dictionary: Option<&[u8]>) -> io::Result<Compressor> {
        let mut context = CCtx::create();
        let parameters = [
            CParameter::CompressionLevel(LEVEL),
            // The block knows its length and its dictionary, the section its checksum.
            CParameter::ContentSizeFlag(false),
            CParameter::ChecksumFlag(false),
            CParameter::DictIdFlag(false),
        ];
        for parameter in parameters {
            context.set_parameter(parameter).map_err(failed)?;
        }
        if let Some(dictionary) = dictionary {
            context.set_parameter(CParameter::HashLog(TABLE_BITS[0])).map_err(failed)?;
            context.set_parameter(CParameter::ChainLog(TABLE_BITS[1])).map_err(failed)?;
            context.load_dictionary(dictionary).map_err(failed)?;
        }
        Ok(Compressor { context })
    }

    /// Appends the frame of `raw`.
    pub(super) fn compress(&mut self, raw: &[u8], out: &mut Vec<u8>, frame: &mut Vec<u8>) -> io::Result<()> {
        frame.clear();
        frame.reserve(zstd::zstd_safe::compress_bound(raw.len()));
        self.context.compress2(frame, raw).map_err(failed)?;
        out.extend_from_slice(frame);
        Ok(())
    }
}

impl std::fmt::Debug for Compressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Compressor")
    }
}

thread_local! {
    static DECOMPRESSOR: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Replaces `out` by the content of `frame`, at most `bytes_max` long.
pub(super) fn decompress(
    frame: &[u8],
    bytes_max: usize,
    dictionary: Option<&DecoderDictionary<'static>>,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    // What a block says of itself makes no room before it is so: a frame that needs more than most is tried again.
    let mut room = bytes_max.min(frame.len().saturating_mul(USUAL_RATIO).saturating_add(ROOM_BYTES));
    loop {
        out.clear();
        out.try_reserve_exact(room).map_err(|_| io::ErrorKind::OutOfMemory)?;
        let tried = DECOMPRESSOR.with_borrow_mut(|context| match dictionary {
            Some(dictionary) => context.decompress_using_ddict(out, frame, dictionary.as_ddict()),
            None => context.decompress(out, frame),
        });
        match tried {
            Ok(_) if out.len() <= bytes_max => return Ok(()),
            // The room was that of an earlier block.
            Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
            Err(code) if room < bytes_max && get_error_name(code) == NO_ROOM => {
                room = bytes_max.min(room.saturating_mul(ROOM_GROWTH));
            }
            Err(code) => return Err(failed(code)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(raw: &[u8]) -> Vec<u8> {
        let mut frame = Vec::new();
        Compressor::new(None).unwrap().compress(raw, &mut frame, &mut Vec::new()).unwrap();
        frame
    }

    #[test]
    fn room_is_made_for_what_is_there_and_not_for_what_is_said() {
        let said = 1 << 40;
        let mut out = Vec::new();
        decompress(&frame(b"few"), said, None, &mut out).unwrap();
        assert_eq!(out, b"few");
        assert!(out.capacity() < 4 * ROOM_BYTES, "{}", out.capacity());
        let mut damaged = frame(&[7; 1000]);
        damaged.truncate(damaged.len() - 1);
        assert!(decompress(&damaged, said, None, &mut out).is_err());
        assert!(out.capacity() < 4 * ROOM_BYTES, "{}", out.capacity());
        // What shrinks more than most.
        let zeros = vec![0; 20 << 20];
        decompress(&frame(&zeros), zeros.len(), None, &mut out).unwrap();
        assert_eq!(out, zeros);
        assert!(decompress(&frame(&zeros), zeros.len() - 1, None, &mut Vec::new()).is_err());
    }
}
