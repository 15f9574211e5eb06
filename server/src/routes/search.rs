//! `/indexes/{uid}/search`, `/facet-search`, `/similar`.

use std::sync::Arc;

use bytes::Bytes;
use lamina_engine::index::Snapshot;
use tokio::runtime::Handle;
use warp::Filter;
use warp::http::{HeaderMap, header};
use warp::reply::Response;

use super::embed::{embed, wanted};
use super::limits::tell_limits;
use super::multi_search::search_network;
use super::tell;
use crate::app::AppState;
use crate::error::ApiResult;
use crate::features::Feature;
use crate::http::{EntityTag, json_text};
use crate::observe::Seen;
use crate::points_in_time::PointsInTime;
use crate::requests::{Request, request, respond};
use crate::routes::Routes;
use crate::search::{Answered, Context, FacetSearch, Form, Target, run_facet_search, run_similar};
use crate::telemetry::{Facts, SearchFacts};
use crate::timestamp::Timestamp;
use crate::wire::identifier::index_uid_in_path;
use crate::wire::search::SearchQuery;
use crate::wire::similar::SimilarQuery;

/// Header that asks for `metadata` in answers.
pub(super) const METADATA_HEADER: &str = "meili-include-metadata";

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
    let kept = Arc::clone(&request.state().kept_answers);
    let budget = request.state().budgets.answer();
    Context { contains_filter, foreign, rights: request.rights().clone(), kept, budget, ..Context::now() }
}

async fn search_by_body(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let (state, with_metadata) = (Arc::clone(request.state()), asks_metadata(&request));
    let query = SearchQuery::from_body(&*request.json().await?)?;
    search(&state, uid, query, context, Around { with_metadata, seen_before: None }).await
}

async fn search_by_parameters(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let query = SearchQuery::from_parameters(&request.query())?;
    // Holding on to a state, or giving it up, is an effect that no answer from memory may stand for. Documents of other
    // indexes change without this one.
    let is_told_alone = query.point_in_time.is_none() && context.foreign.is_none();
    let seen_before = is_told_alone.then(|| SeenBefore {
        headers: request.headers().clone(),
        asked: format!(
            "{}\n{}",
            request.raw_query(),
            context.rights.imposed_filter(&uid).unwrap_or(&serde_json::Value::Null)
        ),
    });
    let around = Around { with_metadata: asks_metadata(&request), seen_before };
    search(request.state(), uid, query, context, around).await
}

/// What a search asks for beside hits.
struct Around {
    with_metadata: bool,
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
    let Around { with_metadata, seen_before } = around;
    if query.use_network {
        if query.point_in_time.is_some() {
            return Err(PointsInTime::not_over_network());
        }
        let is_told = state.telemetry.is_on();
        let facts = is_told.then(|| Facts::Search(SearchFacts::of(&query, false)));
        let budget = context.budget.clone();
        let mut answer = search_network(state, uid, query, context, with_metadata).await?.answer(budget);
        tell(&mut answer, facts);
        return Ok(answer);
    }
    let may_know = |seen: &&SeenBefore| seen.headers.contains_key(header::IF_NONE_MATCH);
    if let Some(seen_before) = seen_before.as_ref().filter(may_know) {
        let tag = seen_before.tag(&*state.instance.searchable(&uid)?, &context, with_metadata);
        if tag.is_known(&seen_before.headers) {
            return Ok(tag.not_modified());
        }
    }
    // Whether there is an answer, the search has to tell.
    let has_any = seen_before.as_ref().is_some_and(|seen| EntityTag::any_is_known(&seen.headers));
    let form = Form { names_index: false, with_metadata };
    let is_told = state.telemetry.is_on();
    // Of the present state: views that are held on to are looked up where searches run.
    if query.point_in_time.is_none() {
        let snapshot = state.instance.searchable(&uid)?;
        let target = Target { uid: &uid, snapshot: &snapshot };
        if let Some(answered) = context.kept.get(target, &query, &context, form) {
            let tag = seen_before.as_ref().map(|seen| seen.tag(&snapshot, &context, with_metadata));
            let facts = is_told.then(|| Facts::Search(SearchFacts::of(&query, false)));
            let told = Told::of(&answered);
            let body = answered.into_body(context.received, &context.budget);
            // Where memory is short, the search that follows waits for it.
            if let Ok(body) = body {
                let body = context.budget.clone().body(body);
                return Ok(answer(body, &told, tag.as_ref(), has_any, facts));
            }
        }
    }
    let texts = wanted(state, std::iter::once((uid.as_str(), &query)), context.received)?;
    context.embedded = embed(state, texts).await;
    let instance = Arc::clone(&state.instance);
    let (points, runtime) = (Arc::clone(&state.points_in_time), Handle::current());
    let budget = context.budget.clone();
    let found = state.answer(&budget, move || {
        points.within(
            &uid,
            query.point_in_time,
            context.rights.holder(),
            &runtime,
            || instance.searchable(&uid),
            |snapshot| {
                let answered = context.kept.answer(Target { uid: &uid, snapshot }, &query, &context, form)?;
                let told = Told::of(&answered);
                let facts = is_told.then(|| Facts::Search(SearchFacts::of(&query, told.is_degraded)));
                // What a time limit has cut says nothing for certain.
                let seen_before = seen_before.as_ref().filter(|_| !told.is_degraded);
                let tag = seen_before.map(|seen| seen.tag(snapshot, &context, with_metadata));
                Ok((answered.into_body(context.received, &context.budget)?, (told, tag, facts)))
            },
        )
    });
    let (body, (told, tag, facts)) = found.await?;
    Ok(answer(budget.body(body), &told, tag.as_ref(), has_any, facts))
}

