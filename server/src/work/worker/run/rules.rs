//! Batches that change dynamic search rules.

use lamina_base::error::ApiError;
use lamina_data::rules::Draft;
use lamina_data::tasks::content::Content;
use lamina_data::tasks::store::{FinishedTask, Queued};

use super::record::Record;
use super::{Context, Done, failed, succeeded};

/// All of them, in order. `None` when canceled: nothing has changed then.
pub(super) fn change(context: Context<'_>, tasks: &[Queued]) -> Option<Done> {
    let mut draft = context.instance.rules().draft();
    let ended: Vec<FinishedTask> = tasks
        .iter()
        .map(|task| match one(context, &mut draft, task) {
            Ok(count) => succeeded(task.uid, Some(count)),
            Err(error) => failed(task.uid, &error),
        })
        .collect();
    if context.is_cancelled() {
        return None;
    }
    let mut batch = Record::new(context.live).finish(&ended, &[]);
    batch.rule_changes = draft.into_changes();
    Some(Done::from(batch))
}

/// The counter of the task.
fn one(context: Context<'_>, draft: &mut Draft<'_>, task: &Queued) -> Result<u64, ApiError> {
    match &task.content {
        Content::UpdateRule { uid, patch: Some(patch) } => {
            let registered = context.store.task(task.uid)?.map(|task| task.enqueued_at);
            draft.patch(uid, patch, registered.unwrap_or(context.live.started_at));
            Ok(1)
        }
        Content::UpdateRule { uid, patch: None } => {
            draft.remove(uid);
            Ok(1)
        }
        _ => Ok(draft.clear()),
    }
}
