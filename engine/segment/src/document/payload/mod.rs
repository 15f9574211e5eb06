//! Payload readers: any accepted format in, one JSON object per line out.

mod csv;
mod feed;
mod json;

use std::io::{self, BufWriter, Read, Write};

use super::PayloadError;
use feed::{BYTE_ORDER_MARK, Feed};

/// Bytes that are read or written at once.
const BLOCK_BYTES: usize = 256 * 1024;

/// Format of the documents in a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadFormat {
    /// An array of objects, or one object.
    Json,
    /// Objects with any white space, or none, between them.
    NdJson,
    /// A header row, then one document a row. `delimiter` is ASCII.
    Csv { delimiter: u8 },
}

/// Memory limits for reading a payload.
pub trait PayloadMemory {
    /// Longest document, in bytes of JSON.
    fn document_bytes_max(&self) -> usize;

    /// Asked before buffers grow to `bytes` together. Answers whether they may; may wait.
    fn grow(&mut self, bytes: usize) -> bool;
}

/// Memory limit for documents of at most so many bytes. Buffers may grow without a limit of their own.
#[derive(Clone, Copy, Debug)]
pub struct DocumentBytesMax(pub usize);

impl PayloadMemory for DocumentBytesMax {
    fn document_bytes_max(&self) -> usize {
        self.0
    }

    fn grow(&mut self, _: usize) -> bool {
        true
    }
}

/// Streams `input` to `output` as one JSON object per line and returns how many there were. Everything about syntax
/// is checked here: encoding, nesting, duplicate keys (the last value wins). Documents that are right keep their
/// bytes, but for line breaks.
///
/// An empty payload has no documents; whether that is an error is for the caller to say. After an error `output`
/// holds the documents before it. Takes some blocks of memory, and three times the bytes of a document that is longer than
/// a block, which `memory` bounds.
pub fn normalize_payload(
    format: PayloadFormat,
    input: impl Read,
    output: impl Write,
    memory: &mut dyn PayloadMemory,
) -> Result<u64, PayloadError> {
    let mut output = BufWriter::with_capacity(BLOCK_BYTES, output);
    let count = match format {
        PayloadFormat::Json => json::read_json(Feed::new(input, memory), &mut output)?,
        PayloadFormat::NdJson => json::read_ndjson(Feed::new(input, memory), &mut output)?,
        PayloadFormat::Csv { delimiter } => csv::read_csv(without_mark(input)?, delimiter, memory, &mut output)?,
    };
    output.flush()?;
    Ok(count)
}

/// `input` without a byte order mark at its start.
fn without_mark(mut input: impl Read) -> io::Result<impl Read> {
    let mut head = Vec::with_capacity(BYTE_ORDER_MARK.len());
    input.by_ref().take(BYTE_ORDER_MARK.len() as u64).read_to_end(&mut head)?;
    if head == BYTE_ORDER_MARK {
        head.clear();
    }
    Ok(io::Cursor::new(head).chain(input))
}
