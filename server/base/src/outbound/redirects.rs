//! Redirects, followed one by one: each address is checked as the first one was, and what a request says of who asks stays
//! with the origin that it was meant for.

use std::time::Instant;

use reqwest::header::{self, HeaderMap, HeaderName};
use reqwest::{Method, Request, Response, StatusCode, Url};

use super::{Outbound, OutboundError, parse_url};
use crate::secret::shown_url;

pub(super) const REDIRECTS_MAX: usize = 5;

/// Request headers that may be sent to another origin: they describe the body and the accepted forms of the
/// response.
const PUBLIC: [HeaderName; 8] = [
    header::ACCEPT,
    header::ACCEPT_ENCODING,
    header::CONTENT_ENCODING,
    header::CONTENT_LENGTH,
    header::CONTENT_TYPE,
    header::IF_RANGE,
    header::RANGE,
    header::USER_AGENT,
];

/// Headers that describe a body.
const OF_BODY: [HeaderName; 4] =
    [header::CONTENT_ENCODING, header::CONTENT_LENGTH, header::CONTENT_TYPE, header::TRANSFER_ENCODING];

/// Headers that frame a message, name its target, or belong to one connection: another value would make it another request.
const FRAMING: [&str; 14] = [
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Reports whether only the server may set a header in requests that clients configure. Ignores the case of `name`.
pub fn is_framing(name: &str) -> bool {
    FRAMING.iter().any(|known| name.eq_ignore_ascii_case(known))
}

impl Outbound {
    /// Sends, and follows no redirect; the body of the answer is still to be read.
    ///
    /// # Errors
    /// The errors of [`Outbound::send`].
    pub async fn once(&self, request: reqwest::RequestBuilder) -> Result<Response, OutboundError> {
        Ok(self.client.execute(request.build()?).await?)
    }

    /// Sends, and follows redirects; the last answer, whose body is still to be read. The time of the request is for all of
    /// them together.
    ///
    /// # Errors
    /// The errors of [`Outbound::send`].
    pub async fn follow(&self, request: reqwest::RequestBuilder) -> Result<Response, OutboundError> {
        let mut request = request.build()?;
        let deadline = request.timeout().map(|time| Instant::now() + *time);
        for _ in 0..=REDIRECTS_MAX {
            let (method, url, headers) = (request.method().clone(), request.url().clone(), request.headers().clone());
            // A body that is made while it is sent can't be sent again.
            let repeated = request.try_clone();
            let response = self.client.execute(request).await?;
            let Some(target) = target(&response, &url) else { return Ok(response) };
            let is_kept = matches!(response.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
            let mut next = match repeated {
                Some(repeated) if is_kept => repeated,
                None if is_kept => return Ok(response),
                _ => without_body(&method, &url, headers),
            };
            parse_url(target.as_str())
                .map_err(|reason| OutboundError::Url { url: shown_url(target.as_str()), reason })?;
            self.check(&target)?;
            if target.origin() != url.origin() {
                remove_private(next.headers_mut());
            }
            *next.url_mut() = target;
            *next.timeout_mut() = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            request = next;
        }
        Err(OutboundError::TooManyRedirects)
    }
}

/// Returns the target of a redirect, without the user and the password in it.
fn target(response: &Response, from: &Url) -> Option<Url> {
    let leads = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION).filter(|_| leads)?;
    let mut url = from.join(location.to_str().ok()?).ok()?;
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(url)
}

/// The request that comes after `See Other`, and, as everywhere, after `Found` and `Moved Permanently`.
fn without_body(method: &Method, url: &Url, mut headers: HeaderMap) -> Request {
    let method = if *method == Method::HEAD { Method::HEAD } else { Method::GET };
    for name in OF_BODY {
        headers.remove(name);
    }
    let mut request = Request::new(method, url.clone());
    *request.headers_mut() = headers;
    request
}

/// Leaves what another origin may learn: any other header, whatever its name, may be a secret.
fn remove_private(headers: &mut HeaderMap) {
    let private: Vec<HeaderName> = headers.keys().filter(|name| !PUBLIC.contains(name)).cloned().collect();
    for name in private {
        headers.remove(name);
    }
}
