//! The second part of a batch: its documents are written and found by their words, now they get their vectors.
//!
//! A commit of its own, so that a slow or failing provider keeps no document from being found, and made beside the scheduler, so that it
//! keeps no other task waiting. What gets no vector waits: the next batch that brings documents to the index or speaks of its embedders
//! tries again.
//!
//! A task that brought documents gets the failures of those, one that changed settings or edited documents of all that failed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::sync::atomic::AtomicBool;

use lamina_base::error::{ApiError, ApiResult};
use lamina_data::tasks::content::{Content, Upsert};
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, Queued, TaskResult};
use lamina_engine::document::document_id;
use lamina_engine::index::embedding::{DocumentFailure, EmbedFailure, Embedded, EmbeddingError};
use lamina_engine::index::{DocumentAddress, Index, IndexError, Payload, Progress, Snapshot};
use serde_json::{Map, Value, json};

use super::Context;
use super::documents::payload;

/// Documents that a task lists one by one, at most; all are counted.
const REPORTED_MAX: usize = 100;

/// Makes the vectors that documents of an index wait for. Blocks for as long as its embedders take.
///
/// # Errors
/// The task was cancelled, or a failure that may be over in a moment.
pub(in super::super) fn make_vectors(
    index: &Index,
    progress: &Progress,
    cancelled: &AtomicBool,
) -> Result<Embedded, IndexError> {
    match index.embed_waiting(progress, cancelled) {
        Err(error) if !error.is_momentary() && !matches!(error, IndexError::Cancelled) => Ok(in_vain(index, error)),
        other => other,
    }
}

/// Returns what is reported when something that has nothing to do with embedders kept all vectors from being made.
pub(in super::super) fn in_vain(index: &Index, error: IndexError) -> Embedded {
    let failure = EmbedFailure::runtime(ApiError::from(error).message);
    let names = index.snapshot().settings.embedders.keys().cloned().map(|name| (name, failure.clone())).collect();
    Embedded { lasting: names, ..Embedded::default() }
}

/// Reports to the tasks of a batch what became of the vectors of their documents.
pub(in super::super) fn report(
    context: Context<'_>,
    uid: &str,
    index: &Index,
    embedded: &Embedded,
    batch: &mut FinishedBatch,
    tasks: &[Queued],
) {
    for (embedder, failure) in &embedded.lasting {
        tracing::warn!(index = uid, batch = batch.uid, embedder, %failure, "documents could not be embedded");
    }
    if embedded.failed == 0 && embedded.lasting.is_empty() {
        return;
    }
    let snapshot = index.snapshot();
    let reporting = Reporting::new(context, uid, &snapshot, embedded);
    for FinishedTask { uid, result } in &mut batch.tasks {
        if let Some(task) = tasks.iter().find(|task| task.uid == *uid) {
            reporting.report_to(task, result);
        }
    }
}

/// Returns whether tasks brought documents that wait for vectors, or speak of all of them. Reads their payloads up to the first that does.
pub(in super::super) fn wait_for_vectors(context: Context<'_>, snapshot: &Snapshot, tasks: &[Queued]) -> bool {
    let primary_key = snapshot.primary_key.as_deref().unwrap_or_default();
    tasks.iter().any(|task| {
        let Content::Upsert(upsert) = &task.content else { return true };
        let Ok(payload) = payload(context, task.uid, upsert) else { return true };
        let mut waits = false;
        let look = |line: &[u8]| {
            let address = document_id(line, primary_key).ok().and_then(|id| snapshot.find(id.as_str()));
            waits = waits || address.is_some_and(|address| snapshot.waited_for(address).next().is_some());
        };
        for_each_line(&payload, look).is_err() || waits
    })
}

/// Adds to what a change of settings reports that embedders could not be reached which it names.
pub(in super::super) fn report_unreached(result: &mut TaskResult, unreached: &BTreeMap<String, EmbedFailure>) {
    let lasting = unreached.iter().map(|(embedder, failure)| (&**embedder, failure)).collect();
    let failures = TaskFailures { lasting, ..TaskFailures::default() };
    if unreached.is_empty() {
        return;
    }
    let entry = ("embeddingFailures".to_owned(), failures.report());
    match result {
        TaskResult::Succeeded(_) => *result = TaskResult::Reported(Map::from_iter([entry])),
        TaskResult::Reported(report) => report.extend([entry]),
        TaskResult::Unembedded { .. } | TaskResult::Failed(_) => {}
    }
}

/// The failures that a task reports.
#[derive(Default)]
struct TaskFailures<'e> {
    /// Documents without vectors; one counts once for each embedder.
    total: u64,
    /// The first ones whose own text is the reason.
    documents: Vec<&'e DocumentFailure>,
    /// By embedder: what stands in the way of all texts.
    lasting: BTreeMap<&'e str, &'e EmbedFailure>,
}

/// Documents were written, whatever came of their vectors. Where an embedder embeds nothing, tasks that brought documents
/// for it have failed nevertheless: their sender should look at the embedder.
struct Reporting<'a> {
    context: Context<'a>,
    index_uid: &'a str,
    /// Snapshot after the vectors were made.
    snapshot: &'a Snapshot,
    embedded: &'a Embedded,
    /// By document and embedder.
    reasons: HashMap<(DocumentAddress, &'a str), &'a DocumentFailure>,
}

