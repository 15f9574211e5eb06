//! `/multi-search`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use warp::Filter;
use warp::reply::Response;

use super::embed::{check_media, embed, wanted};
use super::limits::report_limits;
use super::report;
use super::search::{asks_metadata, check_state, context};
use crate::access::Rights;
use crate::app::AppState;
use crate::budget::{AnswerBudget, VALUE_BYTES, json_heap_bytes};
use crate::error::{ApiError, ApiResult, Code};
use crate::features::Feature;
use crate::http::json_text;
use crate::instance::Instance;
use crate::network::{NetworkSearch, PROXY_HEADER, VALUES_HEADER, asks_network, values_wanted};
use crate::observe::Seen;
use crate::points_in_time::Snapshots;
use crate::points_in_time::{Held, PointsInTime};
use crate::requests::{Counted, Request, request, respond};
use crate::routes::Routes;
use crate::search::{Context, OwnView, ValuesWanted, Written, at_query, run_federated, run_multi};
use crate::telemetry::Facts;
use crate::wire::multi_search::{IndexQuery, MultiSearch, USING_NETWORK};
use crate::wire::search::SearchQuery;

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("multi-search").and(warp::post()).and(request(state));
    post.then(|request| respond(request, async |request| multi_search(request).await)).boxed()
}

async fn multi_search(request: Request) -> ApiResult<Response> {
    let several = Several::read(request).await?;
    several.check()?;
    let facts = several.facts();
    let mut answer = several.answer().await?;
    report(&mut answer, facts);
    Ok(answer)
}

/// The searches of a request.
struct Several {
    state: Arc<AppState>,
    body: Counted<Value>,
    asked: MultiSearch,
    context: Context,
    with_metadata: bool,
}

