//! Batches of documents and settings of one index: one commit of the engine.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::SystemTime;

use lamina_base::engine_errors::operation_error;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_base::stored_names::FolderName;
use lamina_data::tasks::content::{self, Content, Method, PayloadPlace};
use lamina_data::tasks::payload_check::{PayloadDamage, check_inline_payload, check_payload_file};
use lamina_data::tasks::store::{FinishedBatch, FinishedTask, IndexChange, Queued};
use lamina_engine::bits::DocSet;
use lamina_engine::condition::{OutOfTime, PreparedFilter, TimeLimit};
use lamina_engine::filter::Filter;
use lamina_engine::index::{
    CommitNote, Index, IndexError, Marking, Operation, OperationError, Outcome, Payload, Selector, Settings, Snapshot,
    Upsert, WriteMethod, expired,
};
use lamina_protocol::wire;
use lamina_protocol::wire::settings::{forget_moved_secrets, merged};
use serde_json::{Map, Value, json};

use super::indexes::{check_no_alias, may_create_index};
use super::record::Record;
use super::{Context, Done, failed, reported, succeeded};

/// Plan of a task before the engine runs: its final result, or the operation that determines it.
#[derive(Clone, Debug)]
enum PlannedTask {
    Decided(FinishedTask),
    /// `forgotten`: secrets that were stored for another address than the settings name now.
    Operation {
        uid: u32,
        is_payload: bool,
        forgotten: Vec<String>,
    },
}

/// Draft of a [`FinishedBatch`](lamina_data::tasks::store::FinishedBatch), completed by the results of the engine.
/// The draft is also completed inside the commit, so that the batch survives a crash right after it.
#[derive(Clone, Debug)]
struct BatchDraft {
    index_uid: String,
    record: Record,
    /// True if vectors may have to be made.
    embeds: bool,
    prospects: Vec<PlannedTask>,
    changes: Vec<IndexChange>,
}

type Results = [Result<Outcome, OperationError>];

impl BatchDraft {
    fn tasks(&self, results: &Results) -> Vec<FinishedTask> {
        let mut results = results.iter();
        self.prospects
            .iter()
            .map(|prospect| match prospect {
                PlannedTask::Decided(task) => task.clone(),
                PlannedTask::Operation { uid, is_payload, forgotten } => {
                    match results.next().expect("the engine answers every operation") {
                        Ok(Outcome::Upserted { indexed, .. }) => succeeded(*uid, Some(*indexed)),
                        Ok(Outcome::Deleted { deleted }) => succeeded(*uid, Some(*deleted)),
                        Ok(_) if !forgotten.is_empty() => {
                            reported(*uid, Map::from_iter([("forgottenSecrets".to_owned(), json!(forgotten))]))
                        }
                        Ok(_) => succeeded(*uid, None),
                        Err(error) => failed(*uid, &operation_error(&self.index_uid, *is_payload, error)),
                    }
                }
            })
            .collect()
    }

    fn finish(&self, tasks: &[FinishedTask]) -> FinishedBatch {
        let embeds = self.embeds.then(|| self.index_uid.clone());
        FinishedBatch { embeds, ..self.record.finish(tasks, &self.changes) }
    }

    /// The engine refused the whole batch.
    fn all_failed(&self, error: &ApiError) -> Vec<FinishedTask> {
        self.prospects
            .iter()
            .map(|prospect| match prospect {
                PlannedTask::Decided(task) => task.clone(),
                PlannedTask::Operation { uid, .. } => failed(*uid, error),
            })
            .collect()
    }
}

pub(super) fn run(context: Context<'_>, index_uid: &str, tasks: &[Queued]) -> Option<Done> {
    let mut outline = BatchDraft {
        index_uid: index_uid.to_owned(),
        record: Record::new(context.live),
        embeds: tasks.iter().any(|task| asks_for_vectors(&task.content)),
        prospects: Vec::new(),
        changes: Vec::new(),
    };
    let mut created = Vec::new();
    let index = match target(context, index_uid, tasks, &mut outline, &mut created) {
        Ok(Some(index)) => index,
        // No task of the batch may create the index: all are decided.
        Ok(None) => return Some(done(&outline, &outline.tasks(&[]), created)),
        Err(error) => {
            let ended: Vec<FinishedTask> = tasks.iter().map(|task| failed(task.uid, &error)).collect();
            return Some(done(&outline, &ended, created));
        }
    };
    let operations = match operations(context, &index, tasks, &mut outline) {
        Ok(operations) => operations,
        Err(error) => {
            let ended: Vec<FinishedTask> = tasks.iter().map(|task| failed(task.uid, &error)).collect();
            return Some(done(&outline, &ended, created));
        }
    };
    let mut is_refused_for_one = false;
    let ended = match apply(context, &index, &operations, &outline) {
        Ok(results) => outline.tasks(&results),
        Err(IndexError::Cancelled) if context.is_cancelled() => {
            drop(index);
            for (folder, index) in created {
                context.instance.discard_unnamed(&folder, index);
            }
            return None;
        }
        Err(error) => {
            tracing::warn!(index = index_uid, batch = context.live.uid, %error, "a batch failed");
            outline.embeds = false;
            let error = ApiError::from(error);
            is_refused_for_one = error.status() < 500 && !error.is_momentary();
            outline.all_failed(&error.prefixed(format_args!("Index `{index_uid}`: ")))
        }
    };
    Some(Done { is_refused_for_one, ..done(&outline, &ended, created) })
}

