//! What was asked of a store.

use std::sync::atomic::{AtomicU64, Ordering};

use super::ObjectError;

/// Type of a request to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// An object is created.
    Create,
    /// One is replaced.
    Put,
    /// One is read, or a piece of it.
    Read,
    /// Keys are listed.
    List,
    /// An object is removed.
    Remove,
}

impl Call {
    /// All of them.
    pub const ALL: [Call; 5] = [Call::Create, Call::Put, Call::Read, Call::List, Call::Remove];

    /// In metrics.
    pub fn name(self) -> &'static str {
        match self {
            Call::Create => "create",
            Call::Put => "put",
            Call::Read => "read",
            Call::List => "list",
            Call::Remove => "remove",
        }
    }
}

/// Counts since the start. Shared by reference.
#[derive(Debug, Default)]
pub struct Traffic {
    calls: [AtomicU64; Call::ALL.len()],
    failures: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    /// Calls of one kind.
    pub fn calls(&self, call: Call) -> u64 {
        self.calls[call as usize].load(Ordering::Relaxed)
    }

    /// Calls that failed: neither that an object is there nor that it is not is a failure, nor is a file that is not sent.
    pub fn failures(&self) -> u64 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Bytes of objects that were sent, and that were received.
    pub fn bytes(&self) -> (u64, u64) {
        (self.sent.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// Counts a call that sent and received so many bytes.
    pub(super) fn note<T>(&self, call: Call, bytes: (u64, u64), result: &Result<T, ObjectError>) {
        self.calls[call as usize].fetch_add(1, Ordering::Relaxed);
        match result {
            Ok(_) => {
                self.sent.fetch_add(bytes.0, Ordering::Relaxed);
                self.received.fetch_add(bytes.1, Ordering::Relaxed);
            }
            Err(ObjectError::Exists(_) | ObjectError::Missing(_) | ObjectError::DamagedFile { .. }) => {}
            Err(_) => drop(self.failures.fetch_add(1, Ordering::Relaxed)),
        }
    }
}
