//! Small requests for single objects: create, read, list, remove.

use std::ops::Range;

use bytes::Bytes;
use reqwest::{Method, StatusCode};

use super::{Ask, Bucket, LISTING_BYTES_MAX, StorageError, found, said, unescaped};

/// Keys that one listing answers with at most.
const LISTED_MAX: &str = "1000";

impl Bucket {
    /// Creates an object, if there is none of this key. Whether there was none; after a failure it may be there.
    ///
    /// # Errors
    /// What the store says.
    pub async fn create(&self, key: &str, body: Bytes) -> Result<bool, StorageError> {
        let ask = Ask { headers: vec![("if-none-match", "*".to_owned())], body, ..Ask::new(Method::PUT, key) };
        match self.ask_for(ask).await {
            Ok(_) => Ok(true),
            Err(StorageError::Refused { status: StatusCode::PRECONDITION_FAILED | StatusCode::CONFLICT, .. }) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// Creates an object, or takes the place of the one there is.
    ///
    /// # Errors
    /// What the store says.
    pub async fn put(&self, key: &str, body: Bytes) -> Result<(), StorageError> {
        self.ask(Method::PUT, key, &[], body).await.map(drop)
    }

    /// An object of at most `bytes_max` bytes, or a range of one; `None` if there is no such object.
    ///
    /// # Errors
    /// What the store says.
    pub async fn read(
        &self,
        key: &str,
        range: Option<Range<u64>>,
        bytes_max: usize,
    ) -> Result<Option<Bytes>, StorageError> {
        let range = range.map(|range| ("range", format!("bytes={}-{}", range.start, range.end.saturating_sub(1))));
        let headers = range.into_iter().collect();
        let ask = Ask { headers, answer_bytes_max: bytes_max, ..Ask::new(Method::GET, key) };
        found(self.ask_for(ask).await).map(|reply| reply.map(|reply| reply.body))
    }

    /// Reports whether there is an object of this key.
    ///
    /// # Errors
    /// Fails with the error of the store.
    pub async fn has(&self, key: &str) -> Result<bool, StorageError> {
        Ok(found(self.ask_for(Ask::new(Method::HEAD, key)).await)?.is_some())
    }

    /// The first keys that begin with `prefix` and come after `after`, ascending in byte order.
    ///
    /// # Errors
    /// What the store says.
    pub async fn list(&self, prefix: &str, after: &str) -> Result<Vec<String>, StorageError> {
        let query = [("list-type", "2"), ("max-keys", LISTED_MAX), ("prefix", prefix), ("start-after", after)];
        let ask = Ask { query: &query, answer_bytes_max: LISTING_BYTES_MAX, ..Ask::new(Method::GET, "") };
        let reply = self.ask_for(ask).await?;
        let text = String::from_utf8_lossy(&reply.body);
        if !text.contains("<ListBucketResult") {
            return Err(StorageError::Failed(format!("it answered a listing with something else: {}", said(&reply))));
        }
        let keys = text.split("<Key>").skip(1).filter_map(|rest| Some(unescaped(rest.split_once("</Key>")?.0)));
        Ok(keys.collect())
    }

    /// Removes an object; one that is not there is as good.
    ///
    /// # Errors
    /// What the store says.
    pub async fn remove(&self, key: &str) -> Result<(), StorageError> {
        found(self.ask_for(Ask::new(Method::DELETE, key)).await).map(drop)
    }
}
