//! Values as PostgreSQL writes them, as JSON.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::{Connection, PostgresError};

/// Type of the value that a text represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Flag,
    Number,
    Json,
    /// A date with a time of day: with `T` between, and `Z` where it has a time zone.
    Instant,
    List(Box<Kind>),
}

/// Mapping of types to kinds.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Types that users have made, by what they stand on.
    own: HashMap<u32, Kind>,
}

/// Types that users make have larger object ids.
const OWN_FROM: u32 = 16_384;

impl Types {
    /// Reads the types that users have made.
    ///
    /// # Errors
    /// The errors of [`Connection::query`].
    pub(crate) async fn read(connection: &mut Connection) -> Result<Types, PostgresError> {
        let sql = format!(
            "SELECT oid, typbasetype, typelem, typcategory FROM pg_type WHERE oid >= {OWN_FROM} AND (typtype = 'd' OR typcategory = 'A') \
             ORDER BY oid"
        );
        let mut types = Types::default();
        let rows = connection.query(&sql).await?;
        // A domain may stand on another one, and an array on a domain: each comes after what it stands on, but for a few.
        for row in rows.iter().chain(&rows) {
            let [oid, base, element, category] = &row[..] else { continue };
            let number = |text: &Option<String>| text.as_deref().and_then(|text| text.parse::<u32>().ok()).unwrap_or(0);
            let kind = match (number(base), category.as_deref()) {
                (0, Some("A")) => Kind::List(Box::new(types.kind(number(element)))),
                (base, _) => types.kind(base),
            };
            types.own.insert(number(oid), kind);
        }
        Ok(types)
    }

    /// Returns the kind of a type, by its object id.
    pub(crate) fn kind(&self, oid: u32) -> Kind {
        let list = |kind| Kind::List(Box::new(kind));
        match oid {
            16 => Kind::Flag,
            20 | 21 | 23 | 26 | 700 | 701 | 1700 => Kind::Number,
            114 | 3802 => Kind::Json,
            1114 | 1184 => Kind::Instant,
            1000 => list(Kind::Flag),
            1005 | 1007 | 1016 | 1021 | 1022 | 1028 | 1231 => list(Kind::Number),
            199 | 3807 => list(Kind::Json),
            1115 | 1185 => list(Kind::Instant),
            // Texts, dates, times, uuids, network addresses.
            1002 | 1003 | 1009 | 1014 | 1015 | 1182 | 1183 | 1270 | 2951 | 1041 | 651 => list(Kind::Text),
            own => self.own.get(&own).cloned().unwrap_or(Kind::Text),
        }
    }
}

