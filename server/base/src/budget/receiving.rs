//! The memory of documents that are being received.

use std::sync::Arc;

use lamina_engine::document::PayloadMemory;
use tokio::runtime::Handle;

use super::pool::{Lease, Pool};

/// Buffers on the way from the connection to the disk, in bytes: of the connection, ahead of the parser, of the parser, and
/// of the file. A document that is longer than one of them needs more.
const BUFFERS_BYTES: usize = 3 << 19;

/// Computes the memory limit for receiving a payload whose longest document has `document_bytes_max` bytes. It
/// covers the document as received and as written, each with a block of the bytes that follow.
pub(super) fn receiving_bytes(document_bytes_max: usize) -> usize {
    document_bytes_max.saturating_mul(2).saturating_add(2 * BUFFERS_BYTES)
}

/// Counts what the reception of one payload takes, and gives it back when dropped.
#[derive(Debug)]
pub struct ReceivingMemory {
    lease: Lease,
    document_bytes_max: usize,
    /// Runtime on which a thread may wait for others to give back memory.
    runtime: Option<Handle>,
}

impl ReceivingMemory {
    pub(super) fn of(pool: &Arc<Pool>, document_bytes_max: usize) -> ReceivingMemory {
        ReceivingMemory { lease: pool.lease(), document_bytes_max, runtime: None }
    }

    /// Takes the memory of the buffers, for a payload that is read on a thread of its own. Waits for others. Answers whether
    /// there was enough.
    pub async fn take_buffers(&mut self) -> bool {
        self.runtime = Some(Handle::current());
        self.lease.grow_patiently(BUFFERS_BYTES).await
    }
}

impl PayloadMemory for ReceivingMemory {
    fn document_bytes_max(&self) -> usize {
        self.document_bytes_max
    }

    fn grow(&mut self, bytes: usize) -> bool {
        let bytes = bytes.saturating_add(BUFFERS_BYTES);
        match &self.runtime {
            Some(runtime) => runtime.block_on(self.lease.grow_patiently(bytes)),
            None => self.lease.grow(bytes),
        }
    }
}
