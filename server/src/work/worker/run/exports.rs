//! Batches that send indexes to another server.

use lamina_base::error::ApiError;
use lamina_data::tasks::content::Export;

use super::{Context, Done, failed, reported};
use crate::work::export::{ExportError, export};

pub(super) fn run(context: Context<'_>, task: u32, asked: &Export) -> Option<Done> {
    match export(context.instance, context.outbound, asked, context.live) {
        Ok(report) => Some(context.stored_only(&[reported(task, report)], &[])),
        Err(ExportError::Cancelled) => None,
        Err(error) => {
            let error = ApiError::from(error);
            tracing::warn!(task, error = %error.message, "an export failed");
            Some(context.stored_only(&[failed(task, &error)], &[]))
        }
    }
}
