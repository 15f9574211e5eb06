//! What the scheduler asks: what is enqueued, and what belongs to it.

use lamina_base::stored_names::PayloadName;
use lamina_base::timestamp::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use super::{Store, StoreError, recovery, rows};
use crate::tasks::content::Content;
use crate::tasks::kind::Kind;
use crate::tasks::kind::Numbered;
use crate::tasks::uid_set::UidSet;

/// Tasks that are not final and not done: a server that takes over carries them out.
pub(super) const UNDONE: &str = "(status = 0 OR (status = 1 AND batch_uid NOT IN (SELECT batch FROM background)))";

/// The uid of a batch that begins now, as far as stored ones say.
pub(super) const NEXT_BATCH: &str = "SELECT max(coalesce((SELECT max(uid) + 1 FROM batches), 0),
    coalesce((SELECT max(batch) + 1 FROM background), 0))";

/// An enqueued task with its work.
#[derive(Clone, Debug)]
pub struct Queued {
    /// Uid of the task.
    pub uid: u32,
    /// The index it is about.
    pub index_uid: Option<String>,
    /// Work of the task.
    pub content: Content,
}

const QUEUED: &str = "SELECT uid, index_uid, content FROM tasks";

/// The tasks for which a condition holds.
pub(super) fn queued_where(
    connection: &Connection,
    condition: &str,
    values: impl Params,
) -> Result<Vec<Queued>, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{QUEUED} WHERE {condition}"))?;
    statement.query_and_then(values, queued)?.collect()
}

fn queued(row: &Row<'_>) -> Result<Queued, StoreError> {
    let uid = row.get(0)?;
    let content: String = row.get(2)?;
    Ok(Queued { uid, index_uid: row.get(1)?, content: rows::content(uid, &content)? })
}

/// Tasks that wait.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Backlog {
    /// Registration time of the oldest; `None` when none waits.
    pub oldest: Option<Timestamp>,
    pub count: u64,
}

impl Store {
    /// The enqueued tasks of a type, oldest first.
    pub fn enqueued_of_kind(&self, kind: Kind) -> Result<Vec<Queued>, StoreError> {
        self.read(|connection| {
            let sql = format!("{QUEUED} WHERE kind = ?1 AND status = 0 ORDER BY uid");
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_and_then([kind.number()], queued)?.collect()
        })
    }

    /// The enqueued tasks that are carried out before those about documents: by type in the order of `kinds`, then by
    /// uid.
    pub fn enqueued_among(&self, kinds: &[Kind]) -> Result<Vec<Queued>, StoreError> {
        let mut tasks = self.read(|connection| {
            let numbers: Vec<String> = kinds.iter().map(|kind| kind.number().to_string()).collect();
            let sql = format!("{QUEUED} WHERE kind IN ({}) AND status = 0 ORDER BY uid", numbers.join(","));
            let mut statement = connection.prepare_cached(&sql)?;
            statement.query_and_then([], queued)?.collect::<Result<Vec<Queued>, StoreError>>()
        })?;
        tasks.sort_by_key(|task| kinds.iter().position(|kind| *kind == task.content.kind()));
        Ok(tasks)
    }

    /// An enqueued task; `None` once it is final, or when there is no such task.
    pub fn queued(&self, uid: u32) -> Result<Option<Queued>, StoreError> {
        self.read(|connection| {
            let sql = format!("{QUEUED} WHERE uid = ?1 AND status = 0");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut tasks = statement.query_and_then([uid], queued)?;
            tasks.next().transpose()
        })
    }

    /// The enqueued task with the lowest uid.
    pub fn oldest_enqueued(&self) -> Result<Option<Queued>, StoreError> {
        self.read(|connection| {
            let sql = format!("{QUEUED} WHERE status = 0 ORDER BY uid LIMIT 1");
            let mut statement = connection.prepare_cached(&sql)?;
            let mut tasks = statement.query_and_then([], queued)?;
            tasks.next().transpose()
        })
    }

    /// The enqueued task with the lowest uid that `may_begin` lets pass, which sees all before it.
    pub fn first_enqueued(&self, mut may_begin: impl FnMut(&Queued) -> bool) -> Result<Option<Queued>, StoreError> {
        self.read(|connection| {
            let sql = format!("{QUEUED} WHERE status = 0 ORDER BY uid");
            let mut statement = connection.prepare_cached(&sql)?;
            for task in statement.query_and_then([], queued)? {
                let task = task?;
                if may_begin(&task) {
                    return Ok(Some(task));
                }
            }
            Ok(None)
        })
    }

    /// Counts the enqueued or running tasks, and returns the time of the oldest. Walks their index, some milliseconds
    /// for a hundred thousand.
    pub(in crate::tasks) fn waiting(&self) -> Result<Backlog, StoreError> {
        self.read(|connection| {
            let sql = "SELECT enqueued_at FROM tasks WHERE status = 0 ORDER BY uid LIMIT 1";
            let oldest: Option<i64> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()?;
            let Some(oldest) = oldest else { return Ok(Backlog::default()) };
            let sql = "SELECT count(*) FROM tasks WHERE status = 0";
            let count: i64 = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
            let count = u64::try_from(count).unwrap_or(0);
            Ok(Backlog { oldest: Some(Timestamp::from_nanos(oldest)), count })
        })
    }

