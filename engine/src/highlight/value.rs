//! Walks the stored JSON text of a document without building a tree of it.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserializer as _, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use thiserror::Error;

/// The stored text of a document can't be read back: the store is damaged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoredDocumentError {
    #[error("a stored document is no JSON object")]
    Json(#[from] serde_json::Error),
    #[error("a stored document is not UTF-8")]
    Text(#[from] std::str::Utf8Error),
    /// Formatting it takes more memory than it may.
    #[error("a document takes more memory to format than there is for it")]
    Memory,
}

/// Type of a raw JSON value, judged by its first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    /// `true`, `false`, `null`
    Literal,
}

impl Kind {
    pub(super) fn of(raw: &str) -> Kind {
        match raw.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            _ => Kind::Literal,
        }
    }
}

/// The members of an object in order: unescaped key, raw value.
pub(super) fn members(object: &str) -> Result<Vec<(Cow<'_, str>, &str)>, StoredDocumentError> {
    struct Members;
    impl<'de> Visitor<'de> for Members {
        type Value = Vec<(Cow<'de, str>, &'de str)>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut members = Vec::new();
            while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                members.push((key, value.get()));
            }
            Ok(members)
        }
    }
    Ok(serde_json::Deserializer::from_str(object).deserialize_map(Members)?)
}

/// The elements of an array in order, raw.
pub(super) fn elements(array: &str) -> Result<Vec<&str>, StoredDocumentError> {
    struct Elements;
    impl<'de> Visitor<'de> for Elements {
        type Value = Vec<&'de str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            let mut elements = Vec::new();
            while let Some(value) = seq.next_element::<&'de RawValue>()? {
                elements.push(value.get());
            }
            Ok(elements)
        }
    }
    Ok(serde_json::Deserializer::from_str(array).deserialize_seq(Elements)?)
}

/// The text of a raw JSON string.
pub(super) fn string(raw: &str) -> Result<Cow<'_, str>, StoredDocumentError> {
    Ok(serde_json::from_str::<Key<'_>>(raw)?.0)
}

/// Writes `text` as a JSON string.
pub(super) fn write_string(out: &mut Vec<u8>, text: &str) {
    serde_json::to_writer(out, text).expect("writing a string to memory can't fail");
}

/// A string that borrows when it has no escapes.
struct Key<'s>(Cow<'s, str>);

impl<'de> serde::Deserialize<'de> for Key<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl<'de> Visitor<'de> for Text {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The path of `key` inside the object at `path`.
pub(super) fn child_path(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
