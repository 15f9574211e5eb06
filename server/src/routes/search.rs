//! `/indexes/{uid}/search`, `/facet-search`, `/similar`.

use std::sync::Arc;

use lamina_engine::highlight::append_field;
use lamina_engine::index::Snapshot;
use serde_json::json;
use tokio::runtime::Handle;
use warp::Filter;
use warp::http::{HeaderMap, HeaderValue, StatusCode, header};
use warp::reply::Response;

use super::embed::{embed, wanted};
use super::multi_search::search_network;
use super::tell;
use crate::app::AppState;
use crate::error::{ApiError, ApiResult, Code};
use crate::features::Feature;
use crate::http::{EntityTag, Request, Routes, json_answer, json_text, request, respond};
use crate::observe::Seen;
use crate::points_in_time::Held;
use crate::search::{Answer, Context, FacetSearch, Metadata, Target, run, run_facet_search, run_similar};
use crate::telemetry::{Facts, SearchFacts};
use crate::timestamp::Timestamp;
use crate::wire::identifier::index_uid_in_path;
use crate::wire::point_in_time::PointInTime;
use crate::wire::query_string::QueryString;
use crate::wire::search::SearchQuery;
use crate::wire::similar::SimilarQuery;

/// Header that asks for `metadata` in answers.
pub(super) const METADATA_HEADER: &str = "meili-include-metadata";

/// Header that names the limits that an answer met. Those that the protocol's answers say nothing of are told here, so
/// that bodies have the keys that clients know.
const LIMITS_HEADER: &str = "lamina-limits";

fn limits(cuts: &[String]) -> HeaderValue {
    // Names of attributes that no header can carry are left out.
    let plain = |cut: &String| cut.split_once(':').map_or(cut.as_str(), |(limit, _)| limit).to_owned();
    HeaderValue::from_str(&cuts.join(", "))
        .or_else(|_| HeaderValue::from_str(&cuts.iter().map(plain).collect::<Vec<_>>().join(", ")))
        .unwrap_or(HeaderValue::from_static("some"))
}

pub(super) fn routes(state: &Arc<AppState>) -> Routes {
    let post = warp::path!("indexes" / String / "search").and(warp::post()).and(request(state));
    let get = warp::path!("indexes" / String / "search").and(warp::get()).and(request(state));
    let facets = warp::path!("indexes" / String / "facet-search").and(warp::post()).and(request(state));
    let post_similar = warp::path!("indexes" / String / "similar").and(warp::post()).and(request(state));
    let get_similar = warp::path!("indexes" / String / "similar").and(warp::get()).and(request(state));

    let post = post.then(|uid, request| respond(request, async |request| search_by_body(uid, request).await));
    let get = get.then(|uid, request| respond(request, async |request| search_by_parameters(uid, request).await));
    let facets = facets.then(|uid, request| respond(request, async |request| facet_search(uid, request).await));
    let post_similar =
        post_similar.then(|uid, request| respond(request, async |request| similar_by_body(uid, request).await));
    let get_similar =
        get_similar.then(|uid, request| respond(request, async |request| similar_by_parameters(uid, request).await));
    post.or(get).unify().or(facets).unify().or(post_similar).unify().or(get_similar).unify().boxed()
}

