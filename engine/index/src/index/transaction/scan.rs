//! First pass over a payload: the id of each line, and which stored document it names. No other part of a document is
//! looked at.

use std::ops::Range;
use std::sync::atomic::AtomicBool;

use lamina_segment::document::{IdError, document_id};
use xxhash_rust::xxh3::xxh3_64;

use super::super::error::{IndexError, OperationError};
use super::super::snapshot::{DocumentAddress, SegmentView};
use super::payload::lines;
use super::threads::check;

/// The lines of a piece of a payload.
#[derive(Debug, Default)]
pub(super) struct ScannedPiece {
    /// The ids of all lines, one after the other.
    keys: String,
    pub(super) lines: Vec<ScannedLine>,
}

/// One line of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedLine {
    pub(super) offset: usize,
    pub(super) length: u32,
    key_start: u32,
    key_length: u16,
    pub(super) key_hash: u64,
    /// The live document with this id before the batch.
    pub(super) existing: Option<DocumentAddress>,
}

impl ScannedPiece {
    /// Heap in use, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        self.keys.capacity() + self.lines.capacity() * size_of::<ScannedLine>()
    }

    pub(super) fn key(&self, line: &ScannedLine) -> &str {
        let start = line.key_start as usize;
        &self.keys[start..start + usize::from(line.key_length)]
    }
}

/// Hash under which ids are compared first.
pub(super) fn key_hash(key: &str) -> u64 {
    xxh3_64(key.as_bytes())
}

/// The live document with this id.
pub(super) fn find_existing(segments: &[SegmentView], key: &str) -> Option<DocumentAddress> {
    segments.iter().enumerate().rev().find_map(|(index, segment)| {
        let doc = segment.find(key)?;
        Some(DocumentAddress { segment: u32::try_from(index).expect("few segments"), doc })
    })
}

fn too_large(bytes: usize) -> IndexError {
    IndexError::DocumentTooLarge { bytes, bytes_max: u32::MAX as usize }
}

/// Reads the ids of the lines of `range`.
///
/// # Errors
/// The outer error fails the batch, the inner one the operation: its first document without a usable id.
pub(super) fn scan(
    bytes: &[u8],
    range: Range<usize>,
    primary_key: &str,
    segments: &[SegmentView],
    cancelled: &AtomicBool,
) -> Result<Result<ScannedPiece, OperationError>, IndexError> {
    let mut piece = ScannedPiece::default();
    check(cancelled)?;
    for (offset, line) in lines(bytes, range) {
        let id = match document_id(line, primary_key) {
            Ok(id) => id,
            Err(IdError::Document(error)) => return Err(error.into()),
            Err(error) => return Ok(Err(error.into())),
        };
        let key = id.as_str();
        piece.lines.push(ScannedLine {
            offset,
            length: u32::try_from(line.len()).map_err(|_| too_large(line.len()))?,
            key_start: u32::try_from(piece.keys.len()).expect("a piece has far less than 4 GB of ids"),
            key_length: u16::try_from(key.len()).expect("ids have at most 511 bytes"),
            key_hash: key_hash(key),
            existing: find_existing(segments, key),
        });
        piece.keys.push_str(key);
    }
    Ok(Ok(piece))
}