impl Several {
    async fn read(request: Request) -> ApiResult<Several> {
        let proxied = request.header(PROXY_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let values_wanted = request.header(VALUES_HEADER).map(values_wanted);
        let context = Context { proxied, values_wanted, ..context(&request) };
        let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
        let body = request.json().await?;
        let asked = MultiSearch::from_body(&body)?;
        Ok(Several { state, body, asked, context, with_metadata })
    }

    /// Whether the caller may ask for it, and the server has what it takes.
    fn check(&self) -> ApiResult<()> {
        let Several { asked, context, .. } = self;
        if !self.state.features.is_on(Feature::Network) {
            each_query(asked, IndexQuery::check_without_network)?;
        }
        each_query(asked, |query| context.rights.check_index(&query.index_uid))?;
        each_query(asked, |query| query.query.rerank.as_ref().map_or(Ok(()), |_| Err(not_reranked())))?;
        each_query(asked, |query| check_state(&query.query, context))?;
        if asked.queries.iter().any(|query| query.query.at.is_some())
            && (self.is_spread() || asked.point_in_time.is_some())
        {
            return Err(not_here());
        }
        for uid in indexes(asked) {
            context.rights.check_index(uid)?;
        }
        if self.is_spread() && asked.point_in_time.is_some() {
            return Err(PointsInTime::not_over_network());
        }
        Ok(())
    }

    /// Whether its lists stay apart, and one of them is of all servers.
    fn is_apart(&self) -> bool {
        self.asked.federation.is_none() && self.asked.queries.iter().any(|query| query.query.use_network)
    }

    fn is_spread(&self) -> bool {
        self.is_apart() || asks_network(&self.asked)
    }

    /// What is shared of it, if anything is.
    fn facts(&self) -> Option<Facts> {
        let asked = &self.asked;
        self.state.telemetry.is_on().then(|| {
            let uids: BTreeSet<&str> = asked.queries.iter().map(|query| query.index_uid.as_str()).collect();
            let remotes: BTreeSet<&str> = asked.queries.iter().filter_map(|query| query.remote.as_deref()).collect();
            Facts::MultiSearch {
                point_count: asked.points_in_time().count(),
                search_count: asked.queries.len(),
                distinct_index_count: uids.len(),
                distinct_remote_count: remotes.len(),
                is_federated: asked.federation.is_some(),
            }
        })
    }

    /// One after the other, over the network, or on this server alone.
    async fn answer(self) -> ApiResult<Response> {
        let (is_apart, is_spread) = (self.is_apart(), self.is_spread());
        let Several { state, body, asked, context, with_metadata } = self;
        let budget = context.budget.clone();
        if is_apart {
            one_by_one(&state, asked, context, with_metadata).await
        } else if is_spread {
            over_network(&state, asked, &body, context, with_metadata).await
        } else {
            Ok(answer(local(&state, asked, context, with_metadata).await?, budget))
        }
    }
}

/// The refusal of a query that names a state, of a request that names others.
fn not_here() -> ApiError {
    ApiError::new(
        Code::InvalidSearchAt,
        "`at` names states of this server by itself: leave `pointInTime`, `useNetwork` and `remote` out of the request.",
    )
}

/// The refusal of a query that asks for another order of its hits.
fn not_reranked() -> ApiError {
    ApiError::new(
        Code::InvalidSearchRerank,
        "`rerank` is for the search of one index: search the index by itself, without a multi-search.",
    )
}

/// The refusal of a merged list that would be of several states of one index.
fn not_several_states(uid: &str) -> ApiError {
    let message = format!(
        "The queries of `{uid}` name different states: in one list, all queries of an index have the same `at`."
    );
    ApiError::new(Code::InvalidSearchAt, message)
}

/// Refuses the request for the first query that `check` refuses.
fn each_query(asked: &MultiSearch, check: impl Fn(&IndexQuery) -> ApiResult<()>) -> ApiResult<()> {
    let mut queries = asked.queries.iter().enumerate();
    queries.try_for_each(|(position, query)| {
        check(query).map_err(|error| at_query(error, query.query_position.unwrap_or(position)))
    })
}

/// The response, with what is reported beside its body.
fn answer(written: Written, budget: AnswerBudget) -> Response {
    let mut answer = json_text(budget.body(written.body));
    report_limits(&mut answer, &written.cuts);
    answer.extensions_mut().insert(Seen { degraded_searches: written.degraded_searches, ..Seen::default() });
    answer
}

/// Queries of this server alone.
async fn local(
    state: &Arc<AppState>,
    asked: MultiSearch,
    mut context: Context,
    with_metadata: bool,
) -> ApiResult<Written> {
    each_query(&asked, |asked| check_media(state, &asked.query))?;
    let queries = asked.queries.iter().map(|asked| (asked.index_uid.as_str(), &asked.query));
    let texts = wanted(state, queries, &context)?;
    context.embedded = embed(state, texts).await;
    let instance = Arc::clone(&state.instance);
    let (points, runtime) = (Arc::clone(&state.points_in_time), Handle::current());
    let budget = context.budget.clone();
    state
        .answer(&budget, move || {
            let views = Views::hold(&asked, &instance, &points, &context.rights)?;
            let written = match &asked.federation {
                Some(federation) => run_federated(&views.shared, &asked.queries, federation, &context, with_metadata),
                None => run_multi(&views.shared, &views.own(), &asked.queries, &context, with_metadata),
            };
            let mut written = written.inspect_err(|_| views.held().for_each(|held| points.give_up(held)))?;
            views.held().for_each(|held| points.watch(held, &runtime));
            if let Some(whole) = &views.whole {
                written.append_field("pointInTime", &whole.shown());
            }
            Ok(written)
        })
        .await
}

/// The states that the queries of a request see.
struct Views {
    /// Those of its indexes.
    shared: Snapshots,
    /// The view that `shared` is of, if the request holds one.
    whole: Option<Held>,
    /// Views of queries that have their own, by position.
    own: BTreeMap<usize, Held>,
    /// States of queries that name one, by position.
    before: BTreeMap<usize, Snapshots>,
}

impl Views {
    fn hold(asked: &MultiSearch, instance: &Instance, points: &PointsInTime, rights: &Rights) -> ApiResult<Views> {
        let holder = rights.holder();
        let is_merged = asked.federation.is_some();
        let present = || {
            let mut present = snapshots(instance, indexes(asked), rights)?;
            if is_merged {
                present.extend(states(instance, &asked.queries, rights)?);
            }
            Ok(present)
        };
        let whole =
            asked.point_in_time.map(|point| points.hold(indexes(asked), point, holder.clone(), present)).transpose()?;
        let shared = whole.as_ref().map_or_else(present, |held| Ok(held.snapshots.clone()))?;
        let mut views = Views { shared, whole, own: BTreeMap::new(), before: BTreeMap::new() };
        // Merged lists refuse them.
        let apart = asked.queries.iter().filter(|_| !is_merged);
        for (position, query) in apart.enumerate() {
            let uid = || std::iter::once(&query.index_uid);
            let own = match query.query.point_in_time {
                Some(point) => points
                    .hold(uid(), point, holder.clone(), || snapshots(instance, uid(), rights))
                    .map(|held| drop(views.own.insert(position, held))),
                None if query.query.at.is_some() => states(instance, std::slice::from_ref(query), rights)
                    .map(|state| drop(views.before.insert(position, state))),
                None => Ok(()),
            };
            if let Err(error) = own {
                views.held().for_each(|held| points.give_up(held));
                return Err(at_query(error, query.query_position.unwrap_or(position)));
            }
        }
        Ok(views)
    }

