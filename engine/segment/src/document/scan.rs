//! Reading JSON in place: strings, numbers and values as ranges of the bytes, no tree.

use std::ops::{ControlFlow, Range};

use memchr::memchr2;

use super::DocumentError;

/// Deepest nesting of arrays and objects in a document. Readers of documents recurse, on small stacks too.
pub(super) const DEPTH_MAX: usize = 100;

/// Digits of an integer that is always below the largest number of 64 bits.
const DIGITS_MAX: usize = 308;

/// A cursor over JSON text. Errors at the end of the bytes mean that more was expected.
#[derive(Clone, Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    breaks_lines: bool,
    replaces_characters: bool,
}

/// A JSON string between its quotes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawString {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Holds backslash escapes.
    pub(super) escaped: bool,
}

impl RawString {
    pub(super) fn range(self) -> Range<usize> {
        self.start..self.end
    }
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Scanner<'a> {
        Scanner { bytes, at: 0, breaks_lines: false, replaces_characters: false }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Reports whether the skipped white space contains a line break.
    pub(super) fn breaks_lines(&self) -> bool {
        self.breaks_lines
    }

    /// Reports whether a checked string holds a lone surrogate, or the escape of U+FFFD, which replaces it.
    pub(super) fn replaces_characters(&self) -> bool {
        self.replaces_characters
    }

    pub(super) fn error<T>(&self) -> Result<T, DocumentError> {
        Err(DocumentError::Syntax { at: self.at })
    }

