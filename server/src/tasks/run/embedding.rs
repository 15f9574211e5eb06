//! The second part of a batch: its documents are written and found by their words, now they get their vectors.
//!
//! A commit of its own, so that a slow or failing provider keeps no document from being found. What gets no vector waits:
//! the next batch that brings documents to the index or speaks of its embedders tries again.

use lamina_engine::index::IndexError;
use lamina_engine::index::embedding::{EmbedFailure, Embedded, EmbeddingError};
use serde_json::{Map, Value, json};

use super::Context;
use crate::error::ApiError;
use crate::tasks::content::Content;
use crate::tasks::store::{FinishedBatch, FinishedTask, Queued, TaskResult};

/// How the second part ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Embedding {
    /// The tasks tell what there is to tell.
    Ended,
    /// It was told to give up; nothing of it has changed.
    GivenUp,
}

/// Makes the vectors that the documents of the batch wait for, and tells its tasks what failed.
pub(in super::super) fn embed(context: Context<'_>, batch: &mut FinishedBatch, tasks: &[Queued]) -> Embedding {
    let Some(uid) = batch.embeds.take() else { return Embedding::Ended };
    // An index that can't be opened has failed its tasks.
    let Ok(index) = context.instance.index(&uid) else { return Embedding::Ended };
    let embedded = match index.embed_waiting(&context.live.progress, &context.live.cancelled) {
        Ok(embedded) => embedded,
        Err(IndexError::Cancelled) => {
            batch.embeds = Some(uid);
            return Embedding::GivenUp;
        }
        Err(error) => {
            let failure = EmbedFailure::runtime(ApiError::from(error).message);
            let names =
                index.snapshot().settings.embedders.keys().cloned().map(|name| (name, failure.clone())).collect();
            Embedded { lasting: names, ..Embedded::default() }
        }
    };
    for (embedder, failure) in &embedded.lasting {
        tracing::warn!(index = uid, batch = batch.uid, embedder, %failure, "documents could not be embedded");
    }
    if embedded.failed > 0 || !embedded.lasting.is_empty() {
        tell(&uid, batch, tasks, &embedded);
    }
    Embedding::Ended
}

/// Documents were written, whatever came of their vectors. Where no text gets a vector, tasks that brought documents have
/// failed nevertheless: their sender should look at the embedder.
fn tell(uid: &str, batch: &mut FinishedBatch, tasks: &[Queued], embedded: &Embedded) {
    let report = report(embedded);
    let error = embedded.lasting.first_key_value().map(|(embedder, failure)| {
        let failed = EmbeddingError::Failed { embedder: embedder.clone(), failure: failure.clone() };
        let mut error = ApiError::from(IndexError::from(failed)).prefixed(format_args!("Index `{uid}`: "));
        error.message.push_str(
            "\n  - Note: the documents are written and found by their words. The next task that brings documents or names \
             the embedder in a change of settings tries again",
        );
        error
    });
    for FinishedTask { uid, result } in &mut batch.tasks {
        let Some(task) = tasks.iter().find(|task| task.uid == *uid) else { continue };
        let error = match &task.content {
            Content::Upsert(_) | Content::Edit(_) => error.as_ref().map(Into::into),
            Content::Settings { patch, .. } if !patch.embedders.is_unset() => None,
            _ => continue,
        };
        let (count, mut entries) = match result {
            TaskResult::Succeeded(count) => (*count, Map::new()),
            TaskResult::Reported(entries) => (None, std::mem::take(entries)),
            TaskResult::Unembedded { .. } | TaskResult::Failed(_) => continue,
        };
        entries.insert("embeddingFailures".to_owned(), report.clone());
        *result = TaskResult::Unembedded { count, report: entries, error };
    }
}

fn report(embedded: &Embedded) -> Value {
    let documents: Vec<Value> = embedded
        .documents
        .iter()
        .map(|failed| {
            let id = serde_json::from_str(&failed.document_id).unwrap_or(Value::Null);
            json!({ "id": id, "embedder": failed.embedder, "error": failed.failure.to_string() })
        })
        .collect();
    let embedders: Map<String, Value> =
        embedded.lasting.iter().map(|(name, failure)| (name.clone(), failure.to_string().into())).collect();
    json!({ "total": embedded.failed, "documents": documents, "embedders": embedders })
}
