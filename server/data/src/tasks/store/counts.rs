//! How many tasks there are of which kind.

use std::collections::BTreeMap;

use lamina_base::timestamp::Timestamp;

use super::{Store, StoreError};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::{Kind, Status};
use crate::tasks::live::LiveBatch;

/// Tasks by their public names; what does not occur is absent, but for statuses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// All five, also when there are none.
    pub statuses: BTreeMap<String, u64>,
    /// By the public name of a type.
    pub kinds: BTreeMap<String, u64>,
    /// By the uid of an index.
    pub indexes: BTreeMap<String, u64>,
    /// Registration time of the oldest task that is not final.
    pub oldest_waiting: Option<Timestamp>,
}

impl Store {
    /// Number of tasks that wait or run. Walks the entries of an index that belong to them.
    ///
    /// # Errors
    /// The tasks cannot be read.
    pub fn unfinished_count(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT count(*) FROM tasks WHERE status IN (0, 1)")?;
            Ok(statement.query_row([], |row| row.get::<_, u32>(0))?.into())
        })
    }

    /// Counts all tasks; those of `live` are processing, as are those that go on in the background. Walks three indexes.
    pub fn task_counts(&self, live: Option<&LiveBatch>) -> Result<TaskCounts, StoreError> {
        self.read(|connection| {
            let mut counts = TaskCounts {
                statuses: Status::ALL.iter().map(|status| (status.to_string(), 0)).collect(),
                ..TaskCounts::default()
            };
            let numbered = |sql: &str| -> Result<Vec<(u8, u64)>, StoreError> {
                let mut statement = connection.prepare_cached(sql)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)?.into())))?;
                Ok(rows.collect::<Result<_, _>>()?)
            };
            for (number, count) in numbered("SELECT status, count(*) FROM tasks GROUP BY status")? {
                if let Some(status) = Status::from_number(number) {
                    counts.statuses.insert(status.to_string(), count);
                }
            }
            for (number, count) in numbered("SELECT kind, count(*) FROM tasks GROUP BY kind")? {
                if let Some(kind) = Kind::from_number(number) {
                    counts.kinds.insert(kind.to_string(), count);
                }
            }
            let sql = "SELECT index_uid, count(*) FROM tasks WHERE index_uid IS NOT NULL GROUP BY index_uid";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, u32>(1)?.into())))?;
            counts.indexes = rows.collect::<Result<_, _>>()?;
            let sql = "SELECT min(enqueued_at) FROM tasks WHERE status IN (0, 1)";
            let oldest: Option<i64> = connection.query_row(sql, [], |row| row.get(0))?;
            counts.oldest_waiting = oldest.map(Timestamp::from_nanos);
            if let Some(live) = live {
                let enqueued = counts.statuses.entry(Status::Enqueued.to_string()).or_default();
                let running = (live.tasks.len() as u64).min(*enqueued);
                *enqueued -= running;
                *counts.statuses.entry(Status::Processing.to_string()).or_default() += running;
            }
            Ok(counts)
        })
    }
}
