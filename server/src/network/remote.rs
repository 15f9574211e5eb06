//! One search on another server.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::Remote;
use crate::error::{ApiError, Code};
use crate::outbound::{Outbound, OutboundError};

/// Asks for what it takes to merge hits of several servers.
pub(crate) const PROXY_HEADER: &str = "meili-proxy-search";

const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Of an answer that is shown in a message.
const EXCERPT_BYTES: usize = 500;

/// How long a remote may take; `SVC_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS` when the server started.
pub(super) fn patience() -> Duration {
    static PATIENCE: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let seconds = std::env::var("SVC_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS").ok();
        Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(30))
    })
}

/// Sends the body of a multi-search.
///
/// # Errors
/// One of the `remote_*` codes.
pub(super) async fn multi_search(
    outbound: &Outbound,
    remote: &Remote,
    body: &Value,
    with_metadata: bool,
) -> Result<Value, ApiError> {
    let url = format!("{}/multi-search", remote.url.trim_end_matches('/'));
    let mut request = outbound
        .request(Method::POST, &url)
        .map_err(|error| unreachable_remote(&error))?
        .timeout(patience())
        .header(PROXY_HEADER, "true")
        .json(body);
    if with_metadata {
        request = request.header("meili-include-metadata", "true");
    }
    if let Some(key) = &remote.search_api_key {
        request = request.bearer_auth(key);
    }
    let reply = outbound.send(request, ANSWER_BYTES_MAX).await.map_err(|error| unreachable_remote(&error))?;
    let excerpt = || String::from_utf8_lossy(&reply.body[..reply.body.len().min(EXCERPT_BYTES)]).into_owned();
    match reply.status {
        status if status.is_success() => serde_json::from_slice(&reply.body).map_err(|error| {
            ApiError::new(Code::RemoteBadResponse, format!("could not parse response from the remote host: {error}"))
        }),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(ApiError::new(
            Code::RemoteInvalidApiKey,
            "could not authenticate against the remote host\n  - hint: check that the remote instance was registered \
             with a valid API key having the `search` action",
        )),
        status if status.is_client_error() => Err(ApiError::new(
            Code::RemoteBadRequest,
            format!(
                "remote host responded with code {}\n  - response from remote: {}\n  - hint: check that the remote \
                 instance has the correct index configuration for that request",
                status.as_u16(),
                excerpt()
            ),
        )),
        status => Err(ApiError::new(
            Code::RemoteRemoteError,
            format!("remote host responded with code {}\n  - response from remote: {}", status.as_u16(), excerpt()),
        )),
    }
}

fn unreachable_remote(error: &OutboundError) -> ApiError {
    match error {
        OutboundError::Timeout => ApiError::new(Code::RemoteTimeout, "remote did not answer before the deadline"),
        OutboundError::TooLong { .. } => {
            ApiError::new(Code::RemoteBadResponse, format!("could not read response from the remote host: {error}"))
        }
        error => ApiError::new(Code::RemoteCouldNotSendRequest, format!("error while sending the request: {error}")),
    }
}