    /// The next byte that is not white space; stays before it.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            let byte = *self.bytes.get(self.at)?;
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => self.breaks_lines = true,
                _ => return Some(byte),
            }
            self.at += 1;
        }
    }

    /// Goes over `byte`, which must come next after white space.
    #[inline]
    pub(super) fn expect(&mut self, byte: u8) -> Result<(), DocumentError> {
        if self.peek() != Some(byte) {
            return self.error();
        }
        self.at += 1;
        Ok(())
    }

    /// Goes over `byte` if it comes next after white space.
    #[inline]
    pub(super) fn accept(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    /// A string, which must come next. Its escapes are not looked at.
    #[inline]
    pub(super) fn string(&mut self) -> Result<RawString, DocumentError> {
        self.string_by(quote_or_backslash, |_| Some(2))
    }

    /// A string, which must come next, of allowed bytes and escapes.
    #[inline]
    pub(super) fn checked_string(&mut self) -> Result<RawString, DocumentError> {
        let mut replaces = false;
        let string = self.string_by(special, |raw| {
            let (character, bytes) = escape(raw)?;
            replaces |= character == char::REPLACEMENT_CHARACTER;
            Some(bytes)
        });
        self.replaces_characters |= replaces;
        string
    }

    /// A string whose quotes, backslashes and wrong bytes `find` finds; `escape_bytes` is the length of the escape that comes
    /// first, if it is right.
    #[inline]
    fn string_by(
        &mut self,
        find: impl Fn(&[u8]) -> Option<usize>,
        mut escape_bytes: impl FnMut(&[u8]) -> Option<usize>,
    ) -> Result<RawString, DocumentError> {
        self.expect(b'"')?;
        let start = self.at;
        let mut escaped = false;
        loop {
            let Some(found) = find(&self.bytes[self.at..]) else {
                self.at = self.bytes.len();
                return self.error();
            };
            self.at += found;
            let rest = &self.bytes[self.at..];
            match rest[0] {
                b'"' => {
                    self.at += 1;
                    return Ok(RawString { start, end: self.at - 1, escaped });
                }
                b'\\' => {
                    escaped = true;
                    let Some(bytes) = escape_bytes(rest).filter(|&bytes| bytes <= rest.len()) else {
                        // One that is cut off may be right.
                        if rest.len() < UNIT_ESCAPE_BYTES {
                            self.at = self.bytes.len();
                        }
                        return self.error();
                    };
                    self.at += bytes;
                }
                _ => return self.error(),
            }
        }
    }

    /// A key and the colon behind it.
    #[inline]
    pub(super) fn key(&mut self) -> Result<RawString, DocumentError> {
        let key = self.string()?;
        self.expect(b':')?;
        Ok(key)
    }

    /// Goes over the letters of `true`, `false` or `null`.
    pub(super) fn literal(&mut self, literal: &[u8]) -> Result<(), DocumentError> {
        for &byte in literal {
            if self.bytes.get(self.at) != Some(&byte) {
                return self.error();
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A number, which must come next.
    pub(super) fn number(&mut self) -> Result<Range<usize>, DocumentError> {
        let start = self.at;
        self.at += usize::from(self.byte() == Some(b'-'));
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.error(),
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            self.at += usize::from(matches!(self.byte(), Some(b'+' | b'-')));
            self.some_digits()?;
        }
        Ok(start..self.at)
    }

    /// Goes over a number that has a value in 64 bits, which must come next.
    pub(super) fn checked_number(&mut self) -> Result<(), DocumentError> {
        let range = self.number()?;
        let (at, text) = (range.start, &self.bytes[range]);
        // One that the bytes break off may go on with an exponent.
        let may_be_large = text.len() > DIGITS_MAX || text.iter().any(|byte| matches!(byte, b'e' | b'E'));
        if may_be_large && self.at < self.bytes.len() {
            let number = std::str::from_utf8(text).ok().and_then(|text| text.parse::<f64>().ok());
            if !number.is_some_and(f64::is_finite) {
                return Err(DocumentError::NumberTooLarge { at });
            }
        }
        Ok(())
    }

    fn byte(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn digits(&mut self) {
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
    }

    fn some_digits(&mut self) -> Result<(), DocumentError> {
        let from = self.at;
        self.digits();
        if self.at == from { self.error() } else { Ok(()) }
    }

    /// Goes over the value that comes next, of any kind, and gives its range. Inside arrays and objects only strings
    /// and brackets are looked at: the text was checked before.
    pub(super) fn skip(&mut self) -> Result<Range<usize>, DocumentError> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => self.string().map(|_| ())?,
            Some(b'{' | b'[') => self.skip_nested()?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            _ => self.number().map(|_| ())?,
        }
        Ok(start..self.at)
    }

    fn skip_nested(&mut self) -> Result<(), DocumentError> {
        let mut depth = 0_usize;
        while let Some(byte) = self.byte() {
            match byte {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
        self.error()
    }
}

/// The first quote or backslash. Most strings of documents are short, and end before a search with wide registers has begun:
/// the first bytes are looked at eight at a time.
#[inline]
fn quote_or_backslash(bytes: &[u8]) -> Option<usize> {
    const NEAR_BYTES: usize = 32;
    let mut at = 0;
    while at < NEAR_BYTES
        && let Some(eight) = bytes[at..].first_chunk()
    {
        let found = quotes_and_backslashes(u64::from_le_bytes(*eight));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    memchr2(b'"', b'\\', &bytes[at..]).map(|found| at + found)
}

/// Returns the offset of the quote that ends the JSON string whose content begins at `at`, or the length of `json` if none
/// does.
pub fn string_end(json: &[u8], mut at: usize) -> usize {
    while let Some(found) = json.get(at..).and_then(quote_or_backslash) {
        at += found;
        if json[at] == b'"' {
            return at;
        }
        at += 2;
    }
    json.len()
}

/// The first quote, backslash or control character.
#[inline]
fn special(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some(eight) = bytes[at..].first_chunk() {
        let eight = u64::from_le_bytes(*eight);
        let found = quotes_and_backslashes(eight) | below(eight, b' ');
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    bytes[at..].iter().position(|&byte| matches!(byte, b'"' | b'\\' | ..b' ')).map(|found| at + found)
}

const EACH: u64 = 0x0101_0101_0101_0101;

/// Marks quotes and backslashes among eight bytes, the first of which is the lowest. The result has marks in the
/// highest bit of a byte. The lowest mark is that of the first quote or backslash; higher ones may be wrong.
#[inline]
fn quotes_and_backslashes(eight: u64) -> u64 {
    let zero_where = |byte: u8| below(eight ^ (EACH * u64::from(byte)), 1);
    zero_where(b'"') | zero_where(b'\\')
}

/// Works like [`quotes_and_backslashes`], for bytes below `bound`, which is at most 128. The borrow may cause wrong
/// marks, but only behind a byte that is below `bound`. (Source: Warren, Hacker's Delight, 6-1.)
#[inline]
fn below(eight: u64, bound: u8) -> u64 {
    eight.wrapping_sub(EACH * u64::from(bound)) & !eight & (EACH << 7)
}

/// Calls `field` with key and value range of each field of the object that `line` is, until it breaks off.
pub(super) fn fields(
    line: &[u8],
    mut field: impl FnMut(RawString, Range<usize>) -> Result<ControlFlow<()>, DocumentError>,
) -> Result<(), DocumentError> {
    let mut scanner = Scanner::new(line);
    scanner.expect(b'{')?;
    if !scanner.accept(b'}') {
        loop {
            let key = scanner.key()?;
            let value = scanner.skip()?;
            if field(key, value)?.is_break() {
                return Ok(());
            }
            if scanner.accept(b'}') {
                break;
            }
            scanner.expect(b',')?;
        }
    }
    if scanner.peek().is_some() { scanner.error() } else { Ok(()) }
}

/// Appends the text that the inside of a JSON string stands for. A lone surrogate, which no text can hold, becomes
/// U+FFFD. `at` is the place of `raw` in its document, for the error.
pub(super) fn unescape(raw: &[u8], at: usize, out: &mut String) -> Result<(), DocumentError> {
    let mut from = 0;
    while from < raw.len() {
        let plain = memchr::memchr(b'\\', &raw[from..]).map_or(raw.len(), |found| from + found);
        let text = std::str::from_utf8(&raw[from..plain])
            .map_err(|error| DocumentError::Utf8 { at: at + from + error.valid_up_to() })?;
        out.push_str(text);
        if plain == raw.len() {
            break;
        }
        let (c, bytes) = escape(&raw[plain..]).ok_or(DocumentError::Syntax { at: at + plain })?;
        out.push(c);
        from = plain + bytes;
    }
    Ok(())
}

/// Length of an escape like `\u00e9`, in bytes. Other escapes are shorter.
const UNIT_ESCAPE_BYTES: usize = 6;

/// The character that the escape at the start of `raw` stands for, and the bytes it takes.
fn escape(raw: &[u8]) -> Option<(char, usize)> {
    let simple = match *raw.get(1)? {
        c @ (b'"' | b'\\' | b'/') => c,
        b'b' => 0x8,
        b'f' => 0xC,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'u' => {
            let first = unit(raw)?;
            if let Some(c) = char::from_u32(first) {
                return Some((c, UNIT_ESCAPE_BYTES));
            }
            let second = raw.get(UNIT_ESCAPE_BYTES..).and_then(unit);
            return Some(match second {
                Some(second) if first < 0xDC00 && (0xDC00..0xE000).contains(&second) => {
                    let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                    (char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER), 2 * UNIT_ESCAPE_BYTES)
                }
                _ => (char::REPLACEMENT_CHARACTER, UNIT_ESCAPE_BYTES),
            });
        }
        _ => return None,
    };
    Some((char::from(simple), 2))
}

/// Replaces lone surrogates in `json`, which was checked, by U+FFFD. Browsers send them for texts that are cut within an emoji, and most
/// readers of JSON refuse them.
pub(super) fn replace_lone_surrogates(json: &mut [u8]) {
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', &json[at..]) {
        at += found;
        let Some((character, bytes)) = escape(&json[at..]) else { return };
        if character == char::REPLACEMENT_CHARACTER {
            json[at..at + bytes].copy_from_slice(b"\\ufffd");
        }
        at += bytes;
    }
}

/// The code unit of `\uXXXX` at the start of `raw`.
fn unit(raw: &[u8]) -> Option<u32> {
    let digits = raw.strip_prefix(b"\\u")?.get(..4)?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit * 16 + char::from(digit).to_digit(16)?))
}

/// Appends `json`, which was checked, without the white space between its parts.
pub(super) fn compact(json: &[u8], out: &mut Vec<u8>) {
    let mut scanner = Scanner::new(json);
    let mut from = 0;
    while let Some(&byte) = json.get(scanner.at) {
        match byte {
            b' ' | b'\n' | b'\r' | b'\t' => {
                out.extend_from_slice(&json[from..scanner.at]);
                scanner.at += 1;
                from = scanner.at;
            }
            b'"' => {
                if scanner.string().is_err() {
                    break;
                }
            }
            _ => scanner.at += 1,
        }
    }
    out.extend_from_slice(&json[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &str) -> Option<String> {
        let mut out = String::new();
        unescape(raw.as_bytes(), 0, &mut out).ok().map(|()| out)
    }

    #[test]
    fn escapes() {
        assert_eq!(text(r#"a\"\\\/\b\f\n\r\t"#).unwrap(), "a\"\\/\u{8}\u{c}\n\r\t");
        assert_eq!(text(r"\u00e9\u65E5").unwrap(), "é日");
        assert_eq!(text(r"\ud83d\ude00!").unwrap(), "😀!");
        assert_eq!(text(r"\ud83d").unwrap(), "\u{fffd}");
        assert_eq!(text(r"\ud83dx\ude00").unwrap(), "\u{fffd}x\u{fffd}");
        assert_eq!(text(r"\ud83d\u0041").unwrap(), "\u{fffd}A");
        for broken in [r"\x", r"\u12", r"\u12g4", "\\", r"\u+123"] {
            assert_eq!(text(broken), None, "{broken}");
            let json = format!("\"{broken}      \"");
            let refused = Scanner::new(json.as_bytes()).checked_string().unwrap_err();
            assert_eq!(refused, DocumentError::Syntax { at: 1 }, "{broken}");
        }
    }

    #[test]
    fn the_ends_of_strings_are_found_wherever_they_are() {
        for special_byte in [b'"', b'\\', 0, 1, b'\n', 0x1f] {
            for (length, at) in (0..80).flat_map(|length| (0..length).map(move |at| (length, at))) {
                // Neighbours of what is looked for, on both sides of it.
                for others in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xa2, 0xdc, 0xff] {
                    let mut bytes = vec![others; length];
                    assert_eq!((special(&bytes), quote_or_backslash(&bytes)), (None, None));
                    bytes[at] = special_byte;
                    let is_end = matches!(special_byte, b'"' | b'\\');
                    assert_eq!((special(&bytes), quote_or_backslash(&bytes)), (Some(at), is_end.then_some(at)));
                    bytes[at..].fill(special_byte);
                    assert_eq!(special(&bytes), Some(at));
                }
            }
        }
    }

    #[test]
    fn ends_of_strings_are_found_behind_escapes() {
        for (json, end) in [(r#"a\"b"c"#, 4), (r#"\\""#, 2), (r#"\\\"""#, 4), ("", 0), ("ab", 2), ("a\\", 2)] {
            assert_eq!(string_end(json.as_bytes(), 0), end, "{json}");
        }
        assert_eq!(string_end(b"\"\"", 2), 2);
    }

    #[test]
    fn checked_strings_hold_what_is_allowed() {
        let checked = |json: &str| Scanner::new(json.as_bytes()).checked_string().map(|string| string.range());
        assert_eq!(checked("\"é\\n\" "), Ok(1..5));
        assert_eq!(checked("\"a\u{1}\""), Err(DocumentError::Syntax { at: 2 }));
        for cut in ["\"", "\"a", "\"\\", "\"\\u", "\"\\u00e"] {
            assert_eq!(checked(cut), Err(DocumentError::Syntax { at: cut.len() }), "{cut} goes on");
        }
    }

    #[test]
    fn numbers_follow_the_grammar() {
        for good in ["0", "-0", "10", "-1.5", "1e5", "1E-5", "0.10e+1"] {
            let mut scanner = Scanner::new(good.as_bytes());
            assert_eq!(scanner.number(), Ok(0..good.len()), "{good}");
        }
        for (bad, end) in [("-", 1), ("1.", 2), ("1e", 2), ("1e+", 3), (".5", 0), ("+1", 0), ("", 0), ("x", 0)] {
            assert_eq!(Scanner::new(bad.as_bytes()).number(), Err(DocumentError::Syntax { at: end }), "{bad}");
        }
        assert_eq!(Scanner::new(b"012").number(), Ok(0..1), "the rest is for the caller to refuse");
    }

    #[test]
    fn fields_in_order() {
        let line = br#" { "a" : 1 , "b":[{"x":"]}\""}], "c\n":"" } "#;
        let mut found = Vec::new();
        fields(line, |key, value| {
            found.push((String::from_utf8_lossy(&line[key.range()]), String::from_utf8_lossy(&line[value])));
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(
            found,
            [("a".into(), "1".into()), ("b".into(), r#"[{"x":"]}\""}]"#.into()), ("c\\n".into(), "\"\"".into())]
        );
    }

    #[test]
    fn broken_lines_are_errors() {
        for line in [
            "",
            "{",
            "{}x",
            "[]",
            "1",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{"a":tru}"#,
            r#"{"a":[1}"#,
            r#"{"a\"#,
            r#"{"a":1 "b":2}"#,
            "{a:1}",
        ] {
            let result = fields(line.as_bytes(), |_, _| Ok(ControlFlow::Continue(())));
            if line != r#"{"a":[1}"# {
                assert!(matches!(result, Err(DocumentError::Syntax { .. })), "{line}: {result:?}");
            }
        }
    }

    #[test]
    fn compacting_keeps_strings() {
        let mut out = Vec::new();
        compact(b"{ \"a b\" :\n [ 1 ,\t\"x \\\" y\" ] }\r", &mut out);
        assert_eq!(out, br#"{"a b":["#.iter().chain(br#"1,"x \" y"]}"#).copied().collect::<Vec<_>>());
    }
}
