//! Documents on lines: usually one a line.

use std::io::{self, BufRead, Read};

use super::{Batcher, Stop};

/// A document is as many lines as it needs.
pub(super) fn lines(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let (mut document, mut line) = (Vec::new(), Vec::new());
    // The last byte of the document that is not blank.
    let mut last = 0;
    loop {
        read_line(reader, &mut line, batcher.limits.document_bytes)?;
        if line.is_empty() {
            break;
        }
        let text = line.trim_ascii();
        if !document.is_empty() && !goes_on(&document, last, text) {
            batcher.push(&document)?;
            document.clear();
        }
        batcher.check_length(document.len() + line.len())?;
        match text.last() {
            Some(&byte) => last = byte,
            None if document.is_empty() => {
                batcher.gap(&line)?;
                continue;
            }
            None => {}
        }
        if document.is_empty() {
            std::mem::swap(&mut document, &mut line);
        } else {
            document.extend_from_slice(&line);
        }
    }
    if document.is_empty() {
        return Ok(());
    }
    if !document.ends_with(b"\n") {
        document.push(b'\n');
    }
    batcher.push(&document)
}

/// Reads the next line, or one byte more than `bytes_max` of it.
fn read_line(reader: &mut dyn BufRead, line: &mut Vec<u8>, bytes_max: usize) -> io::Result<()> {
    line.clear();
    Read::take(reader, bytes_max as u64 + 1).read_until(b'\n', line)?;
    Ok(())
}

/// Whether the line that holds `text` is still of the document, whose last byte is `last`. A line break between two
/// documents has a `}` before it and a `{` behind it; one inside of a document never has both. What is no object is taken
/// line by line.
fn goes_on(document: &[u8], last: u8, text: &[u8]) -> bool {
    let is_object = document.trim_ascii_start().starts_with(b"{");
    is_object
        && match text.first() {
            None => true,
            // A value that is an object.
            Some(b'{') => matches!(last, b':' | b',' | b'['),
            Some(first) => last != b'}' || matches!(first, b',' | b'}' | b']'),
        }
}
