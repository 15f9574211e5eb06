//! Documents on their way in: received, decoded, checked and written down as lines, never wholly in memory.

mod body_reader;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use lamina_base::budget::{ReceivingMemory, all_taken};
use lamina_base::engine_errors::payload_error;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::tasks::{PayloadPlace, Spill, Spilled, blocking};
use lamina_engine::document::{PayloadError, normalize_payload};
use lamina_protocol::wire::documents::Format;
use warp::http::HeaderMap;

use crate::http::{BodyStream, Encoding, LimitedReader, content_length, incomplete_body, payload_too_large};

/// Bodies up to this size are handled on the spot, and their documents are stored in the queue: that is one fsync less
/// than a file of their own, and no change of threads.
const SMALL_BYTES: usize = 64 * 1024;
/// Use of the memory, in a refusal.
const DOCUMENTS: &str = "documents";

/// Documents that are safe on disk, or small enough to be stored with their task.
#[derive(Debug)]
pub(crate) struct Received {
    /// Number of documents.
    pub(crate) count: u64,
    /// Bytes as lines.
    pub(crate) bytes: u64,
    /// XXH3-64 of them.
    pub(crate) checksum: u64,
    /// Place of the documents.
    pub(crate) place: PayloadPlace,
    /// The lines, when [`PayloadPlace::Inline`].
    pub(crate) inline: Option<Vec<u8>>,
}

/// Reports whether the headers of a body declare it as small.
pub(crate) fn is_small(headers: &HeaderMap) -> bool {
    content_length(headers).is_some_and(|length| length <= SMALL_BYTES as u64)
}

/// Receives the body of a request into `folder`. The decoded body may have `limit` bytes, and its documents take `memory`.
///
/// # Errors
/// What is wrong with the body; nothing is left behind then.
pub(crate) async fn receive(
    headers: &HeaderMap,
    mut body: BodyStream,
    format: Format,
    limit: u64,
    folder: &Path,
    mut memory: ReceivingMemory,
) -> ApiResult<Received> {
    let encoding = Encoding::of(headers)?;
    if content_length(headers).is_some_and(|length| length > limit) {
        return Err(payload_too_large(limit));
    }
    let (head, ended) = head(&mut body).await?;
    if ended && head.iter().all(Bytes::is_empty) {
        return Err(missing(format));
    }
    let spill = Spill::new(folder, SMALL_BYTES);
    if ended && encoding == Encoding::Identity {
        return normalize(ChunksReader(head), format, limit, spill, &mut memory);
    }
    if !memory.take_buffers().await {
        return Err(all_taken(DOCUMENTS));
    }
    let (reader, feeder) = body_reader::pair(head);
    let work = blocking(move || normalize(encoding.reader(reader)?, format, limit, spill, &mut memory));
    // The two run side by side; when the reader gives up, the feeder drains what the client still sends, so that the
    // client gets to read the answer.
    let feed = feeder.feed(body, ended, limit);
    let (received, ()) = futures_util::future::join(work, feed).await;
    received?
}

/// The first pieces of a body, up to a small body, and whether that was all.
async fn head(body: &mut BodyStream) -> ApiResult<(Vec<Bytes>, bool)> {
    let (mut pieces, mut bytes) = (Vec::new(), 0);
    while bytes <= SMALL_BYTES {
        match body.next().await {
            None => return Ok((pieces, true)),
            Some(Err(_)) => return Err(incomplete_body()),
            Some(Ok(piece)) => {
                bytes += piece.len();
                pieces.push(piece);
            }
        }
    }
    Ok((pieces, false))
}

fn normalize(
    reader: impl Read,
    format: Format,
    limit: u64,
    mut spill: Spill,
    memory: &mut ReceivingMemory,
) -> ApiResult<Received> {
    let reader = LimitedReader::new(reader, limit);
    let mut reader = BufReader::with_capacity(SMALL_BYTES, reader);
    let is_empty = reader.fill_buf().map(<[u8]>::is_empty);
    let result = match is_empty {
        Ok(true) => return Err(missing(format)),
        Ok(false) => normalize_payload(format.format, &mut reader, &mut spill, memory),
        Err(error) => Err(error.into()),
    };
    // The parser says "unexpected end" of what is really a broken connection.
    if let Some(failure) = reader.get_ref().failure() {
        return Err(failure.into_error(limit));
    }
    let count = result.map_err(|error| match error {
        PayloadError::NoMemory => all_taken(DOCUMENTS),
        error => payload_error(format.name, error),
    })?;
    let Spilled { bytes, checksum, place, inline } = spill.finish()?;
    Ok(Received { count, bytes, checksum, place, inline })
}

/// Keeps lines that the server has made itself as [`receive`] keeps documents.
///
/// # Errors
/// What the file system says.
pub(crate) fn keep_lines(lines: &[String], folder: &Path) -> ApiResult<Received> {
    let mut spill = Spill::new(folder, SMALL_BYTES);
    for line in lines {
        spill.write_all(line.as_bytes())?;
        spill.write_all(b"\n")?;
    }
    let Spilled { bytes, checksum, place, inline } = spill.finish()?;
    Ok(Received { count: lines.len() as u64, bytes, checksum, place, inline })
}

fn missing(format: Format) -> ApiError {
    ApiError::new(Code::MissingPayload, format!("A {} payload is missing.", format.name))
}

/// Reads pieces one after another.
struct ChunksReader(Vec<Bytes>);

impl Read for ChunksReader {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(first) = self.0.first_mut() {
            if first.is_empty() {
                self.0.remove(0);
                continue;
            }
            let count = first.len().min(buffer.len());
            first.copy_to_slice(&mut buffer[..count]);
            return Ok(count);
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests;
