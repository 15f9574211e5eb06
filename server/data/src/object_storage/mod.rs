//! Objects in stores: those that speak the protocol of S3, Google's, and Azure's.
//!
//! The library `object_store` makes the requests to the first and the last, through [`guarded`]. Those to Google's store are made here:
//! the library's form of a conditional write is one that no emulator of that store has.

mod account;
mod any;
mod ask;
mod azure;
mod encoding;
mod google;
mod google_account;
mod guarded;
mod library;
mod parts;
mod s3;
mod upload;

use std::error::Error as _;
use std::io;
use std::time::Duration;

use lamina_base::backoff::{Backoff, OBJECT_STORE, may_pass};
use lamina_base::error::{ApiError, Code};
use lamina_base::outbound::{OutboundError, Reply};
use reqwest::StatusCode;
use thiserror::Error;

use ask::{Ask, Part};

pub use any::AnyBucket;
pub use upload::Cut;
pub(crate) use upload::Upload;

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

impl From<object_store::Error> for StorageError {
    fn from(error: object_store::Error) -> StorageError {
        let mut cause = error.source();
        while let Some(found) = cause {
            if let Some(own) = found.downcast_ref::<StorageError>() {
                return own.again();
            }
            cause = found.source();
        }
        StorageError::Failed(error.to_string())
    }
}

impl StorageError {
    /// The same, for what comes out of the library as a reference.
    fn again(&self) -> StorageError {
        match self {
            StorageError::Parameters(text) => StorageError::Parameters(text.clone()),
            StorageError::Options(text) => StorageError::Options(text.clone()),
            StorageError::Refused { status, text } => StorageError::Refused { status: *status, text: text.clone() },
            StorageError::Failed(text) => StorageError::Failed(text.clone()),
            StorageError::Cancelled => StorageError::Cancelled,
            StorageError::Io(error) => StorageError::Failed(error.to_string()),
        }
    }

    /// A response that says no.
    fn of(status: StatusCode, body: &str) -> StorageError {
        match may_pass(status) {
            true => StorageError::Failed(format!("{status}: {}", said(body))),
            false => StorageError::Refused { status, text: said(body) },
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

/// Number of failed attempts to send a request.
struct Attempts {
    done: u32,
    pauses: Backoff,
}

impl Default for Attempts {
    fn default() -> Attempts {
        Attempts { done: 0, pauses: OBJECT_STORE }
    }
}

impl Attempts {
    /// The reply, if it says yes. Nothing, after a pause, when the request is to be sent again.
    async fn judge(&mut self, sent: Result<Reply, OutboundError>) -> Result<Option<Reply>, StorageError> {
        let failure = match sent {
            Ok(reply) if reply.status.is_success() => return Ok(Some(reply)),
            Ok(reply) => {
                let failure = StorageError::of(reply.status, &String::from_utf8_lossy(&reply.body));
                if !may_pass(reply.status) {
                    return Err(failure);
                }
                failure
            }
            Err(error) if error.is_transient() => error.into(),
            Err(error) => return Err(error.into()),
        };
        let Some(pause) = self.pauses.next() else { return Err(failure) };
        self.done += 1;
        tracing::warn!(%failure, attempt = self.done, "the object store failed");
        tokio::time::sleep(pause).await;
        Ok(None)
    }
}

/// Returns the error text of the store: the message in its XML, or all of it.
fn said(text: &str) -> String {
    let parts: Vec<&str> = ["Code", "Message"].iter().filter_map(|name| element(text, name)).collect();
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
        assert_eq!(said("<Error><Code>AccessDenied</Code><Message>No.</Message></Error>"), "AccessDenied: No.");
        assert_eq!(said(&"x".repeat(1000)).len(), 300);
    }
}
