//! `/`: in development a page to search with, in production a greeting.

use std::sync::{Arc, OnceLock};

use aws_lc_rs::digest;
use serde_json::json;
use warp::Filter;
use warp::http::{HeaderValue, StatusCode, header};
use warp::reply::Response;

use crate::app::AppState;
use crate::http::json_answer;
use crate::options::Environment;
use crate::routes::Routes;

/// One document, without a build step: its style and its script are inside, and it asks only this server.
const PAGE: &str = concat!(
    include_str!("page/head.html"),
    "<style>\n",
    include_str!("page/style.css"),
    "</style>\n",
    include_str!("page/body.html"),
    "<script>",
    include_str!("page/base.js"),
    include_str!("page/values.js"),
    include_str!("page/facets.js"),
    include_str!("page/search.js"),
    include_str!("page/side.js"),
    include_str!("page/views.js"),
    include_str!("page/start.js"),
    "</script>\n</body>\n</html>\n",
);

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let is_development = state.options.service.env == Environment::Development;
    let root = warp::path::end().and(warp::get());
    root.map(move || match is_development {
        true => page(),
        false => json_answer(StatusCode::OK, &json!({ "status": "Lamina is running" })),
    })
    .boxed()
}

fn page() -> Response {
    static POLICY: OnceLock<HeaderValue> = OnceLock::new();
    let mut response = Response::new(PAGE.into());
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(header::CONTENT_SECURITY_POLICY, POLICY.get_or_init(policy).clone());
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}

/// Only the page's own style and script run, by their hashes: whatever documents hold, it stays text.
fn policy() -> HeaderValue {
    let policy = format!(
        "default-src 'none'; connect-src 'self'; style-src '{}'; script-src '{}'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
        hash_of("style"),
        hash_of("script")
    );
    HeaderValue::from_str(&policy).expect("hashes are plain text")
}

/// `sha256-…` of what stands inside the element.
fn hash_of(element: &str) -> String {
    let (open, close) = (format!("<{element}>"), format!("</{element}>"));
    let inside = PAGE.split_once(&open).and_then(|(_, rest)| rest.split_once(&close)).map_or("", |(inside, _)| inside);
    format!("sha256-{}", base64(digest::digest(&digest::SHA256, inside.as_bytes()).as_ref()))
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = three.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            text.push(if place <= three.len() { letter } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads() {
        for (bytes, text) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn the_page_stands_alone() {
        for outside in ["http:", "https:", "//cdn", " src=", "@import", "url(", "innerHTML", "onclick=\""] {
            assert!(!PAGE.contains(outside), "{outside}");
        }
        assert_eq!((PAGE.matches("<style>").count(), PAGE.matches("<script>").count()), (1, 1));
    }
}
