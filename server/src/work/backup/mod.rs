//! Copies of a whole database, and starting from one.
//!
//! A *snapshot* is the database folder as it was at one moment: quick to make and to start from, for the same version. A
//! *dump* is an archive of documents, settings and tasks as JSON: slow, small, and readable by other versions and
//! programs. Both are made by tasks, on the thread of the scheduler, so no batch is half done in them.

mod attached;
mod copy;
mod dump;
mod import;
mod remote;
mod snapshot;

use std::io;
use std::path::{Path, PathBuf};

use lamina_base::error::{ApiError, Code};
use lamina_base::options::{EventsInBackups, Options};
use lamina_base::outbound::Outbound;
use lamina_data::tasks::StoreError;
use thiserror::Error;

pub(crate) use attached::{Attached, fetch as fetch_attached};
pub(crate) use dump::{CreatedDump, create as create_dump};
pub(crate) use import::import;
pub use import::{ImportError, restore};
pub(crate) use remote::RemoteSnapshots;
pub(crate) use snapshot::create as create_snapshot;

/// Places for copies of the database.
#[derive(Clone, Debug)]
pub(crate) struct BackupPlaces {
    /// Folder of the snapshots.
    pub snapshots: PathBuf,
    /// Snapshots that are kept; older ones are removed.
    pub snapshots_kept: usize,
    /// Folder of the dumps.
    pub dumps: PathBuf,
    /// Copies that contain events.
    pub events: EventsInBackups,
    /// First part of the names of snapshots.
    pub database_name: String,
    /// Source of indexes that `lamina build` has made.
    pub(crate) attached: Attached,
    /// Store for snapshots, instead of their folder.
    pub(crate) remote: Option<RemoteSnapshots>,
}

impl BackupPlaces {
    /// Creates the places that the options define.
    ///
    /// # Errors
    /// Fails for an invalid object store.
    pub(crate) fn new(options: &Options, outbound: &Outbound) -> Result<BackupPlaces, BackupError> {
        let database_name = database_name(&options.service.db_path);
        Ok(BackupPlaces {
            remote: RemoteSnapshots::of(options, outbound, &database_name)?,
            snapshots: options.backups.snapshot_dir.clone(),
            snapshots_kept: options.backups.snapshots_kept.get(),
            dumps: options.backups.dump_dir.clone(),
            events: options.backups.events_in_backups,
            attached: Attached::of(options, outbound)?,
            database_name,
        })
    }
}

/// The last part of the database's path.
fn database_name(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.file_name().map_or_else(|| "lamina".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// Reason why a copy was not made.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The task was canceled, or the server stops.
    #[error("given up")]
    Cancelled,
    /// The file system says no.
    #[error("{path:?}: {source}")]
    Io {
        /// Path that was read or written.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The task store cannot be copied.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// An index cannot be read.
    #[error("index `{uid}`: {source}")]
    Index {
        /// The index.
        uid: String,
        /// The error of the engine.
        source: Box<lamina_engine::index::IndexError>,
    },
    /// An index cannot be opened, or an object store does not take what it is sent.
    #[error("{}", .0.message)]
    Api(ApiError),
}

impl BackupError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> BackupError + '_ {
        move |source| BackupError::Io { path: path.to_owned(), source }
    }
}

impl From<BackupError> for ApiError {
    fn from(error: BackupError) -> ApiError {
        match error {
            BackupError::Io { path, source } => {
                // The code distinguishes a full disk from the rest; the path names the disk.
                let shown = format!("{}: ", path.display());
                ApiError::from(source).prefixed(shown)
            }
            BackupError::Store(error) => error.into(),
            BackupError::Api(error) => error,
            BackupError::Index { uid, source } => ApiError::from(*source).prefixed(format_args!("Index `{uid}`: ")),
            other => ApiError::new(Code::Internal, other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_database_is_named_by_its_folder() {
        assert_eq!(database_name(Path::new("./data.lamina")), "data.lamina");
        assert_eq!(database_name(Path::new("/a/b/")), "b");
        assert_eq!(database_name(Path::new("/")), "lamina");
    }
}
