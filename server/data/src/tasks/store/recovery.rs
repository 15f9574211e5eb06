//! What a start needs to know of the store, and what it writes down of a loss.

use std::fs::File;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use lamina_base::aliases::Aliases;
use lamina_base::error::{ApiError, Code};
use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use rusqlite::{Connection, ErrorCode, params};

use super::mark::{Given, MarkFile, Marks};
use super::{Store, StoreError, rows, schema};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::Status;
use crate::tasks::task::StoredError;

/// Uids that a writer may have given since it published last.
const PASSED_OVER: u32 = 10_000;

pub(super) const TASKS: &str = "tasks";
pub(super) const BATCHES: &str = "batches";

/// Outcome of the check of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// All of it fits together.
    Sound,
    /// The check took too long: the store is large.
    Unfinished,
    /// Description of the damage, in SQLite's words.
    Damaged(String),
}

/// Uids below are given or passed over.
pub(super) fn passed_over(connection: &Connection, kind: &str) -> Result<u32, StoreError> {
    let sql = "SELECT coalesce(max(next), 0) FROM uids_passed_over WHERE kind = ?1";
    Ok(connection.query_row(sql, [kind], |row| row.get(0))?)
}

impl StoreError {
    /// Reports whether SQLite cannot interpret the file.
    pub fn is_damage(&self) -> bool {
        match self {
            StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)) => {
                matches!(failure.code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase)
            }
            StoreError::Shared(error) => error.is_damage(),
            _ => false,
        }
    }
}

/// A connection that changes nothing, to what may be damaged.
///
/// # Errors
/// When the file cannot be opened.
pub(crate) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    schema::open_reader(path)
}

/// Checks how the pages of a database fit together and whether tables and their indexes agree, for so long at most: the names
/// of indexes in any case. Changes nothing.
///
/// # Errors
/// What SQLite says, other than that it is damaged.
pub fn check_database(path: &Path, patience: Option<Duration>) -> Result<Check, StoreError> {
    let checked = open_to_read(path).and_then(|connection| match patience {
        Some(patience) => {
            // Of the few rows that everything hangs on. A store of the first moment has none.
            let names = verdict(&connection, "PRAGMA integrity_check('indexes')");
            match names {
                Ok(text) if text != "ok" => Ok(text),
                Err(error) if error.is_damage() => Err(error),
                _ => check_for(&connection, patience),
            }
        }
        None => verdict(&connection, "PRAGMA integrity_check(1)"),
    });
    match checked {
        Ok(text) if text == "ok" => Ok(Check::Sound),
        Ok(text) => Ok(Check::Damaged(text)),
        Err(error) if error.is_damage() => Ok(Check::Damaged(error.to_string())),
        Err(StoreError::Sqlite(rusqlite::Error::SqliteFailure(failure, _)))
            if failure.code == ErrorCode::OperationInterrupted =>
        {
            Ok(Check::Unfinished)
        }
        Err(error) => Err(error),
    }
}

fn verdict(connection: &Connection, sql: &str) -> Result<String, StoreError> {
    Ok(connection.query_row(sql, [], |row| row.get(0))?)
}

fn check_for(connection: &Connection, patience: Duration) -> Result<String, StoreError> {
    let interrupt = connection.get_interrupt_handle();
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if end.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                interrupt.interrupt();
            }
        });
        let found = verdict(connection, "PRAGMA integrity_check(1)");
        drop(ended);
        found
    })
}

impl Store {
    /// The next uids of tasks and of batches.
    ///
    /// # Errors
    /// What the store says.
    pub fn next_uids(&self) -> Result<(u32, u32), StoreError> {
        Ok((self.uid_for(None)?, self.next_batch_uid()?))
    }

