//! Several searches answered one by one.

use std::sync::Arc;

use lamina_engine::index::Snapshot;

use super::{Answer, Context, Metadata, Target, run};
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::multi_search::IndexQuery;

/// The snapshots that the queries of a multi-search work on; queries of one index share one.
pub type Snapshots = std::collections::HashMap<String, Arc<Snapshot>>;

/// The snapshot of `uid`.
pub(super) fn target<'a>(snapshots: &'a Snapshots, uid: &'a str) -> ApiResult<Target<'a>> {
    match snapshots.get(uid) {
        Some(snapshot) => Ok(Target { uid, snapshot }),
        // Not the path but the body names the index, so the body is what is wrong.
        None => Err(ApiError::index_not_found(uid).with_status(400)),
    }
}

/// Runs the queries in order and writes the body of the answer.
///
/// # Errors
/// The first query that fails, named by its position.
pub fn run_multi(
    snapshots: &Snapshots,
    queries: &[IndexQuery],
    context: &Context,
    with_metadata: bool,
) -> ApiResult<Vec<u8>> {
    let mut out = b"{\"results\":[".to_vec();
    for (position, asked) in queries.iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        let answer = one(snapshots, asked, context, with_metadata).map_err(|error| at_query(error, position))?;
        out.extend_from_slice(&answer);
    }
    out.extend_from_slice(b"]}");
    Ok(out)
}

/// The error as one of the query at `position`.
pub(super) fn at_query(error: ApiError, position: usize) -> ApiError {
    error.prefixed(format_args!("Inside `.queries[{position}]`: "))
}

fn one(snapshots: &Snapshots, asked: &IndexQuery, context: &Context, with_metadata: bool) -> ApiResult<Vec<u8>> {
    if asked.options.is_some() {
        return Err(ApiError::new(
            Code::InvalidMultiSearchFederationOptions,
            "Using `federationOptions` is not allowed in a non-federated search.\n - Hint: remove `federationOptions` \
             from the query or add `federation` to the request.",
        ));
    }
    let target = target(snapshots, &asked.index_uid)?;
    let found = run(target, &asked.query, context)?;
    let metadata = with_metadata.then(|| Metadata::new(target));
    Answer { target, query: &asked.query, context, found, names_index: true, metadata }.write()
}
