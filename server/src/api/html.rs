//! Pages that stand alone: style and script are inside, and they ask only this server.

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use warp::http::{HeaderValue, header};
use warp::reply::Response;

/// A page with the policy that its browser keeps to.
#[derive(Clone, Debug)]
pub(super) struct Page {
    text: Bytes,
    policy: HeaderValue,
}

impl Page {
    /// A document with at most one `<style>` and one `<script>`, both without attributes.
    pub(super) fn new(text: impl Into<Bytes>) -> Page {
        Page::with_pictures(text, "")
    }

    /// One that shows pictures of these schemes (`https:`) besides its own.
    pub(super) fn with_pictures(text: impl Into<Bytes>, schemes: &str) -> Page {
        let text = text.into();
        let policy = policy(&String::from_utf8_lossy(&text), schemes);
        Page { text, policy }
    }

    pub(super) fn answer(&self) -> Response {
        let mut response = Response::new(self.text.clone().into());
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
        response
    }
}

/// Only the page's own style and script run, by their hashes: whatever documents hold, it stays text. The page's own picture
/// is inside; those that documents name come over what `pictures` has.
fn policy(page: &str, pictures: &str) -> HeaderValue {
    let pictures = format!("data: {pictures}");
    let policy = format!(
        "default-src 'none'; connect-src 'self'; style-src {}; script-src {}; img-src {}; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
        hash_of(page, "style"),
        hash_of(page, "script"),
        pictures.trim_end()
    );
    HeaderValue::from_str(&policy).expect("hashes are plain text")
}

/// `'sha256-…'` of what stands inside the element.
fn hash_of(page: &str, element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    match page.split_once(&open).and_then(|(_, rest)| rest.split_once(&close)) {
        Some((inside, _)) => {
            format!("'sha256-{}'", BASE64.encode(digest::digest(&digest::SHA256, inside.as_bytes())))
        }
        None => "'none'".to_owned(),
    }
}

/// Text as it stands in a page.
pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Checks that a page written by hand needs nothing from elsewhere, and makes no HTML of texts.
#[cfg(test)]
#[track_caller]
pub(super) fn stands_alone(page: &str) {
    needs_no_other_server(page);
    for outside in [" src=", "innerHTML", "onclick=\""] {
        assert!(!page.contains(outside), "{outside}");
    }
}

/// Checks that a page needs nothing from elsewhere.
#[cfg(test)]
#[track_caller]
pub(super) fn needs_no_other_server(page: &str) {
    let page = page.replace("<img src=\"data:", "");
    for outside in ["//cdn", "<script src", "<img src", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("<style>").count(), 1);
    assert!(page.matches("<script>").count() <= 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_name_what_is_there() {
        let policy = |page: &str| policy(page, "").to_str().unwrap().to_owned();
        assert!(
            policy("<style>a</style>")
                .contains("style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='; script-src 'none'")
        );
        assert!(policy("<style></style><script>1</script>").contains("script-src 'sha256-"));
        assert!(policy("<style></style>").contains("; img-src data:; "));
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; &quot;b&quot;&gt;");
    }
}
