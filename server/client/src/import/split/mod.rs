//! Cuts a stream of documents into request bodies at document boundaries.
//!
//! Nothing is parsed further than the boundaries need: whether a document is valid is for the server to say. CSV batches
//! repeat the header; JSON arrays are sent as their elements, one after the other (ndjson). Between its documents a body
//! has the line breaks of the file, so that places in it can be given as places in the file.

mod batch;
mod csv;
mod json;
mod ndjson;

use std::io;
use std::sync::Arc;

pub(super) use batch::Batch;
use batch::DocumentStart;
use lamina_base::options::ByteSize;

use super::{Format, ImportError, place::Place, source::Source};

/// Maximum number of bytes read in search of the end of one document, unless batches are larger. By default, a
/// server accepts no larger request.
const DOCUMENT_BYTES_MAX: usize = 100_000_000;

/// Limits that bound the memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Maximum size of a batch, unless it is a single larger document.
    batch_bytes: usize,
    /// Maximum size of a document. A larger one ends the reading.
    document_bytes: usize,
}

impl Limits {
    pub(super) fn new(batch_bytes: usize) -> Limits {
        Limits { batch_bytes, document_bytes: batch_bytes.max(DOCUMENT_BYTES_MAX) }
    }
}

/// Calls `sink` with batches until the input or the sink ends; the sink ends it by returning false.
///
/// # Errors
/// What is wrong with the input. The documents before it were given to the sink.
pub(super) fn split(source: Source, limits: Limits, mut sink: impl FnMut(Batch) -> bool) -> Result<(), ImportError> {
    let Source { name, format, delimiter, mut reader } = source;
    let mut batcher = Batcher {
        file: name.into(),
        format,
        delimiter,
        limits,
        header: Vec::new(),
        header_lines: 0,
        body: Vec::new(),
        documents: Vec::new(),
        next: Position { line: 1, column: 1, document: 1 },
        start: Position { line: 1, column: 1, document: 1 },
        last_line: 1,
        sink: &mut sink,
    };
    let result = match format {
        Format::Ndjson => ndjson::lines(&mut reader, &mut batcher),
        Format::Json => json::elements(&mut reader, &mut batcher),
        Format::Csv | Format::Tsv => csv::rows(&mut reader, delimiter, &mut batcher),
    };
    let result = match result {
        Err(Stop::Sink) => Err(Stop::Sink),
        // What came before the fault is sent.
        result => batcher.flush().and(result),
    };
    match result {
        Ok(()) | Err(Stop::Sink) => Ok(()),
        Err(Stop::Read(source)) => Err(ImportError::Read { file: batcher.file.to_string(), source }),
        Err(Stop::Fault(error)) => Err(error),
    }
}

/// Reason why a file is not read further.
enum Stop {
    /// More serves no purpose.
    Sink,
    Read(io::Error),
    Fault(ImportError),
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Read(error)
    }
}

/// A place in the file; all are counted from 1.
#[derive(Clone, Copy)]
struct Position {
    line: u64,
    column: u64,
    document: u64,
}

impl Position {
    fn pass(&mut self, bytes: &[u8]) {
        match line_breaks(bytes) {
            0 => self.column += bytes.len() as u64,
            breaks => {
                self.line += breaks;
                self.column = bytes.iter().rev().take_while(|&&byte| byte != b'\n').count() as u64 + 1;
            }
        }
    }
}

fn line_breaks(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

struct Batcher<'a> {
    file: Arc<str>,
    format: Format,
    /// CSV: what stands between cells.
    delimiter: u8,
    limits: Limits,
    /// CSV: the first row, at the head of every batch.
    header: Vec<u8>,
    header_lines: u64,
    body: Vec<u8>,
    /// Places of its documents.
    documents: Vec<DocumentStart>,
    /// Position of the next input in the file.
    next: Position,
    /// Position where the batch begins; `last_line` is the last line that it holds.
    start: Position,
    last_line: u64,
    sink: &'a mut dyn FnMut(Batch) -> bool,
}

impl Batcher<'_> {
    fn is_empty(&self) -> bool {
        self.body.is_empty()
    }

    /// Makes `row`, which is what comes next in the file, the head of every batch.
    fn set_header(&mut self, row: &[u8]) {
        self.header.extend_from_slice(row);
        if !row.ends_with(b"\n") {
            self.header.push(b'\n');
        }
        // The server counts a line when it passes `\n`, and takes that behind `\r` for a part of the next row.
        self.header_lines = line_breaks(self.header.strip_suffix(b"\r\n").unwrap_or(&self.header));
        self.next.pass(row);
    }

    /// Adds `document`, which is what comes next in the file.
    fn push(&mut self, document: &[u8]) -> Result<(), Stop> {
        if !self.is_empty() && self.body.len() + document.len() + 1 > self.limits.batch_bytes {
            self.flush()?;
        }
        if self.is_empty() {
            self.body.extend_from_slice(&self.header);
            self.start = self.next;
        }
        let Position { line, column, .. } = self.next;
        let offset = self.body.len();
        self.body.extend_from_slice(document);
        self.next.pass(document);
        self.next.document += 1;
        self.last_line = self.next.line - line_breaks(&document[document.trim_ascii_end().len()..]);
        self.documents.push(DocumentStart { offset, line, column, last_line: self.last_line });
        Ok(())
    }

    /// Adds `blank`, which is or replaces what comes next in the file between two documents; its last line is as long.
    fn gap(&mut self, blank: &[u8]) -> Result<(), Stop> {
        if self.body.len() + blank.len() > self.limits.batch_bytes {
            self.flush()?;
        }
        if !self.is_empty() {
            self.body.extend_from_slice(blank);
        }
        self.next.pass(blank);
        Ok(())
    }

    /// Hands over what was collected.
    fn flush(&mut self) -> Result<(), Stop> {
        if self.is_empty() {
            return Ok(());
        }
        let content_type = match self.format {
            Format::Csv | Format::Tsv => "text/csv",
            Format::Json | Format::Ndjson => "application/x-ndjson",
        };
        let place = Place {
            file: self.file.clone(),
            format: self.format,
            first_document: self.start.document,
            document_count: self.next.document - self.start.document,
            first_line: self.start.line,
            last_line: self.last_line,
            column: self.start.column,
            header_lines: self.header_lines,
        };
        // The next batch will be about as long.
        let body = std::mem::replace(&mut self.body, Vec::with_capacity(self.limits.batch_bytes.min(1 << 26)));
        let batch = Batch {
            body: body.into(),
            content_type,
            delimiter: self.delimiter,
            place,
            header_bytes: self.header.len(),
            documents: std::mem::take(&mut self.documents),
        };
        if (self.sink)(batch) { Ok(()) } else { Err(Stop::Sink) }
    }

    /// Refuses a document of more than `bytes` that begins with what comes next.
    fn check_length(&self, bytes: usize) -> Result<(), Stop> {
        if bytes <= self.limits.document_bytes {
            return Ok(());
        }
        let hint = match self.format {
            Format::Ndjson => "Each document needs its own line",
            Format::Json => "A string or a brace in it may not be closed",
            Format::Csv | Format::Tsv => "A quote at the start of one of its cells may have no other at the end",
        };
        Err(Stop::Fault(ImportError::TooLarge {
            file: self.file.to_string(),
            document: self.next.document,
            line: self.next.line,
            max: ByteSize::new(self.limits.document_bytes as u64),
            hint,
        }))
    }
}

#[cfg(test)]
mod tests;
