//! `/multi-search`.

mod views;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use lamina_base::budget::{AnswerBudget, VALUE_BYTES, json_heap_bytes};
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::access::Action;
use lamina_data::features::Feature;
use lamina_data::observe::{ObservedRequest, SearchOutcomes};
use lamina_data::telemetry::Facts;
use lamina_protocol::wire::multi_search::{IndexQuery, MultiSearch, USING_NETWORK};
use lamina_protocol::wire::search::SearchQuery;
use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use warp::reply::Response;

use super::embed::{Asked, check_media, embed, wanted};
use super::limits::report_limits;
use super::openapi::searches;
use super::report;
use super::search::context::{asks_metadata, check_state, context};
use super::slow_searches::Watch;
use crate::answer::distributed::{NetworkSearch, PROXY_HEADER, VALUES_HEADER, asks_network, values_wanted};
use crate::answer::points_in_time::PointsInTime;
use crate::answer::search::{Asker, Context, Pace, ValuesWanted, Written, at_query, run_federated, run_multi};
use crate::app::AppState;
use crate::http::json_text;
use crate::http::requests::{Charged, Request};
use crate::http::routing::{Answer, Route};
use views::{Views, indexes};

/// Maximum total time of the queries of a request. Queries that have not begun by then have no hits.
const TIME_MAX: Duration = Duration::from_secs(10);
/// Requests of more queries take turns, so that others are not kept waiting.
const MANY: usize = 50;
/// Queries of a request that the log shows if they were slow.
const SHOWN_QUERIES_MAX: usize = 10;

pub(super) const ROUTES: &[Route] = &[Route::post("/multi-search", Action::Search)
    .event("Documents Searched by Multi-Search")
    .about("Run several searches, separately or merged", Answer::Ok("MultiSearchAnswer"))
    .json(
        searches::multi_body,
        r#"{ "queries": [{ "indexUid": "films", "q": "alien" }, { "indexUid": "books", "q": "alien" }] }"#,
    )
    .run(|request| Box::pin(multi_search(request)))];

async fn multi_search(request: Request) -> ApiResult<Response> {
    let several = Several::read(request).await?;
    several.check()?;
    let (facts, watch) = (several.facts(), several.watch());
    let mut answer = several.answer().await?;
    watch.into_iter().for_each(Watch::end);
    report(&mut answer, facts);
    Ok(answer)
}

/// The searches of a request.
struct Several {
    state: Arc<AppState>,
    body: Charged<Value>,
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

    /// Checks whether the caller may send the request, and whether the server has the needed features.
    fn check(&self) -> ApiResult<()> {
        let Several { asked, context, .. } = self;
        if !self.state.features.is_on(Feature::Network) {
            each_query(asked, IndexQuery::check_without_network)?;
        }
        each_query(asked, |query| context.rights.check_index(&query.index_uid))?;
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

    /// Reports whether its lists stay separate, and one of them spans all servers.
    fn is_apart(&self) -> bool {
        self.asked.federation.is_none() && self.asked.queries.iter().any(|query| query.query.use_network)
    }

    fn is_spread(&self) -> bool {
        self.is_apart() || asks_network(&self.asked)
    }

    /// Begins to watch how long the searches take together.
    fn watch(&self) -> Option<Watch> {
        let queries = &self.asked.queries;
        let indexes: BTreeSet<&str> = queries.iter().map(|query| query.index_uid.as_str()).collect();
        let words = queries.iter().filter_map(|query| query.query.q.as_deref()).take(SHOWN_QUERIES_MAX);
        let indexes: Vec<&str> = indexes.into_iter().take(SHOWN_QUERIES_MAX).collect();
        Watch::begin(&self.state, &indexes.join(", "), Some(&words.collect::<Vec<_>>().join(" | ")))
    }

    /// Returns the facts for telemetry, if it is on.
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
        "`at` names states of this server: leave `pointInTime`, `useNetwork` and `remote` out of the request.",
    )
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
    answer.extensions_mut().insert(ObservedRequest { searches: written.outcomes, ..ObservedRequest::default() });
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
    let rights = context.rights.clone();
    let queries = asked.queries.iter().map(|one| Asked {
        index: rights.index(&one.index_uid),
        query: &one.query,
        point: one.query.point_in_time.or(asked.point_in_time),
    });
    let texts = wanted(state, queries, &context)?;
    context.embedded = embed(state, texts).await;
    let _turn = if asked.queries.len() > MANY { Some(state.searches.long_turn().await?) } else { None };
    let (asker, _waiting) = Asker::waiting();
    let reranked = Arc::new(Views::reranked(state, &asked, &context).await?);
    let instance = Arc::clone(&state.instance);
    let (points, runtime) = (Arc::clone(&state.points_in_time), Handle::current());
    let budget = context.budget.clone();
    let views = Arc::clone(&reranked);
    let written = state.answer(&budget, move || {
        let pace = Pace::begin(TIME_MAX, asker.clone()).within(&context.pace);
        let context = &Context { pace, ..context.clone() };
        let held;
        let views = match &*views {
            Some(views) => views,
            None => {
                held = Views::hold(&asked, &instance, &points, &context.rights)?;
                &held
            }
        };
        let written = match &asked.federation {
            Some(federation) => run_federated(&views.shared, &asked.queries, federation, context, with_metadata),
            None => run_multi(&views.shared, &views.own(), &asked.queries, context, with_metadata),
        };
        // Those of the first searches are there for another try.
        let mut written = written.inspect_err(|_| {
            if !views.is_reranked {
                views.give_up(&points);
            }
        })?;
        views.held().for_each(|held| points.watch(held, &runtime));
        if let Some(whole) = &views.whole {
            written.append_field("pointInTime", &whole.shown());
        }
        Ok(written)
    });
    written.await.inspect_err(|_| reranked.iter().for_each(|views| views.give_up(&state.points_in_time)))
}