impl<'a> Reporting<'a> {
    fn new(context: Context<'a>, index_uid: &'a str, snapshot: &'a Snapshot, embedded: &'a Embedded) -> Reporting<'a> {
        let reason = |failed: &'a DocumentFailure| {
            let address = snapshot.find(failed.document_id.trim_matches('"'))?;
            Some(((address, &*failed.embedder), failed))
        };
        let reasons = embedded.documents.iter().filter_map(reason).collect();
        Reporting { context, index_uid, snapshot, embedded, reasons }
    }

    fn report_to(&self, task: &Queued, result: &mut TaskResult) {
        if matches!(result, TaskResult::Unembedded { .. } | TaskResult::Failed(_)) {
            return;
        }
        let (failures, may_fail) = match &task.content {
            Content::Upsert(upsert) => {
                let failures = self.of_payload(task.uid, upsert).unwrap_or_else(|error| {
                    tracing::warn!(task = task.uid, %error, "cannot read the documents of a task again: it lists all failures");
                    self.of_all()
                });
                (failures, true)
            }
            Content::Edit(_) => (self.of_all(), true),
            Content::Settings { patch, .. } if !patch.embedders.is_unset() => (self.of_all(), false),
            _ => return,
        };
        if failures.total == 0 && failures.lasting.is_empty() {
            return;
        }
        let (count, mut report) = match result {
            TaskResult::Succeeded(count) => (*count, Map::new()),
            TaskResult::Reported(entries) => (None, std::mem::take(entries)),
            TaskResult::Unembedded { .. } | TaskResult::Failed(_) => return,
        };
        report.insert("embeddingFailures".to_owned(), failures.report());
        let reason = failures.lasting.first_key_value().filter(|_| may_fail);
        let error = reason.map(|(embedder, failure)| (&self.error(embedder, failure)).into());
        *result = TaskResult::Unembedded { count, report, error };
    }

    fn error(&self, embedder: &str, failure: &EmbedFailure) -> ApiError {
        let failed = EmbeddingError::Failed { embedder: embedder.to_owned(), failure: failure.clone() };
        let mut error = ApiError::from(IndexError::from(failed)).prefixed(format_args!("Index `{}`: ", self.index_uid));
        error.message.push_str(
            "\n  - Note: the documents are written and found by their words. The next task that brings documents or names \
             the embedder in a change of settings tries again",
        );
        error
    }

    /// All that failed, whatever brought it.
    fn of_all(&self) -> TaskFailures<'a> {
        TaskFailures {
            total: self.embedded.failed,
            documents: self.embedded.documents.iter().take(REPORTED_MAX).collect(),
            lasting: self.embedded.lasting.iter().map(|(embedder, failure)| (&**embedder, failure)).collect(),
        }
    }

    /// The documents that a task brought and that still wait. Reads its payload again: only the documents in it say which
    /// task brought them.
    fn of_payload(&self, uid: u32, upsert: &Upsert) -> ApiResult<TaskFailures<'a>> {
        let payload = payload(self.context, uid, upsert)?;
        let primary_key = self.snapshot.primary_key.as_deref().unwrap_or_default();
        let (mut failures, mut seen) = (TaskFailures::default(), HashSet::new());
        let (mut waiting, mut is_gone) = (BTreeMap::<String, usize>::new(), false);
        let for_line = |line: &[u8]| {
            // Another task of the batch may have deleted it.
            let address = document_id(line, primary_key).ok().and_then(|id| self.snapshot.find(id.as_str()));
            let Some(address) = address else {
                is_gone = true;
                return;
            };
            if seen.insert(address) {
                self.snapshot.waited_for(address).for_each(|embedder| {
                    self.add(&mut failures, address, &embedder);
                    *waiting.entry(embedder.to_string()).or_default() += 1;
                });
            }
        };
        for_each_line(&payload, for_line)
            .map_err(|error| ApiError::internal(format!("the documents of task {uid} can't be read: {error}")))?;
        // A task of which every document was refused has failed, whatever else was in its batch.
        let fruitless = waiting.into_iter().filter(|(_, count)| *count == seen.len() && !is_gone);
        for (embedder, _) in fruitless {
            if let Some(failed) = failures.documents.iter().find(|failed| failed.embedder == embedder) {
                failures.lasting.entry(&failed.embedder).or_insert(&failed.failure);
            }
        }
        Ok(failures)
    }

    fn add(&self, failures: &mut TaskFailures<'a>, address: DocumentAddress, embedder: &str) {
        failures.total += 1;
        if let Some(failed) = self.reasons.get(&(address, embedder))
            && failures.documents.len() < REPORTED_MAX
        {
            failures.documents.push(failed);
        }
        if let Some((embedder, failure)) = self.embedded.lasting.get_key_value(embedder) {
            failures.lasting.insert(embedder, failure);
        }
    }
}

fn for_each_line(payload: &Payload, mut f: impl FnMut(&[u8])) -> io::Result<()> {
    match payload {
        // Behind the last line break there is no line.
        Payload::Bytes(bytes) => bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).for_each(f),
        Payload::File(path) => {
            let (mut reader, mut line) = (BufReader::new(File::open(path)?), Vec::new());
            while reader.read_until(b'\n', &mut line)? > 0 {
                f(&line);
                line.clear();
            }
        }
    }
    Ok(())
}

impl TaskFailures<'_> {
    /// Returns the report as clients see it.
    fn report(&self) -> Value {
        let document = |failed: &&DocumentFailure| {
            let id = serde_json::from_str(&failed.document_id).unwrap_or(Value::Null);
            json!({ "id": id, "embedder": failed.embedder, "error": failed.failure.to_string() })
        };
        let documents: Vec<Value> = self.documents.iter().map(document).collect();
        let lasting = self.lasting.iter();
        let embedders: Map<String, Value> =
            lasting.map(|(name, failure)| ((*name).to_owned(), failure.to_string().into())).collect();
        json!({ "total": self.total, "documents": documents, "embedders": embedders })
    }
}
