//! Batches that go on in the background, while others are carried out: they have written what they write and wait for vectors or for
//! their publication, or they ask for the vectors that a change of settings needs. Only their tasks are stored as `processing`.
//!
//! A batch that has written what it writes has done to the names of indexes what it does, and is not carried out again, whatever happens:
//! later tasks may have written the same documents. One that has only asked is carried out from its start after a crash.

use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use rusqlite::{Connection, params};

use super::finish::{FinishedBatch, change_indexes};
use super::schedule::{Queued, queued_where};
use super::{Store, StoreError, rules};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::Status;

/// A batch that has written what it writes.
#[derive(Clone, Debug)]
pub struct Written {
    /// Results of the batch, except for the vectors.
    pub batch: FinishedBatch,
    /// Folder of its index.
    pub folder: FolderName,
    /// Number of counted process deaths during the batch.
    pub deaths: u32,
}

impl Store {
    /// Shows tasks as processing that have changed nothing yet.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn set_processing(&self, batch: u32, started_at: Timestamp, tasks: &[u32]) -> Result<(), StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        process(&transaction, batch, started_at.nanos(), tasks.iter().copied())?;
        transaction.commit()
    }

    /// Puts tasks of [`Store::set_processing`] back into the queue.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn set_enqueued(&self, batch: u32) -> Result<(), StoreError> {
        let sql =
            "UPDATE tasks SET status = 0, batch_uid = NULL, started_at = NULL WHERE batch_uid = ?1 AND status = 1";
        self.writer.lock().connection.execute(sql, [batch])
    }

    /// Stores that the documents of a batch are written: everything but the ends of its tasks.
    ///
    /// # Errors
    /// Nothing is stored then; the call can be repeated.
    pub fn put_in_background(&self, batch: &FinishedBatch, folder: &FolderName) -> Result<(), StoreError> {
        let mut guard = self.writer.lock();
        let writer = &mut *guard;
        let transaction = writer.connection.transaction()?;
        for change in &batch.index_changes {
            change_indexes(&transaction, change)?;
        }
        for change in &batch.rule_changes {
            rules::change(&transaction, change)?;
        }
        process(&transaction, batch.uid, batch.started_at, batch.tasks.iter().map(|task| task.uid))?;
        let written = FinishedBatch { index_changes: Vec::new(), rule_changes: Vec::new(), ..batch.clone() };
        let written = serde_json::to_string(&written).expect("a finished batch is plain data");
        let sql = "INSERT OR REPLACE INTO background (batch, folder, written) VALUES (?1, ?2, ?3)";
        transaction.prepare_cached(sql)?.execute(params![batch.uid, folder, written])?;
        if let Some(marks) = &mut writer.marks {
            marks.allow_batches(batch.uid.saturating_add(1))?;
        }
        transaction.commit()?;
        writer.given_batch(batch.uid);
        Ok(())
    }

    /// For a process that begins: the batches whose documents are written. Tasks that were only asking are enqueued again.
    /// `deaths` is added to those of each batch.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn background_at_start(&self, deaths: u32) -> Result<Vec<Written>, StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        let sql = "UPDATE tasks SET status = 0, batch_uid = NULL, started_at = NULL
                   WHERE status = 1 AND batch_uid NOT IN (SELECT batch FROM background)";
        transaction.execute(sql, [])?;
        transaction.execute("UPDATE background SET deaths = deaths + ?1", [deaths])?;
        let all = all(&transaction)?;
        transaction.commit()?;
        Ok(all)
    }

    /// The batches whose documents are written.
    ///
    /// # Errors
    /// What the store says.
    pub(crate) fn in_background(&self) -> Result<Vec<Written>, StoreError> {
        self.read(all)
    }

    /// The tasks of a batch that goes on in the background.
    ///
    /// # Errors
    /// What the store says.
    pub fn processing_of(&self, batch: u32) -> Result<Vec<Queued>, StoreError> {
        self.read(|connection| queued_where(connection, "batch_uid = ?1 AND status = 1 ORDER BY uid", [batch]))
    }
}

