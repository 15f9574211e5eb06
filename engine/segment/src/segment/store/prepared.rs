//! Dictionaries made ready to read blocks with.

use super::compress::decompress;
use super::pieces::Pieces;
use super::words::{WordDecoder, is_model};
use std::io;
use zstd::dict::DecoderDictionary;

/// Dictionary that is ready for use: bytes that zstd knows in advance, or a model of words.
pub(super) enum Prepared {
    Zstd(DecoderDictionary<'static>),
    Words(Box<WordDecoder>),
}

impl Prepared {
    /// `None` when it is damaged.
    pub(super) fn new(dictionary: &[u8], pieces: &Pieces) -> Option<Prepared> {
        if is_model(dictionary) {
            return WordDecoder::new(dictionary, pieces).map(|words| Prepared::Words(Box::new(words)));
        }
        DecoderDictionary::try_copy(dictionary).ok().map(Prepared::Zstd)
    }
}

/// Replaces `out` by the raw content of a frame, at most `bytes_max` long: the lengths of the texts, and the texts. Those that
/// are codes of words stay so, as each is read by itself.
pub(super) fn unpack(
    dictionary: Option<&Prepared>,
    frame: &[u8],
    bytes_max: usize,
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let dictionary = match dictionary {
        Some(Prepared::Words(_)) if frame.len() > bytes_max => return Err(io::ErrorKind::InvalidData.into()),
        Some(Prepared::Words(_)) => {
            out.clear();
            out.extend_from_slice(frame);
            return Ok(());
        }
        Some(Prepared::Zstd(dictionary)) => Some(dictionary),
        None => None,
    };
    decompress(frame, bytes_max, dictionary, out)
}

/// Appends the JSON of a text of a block, at most `limit` bytes. `None` when the text is damaged. `pieces` are those of the
/// dictionary.
pub(super) fn decode(
    dictionary: Option<&Prepared>,
    pieces: &Pieces,
    text: &[u8],
    limit: usize,
    out: &mut Vec<u8>,
) -> Option<()> {
    match dictionary {
        Some(Prepared::Words(words)) => words.decode(text, limit, out),
        _ => pieces.decode(text, limit, out),
    }
}
