//! The end of a batch: everything that it changes in the store, in one transaction.

use lamina_base::aliases::AliasMoves;
use lamina_base::stored_names::{FolderName, PayloadName};
use lamina_base::timestamp::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{RuleChange, Store, StoreError, Writer, aliases, listing, rows, rules};
use crate::tasks::content::Content;
use crate::tasks::details::{self, Progress};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::{Kind, Status};
use crate::tasks::task::StoredError;
use crate::tasks::uid_set::UidSet;
use crate::tasks::work;

/// Results of a batch, complete enough to be stored by another process. The engine keeps them with its commit, so
/// that a crash between that commit and this transaction loses nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedBatch {
    /// Uid of the batch.
    pub uid: u32,
    /// Nanoseconds since 1970.
    pub started_at: i64,
    /// Nanoseconds since 1970.
    pub finished_at: i64,
    /// Reason why the batch did not hold more tasks.
    pub strategy: String,
    /// Outcome of each task of the batch.
    pub tasks: Vec<FinishedTask>,
    /// Changes of the names of the indexes, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub index_changes: Vec<IndexChange>,
    /// Changes of dynamic search rules, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rule_changes: Vec<RuleChange>,
    /// Tasks that the batch cancels, and the cancelation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canceled: Option<(u32, UidSet)>,
    /// Completed work of canceled tasks: their documents were written, and waited for vectors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<FinishedTask>,
    /// Tasks that the batch deletes, with the deletion each belongs to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<(u32, UidSet)>,
    /// The index whose documents are to be embedded before the batch ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embeds: Option<String>,
    /// Durations of its steps, as text; unknown after a crash.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub progress_trace: Map<String, Value>,
    /// Members of its `stats` about what it wrote; unknown after a crash.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub write_stats: Map<String, Value>,
    /// Outcome of its requests for vectors, if there were any; unknown after a crash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder_requests: Option<Value>,
}

impl FinishedBatch {
    /// A batch that ends now and did no more than finish these tasks.
    pub fn now(uid: u32, started_at: Timestamp, strategy: String, tasks: Vec<FinishedTask>) -> FinishedBatch {
        FinishedBatch {
            uid,
            started_at: started_at.nanos(),
            finished_at: Timestamp::now().nanos(),
            strategy,
            tasks,
            index_changes: Vec::new(),
            rule_changes: Vec::new(),
            canceled: None,
            written: Vec::new(),
            deleted: Vec::new(),
            embeds: None,
            progress_trace: Map::new(),
            write_stats: Map::new(),
            embedder_requests: None,
        }
    }
}

/// A task of a finished batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedTask {
    /// Uid of the task.
    pub uid: u32,
    /// Outcome of the task.
    pub result: TaskResult,
}

/// Outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskResult {
    /// With the counter of its type; `None` when the work was absorbed by another task or nothing is counted.
    Succeeded(Option<u64>),
    /// With entries of its `details` that are known at its end only.
    Reported(Map<String, Value>),
    /// With the counter of its type, and what is to be reported of embeddings that could not be made. With an error the task
    /// has failed, although what it counts was done.
    Unembedded {
        /// Count as in `Succeeded`; `None` also when the entries have it.
        count: Option<u64>,
        /// Entries of its `details`.
        report: Map<String, Value>,
        /// Reason why no text was embedded.
        error: Option<StoredError>,
    },
    /// The task failed with this error.
    Failed(StoredError),
}

/// A change of the names of indexes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum IndexChange {
    /// A new index in this folder.
    Created { uid: String, folder: FolderName },
    /// The folder can be removed afterwards.
    Deleted { uid: String },
    /// Another name.
    Renamed { from: String, to: String },
    /// Two indexes change names; the history of tasks older than `task` follows them.
    Swapped { one: String, other: String, task: u32 },
    /// Another name; the history of tasks older than `task` follows it.
    SwappedIntoFree { from: String, to: String, task: u32 },
    /// Aliases get other indexes or are removed, all at once. `at`: nanoseconds since 1970.
    Aliased { moves: AliasMoves, at: i64 },
}

impl Store {
    /// Stores the end of a batch. Returns the payload files that are not needed any more. One fsync.
    ///
    /// # Errors
    /// Nothing is stored then; the call can be repeated.
    pub fn finish(&self, batch: &FinishedBatch) -> Result<Vec<PayloadName>, StoreError> {
        let mut writer = self.writer.lock();
        let files = self.end(&mut writer, batch)?;
        writer.given_batch(batch.uid);
        Ok(files)
    }

