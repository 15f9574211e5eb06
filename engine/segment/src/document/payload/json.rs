//! JSON and newline-delimited JSON.

use std::io::{Read, Write};

use serde::de::IgnoredAny;

use super::feed::{Feed, Position};
use crate::document::check::{Checked, Checker};
use crate::document::merge::deduplicate;
use crate::document::scan::{compact, replace_lone_surrogates};
use crate::document::{DocumentError, PayloadError, PayloadReason};

const NOT_OBJECTS: &str = "data are neither an object nor a list of objects";
/// Bytes at the head of a long reason that are shown. A reason that is longer than head, dots and tail together is
/// reduced to these.
const REASON_HEAD: usize = 50;
const REASON_TAIL: usize = 85;

/// Reads an array of objects or one object.
pub(super) fn read_json<R: Read>(feed: Feed<'_, R>, output: &mut impl Write) -> Result<u64, PayloadError> {
    let mut reader = Reader::new(feed)?;
    let mut count = 0;
    if reader.feed.peek()? == Some(b'[') {
        reader.feed.consume(1);
        if reader.feed.peek()? == Some(b']') {
            reader.feed.consume(1);
        } else {
            loop {
                reader.object(output)?;
                count += 1;
                let next = reader.feed.peek()?;
                match next {
                    Some(b']') => {
                        reader.feed.consume(1);
                        break;
                    }
                    Some(b',') => {
                        reader.feed.consume(1);
                        if reader.feed.peek()? == Some(b']') {
                            return reader.fail("trailing comma");
                        }
                    }
                    Some(_) => return reader.fail("expected `,` or `]`"),
                    None => return reader.fail("EOF while parsing a list"),
                }
            }
        }
    } else {
        reader.object(output)?;
        count = 1;
    }
    if reader.feed.peek()?.is_some() {
        return reader.fail("trailing characters");
    }
    Ok(count)
}

/// Reads objects one behind the other.
pub(super) fn read_ndjson<R: Read>(feed: Feed<'_, R>, output: &mut impl Write) -> Result<u64, PayloadError> {
    let mut reader = Reader::new(feed)?;
    let mut count = 0;
    while reader.feed.peek()?.is_some() {
        reader.object(output)?;
        count += 1;
    }
    Ok(count)
}

struct Reader<'m, R> {
    feed: Feed<'m, R>,
    checker: Checker,
    rewritten: Vec<u8>,
}

