//! Tags of answers: who has one already gets `304` instead of the answer again.

use warp::http::{HeaderMap, HeaderValue, StatusCode, header};
use warp::reply::Response;
use xxhash_rust::xxh3::Xxh3;

/// A weak entity tag: equal tags stand for answers that say the same, if not in the same bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EntityTag(String);

impl EntityTag {
    /// Creates the tag from everything that a response depends on.
    pub(crate) fn of(parts: &[&[u8]]) -> EntityTag {
        let mut hash = Xxh3::new();
        for part in parts {
            // Lengths keep neighbours apart.
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        EntityTag(format!("W/\"{:032x}\"", hash.digest128()))
    }

    /// Reports whether the client declares that it has this response.
    pub(crate) fn is_known(&self, headers: &HeaderMap) -> bool {
        let values = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        let weak = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        values.flat_map(|value| value.split(',')).any(|tag| weak(tag) == weak(&self.0))
    }

    /// Reports whether the client declares with `*` that it has any response and wants no other. It has none for
    /// requests that fail.
    pub(crate) fn any_is_known(headers: &HeaderMap) -> bool {
        headers.get_all(header::IF_NONE_MATCH).iter().any(|value| value.as_bytes().trim_ascii() == b"*")
    }

    /// Puts the tag on an answer.
    pub(crate) fn put(&self, answer: &mut Response) {
        let value = HeaderValue::from_str(&self.0).expect("tags are hexadecimal digits in quotes");
        answer.headers_mut().insert(header::ETAG, value);
    }

    /// The answer to who has it already.
    pub(crate) fn not_modified(&self) -> Response {
        let mut answer = Response::default();
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        self.put(&mut answer);
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_compared_weakly_and_in_lists() {
        let tag = EntityTag::of(&[b"a", b"b"]);
        assert_ne!(tag, EntityTag::of(&[b"ab", b""]));
        let known = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
            tag.is_known(&headers)
        };
        let strong = tag.0.trim_start_matches("W/").to_owned();
        assert!(known(&tag.0));
        assert!(known(&strong));
        assert!(known(&format!("\"x\", {}", tag.0)));
        assert!(!known("\"x\""));
        assert!(!known(""));
        assert!(!tag.is_known(&HeaderMap::new()));
        let any = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::IF_NONE_MATCH, HeaderValue::from_str(value).unwrap());
            EntityTag::any_is_known(&headers)
        };
        assert!(any("*"));
        assert!(any(" * "));
        assert!(!any("\"*\""));
        assert!(!any("*, \"x\""));
        assert!(!any(""));
        assert!(!known("*"));
        assert!(!EntityTag::any_is_known(&HeaderMap::new()));
        assert_eq!(tag.not_modified().status(), StatusCode::NOT_MODIFIED);
    }
}