fn done(outline: &BatchDraft, tasks: &[FinishedTask], created: Vec<(FolderName, Arc<Index>)>) -> Done {
    Done { created, ..Done::from(outline.finish(tasks)) }
}

/// Reports whether a task brings documents that embedders may have to embed, or changes embedders. Such a change is
/// also the way to retry documents that could not be embedded.
fn asks_for_vectors(content: &Content) -> bool {
    match content {
        Content::Upsert(_) => true,
        Content::Settings { patch, .. } => !patch.embedders.is_unset(),
        _ => false,
    }
}

/// The index, created if the batch may. Tasks before the one that creates it fail, as they would have alone.
fn target(
    context: Context<'_>,
    index_uid: &str,
    tasks: &[Queued],
    outline: &mut BatchDraft,
    created: &mut Vec<(FolderName, Arc<Index>)>,
) -> ApiResult<Option<Arc<Index>>> {
    if context.instance.contains(index_uid) {
        return context.instance.index(index_uid).map(Some);
    }
    let creator = tasks.iter().position(|task| may_create_index(&task.content));
    let missing = |content: &Content| {
        let mut error = ApiError::index_not_found(index_uid);
        if matches!(content, Content::Upsert(upsert) if upsert.method != Method::Values) {
            error
                .message
                .push_str(" A write creates it with the action `indexes.create`, and by its uid instead of an alias.");
        }
        error
    };
    let too_early = &tasks[..creator.unwrap_or(tasks.len())];
    outline
        .prospects
        .extend(too_early.iter().map(|task| PlannedTask::Decided(failed(task.uid, &missing(&task.content)))));
    if creator.is_none() {
        return Ok(None);
    }
    check_no_alias(context, index_uid)?;
    let (folder, index) = context.instance.create_unnamed(context.store, index_uid, context.live.uid)?;
    outline.changes.push(IndexChange::Created { uid: index_uid.to_owned(), folder: folder.clone() });
    created.push((folder, Arc::clone(&index)));
    Ok(Some(index))
}

/// The operations of the tasks that are not decided yet.
fn operations(
    context: Context<'_>,
    index: &Index,
    tasks: &[Queued],
    outline: &mut BatchDraft,
) -> ApiResult<Vec<Operation>> {
    let mut operations = Vec::with_capacity(tasks.len());
    // Documents that a later task of the batch deletes all need no work, as long as their payloads cannot decide
    // anything else: they could still name the primary key.
    let first_clear = tasks.iter().position(|task| matches!(task.content, Content::Clear { mark: None }));
    let snapshot = index.snapshot();
    let absorbed = first_clear.filter(|_| snapshot.primary_key.is_some()).unwrap_or(0);
    let mut settings = Cow::Borrowed(&*snapshot.settings);
    for (position, task) in tasks.iter().enumerate().skip(outline.prospects.len()) {
        if position < absorbed && !matches!(task.content, Content::Settings { .. }) {
            outline.prospects.push(PlannedTask::Decided(succeeded(task.uid, None)));
            continue;
        }
        let mut forgotten = Vec::new();
        let operation = match operation(context, task, &mut settings, &mut forgotten) {
            Ok(operation) => operation,
            // Damaged documents concern the task that brought them; what may be over in a moment is no fault of the task.
            Err(error) if (error.status() < 500 && !error.is_momentary()) || error.code == Code::InvalidStoreFile => {
                let error = error.prefixed(format_args!("Index `{}`: ", outline.index_uid));
                outline.prospects.push(PlannedTask::Decided(failed(task.uid, &error)));
                continue;
            }
            Err(error) => return Err(error),
        };
        let is_payload = matches!(&task.content, Content::Upsert(upsert) if upsert.method != Method::Values);
        outline.prospects.push(PlannedTask::Operation { uid: task.uid, is_payload, forgotten });
        operations.push(operation);
    }
    Ok(operations)
}

