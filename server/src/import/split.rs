//! Cuts a stream of documents into request bodies at document boundaries.
//!
//! Nothing is parsed further than the boundaries need: whether a document is valid is for the server to say. CSV batches
//! repeat the header; JSON arrays are sent as their elements, one after the other (ndjson).

use std::io::{self, BufRead};

use bytes::Bytes;

use super::{Format, ImportError, source::Source};

/// One request body.
#[derive(Debug, PartialEq)]
pub(super) struct Batch {
    pub(super) body: Bytes,
    pub(super) content_type: &'static str,
    pub(super) document_count: u64,
}

/// Calls `sink` with batches of at most `batch_bytes` (more only for a single larger document) until the input or the
/// sink ends; the sink ends it by returning false.
pub(super) fn split(
    source: Source,
    batch_bytes: usize,
    mut sink: impl FnMut(Batch) -> bool,
) -> Result<(), ImportError> {
    let Source { name, format, mut reader } = source;
    let mut batcher = Batcher { batch_bytes, header: Vec::new(), body: Vec::new(), count: 0, format, sink: &mut sink };
    let result = match format {
        Format::Ndjson => lines(&mut reader, &mut batcher),
        Format::Json => elements(&mut reader, &mut batcher),
        Format::Csv => rows(&mut reader, &mut batcher),
    };
    match result {
        Ok(()) => {
            batcher.flush();
            Ok(())
        }
        Err(Stop::Sink) => Ok(()),
        Err(Stop::Read(source)) => Err(ImportError::Read { file: name, source }),
        Err(Stop::Truncated { start }) => Err(ImportError::TruncatedJson { file: name, start }),
        Err(Stop::NotAnObject { at, found }) => {
            Err(ImportError::NotAnObject { file: name, at, found: char::from(found) })
        }
    }
}

enum Stop {
    Sink,
    Read(io::Error),
    Truncated { start: u64 },
    NotAnObject { at: u64, found: u8 },
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Read(error)
    }
}

struct Batcher<'a> {
    batch_bytes: usize,
    /// CSV: the first row, at the head of every batch.
    header: Vec<u8>,
    body: Vec<u8>,
    count: u64,
    format: Format,
    sink: &'a mut dyn FnMut(Batch) -> bool,
}

impl Batcher<'_> {
    fn push(&mut self, document: &[u8]) -> Result<(), Stop> {
        if self.count > 0 && self.body.len() + document.len() + 1 > self.batch_bytes && !self.flush() {
            return Err(Stop::Sink);
        }
        if self.count == 0 {
            self.body.extend_from_slice(&self.header);
        }
        self.body.extend_from_slice(document);
        if !document.ends_with(b"\n") {
            self.body.push(b'\n');
        }
        self.count += 1;
        Ok(())
    }

    /// Hands over what was collected; false when the sink wants no more.
    fn flush(&mut self) -> bool {
        if self.count == 0 {
            return true;
        }
        let content_type = match self.format {
            Format::Csv => "text/csv",
            Format::Json | Format::Ndjson => "application/x-ndjson",
        };
        // The next batch will be about as long.
        let body = std::mem::replace(&mut self.body, Vec::with_capacity(self.batch_bytes.min(1 << 26)));
        (self.sink)(Batch { body: body.into(), content_type, document_count: std::mem::take(&mut self.count) })
    }
}

fn lines(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line)? > 0 {
        if !line.trim_ascii().is_empty() {
            batcher.push(&line)?;
        }
        line.clear();
    }
    Ok(())
}

/// CSV rows: a newline inside quotes does not end one.
fn rows(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let (mut row, mut quoted) = (Vec::new(), false);
    loop {
        let start = row.len();
        if reader.read_until(b'\n', &mut row)? == 0 {
            break;
        }
        // A quote inside a quoted cell is doubled, so an even number of quotes means that we stand outside.
        quoted ^= row[start..].iter().filter(|&&b| b == b'"').count() % 2 == 1;
        if !quoted {
            row_done(&mut row, batcher)?;
        }
    }
    // An unclosed quote: the rest goes out as it is, and the server tells what is wrong with it.
    if row.is_empty() { Ok(()) } else { row_done(&mut row, batcher) }
}

fn row_done(row: &mut Vec<u8>, batcher: &mut Batcher) -> Result<(), Stop> {
    if row.trim_ascii().is_empty() {
        // A blank line is no row.
    } else if batcher.header.is_empty() {
        batcher.header.extend_from_slice(row);
        if !row.ends_with(b"\n") {
            batcher.header.push(b'\n');
        }
    } else {
        batcher.push(row)?;
    }
    row.clear();
    Ok(())
}

