//! Names of files and folders that stored bytes hold. A database, a snapshot or a dump may come from somewhere else, so a name
//! that was read is checked before it becomes part of a path: no other type is joined to one.

use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

/// A stored name that this program never writes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{found:?} is not a valid name of {kind}")]
pub struct BadName {
    /// Name as stored, truncated if it is long.
    found: String,
    kind: &'static str,
}

/// Most characters of a bad name in a message.
const SHOWN_MAX: usize = 100;

impl BadName {
    fn new(found: &str, kind: &'static str) -> BadName {
        BadName { found: found.chars().take(SHOWN_MAX).collect(), kind }
    }
}

macro_rules! names {
    ($($(#[doc = $doc:literal])* $name:ident = $suffix:literal, $kind:literal;)*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// A new one, never used before.
            pub fn random() -> $name {
                $name(format!("{}{}", Uuid::new_v4(), $suffix))
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(text: String) -> Result<$name, BadName> {
                match text.strip_suffix($suffix) {
                    Some(uuid) if is_uuid(uuid) => Ok($name(text)),
                    _ => Err(BadName::new(&text, $kind)),
                }
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0
            }
        }

        impl AsRef<Path> for $name {
            fn as_ref(&self) -> &Path {
                Path::new(&self.0)
            }
        }

        impl rusqlite::types::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }
    )*};
}

names! {
    /// The folder of an index below `indexes/`: a UUID, in lower case and with hyphens.
    FolderName = "", "the folder of an index";
    /// A file of documents below `payloads/`: a UUID and `.ndjson`.
    PayloadName = ".ndjson", "a payload";
}

fn is_uuid(text: &str) -> bool {
    Uuid::try_parse(text).is_ok_and(|uuid| uuid.hyphenated().encode_lower(&mut Uuid::encode_buffer()) == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that a crafted database may hold in place of a name.
    const BAD_NAMES: [&str; 12] = [
        "",
        ".",
        "..",
        "../../x",
        "/path/file",
        "a/b",
        "a\\b",
        "x\0y",
        "4bc0887a-0e41-4f3b-935d-0c451dcee9c8/../x",
        "4BC0887A-0E41-4F3B-935D-0C451DCEE9C8",
        "4bc0887a0e414f3b935d0c451dcee9c8",
        "{4bc0887a-0e41-4f3b-935d-0c451dcee9c8}",
    ];

    #[test]
    fn only_names_that_are_written_here_are_read() {
        for made in [FolderName::random(), FolderName::random()] {
            assert_eq!(FolderName::try_from(String::from(made.clone())), Ok(made));
        }
        let payload = PayloadName::random();
        assert_eq!(PayloadName::try_from(payload.as_str().to_owned()), Ok(payload));
        for bad in BAD_NAMES {
            assert!(FolderName::try_from(bad.to_owned()).is_err(), "{bad:?}");
            assert!(PayloadName::try_from(bad.to_owned()).is_err(), "{bad:?}");
            assert!(PayloadName::try_from(format!("{bad}.ndjson")).is_err(), "{bad:?}.ndjson");
            assert!(serde_json::from_value::<PayloadName>(serde_json::json!(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn messages_show_no_more_than_the_beginning() {
        let message = FolderName::try_from(format!("\u{7}{}", "x".repeat(100_000))).unwrap_err().to_string();
        assert!(message.len() < 200, "{message}");
        assert!(message.starts_with("\"\\u{7}xx"), "{message}");
    }
}
