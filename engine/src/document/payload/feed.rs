//! A window over an input, which grows to the value that is being read and no further.

use std::io::{self, ErrorKind, Read};

use memchr::{memchr_iter, memrchr};

use super::BLOCK_BYTES;

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
#[derive(Debug)]
pub(super) struct Feed<R> {
    input: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    position: Position,
    ended: bool,
}

impl<R: Read> Feed<R> {
    pub(super) fn new(input: R) -> Feed<R> {
        let position = Position { line: 1, column: 0 };
        Feed { input, buffer: vec![0; BLOCK_BYTES], start: 0, end: 0, position, ended: false }
    }

    /// What was read and not yet consumed.
    pub(super) fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Where [`Feed::data`] begins in the payload.
    pub(super) fn position(&self) -> Position {
        self.position
    }

    pub(super) fn consume(&mut self, bytes: usize) {
        self.position = self.position.after(&self.buffer[self.start..self.start + bytes]);
        self.start += bytes;
    }

    /// As [`Feed::consume`], for bytes that hold no line break.
    pub(super) fn consume_in_line(&mut self, bytes: usize) {
        self.position.column += bytes as u64;
        self.start += bytes;
    }

    /// Reads behind what is there, at least doubling it so that looking again at a long value stays cheap. `false`
    /// at the end of the input.
    pub(super) fn more(&mut self) -> io::Result<bool> {
        let held = self.end - self.start;
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, held);
        let wanted = (2 * held).max(BLOCK_BYTES);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        while self.end < wanted && !self.ended {
            match self.input.read(&mut self.buffer[self.end..wanted]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.end > held)
    }

    /// Consumes white space and gives the byte behind it.
    pub(super) fn peek(&mut self) -> io::Result<Option<u8>> {
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
    pub(super) fn skip_mark(&mut self) -> io::Result<()> {
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

    #[test]
    fn positions_count_lines_and_bytes() {
        let mut feed = Feed::new(&b"ab\n\n  c\nd"[..]);
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
