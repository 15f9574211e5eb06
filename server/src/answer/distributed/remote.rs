//! One request to another server.

use std::time::{Duration, Instant};

use lamina_base::backoff::SEARCH_OF_REMOTE;
use lamina_base::budget::{AnswerBudget, VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, Code};
use lamina_base::outbound::{Outbound, OutboundError, Reply};
use lamina_data::network::Remote;
use lamina_protocol::wire::LIMITS_HEADER;
use reqwest::header::HeaderMap;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::Value;

use crate::answer::search::ValuesWanted;

/// Asks for what it takes to merge hits of several servers.
pub(crate) const PROXY_HEADER: &str = "meili-proxy-search";

/// Asks for facets listed to be merged: as many values of each as the settings of its index say (`settings`), or this
/// many. Servers of another make do not know it and list what their settings say.
pub(crate) const VALUES_HEADER: &str = "lamina-facet-values";

const ANSWER_BYTES_MAX: usize = 256 << 20;
/// Number of bytes of a response that a message shows.
const EXCERPT_BYTES: usize = 500;

/// Response of a remote.
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

/// Parses the value of [`VALUES_HEADER`]. An unknown value means the values of the settings.
pub(crate) fn values_wanted(header: &str) -> ValuesWanted {
    header.trim().parse().map_or(ValuesWanted::AsSet, ValuesWanted::UpTo)
}

/// Reason why a try failed.
struct Failure {
    error: ApiError,
    /// True if another try may succeed.
    may_pass: bool,
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        Failure { error, may_pass: false }
    }
}

/// Request to a remote.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    /// Route of the other server.
    pub(super) path: &'a str,
    /// The action that the key for it needs.
    pub(super) action: &'static str,
    /// Body of the request.
    pub(super) body: &'a Value,
    /// The values of facets.
    pub(super) wanted: ValuesWanted,
    /// True if responses carry their metadata.
    pub(super) with_metadata: bool,
}

/// Sends a request, and counts what comes back in `budget`; again if the remote could not be reached or failed, as long as `patience` lasts.
///
/// # Errors
/// One of the `remote_*` codes.
pub(super) async fn post(
    outbound: &Outbound,
    remote: &Remote,
    question: Question<'_>,
    patience: Duration,
    budget: &AnswerBudget,
) -> Result<Answered, ApiError> {
    let deadline = Instant::now() + patience;
    let mut pauses = SEARCH_OF_REMOTE;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let answered = ask(outbound, remote, question, left, budget).await;
        match (answered, pauses.next()) {
            (Err(failure), Some(pause)) if failure.may_pass && Instant::now() + pause < deadline => {
                tokio::time::sleep(pause).await;
            }
            (answered, _) => return answered.map_err(|failure| failure.error),
        }
    }
}

/// One try, which may take `left`.
async fn ask(
    outbound: &Outbound,
    remote: &Remote,
    question: Question<'_>,
    left: Duration,
    budget: &AnswerBudget,
) -> Result<Answered, Failure> {
    let request = request(outbound, remote, question).map_err(|error| unreachable_remote(&error))?.timeout(left);
    let sent = outbound.send(request, ANSWER_BYTES_MAX.min(budget.left())).await;
    let reply = sent.map_err(|error| unreachable_remote(&error))?;
    if reply.status.is_success() { Ok(read(&reply, budget)?) } else { Err(refusal(&reply, question.action)) }
}

fn request(outbound: &Outbound, remote: &Remote, question: Question<'_>) -> Result<RequestBuilder, OutboundError> {
    let url = format!("{}{}", remote.url.trim_end_matches('/'), question.path);
    let mut request = outbound
        .request(Method::POST, &url)?
        .header(PROXY_HEADER, "true")
        .header(VALUES_HEADER, written(question.wanted))
        .json(question.body);
    if question.with_metadata {
        request = request.header("meili-include-metadata", "true");
    }
    if let Some(key) = &remote.search_api_key {
        request = request.bearer_auth(key);
    }
    Ok(request)
}

