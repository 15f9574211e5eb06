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
    out.clear();
    out.reserve(bytes_max);
    DECOMPRESSOR.with_borrow_mut(|context| {
        match dictionary {
            Some(dictionary) => context.decompress_using_ddict(out, frame, dictionary.as_ddict()),
            None => context.decompress(out, frame),
        }
        .map(drop)
        .map_err(failed)
    })
}
