//! Rows of comma-separated values.

use std::io::BufRead;

use super::{Batcher, Stop};

/// State of the scanner before the next byte of a row. This and [`Scanner`] know as much of CSV as the server's
/// reader does; a test compares the two.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    CellStart,
    /// In a cell that does not start with a quote: quotes mean nothing.
    Plain,
    /// In a cell that starts with a quote: only another quote means something.
    Quoted,
    /// Behind a quote in such a cell: its end, or the first of two that stand for one.
    QuoteInQuoted,
}

struct Scanner {
    state: State,
    delimiter: u8,
}

impl Scanner {
    /// The length of what `bytes` holds of the current row, when its end is there. `\n` and `\r` both end rows.
    fn row_end(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (State::CellStart | State::QuoteInQuoted, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::QuoteInQuoted,
                (State::Quoted, _) => State::Quoted,
                (_, byte) if byte == self.delimiter => State::CellStart,
                (_, b'\n' | b'\r') => {
                    self.state = State::CellStart;
                    return Some(at + 1);
                }
                _ => State::Plain,
            };
        }
        None
    }
}

pub(super) fn rows(reader: &mut dyn BufRead, delimiter: u8, batcher: &mut Batcher) -> Result<(), Stop> {
    let mut scanner = Scanner { state: State::CellStart, delimiter };
    // The start of a row that goes on in the next buffer.
    let mut row = Vec::new();
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        let mut rest = buffer;
        while let Some(length) = scanner.row_end(rest) {
            let (end, behind) = rest.split_at(length);
            batcher.check_length(row.len() + length)?;
            if row.is_empty() {
                row_done(end, batcher)?;
            } else {
                row.extend_from_slice(end);
                row_done(&row, batcher)?;
                row.clear();
            }
            rest = behind;
        }
        batcher.check_length(row.len() + rest.len())?;
        row.extend_from_slice(rest);
        let length = buffer.len();
        reader.consume(length);
    }
    // Also with a quote that is not closed, which the server closes.
    if row.is_empty() { Ok(()) } else { row_done(&row, batcher) }
}

fn row_done(row: &[u8], batcher: &mut Batcher) -> Result<(), Stop> {
    if row.trim_ascii().is_empty() {
        // A blank line is no row; nor is the `\n` behind `\r`. To the server, spaces would be one.
        let breaks: Vec<u8> = row.iter().copied().filter(|byte| matches!(byte, b'\n' | b'\r')).collect();
        batcher.gap(&breaks)
    } else if batcher.header.is_empty() {
        batcher.set_header(row);
        Ok(())
    } else {
        batcher.push(row)
    }
}
