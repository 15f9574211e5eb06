//! Which field names a document, and what names are allowed.

use std::fmt;
use std::ops::{ControlFlow, Range};

use super::merge::key_text;
use super::scan::{compact, fields, unescape};
use super::{DocumentError, IdError, InferError};

/// Longest document id, in bytes.
pub const ID_BYTES_MAX: usize = 511;

/// A valid document id as text: `1` and `"1"` are the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DocumentId(Box<str>);

impl DocumentId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0.into_string()
    }

    /// The id of a string value: 1 to [`ID_BYTES_MAX`] letters, digits, hyphens and underscores, nothing else.
    pub(crate) fn from_text(text: &str) -> Option<DocumentId> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let valid = (1..=ID_BYTES_MAX).contains(&text.len()) && text.bytes().all(allowed);
        valid.then(|| DocumentId(text.into()))
    }

    /// The id of a number written as `text`: an integer that 64 bits can hold.
    fn from_number(text: &str) -> Option<DocumentId> {
        match text.parse::<i64>() {
            // `-0` is 0; anything else reads back as it is written.
            Ok(0) => Some(DocumentId("0".into())),
            Ok(_) => Some(DocumentId(text.into())),
            Err(_) => text.parse::<u64>().is_ok().then(|| DocumentId(text.into())),
        }
    }
}

impl fmt::Display for DocumentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of the document in `line`, found under the dotted `primary_key`. Only objects are descended.
pub fn document_id(line: &[u8], primary_key: &str) -> Result<DocumentId, IdError> {
    let mut found = None;
    let count = find(line, 0..line.len(), primary_key, &mut found)?;
    let document = || {
        let mut json = Vec::with_capacity(line.len());
        compact(line, &mut json);
        String::from_utf8_lossy(&json).into_owned()
    };
    match found {
        None => Err(IdError::Missing { primary_key: primary_key.to_owned(), document: document() }),
        Some(_) if count > 1 => Err(IdError::Ambiguous { primary_key: primary_key.to_owned(), document: document() }),
        Some(value) => id_of(&line[value]),
    }
}

