//! Tables of the store and how connections to it are set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::StoreError;

/// Kept in `user_version`; a file with a higher one was written by a newer program.
const VERSION: u32 = 1;

/// `status` is `processing` only of batches that go on in the background: else that state lives in memory, so starting a batch writes
/// nothing, and a batch that a crash interrupted is enqueued again by itself. Times are nanoseconds since 1970. `content` goes when
/// a task is final; `work` is then what dumps say of it and its details do not. `search_rules.place` gives the order in which rules were
/// made; one that is changed keeps its own.
const TABLES: &str = "
CREATE TABLE tasks (
    uid INTEGER PRIMARY KEY,
    batch_uid INTEGER,
    index_uid TEXT,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL,
    canceled_by INTEGER,
    enqueued_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    details TEXT,
    error TEXT,
    custom_metadata TEXT,
    content TEXT,
    work TEXT
) STRICT;
CREATE INDEX tasks_by_status ON tasks (status);
CREATE INDEX tasks_by_index ON tasks (index_uid, status);
CREATE INDEX tasks_by_kind ON tasks (kind, status);
CREATE INDEX tasks_by_batch ON tasks (batch_uid) WHERE batch_uid IS NOT NULL;
CREATE INDEX tasks_by_cancelation ON tasks (canceled_by) WHERE canceled_by IS NOT NULL;
CREATE TABLE payloads (
    task_uid INTEGER PRIMARY KEY,
    documents BLOB NOT NULL
) STRICT;
CREATE TABLE batches (
    uid INTEGER PRIMARY KEY,
    started_at INTEGER NOT NULL,
    finished_at INTEGER NOT NULL,
    details TEXT NOT NULL,
    stats TEXT NOT NULL,
    strategy TEXT NOT NULL
) STRICT;
CREATE TABLE background (
    batch INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    written TEXT NOT NULL,
    deaths INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE TABLE indexes (
    uid TEXT PRIMARY KEY,
    folder TEXT NOT NULL UNIQUE
) STRICT, WITHOUT ROWID;
CREATE TABLE aliases (
    alias TEXT PRIMARY KEY,
    index_uid TEXT NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE folder_intents (
    folder TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
CREATE TABLE uids_passed_over (
    kind TEXT PRIMARY KEY,
    next INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE search_rules (
    place INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    rule TEXT NOT NULL
) STRICT;
CREATE TABLE process (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    boot TEXT NOT NULL,
    attempt TEXT
) STRICT;
";

pub(super) fn open_writer(path: &Path) -> Result<Connection, StoreError> {
    writer_over(Connection::open(path)?)
}

fn writer_over(mut connection: Connection) -> Result<Connection, StoreError> {
    connection.busy_timeout(Duration::from_secs(10))?;
    require_writable(&connection)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Again: the log is a file of its own, which SQLite has opened now.
    require_writable(&connection)?;
    // FULL syncs the log at every commit; NORMAL would lose acknowledged tasks when the machine stops.
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.set_prepared_statement_cache_capacity(64);
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version {
        0 => {
            let transaction = connection.transaction()?;
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
        VERSION => {}
        found => return Err(StoreError::TooNew { found, supported: VERSION }),
    }
    Ok(connection)
}

/// Refuses what cannot write: where the system refuses to open a file for writing, if only because descriptors have run out, SQLite
/// opens it for reading without a word, and the connection refuses every write for as long as it lives.
fn require_writable(connection: &Connection) -> Result<(), StoreError> {
    // Such a database begins a transaction that reads; such a log refuses one that writes.
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(StoreError::ReadOnly);
    }
    match connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK;") {
        Err(rusqlite::Error::SqliteFailure(failure, _)) if failure.code == rusqlite::ErrorCode::ReadOnly => {
            Err(StoreError::ReadOnly)
        }
        done => Ok(done?),
    }
}

pub(super) fn open_reader(path: &Path) -> Result<Connection, StoreError> {
    let connection =
        Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(Duration::from_secs(10))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_opened_for_reading_is_refused_for_a_moment() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tasks.sqlite");
        drop(open_writer(&path).unwrap());
        let error = writer_over(open_reader(&path).unwrap()).unwrap_err();
        assert!(matches!(error, StoreError::ReadOnly), "{error}");
        assert!(error.is_momentary());
        open_writer(&path).unwrap();
    }
}
