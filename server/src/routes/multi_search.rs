//! `/multi-search`.

use std::collections::BTreeSet;
use std::sync::Arc;

use warp::Filter;
use warp::reply::Response;

use super::embed::{embed, wanted};
use super::search::{asks_metadata, context};
use super::tell;
use crate::app::AppState;
use crate::error::{ApiResult, Code};
use crate::http::{Request, Routes, json_text, request, respond};
use crate::instance::Instance;
use crate::search::{Snapshots, run_federated, run_multi};
use crate::telemetry::Facts;
use crate::wire::multi_search::MultiSearch;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("multi-search").and(warp::post()).and(request(state));
    post.then(|request| respond(request, async |request| multi_search(request).await)).boxed()
}

async fn multi_search(request: Request) -> ApiResult<Response> {
    let mut context = context(&request);
    let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
    let asked = MultiSearch::from_body(&request.json().await?)?;
    for uid in indexes(&asked) {
        context.rights.check_index(uid)?;
    }
    let facts = state.telemetry.is_on().then(|| {
        let uids: BTreeSet<&str> = asked.queries.iter().map(|query| query.index_uid.as_str()).collect();
        Facts::MultiSearch {
            search_count: asked.queries.len(),
            distinct_index_count: uids.len(),
            is_federated: asked.federation.is_some(),
        }
    });
    let queries = asked.queries.iter().map(|asked| (asked.index_uid.as_str(), &asked.query));
    let texts = wanted(&state, queries, context.received);
    context.embedded = embed(&state, texts).await;
    let instance = Arc::clone(&state.instance);
    let body = state.searches.run(move || {
        let snapshots = snapshots(&instance, &asked)?;
        match &asked.federation {
            Some(federation) => run_federated(&snapshots, &asked.queries, federation, &context, with_metadata),
            None => run_multi(&snapshots, &asked.queries, &context, with_metadata),
        }
    });
    let mut answer = json_text(body.await??);
    tell(&mut answer, facts);
    Ok(answer)
}

/// The indexes that the request names.
fn indexes(asked: &MultiSearch) -> impl Iterator<Item = &String> {
    let in_queries = asked.queries.iter().map(|query| &query.index_uid);
    in_queries.chain(asked.federation.iter().flat_map(|federation| federation.facets_by_index.keys()))
}

/// Those that are there: each once, so that its queries see the same state.
fn snapshots(instance: &Instance, asked: &MultiSearch) -> ApiResult<Snapshots> {
    let mut snapshots = Snapshots::new();
    for uid in indexes(asked) {
        if snapshots.contains_key(uid) {
            continue;
        }
        match instance.snapshot(uid) {
            Ok(snapshot) => drop(snapshots.insert(uid.clone(), snapshot)),
            // Told by the query that needs it.
            Err(error) if error.code == Code::IndexNotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(snapshots)
}