/// What is told beside an answer.
struct Told {
    is_degraded: bool,
    cuts: Arc<[String]>,
}

impl Told {
    fn of(answered: &Answered) -> Told {
        Told { is_degraded: answered.is_degraded, cuts: Arc::clone(&answered.cuts) }
    }
}

/// The response with the body of an answer, and what is told beside it; without both for who has any answer (`has_any`)
/// that can be told by its tag.
fn answer(body: Bytes, told: &Told, tag: Option<&EntityTag>, has_any: bool, facts: Option<Facts>) -> Response {
    if let Some(tag) = tag.filter(|_| has_any) {
        return tag.not_modified();
    }
    let mut answer = json_text(body);
    tell_limits(&mut answer, &told.cuts);
    if let Some(tag) = tag {
        tag.put(&mut answer);
    }
    let seen = Seen { degraded_searches: told.is_degraded.into(), facts: facts.map(Box::new) };
    answer.extensions_mut().insert(seen);
    answer
}

async fn facet_search(uid: String, request: Request) -> ApiResult<Response> {
    let mut context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let state = Arc::clone(request.state());
    let asked = FacetSearch::from_body(&*request.json().await?)?;
    let texts = wanted(&state, std::iter::once((uid.as_str(), &asked.query)), context.received)?;
    context.embedded = embed(&state, texts).await;
    let instance = Arc::clone(&state.instance);
    let facts = state.telemetry.is_on().then(|| Facts::FacetSearch { has_point: asked.query.point_in_time.is_some() });
    let (points, runtime) = (Arc::clone(&state.points_in_time), Handle::current());
    let budget = context.budget.clone();
    let found = state.answer(&budget, move || {
        points.within(
            &uid,
            asked.query.point_in_time,
            context.rights.holder(),
            &runtime,
            || instance.searchable(&uid),
            |snapshot| {
                let mut written = run_facet_search(Target { uid: &uid, snapshot }, &asked, &context)?;
                Ok((std::mem::take(&mut written.body), written))
            },
        )
    });
    let (body, written) = found.await?;
    let mut answer = json_text(budget.body(body));
    tell_limits(&mut answer, &written.cuts);
    let seen = Seen { degraded_searches: written.degraded_searches, facts: facts.map(Box::new) };
    answer.extensions_mut().insert(seen);
    Ok(answer)
}

async fn similar_by_body(uid: String, request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let uid = index_uid_in_path(&uid)?;
    let state = Arc::clone(request.state());
    let query = SimilarQuery::from_body(&*request.json().await?)?;
    similar(&state, uid, query, context).await
}

async fn similar_by_parameters(uid: String, request: Request) -> ApiResult<Response> {
    let uid = index_uid_in_path(&uid)?;
    let query = SimilarQuery::from_parameters(&request.query())?;
    similar(request.state(), uid, query, context(&request)).await
}

async fn similar(state: &Arc<AppState>, uid: String, query: SimilarQuery, context: Context) -> ApiResult<Response> {
    let instance = Arc::clone(&state.instance);
    let budget = context.budget.clone();
    let written = state.answer(&budget, move || {
        let snapshot = instance.searchable(&uid)?;
        run_similar(Target { uid: &uid, snapshot: &snapshot }, &query, &context)
    });
    let written = written.await?;
    let mut answer = json_text(budget.body(written.body));
    tell_limits(&mut answer, &written.cuts);
    Ok(answer)
}