    /// Folders of indexes that are being made or removed: no index without a name needs one of them.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn folder_intents(&self) -> Result<Vec<FolderName>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT folder FROM folder_intents")?;
            let folders = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
            // What this program would not write is no folder of its own.
            Ok(folders.into_iter().filter_map(|folder| FolderName::try_from(folder).ok()).collect())
        })
    }

    /// Writes down that an index is about to be made in `folder`: durable when this returns. Being given a name ends that.
    ///
    /// # Errors
    /// The folder must not be made then.
    pub fn intend_folder(&self, folder: &FolderName) -> Result<(), StoreError> {
        self.writer.lock().connection.execute("INSERT OR REPLACE INTO folder_intents (folder) VALUES (?1)", [folder])
    }

    /// The folders are gone, or have names.
    ///
    /// # Errors
    /// What the store says; there is no harm in intents that are left.
    pub fn forget_intents(&self, folders: &[FolderName]) -> Result<(), StoreError> {
        if folders.is_empty() {
            return Ok(());
        }
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        for folder in folders {
            transaction.prepare_cached("DELETE FROM folder_intents WHERE folder = ?1")?.execute([folder])?;
        }
        transaction.commit()
    }

    /// Writes down what a loss comes to: indexes (names and folders) that come back, and the first uids that may be given from
    /// now on. All or nothing.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn settle_loss(&self, indexes: &[(String, FolderName)], tasks: u32, batches: u32) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        for (uid, folder) in indexes {
            transaction.execute("INSERT OR REPLACE INTO indexes (uid, folder) VALUES (?1, ?2)", (uid, folder))?;
            transaction.execute("DELETE FROM folder_intents WHERE folder = ?1", [folder])?;
        }
        for (kind, next) in [(TASKS, tasks), (BATCHES, batches)] {
            let next = next.max(passed_over(&transaction, kind)?);
            transaction
                .execute("INSERT OR REPLACE INTO uids_passed_over (kind, next) VALUES (?1, ?2)", (kind, next))?;
        }
        transaction.commit()?;
        writer.next_uid = writer.next_uid.max(tasks);
        Ok(())
    }

    /// Makes these all the indexes there are (names and folders), and these all aliases where they are given, for a server that
    /// follows another one. All or nothing.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn set_indexes(&self, indexes: &[(String, FolderName)], aliases: Option<&Aliases>) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        let gone = "INSERT OR REPLACE INTO folder_intents (folder) SELECT folder FROM indexes";
        transaction.execute(gone, [])?;
        transaction.execute("DELETE FROM indexes", [])?;
        for (uid, folder) in indexes {
            transaction.execute("INSERT INTO indexes (uid, folder) VALUES (?1, ?2)", (uid, folder))?;
            transaction.execute("DELETE FROM folder_intents WHERE folder = ?1", [folder])?;
        }
        if let Some(aliases) = aliases {
            super::aliases::replace(&transaction, aliases)?;
        }
        transaction.commit()
    }

    /// Forgets all tasks and batches, for a server that follows another one from now on; their uids stay given. How many waited.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn forget_tasks(&self) -> Result<u32, StoreError> {
        let (tasks, batches) = self.next_uids()?;
        let count = "SELECT count(*) FROM tasks WHERE status IN (0, 1)";
        let waiting = self.writer.lock().connection.connection().query_row(count, [], |row| row.get(0))?;
        // The batch under way may be in its index already, and nothing says so once its tasks are forgotten.
        self.settle_loss(&[], tasks, batches.saturating_add(u32::from(waiting > 0)))?;
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        for table in ["tasks", "payloads", "batches", "background"] {
            transaction.execute(&format!("DELETE FROM {table}"), [])?;
        }
        transaction.commit()?;
        Ok(waiting)
    }

    /// Passes uids over, for a server that writes from now on: the writer before may have given some of them.
    ///
    /// # Errors
    /// What the store says.
    pub fn pass_over_uids(&self) -> Result<(), StoreError> {
        let (tasks, batches) = self.next_uids()?;
        self.settle_loss(&[], tasks.saturating_add(PASSED_OVER), batches.saturating_add(PASSED_OVER))
    }

    /// Fails tasks that wait and whose work cannot be read: their uids. They would keep all others waiting.
    ///
    /// # Errors
    /// What the store says; nothing has changed then.
    pub fn fail_unreadable(&self) -> Result<Vec<u32>, StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        let mut unreadable = Vec::new();
        {
            let mut statement = transaction.prepare("SELECT uid, content FROM tasks WHERE status IN (0, 1)")?;
            let mut waiting = statement.query([])?;
            while let Some(row) = waiting.next()? {
                let uid: u32 = row.get(0)?;
                let content = row.get_ref(1)?.as_str().ok().and_then(|text| rows::content(uid, text).ok());
                if content.is_none() {
                    unreadable.push(uid);
                }
            }
        }
        for uid in &unreadable {
            let error = ApiError::new(
                Code::InvalidStoreFile,
                format!(
                    "What task `{uid}` is to do is damaged in the task queue. It was not carried out; send it again."
                ),
            );
            let error = serde_json::to_string(&StoredError::from(&error));
            let error = error.map_err(|source| StoreError::Corrupt { what: "error", uid: *uid, source })?;
            let now = Timestamp::now().nanos();
            transaction.execute(
                "UPDATE tasks SET status = ?2, error = ?3, started_at = ?4, finished_at = ?4, content = NULL WHERE uid = ?1",
                params![uid, Status::Failed.number(), error, now],
            )?;
        }
        transaction.commit()?;
        Ok(unreadable)
    }

    /// Keeps the line in `file` from now on; `before` is what it said.
    ///
    /// # Errors
    /// What the store or the file system says.
    pub(crate) fn keep_marks(&self, file: File, before: Option<Marks>) -> Result<(), StoreError> {
        let (tasks, batches) = self.next_uids()?;
        let before = before.unwrap_or_default();
        let given = |next: u32, bound: u32| Given { next, bound: bound.max(next) };
        let marks = Marks { tasks: given(tasks, before.tasks.bound), batches: given(batches, before.batches.bound) };
        self.writer.lock().marks = Some(MarkFile::begin(file, marks)?);
        Ok(())
    }
}
