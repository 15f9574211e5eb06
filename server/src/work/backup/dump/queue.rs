//! Tasks, batches, and the documents of tasks that wait, in a dump. What other servers of the protocol would refuse, or not do as it was
//! asked for, goes where only this program reads.

use std::fs::File;
use std::io::{self, Read};

use lamina_base::error::ErrorDocs;
use lamina_data::instance::Instance;
use lamina_data::tasks::{
    Content, Kind, LiveBatch, PayloadDamage, PayloadPlace, Store, TransferredTask, Upsert, check_inline_payload,
    check_payload_file, work,
};
use lamina_protocol::wire::settings::keep_portable;
use serde_json::{Value, json};

use super::archive::{Archive, give_up_if_canceled};
use super::layout::{BATCHES, OWN_BATCHES, OWN_TASKS, PAYLOADS, TASKS};
use super::task_line::DumpedTask;
use crate::work::backup::BackupError;

/// Adds everything but the task `own`. `keys` are those that waiting tasks write into other dumps. What is registered meanwhile is not in
/// the dump.
pub(super) fn add_queue(
    archive: &mut Archive,
    instance: &Instance,
    store: &Store,
    own: u32,
    keys: &Value,
    live: &LiveBatch,
) -> Result<(), BackupError> {
    let last = store.uid_range()?.map_or(0, |(_, last)| last);
    let docs = ErrorDocs::default();
    let (mut lines, mut own_lines) = (archive.lines()?, archive.lines()?);
    let mut waiting = Vec::new();
    store.export_tasks(last, |transferred| {
        if transferred.task.uid == own {
            return Ok(());
        }
        give_up_if_canceled(live)?;
        let line = DumpedTask::of(&transferred, &docs).map(|line| line.with_keys(keys));
        if let Some(line) = &line {
            lines.push(line)?;
        }
        if !line.is_some_and(|line| says_all(line, &transferred)) {
            own_lines.push(&own_line(&transferred, &docs))?;
        }
        if let Some(Content::Upsert(upsert)) = transferred.content {
            waiting.push((transferred.task.uid, upsert));
        }
        Ok::<(), BackupError>(())
    })?;
    archive.add_lines(TASKS, lines)?;
    if !own_lines.is_empty() {
        archive.add_lines(OWN_TASKS, own_lines)?;
    }
    for (uid, upsert) in waiting {
        let added = add_payload(archive, instance, store, uid, &upsert, live);
        give_up_if_canceled(live)?;
        added?;
    }
    add_batches(archive, store)
}

/// Returns whether a task that is read from the line is the same again.
fn says_all(line: DumpedTask, transferred: &TransferredTask) -> bool {
    let Some(read) = line.translate() else { return false };
    let view = |task: &TransferredTask| {
        let mut view = serde_json::to_value(task.task.view(&ErrorDocs::default())).expect("tasks are plain JSON");
        if task.content.is_some() {
            // They follow from the content.
            view["details"] = Value::Null;
        }
        view
    };
    let content = |task: &TransferredTask| {
        let mut content = task.content.clone();
        if let Some(Content::Upsert(upsert)) = &mut content {
            (upsert.payload, upsert.payload_bytes, upsert.payload_checksum) = (PayloadPlace::Inline, 0, 0);
        }
        content
    };
    view(&read) == view(transferred) && content(&read) == content(transferred) && read.work == transferred.work
}

/// The public object, and what only the store knows.
fn own_line(transferred: &TransferredTask, docs: &ErrorDocs) -> Value {
    let mut line = serde_json::to_value(transferred.task.view(docs)).expect("tasks are plain JSON");
    if let Some(content) = &transferred.content {
        line["content"] = serde_json::to_value(content).expect("contents are plain JSON");
    }
    if let Some(work) = &transferred.work {
        line["work"] = work.as_str().into();
    }
    line
}

fn add_batches(archive: &mut Archive, store: &Store) -> Result<(), BackupError> {
    let (mut lines, mut own_lines) = (archive.lines()?, archive.lines()?);
    store.export_batches(|batch| {
        let batch = serde_json::to_value(batch).expect("batches are plain JSON");
        let dumped = dumped_batch(&batch);
        if let Some(dumped) = &dumped {
            lines.push(dumped)?;
        }
        if dumped.is_none_or(|dumped| dumped["details"] != batch["details"]) {
            own_lines.push(&batch)?;
        }
        Ok::<(), BackupError>(())
    })?;
    archive.add_lines(BATCHES, lines)?;
    if own_lines.is_empty() { Ok(()) } else { archive.add_lines(OWN_BATCHES, own_lines) }
}

/// A public batch in the form of dumps; `None` for one of tasks that other servers of the protocol do not know.
fn dumped_batch(batch: &Value) -> Option<Value> {
    let kinds = batch["stats"]["types"].as_object()?;
    if !kinds.keys().all(|kind| Kind::parse(kind).is_some_and(work::is_known_elsewhere)) {
        return None;
    }
    let mut details = batch["details"].clone();
    keep_portable(details.as_object_mut()?);
    Some(json!({
        "uid": batch["uid"], "details": details, "stats": batch["stats"], "startedAt": batch["startedAt"],
        "finishedAt": batch["finishedAt"], "enqueuedAt": null, "stopReason": batch["batchStrategy"],
    }))
}

/// A file that is read until the batch is given up.
struct Watched<'a> {
    file: File,
    live: &'a LiveBatch,
}

impl Read for Watched<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.live.is_cancelled() {
            return Err(io::Error::other("given up"));
        }
        self.file.read(buffer)
    }
}

fn add_payload(
    archive: &mut Archive,
    instance: &Instance,
    store: &Store,
    uid: u32,
    upsert: &Upsert,
    live: &LiveBatch,
) -> Result<(), BackupError> {
    let name = format!("{PAYLOADS}/{uid}.jsonl");
    // What is damaged is not written as if it were sound.
    let damaged = |damage: PayloadDamage| BackupError::Api(damage.of_task(uid));
    match &upsert.payload {
        PayloadPlace::Inline => {
            let documents = store.inline_payload(uid)?.ok_or(PayloadDamage::Missing).map_err(damaged)?;
            check_inline_payload(upsert, &documents).map_err(damaged)?;
            archive.add(&name, documents.len() as u64, &documents[..])
        }
        PayloadPlace::File(file) => {
            let path = instance.payload_folder().join(file);
            check_payload_file(upsert, &path).map_err(damaged)?;
            let file = File::open(&path).map_err(BackupError::io(&path))?;
            let bytes = file.metadata().map_err(BackupError::io(&path))?.len();
            archive.add(&name, bytes, Watched { file, live })
        }
    }
}
