//! Requests that the server makes itself: webhooks, embedders, exports, remotes.
//!
//! All of them go through one [`Outbound`], because users choose where they go: without a guard, a webhook could be
//! pointed at what only this machine reaches (a cloud's metadata service, an unprotected database). The guard looks at
//! *addresses*, never at names: at the literal address of a URL, at every answer of the name service right before a
//! connection is made, and at both again for each redirect. Proxies of the environment are not used, since behind one
//! the server would not see where a request ends up.

mod authorities;
mod policy;
mod redirects;
mod resolver;

use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use reqwest::header::HeaderMap;
use reqwest::{Client, Method, RequestBuilder, StatusCode, Url, redirect};
use thiserror::Error;

pub use authorities::{NoCaCertificates, with_ca_certificates};
pub use policy::IpPolicy;
pub use redirects::is_framing;

use policy::Rejected;
use redirects::REDIRECTS_MAX;
use resolver::GuardedResolver;

use crate::secret::shown_url;

/// Maximum time to establish a connection, name resolution included.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Longest silence of a peer that answers. Overall limits are set per request.
const READ_TIME: Duration = Duration::from_secs(30);

/// The one client. Cheap to clone: clones share their connections.
#[derive(Clone, Debug)]
pub struct Outbound {
    client: Client,
    policy: Arc<IpPolicy>,
    runtime: tokio::runtime::Handle,
    has_ca_certificates: bool,
}

/// An answer, read to its end.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status of the last response, after redirects.
    pub status: StatusCode,
    /// Headers of the last response.
    pub headers: HeaderMap,
    /// Decoded from chunks, not from a content encoding.
    pub body: Bytes,
}

/// Reason why a request got no response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OutboundError {
    /// Not an address that can be asked.
    #[error("invalid URL `{url}`: {reason}")]
    Url {
        /// Without the secrets in it.
        url: String,
        /// Description of the fault.
        reason: String,
    },
    /// The address is not one that this server may reach.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The address, or one that it redirects to, is `https`, and no certificate can be checked.
    #[error(transparent)]
    NoCaCertificates(#[from] NoCaCertificates),
    /// Nothing came in time.
    #[error("the request timed out")]
    Timeout,
    /// The answer is longer than its reader allows.
    #[error("the response is longer than {bytes_max} bytes")]
    TooLong {
        /// The limit.
        bytes_max: usize,
    },
    /// The redirects go round in circles, or nearly so.
    #[error("more than {REDIRECTS_MAX} redirects")]
    TooManyRedirects,
    /// Nothing listens at the address, or its name is not known.
    #[error("no connection: {0}")]
    NoConnection(std::io::Error),
    /// No connection, or one that broke off. URLs are left out: they may hold secrets.
    #[error("{}", with_causes(.0))]
    Http(reqwest::Error),
}

impl From<reqwest::Error> for OutboundError {
    fn from(error: reqwest::Error) -> OutboundError {
        let error = error.without_url();
        let mut cause = error.source();
        while let Some(source) = cause {
            if let Some(rejected) = source.downcast_ref::<Rejected>() {
                return rejected.clone().into();
            }
            if let Some(missing) = source.downcast_ref::<NoCaCertificates>() {
                return (*missing).into();
            }
            cause = source.source();
        }
        if error.is_timeout() { OutboundError::Timeout } else { OutboundError::Http(error) }
    }
}

impl OutboundError {
    /// Returns whether no server took the request.
    pub fn is_unreached(&self) -> bool {
        match self {
            OutboundError::Timeout | OutboundError::NoConnection(_) => true,
            OutboundError::Http(error) => error.is_connect(),
            _ => false,
        }
    }

    /// Reports whether the same request may succeed a little later.
    pub fn is_transient(&self) -> bool {
        match self {
            OutboundError::Timeout => true,
            OutboundError::Http(error) => error.is_connect() || error.is_request() || error.is_body(),
            _ => false,
        }
    }
}

/// The HTTP library's errors say little themselves: what happened is in their causes.
fn with_causes(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    text
}

/// Reads an address that requests may go to: absolute, `http` or `https`.
///
/// # Errors
/// The reason, as the URL parser words it.
pub fn parse_url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(format!("scheme `{other}` is neither `http` nor `https`")),
    }
}

/// An address that others wrote, where a client may be sent there: no script, and nothing that would break a line.
pub fn followable(address: Option<String>) -> Option<String> {
    address.filter(|text| parse_url(text).is_ok() && !text.contains(|c: char| c.is_whitespace() || c.is_control()))
}

