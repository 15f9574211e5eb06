//! Batches that change documents by a function.

use std::io::Write;
use std::sync::Arc;

use lamina_base::engine_errors::operation_error;
use lamina_base::error::{ApiError, Code};
use lamina_data::tasks::content::{Edit, PayloadPlace};
use lamina_data::tasks::store::FinishedBatch;
use lamina_data::tasks::{Spill, Spilled};
use lamina_engine::index::{
    CommitNote, DocumentAddress, IndexError, Operation, OperationError, Outcome, Payload, Phase, Snapshot, Upsert,
    WriteMethod,
};
use lamina_models::edition::{Document, Edition, EditionError, Function, on_a_thread};
use serde_json::{Map, Value, json};

use super::documents::documents_matching;
use super::record::Record;
use super::{Context, Done, failed, reported};

/// Changed documents up to so many bytes are kept in memory until they are indexed; more of them go through a file.
const MEMORY_BYTES: usize = 4 << 20;

/// Lets the function edit each document of the index that matches, then stores all changes in one commit: when one
/// document fails, none is changed. `None` when canceled.
pub(super) fn run(context: Context<'_>, uid: &str, task: u32, edit: &Edit) -> Option<Done> {
    let ended = match change(context, uid, task, edit) {
        Ok(report) => reported(task, report),
        Err(Failure::GivenUp) => return None,
        Err(Failure::Alone(error)) => failed(task, &error),
        Err(Failure::OfIndex(error)) => failed(task, &error.prefixed(format_args!("Index `{uid}`: "))),
    };
    let mut done = context.stored_only(&[ended], &[]);
    done.batch.embeds = Some(uid.to_owned());
    Some(done)
}

/// Reason why nothing was stored.
enum Failure {
    GivenUp,
    /// The message says it all.
    Alone(ApiError),
    /// The message wants the index before it.
    OfIndex(ApiError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Failure {
        Failure::OfIndex(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Failure {
        Failure::OfIndex(error.into())
    }
}

/// Changes that the function made to the documents, before any of them is stored.
struct Changes {
    lines: Spill,
    changed_count: u64,
    deleted: Vec<String>,
}

fn change(context: Context<'_>, uid: &str, task: u32, edit: &Edit) -> Result<Map<String, Value>, Failure> {
    let index = context.instance.index(uid).map_err(Failure::Alone)?;
    let function = Function::new(&edit.function, edit.context.as_ref())
        .map_err(|error| ApiError::new(Code::EditDocumentsByFunctionError, error.to_string()))?;
    let snapshot = index.snapshot();
    let addresses = match &edit.filter {
        None => snapshot.documents(0, u64::MAX),
        Some(filter) => {
            let sets = documents_matching(&snapshot, filter, &context.live.cancelled).map_err(|error| {
                if context.is_cancelled() {
                    return Failure::GivenUp;
                }
                Failure::Alone(operation_error(uid, false, &OperationError::Selection(error)))
            })?;
            snapshot.documents_among(&sets, 0, u64::MAX)
        }
    };
    let work = || edit_all(context, &snapshot, &addresses, &function);
    let Changes { lines, changed_count, deleted } =
        on_a_thread(work).map_err(|error| ApiError::new(Code::EditDocumentsByFunctionError, error.to_string()))??;
    let report = json!({ "editedDocuments": changed_count, "deletedDocuments": deleted.len() });
    let report = report.as_object().cloned().unwrap_or_default();
    if changed_count == 0 && deleted.is_empty() {
        return Ok(report);
    }
    let Spilled { place, inline, .. } = lines.finish()?;
    let file = match &place {
        PayloadPlace::File(name) => Some(context.instance.payload_folder().join(name)),
        PayloadPlace::Inline => None,
    };
    let payload = match &file {
        Some(path) => Payload::File(path.clone()),
        None => Payload::Bytes(inline.unwrap_or_default().into()),
    };
    let operations = [
        Operation::DeleteIds(deleted),
        Operation::Upsert(Upsert { payload, method: WriteMethod::Replace, primary_key: None, skip_creation: false }),
    ];
    let (record, name, noted) = (Record::new(context.live), uid.to_owned(), report.clone());
    let note = CommitNote::new(u64::from(context.live.uid), move |results| {
        let ended = match first_error(&name, results) {
            Some(error) => failed(task, &error),
            None => reported(task, noted),
        };
        let batch = FinishedBatch { embeds: Some(name), ..record.finish(&[ended], &[]) };
        serde_json::to_vec(&batch).expect("a finished batch is plain data")
    });
    context.live.note_bytes_before(&index);
    let applied = index.apply_and_embed_later(&operations, note, &context.live.progress, &context.live.cancelled);
    if let Some(path) = file
        && let Err(error) = std::fs::remove_file(&path)
    {
        tracing::warn!(%error, path = %path.display(), "cannot remove the documents of a finished task");
    }
    match applied {
        Ok(results) => first_error(uid, &results).map_or(Ok(report), |error| Err(Failure::Alone(error))),
        Err(IndexError::Cancelled) if context.is_cancelled() => Err(Failure::GivenUp),
        Err(error) => Err(Failure::OfIndex(error.into())),
    }
}

/// Ids and primary key were checked before, which leaves the engine nothing to refuse; should it, the task says so.
fn first_error(uid: &str, results: &[Result<Outcome, OperationError>]) -> Option<ApiError> {
    let error = results.iter().find_map(|result| result.as_ref().err())?;
    Some(operation_error(uid, false, error))
}

fn edit_all(
    context: Context<'_>,
    snapshot: &Arc<Snapshot>,
    addresses: &[DocumentAddress],
    function: &Function,
) -> Result<Changes, Failure> {
    let lines = Spill::new(&context.instance.payload_folder(), MEMORY_BYTES);
    let mut changes = Changes { lines, changed_count: 0, deleted: Vec::new() };
    // An index with documents has one.
    let Some(primary_key) = snapshot.primary_key.as_deref() else { return Ok(changes) };
    context.live.progress.enter(Phase::Preparing, addresses.len() as u64);
    for &address in addresses {
        if context.is_cancelled() {
            return Err(Failure::GivenUp);
        }
        let line = snapshot.document_with_vectors(address).map_err(ApiError::from)?;
        match (Document { line: &line, primary_key }).edit(function).map_err(edition_error)? {
            Edition::Kept => {}
            Edition::Deleted(id) => changes.deleted.push(id),
            Edition::Changed(line) => {
                changes.changed_count += 1;
                changes.lines.write_all(&line)?;
                changes.lines.write_all(b"\n")?;
            }
        }
        context.live.progress.advance(1);
    }
    Ok(changes)
}

fn edition_error(error: EditionError) -> ApiError {
    let code = match error {
        EditionError::Stored(_) => Code::UnretrievableDocument,
        _ => Code::EditDocumentsByFunctionError,
    };
    ApiError::new(code, error.to_string())
}
