//! One moment of the queue: names of indexes, and which tasks have ended, as one transaction left them.

use lamina_base::aliases::Aliases;
use lamina_base::stored_names::FolderName;

use super::{Store, StoreError, checked, read_aliases, recovery, schedule};
use crate::tasks::uid_set::UidSet;

/// Consistent state of the queue at one moment.
#[derive(Debug)]
pub struct Moment {
    /// The indexes with their folders.
    pub indexes: Vec<(String, FolderName)>,
    pub aliases: Aliases,
    /// Tasks below that do not wait have ended.
    pub next_task: u32,
    /// Batches below have ended.
    pub next_batch: u32,
    /// Tasks that have not ended.
    pub waiting: UidSet,
}

impl Store {
    /// The present moment. Walks the tasks that wait.
    ///
    /// # Errors
    /// What the store says.
    pub fn moment(&self) -> Result<Moment, StoreError> {
        self.read(|connection| {
            // Its reads see one state of the file.
            let transaction = connection.unchecked_transaction()?;
            let next = |sql: &str, kind: &str| -> Result<u32, StoreError> {
                let next: Option<i64> = transaction.query_row(sql, [], |row| row.get(0))?;
                let next = u32::try_from(next.unwrap_or(0)).unwrap_or(u32::MAX);
                Ok(next.max(recovery::passed_over(&transaction, kind)?))
            };
            let next_task = next("SELECT max(uid) + 1 FROM tasks", recovery::TASKS)?;
            let next_batch = next(schedule::NEXT_BATCH, recovery::BATCHES)?;
            let sql = format!("SELECT uid FROM tasks WHERE {} ORDER BY uid", schedule::UNDONE);
            let mut statement = transaction.prepare_cached(&sql)?;
            let waiting = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<u32>, _>>()?;
            let mut statement = transaction.prepare_cached("SELECT uid, folder FROM indexes ORDER BY uid")?;
            let mut rows = statement.query([])?;
            let mut indexes = Vec::new();
            while let Some(row) = rows.next()? {
                indexes.push(checked(row.get(0)?, row.get(1)?)?);
            }
            let aliases = read_aliases(&transaction)?.aliases;
            Ok(Moment { indexes, aliases, next_task, next_batch, waiting: waiting.into_iter().collect() })
        })
    }
}

#[cfg(test)]
mod tests {
    use lamina_base::timestamp::Timestamp;

    use super::super::{FinishedBatch, FinishedTask, TaskResult};
    use super::*;
    use crate::tasks::content::Content;
    use crate::tasks::new_task::NewTask;

    #[test]
    fn tasks_that_were_accepted_elsewhere_keep_their_uids() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("tasks.sqlite")).unwrap();
        let task = |uid| NewTask { uid: Some(uid), ..NewTask::for_index("films", Content::Clear { mark: None }) };
        let at = Timestamp::from_nanos(7);
        assert_eq!(store.enqueue_given(&[task(3), task(5)], at).unwrap().len(), 2);
        store.enqueue_given(&[task(5)], at).unwrap_err();
        let ended = FinishedTask { uid: 3, result: TaskResult::Succeeded(None) };
        store.finish(&FinishedBatch::now(0, at, String::new(), vec![ended])).unwrap();
        // Another process knows of tasks 2 to 6; those that are here stay as they are.
        let again: Vec<(NewTask, Timestamp)> = [2, 3, 5, 6].map(|uid| (task(uid), at)).into();
        assert_eq!((store.enqueue_again(&again).unwrap(), store.enqueue_again(&again).unwrap()), (2, 0));
        let moment = store.moment().unwrap();
        assert_eq!(moment.waiting.runs().collect::<Vec<_>>(), [(2, 2), (5, 6)]);
        assert_eq!((moment.next_task, moment.next_batch, store.uid_for(None).unwrap()), (7, 1, 7));
        assert_eq!(store.task(6).unwrap().unwrap().enqueued_at, at);
    }
}