/// Whether the client asks for `metadata`.
pub(super) fn asks_metadata(request: &Request) -> bool {
    request.header(METADATA_HEADER).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// What surrounds a search that comes in now.
pub(super) fn context(request: &Request) -> Context {
    let contains_filter = request.state().features.is_on(Feature::ContainsFilter);
    let foreign_keys = request.state().features.is_on(Feature::ForeignKeys);
    let foreign = foreign_keys.then(|| Arc::clone(&request.state().instance));
    Context { contains_filter, foreign, rights: request.rights().clone(), ..Context::now() }
}

async fn search_by_body(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
    let mut body = request.json().await?;
    let point_in_time = PointInTime::take(&mut body)?;
    let query = SearchQuery::from_body(&body)?;
    search(&state, uid, query, context, Around { with_metadata, point_in_time, seen_before: None }).await
}

async fn search_by_parameters(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let (parameters, point_in_time) = PointInTime::split(request.raw_query())?;
    let query = SearchQuery::from_parameters(&QueryString::parse(&parameters))?;
    // Holding on to a state, or giving it up, is an effect that no answer from memory may stand for.
    let seen_before = point_in_time.is_none().then(|| SeenBefore {
        headers: request.headers().clone(),
        asked: format!("{parameters}\n{}", context.rights.imposed_filter(&uid).unwrap_or(&serde_json::Value::Null)),
    });
    let around = Around { with_metadata: asks_metadata(&request), point_in_time, seen_before };
    search(request.state(), uid, query, context, around).await
}

/// What a search asks for beside hits.
struct Around {
    with_metadata: bool,
    point_in_time: Option<PointInTime>,
    seen_before: Option<SeenBefore>,
}

/// What tells whether the client has the answer already.
struct SeenBefore {
    headers: HeaderMap,
    /// Everything in the request that the answer depends on.
    asked: String,
}

impl SeenBefore {
    /// The tag of the answer from a state of the index. Commits count up within one index; another index of the same
    /// name was made at another time.
    fn tag(&self, snapshot: &Snapshot, context: &Context, with_metadata: bool) -> EntityTag {
        let created_at = Timestamp::from(snapshot.created_at()).nanos();
        let state = [created_at.to_le_bytes(), snapshot.generation.to_le_bytes()].concat();
        let switches = [u8::from(context.contains_filter), u8::from(with_metadata)];
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        EntityTag::of(&[version, &state, &switches, self.asked.as_bytes()])
    }
}

async fn search(
    state: &Arc<AppState>,
    uid: String,
    query: SearchQuery,
    mut context: Context,
    around: Around,
) -> ApiResult<Response> {
    let Around { with_metadata, point_in_time, seen_before } = around;
    if query.use_network {
        if point_in_time.is_some() {
            return Err(ApiError::new(
                Code::InvalidSearchPointInTime,
                "`pointInTime` holds a state of this server, and `useNetwork` asks others as well: use one of them.",
            ));
        }
        let is_told = state.telemetry.is_on();
        let facts = is_told.then(|| Facts::Search(SearchFacts::of(&query, false)));
        let fields = search_network(state, uid, query, context, with_metadata).await?;
        let mut answer = json_answer(StatusCode::OK, &fields);
        tell(&mut answer, facts);
        return Ok(answer);
    }
    let may_know = |seen: &&SeenBefore| seen.headers.contains_key(header::IF_NONE_MATCH);
    if let Some(seen_before) = seen_before.as_ref().filter(may_know) {
        let tag = seen_before.tag(&*state.instance.snapshot(&uid)?, &context, with_metadata);
        if tag.is_known(&seen_before.headers) {
            return Ok(tag.not_modified());
        }
    }
    let texts = wanted(state, std::iter::once((uid.as_str(), &query)), context.received);
    context.embedded = embed(state, texts).await;
    let instance = Arc::clone(&state.instance);
    let is_told = state.telemetry.is_on();
    let (points, runtime) = (Arc::clone(&state.points_in_time), Handle::current());
    let found = state.searches.run(move || {
        let held = point_in_time.map(|asked| points.hold(&uid, asked, || instance.snapshot(&uid))).transpose()?;
        // Also when the search fails.
        held.iter().for_each(|held| points.watch(held, &runtime));
        let snapshot = held.as_ref().map_or_else(|| instance.snapshot(&uid), |held| Ok(Arc::clone(&held.snapshot)))?;
        let target = Target { uid: &uid, snapshot: &snapshot };
        let found = run(target, &query, &context)?;
        let metadata = with_metadata.then(|| Metadata::new(target));
        let is_degraded = found.result.degraded;
        let facts = is_told.then(|| Box::new(Facts::Search(SearchFacts::of(&query, is_degraded))));
        let cuts = found.cuts();
        let seen = Seen { degraded_searches: is_degraded.into(), facts };
        // What a time limit has cut says nothing for certain.
        let tag = seen_before.filter(|_| !is_degraded).map(|seen| seen.tag(&snapshot, &context, with_metadata));
        let answer = Answer { target, query: &query, context: &context, found, names_index: false, metadata };
        let mut body = answer.write()?;
        if let Some(held) = &held {
            append_field(&mut body, "pointInTime", shown(held).to_string().as_bytes());
        }
        ApiResult::Ok((body, seen, cuts, tag))
    });
    let (body, seen, cuts, tag) = found.await??;
    let mut answer = json_text(body);
    if !cuts.is_empty() {
        answer.headers_mut().insert(LIMITS_HEADER, limits(&cuts));
    }
    if let Some(tag) = tag {
        tag.put(&mut answer);
    }
    answer.extensions_mut().insert(seen);
    Ok(answer)
}

/// `pointInTime` of an answer.
fn shown(held: &Held) -> serde_json::Value {
    json!({ "id": held.id, "expiresAt": held.expires_at })
}

async fn facet_search(uid: String, request: Request) -> ApiResult<Response> {
    let mut context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let state = Arc::clone(request.state());
    let asked = FacetSearch::from_body(&request.json().await?)?;
    let texts = wanted(&state, std::iter::once((uid.as_str(), &asked.query)), context.received);
    context.embedded = embed(&state, texts).await;
    let instance = Arc::clone(&state.instance);
    let body = state.searches.run(move || {
        let snapshot = instance.snapshot(&uid)?;
        run_facet_search(Target { uid: &uid, snapshot: &snapshot }, &asked, &context)
    });
    Ok(json_text(body.await??))
}

async fn similar_by_body(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let state = Arc::clone(request.state());
    let query = SimilarQuery::from_body(&request.json().await?)?;
    similar(&state, uid, query, context).await
}

async fn similar_by_parameters(uid: String, request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(&uid)?;
    let query = SimilarQuery::from_parameters(&request.query())?;
    similar(request.state(), uid, query, context(&request)).await
}

async fn similar(state: &Arc<AppState>, uid: String, query: SimilarQuery, context: Context) -> ApiResult<Response> {
    let instance = Arc::clone(&state.instance);
    let body = state.searches.run(move || {
        let snapshot = instance.snapshot(&uid)?;
        run_similar(Target { uid: &uid, snapshot: &snapshot }, &query, &context)
    });
    Ok(json_text(body.await??))
}
