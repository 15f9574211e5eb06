//! `?customMetadata=` of writes: a text that a client wants to find again in the task.
//!
//! It belongs to the request, not to what its route does: it is read before the route runs and is there when it
//! registers its task.

use std::future::Future;

use lamina_base::error::{ApiResult, Code};
use lamina_protocol::wire::documents::CUSTOM_METADATA;
use lamina_protocol::wire::query_string::QueryString;

tokio::task_local! {
    static OF_REQUEST: Option<String>;
}

/// Reads it from a query string.
///
/// # Errors
/// When it is there more than once.
pub(super) fn read(query: &QueryString) -> ApiResult<Option<String>> {
    query.text_of(CUSTOM_METADATA, Code::InvalidIndexCustomMetadata)
}

/// Runs `work` for a request that said this.
pub(super) async fn during<F: Future>(metadata: Option<String>, work: F) -> F::Output {
    OF_REQUEST.scope(metadata, work).await
}

/// Returns the metadata of the current request.
pub(crate) fn of_request() -> Option<String> {
    OF_REQUEST.try_with(Option::clone).ok().flatten()
}
