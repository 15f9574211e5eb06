//! Looking tasks and batches up.

use std::fmt::Write as _;
use std::sync::Arc;

use lamina_base::budget::AnswerBudget;
use lamina_base::budget::costs::{BATCH_BYTES, LISTED_COPIES};
use lamina_base::timestamp::{IsoDuration, Timestamp};
use lamina_engine::index::Phase;
use lamina_engine::index::embedding::Trouble;
use lamina_protocol::wire::tasks::{Bounds, Paging, TaskFilter};
use rusqlite::types::Value as SqlValue;
use rusqlite::{OptionalExtension, Row, params_from_iter};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::{Store, StoreError, rows};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::{Kind, Status};
use crate::tasks::live::LiveBatch;
use crate::tasks::steps::Step;
use crate::tasks::task::Task;
use crate::tasks::uid_set::UidSet;

/// A page of tasks or batches.
#[derive(Clone, Debug, Serialize)]
pub struct Page<T> {
    /// In order of the paging.
    pub results: Vec<T>,
    /// Number of results on all pages.
    pub total: u64,
    /// Limit as requested.
    pub limit: u64,
    /// Uid of the first result.
    pub from: Option<u32>,
    /// `from` of the next page.
    pub next: Option<u32>,
}

/// The batches that are not over.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lives<'a> {
    /// The one that is carried out; the store does not know of it.
    pub under_way: Option<&'a LiveBatch>,
    /// Batches that go on beside it, by uid.
    pub background: &'a [Arc<LiveBatch>],
}

/// The public batch object.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    uid: u32,
    progress: Option<Value>,
    details: Box<RawValue>,
    stats: Box<RawValue>,
    duration: Option<IsoDuration>,
    started_at: Timestamp,
    finished_at: Option<Timestamp>,
    batch_strategy: String,
}

impl Batch {
    /// Changes its `details` and `stats` as they are shown.
    pub fn reshow(&mut self, change: impl FnOnce(&mut Value, &mut Value)) {
        let value = |text: &RawValue| serde_json::from_str(text.get()).unwrap_or_default();
        let (mut details, mut stats) = (value(&self.details), value(&self.stats));
        change(&mut details, &mut stats);
        (self.details, self.stats) = (raw(&details), raw(&stats));
    }
}

impl From<&LiveBatch> for Batch {
    fn from(live: &LiveBatch) -> Batch {
        Batch {
            uid: live.uid,
            progress: Some(progress(live)),
            details: raw(&live.details),
            stats: raw(&live_stats(live)),
            duration: None,
            started_at: live.started_at,
            finished_at: None,
            batch_strategy: live.strategy.clone(),
        }
    }
}

fn live_stats(live: &LiveBatch) -> Value {
    let mut stats = live.stats.clone();
    if let Some(requests) = live.embedder_requests() {
        stats["embedderRequests"] = requests;
    }
    stats
}

fn raw(value: &impl Serialize) -> Box<RawValue> {
    serde_json::value::to_raw_value(value).expect("JSON values have text keys")
}

/// Returns the public name of a phase of the engine.
pub fn step_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Preparing => "preparing documents",
        Phase::ReadingIds => "reading ids",
        Phase::Indexing => "indexing documents",
        Phase::Deleting => "deleting documents",
        Phase::BuildingColumns => "building columns",
        Phase::RewritingSegments => "rewriting segments",
        Phase::Embedding => "embedding documents",
        Phase::Committing => "committing",
        Phase::Finished => "writing tasks to disk",
    }
}

/// The public progress of the batch under way.
pub fn progress(live: &LiveBatch) -> Value {
    let steps = steps(live);
    // The unit of a step is the whole of the step inside it.
    let (mut percentage, mut unit) = (0.0, 100.0);
    for Step { finished, total, .. } in steps.iter().filter(|step| step.total > 0) {
        percentage += unit * *finished.min(total) as f64 / *total as f64;
        unit /= *total as f64;
    }
    let shown = steps
        .iter()
        .map(|step| json!({ "currentStep": step.name, "finished": step.finished, "total": step.total }))
        .collect::<Value>();
    json!({ "steps": shown, "percentage": percentage })
}

