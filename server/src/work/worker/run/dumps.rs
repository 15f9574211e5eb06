//! Batches that write everything to an archive.

use lamina_base::error::ApiError;
use serde_json::{Map, Value};

use super::{Context, Done, failed, reported};
use crate::work::backup::{BackupError, CreatedDump, create_dump};

pub(super) fn create(context: Context<'_>, task: u32, skip_damaged: bool) -> Option<Done> {
    match create_dump(context.instance, context.store, context.places, task, skip_damaged, context.live) {
        Ok(CreatedDump { uid: dump_uid, skipped }) => {
            tracing::info!(dump_uid, "wrote a dump");
            let mut report = Map::new();
            report.insert("dumpUid".to_owned(), dump_uid.into());
            if skip_damaged {
                report.insert("skippedDocuments".to_owned(), Value::Object(skipped));
            }
            Some(context.stored_only(&[reported(task, report)], &[]))
        }
        Err(BackupError::Cancelled) => None,
        Err(error) => Some(context.stored_only(&[failed(task, &ApiError::from(error))], &[])),
    }
}
