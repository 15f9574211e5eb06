//! JSON objects and strings as borrowed parts of their text, without a tree.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

/// A name without its escapes, and the text of its value.
pub type Member<'a> = (Cow<'a, str>, &'a RawValue);

/// Returns the [`Members`] of a JSON object.
///
/// # Errors
/// Anything but an object.
pub fn members(object: &str) -> Result<Vec<Member<'_>>, serde_json::Error> {
    serde_json::from_str(object).map(|Members(members)| members)
}

/// Returns the text that a JSON string stands for.
///
/// # Errors
/// Anything but a string.
pub fn text_of(string: &str) -> Result<Cow<'_, str>, serde_json::Error> {
    serde_json::from_str(string).map(|Text(text)| text)
}

/// Borrowed when there are no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// The members of an object in their order, repeated names too.
pub struct Members<'a>(pub Vec<Member<'a>>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(name), value)) = map.next_entry()? {
                    members.push((name, value));
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_their_text() {
        let members = members(r#" {"b": [1.0, "x"], "\u0061": 1e400, "b": {}} "#).unwrap();
        let texts: Vec<(&str, &str)> = members.iter().map(|(name, value)| (&**name, value.get())).collect();
        assert_eq!(texts, [("b", "[1.0, \"x\"]"), ("a", "1e400"), ("b", "{}")]);
        let is_borrowed = |name: &Cow<'_, str>| matches!(name, Cow::Borrowed(_));
        assert!(is_borrowed(&members[0].0));
        assert!(!is_borrowed(&members[1].0));
        for other in ["[]", "1", "{", "{} {}"] {
            assert!(super::members(other).is_err(), "{other}");
        }
    }

    #[test]
    fn texts_are_borrowed_where_they_can_be() {
        assert!(matches!(text_of("\"plain\"").unwrap(), Cow::Borrowed("plain")));
        assert_eq!(text_of(r#""a\n\ud83d\ude00""#).unwrap(), "a\n😀");
        assert!(text_of("1").is_err());
    }
}
