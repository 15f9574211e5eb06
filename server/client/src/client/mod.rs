//! The HTTP client of all commands that speak to a running server: its address, a key, and errors that say what to do.

mod reach;
mod task;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use lamina_base::outbound::{NoCaCertificates, with_ca_certificates};
use reqwest::header::LOCATION;
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Certificate, Method, RequestBuilder, Response, StatusCode, Url};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

const CONNECT_TIME: Duration = Duration::from_secs(10);
/// An answer is read up to here: whatever it comes from, it does not take all memory.
const ANSWER_BYTES_MAX: usize = 256 << 20;
/// And one with the status of an error, which is a sentence.
const REFUSAL_BYTES_MAX: usize = 64 << 10;
/// Number of characters shown of a response that is no error of this protocol.
const SHOWN_MAX: usize = 1000;

/// Redirects within a server that are followed.
const REDIRECTS_MAX: usize = 10;

/// Parts of error messages that suggest that the other side expects TLS.
const OF_TLS: [&str; 2] = ["closed before message completed", "invalid HTTP version"];

/// Address of the server, and the API key to use.
#[derive(Clone, Debug, Args)]
pub struct ServerArgs {
    /// Address of the server.
    #[arg(long, env = "SVC_URL", default_value = "http://127.0.0.1:7700")]
    pub url: String,
    /// An API key that allows the request.
    #[arg(long, env = "SVC_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
    /// File with the certificate (PEM) of the authority that signed the server's certificate. The authorities of this machine stay trusted.
    #[arg(long, env = "SVC_CACERT", value_name = "FILE")]
    cacert: Option<PathBuf>,
    /// Accept any certificate. Others may then read everything that is sent, the key too.
    #[arg(long, conflicts_with = "cacert")]
    insecure: bool,
}

impl ServerArgs {
    /// A server that needs no key.
    pub fn at(url: String) -> ServerArgs {
        ServerArgs { url, api_key: None, cacert: None, insecure: false }
    }
}

/// Reason why a command got no usable response.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("the address `{url}` is not an HTTP address: {reason}")]
    Address { url: String, reason: String },
    #[error(transparent)]
    NoCaCertificates(#[from] NoCaCertificates),
    #[error("{path}: {reason}. --cacert (SVC_CACERT) takes a file of certificates in PEM form", path = path.display())]
    CaCertificate { path: PathBuf, reason: String },
    #[error("the HTTP client cannot be set up: {0}")]
    Setup(reqwest::Error),
    #[error("the asynchronous runtime cannot be started: {0}")]
    Runtime(std::io::Error),
    #[error("cannot connect to {url} ({reason}).\n{advice}")]
    Unreachable { url: String, reason: String, advice: &'static str },
    #[error("the connection to {url} was lost: {reason}")]
    Broken { url: String, reason: String },
    #[error("the answer of {url} is larger than {} MiB, the most that this command reads: request less", .bytes_max >> 20)]
    TooLarge { url: String, bytes_max: usize },
    #[error(
        "the answer of {url} is not what a server of this kind says ({reason}): check the address of --url (SVC_URL)"
    )]
    Unreadable { url: String, reason: String },
    #[error("the server refused: {status} {message}{}", advice(code))]
    Refused { status: u16, code: String, message: String },
}

impl ClientError {
    /// Returns the code of the server, if it refused something.
    pub fn code(&self) -> Option<&str> {
        match self {
            ClientError::Refused { code, .. } => Some(code),
            _ => None,
        }
    }
}

/// Returns advice for the user about an error of this code.
pub(crate) fn advice(code: &str) -> &'static str {
    match code {
        "missing_authorization_header" => "\nGive a key with --api-key, or in the variable SVC_API_KEY",
        "invalid_api_key" => "\nThe key of --api-key (SVC_API_KEY) is unknown, or has no right to do this",
        "index_primary_key_no_candidate_found" | "index_primary_key_multiple_candidates_found" => {
            "\nName the field that identifies documents with --primary-key"
        }
        _ => "",
    }
}

/// Error with which the server refuses a request.
#[derive(Debug, Default, Deserialize)]
pub struct ErrorBody {
    pub message: String,
    pub code: String,
}

/// Cheap to clone: clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    api_key: Option<String>,
}

