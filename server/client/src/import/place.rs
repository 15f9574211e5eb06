//! Where in its file the documents of a request stand, and what the server says about the request in terms of the file.

use std::fmt;
use std::sync::Arc;

use super::Format;

/// Documents that stand one behind the other in a file. Lines, columns and documents are counted from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Arc<str>,
    pub(super) format: Format,
    pub(super) first_document: u64,
    pub(super) document_count: u64,
    pub(super) first_line: u64,
    pub(super) last_line: u64,
    /// Column of the first document in its line.
    pub(super) column: u64,
    /// Lines that the server counts in the request before the first document: those of the header of a CSV file.
    pub(super) header_lines: u64,
}

impl Place {
    pub(super) fn last_document(&self) -> u64 {
        self.first_document + self.document_count.saturating_sub(1)
    }

    /// Takes `next` in when it follows at once; false when it does not.
    pub(super) fn extend(&mut self, next: &Place) -> bool {
        let follows = self.file == next.file && self.last_document() + 1 == next.first_document;
        if follows {
            self.document_count += next.document_count;
            self.last_line = next.last_line;
        }
        follows
    }

    /// The message of the server, whose lines, columns and records count from the start of the request, with those of the
    /// file. A message that is worded in another way stays as it is.
    pub(super) fn in_file(&self, message: &str) -> String {
        let translated = match self.format {
            Format::Csv | Format::Tsv => self.record_in_file(message).or_else(|| self.row_in_file(message)),
            Format::Json | Format::Ndjson => self.line_in_file(message),
        };
        translated.unwrap_or_else(|| message.to_owned())
    }

    /// `… at line 1 column 7`: bodies keep the line breaks of their files, so it is a matter of where they begin.
    fn line_in_file(&self, message: &str) -> Option<String> {
        let (head, line, rest) = number_behind(message, " at line ")?;
        let (nothing, column, tail) = number_behind(rest, " column ")?;
        let column = if line == 1 { column + self.column - 1 } else { column };
        let line = self.first_line + line.checked_sub(1)?;
        // A text that ends too early does so in the line behind the last, to a parser.
        let at = match line > self.last_line && column == 0 {
            true => format!("at the end of line {}", self.last_line),
            false => format!("at line {line} column {column}"),
        };
        nothing.is_empty().then(|| format!("{head} {at}{tail}"))
    }

    /// `… record 1 (line: 2, byte: 9): …`, or without the colon behind `line`; record 0 is the header.
    fn record_in_file(&self, message: &str) -> Option<String> {
        let (head, record, rest) = number_behind(message, ": record ")?;
        let (opening, line, rest) = number_behind(rest, "line: ").or_else(|| number_behind(rest, "line "))?;
        let (_, reason) = rest.split_once("): ")?;
        let document = self.first_document + record.checked_sub(1)?;
        let line = self.first_line + line.checked_sub(1 + self.header_lines)?;
        (opening == " (").then(|| format!("{head}: document {document} (line {line}): {reason}"))
    }

    /// `… at line 2: …` of a cell that should be a number or a boolean: the server means rows, without the header.
    fn row_in_file(&self, message: &str) -> Option<String> {
        let (head, row, rest) = number_behind(message, " at line ")?;
        let document = self.first_document + row.checked_sub(1)?;
        rest.starts_with(": ").then(|| format!("{head} at document {document}{rest}"))
    }
}

/// `films.csv: documents 3 to 5 (lines 4 to 6)`
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { file, first_document, first_line, last_line, .. } = self;
        write!(f, "{file}: ")?;
        match self.last_document() {
            last if last == *first_document => write!(f, "document {last}")?,
            last => write!(f, "documents {first_document} to {last}")?,
        }
        if first_line == last_line {
            write!(f, " (line {first_line})")
        } else {
            write!(f, " (lines {first_line} to {last_line})")
        }
    }
}

/// Splits `text` at the last `label` that a number follows. Returns the text before it, the number, and the text
/// after it.
fn number_behind<'a>(text: &'a str, label: &str) -> Option<(&'a str, u64, &'a str)> {
    text.rmatch_indices(label).find_map(|(at, _)| {
        let rest = &text[at + label.len()..];
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        Some((&text[..at], rest[..length].parse().ok()?, &rest[length..]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(format: Format) -> Place {
        Place {
            file: "films".into(),
            format,
            first_document: 101,
            document_count: 100,
            first_line: 111,
            last_line: 222,
            column: 5,
            header_lines: u64::from(format == Format::Csv),
        }
    }

    #[track_caller]
    fn check(format: Format, message: &str, expected: &str) {
        assert_eq!(place(format).in_file(message), expected);
    }

    #[test]
    fn lines_and_columns_are_those_of_the_file() {
        let message = "malformed. `expected value at line 47 column 7`.";
        check(Format::Ndjson, message, "malformed. `expected value at line 157 column 7`.");
        let message = "`EOF while parsing a value at line 113 column 0`.";
        check(Format::Ndjson, message, "`EOF while parsing a value at the end of line 222`.");
        // Only the first line of a request may begin in the middle of one of the file.
        check(Format::Json, "`x at line 1 column 7`.", "`x at line 111 column 11`.");
        check(Format::Json, "`x at line 2 column 7`.", "`x at line 112 column 7`.");
    }

    #[test]
    fn records_and_rows_are_documents_of_the_file() {
        let message = "CSV error: record 1 (line: 2, byte: 9): found record with 3 fields";
        check(Format::Csv, message, "CSV error: document 101 (line 111): found record with 3 fields");
        let message = "CSV parse error: record 3 (line 5, field: 0, byte: 9): invalid utf-8: x";
        check(Format::Csv, message, "CSV parse error: document 103 (line 114): invalid utf-8: x");
        let message = "Error parsing number \"at line 9: x\" at line 2: invalid float literal";
        let expected = "Error parsing number \"at line 9: x\" at document 102: invalid float literal";
        check(Format::Csv, message, expected);
    }

    #[test]
    fn other_messages_stay_as_they_are() {
        for message in [
            "",
            "x at line ",
            "x at line 0 column 1",
            "x at line 99999999999999999999999 column 1",
            "x at line 1",
            "x at line 1 and column 1",
            "CSV error: record 0 (line: 1, byte: 0): header",
            "CSV error: record 1 (line: 1, byte: 0): before the header",
            "CSV error: record 1 (line: 2",
            "Error at line 0: row",
        ] {
            for format in [Format::Ndjson, Format::Json, Format::Csv] {
                check(format, message, message);
            }
        }
        // Nor are those of another format touched.
        check(Format::Csv, "`x at line 1 column 7`.", "`x at line 1 column 7`.");
    }

    #[test]
    fn places_that_follow_each_other_become_one() {
        let mut first = place(Format::Ndjson);
        assert_eq!(first.to_string(), "films: documents 101 to 200 (lines 111 to 222)");
        let one = Place { first_document: 201, document_count: 1, first_line: 223, last_line: 223, ..first.clone() };
        assert_eq!(one.to_string(), "films: document 201 (line 223)");
        assert!(!first.extend(&Place { first_document: 202, ..one.clone() }));
        assert!(!first.extend(&Place { file: "others".into(), ..one.clone() }));
        assert!(first.extend(&one));
        assert_eq!(first.to_string(), "films: documents 101 to 201 (lines 111 to 223)");
    }
}
