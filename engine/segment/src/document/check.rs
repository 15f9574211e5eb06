//! The one full check of a document's syntax, when it arrives.

use foldhash::quality::FixedState;
use std::hash::BuildHasher;

use super::DocumentError;
use super::scan::{DEPTH_MAX, RawString, Scanner, unescape};

/// Objects up to this many keys are searched for duplicates pair by pair; larger ones by sorting.
const PAIRWISE_KEYS_MAX: usize = 24;

/// Checks values; keeps its space from one to the next.
#[derive(Debug, Default)]
pub(super) struct Checker {
    /// Hashes of the keys of the objects that are open.
    keys: Vec<u64>,
    key: String,
    hasher: FixedState,
    duplicate_keys: bool,
}

/// A value that is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checked {
    pub(super) bytes: usize,
    /// There is no line break between its parts (within strings there is none anyway).
    pub(super) one_line: bool,
    /// True if an object in the document has (or, very rarely, only seems to have) a key twice.
    pub(super) duplicate_keys: bool,
    /// True if there is a lone surrogate (or the escape of U+FFFD, which replaces it).
    pub(super) replaces_characters: bool,
}

impl Checker {
    /// Checks the value at the start of `bytes`. A syntax error at `bytes.len()` means that the value goes on.
    pub(super) fn value(&mut self, bytes: &[u8]) -> Result<Checked, DocumentError> {
        self.keys.clear();
        self.duplicate_keys = false;
        let mut scanner = Scanner::new(bytes);
        self.any(&mut scanner, 0)?;
        let (bytes, one_line) = (scanner.at(), !scanner.breaks_lines());
        let replaces_characters = scanner.replaces_characters();
        if let Err(error) = std::str::from_utf8(&scanner.bytes()[..bytes]) {
            return Err(DocumentError::Utf8 { at: error.valid_up_to() });
        }
        Ok(Checked { bytes, one_line, duplicate_keys: self.duplicate_keys, replaces_characters })
    }