    /// What queries see that do not see what all see, by position.
    fn own(&self) -> BTreeMap<usize, OwnView<'_>> {
        let held = self
            .own
            .iter()
            .map(|(position, held)| (*position, OwnView { snapshots: &held.snapshots, point: Some(held.shown()) }));
        let before = self.before.iter().map(|(position, snapshots)| (*position, OwnView { snapshots, point: None }));
        held.chain(before).collect()
    }

    fn held(&self) -> impl Iterator<Item = &Held> {
        self.whole.iter().chain(self.own.values())
    }
}

/// Searches that are not merged with each other, some of which ask all servers.
async fn one_by_one(
    state: &Arc<AppState>,
    asked: MultiSearch,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Response> {
    let budget = context.budget.clone();
    let mut results = Vec::with_capacity(asked.queries.len());
    let mut out = Written::default();
    for (position, query) in asked.queries.into_iter().enumerate() {
        let named = |error: ApiError| at_query(error, position);
        if query.query.use_network {
            if query.query.point_in_time.is_some() {
                return Err(named(PointsInTime::not_over_network()));
            }
            let uid = query.index_uid.clone();
            let found = search_network(state, query.index_uid, query.query, context.clone(), with_metadata).await;
            let mut spread = found.map_err(named)?;
            spread.fields.insert("indexUid".to_owned(), uid.into());
            out.cut_by(spread.cuts);
            out.degraded_searches += spread.degraded_searches;
            results.push(Value::Object(spread.fields));
        } else {
            let query = IndexQuery { query_position: Some(position), ..query };
            let alone = MultiSearch { queries: vec![query], federation: None, point_in_time: None };
            let written = local(state, alone, context.clone(), with_metadata).await?;
            budget.take(json_heap_bytes(&written.body, VALUE_BYTES))?;
            let body: Value = serde_json::from_slice(&written.body).expect("our own answers are JSON");
            results.extend(body["results"].as_array().cloned().unwrap_or_default());
            out.cut_by(written.cuts);
            out.degraded_searches += written.degraded_searches;
        }
    }
    out.body = json!({ "results": results }).to_string().into_bytes();
    Ok(answer(out, budget))
}

/// What several servers answered together.
#[derive(Debug)]
pub(super) struct Spread {
    /// Of the body.
    pub(super) fields: Map<String, Value>,
    /// See [`Written`]
    pub(super) cuts: BTreeSet<String>,
    /// Of this server; the others count their own.
    pub(super) degraded_searches: u64,
}

impl Spread {
    /// The response, with what is reported beside its body.
    pub(super) fn answer(self, budget: AnswerBudget) -> Response {
        let Spread { fields, cuts, degraded_searches } = self;
        let body = Value::Object(fields).to_string().into_bytes();
        answer(Written { body, cuts: cuts.into_iter().collect(), degraded_searches }, budget)
    }
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
) -> ApiResult<Spread> {
    if !state.features.is_on(Feature::Network) {
        return Err(ApiError::feature_not_enabled(USING_NETWORK, "network"));
    }
    if !query.measures.is_empty() {
        return Err(ApiError::new(
            Code::InvalidSearchFacets,
            "Facets with `ranges`, `histogram` or `statistics` are measured by one server.\nHint: remove `useNetwork`, and ask \
             each server for its own",
        ));
    }
    let text = query.q.clone().unwrap_or_default();
    let asked = MultiSearch::over_network(uid.clone(), query);
    let body = asked.body_over_network();
    let mut spread = merged_over_network(state, asked, &body, context, with_metadata).await?;
    let mut fields = Map::new();
    for (name, mut value) in std::mem::take(&mut spread.fields) {
        match name.as_str() {
            "hits" => {
                fields.insert(name, value);
                fields.insert("query".to_owned(), text.clone().into());
            }
            "facetsByIndex" => {
                let facets = &mut value[&uid];
                for (of_index, of_search) in [("distribution", "facetDistribution"), ("stats", "facetStats")] {
                    fields.insert(of_search.to_owned(), facets[of_index].take());
                }
            }
            _ => drop(fields.insert(name, value)),
        }
    }
    Ok(Spread { fields, ..spread })
}

/// Asks this server and the others at the same time.
async fn over_network(
    state: &Arc<AppState>,
    asked: MultiSearch,
    body: &Value,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Response> {
    let budget = context.budget.clone();
    Ok(merged_over_network(state, asked, body, context, with_metadata).await?.answer(budget))
}

async fn merged_over_network(
    state: &Arc<AppState>,
    asked: MultiSearch,
    body: &Value,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Spread> {
    let (received, budget) = (context.received, context.budget.clone());
    let federation = asked.federation.clone().ok_or_else(|| ApiError::internal("only merged lists are spread"))?;
    let wanted = ValuesWanted::of(&federation);
    let network = NetworkSearch::new(state.network.topology(), &asked, body, &context.rights)?;
    let here = async {
        let Some(asked) = network.local()? else { return Ok::<_, ApiError>(None) };
        let context = Context { proxied: true, values_wanted: Some(wanted), ..context };
        local(state, asked, context, with_metadata).await.map(Some)
    };
    let patience = state.options.outbound.experimental_remote_search_timeout_seconds;
    let elsewhere = network.ask(&state.outbound, wanted, with_metadata, patience, &budget);
    let (here, elsewhere) = futures_util::future::join(here, elsewhere).await;
    let Written { body, cuts, degraded_searches } = here?.unwrap_or_default();
    budget.take(json_heap_bytes(&body, VALUE_BYTES))?;
    let here = (!body.is_empty()).then(|| serde_json::from_slice(&body).expect("our own answers are JSON"));
    let mut cuts = BTreeSet::from_iter(cuts);
    let error_body = |error: &ApiError| serde_json::to_value(error.body(&state.error_docs)).unwrap_or_default();
    let mut fields = network.merge(&federation, here, elsewhere, error_body, &mut cuts)?;
    let millis = u64::try_from(received.elapsed().as_millis()).unwrap_or(u64::MAX);
    fields.insert("processingTimeMs".to_owned(), millis.into());
    Ok(Spread { fields, cuts, degraded_searches })
}

/// The indexes that the request names.
fn indexes(asked: &MultiSearch) -> impl Iterator<Item = &String> {
    let in_queries = asked.queries.iter().map(|query| &query.index_uid);
    in_queries.chain(asked.federation.iter().flat_map(|federation| federation.facets_by_index.keys()))
}

/// The states that queries name by `at`: one of each index.
fn states(instance: &Instance, queries: &[IndexQuery], rights: &Rights) -> ApiResult<Snapshots> {
    let mut states = Snapshots::new();
    for (position, IndexQuery { index_uid: uid, query, query_position, .. }) in queries.iter().enumerate() {
        let named =
            |error| if queries.len() == 1 { error } else { at_query(error, query_position.unwrap_or(position)) };
        if queries.iter().any(|other| other.index_uid == *uid && other.query.at != query.at) {
            return Err(named(not_several_states(uid)));
        }
        if let Some(at) = query.at.filter(|_| !states.contains_key(uid)) {
            match instance.searchable_at(rights.target(uid), Some(at)) {
                Ok(snapshot) => drop(states.insert(uid.clone(), snapshot)),
                // Reported by the query that needs it.
                Err(error) if error.code == Code::IndexNotFound => {}
                Err(error) => return Err(named(error)),
            }
        }
    }
    Ok(states)
}

/// Those that are there: each once, so that its queries see the same state.
fn snapshots<'a>(instance: &Instance, uids: impl Iterator<Item = &'a String>, rights: &Rights) -> ApiResult<Snapshots> {
    let mut snapshots = Snapshots::new();
    for uid in uids {
        if snapshots.contains_key(uid) {
            continue;
        }
        match instance.searchable(rights.target(uid)) {
            Ok(snapshot) => drop(snapshots.insert(uid.clone(), snapshot)),
            // Reported by the query that needs it.
            Err(error) if error.code == Code::IndexNotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(snapshots)
}
