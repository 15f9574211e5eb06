//! One search on another server.

use std::time::{Duration, Instant};

use reqwest::header::HeaderMap;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::Remote;
use crate::error::{ApiError, Code};
use crate::http::LIMITS_HEADER;
use crate::outbound::{Outbound, OutboundError};
use crate::search::ValuesWanted;

/// Asks for what it takes to merge hits of several servers.
pub(crate) const PROXY_HEADER: &str = "meili-proxy-search";

/// Asks for facets listed to be merged: as many values of each as the settings of its index say (`settings`), or this
/// many. Servers of another make do not know it and list what their settings say.
pub(crate) const VALUES_HEADER: &str = "lamina-facet-values";

const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Of an answer that is shown in a message.
const EXCERPT_BYTES: usize = 500;

/// A remote that can't be reached or fails is asked so often.
const TRIES_MAX: u32 = 3;
/// Before the second try; twice as long before the third.
const PAUSE: Duration = Duration::from_millis(50);

/// How long a remote may take, all tries together; `SVC_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS` when the server started.
pub(super) fn patience() -> Duration {
    static PATIENCE: std::sync::OnceLock<Duration> = std::sync::OnceLock::new();
    *PATIENCE.get_or_init(|| {
        let seconds = std::env::var("SVC_EXPERIMENTAL_REMOTE_SEARCH_TIMEOUT_SECONDS").ok();
        Duration::from_secs(seconds.and_then(|text| text.parse().ok()).unwrap_or(30))
    })
}

/// What a remote answered.
pub(super) struct Answered {
    pub(super) body: Value,
    /// The limits that it names, except those of facets, which are merged before it shows what is left out.
    pub(super) cuts: Vec<String>,
}

/// The header's value, of [`VALUES_HEADER`].
fn written(wanted: ValuesWanted) -> String {
    match wanted {
        ValuesWanted::AsSet => "settings".to_owned(),
        ValuesWanted::UpTo(values_max) => values_max.to_string(),
    }
}

/// What the value of [`VALUES_HEADER`] asks for. One that says nothing asks for what settings say.
pub(crate) fn values_wanted(header: &str) -> ValuesWanted {
    header.trim().parse().map_or(ValuesWanted::AsSet, ValuesWanted::UpTo)
}

/// Sends the body of a multi-search, again if the remote could not be reached or failed, as long as there is time.
///
/// # Errors
/// One of the `remote_*` codes.
pub(super) async fn multi_search(
    outbound: &Outbound,
    remote: &Remote,
    body: &Value,
    wanted: ValuesWanted,
    with_metadata: bool,
) -> Result<Answered, ApiError> {
    let deadline = Instant::now() + patience();
    let mut tries = 0;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let answered = ask(outbound, remote, body, wanted, with_metadata, left).await;
        tries += 1;
        let may_pass =
            |error: &ApiError| matches!(error.code, Code::RemoteCouldNotSendRequest | Code::RemoteRemoteError);
        let pause = PAUSE * tries;
        match answered {
            Err(error) if may_pass(&error) && tries < TRIES_MAX && Instant::now() + pause < deadline => {
                tokio::time::sleep(pause).await;
            }
            answered => return answered,
        }
    }
}

/// One try, which may take `left`.
async fn ask(
    outbound: &Outbound,
    remote: &Remote,
    body: &Value,
    wanted: ValuesWanted,
    with_metadata: bool,
    left: Duration,
) -> Result<Answered, ApiError> {
    let url = format!("{}/multi-search", remote.url.trim_end_matches('/'));
    let mut request = outbound
        .request(Method::POST, &url)
        .map_err(|error| unreachable_remote(&error))?
        .timeout(left)
        .header(PROXY_HEADER, "true")
        .header(VALUES_HEADER, written(wanted))
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
        status if status.is_success() => {
            let body = serde_json::from_slice(&reply.body).map_err(|error| {
                let message = format!("could not parse response from the remote host: {error}");
                ApiError::new(Code::RemoteBadResponse, message)
            })?;
            Ok(Answered { body, cuts: cuts(&reply.headers) })
        }
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

fn cuts(headers: &HeaderMap) -> Vec<String> {
    let told = headers.get(LIMITS_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let cuts = told.split(',').map(str::trim).filter(|cut| !cut.is_empty() && !cut.starts_with("maxValuesPerFacet"));
    cuts.map(str::to_owned).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_are_wanted() {
        for wanted in [ValuesWanted::AsSet, ValuesWanted::UpTo(0), ValuesWanted::UpTo(usize::MAX)] {
            assert_eq!(values_wanted(&written(wanted)), wanted);
        }
        for odd in ["", "-1", "1.5", "many", "99999999999999999999999"] {
            assert_eq!(values_wanted(odd), ValuesWanted::AsSet, "{odd}");
        }
    }

    #[test]
    fn limits_that_are_told() {
        let told = |text: &str| cuts(&HeaderMap::from_iter([(LIMITS_HEADER.parse().unwrap(), text.parse().unwrap())]));
        assert_eq!(told("maxTotalHits, maxValuesPerFacet:genre,searchCutoffMs,"), ["maxTotalHits", "searchCutoffMs"]);
        assert!(cuts(&HeaderMap::new()).is_empty());
    }
}
