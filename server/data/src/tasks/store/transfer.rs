//! Tasks and batches on their way to another store and from one.

use lamina_base::stored_names::FolderName;
use lamina_base::timestamp::Timestamp;
use rusqlite::{Connection, params};
use serde_json::{Map, Value};

use super::{Store, StoreError, TaskResult, Written, listing, rows};
use crate::tasks::content::Content;
use crate::tasks::details::{Progress, add_rename, details, has_details};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::Status;
use crate::tasks::task::{StoredError, Task};
use crate::tasks::work;

/// A task with what only the store knows of it.
#[derive(Clone, Debug)]
pub struct TransferredTask {
    /// The task; its details, when it is enqueued and they are absent, follow from its content.
    pub task: Task,
    /// Work of the task; `None` once it is final.
    pub content: Option<Content>,
    /// Completed work, in the form of dumps; `None` where its details hold it.
    pub work: Option<String>,
}

/// A finished batch as it is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferredBatch {
    /// Uid of the batch.
    pub uid: u32,
    /// Time at which the batch started.
    pub started_at: Timestamp,
    /// Time at which the batch ended.
    pub finished_at: Timestamp,
    /// Merged details of its tasks.
    pub details: Map<String, Value>,
    /// Counts for `GET /batches`.
    pub stats: Value,
    /// Reason why the batch stopped growing.
    pub strategy: String,
}

impl Store {
    /// Calls `take` with every task up to `last`, by uid. New tasks may be registered meanwhile.
    ///
    /// # Errors
    /// What the store says, or the first error of `take`.
    pub fn export_tasks<E: From<StoreError>>(
        &self,
        last: u32,
        mut take: impl FnMut(TransferredTask) -> Result<(), E>,
    ) -> Result<(), E> {
        // Before the tasks are read: those of a batch that ends meanwhile are final in any case.
        let written = self.in_background()?;
        self.read(|connection| {
            let sql = format!("SELECT {}, content, work FROM tasks WHERE uid <= ?1 ORDER BY uid", rows::TASK_COLUMNS);
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query([last])?;
            while let Some(row) = rows.next()? {
                let mut task = rows::task(row)?;
                let content: Option<String> = row.get(CONTENT_COLUMN)?;
                let mut content = content.map(|text| rows::content(task.uid, &text)).transpose()?;
                let mut work = row.get(CONTENT_COLUMN + 1)?;
                if task.status == Status::Processing {
                    work = settle(&mut task, &mut content, &written);
                }
                if let Err(error) = take(TransferredTask { task, content, work }) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        })?
    }

    /// Calls `take` with every finished batch, by uid, in its public form.
    ///
    /// # Errors
    /// What the store says, or the first error of `take`.
    pub fn export_batches<E: From<StoreError>>(
        &self,
        mut take: impl FnMut(&listing::Batch) -> Result<(), E>,
    ) -> Result<(), E> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&listing::all_batches())?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                if let Err(error) = take(&listing::batch(row)?) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        })?
    }

    /// Fills an empty store, all or nothing: indexes with their folders, batches, tasks.
    ///
    /// # Errors
    /// What the store says, or the first error of an iterator; nothing is stored then.
    pub fn import<E: From<StoreError>>(
        &self,
        indexes: &[(String, FolderName)],
        batches: impl Iterator<Item = Result<TransferredBatch, E>>,
        tasks: impl Iterator<Item = Result<TransferredTask, E>>,
    ) -> Result<(), E> {
        let mut guard = self.writer.lock();
        let writer = &mut *guard;
        let transaction = writer.connection.transaction()?;
        for (uid, folder) in indexes {
            transaction
                .execute("INSERT INTO indexes (uid, folder) VALUES (?1, ?2)", [uid.as_str(), folder.as_str()])
                .map_err(StoreError::from)?;
            transaction.execute("DELETE FROM folder_intents WHERE folder = ?1", [folder]).map_err(StoreError::from)?;
        }
        for batch in batches {
            insert_batch(&transaction, &batch?)?;
        }
        let mut next_uid = 0;
        for task in tasks {
            let task = task?;
            insert_task(&transaction, &task)?;
            next_uid = next_uid.max(task.task.uid.checked_add(1).ok_or(StoreError::Exhausted)?);
        }
        if let Some(marks) = &mut writer.marks {
            marks.allow_tasks(next_uid).map_err(StoreError::from)?;
        }
        transaction.commit()?;
        writer.next_uid = next_uid;
        if let Some(marks) = &mut writer.marks {
            marks.given_tasks(next_uid);
        }
        Ok(())
    }
}

