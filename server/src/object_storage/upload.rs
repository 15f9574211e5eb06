//! One object on its way into the store, in parts.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use reqwest::header::ETAG;
use tokio::task::JoinHandle;

use super::{Bucket, StorageError, element, said};
use crate::cancellation::unless_cancelled;

/// Of an object, by the protocol.
const PARTS_MAX: u64 = 10_000;

/// For the request that ends an upload: the server may be about to stop.
const ABORT_TIME: Duration = Duration::from_secs(5);

/// Takes the bytes of an object and sends them part by part, some of them at the same time. An upload that is dropped
/// before [`Upload::finish`] leaves nothing behind.
pub(crate) struct Upload<'a> {
    bucket: Bucket,
    cancelled: &'a AtomicBool,
    key: String,
    id: String,
    part: Vec<u8>,
    part_bytes: usize,
    parallel: usize,
    under_way: VecDeque<JoinHandle<Result<String, StorageError>>>,
    /// The tags of the parts that are there, in order.
    tags: Vec<String>,
    sent_count: u64,
    is_finished: bool,
}

impl Upload<'_> {
    /// Begins an upload of about `bytes` bytes. Blocks; not for threads of the runtime.
    ///
    /// # Errors
    /// What the store says, or [`StorageError::Cancelled`].
    pub(crate) fn begin(
        bucket: Bucket,
        key: String,
        bytes: u64,
        part_bytes: u64,
        parallel: usize,
        cancelled: &AtomicBool,
    ) -> Result<Upload<'_>, StorageError> {
        let begun = bucket.ask(Method::POST, &key, &[("uploads", "")], Bytes::new());
        let reply = wait_for(&bucket, cancelled, begun)??;
        let text = String::from_utf8_lossy(&reply.body);
        let id = element(&text, "UploadId").ok_or_else(|| {
            StorageError::Failed(format!("it started an upload without returning its id: {}", said(&reply)))
        })?;
        // Some room, because an archive is a little larger than its files.
        let least = (bytes + bytes / 8) / PARTS_MAX + 1;
        Ok(Upload {
            id: id.to_owned(),
            bucket,
            cancelled,
            key,
            part: Vec::new(),
            part_bytes: usize::try_from(part_bytes.max(least)).unwrap_or(usize::MAX),
            parallel: parallel.max(1),
            under_way: VecDeque::new(),
            tags: Vec::new(),
            sent_count: 0,
            is_finished: false,
        })
    }

    /// Sends what is left and makes the object visible under its key.
    ///
    /// # Errors
    /// The first part that failed; there is no object then.
    pub(crate) fn finish(mut self) -> Result<(), StorageError> {
        if !self.part.is_empty() || self.sent_count == 0 {
            self.send()?;
        }
        while !self.under_way.is_empty() {
            self.answer()?;
        }
        let parts = (1..).zip(&self.tags).map(|(number, tag): (u32, &String)| {
            format!("<Part><PartNumber>{number}</PartNumber><ETag>{}</ETag></Part>", escaped(tag))
        });
        let body = format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts.collect::<String>());
        let query = [("uploadId", self.id.as_str())];
        let completed = self.bucket.ask(Method::POST, &self.key, &query, body.into());
        let reply = wait_for(&self.bucket, self.cancelled, completed)??;
        // A store that begins to answer before it is done reports a failure with status 200.
        if String::from_utf8_lossy(&reply.body).contains("<Error>") {
            return Err(StorageError::Failed(said(&reply)));
        }
        self.is_finished = true;
        Ok(())
    }

    fn send(&mut self) -> Result<(), StorageError> {
        if self.under_way.len() >= self.parallel {
            self.answer()?;
        }
        self.sent_count += 1;
        let (number, part) = (self.sent_count.to_string(), Bytes::from(std::mem::take(&mut self.part)));
        let (bucket, key, id) = (self.bucket.clone(), self.key.clone(), self.id.clone());
        self.under_way.push_back(self.bucket.outbound.runtime().spawn(async move {
            let reply = bucket.ask(Method::PUT, &key, &[("partNumber", &number), ("uploadId", &id)], part).await?;
            let tag = reply.headers.get(ETAG).and_then(|tag| tag.to_str().ok());
            tag.map(str::to_owned).ok_or_else(|| StorageError::Failed("it took a part and gave no tag for it".into()))
        }));
        Ok(())
    }

    /// Waits for the oldest part.
    fn answer(&mut self) -> Result<(), StorageError> {
        let Some(sent) = self.under_way.front_mut() else { return Ok(()) };
        let sent = wait_for(&self.bucket, self.cancelled, sent)?;
        self.under_way.pop_front();
        self.tags.push(sent.map_err(|error| StorageError::Failed(format!("a part was lost: {error}")))??);
        Ok(())
    }
}

impl Write for Upload<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.part_bytes - self.part.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.part.extend_from_slice(taken);
        if self.part.len() == self.part_bytes {
            self.send().map_err(io::Error::other)?;
        }
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Upload<'_> {
    fn drop(&mut self) {
        if self.is_finished {
            return;
        }
        self.under_way.iter().for_each(JoinHandle::abort);
        let query = [("uploadId", self.id.as_str())];
        let aborted = self.bucket.ask(Method::DELETE, &self.key, &query, Bytes::new());
        let aborted = async { tokio::time::timeout(ABORT_TIME, aborted).await };
        if !matches!(self.bucket.outbound.runtime().block_on(aborted), Ok(Ok(_))) {
            tracing::warn!("the parts of an unfinished snapshot may still be in the object store");
        }
    }
}

/// Blocks until `answer` is there.
///
/// # Errors
/// [`StorageError::Cancelled`]
fn wait_for<T>(bucket: &Bucket, cancelled: &AtomicBool, answer: impl Future<Output = T>) -> Result<T, StorageError> {
    bucket.wait_for(unless_cancelled(cancelled, answer)).ok_or(StorageError::Cancelled)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}