fn steps(live: &LiveBatch) -> Vec<Step> {
    let step = |name: &str, finished, total| Step { name: name.to_owned(), finished, total };
    let current = live.current();
    let phase = current.phase();
    if phase == Phase::Finished {
        return vec![step(step_name(phase), 1, 2)];
    }
    let mut steps = vec![step("processing tasks", 0, 2)];
    let own = live.steps.open();
    if own.is_empty() {
        steps.push(step(step_name(phase), current.done(), current.total()));
    } else {
        steps.extend(own);
    }
    // What keeps it waiting is said as soon as it is known.
    if let Some(Trouble { attempt, attempts_max, reason }) = current.embedding().seen().trouble {
        let name = format!("try {} of {attempts_max} after: {reason}", attempt + 1);
        steps.push(step(&name, attempt.into(), attempts_max.into()));
    }
    steps
}

/// Counts the tasks of a batch by status, type and index.
pub fn stats<'a>(tasks: impl Iterator<Item = (Status, Kind, Option<&'a str>)>) -> Value {
    let (mut total, mut statuses, mut kinds, mut indexes) = (0u64, Map::new(), Map::new(), Map::new());
    let count = |map: &mut Map<String, Value>, key: &str| {
        let before = map.get(key).and_then(Value::as_u64).unwrap_or(0);
        map.insert(key.to_owned(), (before + 1).into());
    };
    for (status, kind, index) in tasks {
        total += 1;
        count(&mut statuses, status.as_str());
        count(&mut kinds, kind.as_str());
        if let Some(index) = index {
            count(&mut indexes, index);
        }
    }
    json!({ "totalNbTasks": total, "status": statuses, "types": kinds, "indexUids": indexes })
}

/// A `WHERE` clause under construction.
#[derive(Default)]
struct Condition {
    text: String,
    values: Vec<SqlValue>,
}

impl Condition {
    /// Adds `text`, in which `@` stands for `value`.
    fn and(&mut self, text: &str, value: impl Into<SqlValue>) {
        self.values.push(value.into());
        let text = text.replace('@', &format!("?{}", self.values.len()));
        self.and_text(&text);
    }

    fn and_text(&mut self, text: &str) {
        self.text.push_str(if self.text.is_empty() { " WHERE (" } else { " AND (" });
        self.text.push_str(text);
        self.text.push(')');
    }

    fn list<T: Serialize>(&mut self, column: &str, values: &[T]) {
        self.and(&format!("{column} IN (SELECT value FROM json_each(@))"), json_text(values));
    }

    /// `or_live` names the tasks of the running batch when its start, which is not stored, lies between the bounds.
    fn between(&mut self, column: &str, bounds: &Bounds, or_live: Option<&LiveBatch>) {
        if bounds.is_open() {
            return;
        }
        let mut text = "1".to_owned();
        for (operator, bound) in [(">", bounds.after), ("<", bounds.before)] {
            if let Some(bound) = bound {
                self.values.push(bound.nanos().into());
                let _ = write!(text, " AND {column} {operator} ?{}", self.values.len());
            }
        }
        match or_live {
            Some(live) if bounds.admits(live.started_at) => {
                self.and(&format!("({text}) OR (status = 0 AND {IN_LIST})"), json_text(&live.tasks));
            }
            _ => self.and_text(&text),
        }
    }
}

const IN_LIST: &str = "uid IN (SELECT value FROM json_each(@))";

fn json_text(values: &[impl Serialize]) -> String {
    serde_json::to_string(values).expect("lists of numbers and texts are JSON")
}

fn condition(filter: &TaskFilter, live: Option<&LiveBatch>) -> Condition {
    let mut condition = Condition::default();
    if let Some(uids) = &filter.uids {
        condition.list("uid", uids);
    }
    if let Some(batches) = &filter.batch_uids {
        match live.filter(|live| batches.contains(&live.uid)) {
            Some(live) => {
                condition.values.push(json_text(batches).into());
                let stored = format!("batch_uid IN (SELECT value FROM json_each(?{}))", condition.values.len());
                condition.and(&format!("{stored} OR (status = 0 AND {IN_LIST})"), json_text(&live.tasks));
            }
            None => condition.list("batch_uid", batches),
        }
    }
    if let Some(uids) = &filter.index_uids {
        condition.list("index_uid", uids);
    }
    if let Some(patterns) = &filter.visible {
        // A pattern of uids and a glob of SQLite are the same thing: uids hold nothing that is special to either.
        condition.and("EXISTS (SELECT 1 FROM json_each(@) WHERE index_uid GLOB value)", json_text(patterns));
    }
    if let Some(kinds) = &filter.kinds {
        condition.list("kind", &kinds.iter().map(|&kind| kind.number()).collect::<Vec<_>>());
    }
    if let Some(statuses) = &filter.statuses {
        statuses_condition(&mut condition, statuses, live);
    }
    if let Some(uids) = &filter.canceled_by {
        condition.list("canceled_by", uids);
    }
    condition.between("enqueued_at", &filter.enqueued, None);
    condition.between("started_at", &filter.started, live);
    condition.between("finished_at", &filter.finished, None);
    condition
}