/// The answer, in the memory that `budget` has for it.
fn read(reply: &Reply, budget: &AnswerBudget) -> Result<Answered, ApiError> {
    let _text = budget.hold(reply.body.len())?;
    budget.take(json_heap_bytes(&reply.body, VALUE_BYTES))?;
    let body = serde_json::from_slice(&reply.body).map_err(|error| {
        let message = format!("could not parse response from the remote host: {error}");
        ApiError::new(Code::RemoteBadResponse, message)
    })?;
    Ok(Answered { body, cuts: cuts(&reply.headers) })
}

/// Interprets the status of a reply that is not a success.
fn refusal(reply: &Reply, action: &str) -> Failure {
    let excerpt = || String::from_utf8_lossy(&reply.body[..reply.body.len().min(EXCERPT_BYTES)]).into_owned();
    match reply.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ApiError::new(
            Code::RemoteInvalidApiKey,
            format!(
                "could not authenticate against the remote host\n  - hint: check that the remote instance was registered \
                 with a valid API key having the `{action}` action"
            ),
        )
        .into(),
        status if status.is_client_error() => ApiError::new(
            Code::RemoteBadRequest,
            format!(
                "remote host responded with code {}\n  - response from remote: {}\n  - hint: check that the remote \
                 instance has the correct index configuration for that request",
                status.as_u16(),
                excerpt()
            ),
        )
        .into(),
        status => {
            let message =
                format!("remote host responded with code {}\n  - response from remote: {}", status.as_u16(), excerpt());
            Failure { error: ApiError::new(Code::RemoteRemoteError, message), may_pass: true }
        }
    }
}

fn cuts(headers: &HeaderMap) -> Vec<String> {
    let listed = headers.get(LIMITS_HEADER).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let cuts = listed.split(',').map(str::trim).filter(|cut| !cut.is_empty() && !cut.starts_with("maxValuesPerFacet"));
    cuts.map(str::to_owned).collect()
}

fn unreachable_remote(error: &OutboundError) -> Failure {
    match error {
        OutboundError::Timeout => {
            ApiError::new(Code::RemoteTimeout, "remote did not answer before the deadline").into()
        }
        OutboundError::TooLong { .. } => {
            ApiError::new(Code::RemoteBadResponse, format!("could not read response from the remote host: {error}"))
                .into()
        }
        error => {
            let message = format!("error while sending the request: {error}");
            let refused = ApiError::new(Code::RemoteCouldNotSendRequest, message);
            Failure { error: refused, may_pass: error.is_transient() }
        }
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

    #[tokio::test]
    async fn only_what_may_pass_is_tried_again() {
        // A server that ends every connection without an answer, and counts them.
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let connections = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let counted = std::sync::Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                drop(connection);
            }
        });
        // A refused address is not connected to.
        for (networks, tries) in [("", 0), ("127.0.0.0/8,::1", SEARCH_OF_REMOTE.attempts())] {
            let outbound = Outbound::new(networks.parse().unwrap()).unwrap();
            let url = format!("http://localhost:{port}");
            let remote = Remote { url, search_api_key: None, write_api_key: None };
            let asked = post(
                &outbound,
                &remote,
                Question {
                    path: "/multi-search",
                    action: "search",
                    body: &Value::Null,
                    wanted: ValuesWanted::AsSet,
                    with_metadata: false,
                },
                Duration::from_secs(30),
                &AnswerBudget::UNLIMITED,
            )
            .await;
            let error = asked.err().expect("no answer");
            assert_eq!(error.code, Code::RemoteCouldNotSendRequest);
            let sent = connections.load(std::sync::atomic::Ordering::Relaxed);
            assert_eq!(sent, tries, "{networks}: {}", error.message);
        }
    }

    #[test]
    fn limits_that_are_listed() {
        let listed =
            |text: &str| cuts(&HeaderMap::from_iter([(LIMITS_HEADER.parse().unwrap(), text.parse().unwrap())]));
        assert_eq!(listed("maxTotalHits, maxValuesPerFacet:genre,searchCutoffMs,"), ["maxTotalHits", "searchCutoffMs"]);
        assert!(cuts(&HeaderMap::new()).is_empty());
    }
}