/// The elements of a JSON array, or top-level objects one after the other.
fn elements(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let mut element = Vec::new();
    let (mut depth, mut in_string, mut escaped) = (0u64, false, false);
    let (mut at, mut start) = (0u64, 0u64);
    loop {
        let buf = reader.fill_buf()?;
        if buf.is_empty() {
            break;
        }
        // `from` is where the current element continues in this buffer.
        let mut from = 0;
        for (i, &byte) in buf.iter().enumerate() {
            if depth == 0 {
                match byte {
                    b'{' => (depth, from, start) = (1, i, at + i as u64),
                    b'[' | b']' | b',' => {}
                    byte if byte.is_ascii_whitespace() => {}
                    found => return Err(Stop::NotAnObject { at: at + i as u64, found }),
                }
            } else if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
            } else {
                match byte {
                    b'"' => in_string = true,
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => {
                        depth -= 1;
                        if depth == 0 {
                            element.extend_from_slice(&buf[from..=i]);
                            batcher.push(&element)?;
                            element.clear();
                        }
                    }
                    _ => {}
                }
            }
        }
        if depth > 0 {
            element.extend_from_slice(&buf[from..]);
        }
        let n = buf.len();
        reader.consume(n);
        at += n as u64;
    }
    if depth > 0 { Err(Stop::Truncated { start }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    /// Splits `text` read in pieces of `buffer` bytes; the bodies and their document counts.
    fn check(format: Format, text: &str, batch_bytes: usize, expected: &[(&str, u64)]) {
        for buffer in [1, 3, 7, 1 << 16] {
            let reader = BufReader::with_capacity(buffer, io::Cursor::new(text.as_bytes().to_vec()));
            let source = Source { name: "input".into(), format, reader: Box::new(reader) };
            let mut batches = Vec::new();
            split(source, batch_bytes, |batch| {
                batches.push((String::from_utf8(batch.body.to_vec()).unwrap(), batch.document_count));
                true
            })
            .unwrap();
            let expected: Vec<(String, u64)> = expected.iter().map(|(body, n)| (body.to_string(), *n)).collect();
            assert_eq!(batches, expected, "buffer of {buffer}");
        }
    }

    #[test]
    fn lines_are_kept_whole_and_blank_ones_dropped() {
        let text = "{\"id\":1}\n\n{\"id\":2}\r\n  \n{\"id\":3}";
        check(Format::Ndjson, text, 1000, &[("{\"id\":1}\n{\"id\":2}\r\n{\"id\":3}\n", 3)]);
        check(Format::Ndjson, text, 20, &[("{\"id\":1}\n{\"id\":2}\r\n", 2), ("{\"id\":3}\n", 1)]);
        check(Format::Ndjson, text, 1, &[("{\"id\":1}\n", 1), ("{\"id\":2}\r\n", 1), ("{\"id\":3}\n", 1)]);
        check(Format::Ndjson, "", 10, &[]);
    }

    #[test]
    fn an_array_becomes_its_elements() {
        let text = " [ {\"a\":\"}]\\\"{\", \"b\":[{},[]]} ,\n{\"c\":\n1}]\n";
        check(Format::Json, text, 1000, &[("{\"a\":\"}]\\\"{\", \"b\":[{},[]]}\n{\"c\":\n1}\n", 2)]);
        check(Format::Json, text, 5, &[("{\"a\":\"}]\\\"{\", \"b\":[{},[]]}\n", 1), ("{\"c\":\n1}\n", 1)]);
        check(Format::Json, "{\"id\":1}", 5, &[("{\"id\":1}\n", 1)]);
        check(Format::Json, " []", 5, &[]);
    }

    #[test]
    fn rows_carry_their_header_and_quoted_newlines() {
        let text = "id,text\n1,\"a\nb \"\"c\"\"\"\n\n2,d";
        check(Format::Csv, text, 1000, &[("id,text\n1,\"a\nb \"\"c\"\"\"\n2,d\n", 2)]);
        check(Format::Csv, text, 1, &[("id,text\n1,\"a\nb \"\"c\"\"\"\n", 1), ("id,text\n2,d\n", 1)]);
        check(Format::Csv, "id,text\n", 10, &[]);
    }

    #[test]
    fn what_is_no_object_is_refused_with_its_place() {
        let source = |text: &'static str| Source {
            name: "x.json".into(),
            format: Format::Json,
            reader: Box::new(io::Cursor::new(text)),
        };
        assert!(matches!(split(source("[1]"), 10, |_| true), Err(ImportError::NotAnObject { at: 1, found: '1', .. })));
        assert!(matches!(
            split(source("[{\"a\":1},{\"b\":"), 10, |_| true),
            Err(ImportError::TruncatedJson { start: 9, .. })
        ));
    }
}
