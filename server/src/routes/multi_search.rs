//! `/multi-search`.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use warp::Filter;
use warp::http::StatusCode;
use warp::reply::Response;

use super::embed::{embed, wanted};
use super::search::{asks_metadata, context};
use super::tell;
use crate::app::AppState;
use crate::error::{ApiError, ApiResult, Code};
use crate::features::Feature;
use crate::http::{Request, Routes, json_answer, json_text, request, respond};
use crate::instance::Instance;
use crate::network::{NetworkSearch, PROXY_HEADER, asks_network};
use crate::search::{Context, Snapshots, run_federated, run_multi};
use crate::telemetry::Facts;
use crate::wire::multi_search::{IndexQuery, MultiSearch, USING_NETWORK};
use crate::wire::search::SearchQuery;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("multi-search").and(warp::post()).and(request(state));
    post.then(|request| respond(request, async |request| multi_search(request).await)).boxed()
}

async fn multi_search(request: Request) -> ApiResult<Response> {
    let proxied = request.header(PROXY_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    let context = Context { proxied, ..context(&request) };
    let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
    let body = request.json().await?;
    let asked = MultiSearch::from_body(&body)?;
    if !state.features.is_on(Feature::Network) {
        asked.queries.iter().try_for_each(IndexQuery::check_without_network)?;
    }
    for uid in indexes(&asked) {
        context.rights.check_index(uid)?;
    }
    let facts = state.telemetry.is_on().then(|| {
        let uids: BTreeSet<&str> = asked.queries.iter().map(|query| query.index_uid.as_str()).collect();
        let remotes: BTreeSet<&str> = asked.queries.iter().filter_map(|query| query.remote.as_deref()).collect();
        Facts::MultiSearch {
            search_count: asked.queries.len(),
            distinct_index_count: uids.len(),
            distinct_remote_count: remotes.len(),
            is_federated: asked.federation.is_some(),
        }
    });
    let is_apart = asked.federation.is_none() && asked.queries.iter().any(|query| query.query.use_network);
    let mut answer = if is_apart {
        one_by_one(&state, asked, context, with_metadata).await?
    } else if asks_network(&asked) {
        over_network(&state, asked, &body, context, with_metadata).await?
    } else {
        json_text(local(&state, asked, context, with_metadata).await?)
    };
    tell(&mut answer, facts);
    Ok(answer)
}

/// Queries of this server alone: the body of the answer.
async fn local(
    state: &Arc<AppState>,
    asked: MultiSearch,
    mut context: Context,
    with_metadata: bool,
) -> ApiResult<Vec<u8>> {
    let queries = asked.queries.iter().map(|asked| (asked.index_uid.as_str(), &asked.query));
    let texts = wanted(state, queries, context.received);
    context.embedded = embed(state, texts).await;
    let instance = Arc::clone(&state.instance);
    let body = state.searches.run(move || {
        let snapshots = snapshots(&instance, &asked)?;
        match &asked.federation {
            Some(federation) => run_federated(&snapshots, &asked.queries, federation, &context, with_metadata),
            None => run_multi(&snapshots, &asked.queries, &context, with_metadata),
        }
    });
    body.await?
}

/// Searches that are not merged with each other, some of which ask all servers.
async fn one_by_one(
    state: &Arc<AppState>,
    asked: MultiSearch,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Response> {
    let mut results = Vec::with_capacity(asked.queries.len());
    for (position, query) in asked.queries.into_iter().enumerate() {
        let named = |error: ApiError| error.prefixed(format_args!("Inside `.queries[{position}]`: "));
        if query.query.use_network {
            let uid = query.index_uid.clone();
            let found = search_network(state, query.index_uid, query.query, context.clone(), with_metadata).await;
            let mut fields = found.map_err(named)?;
            fields.insert("indexUid".to_owned(), uid.into());
            results.push(Value::Object(fields));
        } else {
            let alone = MultiSearch { queries: vec![query], federation: None };
            let body = local(state, alone, context.clone(), with_metadata).await.map_err(named)?;
            let body: Value = serde_json::from_slice(&body).expect("our own answers are JSON");
            results.extend(body["results"].as_array().cloned().unwrap_or_default());
        }
    }
    Ok(json_answer(StatusCode::OK, &json!({ "results": results })))
}

/// One search of all servers: the fields of an answer as of one search, with `remoteErrors`.
///
/// # Errors
/// `feature_not_enabled`, or what this server has against the search.
pub(super) async fn search_network(
    state: &Arc<AppState>,
    uid: String,
    query: SearchQuery,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Map<String, Value>> {
    if !state.features.is_on(Feature::Network) {
        return Err(ApiError::feature_not_enabled(USING_NETWORK, "network"));
    }
    let text = query.q.clone().unwrap_or_default();
    let asked = MultiSearch::over_network(uid, query);
    let body = asked.body_over_network();
    let merged = merged_over_network(state, asked, &body, context, with_metadata).await?;
    let mut fields = Map::new();
    for (name, value) in merged {
        let is_first = name == "hits";
        fields.insert(name, value);
        if is_first {
            fields.insert("query".to_owned(), text.clone().into());
        }
    }
    Ok(fields)
}

/// Asks this server and the others at the same time.
async fn over_network(
    state: &Arc<AppState>,
    asked: MultiSearch,
    body: &Value,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Response> {
    let fields = merged_over_network(state, asked, body, context, with_metadata).await?;
    Ok(json_answer(StatusCode::OK, &fields))
}

async fn merged_over_network(
    state: &Arc<AppState>,
    asked: MultiSearch,
    body: &Value,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Map<String, Value>> {
    let received = context.received;
    let network = NetworkSearch::new(state.network.topology(), &asked, body, &context.rights)?;
    let here = async {
        let Some(asked) = network.local()? else { return Ok::<_, ApiError>(None) };
        let answer = local(state, asked, Context { proxied: true, ..context }, with_metadata).await?;
        Ok(Some(serde_json::from_slice(&answer).expect("our own answers are JSON")))
    };
    let (here, elsewhere) = futures_util::future::join(here, network.ask(&state.outbound, with_metadata)).await;
    let federation = asked.federation.as_ref().ok_or_else(|| ApiError::internal("only merged lists are spread"))?;
    let error_body = |error: &ApiError| serde_json::to_value(error.body(&state.error_docs)).unwrap_or_default();
    let mut fields = network.merge(federation, here?, elsewhere, error_body)?;
    let millis = u64::try_from(received.elapsed().as_millis()).unwrap_or(u64::MAX);
    fields.insert("processingTimeMs".to_owned(), millis.into());
    Ok(fields)
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
