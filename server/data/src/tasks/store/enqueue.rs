//! Registering tasks: one transaction, and one fsync, for all requests that wait at the same time.

use std::sync::Arc;

use lamina_base::timestamp::Timestamp;
use parking_lot::Mutex;
use rusqlite::params;
use serde_json::value::RawValue;

use super::{Store, StoreError, Writer};
use crate::tasks::content::Content;
use crate::tasks::details::{Progress, add_rename, details, has_details};
use crate::tasks::kind::Numbered;
use crate::tasks::kind::Status;
use crate::tasks::new_task::NewTask;
use crate::tasks::task::Task;

/// A request that waits for its task.
#[derive(Debug)]
pub(super) struct Waiting {
    new: NewTask,
    answer: Arc<Mutex<Option<Result<Task, StoreError>>>>,
}

impl Store {
    /// Stores `new` durably and gives it the next uid. Blocks for one fsync, two when another one is under way.
    ///
    /// # Errors
    /// Nothing is stored then.
    pub fn enqueue(&self, new: NewTask) -> Result<Task, StoreError> {
        self.room.check(&new.content)?;
        let answer = Arc::new(Mutex::new(None));
        self.waiting.lock().push(Waiting { new, answer: Arc::clone(&answer) });
        let mut writer = self.writer.lock();
        // The holder of the writer before us may have taken our task along.
        if let Some(result) = answer.lock().take() {
            return result;
        }
        let waiting = std::mem::take(&mut *self.waiting.lock());
        let news: Vec<&NewTask> = waiting.iter().map(|one| &one.new).collect();
        match writer.insert(&news, Timestamp::now()) {
            Ok(results) => {
                self.room.measure(writer.connection.connection());
                for (one, result) in waiting.iter().zip(results) {
                    *one.answer.lock() = Some(result);
                }
            }
            Err(error) => {
                let error = Arc::new(error);
                for one in &waiting {
                    *one.answer.lock() = Some(Err(StoreError::Shared(Arc::clone(&error))));
                }
            }
        }
        drop(writer);
        answer.lock().take().expect("our own request was among those just answered")
    }
}

impl Store {
    /// Stores tasks that were accepted `at` that time, and whose uids are given, all or none: one fsync.
    ///
    /// # Errors
    /// Nothing is stored then.
    pub fn enqueue_given(&self, news: &[NewTask], at: Timestamp) -> Result<Vec<Task>, StoreError> {
        let mut writer = self.writer.lock();
        let tasks = writer.insert(&news.iter().collect::<Vec<_>>(), at)?.into_iter().collect();
        self.room.measure(writer.connection.connection());
        tasks
    }

    /// Stores tasks that another process has accepted, under their uids, all or none. Those that are there stay as they are. How
    /// many are new.
    ///
    /// # Errors
    /// Nothing is stored then.
    pub fn enqueue_again(&self, accepted: &[(NewTask, Timestamp)]) -> Result<usize, StoreError> {
        let mut writer = self.writer.lock();
        let Writer { connection, next_uid, marks, .. } = &mut *writer;
        let transaction = connection.transaction()?;
        let (mut count, mut next) = (0, *next_uid);
        for (new, at) in accepted {
            let uid = new.uid.unwrap_or_default();
            let is_there = transaction.prepare_cached("SELECT 1 FROM tasks WHERE uid = ?1")?.exists([uid])?;
            if !is_there {
                insert_one(&transaction, uid, new, *at)?;
                count += 1;
            }
            next = next.max(uid.checked_add(1).ok_or(StoreError::Exhausted)?);
        }
        if let Some(marks) = marks {
            marks.allow_tasks(next)?;
        }
        transaction.commit()?;
        *next_uid = next;
        if let Some(marks) = marks {
            marks.given_tasks(next);
        }
        Ok(count)
    }

    /// Checks whether there is room for a task.
    ///
    /// # Errors
    /// [`StoreError::Full`]
    pub fn check_room(&self, content: &Content) -> Result<(), StoreError> {
        self.room.check(content)
    }

    /// The uid that the next task would be given, which may want one.
    ///
    /// # Errors
    /// The task wants a uid that is taken.
    pub fn uid_for(&self, wanted: Option<u32>) -> Result<u32, StoreError> {
        uid_for(wanted, self.writer.lock().next_uid)
    }
}

/// The uid of a task that may want one, where `next` is the lowest that is free.
pub fn uid_for(wanted: Option<u32>, next: u32) -> Result<u32, StoreError> {
    match wanted {
        Some(wanted) if wanted < next => Err(StoreError::UidTaken { wanted, next }),
        wanted => Ok(wanted.unwrap_or(next)),
    }
}

impl Writer {
    /// One entry per task: a uid that cannot be given is the trouble of who wants it.
    fn insert(&mut self, news: &[&NewTask], at: Timestamp) -> Result<Vec<Result<Task, StoreError>>, StoreError> {
        let Writer { connection, next_uid, marks, .. } = self;
        let transaction = connection.transaction()?;
        let mut tasks = Vec::with_capacity(news.len());
        let mut next = *next_uid;
        for new in news {
            match uid_for(new.uid, next) {
                Ok(uid) => {
                    tasks.push(Ok(insert_one(&transaction, uid, new, at)?));
                    next = uid.checked_add(1).ok_or(StoreError::Exhausted)?;
                }
                Err(taken) => tasks.push(Err(taken)),
            }
        }
        if let Some(marks) = marks {
            marks.allow_tasks(next)?;
        }
        transaction.commit()?;
        *next_uid = next;
        if let Some(marks) = marks {
            marks.given_tasks(next);
        }
        Ok(tasks)
    }
}

fn insert_one(
    connection: &rusqlite::Connection,
    uid: u32,
    new: &NewTask,
    enqueued_at: Timestamp,
) -> Result<Task, StoreError> {
    let corrupt = |what| move |source| StoreError::Corrupt { what, uid, source };
    let kind = new.content.kind();
    let mut details = details(&new.content, Progress::Waiting);
    if let (Content::UpdateIndex { new_uid: Some(new_uid), .. }, Some(old)) = (&new.content, &new.index_uid) {
        add_rename(&mut details, old, new_uid);
    }
    let details = has_details(&new.content)
        .then(|| serde_json::value::to_raw_value(&details))
        .transpose()
        .map_err(corrupt("details"))?;
    let content = serde_json::to_string(&new.content).map_err(corrupt("content"))?;
    connection
        .prepare_cached(
            "INSERT INTO tasks (uid, index_uid, kind, status, enqueued_at, details, custom_metadata, content)
             VALUES (?1, ?2, ?3, 0, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            uid,
            new.index_uid,
            kind.number(),
            enqueued_at.nanos(),
            details.as_deref().map(RawValue::get),
            new.custom_metadata,
            content
        ])?;
    if let Some(payload) = &new.inline_payload {
        connection
            .prepare_cached("INSERT INTO payloads (task_uid, documents) VALUES (?1, ?2)")?
            .execute(params![uid, &payload[..]])?;
    }
    Ok(Task {
        uid,
        batch_uid: None,
        index_uid: new.index_uid.clone(),
        status: Status::Enqueued,
        kind,
        canceled_by: None,
        details,
        error: None,
        enqueued_at,
        started_at: None,
        finished_at: None,
        custom_metadata: new.custom_metadata.clone(),
    })
}
