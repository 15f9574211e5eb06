//! What the store remembers of the process that has it open, so that the next one knows how it ended.
//!
//! A process that ends by itself leaves nothing behind. Only what another one left makes a process write down what it does.

use rusqlite::OptionalExtension;
use serde::{Deserialize, Serialize};

use super::{Store, StoreError};

/// A batch that was begun by a process which watched what it did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Uids of what the batch was carrying out.
    pub tasks: Vec<u32>,
    /// Number of consecutive earlier processes that died during the same work, as far as recorded.
    pub deaths: u32,
    /// Number of those that ended themselves, or may have: they aborted, or the kernel killed a process for lack of
    /// memory at that time.
    pub crashes: u32,
    /// Number of kills by the kernel for lack of memory when the attempt began; `None` where the kernel does not report
    /// it.
    pub kills_for_memory: Option<u64>,
    /// True if the attempt had been running for some time.
    pub is_long: bool,
}

/// A process that did not end by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Died {
    /// Work of the process, if it recorded that.
    pub attempt: Option<Attempt>,
}

impl Store {
    /// Marks that a process has the store open, on a machine that has been running since `boot`. Returns whether the one before
    /// died, and the machine did not end with it.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn process_begins(&self, boot: &str) -> Result<Option<Died>, StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let left: Option<(String, Option<String>)> =
            transaction.query_row("SELECT boot, attempt FROM process", [], row).optional()?;
        let sql = "INSERT OR REPLACE INTO process (one, boot, attempt) VALUES (1, ?1, NULL)";
        transaction.execute(sql, [boot])?;
        transaction.commit()?;
        Ok(left.filter(|(before, _)| before == boot).map(|(_, attempt)| Died {
            // What cannot be read says nothing.
            attempt: attempt.and_then(|attempt| serde_json::from_str(&attempt).ok()),
        }))
    }

    /// Writes down what is about to be done, or that it is done. One fsync.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn process_attempts(&self, attempt: Option<&Attempt>) -> Result<(), StoreError> {
        let text = attempt.map(|attempt| serde_json::to_string(attempt).expect("plain data"));
        self.writer.lock().connection.execute("UPDATE process SET attempt = ?1", [text])
    }

    /// The process ends by itself, or is about to because it was asked to.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn process_ends(&self) -> Result<(), StoreError> {
        self.writer.lock().connection.execute("DELETE FROM process", [])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_that_died_leaves_something() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("tasks.sqlite")).unwrap();
        let store = open();
        assert_eq!(store.process_begins("today").unwrap(), None);
        store.process_ends().unwrap();
        assert_eq!(store.process_begins("today").unwrap(), None, "it ended");
        drop(store);
        let store = open();
        assert_eq!(store.process_begins("today").unwrap(), Some(Died { attempt: None }), "it died");
        let attempt = Attempt { tasks: vec![3, 4], deaths: 1, is_long: true, ..Attempt::default() };
        store.process_attempts(Some(&attempt)).unwrap();
        drop(store);
        let store = open();
        assert_eq!(store.process_begins("today").unwrap(), Some(Died { attempt: Some(attempt.clone()) }));
        assert_eq!(store.process_begins("today").unwrap(), Some(Died { attempt: None }), "it began nothing");
        store.process_attempts(Some(&attempt)).unwrap();
        assert_eq!(store.process_begins("tomorrow").unwrap(), None, "the machine ended with it");
        store.process_attempts(Some(&attempt)).unwrap();
        store.process_attempts(None).unwrap();
        assert_eq!(store.process_begins("tomorrow").unwrap(), Some(Died { attempt: None }));
    }
}