impl Kind {
    /// The JSON of a value. What JSON cannot say, such as a number that is none, is null.
    pub(crate) fn json(&self, text: &str) -> String {
        match self {
            Kind::Text => quoted(text),
            Kind::Flag => (if text == "t" { "true" } else { "false" }).to_owned(),
            Kind::Number => {
                let is_number = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
                (if is_number { text } else { "null" }).to_owned()
            }
            // As it is, on one line.
            Kind::Json => match serde_json::from_str::<&RawValue>(text) {
                Ok(_) if !text.contains('\n') => text.to_owned(),
                Ok(_) => serde_json::from_str::<Value>(text).unwrap_or_default().to_string(),
                Err(_) => quoted(text),
            },
            Kind::Instant => quoted(&instant(text)),
            Kind::List(element) => match List::read(text) {
                Some(list) => list.json(element),
                None => quoted(text),
            },
        }
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// `2026-01-31 10:20:30.5+00` as RFC 3339. What is no such instant (`infinity`, years before Christ) stays.
fn instant(text: &str) -> String {
    let is_plain = text.as_bytes().get(10) == Some(&b' ') && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !is_plain || text.ends_with("BC") {
        return text.to_owned();
    }
    let with_t = format!("{}T{}", &text[..10], &text[11..]);
    match with_t.strip_suffix("+00") {
        Some(rest) => format!("{rest}Z"),
        None => with_t,
    }
}

/// An array, perhaps of arrays.
#[derive(Debug, PartialEq, Eq)]
enum List {
    Values(Vec<List>),
    Null,
    Value(String),
}

impl List {
    fn read(text: &str) -> Option<List> {
        // Arrays that do not begin at 1 say so: `[0:1]={a,b}`.
        let text = if text.starts_with('[') { text.split_once('=')?.1 } else { text };
        let mut rest = text.chars().peekable();
        let list = List::values(&mut rest, 0)?;
        rest.next().is_none().then_some(list)
    }

    fn values(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, depth: usize) -> Option<List> {
        // PostgreSQL knows six dimensions.
        if depth > 6 || rest.next()? != '{' {
            return None;
        }
        let mut values = Vec::new();
        if rest.next_if_eq(&'}').is_some() {
            return Some(List::Values(values));
        }
        loop {
            values.push(match rest.peek()? {
                '{' => List::values(rest, depth + 1)?,
                '"' => List::Value(quoted_element(rest)?),
                _ => {
                    let mut text = String::new();
                    while let Some(c) = rest.next_if(|c| !matches!(c, ',' | '}')) {
                        text.push(if c == '\\' { rest.next()? } else { c });
                    }
                    if text == "NULL" { List::Null } else { List::Value(text) }
                }
            });
            match rest.next()? {
                ',' => {}
                '}' => return Some(List::Values(values)),
                _ => return None,
            }
        }
    }

    fn json(&self, element: &Kind) -> String {
        match self {
            List::Null => "null".to_owned(),
            List::Value(text) => element.json(text),
            List::Values(values) => {
                format!("[{}]", values.iter().map(|value| value.json(element)).collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn quoted_element(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    let mut text = String::new();
    rest.next();
    loop {
        match rest.next()? {
            '"' => return Some(text),
            '\\' => text.push(rest.next()?),
            c => text.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(oid: u32, text: &str) -> String {
        Types::default().kind(oid).json(text)
    }

    #[test]
    fn values_become_json() {
        for (oid, text, expected) in [
            (16, "t", "true"),
            (16, "f", "false"),
            (23, "-12", "-12"),
            (20, "9223372036854775807", "9223372036854775807"),
            (1700, "12345678901234567890.123", "12345678901234567890.123"),
            (701, "1e+20", "1e+20"),
            (701, "NaN", "null"),
            (1700, "-Infinity", "null"),
            (25, "a \"b\"\n", r#""a \"b\"\n""#),
            (114, r#"{"a": [1, null]}"#, r#"{"a": [1, null]}"#),
            (114, "{\"a\":\n1}", r#"{"a":1}"#),
            (3802, "not", r#""not""#),
            (1082, "2026-01-31", r#""2026-01-31""#),
            (1114, "2026-01-31 10:20:30.5", r#""2026-01-31T10:20:30.5""#),
            (1184, "2026-01-31 10:20:30+00", r#""2026-01-31T10:20:30Z""#),
            (1184, "infinity", r#""infinity""#),
            (1184, "0044-03-15 12:00:00+00 BC", r#""0044-03-15 12:00:00+00 BC""#),
            (2950, "6d0f6bf7-4f0a-4c0a-8f2b-3d6f0d6f0d6f", r#""6d0f6bf7-4f0a-4c0a-8f2b-3d6f0d6f0d6f""#),
            (99_999, "of an unknown type", r#""of an unknown type""#),
        ] {
            assert_eq!(json(oid, text), expected, "{oid} {text}");
            serde_json::from_str::<Value>(expected).unwrap();
        }
    }

    #[test]
    fn arrays_become_arrays() {
        for (oid, text, expected) in [
            (1007, "{}", "[]"),
            (1007, "{1,NULL,-3}", "[1,null,-3]"),
            (1009, r#"{a,"b c","NULL","q\"\\",ä}"#, r#"["a","b c","NULL","q\"\\","ä"]"#),
            (1007, "{{1,2},{3,4}}", "[[1,2],[3,4]]"),
            (1007, "[0:1]={5,6}", "[5,6]"),
            (1000, "{t,f}", "[true,false]"),
            (3807, r#"{"{\"a\": 1}"}"#, r#"[{"a": 1}]"#),
            (1185, r#"{"2026-01-31 10:20:30+00"}"#, r#"["2026-01-31T10:20:30Z"]"#),
        ] {
            assert_eq!(json(oid, text), expected, "{oid} {text}");
        }
        for broken in ["", "{", "{1", "{1,", "{\"a}", "1}", "{1}2", "{\\", "[0:1]", "{{{{{{{{1}}}}}}}}"] {
            assert_eq!(json(1007, broken), quoted(broken));
        }
    }

    #[test]
    fn own_types_are_what_they_stand_on() {
        let own = HashMap::from([(20_000, Kind::Number), (20_001, Kind::List(Box::new(Kind::Number)))]);
        let types = Types { own };
        assert_eq!(types.kind(20_000).json("5"), "5");
        assert_eq!(types.kind(20_001).json("{5,6}"), "[5,6]");
    }
}
