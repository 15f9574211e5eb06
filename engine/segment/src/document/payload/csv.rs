//! Comma-separated values with typed headers.

use std::io::{self, Read, Write};

use csv::{ReaderBuilder, StringRecord};
use hashbrown::HashMap;

use super::{BLOCK_BYTES, PayloadMemory};
use crate::document::field_map::FIELD_COUNT_MAX;
use crate::document::{PayloadError, PayloadReason};

/// Type of the values of a CSV column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Number,
    Boolean,
}

/// A field of every document.
#[derive(Debug)]
struct Column {
    /// `"name":`, ready to be written.
    key: Vec<u8>,
    kind: Kind,
    /// The cell that holds the value.
    cell: usize,
}

/// Memory that the CSV reader needs for each cell, in bytes.
const CELL_BYTES: usize = size_of::<usize>();

/// Counts what the row that is read takes, and ends the reading if that is too much.
struct RowInput<'m, R> {
    inner: R,
    delimiter: u8,
    memory: &'m mut dyn PayloadMemory,
    /// Memory taken by the current row, in bytes.
    taken: usize,
    refusal: Option<PayloadError>,
}

impl<R: Read> RowInput<'_, R> {
    /// # Errors
    /// A row may not take so much, or no memory is left for it.
    fn take(&mut self, bytes: usize) -> Result<(), PayloadError> {
        let before = self.taken.next_power_of_two();
        self.taken += bytes;
        let bytes_max = self.memory.document_bytes_max();
        if self.taken > bytes_max.saturating_add(BLOCK_BYTES) {
            return Err(PayloadError::DocumentTooLarge { bytes_max });
        }
        // The row and the document that becomes of it.
        let after = self.taken.next_power_of_two();
        if after > before.max(BLOCK_BYTES) && !self.memory.grow(2 * after.min(bytes_max.saturating_add(BLOCK_BYTES))) {
            return Err(PayloadError::NoMemory);
        }
        Ok(())
    }
}

impl<R: Read> Read for RowInput<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let cells = memchr::memchr_iter(self.delimiter, &buffer[..count]).count();
        if let Err(refusal) = self.take(count + CELL_BYTES * cells) {
            self.refusal = Some(refusal);
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        Ok(count)
    }
}

/// Reads a header and one document per row.
pub(super) fn read_csv(
    input: impl Read,
    delimiter: u8,
    memory: &mut dyn PayloadMemory,
    output: &mut impl Write,
) -> Result<u64, PayloadError> {
    let input = RowInput { inner: input, delimiter, memory, taken: 0, refusal: None };
    let mut reader = ReaderBuilder::new().delimiter(delimiter).from_reader(input);
    let result = rows(&mut reader, output);
    match reader.get_mut().refusal.take() {
        Some(refusal) => Err(refusal),
        None => result,
    }
}

fn rows<R: Read>(reader: &mut csv::Reader<RowInput<'_, R>>, output: &mut impl Write) -> Result<u64, PayloadError> {
    let header = reader.headers().map_err(failure)?;
    if header.len() > FIELD_COUNT_MAX {
        let reason = format!("the header has {} columns; an index has at most {FIELD_COUNT_MAX} fields", header.len());
        return Err(PayloadError::Malformed(PayloadReason::Csv { reason }));
    }
    let columns = columns(header);
    let bytes_max = reader.get_ref().memory.document_bytes_max();
    let (mut record, mut line, mut row) = (StringRecord::new(), Vec::new(), 0);
    loop {
        reader.get_mut().taken = 0;
        if !reader.read_record(&mut record).map_err(failure)? {
            return Ok(row);
        }
        row += 1;
        line.clear();
        line.push(b'{');
        for (at, column) in columns.iter().enumerate() {
            if at > 0 {
                line.push(b',');
            }
            line.extend_from_slice(&column.key);
            write_cell(&record[column.cell], column.kind, row, &mut line)?;
            if line.len() >= bytes_max {
                return Err(PayloadError::DocumentTooLarge { bytes_max });
            }
        }
        line.extend_from_slice(b"}\n");
        output.write_all(&line)?;
    }
}

/// The fields of the header; of columns with the same name the last counts, at the place of the first.
fn columns(header: &StringRecord) -> Vec<Column> {
    let mut columns: Vec<Column> = Vec::with_capacity(header.len());
    let mut by_name = HashMap::new();
    for (cell, title) in header.iter().enumerate() {
        let (name, kind) = match title.rsplit_once(':') {
            Some((name, "string")) => (name, Kind::Text),
            Some((name, "number")) => (name, Kind::Number),
            Some((name, "boolean")) => (name, Kind::Boolean),
            _ => (title, Kind::Text),
        };
        let at = *by_name.entry(name).or_insert(columns.len());
        let mut key = Vec::new();
        write_json(&name, &mut key);
        key.push(b':');
        let column = Column { key, kind, cell };
        match columns.get_mut(at) {
            Some(same) => *same = column,
            None => columns.push(column),
        }
    }
    columns
}

fn write_cell(cell: &str, kind: Kind, row: u64, out: &mut Vec<u8>) -> Result<(), PayloadError> {
    let trimmed = cell.trim();
    match kind {
        _ if cell.is_empty() || (kind != Kind::Text && trimmed.is_empty()) => out.extend_from_slice(b"null"),
        Kind::Text => write_json(&cell, out),
        Kind::Number => match number(trimmed) {
            Ok(value) => write_json(&value, out),
            Err(reason) => {
                let reason = PayloadReason::CsvNumber { cell: cell.to_owned(), row, reason };
                return Err(PayloadError::Malformed(reason));
            }
        },
        Kind::Boolean => match trimmed {
            "true" | "false" => out.extend_from_slice(trimmed.as_bytes()),
            _ => return Err(PayloadError::Malformed(PayloadReason::CsvBoolean { cell: cell.to_owned(), row })),
        },
    }
    Ok(())
}

