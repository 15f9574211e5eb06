//! What comes of bringing the indexes of a root, and why something does not come.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use lamina_base::error::ApiError;
use lamina_base::stored_names::FolderName;
use lamina_data::tasks::StoreError;
use lamina_engine::index::IndexError;
use thiserror::Error;

use super::replica_state::Local;
use super::store::ObjectError;

/// Disk space that fetched files must leave free for the queue and for other state.
const LEFT_FREE_BYTES: u64 = 8 << 20;

/// Reason why a root cannot be followed.
#[derive(Debug, Error)]
pub(super) enum FollowError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Api(String),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    /// The disk of this server takes no more.
    #[error("no room on the disk of this replica: {0}. It answers from what it has, and goes on when there is room")]
    NoRoom(String),
}

impl FollowError {
    /// Reports whether a file on this machine lacked disk space.
    pub(super) fn is_full_disk(&self) -> bool {
        use std::io::ErrorKind;
        let (FollowError::Io { source, .. } | FollowError::Object(ObjectError::Io { source, .. })) = self else {
            return false;
        };
        matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge)
    }
}

impl From<ApiError> for FollowError {
    fn from(error: ApiError) -> FollowError {
        FollowError::Api(error.message)
    }
}

pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FollowError + '_ {
    move |source| FollowError::Io { path: path.to_owned(), source }
}

/// Result of fetching the indexes of a root.
#[derive(Debug, Default)]
pub(super) struct FetchedIndexes {
    /// In their new states; those that cannot be brought in the states that are here.
    pub(super) indexes: Vec<Local>,
    /// Indexes that a former writer has of its own, and that are shown until the published ones are here: names and folders.
    pub(super) own: Vec<(String, FolderName)>,
    /// Names of which there is no state here.
    pub(super) missing: BTreeSet<String>,
    /// Reason why the first failed index could not be fetched.
    pub(super) failure: Option<FollowError>,
}

/// Checks whether a disk with `free` bytes has room for files of `needed` bytes.
///
/// # Errors
/// [`FollowError::NoRoom`]
pub(super) fn has_room(needed: u64, free: u64) -> Result<(), FollowError> {
    match free.checked_sub(LEFT_FREE_BYTES) {
        Some(usable) if usable >= needed => Ok(()),
        // The same text for as long as it is the same: the log has it once.
        _ => Err(FollowError::NoRoom(format!(
            "{needed} bytes are to be fetched, for which {} bytes must be free",
            needed.saturating_add(LEFT_FREE_BYTES)
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_keeps_some_room() {
        has_room(5, LEFT_FREE_BYTES + 5).unwrap();
        for free in [0, LEFT_FREE_BYTES - 1, LEFT_FREE_BYTES + 4] {
            let said = has_room(5, free).unwrap_err().to_string();
            assert!(said.contains("5 bytes are to be fetched, for which 8388613 bytes must be free"), "{said}");
        }
    }
}
