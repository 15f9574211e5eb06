//! Objects whose fields are put together: updates that send only some fields, and keys that come twice.

use std::borrow::Cow;
use std::ops::{ControlFlow, Range};

use hashbrown::HashMap;

use super::DocumentError;
use super::scan::{RawString, Scanner, compact, fields, unescape};

/// Fields of one object in the order of their first appearance, each with its last value.
#[derive(Default)]
struct Fields<'d> {
    /// Raw key and raw value.
    list: Vec<(&'d [u8], &'d [u8])>,
    by_key: HashMap<Cow<'d, str>, usize, foldhash::fast::RandomState>,
}

impl<'d> Fields<'d> {
    fn put_all(&mut self, object: &'d [u8]) -> Result<(), DocumentError> {
        fields(object, |key, value| self.put(object, key, value).map(ControlFlow::Continue))
    }

    fn put(&mut self, object: &'d [u8], key: RawString, value: Range<usize>) -> Result<(), DocumentError> {
        let (raw, value) = (&object[key.range()], &object[value]);
        let next = self.list.len();
        let at = *self.by_key.entry(key_text(object, key)?).or_insert(next);
        match self.list.get_mut(at) {
            Some((_, before)) => *before = value,
            None => self.list.push((raw, value)),
        }
        Ok(())
    }

    /// Writes the object; `value` writes each value.
    fn write(
        &self,
        out: &mut Vec<u8>,
        mut value: impl FnMut(&[u8], &mut Vec<u8>) -> Result<(), DocumentError>,
    ) -> Result<(), DocumentError> {
        out.push(b'{');
        for (at, (key, raw)) in self.list.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(key);
            out.extend_from_slice(b"\":");
            value(raw, out)?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// The text of a key of `object`.
pub(super) fn key_text(object: &[u8], key: RawString) -> Result<Cow<'_, str>, DocumentError> {
    let raw = &object[key.range()];
    if key.escaped {
        let mut text = String::with_capacity(raw.len());
        unescape(raw, key.start, &mut text)?;
        return Ok(Cow::Owned(text));
    }
    let text = std::str::from_utf8(raw);
    text.map(Cow::Borrowed).map_err(|error| DocumentError::Utf8 { at: key.start + error.valid_up_to() })
}

/// The value of a top-level field as it is written; of a key that comes twice the last one.
///
/// # Errors
/// `document` is no JSON object.
pub fn top_level_value<'d>(document: &'d [u8], name: &str) -> Result<Option<&'d [u8]>, DocumentError> {
    let mut found = None;
    fields(document, |key, value| {
        if key_text(document, key)? == name {
            found = Some(&document[value]);
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(found)
}

/// `old` with the top-level fields of `new` put over it, as one line. Fields keep the order of `old`; those that are
/// new follow in the order of `new`. Nested objects are replaced, not merged; values keep their bytes.
pub fn merge_documents(old: &[u8], new: &[u8]) -> Result<Vec<u8>, DocumentError> {
    let mut merged = Fields::default();
    merged.put_all(old)?;
    merged.put_all(new)?;
    let mut out = Vec::with_capacity(old.len() + new.len());
    merged.write(&mut out, |value, out| {
        out.extend_from_slice(value);
        Ok(())
    })?;
    Ok(out)
}

/// Appends `json`, a checked value, without white space and with one field per key in every object: the last value
/// at the place of the first.
pub(super) fn deduplicate(json: &[u8], out: &mut Vec<u8>) -> Result<(), DocumentError> {
    let mut scanner = Scanner::new(json);
    match scanner.peek() {
        Some(b'{') => {
            let mut object = Fields::default();
            object.put_all(&json[scanner.at()..])?;
            object.write(out, deduplicate)
        }
        Some(b'[') => {
            scanner.expect(b'[')?;
            out.push(b'[');
            let mut first = true;
            while !scanner.accept(b']') {
                if !first {
                    scanner.expect(b',')?;
                    out.push(b',');
                }
                first = false;
                let value = scanner.skip()?;
                deduplicate(&json[value], out)?;
            }
            out.push(b']');
            Ok(())
        }
        _ => {
            compact(json, out);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &str, new: &str) -> String {
        String::from_utf8(merge_documents(old.as_bytes(), new.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn new_fields_are_put_over_old_ones() {
        assert_eq!(
            merged(r#"{"id":1,"a":{"x":1,"y":2},"b":"old"}"#, r#"{"c":[1],"id":"1","a":{"x":3}}"#),
            r#"{"id":"1","a":{"x":3},"b":"old","c":[1]}"#
        );
        assert_eq!(merged("{}", "{}"), "{}");
        assert_eq!(merged(r#"{"é":1}"#, r#"{"\u00e9":2}"#), r#"{"é":2}"#);
        assert_eq!(merged(r#"{"n":1.50}"#, r#"{ "m" : 1e2 }"#), r#"{"n":1.50,"m":1e2}"#, "numbers keep their text");
    }

    #[test]
    fn broken_documents_are_errors() {
        for (old, new) in [("", "{}"), ("{}", ""), ("{", "{}"), ("{}", "[]"), (r#"{"a":1"#, "{}")] {
            assert!(merge_documents(old.as_bytes(), new.as_bytes()).is_err(), "{old} {new}");
        }
        assert_eq!(merge_documents(b"{\"\xff\":1}", b"{}"), Err(DocumentError::Utf8 { at: 2 }));
    }

    #[test]
    fn the_last_of_equal_keys_wins_at_every_level() {
        for (json, expected) in [
            (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
            (r#"[ {"x":{"k":1,"\u006b":2}}, [{"k":1, "k":null}], "s" ]"#, r#"[{"x":{"k":2}},[{"k":null}],"s"]"#),
            (r#"{"a":{"b":1},"a":[]}"#, r#"{"a":[]}"#),
            ("[]", "[]"),
        ] {
            let mut out = Vec::new();
            deduplicate(json.as_bytes(), &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