impl Client {
    pub fn new(server: &ServerArgs) -> Result<Client, ClientError> {
        let address = |reason: String| ClientError::Address { url: server.url.clone(), reason };
        let base = Url::parse(&server.url).map_err(|error| address(error.to_string()))?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(address("it must start with http:// or https://".into()));
        }
        let own = server.cacert.as_deref().map(certificates).transpose()?.unwrap_or_default();
        let (http, has_ca_certificates) = with_ca_certificates(|has| {
            let builder = reqwest::Client::builder()
                .connect_timeout(CONNECT_TIME)
                .redirect(Policy::custom(
                    |attempt| if leads_elsewhere(&attempt) { attempt.stop() } else { attempt.follow() },
                ))
                .user_agent(concat!("lamina/", env!("CARGO_PKG_VERSION")));
            let builder = builder.tls_danger_accept_invalid_certs(server.insecure);
            let own = own.iter().cloned();
            if has { builder.tls_certs_merge(own).build() } else { builder.tls_certs_only(own).build() }
        })
        .map_err(ClientError::Setup)?;
        let needs_certificates = base.scheme() == "https" && own.is_empty() && !server.insecure;
        if !has_ca_certificates && needs_certificates {
            return Err(NoCaCertificates.into());
        }
        Ok(Client { http, base, api_key: server.api_key.clone() })
    }

    /// The address that the user gave.
    pub fn base(&self) -> &Url {
        &self.base
    }

    /// The address of a route; what is special in its parts is encoded.
    pub fn route(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        url.path_segments_mut().expect("an http address has a path").pop_if_empty().extend(segments);
        url
    }

    /// A request with the key.
    pub fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let request = self.http.request(method, url);
        match &self.api_key {
            Some(key) => request.bearer_auth(key),
            None => request,
        }
    }

    /// Sends a request and reads its answer, as JSON.
    pub async fn call(&self, method: Method, url: Url, body: Option<&Value>) -> Result<Value, ClientError> {
        let request = self.request(method, url);
        let request = match body {
            Some(body) => request.json(body),
            None => request,
        };
        let response = request.send().await.map_err(|error| self.unanswered(&error))?;
        let status = response.status();
        if !status.is_success() {
            let ErrorBody { message, code } = error_body(response).await;
            return Err(ClientError::Refused { status: status.as_u16(), code, message });
        }
        self.answer(response).await
    }

    /// Returns what an answer says, as JSON; null where it says nothing.
    ///
    /// # Errors
    /// The response breaks off, is too large, or is no JSON of this form.
    pub async fn answer<T: DeserializeOwned>(&self, response: Response) -> Result<T, ClientError> {
        let (bytes, is_whole) = read(response, ANSWER_BYTES_MAX).await.map_err(|error| self.unanswered(&error))?;
        let url = || self.base.to_string();
        if !is_whole {
            return Err(ClientError::TooLarge { url: url(), bytes_max: ANSWER_BYTES_MAX });
        }
        let text = if bytes.is_empty() { b"null" } else { &*bytes };
        serde_json::from_slice(text).map_err(|error| ClientError::Unreadable { url: url(), reason: error.to_string() })
    }

    /// Describes the failure of a request that got no response.
    pub fn unanswered(&self, error: &reqwest::Error) -> ClientError {
        let (url, reason) = (self.base.to_string(), innermost(error));
        if error.is_connect() {
            ClientError::Unreachable { url, reason, advice: reach::advice(error) }
        } else {
            let may_be_tls = self.base.scheme() == "http" && OF_TLS.iter().any(|part| reason.contains(part));
            let hint =
                if may_be_tls { "\nIf the server expects TLS, begin the address of --url with https://" } else { "" };
            ClientError::Broken { url, reason: reason + hint }
        }
    }
}

/// Reports whether a server that responds with this is only busy. With 500 it has an error of its own, which stays.
pub fn is_busy(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504)
}

/// Reads the certificates of a file, of which there must be one.
fn certificates(path: &Path) -> Result<Vec<Certificate>, ClientError> {
    let failed = |reason: String| ClientError::CaCertificate { path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|error| failed(error.to_string()))?;
    let read = Certificate::from_pem_bundle(&text).map_err(|error| failed(innermost(&error)))?;
    if read.is_empty() { Err(failed("it has no certificate".to_owned())) } else { Ok(read) }
}

/// Runs what a command does, to its end.
pub fn run_to_end<T, E: From<ClientError>>(work: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(ClientError::Runtime)?.block_on(work)
}

/// Returns whether a redirect leads to another server, which the key is not sent to, or goes round in a circle.
fn leads_elsewhere(attempt: &Attempt<'_>) -> bool {
    let previous = attempt.previous();
    previous.len() >= REDIRECTS_MAX || previous.last().is_none_or(|from| from.origin() != attempt.url().origin())
}

/// Reads the error of a response with an error status, or of a redirect to another server.
pub async fn error_body(response: Response) -> ErrorBody {
    let status = response.status();
    let elsewhere = response.headers().get(LOCATION).filter(|_| status.is_redirection()).map(|location| {
        let url = location.to_str().ok().and_then(|location| response.url().join(location).ok());
        url.map_or_else(|| "another address".to_owned(), |url| url.origin().ascii_serialization())
    });
    let (bytes, _) = read(response, REFUSAL_BYTES_MAX).await.unwrap_or_default();
    let read: Option<ErrorBody> = serde_json::from_slice(&bytes).ok();
    if let Some(elsewhere) = elsewhere {
        let message = format!("requests of this kind go to {elsewhere}: give that address with --url (SVC_URL)");
        return ErrorBody { message, ..read.unwrap_or_default() };
    }
    read.unwrap_or_else(|| {
        let text = String::from_utf8_lossy(&bytes);
        let shown: String = text.chars().take(SHOWN_MAX).collect();
        let rest = if shown.len() < text.len() { "…" } else { "" };
        let message = if text.is_empty() { status.to_string() } else { shown + rest };
        ErrorBody { message, code: String::new() }
    })
}

