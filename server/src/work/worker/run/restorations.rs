//! Batches that make a state before the present one the present one again.

use lamina_base::error::{ApiError, ApiResult};
use lamina_data::tasks::store::FinishedTask;
use lamina_engine::index::{CommitNote, Outcome};
use lamina_protocol::wire::generations::state;
use lamina_protocol::wire::json::At;
use serde_json::{Map, Value};

use super::record::Record;
use super::{Context, Done, failed, reported};

/// One commit. The report says which state came back, and which one to restore to undo it.
pub(super) fn restore(context: Context<'_>, uid: &str, task: u32, at: &Value) -> Done {
    match try_restore(context, uid, task, at) {
        Ok(ended) => context.stored_only(&[ended], &[]),
        Err(error) => context.stored_only(&[failed(task, &error)], &[]),
    }
}

fn try_restore(context: Context<'_>, uid: &str, task: u32, at: &Value) -> ApiResult<FinishedTask> {
    let index = context.instance.index(uid)?;
    let at = state(At::root(at))?;
    // Nothing else writes meanwhile, and merges leave the number of the state.
    let before = index.snapshot().contents();
    let ended = move |generation: u64| {
        let report = [("generation", generation), ("before", before)];
        reported(task, Map::from_iter(report.map(|(name, number)| (name.to_owned(), number.into()))))
    };
    let record = Record::new(context.live);
    let note = CommitNote::new(u64::from(context.live.uid), move |results| {
        let generation = results.iter().find_map(|result| match result {
            Ok(Outcome::Restored { generation }) => Some(*generation),
            _ => None,
        });
        let batch = record.finish(&[ended(generation.unwrap_or(before))], &[]);
        serde_json::to_vec(&batch).expect("a finished batch is plain data")
    });
    let restored =
        index.restore(at, note).map_err(|error| ApiError::from(error).prefixed(format_args!("Index `{uid}`: ")))?;
    Ok(ended(restored))
}
