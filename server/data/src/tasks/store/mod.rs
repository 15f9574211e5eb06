//! The task store: tasks, batches and the names of the indexes, in one SQLite database.
//!
//! The names of the indexes live here so that what a task does to them (create, delete, swap, rename) and its being
//! finished are one transaction. The journal is a write-ahead log synced at every commit: what was acknowledged, or
//! seen by a client, stays.
//!
//! Writes go through one connection; several enqueuing requests share a transaction, and so an fsync, when they meet.
//! Reads have connections of their own and are never in the way.

mod aliases;
mod background;
mod copy;
mod counts;
mod durable;
mod enqueue;
mod finish;
mod listing;
mod log_check;
mod mark;
mod moment;
mod processes;
mod readers;
mod recovery;
mod room;
mod rows;
mod rows_check;
mod rules;
mod schedule;
mod schema;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_base::error::{ApiError, Code};
use lamina_base::stored_names::FolderName;
use lamina_protocol::wire::identifier::check_index_uid;
use parking_lot::Mutex;
use rusqlite::Connection;
use thiserror::Error;

use enqueue::Waiting;
use readers::Readers;
use room::Room;

pub use durable::Durable;
pub use finish::FinishedBatch;
pub use finish::IndexChange;
pub use finish::{FinishedTask, TaskResult};
pub(crate) use listing::Lives;
pub use listing::{Batch, Page};
pub use processes::{Attempt, Died};
pub(crate) use schedule::Backlog;
pub use schedule::Queued;
pub use transfer::{TransferredBatch, TransferredTask};

pub use aliases::{StoredAliases, read_aliases};
pub use background::Written;
pub use copy::copy_database;
pub use enqueue::uid_for;
pub use listing::{progress, stats, step_name};
pub use log_check::{LogCondition, LogReport, check_log};
pub use mark::MarkFile;
pub use mark::Marks;
pub use recovery::Check;
pub use recovery::check_database;
pub(crate) use recovery::open_to_read;
pub use rules::RuleChange;

/// Reason why an operation of the store failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// SQLite says no.
    #[error("task store: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// A stored value is not what this program writes.
    #[error("task store: {what} of task {uid} is damaged: {source}")]
    Corrupt {
        /// The column.
        what: &'static str,
        /// The task.
        uid: u32,
        /// Fault of the value.
        source: serde_json::Error,
    },
    /// An index with a name or a folder that no index has here: the file comes from somewhere else, or is damaged.
    #[error("task store: the row of the index {uid:?} is damaged: {reason}")]
    Index {
        /// Uid as stored.
        uid: String,
        /// Fault of the row.
        reason: String,
    },
    /// A task that waits, and nothing says for what.
    #[error("task store: task {0} is waiting, but its work is missing")]
    WithoutWork(u32),
    /// A request that shared its transaction with others failed with them.
    #[error(transparent)]
    Shared(Arc<StoreError>),
    /// Written by a newer program.
    #[error("task store: the file has version {found}, this program reads up to {supported}")]
    TooNew {
        /// Version of the file.
        found: u32,
        /// Newest version that can be read.
        supported: u32,
    },
    /// Store that has reached its maximum size.
    #[error(
        "Lamina cannot receive write operations because the limit of the task database has been reached. Please delete \
         tasks to continue performing write operations."
    )]
    Full,
    /// A uid was asked for that is given already, or passed over.
    #[error("Received bad task id: {wanted} should be >= to {next}.")]
    UidTaken {
        /// Requested uid.
        wanted: u32,
        /// The lowest that can be had.
        next: u32,
    },
    /// A write was refused, and what it left in the log cannot be removed for certain.
    #[error(
        "{0}. The write was refused, but the disk did not confirm that nothing of it is left. If the server stops before it does, \
         the next start may carry the write out: look at `GET /tasks` then, or at what was to change, before sending it again."
    )]
    Unsettled(Box<StoreError>),
    /// Listing that takes more memory than allowed.
    #[error(transparent)]
    Memory(ApiError),
    /// The task was not accepted where it has to be before it is stored here.
    #[error(transparent)]
    Refused(ApiError),
    /// 2^32 tasks.
    #[error("task store: all task uids are used")]
    Exhausted,
    /// SQLite could open the database, or its log, for reading only.
    #[error(
        "task store: the system refused to open it for writing. Check the permissions of the database folder, and whether the \
         limit of open files is reached (`ulimit -n`)."
    )]
    ReadOnly,
    /// A file beside the database cannot be read, written or made durable.
    #[error("task store: {0}")]
    Io(#[from] std::io::Error),
}

impl From<StoreError> for ApiError {
    fn from(error: StoreError) -> ApiError {
        let error = match error {
            StoreError::Memory(refusal) | StoreError::Refused(refusal) => return refusal,
            other => other,
        };
        let is_momentary = error.is_momentary();
        if matches!(error, StoreError::Full) {
            return ApiError::new(Code::NoSpaceLeftOnDevice, error.to_string());
        }
        if let StoreError::UidTaken { .. } = error {
            return ApiError::new(Code::BadRequest, error.to_string());
        }
        if error.is_out_of_space() {
            return ApiError::new(
                Code::NoSpaceLeftOnDevice,
                "There is no more space left on the device. Consider increasing the size of the disk/partition.",
            )
            .momentary(is_momentary);
        }
        ApiError::internal(error.to_string()).momentary(is_momentary)
    }
}

