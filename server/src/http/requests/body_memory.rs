//! The memory that bodies of requests take, which are read whole.

use std::io::Read;
use std::ops::Deref;

use bytes::Bytes;
use lamina_base::budget::{Lease, VALUE_BYTES, all_taken, json_heap_bytes, request_too_large};
use lamina_base::error::ApiResult;
use lamina_protocol::wire::body::parse_json;
use serde_json::Value;

use crate::app::AppState;
use crate::http::incomplete_body;

/// Memory up to which a body is not counted. Most requests need no more.
const UNCOUNTED_BYTES: usize = 64 << 10;
/// Decoded at a time.
const PIECE_BYTES: usize = 64 << 10;

/// Counts what a body takes, and gives it back when dropped.
#[derive(Debug)]
pub(super) struct BodyMemory {
    lease: Lease,
    one_max: usize,
}

impl BodyMemory {
    pub(super) fn new(state: &AppState) -> BodyMemory {
        let pool = state.budgets.requests();
        BodyMemory { lease: pool.lease(), one_max: pool.one_max() }
    }

    /// Returns the memory limit of one request.
    pub(super) fn one_max(&self) -> usize {
        self.one_max
    }

    /// Counts `len` bytes that were received so far. Waits for others.
    ///
    /// # Errors
    /// When that is too much.
    pub(super) async fn receive(&mut self, len: usize) -> ApiResult<()> {
        // A buffer that grows holds up to twice as much.
        match self.wanted(len.next_power_of_two())? {
            Some(wanted) if !self.lease.grow_patiently(wanted).await => Err(all_taken("requests")),
            _ => Ok(()),
        }
    }

    /// Returns the size of the lease for `bytes`, if it must grow.
    fn wanted(&self, bytes: usize) -> ApiResult<Option<usize>> {
        if bytes > self.one_max.next_power_of_two() {
            return Err(request_too_large(self.one_max));
        }
        Ok((bytes > UNCOUNTED_BYTES && bytes > self.lease.bytes()).then_some(bytes.min(self.one_max)))
    }

    /// Reads all of `reader`.
    ///
    /// # Errors
    /// When that is too much, or broken.
    pub(super) fn decode(&mut self, reader: &mut impl Read) -> ApiResult<Bytes> {
        let encoded = self.lease.bytes();
        let mut decoded = Vec::new();
        loop {
            // A buffer that grows holds up to twice as much.
            let bytes = encoded + (decoded.len() + PIECE_BYTES).next_power_of_two();
            let is_there = self.wanted(bytes)?.is_none_or(|wanted| self.lease.grow(wanted));
            if !is_there {
                return Err(all_taken("requests"));
            }
            let read =
                reader.by_ref().take(PIECE_BYTES as u64).read_to_end(&mut decoded).map_err(|_| incomplete_body())?;
            if read == 0 {
                return Ok(decoded.into());
            }
        }
    }
}

/// Content read from a body, with the memory that it takes.
#[derive(Debug)]
pub(crate) struct Charged<T> {
    pub(super) value: T,
    pub(super) memory: BodyMemory,
}

impl<T> Deref for Charged<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> Charged<T> {
    /// Without its memory: where it is written down.
    pub(crate) fn take(self) -> T {
        self.value
    }
}

impl Charged<Bytes> {
    /// Parses the body as JSON. The number of values is checked before any is created.
    ///
    /// # Errors
    /// Fails for too many values, an empty body, or broken JSON.
    pub(crate) async fn parsed(self) -> ApiResult<Charged<Value>> {
        self.read(VALUE_BYTES, parse_json).await
    }

    /// Parses JSON with `read`, which takes `value_bytes` for each value.
    ///
    /// # Errors
    /// Fails for too many values, and with the errors of `read`.
    pub(crate) async fn read<T>(
        self,
        value_bytes: usize,
        read: impl FnOnce(&[u8]) -> ApiResult<T>,
    ) -> ApiResult<Charged<T>> {
        let Charged { value: body, mut memory } = self;
        let heap = json_heap_bytes(&body, value_bytes);
        if heap > memory.one_max {
            return Err(request_too_large(memory.one_max));
        }
        if heap > UNCOUNTED_BYTES && !memory.lease.grow_patiently(heap).await {
            return Err(all_taken("requests"));
        }
        Ok(Charged { value: read(&body)?, memory })
    }
}