    /// Calls `take` with the enqueued tasks of an index from uid `from` on, in order, until it answers false.
    pub fn walk_index_queue(
        &self,
        index_uid: &str,
        from: u32,
        mut take: impl FnMut(Queued) -> bool,
    ) -> Result<(), StoreError> {
        self.read(|connection| {
            let sql = format!("{QUEUED} WHERE index_uid = ?1 AND status = 0 AND uid >= ?2 ORDER BY uid");
            let mut statement = connection.prepare_cached(&sql)?;
            for task in statement.query_and_then((index_uid, from), queued)? {
                if !take(task?) {
                    break;
                }
            }
            Ok(())
        })
    }

    /// Reports whether an enqueued task is about an index other than `index_uid`, or about none.
    pub fn has_others_enqueued(&self, index_uid: &str) -> Result<bool, StoreError> {
        self.read(|connection| {
            let sql = "SELECT 1 FROM tasks WHERE status = 0 AND index_uid IS NOT ?1 LIMIT 1";
            Ok(connection.prepare_cached(sql)?.exists([index_uid])?)
        })
    }

    /// The indexes that enqueued tasks are about.
    pub fn indexes_with_enqueued(&self) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT DISTINCT index_uid FROM tasks WHERE status = 0 AND index_uid IS NOT NULL";
            let mut statement = connection.prepare_cached(sql)?;
            let uids = statement.query_map([], |row| row.get(0))?;
            Ok(uids.collect::<Result<_, _>>()?)
        })
    }

    /// The documents that are stored with a task.
    pub fn inline_payload(&self, uid: u32) -> Result<Option<Vec<u8>>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT documents FROM payloads WHERE task_uid = ?1")?;
            Ok(statement.query_row([uid], |row| row.get(0)).optional()?)
        })
    }

    /// Returns the work of a task; `None` once it is final, or if there is no such task.
    pub fn content(&self, uid: u32) -> Result<Option<Content>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT content FROM tasks WHERE uid = ?1")?;
            let text: Option<Option<String>> = statement.query_row([uid], |row| row.get(0)).optional()?;
            text.flatten().map(|text| rows::content(uid, &text)).transpose()
        })
    }

    /// The payload files that tasks need which are not final.
    pub fn payload_files(&self) -> Result<Vec<PayloadName>, StoreError> {
        let kind = Kind::DocumentAdditionOrUpdate.number();
        let tasks = self.read(|connection| queued_where(connection, "kind = ?1 AND status IN (0, 1)", [kind]))?;
        Ok(tasks.iter().filter_map(|task| task.content.payload_file()).cloned().collect())
    }

    /// The lowest and the highest uid of all tasks.
    pub fn uid_range(&self) -> Result<Option<(u32, u32)>, StoreError> {
        self.read(|connection| {
            // Two subqueries, because each of them alone is a step down the tree.
            let sql = "SELECT (SELECT min(uid) FROM tasks), (SELECT max(uid) FROM tasks)";
            let range = connection
                .prepare_cached(sql)?
                .query_row([], |row| Ok(row.get::<_, Option<u32>>(0)?.zip(row.get::<_, Option<u32>>(1)?)))?;
            Ok(range)
        })
    }

    /// Number of all tasks. Walks an index.
    pub fn task_count(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let count: i64 =
                connection.prepare_cached("SELECT count(*) FROM tasks")?.query_row([], |row| row.get(0))?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
    }

    /// The oldest finished tasks, at most `limit`, and when the newest of them was registered.
    pub fn oldest_finished(&self, limit: u32) -> Result<Option<(UidSet, Timestamp)>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT uid, enqueued_at FROM tasks WHERE status IN (2, 3, 4) ORDER BY uid LIMIT ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows: Vec<(u32, i64)> =
                statement.query_map([limit], |row| Ok((row.get(0)?, row.get(1)?)))?.collect::<Result<_, _>>()?;
            let newest = rows.last().map(|&(_, enqueued_at)| Timestamp::from_nanos(enqueued_at));
            Ok(newest.map(|newest| (rows.iter().map(|&(uid, _)| uid).collect(), newest)))
        })
    }

    /// Returns the uid of a batch that begins now.
    pub fn next_batch_uid(&self) -> Result<u32, StoreError> {
        self.read(|connection| {
            // The highest batch is never deleted: a deletion of tasks leaves its own batch behind.
            let next: u32 = connection.query_row(NEXT_BATCH, [], |row| row.get(0))?;
            Ok(next.max(recovery::passed_over(connection, recovery::BATCHES)?))
        })
    }
}
