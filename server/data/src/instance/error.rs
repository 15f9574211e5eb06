//! Why a database folder cannot be used.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::tasks::StoreError;

/// Reasons why a database folder cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// Two servers would destroy each other's work.
    #[error("the database at {folder:?} is in use by another process")]
    InUse {
        /// Folder that `--db-path` names.
        folder: PathBuf,
    },
    /// Written by an older version.
    #[error(
        "the database at {folder:?} was written by version {found}, this is version {ours}: start that version, or \
         `lamina serve` of this one without `--no-upgrade`, which upgrades the database"
    )]
    Older {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// Version in the folder.
        found: String,
        /// Version of this program.
        ours: &'static str,
    },
    /// Written by a newer version.
    #[error(
        "the database at {folder:?} was written by version {found}, this is version {ours}, which is older: start \
         version {found}"
    )]
    Newer {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// Version in the folder.
        found: String,
        /// Version of this program.
        ours: &'static str,
    },
    /// Written by a program with a newer format.
    #[error(
        "the database at {folder:?} has files of format {format} (version {found}); this program reads formats up to \
         {ours}: start version {found}, or a newer one"
    )]
    NewerFormat {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// Version in the folder.
        found: String,
        /// Format in the folder.
        format: u32,
        /// The newest format of this program.
        ours: u32,
    },
    /// The queue does not belong to the indexes: it is of an earlier moment.
    #[error(
        "the index `{index}` has applied batch {applied}, but the task queue knows none from {known} on: tasks.sqlite in \
         {folder:?} is an older copy, or its log is missing. Put back tasks.sqlite and tasks.sqlite-wal of the same moment. \
         To go on without what is in it (tasks that wait, the history of tasks, API keys, webhooks), move tasks.sqlite, \
         tasks.sqlite-wal and tasks.sqlite-shm out of the folder: the indexes keep their names, documents and settings. \
         `lamina verify` says what else is damaged"
    )]
    OlderQueue {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// One that is ahead of the queue.
        index: String,
        /// The last batch that it has applied.
        applied: u64,
        /// The first batch that the queue has not given.
        known: u64,
    },
    /// The queue is lost, and folders of indexes do not say which indexes they are.
    #[error(
        "the task queue of {folder:?} is empty, but there are indexes, and some do not hold their names: {}. Put \
         back tasks.sqlite and tasks.sqlite-wal, which hold the names. To continue without these indexes, move their \
         folders out of the database: the names of the others are recovered. `lamina verify` reports other damage",
        reasons.join("; ")
    )]
    Unnamed {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// Folder and reason.
        reasons: Vec<String>,
    },
    /// A database of another server of the protocol.
    #[error(
        "{folder:?} is a database of Meilisearch, which this server cannot read: nothing in it was changed. To \
         migrate, start Meilisearch, make a dump (`POST /dumps`), and start this server with `--import-dump <FILE> \
         --db-path <another, empty folder>`"
    )]
    OfAnotherServer {
        /// Folder that `--db-path` names.
        folder: PathBuf,
    },
    /// Something else than a database.
    #[error(
        "{folder:?} is not empty and not a database of this server (it contains {found:?}): nothing in it was \
         changed. Choose an empty or new folder with `--db-path` (`SVC_DB_PATH`)"
    )]
    NotOurs {
        /// Folder that `--db-path` names.
        folder: PathBuf,
        /// Something in it.
        found: String,
    },
    /// Links lead out of the database, where nothing of it is read, written or deleted.
    #[error(
        "{path:?} is not a plain file or folder: a database may not contain links. Move the whole folder elsewhere \
         and set `--db-path`, which may be a link itself"
    )]
    NotPlain {
        /// The link.
        path: PathBuf,
    },
    /// The file system says no.
    #[error("{path:?}: {source}")]
    Io {
        /// Path that was read or written.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// The task store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> InstanceError + '_ {
    move |source| InstanceError::Io { path: path.to_owned(), source }
}
