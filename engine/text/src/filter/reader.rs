//! Reads characters, words and quoted values from a filter's text.

use std::sync::Arc;

use super::{FilterError, FilterErrorKind as Kind, Location};

/// A position in the text of a filter. Every method that answers `false`, `None` or an error that a caller handles
/// leaves the position where it was.
pub(super) struct Reader {
    source: Arc<str>,
    at: usize,
}

impl Reader {
    pub(super) fn new(text: &str) -> Self {
        Reader { source: Arc::from(text), at: 0 }
    }

    pub(super) fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn rewind(&mut self, position: usize) {
        self.at = position;
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub(super) fn skip_spaces(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Takes `text` if it comes next.
    pub(super) fn eat(&mut self, text: &str) -> bool {
        let found = self.rest().starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// The bare word that starts here; empty if there is none.
    pub(super) fn bare_word(&self) -> &str {
        let rest = self.rest();
        &rest[..rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())]
    }

    /// Skips spaces, then takes `keyword` if it is the whole next word.
    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        let start = self.at;
        self.skip_spaces();
        let found = self.bare_word() == keyword;
        if found {
            self.at += keyword.len();
        } else {
            self.at = start;
        }
        found
    }

    /// Skips spaces, then reads a bare word that is no keyword, or a quoted text.
    pub(super) fn value(&mut self) -> Result<String, FilterError> {
        self.skip_spaces();
        if let Some(quote @ ('"' | '\'')) = self.peek() {
            return self.quoted(quote);
        }
        let word = self.bare_word();
        if word.is_empty() {
            let rest = self.rest();
            let end = rest.find(is_syntax_char).unwrap_or(rest.len());
            return Err(self.error(Kind::ExpectedValue, self.at, self.at + end));
        }
        if let Some(kind) = misused_name(word) {
            return Err(self.error_to_end(kind, self.at));
        }
        if is_keyword(word) {
            return Err(self.error(Kind::ReservedKeyword, self.at, self.at + word.len()));
        }
        let word = word.to_owned();
        self.at += word.len();
        Ok(word)
    }

    /// Reads a quoted text at its opening quote, resolving escapes.
    fn quoted(&mut self, quote: char) -> Result<String, FilterError> {
        let start = self.at;
        let body = start + quote.len_utf8();
        let end = self
            .closing_quote(body, quote)
            .ok_or_else(|| self.error_to_end(Kind::MissingClosingDelimiter(quote), start))?;
        let text = unescape(&self.source[body..end]).map_err(|kind| self.error(kind, body, end))?;
        self.at = end + quote.len_utf8();
        Ok(text)
    }

    fn closing_quote(&self, body: usize, quote: char) -> Option<usize> {
        let mut characters = self.source[body..].char_indices();
        while let Some((offset, c)) = characters.next() {
            if c == quote {
                return Some(body + offset);
            }
            if c == '\\' {
                characters.next()?;
            }
        }
        None
    }

    /// Reads a decimal number; `None` if none starts here.
    pub(super) fn number(&mut self) -> Result<Option<f64>, FilterError> {
        let rest = self.rest();
        // Exponents may have a sign, which is no word character.
        let end = rest.find(|c| !is_word_char(c) && c != '+').unwrap_or(rest.len());
        let text = &rest[..end];
        // `inf` and `nan` parse as floats too, but are words.
        let numeric = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
            && !text.contains(['n', 'N']);
        match text.parse::<f64>() {
            Ok(number) if numeric && number.is_finite() => {
                self.at += end;
                Ok(Some(number))
            }
            Ok(_) if numeric => Err(self.error(Kind::NonFiniteNumber, self.at, self.at + end)),
            _ => Ok(None),
        }
    }

    pub(super) fn location(&self, start: usize, end: usize) -> Location {
        Location::new(&self.source, start, end)
    }

    pub(super) fn error(&self, kind: Kind, start: usize, end: usize) -> FilterError {
        FilterError::new(kind, self.location(start, end))
    }

    /// An error about everything from `start` on.
    pub(super) fn error_to_end(&self, kind: Kind, start: usize) -> FilterError {
        self.error(kind, start, self.source.len())
    }
}

pub(super) fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// Ends the stretch of text that an error names when it is no value.
fn is_syntax_char(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '=' | '<' | '>' | '!')
}

fn is_keyword(word: &str) -> bool {
    matches!(
        word,
        "AND" | "OR" | "NOT" | "IN" | "TO" | "EXISTS" | "IS" | "NULL" | "EMPTY" | "CONTAINS" | "STARTS" | "WITH"
    )
}

/// Names of the geo family that are no values.
fn misused_name(word: &str) -> Option<Kind> {
    Some(match word {
        "_geo" => Kind::ReservedGeo("_geo"),
        "_geoPoint" => Kind::ReservedGeo("_geoPoint"),
        "_geoDistance" => Kind::ReservedGeo("_geoDistance"),
        "_geoRadius" => Kind::GeoOperationAsValue("_geoRadius"),
        "_geoBoundingBox" => Kind::GeoOperationAsValue("_geoBoundingBox"),
        _ => return None,
    })
}

fn unescape(text: &str) -> Result<String, Kind> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(backslash) = rest.find('\\') {
        out.push_str(&rest[..backslash]);
        let mut characters = rest[backslash + 1..].chars();
        match characters.next() {
            Some(c @ ('\'' | '"' | '\\')) => out.push(c),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('x') => {
                let digits = characters.as_str().get(..2).ok_or(Kind::InvalidEscapedNumber)?;
                out.push(code_point(digits)?);
                characters = characters.as_str()[2..].chars();
            }
            Some('u') => {
                let braced = characters.as_str().strip_prefix('{').ok_or(Kind::InvalidEscapedNumber)?;
                let (digits, after) = braced.split_once('}').ok_or(Kind::InvalidEscapedNumber)?;
                out.push(code_point(digits)?);
                characters = after.chars();
            }
            _ => return Err(Kind::MalformedValue),
        }
        rest = characters.as_str();
    }
    out.push_str(rest);
    Ok(out)
}

fn code_point(digits: &str) -> Result<char, Kind> {
    // A sign would be accepted by the integer parser.
    if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err(Kind::InvalidEscapedNumber);
    }
    u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or(Kind::InvalidEscapedNumber)
}
