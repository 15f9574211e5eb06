//! Batches that copy the database.

use lamina_base::error::ApiError;
use lamina_data::tasks::store::{FinishedTask, Queued};
use lamina_data::tasks::trace::show_so_far;

use super::record::Record;
use super::{Context, Done, failed, succeeded};
use crate::work::backup::{BackupError, create_snapshot};

/// One snapshot for all tasks that ask for one.
pub(super) fn create(context: Context<'_>, tasks: &[Queued]) -> Option<Done> {
    let record = Record::new(context.live);
    let ended: Vec<FinishedTask> = tasks.iter().map(|task| succeeded(task.uid, None)).collect();
    let mut batch = None;
    let made = create_snapshot(context.instance, context.places, context.live, |copy| {
        // Who starts from the snapshot should not find it still to be made, and nothing else different either.
        let batch = batch.insert(record.finish(&ended, &[]));
        batch.progress_trace = show_so_far(context.live);
        copy.finish(batch).map(drop).map_err(BackupError::from)
    });
    match made {
        Ok(place) => {
            tracing::info!(place, "made a snapshot");
            let batch = batch.unwrap_or_else(|| record.finish(&ended, &[]));
            Some(Done::from(batch))
        }
        Err(BackupError::Cancelled) => None,
        Err(error) => {
            let error = ApiError::from(error);
            let ended: Vec<FinishedTask> = tasks.iter().map(|task| failed(task.uid, &error)).collect();
            Some(context.stored_only(&ended, &[]))
        }
    }
}
