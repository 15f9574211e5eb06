//! Objects in stores: those that speak the protocol of S3, Google's, and Azure's.
//!
//! Few requests of its protocol are needed. For large objects: an upload is begun, its parts are sent, and it is completed or
//! aborted; and a fifth where the keys for them have to be fetched first. They are made here rather than by a client of
//! the store, which would bring a second HTTP client along, one that goes around the guard of [`Outbound`].

mod account;
mod any;
mod ask;
mod azure;
mod google;
mod google_account;
mod objects;
mod parts;
mod signature;
mod upload;

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use lamina_base::error::{ApiError, Code};
use lamina_base::options::ObjectStorageOptions;
use lamina_base::outbound::{Outbound, OutboundError, Reply, parse_url};
use lamina_base::secret::shown_url;
use reqwest::{Method, RequestBuilder, StatusCode};
use thiserror::Error;
use time::OffsetDateTime;
use tokio::sync::Mutex;

use account::{Account, Role};
use ask::{Ask, Part};
use signature::{Credentials, Unsigned, content_hash, encoded_path, encoded_query};

pub use any::AnyBucket;
pub use upload::Cut;
pub(crate) use upload::Upload;

const ATTEMPTS: u32 = 5;
/// Before the second attempt; twice as long before each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// For one attempt to send a part.
const PART_TIME: Duration = Duration::from_secs(600);
/// For one attempt at a request without a large body.
const REQUEST_TIME: Duration = Duration::from_secs(60);
/// Maximum size of a listing, whose keys are as long as the store allows.
const LISTING_BYTES_MAX: usize = 4 << 20;

/// Reason why an object is not in the store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The options cannot work.
    #[error("invalid S3 snapshot parameters: {0}")]
    Parameters(String),
    /// The options of a store of another kind cannot work; names them.
    #[error("{0}")]
    Options(String),
    /// The store refuses.
    #[error("the object store refused ({status}): {text}")]
    Refused {
        /// Status of the response.
        status: StatusCode,
        /// Text of the response.
        text: String,
    },
    /// The store does not work.
    #[error("the object store failed: {0}")]
    Failed(String),
    /// The batch was canceled.
    #[error("given up")]
    Cancelled,
    /// Content to store that cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<OutboundError> for StorageError {
    fn from(error: OutboundError) -> StorageError {
        match error {
            OutboundError::Rejected(_) | OutboundError::NoCaCertificates(_) | OutboundError::Url { .. } => {
                StorageError::Parameters(error.to_string())
            }
            other => StorageError::Failed(other.to_string()),
        }
    }
}

impl From<StorageError> for ApiError {
    fn from(error: StorageError) -> ApiError {
        let code = match error {
            StorageError::Parameters(_) | StorageError::Options(_) => Code::InvalidS3SnapshotParameters,
            StorageError::Refused { .. } => Code::InvalidS3SnapshotRequest,
            StorageError::Failed(_) => Code::S3SnapshotServerError,
            StorageError::Cancelled => Code::Internal,
            StorageError::Io(error) => return error.into(),
        };
        ApiError::new(code, error.to_string())
    }
}

/// A bucket of a store. Cheap to clone.
#[derive(Clone)]
pub struct Bucket {
    outbound: Outbound,
    /// Scheme, host and port.
    origin: String,
    /// Host as in the `Host` header.
    host: String,
    /// Between the host and the key.
    folder: String,
    account: Account,
}