/// The number that `text` is: an integer if it reads as one.
fn number(text: &str) -> Result<serde_json::Number, String> {
    if let Ok(value) = text.parse::<i64>() {
        return Ok(value.into());
    }
    if let Ok(value) = text.parse::<u64>() {
        return Ok(value.into());
    }
    let value = text.parse::<f64>().map_err(|error| error.to_string())?;
    // JSON has neither infinity nor "not a number".
    serde_json::Number::from_f64(value).ok_or_else(|| "invalid float literal".to_owned())
}

fn write_json(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("text and numbers can be written to memory");
}

fn failure(error: csv::Error) -> PayloadError {
    let reason = error.to_string();
    match error.into_kind() {
        csv::ErrorKind::Io(error) => PayloadError::Io(error),
        _ => PayloadError::Malformed(PayloadReason::Csv { reason }),
    }
}

#[cfg(test)]
mod tests {
    use crate::document::{DocumentBytesMax, PayloadError, PayloadFormat, normalize_payload};

    fn read(payload: &[u8], delimiter: u8) -> Result<(u64, String), String> {
        let mut output = Vec::new();
        let count = normalize_payload(
            PayloadFormat::Csv { delimiter },
            payload,
            &mut output,
            &mut DocumentBytesMax(usize::MAX),
        )
        .map_err(|error| error.to_string())?;
        Ok((count, String::from_utf8(output).unwrap()))
    }

    fn check(payload: &str, expected: &[&str]) {
        let lines = expected.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(read(payload.as_bytes(), b','), Ok((expected.len() as u64, lines)), "{payload:?}");
    }

    #[test]
    fn rows_are_documents() {
        check("", &[]);
        check("id,name\n", &[]);
        check("id,name\n1,Ann\n", &[r#"{"id":"1","name":"Ann"}"#]);
        check("\u{feff}id\r\n1\r\n\r\n2", &[r#"{"id":"1"}"#, r#"{"id":"2"}"#]);
        check("a\n\"x, \"\"y\"\"\nz\"\n", &[r#"{"a":"x, \"y\"\nz"}"#]);
        assert_eq!(read(b"a;b\n1;2", b';').unwrap().1, "{\"a\":\"1\",\"b\":\"2\"}\n");
    }

    #[test]
    fn headers_have_types() {
        check(
            "id:number,ok:boolean,t:string,a:b,c:d:number\n1, true ,  x ,y, -2.50 \n",
            &[r#"{"id":1,"ok":true,"t":"  x ","a:b":"y","c:d":-2.5}"#],
        );
        check("a:number,b:boolean,c\n,,\n", &[r#"{"a":null,"b":null,"c":null}"#]);
        check(
            "n:number\n18446744073709551615\n1e3\n007\n",
            &[r#"{"n":18446744073709551615}"#, r#"{"n":1000.0}"#, r#"{"n":7}"#],
        );
        check("a,b,a:number\n1,2,3\n", &[r#"{"a":3,"b":"2"}"#]);
        check("\"q\"\"x\"\n1\n", &[r#"{"q\"x":"1"}"#]);
    }

    #[test]
    fn many_columns_are_refused() {
        let header: Vec<String> = (0..65_536).map(|column| format!("c{column}")).collect();
        let error = read(format!("{}\n", header.join(",")).as_bytes(), b',').unwrap_err();
        assert_eq!(error, "the header has 65536 columns; an index has at most 65535 fields");
        // Each cell takes memory of its own, however little it holds.
        let commas = ",".repeat(1 << 20);
        let error = normalize_payload(
            PayloadFormat::Csv { delimiter: b',' },
            commas.as_bytes(),
            Vec::new(),
            &mut DocumentBytesMax(1 << 20),
        );
        assert!(matches!(error, Err(PayloadError::DocumentTooLarge { .. })), "{error:?}");
    }

    #[test]
    fn a_short_row_may_not_become_a_long_document() {
        let payload = format!("{}\n1\n", "n".repeat(2_000_000));
        let error = normalize_payload(
            PayloadFormat::Csv { delimiter: b',' },
            payload.as_bytes(),
            Vec::new(),
            &mut DocumentBytesMax(2_000_000),
        );
        assert!(matches!(error, Err(PayloadError::DocumentTooLarge { bytes_max: 2_000_000 })), "{error:?}");
    }

    #[test]
    fn broken_rows_are_reported() {
        let refused = |payload: &[u8]| read(payload, b',').unwrap_err();
        assert_eq!(
            refused(b"id,title\n1,a,b\n"),
            "CSV error: record 1 (line: 2, byte: 9): found record with 3 fields, but the previous record has 2 fields"
        );
        assert_eq!(refused(b"n:number\n1\ndoggo\n"), "\"doggo\" in row 2 is no number: invalid float literal");
        assert_eq!(refused(b"n:number\nNaN\n"), "\"NaN\" in row 1 is no number: invalid float literal");
        assert_eq!(refused(b"b:boolean\ndoggo\n"), "\"doggo\" in row 1 is no boolean");
        assert!(refused(b"b:boolean\nTrue\n").contains("\"True\" in row 1"));
        assert!(refused(b"a\n\xff\n").contains("invalid utf-8"));
        assert!(refused(b"\xff\n1\n").contains("invalid utf-8"));
    }
}
