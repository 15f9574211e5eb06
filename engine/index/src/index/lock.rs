//! One process per index folder.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;

use super::error::IndexError;

const LOCK_FILE_NAME: &str = "lock";

/// Holds an exclusive advisory lock until dropped; the operating system frees it when the process dies, so a file
/// left behind by a crash locks no process out.
#[derive(Debug)]
pub(super) struct IndexLock {
    _file: File,
}

impl IndexLock {
    /// # Errors
    /// [`IndexError::Locked`] when another process (or another [`Index`](super::Index) of this one) holds the folder.
    pub(super) fn acquire(folder: &Path) -> Result<IndexLock, IndexError> {
        let path = folder.join(LOCK_FILE_NAME);
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(IndexLock { _file: file }),
            Err(TryLockError::WouldBlock) => Err(IndexError::Locked { folder: folder.to_owned() }),
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_holder_is_refused_until_the_first_lets_go() {
        let folder = tempfile::tempdir().expect("temporary folder");
        let first = IndexLock::acquire(folder.path()).expect("free folder");
        assert!(matches!(IndexLock::acquire(folder.path()), Err(IndexError::Locked { .. })));
        drop(first);
        IndexLock::acquire(folder.path()).expect("free again");
    }
}