/// Searches that are not merged with each other, some of which ask all servers.
async fn one_by_one(
    state: &Arc<AppState>,
    asked: MultiSearch,
    context: Context,
    with_metadata: bool,
) -> ApiResult<Response> {
    let context = Context { pace: Pace::begin(TIME_MAX, Asker::default()), ..context };
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
            out.outcomes += spread.outcomes;
            results.push(Value::Object(spread.fields));
        } else {
            let query = IndexQuery { query_position: Some(position), ..query };
            let alone = MultiSearch { queries: vec![query], federation: None, point_in_time: None };
            let written = local(state, alone, context.clone(), with_metadata).await?;
            budget.take(json_heap_bytes(&written.body, VALUE_BYTES))?;
            let body: Value = serde_json::from_slice(&written.body).expect("our own answers are JSON");
            results.extend(body["results"].as_array().cloned().unwrap_or_default());
            out.cut_by(written.cuts);
            out.outcomes += written.outcomes;
        }
    }
    out.body = json!({ "results": results }).to_string().into_bytes();
    Ok(answer(out, budget))
}

/// Merged response of several servers.
#[derive(Debug)]
pub(super) struct Spread {
    /// Fields of the body.
    pub(super) fields: Map<String, Value>,
    /// See [`Written`]
    pub(super) cuts: BTreeSet<String>,
    /// Outcomes of the searches of this server; the others count their own.
    pub(super) outcomes: SearchOutcomes,
}

impl Spread {
    /// The response, with what is reported beside its body.
    pub(super) fn answer(self, budget: AnswerBudget) -> Response {
        let Spread { fields, cuts, outcomes } = self;
        let body = Value::Object(fields).to_string().into_bytes();
        answer(Written { body, cuts: cuts.into_iter().collect(), outcomes }, budget)
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
                if let Some(details) = facets.get_mut("details") {
                    fields.insert("facetDetails".to_owned(), details.take());
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
    let Written { body, cuts, outcomes } = here?.unwrap_or_default();
    budget.take(json_heap_bytes(&body, VALUE_BYTES))?;
    let here = (!body.is_empty()).then(|| serde_json::from_slice(&body).expect("our own answers are JSON"));
    let mut cuts = BTreeSet::from_iter(cuts);
    let error_body = |error: &ApiError| serde_json::to_value(error.body(&state.error_docs)).unwrap_or_default();
    let mut fields = network.merge(&federation, here, elsewhere, error_body, &mut cuts)?;
    let millis = u64::try_from(received.elapsed().as_millis()).unwrap_or(u64::MAX);
    fields.insert("processingTimeMs".to_owned(), millis.into());
    Ok(Spread { fields, cuts, outcomes })
}
