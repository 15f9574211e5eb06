//! The elements of a JSON array, or objects one after the other.

use std::io::BufRead;

use super::{Batcher, Stop};
use crate::import::ImportError;

/// Input that may come next outside of documents.
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

    /// Returns the state after `byte`, which may begin a document or separate documents. Returns `None` if `byte` is
    /// not allowed here.
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

/// State of the splitter.
struct Splitter {
    expected: Expected,
    /// The start of an element that goes on in the next buffer.
    element: Vec<u8>,
    /// Separators between elements, replaced by blanks.
    blank: Vec<u8>,
    /// Number of open brackets.
    depth: u64,
    in_string: bool,
    escaped: bool,
}

impl Splitter {
    /// Passes on the elements that end in `buffer`, and keeps the start of one that goes on behind it.
    fn read(&mut self, buffer: &[u8], batcher: &mut Batcher) -> Result<(), Stop> {
        // Where the current element continues in this buffer.
        let mut from = 0;
        for (at, &byte) in buffer.iter().enumerate() {
            if self.depth == 0 {
                if self.is_start(byte, &buffer[at..], batcher)? {
                    from = at;
                }
            } else if self.is_end(byte) {
                self.element.extend_from_slice(&buffer[from..=at]);
                batcher.check_length(self.element.len())?;
                batcher.push(&self.element)?;
                self.element.clear();
            }
        }
        if self.depth > 0 {
            self.element.extend_from_slice(&buffer[from..]);
            batcher.check_length(self.element.len())?;
        }
        batcher.gap(&self.blank)?;
        self.blank.clear();
        Ok(())
    }

    /// Reports whether `byte`, outside of elements, begins one. Refuses a byte that is not allowed here. `found` starts
    /// with it.
    #[inline]
    fn is_start(&mut self, byte: u8, found: &[u8], batcher: &mut Batcher) -> Result<bool, Stop> {
        let Some(next) = self.expected.behind(byte) else {
            batcher.gap(&self.blank)?;
            return Err(misplaced(batcher, self.expected, Some(found)));
        };
        self.expected = next;
        if byte != b'{' {
            self.blank.push(if byte.is_ascii_whitespace() { byte } else { b' ' });
            return Ok(false);
        }
        self.depth = 1;
        batcher.gap(&self.blank)?;
        self.blank.clear();
        Ok(true)
    }

    /// Reports whether `byte`, inside an element, ends it.
    #[inline]
    fn is_end(&mut self, byte: u8) -> bool {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b'}' | b']' => {
                self.depth -= 1;
                return self.depth == 0;
            }
            _ => {}
        }
        false
    }
}

pub(super) fn elements(reader: &mut dyn BufRead, batcher: &mut Batcher) -> Result<(), Stop> {
    let mut splitter = Splitter {
        expected: Expected::Start,
        element: Vec::new(),
        blank: Vec::new(),
        depth: 0,
        in_string: false,
        escaped: false,
    };
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            break;
        }
        splitter.read(buffer, batcher)?;
        let length = buffer.len();
        reader.consume(length);
    }
    match splitter.expected {
        _ if splitter.depth > 0 => Err(Stop::Fault(ImportError::TruncatedJson {
            file: batcher.file.to_string(),
            document: batcher.next.document,
            line: batcher.next.line,
            column: batcher.next.column,
        })),
        Expected::Object | Expected::End => Ok(()),
        expected => Err(misplaced(batcher, expected, None)),
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