fn client(policy: &Arc<IpPolicy>, has_ca_certificates: bool) -> reqwest::Result<Client> {
    let builder = Client::builder()
        .user_agent(concat!("Lamina/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIME)
        .read_timeout(READ_TIME)
        .no_proxy()
        // They are followed in `redirects`: with fewer headers where they lead to another origin.
        .redirect(redirect::Policy::none())
        .dns_resolver(Arc::new(GuardedResolver::new(Arc::clone(policy))));
    if has_ca_certificates { builder.build() } else { builder.tls_certs_only([]).build() }
}

impl Outbound {
    /// A client that reaches what `policy` allows. To be called within a runtime, on which blocking calls will run.
    ///
    /// # Errors
    /// When TLS cannot be set up. Without CA certificates there is a client, for `http` only.
    pub fn new(policy: IpPolicy) -> Result<Outbound, OutboundError> {
        let policy = Arc::new(policy);
        let (client, has_ca_certificates) = with_ca_certificates(|has| client(&policy, has))?;
        let runtime = tokio::runtime::Handle::current();
        Ok(Outbound { client, policy, runtime, has_ca_certificates })
    }

    /// Fails when `https` cannot be used.
    ///
    /// # Errors
    /// What to do about it.
    pub fn check_https(&self) -> Result<(), NoCaCertificates> {
        if self.has_ca_certificates { Ok(()) } else { Err(NoCaCertificates) }
    }

    /// A request to be completed by the caller, who also sets its overall `timeout`.
    ///
    /// # Errors
    /// [`OutboundError::Url`], [`OutboundError::Rejected`] when the URL holds a forbidden address itself, or
    /// [`OutboundError::NoCaCertificates`].
    pub fn request(&self, method: Method, url: &str) -> Result<RequestBuilder, OutboundError> {
        let url = parse_url(url).map_err(|reason| OutboundError::Url { url: shown_url(url), reason })?;
        self.check(&url)?;
        Ok(self.client.request(method, url))
    }

    /// Opens a connection to the server of an address within `time`, and closes it: nothing is asked of the server.
    ///
    /// # Errors
    /// The errors of [`Outbound::request`]; [`OutboundError::NoConnection`], [`OutboundError::Timeout`].
    pub async fn reach(&self, url: &str, time: Duration) -> Result<(), OutboundError> {
        let url = parse_url(url).map_err(|reason| OutboundError::Url { url: shown_url(url), reason })?;
        self.check(&url)?;
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
        let port = url.port_or_known_default().unwrap_or(80);
        let connected = async {
            let found: Vec<_> = tokio::net::lookup_host((host, port)).await?.collect();
            let admitted: Vec<_> = found.iter().copied().filter(|address| self.policy.admits(address.ip())).collect();
            if let (true, Some(first)) = (admitted.is_empty(), found.first()) {
                return Ok(self.policy.check(first.ip()));
            }
            tokio::net::TcpStream::connect(&*admitted).await.map(|_| Ok(()))
        };
        let connected = tokio::time::timeout(time, connected).await.map_err(|_| OutboundError::Timeout)?;
        connected.map_err(OutboundError::NoConnection)??;
        Ok(())
    }

    /// Checks whether an address may be requested, as far as its text shows that.
    fn check(&self, url: &Url) -> Result<(), OutboundError> {
        self.policy.check_url(url)?;
        if url.scheme() == "https" {
            self.check_https()?;
        }
        Ok(())
    }

    /// Sends, and reads an answer of at most `body_bytes_max`.
    ///
    /// # Errors
    /// When there is no whole answer; one that says no is a [`Reply`]. Redirects are followed, to other origins without the
    /// headers that say who asks.
    pub async fn send(&self, request: RequestBuilder, body_bytes_max: usize) -> Result<Reply, OutboundError> {
        let mut response = self.follow(request).await?;
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = BytesMut::new();
        while let Some(piece) = response.chunk().await? {
            if body.len() + piece.len() > body_bytes_max {
                return Err(OutboundError::TooLong { bytes_max: body_bytes_max });
            }
            body.extend_from_slice(&piece);
        }
        Ok(Reply { status, headers, body: body.freeze() })
    }

    /// The runtime that requests run on.
    pub fn runtime(&self) -> &tokio::runtime::Handle {
        &self.runtime
    }
}

#[cfg(test)]
mod tests;