    fn end(&self, writer: &mut Writer, batch: &FinishedBatch) -> Result<Vec<PayloadName>, StoreError> {
        let transaction = writer.connection.transaction()?;
        let mut files = Vec::new();
        let mut summary = Summary::default();
        let deleted_counts = batch
            .deleted
            .iter()
            .map(|(uid, tasks)| Ok((*uid, delete_tasks(&transaction, tasks)?)))
            .collect::<Result<Vec<_>, StoreError>>()?;
        let canceled_count = match &batch.canceled {
            Some((by, tasks)) => cancel_tasks(&transaction, batch, *by, tasks, &mut files, &mut summary)?,
            None => 0,
        };
        for task in &batch.tasks {
            let (status, progress, error, report) = match &task.result {
                TaskResult::Succeeded(count) => {
                    let deleted = deleted_counts.iter().find(|(uid, _)| *uid == task.uid).map(|(_, count)| *count);
                    let canceled = batch.canceled.as_ref().filter(|(by, _)| *by == task.uid).map(|_| canceled_count);
                    (Status::Succeeded, Progress::Done(count.or(deleted).or(canceled)), None, None)
                }
                TaskResult::Reported(report) => (Status::Succeeded, Progress::Done(None), None, Some(report)),
                TaskResult::Unembedded { count, report, error } => {
                    let status = if error.is_some() { Status::Failed } else { Status::Succeeded };
                    (status, Progress::Done(*count), error.as_ref(), Some(report))
                }
                TaskResult::Failed(error) => (Status::Failed, Progress::Undone, Some(error), None),
            };
            let end = End { status, progress, error, report, canceled_by: None };
            end_task(&transaction, batch, task.uid, &end, &mut files, &mut summary)?;
        }
        for change in &batch.index_changes {
            change_indexes(&transaction, change)?;
        }
        for change in &batch.rule_changes {
            rules::change(&transaction, change)?;
        }
        end_in_background(&transaction, batch)?;
        summary.store(&transaction, batch)?;
        if let Some(marks) = &mut writer.marks {
            marks.allow_batches(batch.uid.saturating_add(1))?;
        }
        transaction.commit()?;
        self.room.measure(writer.connection.connection());
        Ok(files)
    }
}

struct End<'a> {
    status: Status,
    progress: Progress,
    error: Option<&'a StoredError>,
    report: Option<&'a Map<String, Value>>,
    canceled_by: Option<u32>,
}

/// Gathers what the batch says about its tasks.
#[derive(Default)]
struct Summary {
    details: Map<String, Value>,
    tasks: Vec<(Status, Kind, Option<String>)>,
}

impl Summary {
    fn store(mut self, connection: &Connection, batch: &FinishedBatch) -> Result<(), StoreError> {
        // Settings keep their nulls: there they mean a reset.
        if self.tasks.iter().any(|(_, kind, _)| *kind != Kind::SettingsUpdate) {
            self.details.retain(|_, value| !value.is_null());
        }
        let mut stats =
            listing::stats(self.tasks.iter().map(|(status, kind, index)| (*status, *kind, index.as_deref())));
        if !batch.progress_trace.is_empty() {
            stats["progressTrace"] = Value::Object(batch.progress_trace.clone());
        }
        for (name, value) in &batch.write_stats {
            stats[name] = value.clone();
        }
        if let Some(requests) = &batch.embedder_requests {
            stats["embedderRequests"] = requests.clone();
        }
        connection
            .prepare_cached(
                "INSERT INTO batches (uid, started_at, finished_at, details, stats, strategy)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute(params![
                batch.uid,
                batch.started_at,
                batch.finished_at,
                Value::Object(self.details).to_string(),
                stats.to_string(),
                batch.strategy
            ])?;
        Ok(())
    }
}

