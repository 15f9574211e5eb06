//! Several searches answered one by one.

use std::collections::BTreeMap;
use std::sync::Arc;

use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::observe::SearchOutcomes;
use lamina_engine::highlight::append_field;
use lamina_protocol::wire::multi_search::IndexQuery;

use super::{Context, Form, Reranked, Target};
use crate::answer::points_in_time::Snapshots;

/// The answer to several searches.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// JSON, as it is sent.
    pub body: Vec<u8>,
    /// The limits that changed it, as of one search, each once.
    pub cuts: Vec<String>,
    /// Outcomes of the searches.
    pub outcomes: SearchOutcomes,
}

impl Written {
    /// Adds limits that are not known yet.
    pub(crate) fn cut_by(&mut self, cuts: impl IntoIterator<Item = String>) {
        for cut in cuts {
            if !self.cuts.contains(&cut) {
                self.cuts.push(cut);
            }
        }
    }

    /// Adds a field to the body, which is an object.
    pub(crate) fn append_field(&mut self, name: &str, value: &serde_json::Value) {
        append_field(&mut self.body, name, value.to_string().as_bytes());
    }
}

/// View of a query that does not use the shared one.
#[derive(Debug)]
pub(crate) struct OwnView<'a> {
    /// Snapshots, that of its index among them.
    pub snapshots: &'a Snapshots,
    /// `pointInTime` of its result.
    pub point: Option<serde_json::Value>,
    /// The order of its first hits, if they have another one.
    pub reranked: Option<Arc<Reranked>>,
}

/// The state of the index that the request names so.
pub(super) fn target<'a>(snapshots: &'a Snapshots, name: &'a str) -> ApiResult<Target<'a>> {
    match snapshots.get(name) {
        Some(state) => Ok(Target { name, uid: &state.uid, snapshot: &state.snapshot }),
        // Not the path but the body names the index, so the body is what is wrong.
        None => Err(ApiError::index_not_found(name).with_status(400)),
    }
}

/// Runs the queries in order and writes the answer. Those at the positions of `own` search views of their own, and name
/// them in their results.
///
/// # Errors
/// The first query that fails, named by its position.
pub(crate) fn run_multi(
    snapshots: &Snapshots,
    own: &BTreeMap<usize, OwnView<'_>>,
    queries: &[IndexQuery],
    context: &Context,
    with_metadata: bool,
) -> ApiResult<Written> {
    let mut out = Written { body: b"{\"results\":[".to_vec(), ..Written::default() };
    for (position, asked) in queries.iter().enumerate() {
        if position > 0 {
            out.body.push(b',');
        }
        let own = own.get(&position);
        let snapshots = own.map_or(snapshots, |own| own.snapshots);
        let reranked = own.and_then(|own| own.reranked.clone());
        let of_it = reranked.map(|reranked| Context { reranked: Some(reranked), ..context.clone() });
        let found = one(snapshots, asked, of_it.as_ref().unwrap_or(context), with_metadata, &mut out);
        let mut result = found.map_err(|error| at_query(error, asked.query_position.unwrap_or(position)))?;
        if let Some(point) = own.and_then(|own| own.point.as_ref()) {
            append_field(&mut result, "pointInTime", point.to_string().as_bytes());
        }
        out.body.append(&mut result);
    }
    out.body.extend_from_slice(b"]}");
    Ok(out)
}

/// The error as one of the query at `position`.
pub(crate) fn at_query(error: ApiError, position: usize) -> ApiError {
    error.prefixed(format_args!("Inside `.queries[{position}]`: "))
}

/// The result of one query; what limits it is added to `out`.
fn one(
    snapshots: &Snapshots,
    asked: &IndexQuery,
    context: &Context,
    with_metadata: bool,
    out: &mut Written,
) -> ApiResult<Vec<u8>> {
    if asked.options.is_some() {
        return Err(ApiError::new(
            Code::InvalidMultiSearchFederationOptions,
            "Using `federationOptions` is not allowed in a non-federated search.\n - Hint: remove `federationOptions` \
             from the query or add `federation` to the request.",
        ));
    }
    let target = target(snapshots, &asked.index_uid)?;
    let form = Form { names_index: true, with_metadata };
    let answered = context.kept.answer(target, &asked.query, context, form)?;
    context.record(target, &asked.query, answered.query_uid, (answered.total, &answered.shown));
    out.cut_by(answered.cuts.iter().cloned());
    out.outcomes += answered.outcome;
    let body = answered.into_body(context.received, &context.budget)?;
    // Once more as a part of the answer to all.
    context.budget.take(body.len())?;
    Ok(body)
}
