//! The mark of an index: what the writer of its documents keeps with them, such as a position in their source.

use lamina_base::error::{ApiError, ApiResult, Code};
use serde::{Deserialize, Serialize};

use super::query_string::QueryString;

/// Bytes of a mark.
const MARK_BYTES_MAX: usize = 2000;
/// The parameters of writes that know the mark.
pub const PARAMETERS: [&str; 2] = ["mark", "ifMark"];

/// The mark that a write leaves, and the one that it expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Marking {
    /// Any, where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected: Option<String>,
    /// Mark that is stored with the documents.
    pub mark: String,
}

impl Marking {
    /// The marking of a write, and the other parameters. `ifMark` alone keeps the mark that it expects.
    ///
    /// # Errors
    /// An empty or a long mark, or several.
    pub fn from_query(query: QueryString) -> ApiResult<(Option<Marking>, QueryString)> {
        let text = |name: &str| {
            let text = query.text_of(name, Code::InvalidIndexMark)?;
            match text.as_ref().map_or(1, String::len) {
                1..=MARK_BYTES_MAX => Ok(text),
                bytes => Err(ApiError::new(
                    Code::InvalidIndexMark,
                    format!("`{name}` must have 1 to {MARK_BYTES_MAX} bytes, but has {bytes}."),
                )),
            }
        };
        let [mark, expected] = PARAMETERS.map(text);
        let (mark, expected) = (mark?, expected?);
        let marking = mark.or_else(|| expected.clone()).map(|mark| Marking { expected, mark });
        Ok((marking, PARAMETERS.iter().fold(query, |query, name| query.without(name))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<Option<Marking>, Code> {
        Marking::from_query(QueryString::parse(query)).map(|(marking, _)| marking).map_err(|error| error.code)
    }

    #[test]
    fn markings_are_read() {
        let marking = |expected: Option<&str>, mark: &str| {
            Ok(Some(Marking { expected: expected.map(str::to_owned), mark: mark.to_owned() }))
        };
        assert_eq!(read("primaryKey=id"), Ok(None));
        assert_eq!(read("mark=a%2F1"), marking(None, "a/1"));
        assert_eq!(read("ifMark=a&mark=b"), marking(Some("a"), "b"));
        assert_eq!(read("ifMark=a"), marking(Some("a"), "a"));
        for bad in ["mark=".to_owned(), "ifMark=".to_owned(), "mark=a&mark=b".to_owned(), format!("mark={:2001}", 1)] {
            assert_eq!(read(&bad), Err(Code::InvalidIndexMark), "{bad}");
        }
        let (_, rest) = Marking::from_query(QueryString::parse("mark=a&ifMark=b")).unwrap();
        assert!(rest.is_empty());
    }
}
