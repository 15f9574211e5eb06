//! The bytes of a payload, and its lines.

use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::Arc;

use lamina_segment::storage::{Directory, MappedDirectory, OwnedBytes};

use super::super::error::IndexError;
use super::super::operation::Payload;

/// An open payload: one JSON object per line.
#[derive(Clone, Debug)]
pub(super) enum PayloadBytes {
    Mapped(OwnedBytes),
    Shared(Arc<[u8]>),
}

impl Deref for PayloadBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            PayloadBytes::Mapped(bytes) => bytes,
            PayloadBytes::Shared(bytes) => bytes,
        }
    }
}

impl PayloadBytes {
    /// # Errors
    /// [`IndexError::Payload`] when the file cannot be mapped.
    pub(super) fn open(payload: &Payload) -> Result<PayloadBytes, IndexError> {
        match payload {
            Payload::Bytes(bytes) => Ok(PayloadBytes::Shared(bytes.clone())),
            Payload::File(path) => {
                map(path).map(PayloadBytes::Mapped).map_err(|source| IndexError::Payload { path: path.clone(), source })
            }
        }
    }

    /// The first line that is not blank.
    pub(super) fn first_line(&self) -> Option<&[u8]> {
        lines(self, 0..self.len()).next().map(|(_, line)| line)
    }
}

fn map(path: &Path) -> std::io::Result<OwnedBytes> {
    let invalid = || std::io::Error::from(std::io::ErrorKind::InvalidFilename);
    let name = path.file_name().and_then(|name| name.to_str()).ok_or_else(invalid)?;
    let folder = path.parent().ok_or_else(invalid)?;
    let bytes = MappedDirectory::open(folder)?.open_read(name)?;
    bytes.advise_sequential();
    Ok(bytes)
}

/// The lines of `range` that are not blank, with their offset in `bytes`, without the line end.
pub(super) fn lines(bytes: &[u8], range: Range<usize>) -> impl Iterator<Item = (usize, &[u8])> {
    let mut start = range.start;
    std::iter::from_fn(move || {
        while start < range.end {
            let line_start = start;
            let length = memchr::memchr(b'\n', &bytes[start..range.end]).unwrap_or(range.end - start);
            start += length + 1;
            let line = &bytes[line_start..line_start + length];
            let trimmed = line.trim_ascii_start();
            if !trimmed.is_empty() {
                return Some((line_start + line.len() - trimmed.len(), trimmed.trim_ascii_end()));
            }
        }
        None
    })
}

/// The end of a piece of whole lines that begins at `start` and has about `target_bytes`.
pub(super) fn piece_end(bytes: &[u8], start: usize, target_bytes: usize) -> usize {
    let aim = start.saturating_add(target_bytes);
    if aim >= bytes.len() {
        return bytes.len();
    }
    memchr::memchr(b'\n', &bytes[aim..]).map_or(bytes.len(), |length| aim + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_skip_blanks_and_keep_offsets() {
        let bytes = b"{\"a\":1}\n\n  {\"b\":2} \r\n{\"c\":3}";
        let found: Vec<_> = lines(bytes, 0..bytes.len()).collect();
        assert_eq!(found, [(0, &b"{\"a\":1}"[..]), (11, b"{\"b\":2}"), (21, b"{\"c\":3}")]);
    }

    #[test]
    fn pieces_are_whole_lines_and_cover_everything() {
        let bytes: Vec<u8> = (0..100).flat_map(|n| format!("{{\"id\":{n}}}\n").into_bytes()).collect();
        for target in [1, 7, 50, 10_000] {
            let (mut start, mut count) = (0, 0);
            while start < bytes.len() {
                let end = piece_end(&bytes, start, target);
                assert!(end > start);
                assert_eq!(bytes[end - 1], b'\n');
                count += lines(&bytes, start..end).count();
                start = end;
            }
            assert_eq!(count, 100);
        }
    }
}