/// Counts the values that `path` leads to inside the object at `object`, and keeps the last in `found`.
fn find(
    line: &[u8],
    object: Range<usize>,
    path: &str,
    found: &mut Option<Range<usize>>,
) -> Result<usize, DocumentError> {
    let mut count = 0;
    fields(&line[object.clone()], |key, value| {
        // A key at its own level is as good as a nested one: `a.b` leads to `{"a.b":…}` and to `{"a":{"b":…}}`.
        let bytes = &line[object.clone()];
        let key = key_text(bytes, key)?;
        let Some(rest) = path.strip_prefix(&*key) else { return Ok(ControlFlow::Continue(())) };
        let place = object.start + value.start..object.start + value.end;
        if rest.is_empty() {
            *found = Some(place);
            count += 1;
        } else if let Some(rest) = rest.strip_prefix('.')
            && bytes[value.start] == b'{'
        {
            count += find(line, place, rest, found)?;
        }
        // A key comes once in an object; only one with a dot can be there in two ways.
        let found_all = count > 0 && !path.contains('.');
        Ok(if found_all { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    })?;
    Ok(count)
}

fn id_of(value: &[u8]) -> Result<DocumentId, IdError> {
    let id = match value {
        [b'"', inside @ .., b'"'] if inside.contains(&b'\\') => {
            let mut text = String::new();
            unescape(inside, 0, &mut text)?;
            DocumentId::from_text(&text)
        }
        [b'"', inside @ .., b'"'] => std::str::from_utf8(inside).ok().and_then(DocumentId::from_text),
        number => std::str::from_utf8(number).ok().and_then(DocumentId::from_number),
    };
    id.ok_or_else(|| {
        let mut json = Vec::new();
        compact(value, &mut json);
        IdError::Invalid { value: String::from_utf8_lossy(&json).into_owned() }
    })
}

/// The one top-level field whose name ends with `id`, in any case.
pub fn infer_primary_key(line: &[u8]) -> Result<String, InferError> {
    let mut candidates = Vec::new();
    fields(line, |key, _| {
        let key = key_text(line, key)?;
        if key.to_lowercase().ends_with("id") {
            candidates.push(key.into_owned());
        }
        Ok(ControlFlow::Continue(()))
    })?;
    candidates.sort_unstable();
    match candidates.len() {
        0 => Err(InferError::NoCandidate),
        1 => Ok(candidates.remove(0)),
        _ => Err(InferError::ManyCandidates { candidates }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(line: &str, key: &str) -> Result<String, IdError> {
        document_id(line.as_bytes(), key).map(DocumentId::into_string)
    }

    #[test]
    fn valid_ids() {
        let longest = "x".repeat(ID_BYTES_MAX);
        for (value, expected) in [
            ("1", "1"),
            ("\"1\"", "1"),
            ("-5", "-5"),
            ("-0", "0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("\"Az09-_\"", "Az09-_"),
            ("\"\\u0041\"", "A"),
            (&format!("\"{longest}\""), &longest),
        ] {
            assert_eq!(id(&format!("{{\"x\":0,\"id\" : {value} }}"), "id").unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn invalid_ids() {
        let too_long = format!("\"{}\"", "x".repeat(ID_BYTES_MAX + 1));
        for value in [
            "\"\"",
            "\" 1\"",
            "\"a/b\"",
            "\"a.b\"",
            "\"a@b\"",
            "\"é\"",
            "\"a\\nb\"",
            "1.0",
            "1.5",
            "1e2",
            "true",
            "null",
            "[1]",
            "{\"a\":1}",
            "18446744073709551616",
            "-9223372036854775809",
            &too_long,
        ] {
            let error = id(&format!("{{\"id\":{value}}}"), "id").unwrap_err();
            assert_eq!(error, IdError::Invalid { value: value.to_owned() });
        }
        let spaced = id("{\"id\": [ 1, 2 ]}", "id");
        assert_eq!(spaced, Err(IdError::Invalid { value: "[1,2]".to_owned() }));
    }

    #[test]
    fn keys_with_dots() {
        assert_eq!(id(r#"{"doc":{"id":7}}"#, "doc.id").unwrap(), "7");
        assert_eq!(id(r#"{"doc.id":7}"#, "doc.id").unwrap(), "7");
        assert_eq!(id(r#"{"a":{"b.c":7}}"#, "a.b.c").unwrap(), "7");
        assert_eq!(id(r#"{"a":{"x":1},"docs":{"id":2},"doc":{"id":7}}"#, "doc.id").unwrap(), "7");
        assert!(matches!(id(r#"{"doc":{"id":7},"doc.id":7}"#, "doc.id"), Err(IdError::Ambiguous { .. })));
        assert!(matches!(id(r#"{"doc":[{"id":7}]}"#, "doc.id"), Err(IdError::Missing { .. })));
        assert!(matches!(id(r#"{"doc":7}"#, "doc.id"), Err(IdError::Missing { .. })));
    }

    #[test]
    fn a_missing_key_shows_the_document() {
        let error = id("{ \"title\" : \"a b\" }", "id").unwrap_err();
        let document = r#"{"title":"a b"}"#.to_owned();
        assert_eq!(error, IdError::Missing { primary_key: "id".to_owned(), document });
        assert!(matches!(id("{}", "id"), Err(IdError::Missing { .. })));
        assert!(matches!(id("nonsense", "id"), Err(IdError::Document(DocumentError::Syntax { at: 0 }))));
        assert!(matches!(document_id(b"{\"\xff\":1}", "id"), Err(IdError::Document(DocumentError::Utf8 { .. }))));
    }

    #[test]
    fn inference_takes_the_only_candidate() {
        let infer = |line: &str| infer_primary_key(line.as_bytes());
        for key in ["id", "ID", "product_id", "paid", "androiD", "\\u0069d"] {
            let expected = key.replace("\\u0069", "i");
            assert_eq!(infer(&format!("{{\"title\":{{\"id\":1}},\"{key}\":[]}}")), Ok(expected));
        }
        assert_eq!(infer("{\"title\":1}"), Err(InferError::NoCandidate));
        assert_eq!(infer("{}"), Err(InferError::NoCandidate));
        let candidates = ["aid", "id", "object_id"].map(str::to_owned).to_vec();
        assert_eq!(infer(r#"{"object_id":1,"id":2,"aid":3}"#), Err(InferError::ManyCandidates { candidates }));
        assert!(matches!(infer("{"), Err(InferError::Document(_))));
    }
}
