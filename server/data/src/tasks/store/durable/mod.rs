//! Transactions that are durable when they are committed, and gone when their commit fails.
//!
//! SQLite writes a transaction into the log and syncs the log. When the sync fails, it refuses the transaction, but leaves it in the log,
//! where a start after a crash would find it whole and carry it out. So what a failed commit left behind the end of the log is cut off
//! before anyone hears of the failure.

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use rusqlite::{Connection, Params};

use super::{StoreError, log_check, log_of};

/// Other writers may commit while the end of the log is looked up; then it is looked up again.
const LOOKS_MAX: u32 = 100;

/// A connection that writes. Everything that it changes goes through a [`Transaction`].
#[derive(Debug)]
pub struct Durable {
    connection: Connection,
    /// Open from the start, so that a lack of descriptors is no hindrance. `None` where there is no log: in memory.
    log: Option<Arc<File>>,
    /// True if a commit failed and its data may still be in the log.
    has_leftover: bool,
}

impl Durable {
    /// Over a connection that has read its database, so that the log is there.
    ///
    /// # Errors
    /// When the log cannot be opened.
    pub fn new(connection: Connection) -> Result<Durable, StoreError> {
        let log = match connection.path().filter(|path| !path.is_empty()) {
            None => None,
            Some(path) => match File::options().write(true).open(log_of(Path::new(path))) {
                Ok(log) => Some(Arc::new(log)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error.into()),
            },
        };
        Ok(Durable { connection, log, has_leftover: false })
    }

    /// For reading, and for settings of the connection.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Reports whether there is a log.
    pub(super) fn has_log(&self) -> bool {
        self.log.is_some()
    }

    /// Begins to write: no other connection does so until the transaction ends.
    ///
    /// # Errors
    /// What SQLite says, or the system about what an earlier commit left in the log. Nothing can be written then.
    pub fn transaction(&mut self) -> Result<Transaction<'_>, StoreError> {
        if self.has_leftover {
            self.cut_leftover()?;
        }
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        Ok(Transaction { durable: self, is_open: true })
    }

    /// A transaction of one statement.
    ///
    /// # Errors
    /// The errors of [`Transaction::commit`].
    pub(crate) fn execute(&mut self, sql: &str, values: impl Params) -> Result<(), StoreError> {
        let transaction = self.transaction()?;
        transaction.prepare_cached(sql)?.execute(values)?;
        transaction.commit()
    }

    /// Statements that cannot be in a transaction, as `VACUUM`.
    ///
    /// # Errors
    /// The errors of [`Transaction::commit`].
    pub(super) fn execute_alone(&mut self, sql: &str) -> Result<(), StoreError> {
        let done = self.connection.execute_batch(sql);
        self.settle(done)
    }

    /// Returns what a commit came to: one that failed is gone.
    fn settle(&mut self, committed: rusqlite::Result<()>) -> Result<(), StoreError> {
        let Err(error) = committed else { return Ok(()) };
        self.has_leftover = self.log.is_some();
        if !self.has_leftover {
            return Err(error.into());
        }
        match self.cut_leftover() {
            Ok(()) => Err(error.into()),
            Err(reason) => {
                tracing::error!(%error, %reason, "a refused write may still be in the log of the task store");
                Err(StoreError::Unsettled(Box::new(error.into())))
            }
        }
    }

    /// Cuts off what is behind the end of the log, durably.
    fn cut_leftover(&mut self) -> Result<(), StoreError> {
        for _ in 0..LOOKS_MAX {
            let (version, frames) = (self.version()?, self.frames()?);
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            // This connection has the lock of writers now. Another one may have had it since the end was looked up.
            let is_same = self.version().is_ok_and(|now| now == version);
            let cut = if is_same { self.cut(frames) } else { Ok(()) };
            self.connection.execute_batch("ROLLBACK")?;
            cut?;
            if is_same {
                self.has_leftover = false;
                return Ok(());
            }
        }
        Err(io::Error::new(io::ErrorKind::ResourceBusy, "others write all the time").into())
    }

    fn cut(&self, frames: u32) -> Result<(), StoreError> {
        let Some(log) = &self.log else { return Ok(()) };
        let page_bytes: u32 = self.connection.query_row("PRAGMA page_size", [], |row| row.get(0))?;
        let end = log_check::end_of(u64::from(frames), u64::from(page_bytes));
        if log.metadata()?.len() > end {
            log.set_len(end)?;
            log.sync_all()?;
        }
        Ok(())
    }

    /// Another number as soon as another connection has committed.
    fn version(&self) -> rusqlite::Result<i64> {
        self.connection.query_row("PRAGMA data_version", [], |row| row.get(0))
    }

    /// Frames of the log that are committed. Writes nothing.
    fn frames(&self) -> rusqlite::Result<u32> {
        self.connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| row.get(1))
    }
}

/// A transaction that can write. Dropped, it changes nothing.
#[derive(Debug)]
pub struct Transaction<'a> {
    durable: &'a mut Durable,
    is_open: bool,
}

impl Transaction<'_> {
    /// Commits: durable when this returns.
    ///
    /// # Errors
    /// What SQLite says: nothing has changed then, nor does it after a crash. [`StoreError::Unsettled`] where that is not certain.
    pub fn commit(mut self) -> Result<(), StoreError> {
        let committed = self.durable.connection.execute_batch("COMMIT");
        self.end();
        self.durable.settle(committed)
    }

    /// Nothing is under way afterwards.
    fn end(&mut self) {
        if std::mem::take(&mut self.is_open) && !self.durable.connection.is_autocommit() {
            // SQLite has done so itself after most failures; where it cannot, the next one fails.
            let _ = self.durable.connection.execute_batch("ROLLBACK");
        }
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        self.end();
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.durable.connection
    }
}

#[cfg(test)]
mod tests;
