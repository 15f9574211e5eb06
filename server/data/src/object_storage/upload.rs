//! One object on its way into a store, in parts.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use lamina_base::cancellation::unless_cancelled;
use lamina_base::outbound::Outbound;
use tokio::task::JoinHandle;

use super::parts::Parts;
use super::{Part, StorageError};

/// Maximum number of parts of an object, by the most restrictive protocol.
const PARTS_MAX: u64 = 10_000;

/// For the request that ends an upload: the server may be about to stop.
const ABORT_TIME: Duration = Duration::from_secs(5);

/// Division of an object into parts.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    /// Approximate size of the object.
    pub bytes: u64,
    /// Size of a part; the last part is shorter.
    pub part_bytes: u64,
    /// Parts that are under way at the same time, where the store takes them so.
    pub parallel: usize,
}

/// Takes the bytes of an object and sends them part by part, some of them at the same time. An upload that is dropped
/// before [`Upload::finish`] leaves nothing behind.
pub struct Upload<'a> {
    outbound: Outbound,
    parts: Parts,
    cancelled: &'a AtomicBool,
    part: Vec<u8>,
    part_bytes: usize,
    parallel: usize,
    under_way: VecDeque<JoinHandle<Result<(), StorageError>>>,
    sent_count: u64,
    sent_bytes: u64,
    is_finished: bool,
}

impl Upload<'_> {
    /// Begins an upload. Blocks; not for threads of the runtime.
    ///
    /// # Errors
    /// What the store says, or [`StorageError::Cancelled`].
    pub(super) fn begin<'a>(
        outbound: &Outbound,
        begun: impl Future<Output = Result<Parts, StorageError>>,
        cut: Cut,
        cancelled: &'a AtomicBool,
    ) -> Result<Upload<'a>, StorageError> {
        let parts = wait_for(outbound, cancelled, begun)??;
        // Some room, because an archive is a little larger than its files.
        let least = (cut.bytes + cut.bytes / 8) / PARTS_MAX + 1;
        let (part_bytes, parallel) = parts.fit(cut.part_bytes.max(least), cut.parallel);
        Ok(Upload {
            outbound: outbound.clone(),
            parts,
            cancelled,
            part: Vec::new(),
            part_bytes: usize::try_from(part_bytes).unwrap_or(usize::MAX),
            parallel,
            under_way: VecDeque::new(),
            sent_count: 0,
            sent_bytes: 0,
            is_finished: false,
        })
    }

    /// Sends what is left and makes the object visible under its key.
    ///
    /// # Errors
    /// The first part that failed; there is no object then.
    pub fn finish(mut self) -> Result<(), StorageError> {
        if !self.part.is_empty() || self.sent_count == 0 || self.parts.needs_a_last() {
            self.send(true)?;
        }
        while !self.under_way.is_empty() {
            self.answer()?;
        }
        wait_for(&self.outbound, self.cancelled, self.parts.join())??;
        self.is_finished = true;
        Ok(())
    }

    fn send(&mut self, is_last: bool) -> Result<(), StorageError> {
        if self.under_way.len() >= self.parallel {
            self.answer()?;
        }
        self.sent_count += 1;
        let bytes = Bytes::from(std::mem::take(&mut self.part));
        let part = Part { start: self.sent_bytes, bytes, is_last };
        self.sent_bytes += part.bytes.len() as u64;
        let sent = self.parts.send(part);
        self.under_way.push_back(self.outbound.runtime().spawn(sent));
        Ok(())
    }

    /// Waits for the oldest part.
    fn answer(&mut self) -> Result<(), StorageError> {
        let Some(sent) = self.under_way.front_mut() else { return Ok(()) };
        let sent = wait_for(&self.outbound, self.cancelled, sent)?;
        self.under_way.pop_front();
        sent.map_err(|error| StorageError::Failed(format!("a part was lost: {error}")))?
    }
}

impl Write for Upload<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.part_bytes - self.part.len();
        let taken = &bytes[..bytes.len().min(room)];
        self.part.extend_from_slice(taken);
        if self.part.len() == self.part_bytes {
            self.send(false).map_err(io::Error::other)?;
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
        let aborted = async { tokio::time::timeout(ABORT_TIME, self.parts.abort()).await };
        if !matches!(self.outbound.runtime().block_on(aborted), Ok(true)) {
            tracing::warn!("the parts of an unfinished snapshot may still be in the object store");
        }
    }
}

/// Blocks until `answer` is there.
///
/// # Errors
/// [`StorageError::Cancelled`]
fn wait_for<T>(
    outbound: &Outbound,
    cancelled: &AtomicBool,
    answer: impl Future<Output = T>,
) -> Result<T, StorageError> {
    outbound.runtime().block_on(unless_cancelled(cancelled, answer)).ok_or(StorageError::Cancelled)
}