impl<'m, R: Read> Reader<'m, R> {
    fn new(mut feed: Feed<'m, R>) -> Result<Reader<'m, R>, PayloadError> {
        feed.skip_mark()?;
        Ok(Reader { feed, checker: Checker::default(), rewritten: Vec::new() })
    }

    /// Reads the object that comes next and writes it as a line.
    fn object(&mut self, output: &mut impl Write) -> Result<(), PayloadError> {
        let Some(first) = self.feed.peek()? else { return self.fail("EOF while parsing a value") };
        let checked = self.value()?;
        if first != b'{' {
            return Err(malformed(NOT_OBJECTS.to_owned()));
        }
        let bytes_max = self.feed.document_bytes_max();
        if checked.bytes > bytes_max {
            return Err(PayloadError::DocumentTooLarge { bytes_max });
        }
        let json = &self.feed.data()[..checked.bytes];
        if checked.one_line && !checked.duplicate_keys && !checked.replaces_characters {
            output.write_all(json)?;
        } else {
            self.rewritten.clear();
            if checked.duplicate_keys {
                deduplicate(json, &mut self.rewritten).expect("the document was checked");
            } else {
                compact(json, &mut self.rewritten);
            }
            if checked.replaces_characters {
                replace_lone_surrogates(&mut self.rewritten);
            }
            output.write_all(&self.rewritten)?;
        }
        output.write_all(b"\n")?;
        if checked.one_line {
            self.feed.consume_in_line(checked.bytes);
        } else {
            self.feed.consume(checked.bytes);
        }
        Ok(())
    }

    /// Reads until the value that comes next is whole, and checks it.
    fn value(&mut self) -> Result<Checked, PayloadError> {
        loop {
            let data = self.feed.data();
            let error = match self.checker.value(data) {
                // A number at the very end of the data may go on behind it.
                Ok(checked) if checked.bytes < data.len() => return Ok(checked),
                Ok(checked) => {
                    if matches!(data.last(), Some(b'}' | b']')) || !self.feed.more()? {
                        return Ok(checked);
                    }
                    continue;
                }
                Err(error) => error,
            };
            let goes_on = matches!(error, DocumentError::Syntax { at } if at == data.len());
            if !goes_on || !self.feed.more()? {
                return Err(malformed(reason(self.feed.data(), self.feed.position(), error)));
            }
        }
    }

    /// The error `message` at the byte that comes next, or at the end.
    fn fail<T>(&self, message: &str) -> Result<T, PayloadError> {
        let Position { line, column } = self.feed.position();
        let column = column + u64::from(!self.feed.data().is_empty());
        Err(malformed(format!("{message} at line {line} column {column}")))
    }
}

fn malformed(reason: String) -> PayloadError {
    PayloadError::Malformed(PayloadReason::Json { reason: shorten(reason) })
}

/// Describes the error in the value at the start of `data`, in the words of the usual parser, with the position in the
/// whole payload.
fn reason(data: &[u8], start: Position, error: DocumentError) -> String {
    let place = |at: usize| {
        let Position { line, column } = start.after(&data[..at]);
        format!("line {line} column {}", column + u64::from(at < data.len()))
    };
    match error {
        DocumentError::Utf8 { at } => return format!("invalid unicode code point at {}", place(at)),
        DocumentError::NumberTooLarge { at } => return format!("number out of range at {}", place(at)),
        DocumentError::TooDeep { max } => {
            return format!(
                "recursion limit exceeded: more than {max} levels of arrays and objects in the document at line {} column {}",
                start.line,
                start.column + 1
            );
        }
        DocumentError::Syntax { .. } => {}
    }
    let usual = serde_json::Deserializer::from_slice(data).into_iter::<IgnoredAny>().next();
    let (Some(Err(usual)), DocumentError::Syntax { at }) = (usual, error) else {
        return format!("expected value at {}", place(data.len()));
    };
    let message = usual.to_string();
    let relative = format!(" at line {} column {}", usual.line(), usual.column());
    let Some(message) = message.strip_suffix(&relative) else { return format!("{message} at {}", place(at)) };
    // Its lines count from 1; on its first line its columns begin where the value does.
    let line = start.line + usual.line() as u64 - 1;
    let column = usual.column() as u64 + if usual.line() == 1 { start.column } else { 0 };
    format!("{message} at line {line} column {column}")
}

/// Takes the middle out of a long reason, which may quote the payload.
fn shorten(mut reason: String) -> String {
    const DOTS: &str = "...";
    if reason.len() > REASON_HEAD + DOTS.len() + REASON_TAIL {
        let (mut head, mut tail) = (REASON_HEAD, reason.len() - REASON_TAIL);
        while !reason.is_char_boundary(head) {
            head -= 1;
        }
        while !reason.is_char_boundary(tail) {
            tail += 1;
        }
        reason.replace_range(head..tail, DOTS);
    }
    reason
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::io;

    use proptest::prelude::*;

    use super::*;
    use crate::document::{DocumentBytesMax, PayloadFormat, PayloadMemory, normalize_payload};

    /// Gives a few bytes at a time, so that values are cut everywhere.
    struct Trickle<'d>(&'d [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let bytes = self.1.min(self.0.len()).min(buffer.len());
            buffer[..bytes].copy_from_slice(&self.0[..bytes]);
            self.0 = &self.0[bytes..];
            Ok(bytes)
        }
    }

    fn read(format: PayloadFormat, payload: &[u8]) -> Result<(u64, String), String> {
        let mut output = Vec::new();
        let count = normalize_payload(format, Trickle(payload, 7), &mut output, &mut DocumentBytesMax(usize::MAX))
            .map_err(|error| error.to_string())?;
        Ok((count, String::from_utf8(output).unwrap()))
    }

    fn check(format: PayloadFormat, payload: &str, expected: &[&str]) {
        let lines = expected.iter().map(|line| format!("{line}\n")).collect();
        assert_eq!(read(format, payload.as_bytes()), Ok((expected.len() as u64, lines)), "{payload:?}");
    }

    fn refused(format: PayloadFormat, payload: &[u8], reason: &str) {
        let expected = format!("broken JSON: {reason}");
        assert_eq!(read(format, payload), Err(expected), "{:?}", String::from_utf8_lossy(payload));
    }

    use PayloadFormat::{Json, NdJson};