/// The store says `enqueued` of tasks that are being processed, unless they go on in the background.
fn statuses_condition(condition: &mut Condition, statuses: &[Status], live: Option<&LiveBatch>) {
    let stored: Vec<u8> = statuses.iter().map(|&status| status.number()).collect();
    condition.values.push(json_text(&stored).into());
    let stored = format!("status IN (SELECT value FROM json_each(?{}))", condition.values.len());
    match (live, statuses.contains(&Status::Enqueued), statuses.contains(&Status::Processing)) {
        (None, _, _) | (Some(_), true, true) => condition.and_text(&stored),
        (Some(live), true, false) => {
            condition.and(&format!("{stored} AND NOT (status = 0 AND {IN_LIST})"), json_text(&live.tasks));
        }
        (Some(live), false, true) => {
            condition.and(&format!("{stored} OR (status = 0 AND {IN_LIST})"), json_text(&live.tasks));
        }
        (Some(_), false, false) => condition.and_text(&stored),
    }
}

impl Store {
    /// One task, without what the running batch adds.
    pub fn task(&self, uid: u32) -> Result<Option<Task>, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT {} FROM tasks WHERE uid = ?1", rows::TASK_COLUMNS);
            Ok(connection.prepare_cached(&sql)?.query_row([uid], rows::task).optional()?)
        })
    }

    /// A page of tasks, counted in `budget`. Cost: the page, and a count of all that match.
    pub fn list_tasks(
        &self,
        filter: &TaskFilter,
        paging: Paging,
        live: Option<&LiveBatch>,
        budget: &AnswerBudget,
    ) -> Result<Page<Task>, StoreError> {
        self.read(|connection| {
            // One read transaction, so that the count and the page speak of the same moment.
            let transaction = connection.unchecked_transaction()?;
            let mut condition = condition(filter, live);
            let total = count(&transaction, "SELECT count(*) FROM tasks", &condition)?;
            let order = order(paging, &mut condition);
            let sql = format!("SELECT {} FROM tasks{}{order}", rows::TASK_COLUMNS, condition.text);
            let mut statement = transaction.prepare_cached(&sql)?;
            let mut tasks = Vec::new();
            for task in statement.query_map(params_from_iter(&condition.values), rows::task)? {
                let task: Task = task?;
                budget.take(task.heap_bytes().saturating_mul(LISTED_COPIES)).map_err(StoreError::Memory)?;
                tasks.push(task);
            }
            Ok(page(tasks, total, paging, |task: &Task| task.uid))
        })
    }

    /// The uids of all tasks that match.
    pub(crate) fn matching_tasks(&self, filter: &TaskFilter, live: Option<&LiveBatch>) -> Result<UidSet, StoreError> {
        self.read(|connection| {
            let condition = condition(filter, live);
            let mut statement =
                connection.prepare_cached(&format!("SELECT uid FROM tasks{} ORDER BY uid", condition.text))?;
            let uids = statement.query_map(params_from_iter(&condition.values), |row| row.get::<_, u32>(0))?;
            Ok(uids.collect::<Result<_, _>>()?)
        })
    }

    /// One finished batch.
    pub fn batch(&self, uid: u32) -> Result<Option<Batch>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!("{BATCHES} WHERE uid = ?1"))?;
            Ok(statement.query_row([uid], batch).optional()?)
        })
    }

    /// Reports whether a batch has ended.
    pub(crate) fn has_batch(&self, uid: u32) -> Result<bool, StoreError> {
        self.read(|connection| is_stored(connection, uid))
    }

    /// A page of batches with a task that matches, counted in `budget`; those of `lives` are among them when a task of theirs does.
    pub fn list_batches(
        &self,
        filter: &TaskFilter,
        paging: Paging,
        lives: Lives<'_>,
        budget: &AnswerBudget,
    ) -> Result<Page<Batch>, StoreError> {
        self.read(|connection| {
            let transaction = connection.unchecked_transaction()?;
            let tasks = condition(filter, lives.under_way);
            let mut shown = Vec::new();
            for live in lives.background.iter().map(|live| &**live).chain(lives.under_way) {
                // Just over and already stored: the stored form says more.
                if live_matches(&transaction, &tasks, live)? && !is_stored(&transaction, live.uid)? {
                    shown.push(live);
                }
            }
            let mut condition = Condition { text: String::new(), values: tasks.values };
            if !tasks.text.is_empty() {
                condition.and_text(&format!("uid IN (SELECT batch_uid FROM tasks{})", tasks.text));
            }
            let total = count(&transaction, "SELECT count(*) FROM batches", &condition)? + shown.len() as u64;
            let order = order(paging, &mut condition);
            let mut statement = transaction.prepare_cached(&format!("{BATCHES}{}{order}", condition.text))?;
            let mut batches = Vec::new();
            for batch in statement.query_map(params_from_iter(&condition.values), batch)? {
                let batch: Batch = batch?;
                let bytes = BATCH_BYTES + batch.details.get().len() + batch.stats.get().len();
                budget.take(bytes.saturating_mul(LISTED_COPIES)).map_err(StoreError::Memory)?;
                batches.push(batch);
            }
            let is_on_page = |live: &&LiveBatch| {
                paging.from.is_none_or(|from| if paging.reverse { from <= live.uid } else { from >= live.uid })
            };
            batches.extend(shown.into_iter().filter(is_on_page).map(Batch::from));
            batches.sort_by_key(|batch| if paging.reverse { i64::from(batch.uid) } else { -i64::from(batch.uid) });
            Ok(page(batches, total, paging, |batch| batch.uid))
        })
    }
}