/// `settings` are those of the index once the tasks before this one are done.
fn operation(
    context: Context<'_>,
    task: &Queued,
    settings: &mut Cow<'_, Settings>,
    forgotten: &mut Vec<String>,
) -> ApiResult<Operation> {
    Ok(match &task.content {
        Content::Upsert(upsert) => {
            let payload = payload(context, task.uid, upsert)?;
            let method = match upsert.method {
                Method::Replace => WriteMethod::Replace,
                Method::Update => WriteMethod::Update,
                Method::Values => return Ok(Operation::UpdateValues(payload)),
            };
            let (primary_key, skip_creation) = (upsert.primary_key.clone(), upsert.skip_creation);
            let operation = Operation::Upsert(Upsert { payload, method, primary_key, skip_creation });
            marked(operation, upsert.mark.as_ref())
        }
        Content::DeleteIds { ids, mark } => marked(Operation::DeleteIds(ids.clone()), mark.as_ref()),
        Content::DeleteByFilter { filter } => Operation::DeleteMatching(selector(filter)),
        Content::DeleteExpired => {
            let now = SystemTime::now();
            let expired = Operation::DeleteMatching(Selector::new(move |snapshot, _| Ok(expired(snapshot, now))));
            // The index does that by itself.
            Operation::Marked(Marking::Keep, Box::new(expired))
        }
        Content::Clear { mark } => marked(Operation::Clear, mark.as_ref()),
        Content::Settings { patch, .. } => {
            let mut patch = patch.clone();
            *forgotten = forget_moved_secrets(settings, &mut patch);
            *settings = Cow::Owned(merged(settings, &patch)?);
            Operation::Settings(patch)
        }
        other => return Err(ApiError::internal(format!("a `{}` task is no change of documents", other.kind()))),
    })
}

/// The operation, with what becomes of the mark of the index.
fn marked(operation: Operation, marking: Option<&wire::marking::Marking>) -> Operation {
    let Some(marking) = marking else { return operation };
    let from = marking.expected.as_deref().map(Arc::from);
    Operation::Marked(Marking::Move { from, to: Arc::from(marking.mark.as_str()) }, Box::new(operation))
}

/// The documents of a task that is not final yet, which are what was acknowledged.
pub(super) fn payload(context: Context<'_>, uid: u32, upsert: &content::Upsert) -> ApiResult<Payload> {
    Ok(match &upsert.payload {
        PayloadPlace::File(name) => {
            let path = context.instance.payload_folder().join(name);
            check_payload_file(upsert, &path).map_err(|damage| damage.of_task(uid))?;
            Payload::File(path)
        }
        PayloadPlace::Inline => {
            let documents = context.store.inline_payload(uid)?;
            let documents = documents.ok_or_else(|| PayloadDamage::Missing.of_task(uid))?;
            check_inline_payload(upsert, &documents).map_err(|damage| damage.of_task(uid))?;
            Payload::Bytes(documents.into())
        }
    })
}

/// Selects by a filter whose syntax was checked when the task was registered. What the settings allow is decided when
/// its turn comes: an earlier task of the batch may have changed them.
fn selector(filter: &Value) -> Selector {
    let filter = filter.clone();
    Selector::new(move |snapshot, cancelled| documents_matching(snapshot, &filter, cancelled))
}

/// The documents that a filter (as JSON) leaves, by segment; an error soon after `cancelled` is set.
pub(super) fn documents_matching(
    snapshot: &Snapshot,
    filter: &Value,
    cancelled: &AtomicBool,
) -> Result<Vec<DocSet>, Box<dyn std::error::Error + Send + Sync>> {
    let Some(filter) = Filter::from_json(filter)? else {
        return Ok(snapshot.segments.iter().map(|_| DocSet::default()).collect());
    };
    let filter = PreparedFilter::new(&filter, &snapshot.settings, &snapshot.fields)?;
    let limit = TimeLimit::unless(cancelled);
    let sets = snapshot.segments.iter().map(|segment| filter.evaluate(segment, limit));
    let sets = sets.collect::<Result<_, OutOfTime>>()?;
    snapshot.check_health()?;
    Ok(sets)
}

fn apply(
    context: Context<'_>,
    index: &Index,
    operations: &[Operation],
    outline: &BatchDraft,
) -> Result<Vec<Result<Outcome, OperationError>>, IndexError> {
    if operations.is_empty() {
        return Ok(Vec::new());
    }
    context.live.note_bytes_before(index);
    let noted = outline.clone();
    let note = CommitNote::new(u64::from(context.live.uid), move |results| {
        let batch = noted.finish(&noted.tasks(results));
        serde_json::to_vec(&batch).expect("a finished batch is plain data")
    });
    index.apply_and_embed_later(operations, note, &context.live.progress, &context.live.cancelled)
}