/// A task of a batch that goes on in the background, as another server is to know it: done where its documents are written, which
/// must not be written once more over later ones; to be carried out where nothing is. Its work, in the form of dumps.
fn settle(task: &mut Task, content: &mut Option<Content>, written: &[Written]) -> Option<String> {
    let uid = task.uid;
    let of = |written: &Written| written.batch.tasks.iter().find(|task| task.uid == uid).cloned();
    let Some(result) = written.iter().find_map(of).map(|task| task.result) else {
        (task.status, task.batch_uid, task.started_at) = (Status::Enqueued, None, None);
        return None;
    };
    let (progress, error, report) = match result {
        TaskResult::Succeeded(count) => (Progress::Done(count), None, Map::new()),
        TaskResult::Reported(report) => (Progress::Done(None), None, report),
        TaskResult::Unembedded { count, report, error } => (Progress::Done(count), error, report),
        TaskResult::Failed(error) => (Progress::Undone, Some(error), Map::new()),
    };
    task.status = if error.is_some() { Status::Failed } else { Status::Succeeded };
    task.error = error.map(Into::into);
    (task.batch_uid, task.finished_at) = (None, Some(Timestamp::now()));
    let content = content.take()?;
    if has_details(&content) {
        let mut details = details(&content, progress);
        details.extend(report);
        task.details = serde_json::value::to_raw_value(&details).ok();
    }
    work::kept(&content)
}

/// After [`rows::TASK_COLUMNS`].
const CONTENT_COLUMN: usize = 12;

fn insert_batch(connection: &Connection, batch: &TransferredBatch) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "INSERT INTO batches (uid, started_at, finished_at, details, stats, strategy)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            batch.uid,
            batch.started_at.nanos(),
            batch.finished_at.nanos(),
            Value::Object(batch.details.clone()).to_string(),
            batch.stats.to_string(),
            batch.strategy
        ])?;
    Ok(())
}

fn insert_task(connection: &Connection, transferred: &TransferredTask) -> Result<(), StoreError> {
    let TransferredTask { task, content, work } = transferred;
    let corrupt = |what| move |source| StoreError::Corrupt { what, uid: task.uid, source };
    let from_content = || {
        let content = content.as_ref()?;
        let mut details = details(content, Progress::Waiting);
        if let (Content::UpdateIndex { new_uid: Some(new_uid), .. }, Some(old)) = (content, &task.index_uid) {
            add_rename(&mut details, old, new_uid);
        }
        has_details(content).then(|| Value::Object(details).to_string())
    };
    let details = task.details.as_ref().map(|details| details.get().to_owned()).or_else(from_content);
    let error = task.error.as_ref().map(StoredError::from);
    let error = error.map(|error| serde_json::to_string(&error)).transpose().map_err(corrupt("error"))?;
    let content = content.as_ref().map(serde_json::to_string).transpose().map_err(corrupt("content"))?;
    connection
        .prepare_cached(
            "INSERT INTO tasks (uid, batch_uid, index_uid, kind, status, canceled_by, enqueued_at, started_at,
             finished_at, details, error, custom_metadata, content, work)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        )?
        .execute(params![
            task.uid,
            task.batch_uid,
            task.index_uid,
            task.kind.number(),
            task.status.number(),
            task.canceled_by,
            task.enqueued_at.nanos(),
            task.started_at.map(Timestamp::nanos),
            task.finished_at.map(Timestamp::nanos),
            details,
            error,
            task.custom_metadata,
            content,
            work
        ])?;
    Ok(())
}