/// A statement whose rows [`batch`] reads.
pub(super) fn all_batches() -> String {
    format!("{BATCHES} ORDER BY uid")
}

const BATCHES: &str = "SELECT uid, started_at, finished_at, details, stats, strategy FROM batches";

fn live_matches(connection: &rusqlite::Connection, tasks: &Condition, live: &LiveBatch) -> Result<bool, StoreError> {
    let mut condition = Condition { text: tasks.text.clone(), values: tasks.values.clone() };
    condition.and(IN_LIST, json_text(&live.tasks));
    Ok(count(connection, "SELECT count(*) FROM tasks", &condition)? > 0)
}

fn is_stored(connection: &rusqlite::Connection, batch: u32) -> Result<bool, StoreError> {
    Ok(connection.prepare_cached("SELECT 1 FROM batches WHERE uid = ?1")?.exists([batch])?)
}

pub(super) fn batch(row: &Row<'_>) -> rusqlite::Result<Batch> {
    let json = |column: usize| {
        RawValue::from_string(row.get(column)?).map_err(|source| {
            rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(source))
        })
    };
    let (started_at, finished_at) = (Timestamp::from_nanos(row.get(1)?), Timestamp::from_nanos(row.get(2)?));
    Ok(Batch {
        uid: row.get(0)?,
        progress: None,
        details: json(3)?,
        stats: json(4)?,
        duration: Some(started_at.duration_until(finished_at)),
        started_at,
        finished_at: Some(finished_at),
        batch_strategy: row.get(5)?,
    })
}

fn count(connection: &rusqlite::Connection, select: &str, condition: &Condition) -> Result<u64, StoreError> {
    let mut statement = connection.prepare_cached(&format!("{select}{}", condition.text))?;
    let count: i64 = statement.query_row(params_from_iter(&condition.values), |row| row.get(0))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// The end of the statement. One more row than the page holds is read: it is where the next page starts.
fn order(paging: Paging, condition: &mut Condition) -> String {
    if let Some(from) = paging.from {
        condition.and(if paging.reverse { "uid >= @" } else { "uid <= @" }, i64::from(from));
    }
    let limit = i64::try_from(paging.limit.saturating_add(1)).unwrap_or(i64::MAX);
    condition.values.push(limit.into());
    let direction = if paging.reverse { "ASC" } else { "DESC" };
    format!(" ORDER BY uid {direction} LIMIT ?{}", condition.values.len())
}

fn page<T>(mut results: Vec<T>, total: u64, paging: Paging, uid: impl Fn(&T) -> u32) -> Page<T> {
    let limit = usize::try_from(paging.limit).unwrap_or(usize::MAX);
    let next = results.get(limit).map(&uid);
    results.truncate(limit);
    Page { total, limit: paging.limit, from: results.first().map(&uid), next, results }
}
