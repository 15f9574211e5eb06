//! The counts of a segment, so that a file describes itself without its manifest.

use crate::bits::little_endian::{put_u32, put_u64, read_u32, read_u64};

/// The layout is in `segment-format.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Info {
    pub doc_count: u32,
    pub term_count: u32,
    pub token_count: u64,
    /// JSON of the documents.
    pub raw_bytes: u64,
}

impl Info {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(24);
        put_u32(&mut out, self.doc_count);
        put_u32(&mut out, self.term_count);
        put_u64(&mut out, self.token_count);
        put_u64(&mut out, self.raw_bytes);
        out
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Info> {
        Some(Info {
            doc_count: read_u32(bytes, 0)?,
            term_count: read_u32(bytes, 4)?,
            token_count: read_u64(bytes, 8)?,
            raw_bytes: read_u64(bytes, 16)?,
        })
    }
}