fn end_task(
    connection: &Connection,
    batch: &FinishedBatch,
    uid: u32,
    end: &End<'_>,
    files: &mut Vec<PayloadName>,
    summary: &mut Summary,
) -> Result<(), StoreError> {
    let (index_uid, content): (Option<String>, Option<String>) = connection
        .prepare_cached("SELECT index_uid, content FROM tasks WHERE uid = ?1")?
        .query_row([uid], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let Some(content) = content else {
        // Already final. Nothing enqueues a task twice, so this is a repeated call whose first one did commit.
        return Ok(());
    };
    let content = rows::content(uid, &content)?;
    let mut details = details::details(&content, end.progress);
    if let (Content::UpdateIndex { new_uid: Some(new_uid), .. }, Some(old)) = (&content, &index_uid) {
        details::add_rename(&mut details, old, new_uid);
    }
    details.extend(end.report.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    details::merge_into(&mut summary.details, &details, content.kind() == Kind::SettingsUpdate);
    summary.tasks.push((end.status, content.kind(), index_uid));
    if let Some(file) = content.payload_file() {
        files.push(file.clone());
    }
    let error = end.error.map(serde_json::to_string).transpose().map_err(|source| StoreError::Corrupt {
        what: "error",
        uid,
        source,
    })?;
    connection
        .prepare_cached(
            "UPDATE tasks SET status = ?2, batch_uid = ?3, started_at = ?4, finished_at = ?5, details = ?6, error = ?7,
             canceled_by = ?8, content = NULL, work = ?9 WHERE uid = ?1",
        )?
        .execute(params![
            uid,
            end.status.number(),
            batch.uid,
            batch.started_at,
            batch.finished_at,
            details::has_details(&content).then(|| Value::Object(details).to_string()),
            error,
            end.canceled_by,
            work::kept(&content)
        ])?;
    connection.prepare_cached("DELETE FROM payloads WHERE task_uid = ?1")?.execute([uid])?;
    Ok(())
}

fn cancel_tasks(
    connection: &Connection,
    batch: &FinishedBatch,
    by: u32,
    tasks: &UidSet,
    files: &mut Vec<PayloadName>,
    summary: &mut Summary,
) -> Result<u64, StoreError> {
    let mut count = 0;
    for (first, last) in tasks.runs() {
        // A cancelation cannot be canceled.
        let mut statement = connection
            .prepare_cached("SELECT uid FROM tasks WHERE uid BETWEEN ?1 AND ?2 AND status IN (0, 1) AND kind <> ?3")?;
        let uids: Vec<u32> = statement
            .query_map((first, last, Kind::TaskCancelation.number()), |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        for uid in uids {
            let written = batch.written.iter().find(|task| task.uid == uid);
            let (progress, report) = match written.map(|task| &task.result) {
                Some(TaskResult::Succeeded(count)) => (Progress::Done(*count), None),
                Some(TaskResult::Reported(report)) => (Progress::Done(None), Some(report)),
                _ => (Progress::Undone, None),
            };
            let end = End { status: Status::Canceled, progress, error: None, report, canceled_by: Some(by) };
            end_task(connection, batch, uid, &end, files, summary)?;
            count += 1;
        }
    }
    Ok(count)
}

impl Store {
    /// The upgrade begun last, if it has not succeeded.
    ///
    /// # Errors
    /// The tasks cannot be read.
    pub fn unfinished_upgrade(&self) -> Result<Option<u32>, StoreError> {
        let last: Option<(u32, u8)> = self.read(|connection| {
            connection
                .prepare_cached("SELECT uid, status FROM tasks WHERE kind = ?1 ORDER BY uid DESC LIMIT 1")?
                .query_row([Kind::UpgradeDatabase.number()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
                .map_err(StoreError::from)
        })?;
        Ok(last.filter(|(_, status)| *status != Status::Succeeded.number()).map(|(uid, _)| uid))
    }

    /// Puts the upgrade that failed last back into the queue, under its old uid; that uid.
    ///
    /// # Errors
    /// Nothing has changed then.
    pub fn retry_failed_upgrade(&self) -> Result<Option<u32>, StoreError> {
        let mut writer = self.writer.lock();
        let transaction = writer.connection.transaction()?;
        let last: Option<(u32, u8, Option<String>)> = transaction
            .prepare_cached("SELECT uid, status, details FROM tasks WHERE kind = ?1 ORDER BY uid DESC LIMIT 1")?
            .query_row([Kind::UpgradeDatabase.number()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
            .optional()?;
        let Some((uid, _, Some(details))) = last.filter(|(_, status, _)| *status == Status::Failed.number()) else {
            return Ok(None);
        };
        let corrupt = |what| move |source| StoreError::Corrupt { what, uid, source };
        // The work of a finished task is forgotten; of an upgrade its details have all of it.
        let details: Value = serde_json::from_str(&details).map_err(corrupt("details"))?;
        let version = |key: &str| details[key].as_str().unwrap_or_default().trim_start_matches('v').to_owned();
        let content = Content::UpgradeDatabase { from: version("upgradeFrom"), to: version("upgradeTo") };
        let content = serde_json::to_string(&content).map_err(corrupt("content"))?;
        transaction
            .prepare_cached(
                "UPDATE tasks SET status = 0, batch_uid = NULL, started_at = NULL, finished_at = NULL, error = NULL,
                 content = ?2 WHERE uid = ?1",
            )?
            .execute(params![uid, content])?;
        // The batch that failed stays, for it may be the highest and batch uids are not given twice.
        transaction.commit()?;
        Ok(Some(uid))
    }
}

fn delete_tasks(connection: &Connection, tasks: &UidSet) -> Result<u64, StoreError> {
    let mut count = 0;
    for (first, last) in tasks.runs() {
        count += connection
            .prepare_cached("DELETE FROM tasks WHERE uid BETWEEN ?1 AND ?2 AND status IN (2, 3, 4)")?
            .execute([first, last])?;
    }
    connection
        .prepare_cached("DELETE FROM batches WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE batch_uid = batches.uid)")?
        .execute([])?;
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}

pub(super) fn change_indexes(connection: &Connection, change: &IndexChange) -> Result<(), StoreError> {
    let rename = |from: &str, to: &str| -> Result<(), StoreError> {
        connection.prepare_cached("UPDATE indexes SET uid = ?2 WHERE uid = ?1")?.execute([from, to])?;
        aliases::follow(connection, from, to)
    };
    let move_history = |one: &str, other: &str, task: u32| -> Result<(), StoreError> {
        connection
            .prepare_cached(
                "UPDATE tasks SET index_uid = CASE index_uid WHEN ?1 THEN ?2 ELSE ?1 END
                 WHERE index_uid IN (?1, ?2) AND uid < ?3",
            )?
            .execute(params![one, other, task])?;
        Ok(())
    };
    match change {
        IndexChange::Created { uid, folder } => {
            connection
                .prepare_cached("INSERT INTO indexes (uid, folder) VALUES (?1, ?2)")?
                .execute([uid.as_str(), folder.as_str()])?;
            connection.prepare_cached("DELETE FROM folder_intents WHERE folder = ?1")?.execute([folder])?;
        }
        IndexChange::Deleted { uid } => {
            // Durable with the deletion, and before the folder goes.
            let intend = "INSERT OR REPLACE INTO folder_intents (folder) SELECT folder FROM indexes WHERE uid = ?1";
            connection.prepare_cached(intend)?.execute([uid])?;
            connection.prepare_cached("DELETE FROM indexes WHERE uid = ?1")?.execute([uid])?;
            aliases::end(connection, uid)?;
        }
        IndexChange::Renamed { from, to } => rename(from, to)?,
        IndexChange::Swapped { one, other, task } => {
            let folder = |uid: &str| -> Result<Option<String>, StoreError> {
                let mut statement = connection.prepare_cached("SELECT folder FROM indexes WHERE uid = ?1")?;
                Ok(statement.query_row([uid], |row| row.get(0)).optional()?)
            };
            let (folder_of_one, folder_of_other) = (folder(one)?, folder(other)?);
            connection.prepare_cached("DELETE FROM indexes WHERE uid IN (?1, ?2)")?.execute([one, other])?;
            let mut insert = connection.prepare_cached("INSERT INTO indexes (uid, folder) VALUES (?1, ?2)")?;
            for (uid, folder) in [(one, folder_of_other), (other, folder_of_one)] {
                if let Some(folder) = folder {
                    insert.execute([uid, &folder])?;
                }
            }
            move_history(one, other, *task)?;
        }
        IndexChange::SwappedIntoFree { from, to, task } => {
            rename(from, to)?;
            move_history(from, to, *task)?;
        }
        IndexChange::Aliased { moves, at } => aliases::change(connection, moves, *at)?,
    }
    Ok(())
}
/// Forgets a batch that went on in the background, and those of which no task is left.
fn end_in_background(connection: &Connection, batch: &FinishedBatch) -> Result<(), StoreError> {
    connection.prepare_cached("DELETE FROM background WHERE batch = ?1")?.execute([batch.uid])?;
    if batch.canceled.is_some() {
        // Nothing is left of a batch whose tasks are all canceled.
        let sql =
            "DELETE FROM background WHERE NOT EXISTS (SELECT 1 FROM tasks WHERE batch_uid = batch AND status = 1)";
        connection.prepare_cached(sql)?.execute([])?;
    }
    Ok(())
}