/// The body of an answer up to a number of bytes, and whether that is all of it.
async fn read(mut response: Response, bytes_max: usize) -> reqwest::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        let room = bytes_max - bytes.len();
        bytes.extend_from_slice(&piece[..room.min(piece.len())]);
        if piece.len() > room {
            return Ok((bytes, false));
        }
    }
    Ok((bytes, true))
}

/// The cause at the root ("connection refused") says more than the layers above it.
pub(crate) fn innermost(error: &dyn std::error::Error) -> String {
    error.source().map_or_else(|| error.to_string(), innermost)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(url: &str) -> Result<Client, ClientError> {
        Client::new(&ServerArgs::at(url.to_owned()))
    }

    #[test]
    fn routes_are_below_the_address() {
        for (base, expected) in [
            ("http://a:1", "http://a:1/indexes/x%20y/search"),
            ("http://a:1/", "http://a:1/indexes/x%20y/search"),
            ("http://a:1/below/", "http://a:1/below/indexes/x%20y/search"),
        ] {
            assert_eq!(client(base).unwrap().route(&["indexes", "x y", "search"]).as_str(), expected);
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (url, reason) in [("nowhere", "relative URL"), ("ftp://a", "must start with http://")] {
            let said = client(url).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
            assert!(said.contains(url), "{said}");
        }
    }

    /// A server that says this, without an end if it is to say more than there is.
    fn saying(head: &'static str, body: Vec<u8>, times: usize) -> String {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let _length = stream.read(&mut [0; 4096]).unwrap();
                stream.write_all(head.as_bytes()).unwrap();
                // Who has seen enough leaves.
                (0..times).all(|_| stream.write_all(&body).is_ok());
            }
        });
        url
    }

    async fn called(url: &str) -> Result<Value, ClientError> {
        let client = client(url).unwrap();
        client.call(Method::GET, client.route(&["health"]), None).await
    }

    #[tokio::test]
    async fn an_answer_without_an_end_is_not_read_to_it() {
        let url = saying("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", vec![b' '; 1 << 20], 300);
        let said = called(&url).await.unwrap_err().to_string();
        assert!(said.contains("larger than 256 MiB"), "{said}");
        assert!(said.contains(&url), "{said}");
        let url = saying("HTTP/1.1 500 X\r\nConnection: close\r\n\r\n", vec![b'x'; 1 << 16], usize::MAX);
        let said = called(&url).await.unwrap_err().to_string();
        assert!(said.len() < 1100, "{said}");
        assert!(said.ends_with('…'), "{said}");
    }

    #[tokio::test]
    async fn what_is_no_server_of_this_kind_is_said() {
        let url = saying("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"<html>".to_vec(), 1);
        let said = called(&url).await.unwrap_err().to_string();
        assert!(said.contains("check the address of --url"), "{said}");
        let url = saying("HTTP/1.1 204 X\r\nConnection: close\r\n\r\n", Vec::new(), 1);
        assert_eq!(called(&url).await.unwrap(), Value::Null);
    }

    #[tokio::test]
    async fn a_key_goes_to_no_other_server() {
        let head = "HTTP/1.1 307 X\r\nLocation: http://127.0.0.2:9/health\r\nConnection: close\r\n\r\n";
        let body = br#"{"message": "No.", "code": "replica_takes_no_writes"}"#;
        let refused = called(&saying(head, body.to_vec(), 1)).await.unwrap_err();
        assert_eq!(refused.code(), Some("replica_takes_no_writes"));
        let said = refused.to_string();
        assert!(said.contains("go to http://127.0.0.2:9: give that address with --url"), "{said}");
        let circle = "HTTP/1.1 307 X\r\nLocation: /health\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let said = called(&saying(circle, Vec::new(), 1)).await.unwrap_err().to_string();
        assert!(said.contains("307"), "{said}");
    }

    #[tokio::test]
    async fn a_server_without_tls_is_not_to_be_started_again() {
        let url = saying("HTTP/1.1 400 X\r\nConnection: close\r\n\r\n", Vec::new(), 1).replace("http:", "https:");
        let said = called(&url).await.unwrap_err().to_string();
        assert!(said.contains("http://"), "{said}");
        assert!(!said.contains("lamina serve"), "{said}");
        // No one listens on what was free a moment ago.
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let said = called(&format!("http://{free}")).await.unwrap_err().to_string();
        assert!(said.contains("Start a server with `lamina serve`"), "{said}");
    }

    #[test]
    fn errors_say_what_to_do() {
        let refused = |code: &str| {
            ClientError::Refused { status: 401, code: code.to_owned(), message: "No.".to_owned() }.to_string()
        };
        assert!(refused("missing_authorization_header").contains("--api-key"));
        assert_eq!(refused("index_not_found"), "the server refused: 401 No.");
    }
}
