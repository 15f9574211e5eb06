//! The other server: requests to it, again where that may help, and what its answers mean.

use std::time::Duration;

use bytes::Bytes;
use lamina_base::backoff::{self, may_pass};
use lamina_base::outbound::{Outbound, OutboundError, Reply};
use lamina_data::tasks::LiveBatch;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE};
use reqwest::{Method, Url};
use serde_json::Value;

use super::ExportError;

/// For a request that carries little.
const SMALL_TIME: Duration = Duration::from_secs(5);
/// For a piece of documents.
const PIECE_TIME: Duration = Duration::from_secs(60);
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// The other server, as long as the export is wanted.
pub(super) struct Remote<'a> {
    pub(super) outbound: &'a Outbound,
    pub(super) live: &'a LiveBatch,
    pub(super) url: String,
    pub(super) key: Option<String>,
}

#[derive(Clone)]
pub(super) enum Body {
    None,
    Json(Value),
    /// Compressed.
    Lines(Bytes),
}

impl Remote<'_> {
    pub(super) fn ask(&self, method: Method, path: &str, body: Option<Value>) -> Result<Reply, ExportError> {
        let body = body.map_or(Body::None, Body::Json);
        self.wait_for(self.send(method, path, body))?.map_err(|error| self.unreachable(error))
    }

    /// The error of a request without an answer. The address may hold secrets, its host does not.
    pub(super) fn unreachable(&self, error: OutboundError) -> ExportError {
        let url = Url::parse(&self.url).ok();
        let host = url.as_ref().and_then(|url| {
            let host = url.host_str()?;
            Some(url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
        });
        ExportError::Unreachable { host: host.unwrap_or_default(), error }
    }

    pub(super) fn wait_for<T>(&self, work: impl Future<Output = T>) -> Result<T, ExportError> {
        self.live.wait_for(self.outbound.runtime(), work).ok_or(ExportError::Cancelled)
    }

    /// Again and again where that may help. Needs nothing of the export while it is under way.
    pub(super) fn send(
        &self,
        method: Method,
        path: &str,
        body: Body,
    ) -> impl Future<Output = Result<Reply, OutboundError>> + Send + 'static {
        let (outbound, key, url) = (self.outbound.clone(), self.key.clone(), format!("{}{path}", self.url));
        async move {
            let mut pauses = backoff::EXPORT;
            loop {
                let sent = send_once(&outbound, key.as_deref(), method.clone(), &url, body.clone()).await;
                let may_pass = match &sent {
                    Ok(reply) => may_pass(reply.status),
                    Err(error) => error.is_transient(),
                };
                match pauses.next() {
                    Some(pause) if may_pass => tokio::time::sleep(pause).await,
                    _ => return sent,
                }
            }
        }
    }
}

async fn send_once(
    outbound: &Outbound,
    key: Option<&str>,
    method: Method,
    url: &str,
    body: Body,
) -> Result<Reply, OutboundError> {
    let mut request = outbound.request(method, url)?;
    if let Some(key) = key {
        request = request.bearer_auth(key);
    }
    let request = match body {
        Body::None => request.timeout(SMALL_TIME),
        Body::Json(body) => request.timeout(SMALL_TIME).json(&body),
        Body::Lines(lines) => request
            .timeout(PIECE_TIME)
            .header(CONTENT_TYPE, "application/x-ndjson")
            .header(CONTENT_ENCODING, "gzip")
            .body(lines),
    };
    outbound.send(request, ANSWER_BYTES_MAX).await
}

/// A reply that says yes.
pub(super) fn accepted(reply: Reply) -> Result<Reply, ExportError> {
    if reply.status.is_success() {
        return Ok(reply);
    }
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    Err(ExportError::Refused {
        code: text("code").unwrap_or_else(|| reply.status.as_str().to_owned()),
        kind: text("type").unwrap_or_else(|| "unknown".to_owned()),
        message: text("message")
            .unwrap_or_else(|| String::from_utf8_lossy(&reply.body[..reply.body.len().min(200)]).into_owned()),
        link: text("link").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use lamina_base::error::{ApiError, Code};
    use reqwest::StatusCode;

    use super::*;

    #[test]
    fn refusals_come_in_the_words_of_the_other_server() {
        let reply = |status: u16, body: &str| Reply {
            status: StatusCode::from_u16(status).unwrap(),
            headers: Default::default(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        assert!(accepted(reply(202, "")).is_ok());
        let body = r#"{"message": "m", "code": "invalid_api_key", "type": "auth", "link": "l"}"#;
        let error = ApiError::from(accepted(reply(403, body)).unwrap_err());
        assert_eq!(error.code, Code::Internal);
        assert_eq!(error.message, "Failed to export documents to remote server `invalid_api_key` (`auth`): `m` <`l`>");
        let error = ApiError::from(accepted(reply(502, "<html>")).unwrap_err());
        assert!(error.message.contains("`502`"), "{}", error.message);
        assert!(error.message.contains("<html>"), "{}", error.message);
    }
}