    #[test]
    fn json_is_an_array_or_an_object() {
        check(Json, "[]", &[]);
        check(Json, " [ ] \n", &[]);
        check(Json, r#"{"id":1}"#, &[r#"{"id":1}"#]);
        check(Json, r#"[{"id":1}, {"id": 2.50}]"#, &[r#"{"id":1}"#, r#"{"id": 2.50}"#]);
        check(Json, "\u{feff}[{\n  \"id\": \"a  b\",\r\n  \"x\": [ 1 ]\n}]", &[r#"{"id":"a  b","x":[1]}"#]);
        check(Json, r#"[{"a":1,"a":2}]"#, &[r#"{"a":2}"#]);
    }

    #[test]
    fn ndjson_is_objects_with_anything_blank_between() {
        check(NdJson, "", &[]);
        check(NdJson, " \n\r\n\t", &[]);
        check(NdJson, "{\"id\":1}\n\n{\"id\":2}", &[r#"{"id":1}"#, r#"{"id":2}"#]);
        check(NdJson, "{\"id\":1}{\"id\":2} {\"id\"\n:3}\n", &[r#"{"id":1}"#, r#"{"id":2}"#, r#"{"id":3}"#]);
        check(NdJson, "\u{feff}{}", &["{}"]);
    }

    #[test]
    fn broken_json_is_reported_in_known_words() {
        refused(Json, b"", "EOF while parsing a value at line 1 column 0");
        refused(Json, b"{\"id\": 1, \"doggo\": \"a\"", "EOF while parsing an object at line 1 column 22");
        refused(Json, b"doggo", "expected value at line 1 column 1");
        refused(Json, b"{\"id\": 1, \"doggo\": }", "expected value at line 1 column 20");
        refused(Json, b"[{\"id\": 1, ]}", "key must be a string at line 1 column 12");
        refused(Json, b"[{\"id\":1},\n {\"id\":2\n}\n {\"id\":3}]", "expected `,` or `]` at line 4 column 2");
        refused(Json, b"[{\"id\":1},\n {\"id\": x}]", "expected value at line 2 column 9");
        refused(Json, b"[{\"id\":1},]", "trailing comma at line 1 column 11");
        refused(Json, b"[{\"id\":1}", "EOF while parsing a list at line 1 column 9");
        refused(Json, b"[", "EOF while parsing a value at line 1 column 1");
        refused(Json, b"[{}] 1", "trailing characters at line 1 column 6");
        refused(Json, b"{} {}", "trailing characters at line 1 column 4");
        refused(
            Json,
            b"{\"a\":\"\n\"}",
            "control character (\\u0000-\\u001F) found while parsing a string at line 1 column 6",
        );
        refused(Json, b"{\"a\":\"\\x\"}", "invalid escape at line 1 column 8");
        refused(Json, b"{\"a\":\"\xff\"}", "invalid unicode code point at line 1 column 7");
        refused(Json, b"{\"a\":01}", "invalid number at line 1 column 7");
        refused(NdJson, b"{\"id\":1}\n{\"id\":", "EOF while parsing a value at line 2 column 6");
        refused(NdJson, b"{\"id\":1},{\"id\":2}", "expected value at line 1 column 9");
    }

    #[test]
    fn other_values_are_refused() {
        for payload in ["1", "\"doggo\"", "null", "true", "[1]", "[[]]", "[\"a\"]", "[{\"id\":1},null]", "-1.5"] {
            refused(Json, payload.as_bytes(), NOT_OBJECTS);
        }
        for payload in ["1", "[{\"id\":1}]", "{\"id\":1}\n\"a\""] {
            refused(NdJson, payload.as_bytes(), NOT_OBJECTS);
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let payload = format!("{{\"a\":{}", "[".repeat(100_000));
        refused(
            Json,
            payload.as_bytes(),
            "recursion limit exceeded: more than 100 levels of arrays and objects in the document at line 1 column 1",
        );
    }

    #[test]
    fn long_reasons_are_shortened() {
        assert_eq!(shorten("x".repeat(138)), "x".repeat(138));
        let long = format!("{}{}{}", "a".repeat(50), "b".repeat(100), "c".repeat(85));
        assert_eq!(shorten(long), format!("{}...{}", "a".repeat(50), "c".repeat(85)));
        assert!(shorten("é".repeat(200)).len() <= 138);
    }

    #[test]
    fn documents_before_the_error_are_written() {
        let mut output = Vec::new();
        assert!(
            normalize_payload(NdJson, &b"{\"id\":1}\n{\"id\""[..], &mut output, &mut DocumentBytesMax(usize::MAX))
                .is_err()
        );
        assert_eq!(read(NdJson, b"{\"id\":1}").unwrap().0, 1);
    }

    #[test]
    fn long_documents_are_read_whole() {
        let long = format!("{{\"id\":1,\"text\":\"{}\"}}", "word ".repeat(300_000));
        let payload = format!("[{long},{{\"id\":2}},{long}]");
        let mut output = Vec::new();
        assert_eq!(
            normalize_payload(Json, payload.as_bytes(), &mut output, &mut DocumentBytesMax(usize::MAX)).unwrap(),
            3
        );
        assert_eq!(output, format!("{long}\n{{\"id\":2}}\n{long}\n").as_bytes());
    }

    /// Counts what is asked for; refuses more than its second number.
    struct Watched(usize, usize);

    impl PayloadMemory for Watched {
        fn document_bytes_max(&self) -> usize {
            1 << 20
        }

        fn grow(&mut self, bytes: usize) -> bool {
            self.0 = bytes.max(self.0);
            bytes <= self.1
        }
    }

    #[test]
    fn documents_that_need_too_much_memory_are_refused() {
        let text = |bytes: usize| format!(r#"{{"id":1,"text":"{}"}}"#, "a".repeat(bytes - 18));
        let csv = |bytes: usize| format!("id,text\n1,\"{}\"\n", "b".repeat(bytes));
        let formats =
            [(Json, text as fn(usize) -> String), (NdJson, text), (PayloadFormat::Csv { delimiter: b',' }, csv)];
        for (format, document) in formats {
            let read = |bytes: usize, memory: &mut Watched| {
                normalize_payload(format, Trickle(document(bytes).as_bytes(), 50_000), io::sink(), memory)
            };
            let mut memory = Watched(0, usize::MAX);
            assert_eq!(read(100_000, &mut memory).unwrap(), 1, "{format:?}");
            assert_eq!(memory.0, 0, "short documents need no more than a block");
            assert_eq!(read((1 << 20) - 100, &mut memory).unwrap(), 1, "{format:?}");
            assert!((1 << 20..4 << 20).contains(&memory.0), "{format:?}: {}", memory.0);
            for bytes in [(1 << 20) + 1, 5 << 20] {
                let error = read(bytes, &mut memory).unwrap_err();
                assert!(
                    matches!(error, PayloadError::DocumentTooLarge { bytes_max: 1_048_576 }),
                    "{format:?}: {error}"
                );
            }
            assert!(memory.0 < 4 << 20, "{format:?}: {}", memory.0);
            let error = read(1 << 20, &mut Watched(0, 1 << 20)).unwrap_err();
            assert!(matches!(error, PayloadError::NoMemory), "{format:?}: {error}");
        }
    }

    #[test]
    fn input_and_output_errors_are_passed_on() {
        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("unplugged"))
            }
        }
        impl Write for Broken {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::other("full"))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(matches!(
            normalize_payload(Json, Broken, io::sink(), &mut DocumentBytesMax(usize::MAX)),
            Err(PayloadError::Io(_))
        ));
        assert!(matches!(
            normalize_payload(Json, &b"{}"[..], Broken, &mut DocumentBytesMax(usize::MAX)),
            Err(PayloadError::Io(_))
        ));
    }

    proptest! {
        /// However a payload is broken, it is an error or right, never a panic, and the output is right lines.
        #[test]
        fn any_bytes_are_safe(bytes in prop::collection::vec(prop_oneof![prop::sample::select(b"{}[]\",:a1\n \\".to_vec()), any::<u8>()], 0..40)) {
            for format in [Json, NdJson, PayloadFormat::Csv { delimiter: b',' }] {
                let mut output = Vec::new();
                if let Ok(count) = normalize_payload(format, Trickle(&bytes, 3), &mut output, &mut DocumentBytesMax(usize::MAX)) {
                    let lines: Vec<&[u8]> = output.split_inclusive(|byte| *byte == b'\n').collect();
                    prop_assert_eq!(lines.len() as u64, count);
                    for line in lines {
                        prop_assert!(serde_json::from_slice::<HashMap<String, AnyValue>>(line).is_ok());
                    }
                }
            }
        }
    }

    /// A value that is not looked at; numbers out of range are fine.
    type AnyValue = Box<serde_json::value::RawValue>;
}