    fn any(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<(), DocumentError> {
        match scanner.peek() {
            Some(b'"') => scanner.checked_string().map(|_| ()),
            Some(b'{') if depth < DEPTH_MAX => self.object(scanner, depth + 1),
            Some(b'[') if depth < DEPTH_MAX => self.array(scanner, depth + 1),
            Some(b'{' | b'[') => Err(DocumentError::TooDeep { max: DEPTH_MAX }),
            Some(b't') => scanner.literal(b"true"),
            Some(b'f') => scanner.literal(b"false"),
            Some(b'n') => scanner.literal(b"null"),
            _ => scanner.checked_number(),
        }
    }

    fn array(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<(), DocumentError> {
        scanner.expect(b'[')?;
        if scanner.accept(b']') {
            return Ok(());
        }
        loop {
            self.any(scanner, depth)?;
            if scanner.accept(b']') {
                return Ok(());
            }
            scanner.expect(b',')?;
        }
    }

    fn object(&mut self, scanner: &mut Scanner<'_>, depth: usize) -> Result<(), DocumentError> {
        scanner.expect(b'{')?;
        if scanner.accept(b'}') {
            return Ok(());
        }
        let first = self.keys.len();
        loop {
            let key = scanner.checked_string()?;
            scanner.expect(b':')?;
            let hash = self.hash(scanner, key)?;
            self.keys.push(hash);
            self.any(scanner, depth)?;
            if scanner.accept(b'}') {
                break;
            }
            scanner.expect(b',')?;
        }
        let keys = &mut self.keys[first..];
        self.duplicate_keys |= if keys.len() <= PAIRWISE_KEYS_MAX {
            keys.iter().enumerate().any(|(at, key)| keys[..at].contains(key))
        } else {
            keys.sort_unstable();
            keys.windows(2).any(|pair| pair[0] == pair[1])
        };
        self.keys.truncate(first);
        Ok(())
    }

    fn hash(&mut self, scanner: &Scanner<'_>, key: RawString) -> Result<u64, DocumentError> {
        let raw = &scanner.bytes()[key.range()];
        if !key.escaped {
            return Ok(self.hasher.hash_one(raw));
        }
        self.key.clear();
        unescape(raw, key.start, &mut self.key)?;
        Ok(self.hasher.hash_one(self.key.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn value(json: &str) -> Result<Checked, DocumentError> {
        Checker::default().value(json.as_bytes())
    }

    #[test]
    fn right_values() {
        for json in
            ["{}", "[]", "\"\"", "null", "true", "false", "-1.5e3", r#"{"a":[{"b":{}},[[]],"\u00e9"]}"#, "[ 1 , 2 ]"]
        {
            let (bytes, one_line) = (json.len(), true);
            let right = Checked { bytes, one_line, duplicate_keys: false, replaces_characters: false };
            assert_eq!(value(json), Ok(right), "{json}");
        }
        assert_eq!(value("{}{}").unwrap().bytes, 2, "the first value only");
    }

    #[test]
    fn characters_that_are_none_are_seen() {
        let replaces = |json: &str| value(json).unwrap().replaces_characters;
        assert!(replaces(r#"["\ud800"]"#));
        assert!(replaces(r#"{"a\udc00\ud800":1}"#));
        assert!(!replaces(r#"["\ud83d\ude00", "\\ud800"]"#));
    }

    #[test]
    fn numbers_that_none_can_read_are_found() {
        for (json, at) in [("[1e400]", 1), (r#"{"a":[0,-1.5E+309]}"#, 8)] {
            assert_eq!(value(json), Err(DocumentError::NumberTooLarge { at }), "{json}");
        }
        let digits = "9".repeat(400);
        assert_eq!(value(&format!("[{digits}]")), Err(DocumentError::NumberTooLarge { at: 1 }));
        for json in ["[1e308,1e-400,0e999]", &format!("[{digits}e-100]"), &format!("[0.{digits}]")] {
            assert!(value(json).is_ok(), "{json}");
        }
    }

    #[test]
    fn duplicate_keys_are_seen() {
        for json in
            [r#"{"a":1,"b":2,"a":3}"#, r#"{"x":{"a":1,"a":2}}"#, r#"[{"a":1,"\u0061":2}]"#, r#"{"a":{"b":1},"a":2}"#]
        {
            assert!(value(json).unwrap().duplicate_keys, "{json}");
        }
        for json in [r#"{"a":{"a":1},"b":{"a":1}}"#, r#"[{"a":1},{"a":1}]"#, r#"{"a":"a","b":"a"}"#] {
            assert!(!value(json).unwrap().duplicate_keys, "{json}");
        }
        let many = |extra: &str| {
            let fields: Vec<String> = (0..1000).map(|n| format!("\"k{n}\":0")).collect();
            format!("{{{}{extra}}}", fields.join(","))
        };
        assert!(!value(&many("")).unwrap().duplicate_keys);
        assert!(value(&many(",\"k500\":1")).unwrap().duplicate_keys);
    }

    #[test]
    fn nesting_is_bounded() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(value(&nested(DEPTH_MAX)).is_ok());
        assert_eq!(value(&nested(DEPTH_MAX + 1)), Err(DocumentError::TooDeep { max: DEPTH_MAX }));
        assert_eq!(value(&"[".repeat(1_000_000)), Err(DocumentError::TooDeep { max: DEPTH_MAX }));
        assert_eq!(value(&"{\"a\":".repeat(1_000_000)), Err(DocumentError::TooDeep { max: DEPTH_MAX }));
    }

    #[test]
    fn invalid_utf8_is_found() {
        assert_eq!(Checker::default().value(b"{\"a\":\"\xff\"}"), Err(DocumentError::Utf8 { at: 6 }));
    }

    #[test]
    fn every_prefix_of_a_document_goes_on() {
        let json = r#"{"a":[1.5e3,true,false,null,"\u00e9\\"],"b":{"c":{}}}"#;
        for end in 0..json.len() {
            assert_eq!(value(&json[..end]), Err(DocumentError::Syntax { at: end }), "{}", &json[..end]);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Random text of JSON's characters is right for us exactly when it is for the usual parser.
        #[test]
        fn agrees_with_the_usual_parser(inside in r#"[\[\]{}",:a0-2.eE+\\u \n-]{0,12}"#) {
            let json = format!("[{inside}]");
            let usual = serde_json::Deserializer::from_str(&json).into_iter::<Value>().next();
            let usual = matches!(usual, Some(Ok(_)));
            prop_assert_eq!(value(&json).is_ok(), usual, "{}", json);
        }

        #[test]
        fn agrees_on_real_documents(json in document(), cut in any::<prop::sample::Index>(), noise in "[\\[\\]{}\",:x0\\\\]") {
            prop_assert_eq!(value(&json).map(|checked| checked.bytes), Ok(json.len()));
            let mut at = cut.index(json.len());
            while !json.is_char_boundary(at) {
                at -= 1;
            }
            let broken = format!("{}{noise}{}", &json[..at], &json[at..]);
            let usual = serde_json::Deserializer::from_str(&broken).into_iter::<Value>().next();
            prop_assert_eq!(value(&broken).is_ok(), matches!(usual, Some(Ok(_))), "{}", broken);
        }
    }

    fn document() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<f64>().prop_map(Into::into),
            ".{0,8}".prop_map(Into::into),
        ];
        let value = leaf.prop_recursive(4, 20, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
                prop::collection::vec((".{0,4}", inner), 0..4)
                    .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
            ]
        });
        prop::collection::vec((".{0,4}", value), 0..4)
            .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect()).to_string())
    }
}
