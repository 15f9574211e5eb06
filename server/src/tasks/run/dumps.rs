//! Batches that write everything to an archive.

use serde_json::Map;

use super::{Context, Done, failed, reported};
use crate::backup::{BackupError, create_dump};
use crate::error::ApiError;

pub(super) fn create(context: Context<'_>, task: u32) -> Option<Done> {
    match create_dump(context.instance, context.store, context.places, task, context.live) {
        Ok(dump_uid) => {
            tracing::info!(dump_uid, "wrote a dump");
            let mut report = Map::new();
            report.insert("dumpUid".to_owned(), dump_uid.into());
            Some(context.stored_only(&[reported(task, report)], &[]))
        }
        Err(BackupError::Cancelled) => None,
        Err(error) => Some(context.stored_only(&[failed(task, &ApiError::from(error))], &[])),
    }
}
