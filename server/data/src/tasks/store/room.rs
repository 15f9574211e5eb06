//! How large the store may grow: a queue that is not emptied must not fill the disk.

use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

use super::{Store, StoreError};
use crate::tasks::content::Content;

/// Beyond this only tasks that make room are taken: two fifths of the 20 GiB that queues of this protocol may have.
const BYTES_MAX: u64 = 8 << 30;

/// Bytes in use, as of the last write.
#[derive(Debug)]
pub(super) struct Room {
    used_bytes: AtomicU64,
    bytes_max: AtomicU64,
}

impl Room {
    pub(super) fn new(connection: &Connection) -> Room {
        let room = Room { used_bytes: AtomicU64::new(0), bytes_max: AtomicU64::new(BYTES_MAX) };
        room.measure(connection);
        room
    }

    /// To be called after each write. Reads two numbers of the file's head. Pages that deletions left count as room.
    pub(super) fn measure(&self, connection: &Connection) {
        let sql = "SELECT (page_count - freelist_count) * page_size
                   FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()";
        let bytes = connection.prepare_cached(sql).and_then(|mut sql| sql.query_row([], |row| row.get::<_, i64>(0)));
        match bytes {
            Ok(bytes) => self.used_bytes.store(u64::try_from(bytes).unwrap_or(0), Ordering::Relaxed),
            // The write itself is done; the next one measures again.
            Err(error) => tracing::warn!(%error, "cannot measure the task store"),
        }
    }

    /// # Errors
    /// [`StoreError::Full`], but for tasks that make room.
    pub(super) fn check(&self, content: &Content) -> Result<(), StoreError> {
        let makes_room = match content {
            Content::CancelTasks { tasks, .. } | Content::DeleteTasks { tasks, .. } => !tasks.is_empty(),
            _ => false,
        };
        let is_full = self.used_bytes.load(Ordering::Relaxed) > self.bytes_max.load(Ordering::Relaxed);
        if is_full && !makes_room { Err(StoreError::Full) } else { Ok(()) }
    }
}

/// Current and maximum size of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes in use.
    pub used_bytes: u64,
    /// Beyond these only tasks that make room are taken.
    pub bytes_max: u64,
}

impl Store {
    /// Returns the sizes of the store, as of the last write.
    pub fn room(&self) -> Sizes {
        Sizes {
            used_bytes: self.room.used_bytes.load(Ordering::Relaxed),
            bytes_max: self.room.bytes_max.load(Ordering::Relaxed),
        }
    }

    /// Gives the room that deleted tasks left back to the file system; bytes before and after. Tasks cannot be
    /// registered meanwhile, which takes as long as copying what is left.
    ///
    /// # Errors
    /// What the store says; nothing is lost then.
    pub fn compact(&self) -> Result<(u64, u64), StoreError> {
        let mut writer = self.writer.lock();
        let before = self.disk_bytes();
        writer.connection.execute_alone("VACUUM; PRAGMA wal_checkpoint(TRUNCATE);")?;
        self.room.measure(writer.connection.connection());
        Ok((before, self.disk_bytes()))
    }
}

#[cfg(test)]
impl Store {
    pub(super) fn limit(&self, bytes_max: u64) {
        self.room.bytes_max.store(bytes_max, Ordering::Relaxed);
    }
}
