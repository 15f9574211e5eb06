//! Documents of all servers of the network: this server's first, then those of the others by their names.

use std::sync::Arc;

use futures_util::future::try_join_all;
use lamina_base::budget::AnswerBudget;
use lamina_base::error::{ApiError, ApiResult};
use lamina_data::features::Feature;
use lamina_data::network::Topology;
use lamina_protocol::wire::documents::ListQuery;
use serde_json::Value;
use warp::reply::Response;

use super::candidates::{candidates, projection, total_len};
use super::stream::{DocumentWriter, Page, written_at_once};
use crate::answer::distributed::RemotePage;
use crate::answer::search::Context;
use crate::app::AppState;
use crate::http::json_text;

/// Reports whether the other servers must be queried.
///
/// # Errors
/// `feature_not_enabled`, if the request has the option at all.
pub(super) fn is_asked(state: &AppState, use_network: Option<bool>) -> ApiResult<bool> {
    if use_network.is_some() && !state.features.is_on(Feature::Network) {
        return Err(ApiError::feature_not_enabled("passing `useNetwork` in a request for documents", "network"));
    }
    Ok(use_network == Some(true))
}

/// A document that this server does not have.
pub(super) async fn find(
    state: &AppState,
    uid: &str,
    id: &str,
    fields: Option<Vec<String>>,
    with_vectors: bool,
) -> ApiResult<Response> {
    let query =
        ListQuery { fields, retrieve_vectors: with_vectors, ids: Some(vec![id.to_owned()]), ..ListQuery::default() };
    let budget = state.budgets.answer();
    let topology = state.network.topology();
    let pages = pages(state, &topology, uid, &budget, |_| Some(query.of_remote(0, 1))).await?;
    let found = pages.into_iter().flatten().flat_map(|page| page.results).next();
    let found = found.ok_or_else(|| ApiError::document_not_found(id))?;
    Ok(json_text(budget.body(found.to_string().into_bytes())))
}

/// A list. Each of the others says first how many it has, then it is asked for those that are on the page.
pub(super) async fn list(
    state: &AppState,
    name: &str,
    uid: String,
    query: ListQuery,
    context: Context,
) -> ApiResult<Response> {
    let budget = context.budget.clone();
    let (offset, limit) = (query.offset, query.limit);
    let whole = context.budget.clone();
    let asked = Arc::new(query);
    let own = {
        let (instance, asked, budget) = (Arc::clone(&state.instance), Arc::clone(&asked), budget.clone());
        state.answer(&whole, move || {
            let snapshot = instance.snapshot(&uid)?;
            let among = candidates(&snapshot, &asked, &context)?;
            let total = among.as_ref().map_or_else(|| snapshot.document_count(), |sets| total_len(sets));
            let page = match among {
                None => Page::all(asked.offset, asked.limit),
                Some(sets) => Page::among(sets, asked.offset, asked.limit),
            };
            let writer = DocumentWriter {
                snapshot,
                projection: projection(asked.fields.as_deref()),
                with_vectors: asked.retrieve_vectors,
            };
            let (written, count) = written_at_once(&writer, page, &budget)?;
            Ok((written, count, total))
        })
    };
    let topology = state.network.topology();
    let counted = pages(state, &topology, name, &budget, |_| Some(asked.of_remote(0, 0)));
    let ((mut written, mut count, mut total), counted) = futures_util::future::try_join(own, counted).await?;
    // Where the documents of each of the others begin in the whole list.
    let mut ranges = Vec::with_capacity(counted.len());
    for page in counted.into_iter().flatten() {
        let (start, end) = (total, total + page.total);
        let (first, last) = (offset.max(start), offset.saturating_add(limit).min(end));
        ranges.push((first < last).then(|| (first - start, last - first)));
        total = end;
    }
    let of_page = |server: usize| ranges[server].map(|(offset, limit)| asked.of_remote(offset, limit));
    let pages = pages(state, &topology, name, &budget, of_page).await?;
    for document in pages.into_iter().flatten().flat_map(|page| page.results) {
        if count > 0 {
            written.push(b',');
        }
        written.extend(document.to_string().into_bytes());
        count += 1;
    }
    let mut body = b"{\"results\":[".to_vec();
    body.append(&mut written);
    body.extend(format!("],\"offset\":{offset},\"limit\":{limit},\"total\":{total}}}").into_bytes());
    Ok(json_text(budget.body(body)))
}

/// Sends to each of the other servers the request that `body` makes for its position. All are queried at the same
/// time.
async fn pages(
    state: &AppState,
    topology: &Topology,
    uid: &str,
    budget: &AnswerBudget,
    body: impl Fn(usize) -> Option<Value>,
) -> ApiResult<Vec<Option<RemotePage>>> {
    let asking = topology.others().enumerate().map(|(position, (name, remote))| {
        let body = body(position);
        async move {
            let Some(body) = body else { return Ok(None) };
            RemotePage::fetch(&state.outbound, name, remote, uid, &body, budget).await.map(Some)
        }
    });
    try_join_all(asking).await
}
