//! The elements of a JSON array, or objects one after the other.

use std::io::BufRead;

use super::{Batcher, Stop};
use crate::import::ImportError;

/// What may come next outside of documents.
#[derive(Clone, Copy)]
enum Expected {
    Start,
    FirstElement,
    Element,
    /// Behind an element.
    Comma,
    /// Behind an object that stands in no array.
    Object,
    /// Behind the array.
    End,
}

impl Expected {
    fn name(self) -> &'static str {
        match self {
            Expected::Start => "an array of JSON objects, or a JSON object",
            Expected::FirstElement => "a JSON object or `]`",
            Expected::Element => "a JSON object",
            Expected::Comma => "`,` or `]`",
            Expected::Object => "another JSON object or the end of the input",
            Expected::End => "the end of the input",
        }
    }

    /// What is expected behind `byte`, which may begin a document or stand between them; `None` when it may not.
    fn behind(self, byte: u8) -> Option<Expected> {
        match (self, byte) {
            (expected, b' ' | b'\t' | b'\n' | b'\r') => Some(expected),
            (Expected::Start, b'[') => Some(Expected::FirstElement),
            (Expected::FirstElement | Expected::Comma, b']') => Some(Expected::End),
            (Expected::Comma, b',') => Some(Expected::Element),
            (Expected::FirstElement | Expected::Element, b'{') => Some(Expected::Comma),
            (Expected::Start | Expected::Object, b'{') => Some(Expected::Object),
            _ => None,
        }
    }
}

pub(super) fn elements(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let mut expected = Expected::Start;
    // The start of an element that goes on in the next buffer, and what stands between elements, as blanks.
    let (mut element, mut blank) = (Vec::new(), Vec::new());
    let (mut depth, mut in_string, mut escaped) = (0u64, false, false);
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        // Where the current element continues in this buffer.
        let mut from = 0;
        for (at, &byte) in buffer.iter().enumerate() {
            if depth == 0 {
                let Some(next) = expected.behind(byte) else {
                    batcher.gap(&blank)?;
                    return Err(misplaced(batcher, expected, Some(&buffer[at..])));
                };
                expected = next;
                if byte == b'{' {
                    (depth, from) = (1, at);
                    batcher.gap(&blank)?;
                    blank.clear();
                } else {
                    blank.push(if byte.is_ascii_whitespace() { byte } else { b' ' });
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
                            element.extend_from_slice(&buffer[from..=at]);
                            batcher.check_length(element.len())?;
                            batcher.push(&element)?;
                            element.clear();
                        }
                    }
                    _ => {}
                }
            }
        }
        if depth > 0 {
            element.extend_from_slice(&buffer[from..]);
            batcher.check_length(element.len())?;
        }
        batcher.gap(&blank)?;
        blank.clear();
        let length = buffer.len();
        reader.consume(length);
    }
    match expected {
        _ if depth > 0 => Err(Stop::Fault(ImportError::TruncatedJson {
            file: batcher.file.to_string(),
            document: batcher.next.document,
            line: batcher.next.line,
            column: batcher.next.column,
        })),
        Expected::Object | Expected::End => Ok(()),
        _ => Err(misplaced(batcher, expected, None)),
    }
}

/// Something else than what was expected at what comes next: the start of `found`, or the end.
fn misplaced(batcher: &Batcher, expected: Expected, found: Option<&[u8]>) -> Stop {
    let found = match found {
        None => "the end of the input".to_owned(),
        Some(bytes) => {
            let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4)]);
            format!("`{}`", text.chars().next().unwrap_or(char::REPLACEMENT_CHARACTER))
        }
    };
    Stop::Fault(ImportError::Misplaced {
        file: batcher.file.to_string(),
        line: batcher.next.line,
        column: batcher.next.column,
        documents_before: batcher.next.document - 1,
        expected: expected.name(),
        found,
    })
}