fn process(
    connection: &Connection,
    batch: u32,
    started_at: i64,
    tasks: impl Iterator<Item = u32>,
) -> Result<(), StoreError> {
    let sql = "UPDATE tasks SET status = ?2, batch_uid = ?3, started_at = ?4 WHERE uid = ?1 AND status IN (0, 1)";
    let mut statement = connection.prepare_cached(sql)?;
    for task in tasks {
        statement.execute(params![task, Status::Processing.number(), batch, started_at])?;
    }
    Ok(())
}

fn all(connection: &Connection) -> Result<Vec<Written>, StoreError> {
    let mut statement = connection.prepare("SELECT batch, folder, written, deaths FROM background ORDER BY batch")?;
    let mut rows = statement.query([])?;
    let mut all = Vec::new();
    while let Some(row) = rows.next()? {
        let (uid, folder, written): (u32, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let corrupt = |source| StoreError::Corrupt { what: "batch", uid, source };
        let batch = serde_json::from_str(&written).map_err(corrupt)?;
        let index = |reason: String| StoreError::Index { uid: format!("of batch {uid}"), reason };
        let folder = FolderName::try_from(folder).map_err(|error| index(error.to_string()))?;
        all.push(Written { batch, folder, deaths: row.get(3)? });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::{FinishedTask, TaskResult};
    use super::*;
    use crate::tasks::content::Content;
    use crate::tasks::new_task::NewTask;
    use crate::tasks::uid_set::UidSet;

    #[test]
    fn what_is_written_is_not_carried_out_again_and_what_asks_is() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Store::open(&folder.path().join("tasks.sqlite")).unwrap();
        let store = open();
        for _ in 0..4 {
            store.enqueue(NewTask::for_index("films", Content::Clear { mark: None })).unwrap();
        }
        let at = Timestamp::from_nanos(7);
        let place = FolderName::random();
        let done = |uid| FinishedTask { uid, result: TaskResult::Succeeded(Some(1)) };
        let batch =
            |uid, tasks: &[u32]| FinishedBatch::now(uid, at, String::new(), tasks.iter().copied().map(done).collect());
        store.put_in_background(&batch(5, &[0, 1]), &place).unwrap();
        store.set_processing(6, at, &[2]).unwrap();
        assert_eq!(store.oldest_enqueued().unwrap().unwrap().uid, 3);
        assert_eq!(store.next_batch_uid().unwrap(), 6);
        let moment = store.moment().unwrap();
        assert_eq!(moment.waiting.runs().collect::<Vec<_>>(), [(2, 3)], "another server carries these out");
        assert_eq!(moment.next_batch, 6);
        drop(store);
        let store = open();
        let [written] = store.background_at_start(2).unwrap().try_into().unwrap();
        assert_eq!((written.batch.uid, &written.folder, written.deaths), (5, &place, 2));
        assert_eq!(store.oldest_enqueued().unwrap().unwrap().uid, 2);
        assert_eq!(store.processing_of(5).unwrap().len(), 2);
        // A later batch ends before.
        store.finish(&batch(6, &[2])).unwrap();
        assert_eq!(store.task(0).unwrap().unwrap().status, Status::Processing);
        let mut cancelation = batch(7, &[]);
        cancelation.canceled = Some((3, UidSet::from_iter([0, 3])));
        cancelation.written = vec![done(0)];
        store.finish(&cancelation).unwrap();
        assert_eq!(store.task(0).unwrap().unwrap().status, Status::Canceled);
        store.finish(&batch(5, &[0, 1])).unwrap();
        assert_eq!(store.task(0).unwrap().unwrap().batch_uid, Some(7));
        assert_eq!(store.task(1).unwrap().unwrap().status, Status::Succeeded);
        assert!(store.in_background().unwrap().is_empty());
    }
}
