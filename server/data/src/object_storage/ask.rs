//! Requests to Google's store.

use bytes::Bytes;
use reqwest::{Method, RequestBuilder};

use super::PART_TIME;

/// Maximum size of a response that holds neither an object nor a listing.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// A request without its token.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    /// Path, encoded already.
    pub(super) target: String,
    pub(super) query: &'a [(&'a str, &'a str)],
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: Bytes,
    pub(super) answer_bytes_max: usize,
}

impl<'a> Ask<'a> {
    pub(super) fn new(method: Method, target: impl Into<String>) -> Ask<'a> {
        let (headers, body) = (Vec::new(), Bytes::new());
        Ask { method, target: target.into(), query: &[], headers, body, answer_bytes_max: ANSWER_BYTES_MAX }
    }

    /// `request`, which has the method and the address, with the rest.
    pub(super) fn fill(&self, request: RequestBuilder) -> RequestBuilder {
        let request = request.timeout(PART_TIME).body(self.body.clone());
        self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value))
    }
}

/// A part of an object that is too large for one request.
pub(super) struct Part {
    /// First byte, in the object.
    pub(super) start: u64,
    pub(super) bytes: Bytes,
    pub(super) is_last: bool,
}