impl std::fmt::Debug for Bucket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The credentials are secrets.
        f.debug_struct("Bucket").field("origin", &self.origin).field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Bucket {
    /// The one that the options name; `None` when they name none.
    ///
    /// # Errors
    /// [`StorageError::Parameters`]
    pub fn of(options: &ObjectStorageOptions, outbound: &Outbound) -> Result<Option<Bucket>, StorageError> {
        let Some(url) = &options.s3_bucket_url else { return Ok(None) };
        let parsed =
            parse_url(url).map_err(|reason| StorageError::Parameters(format!("`{}`: {reason}", shown_url(url))))?;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let origin = parsed.origin().ascii_serialization();
        let host = origin.split("://").nth(1).unwrap_or_default().to_owned();
        let folder = format!("{}/{}", parsed.path().trim_end_matches('/'), text(&options.s3_bucket_name));
        let region = text(&options.s3_bucket_region);
        let account = match (&options.experimental_s3_role_arn, &options.experimental_s3_web_identity_token_file) {
            (Some(arn), Some(token_file)) => {
                let given = options.s3_sts_url.clone();
                let url = given.unwrap_or_else(|| format!("https://sts.{region}.amazonaws.com/"));
                parse_url(&url)
                    .map_err(|reason| StorageError::Parameters(format!("`{}`: {reason}", shown_url(&url))))?;
                let (arn, token_file) = (arn.clone(), token_file.clone());
                Account::Role(Arc::new(Role { arn, token_file, url, region, current: Mutex::new(None) }))
            }
            _ => Account::Fixed(Arc::new(Credentials {
                access_key: text(&options.s3_access_key),
                secret_key: text(&options.s3_secret_key),
                session_token: options.s3_session_token.clone(),
                region,
            })),
        };
        Ok(Some(Bucket { outbound: outbound.clone(), origin, host, folder, account }))
    }

    /// One request, again and again where that may help. The reply says yes.
    async fn ask(&self, method: Method, key: &str, query: &[(&str, &str)], body: Bytes) -> Result<Reply, StorageError> {
        self.ask_for(Ask { query, body, ..Ask::new(method, key) }).await
    }

    /// Sends a request like [`Bucket::ask`], with further parts of a request.
    async fn ask_for(&self, ask: Ask<'_>) -> Result<Reply, StorageError> {
        let mut attempts = Attempts::default();
        loop {
            let credentials = self.account.credentials(&self.outbound).await?;
            let request = self.signed(&credentials, &ask)?;
            if let Some(reply) = attempts.judge(self.outbound.send(request, ask.answer_bytes_max).await).await? {
                return Ok(reply);
            }
        }
    }

    /// The protocol asks for the signature of `host` and of what begins with `x-amz-`, so other headers are not signed.
    fn signed(&self, credentials: &Credentials, ask: &Ask<'_>) -> Result<RequestBuilder, OutboundError> {
        let path = format!("{}/{}", self.folder, ask.target);
        let hash = content_hash(&ask.body);
        let (method, query) = (ask.method.as_str(), ask.query);
        let unsigned = Unsigned { method, host: &self.host, path: &path, query, content_hash: &hash };
        let signed = credentials.sign(&unsigned, OffsetDateTime::now_utc());
        let url = format!("{}{}?{}", self.origin, encoded_path(&path), encoded_query(query));
        let request = ask
            .fill(self.outbound.request(ask.method.clone(), &url)?)
            .header("authorization", signed.authorization)
            .header("x-amz-date", signed.date)
            .header("x-amz-content-sha256", hash);
        Ok(match &credentials.session_token {
            Some(token) => request.header(signature::TOKEN_HEADER, token),
            None => request,
        })
    }
}

/// Number of failed attempts to send a request.
struct Attempts {
    done: u32,
    pause: Duration,
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts { done: 0, pause: FIRST_PAUSE }
    }
}

impl Attempts {
    /// The reply, if it says yes. Nothing, after a pause, when the request is to be sent again.
    async fn judge(&mut self, sent: Result<Reply, OutboundError>) -> Result<Option<Reply>, StorageError> {
        let failure = match sent {
            Ok(reply) if reply.status.is_success() => return Ok(Some(reply)),
            Ok(reply) if reply.status.is_server_error() || reply.status == StatusCode::TOO_MANY_REQUESTS => {
                StorageError::Failed(format!("{}: {}", reply.status, said(&reply)))
            }
            Ok(reply) => return Err(StorageError::Refused { status: reply.status, text: said(&reply) }),
            Err(error) if error.is_transient() => error.into(),
            Err(error) => return Err(error.into()),
        };
        self.done += 1;
        if self.done == ATTEMPTS {
            return Err(failure);
        }
        tracing::warn!(%failure, attempt = self.done, "the object store failed");
        tokio::time::sleep(self.pause).await;
        self.pause *= 2;
        Ok(None)
    }
}

/// Returns the error text of the store: the message in its XML, or all of it.
fn said(reply: &Reply) -> String {
    let text = String::from_utf8_lossy(&reply.body);
    let parts: Vec<&str> = ["Code", "Message"].iter().filter_map(|name| element(&text, name)).collect();
    let shown = if parts.is_empty() { text.trim().to_owned() } else { parts.join(": ") };
    shown.chars().take(300).collect()
}

/// The text of the first element of this name. The answers of stores are flat.
fn element<'a>(xml: &'a str, name: &str) -> Option<&'a str> {
    let after = xml.split_once(&format!("<{name}>"))?.1;
    Some(after.split_once(&format!("</{name}>"))?.0)
}

/// `None` where there is no such object.
fn found<T>(answer: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
    match answer {
        Ok(reply) => Ok(Some(reply)),
        Err(StorageError::Refused { status: StatusCode::NOT_FOUND, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_found() {
        let xml = "<?xml version=\"1.0\"?><Result><Bucket>b</Bucket><UploadId>a/b==</UploadId></Result>";
        assert_eq!(element(xml, "UploadId"), Some("a/b=="));
        assert_eq!(element(xml, "Key"), None);
        assert_eq!(element("<Key>", "Key"), None);
    }

    #[test]
    fn what_stores_say_is_shortened() {
        let reply = |body: &str| Reply {
            status: StatusCode::FORBIDDEN,
            headers: Default::default(),
            body: Bytes::copy_from_slice(body.as_bytes()),
        };
        let denied = reply("<Error><Code>AccessDenied</Code><Message>No.</Message></Error>");
        assert_eq!(said(&denied), "AccessDenied: No.");
        assert_eq!(said(&reply(&"x".repeat(1000))).len(), 300);
    }
}
