//! A window over an input, which grows to the value that is being read and no further.

use std::io::{ErrorKind, Read};

use memchr::{memchr_iter, memrchr};

use super::{BLOCK_BYTES, PayloadMemory};
use crate::document::PayloadError;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A place as parsers report it: lines from 1, and the bytes before it in its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Position {
    /// The place behind `bytes`, which begin at `self`.
    pub(super) fn after(self, bytes: &[u8]) -> Position {
        match memrchr(b'\n', bytes) {
            None => Position { column: self.column + bytes.len() as u64, ..self },
            Some(last) => Position {
                line: self.line + memchr_iter(b'\n', bytes).count() as u64,
                column: (bytes.len() - last - 1) as u64,
            },
        }
    }
}

/// Reads ahead of what was consumed.
pub(super) struct Feed<'m, R> {
    input: R,
    memory: &'m mut dyn PayloadMemory,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: Position,
    ended: bool,
}

impl<'m, R: Read> Feed<'m, R> {
    pub(super) fn new(input: R, memory: &'m mut dyn PayloadMemory) -> Feed<'m, R> {
        let position = Position { line: 1, column: 0 };
        Feed { input, memory, buffer: vec![0; BLOCK_BYTES], start: 0, end: 0, position, ended: false }
    }

    /// Returns the bytes that were read and are not yet consumed.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Returns the position in the payload at which [`Feed::data`] begins.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.position = self.position.after(&self.buffer[self.start..self.start + bytes]);
        self.start += bytes;
    }

    /// Works like [`Feed::consume`], for bytes without a line break.
    pub(super) fn consume_in_line(&mut self, bytes: usize) {
        self.position.column += bytes as u64;
        self.start += bytes;
    }

    /// Longest document, in bytes.
    pub(super) fn document_bytes_max(&self) -> usize {
        self.memory.document_bytes_max()
    }

    /// Reads behind what is there, at least doubling it so that looking again at a long value stays cheap. `false`
    /// at the end of the input.
    ///
    /// # Errors
    /// What is there is longer than a document may be, or than memory is left for.
    pub(super) fn more(&mut self) -> Result<bool, PayloadError> {
        let held = self.end - self.start;
        let bytes_max = self.document_bytes_max();
        if held > bytes_max.max(BLOCK_BYTES) {
            return Err(PayloadError::DocumentTooLarge { bytes_max });
        }
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, held);
        let wanted = (2 * held).min(bytes_max.saturating_add(BLOCK_BYTES)).max(BLOCK_BYTES);
        if self.buffer.len() < wanted {
            // The document may be written anew in the end.
            if !self.memory.grow(2 * wanted) {
                return Err(PayloadError::NoMemory);
            }
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted && !self.ended {
            match self.input.read(&mut self.buffer[self.end..wanted]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(self.end > held)
    }

    /// Consumes white space and gives the byte behind it.
    pub(super) fn peek(&mut self) -> Result<Option<u8>, PayloadError> {
        loop {
            let space = self.data().iter().take_while(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')).count();
            self.consume(space);
            if let Some(&byte) = self.data().first() {
                return Ok(Some(byte));
            }
            if !self.more()? {
                return Ok(None);
            }
        }
    }

    /// Consumes a byte order mark at the start.
    pub(super) fn skip_mark(&mut self) -> Result<(), PayloadError> {
        self.more()?;
        if self.data().starts_with(BYTE_ORDER_MARK) {
            self.start += BYTE_ORDER_MARK.len();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::DocumentBytesMax;

    #[test]
    fn positions_count_lines_and_bytes() {
        let mut memory = DocumentBytesMax(usize::MAX);
        let mut feed = Feed::new(&b"ab\n\n  c\nd"[..], &mut memory);
        assert_eq!(feed.peek().unwrap(), Some(b'a'));
        feed.consume(2);
        assert_eq!(feed.position(), Position { line: 1, column: 2 });
        assert_eq!(feed.peek().unwrap(), Some(b'c'));
        assert_eq!(feed.position(), Position { line: 3, column: 2 });
        feed.consume(1);
        assert_eq!(feed.peek().unwrap(), Some(b'd'));
        feed.consume(1);
        assert_eq!(feed.peek().unwrap(), None);
        assert!(!feed.more().unwrap());
        assert_eq!(feed.position(), Position { line: 4, column: 1 });
    }
}