impl StoreError {
    /// Reports whether the operating system refused something that it may grant in a moment: disk space, descriptors,
    /// memory, a device.
    pub fn is_momentary(&self) -> bool {
        use rusqlite::ErrorCode;
        match self {
            StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => matches!(
                failure.code,
                ErrorCode::DiskFull
                    | ErrorCode::SystemIoFailure
                    | ErrorCode::CannotOpen
                    | ErrorCode::OutOfMemory
                    | ErrorCode::DatabaseBusy
                    | ErrorCode::DatabaseLocked
            ),
            StoreError::Io(error) => lamina_engine::index::is_momentary(error),
            StoreError::Shared(error) => error.is_momentary(),
            StoreError::Unsettled(error) => error.is_momentary(),
            StoreError::ReadOnly => true,
            _ => false,
        }
    }

    /// Reports whether the disk is full. The same call may succeed once there is space.
    pub fn is_out_of_space(&self) -> bool {
        match self {
            StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => {
                failure.code == rusqlite::ErrorCode::DiskFull
            }
            StoreError::Shared(error) => error.is_out_of_space(),
            StoreError::Io(error) => error.kind() == std::io::ErrorKind::StorageFull,
            _ => false,
        }
    }
}

/// The open store. Shared by reference.
#[derive(Debug)]
pub struct Store {
    waiting: Mutex<Vec<Waiting>>,
    readers: Readers,
    // Dropped after the readers: the last connection empties the log and removes it, which a reader may not.
    writer: Mutex<Writer>,
    path: Box<Path>,
    room: Room,
}

#[derive(Debug)]
struct Writer {
    connection: Durable,
    next_uid: u32,
    /// `None` in copies, where no uid is given.
    marks: Option<MarkFile>,
}

impl Writer {
    /// The end of this batch is stored, durably.
    fn given_batch(&mut self, uid: u32) {
        if let Some(marks) = &mut self.marks {
            marks.given_batch(uid);
        }
    }
}

impl Store {
    /// Opens the store in the file `path`, created when absent.
    ///
    /// # Errors
    /// When the file cannot be used or was written by a newer program.
    pub fn open(path: &Path) -> Result<Store, StoreError> {
        let connection = schema::open_writer(path)?;
        // The highest uid is never deleted: the deletion that would do it is a task with a higher one.
        let last: Option<u32> = connection.query_row("SELECT max(uid) FROM tasks", [], |row| row.get(0))?;
        let next_uid = match last {
            None => 0,
            Some(last) => last.checked_add(1).ok_or(StoreError::Exhausted)?,
        };
        let next_uid = next_uid.max(recovery::passed_over(&connection, recovery::TASKS)?);
        let room = Room::new(&connection);
        let connection = Durable::new(connection)?;
        if !connection.has_log() {
            let reason = "SQLite keeps no log of the task store";
            return Err(std::io::Error::new(std::io::ErrorKind::NotFound, reason).into());
        }
        Ok(Store {
            room,
            writer: Mutex::new(Writer { connection, next_uid, marks: None }),
            waiting: Mutex::default(),
            readers: Readers::default(),
            path: path.into(),
        })
    }

    /// A connection of its own for tables that have nothing to do with tasks but are to be durable, and copied, with
    /// them.
    ///
    /// # Errors
    /// When the file cannot be used.
    pub fn connect(&self) -> Result<Durable, StoreError> {
        Durable::new(schema::open_writer(&self.path)?)
    }

    /// Runs `read` on a connection of its own.
    fn read<T>(&self, read: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        read(&*self.readers.take(|| schema::open_reader(&self.path))?)
    }

    /// The indexes: uid and folder name.
    ///
    /// # Errors
    /// What the store says; [`StoreError::Index`] for one that this program would not store.
    pub fn indexes(&self) -> Result<Vec<(String, FolderName)>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT uid, folder FROM indexes ORDER BY uid")?;
            let mut rows = statement.query([])?;
            let mut indexes = Vec::new();
            while let Some(row) = rows.next()? {
                indexes.push(checked(row.get(0)?, row.get(1)?)?);
            }
            Ok(indexes)
        })
    }

    /// Bytes of the database file and its log, for statistics.
    pub fn disk_bytes(&self) -> u64 {
        let files = [self.path.to_path_buf(), log_of(&self.path)];
        files.iter().flat_map(std::fs::metadata).map(|metadata| metadata.len()).sum()
    }
}

/// The write-ahead log of a database. It is there while the database is open.
fn log_of(database: &Path) -> PathBuf {
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    log.into()
}

/// A row of the indexes whose folder can become part of a path.
fn checked(uid: String, folder: String) -> Result<(String, FolderName), StoreError> {
    let name = check_index_uid(&uid)
        .map_err(|_| "no index can be called so".to_owned())
        .and_then(|()| FolderName::try_from(folder).map_err(|error| error.to_string()));
    match name {
        Ok(name) => Ok((uid, name)),
        Err(reason) => Err(StoreError::Index { uid: uid.chars().take(SHOWN_MAX).collect(), reason }),
    }
}

/// Most characters of a bad uid in a message.
const SHOWN_MAX: usize = 100;

#[cfg(test)]
mod tests;
