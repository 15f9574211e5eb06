//! `/indexes/{uid}/search`, `/facet-search`, `/completions`, `/similar`.

pub(super) mod context;
mod one;

use std::sync::Arc;

use lamina_base::aliases::IndexName;
use lamina_base::error::ApiResult;
use lamina_data::access::Action;
use lamina_data::observe::ObservedRequest;
use lamina_data::telemetry::Facts;
use lamina_protocol::wire::search::{parameters, similar_fields};
use lamina_protocol::wire::similar::SimilarQuery;
use tokio::runtime::Handle;
use warp::reply::Response;

use super::embed::{Asked, embed, wanted};
use super::limits::report_limits;
use super::openapi::searches;
use super::slow_searches::Watch;
use crate::answer::points_in_time::View;
use crate::answer::search::{
    CompletionQuery, Context, FacetSearch, Target, Written, run_completions, run_facet_search, run_similar,
};
use crate::app::AppState;
use crate::http::json_text;
use crate::http::requests::Request;
use crate::http::routing::{Answer, Route};
use context::{check_state, context};
use one::Search;

pub(super) const ROUTES: &[Route] = &[
    Route::get("/indexes/{indexUid}/search", Action::Search)
        .event("Documents Searched")
        .about("Search", Answer::Ok("SearchAnswer"))
        .query(parameters)
        .run(|request| Box::pin(by_parameters(request))),
    BY_BODY,
    Route::post("/indexes/{indexUid}/facet-search", Action::Search)
        .event("Facet Searched")
        .about("Search the values of a facet", Answer::Ok("FacetSearchAnswer"))
        .json(searches::facet_body, r#"{ "facetName": "genre", "facetQuery": "hor" }"#)
        .run(|request| Box::pin(facet_search(request))),
    Route::post("/indexes/{indexUid}/completions", Action::Search)
        .about("Complete the last word of a text", Answer::Ok("CompletionAnswer"))
        .json(searches::completions_body, r#"{ "q": "jura", "limit": 5 }"#)
        .run(|request| Box::pin(complete(request))),
    Route::get("/indexes/{indexUid}/similar", Action::Search)
        .event("Similar Documents Searched")
        .about("Find similar documents", Answer::Ok("SimilarAnswer"))
        .query(similar_fields)
        .run(|request| Box::pin(similar_by_parameters(request))),
    Route::post("/indexes/{indexUid}/similar", Action::Search)
        .event("Similar Documents Searched")
        .about("Find similar documents", Answer::Ok("SimilarAnswer"))
        .json(searches::similar_body, r#"{ "id": 1, "embedder": "own", "limit": 10 }"#)
        .run(|request| Box::pin(similar_by_body(request))),
];

pub(super) const BY_BODY: Route = Route::post("/indexes/{indexUid}/search", Action::Search)
    .event("Documents Searched")
    .about("Search", Answer::Ok("SearchAnswer"))
    .json(
        searches::body,
        r#"{
            "q": "jurasic wrold",
            "filter": "year > 1980",
            "sort": ["year:desc"],
            "facets": ["genre"],
            "limit": 10
        }"#,
    )
    .run(|request| Box::pin(by_body(request)));

async fn by_parameters(request: Request) -> ApiResult<Response> {
    watched(Search::by_parameters(&request)?).await
}

async fn by_body(request: Request) -> ApiResult<Response> {
    watched(Search::by_body(request).await?).await
}

async fn watched(search: Search) -> ApiResult<Response> {
    let watch = search.watch();
    let answer = search.answer().await;
    watch.into_iter().for_each(Watch::end);
    answer
}

async fn facet_search(request: Request) -> ApiResult<Response> {
    let mut context = context(&request);
    let index = request.index()?;
    let state = Arc::clone(request.state());
    let asked = FacetSearch::from_body(&*request.json().await?)?;
    check_state(&asked.query, &context)?;
    let texts = wanted(&state, std::iter::once(Asked::alone(&index, &asked.query)), &context)?;
    context.embedded = embed(&state, texts).await;
    let facts = state.telemetry.is_on().then(|| Facts::FacetSearch { has_point: asked.query.point_in_time.is_some() });
    let budget = context.budget.clone();
    let watch = Watch::begin(&state, &index.asked, asked.query.q.as_deref());
    let written = facet_search_in_pool(&state, index, asked, context).await?;
    watch.into_iter().for_each(Watch::end);
    let mut answer = json_text(budget.body(written.body));
    report_limits(&mut answer, &written.cuts);
    let seen = ObservedRequest { searches: written.outcomes, facts: facts.map(Box::new) };
    answer.extensions_mut().insert(seen);
    Ok(answer)
}

/// Searches on a thread of the pool, in the view that the request names, or else in the present state.
async fn facet_search_in_pool(
    state: &Arc<AppState>,
    index: IndexName,
    asked: FacetSearch,
    context: Context,
) -> ApiResult<Written> {
    let (instance, points) = (Arc::clone(&state.instance), Arc::clone(&state.points_in_time));
    let (budget, runtime) = (context.budget.clone(), Handle::current());
    let found = state.answer(&budget, move || {
        let view = View { index: &index, point: asked.query.point_in_time, rights: &context.rights };
        let present = || instance.searchable_at(&index.uid, asked.query.at);
        points.within(view, &runtime, present, |uid, snapshot| {
            let target = Target { name: &index.asked, uid, snapshot };
            let mut written = run_facet_search(target, &asked, &context)?;
            Ok((std::mem::take(&mut written.body), written))
        })
    });
    let (body, written) = found.await?;
    Ok(Written { body, ..written })
}

async fn complete(request: Request) -> ApiResult<Response> {
    let context = context(&request);
    let index = request.index()?;
    let state = Arc::clone(request.state());
    let asked = CompletionQuery::from_body(&*request.json().await?)?;
    let budget = context.budget.clone();
    let of_work = Arc::clone(&state);
    let body = state.answer(&budget, move || {
        let snapshot = of_work.instance.searchable(&index.uid)?;
        run_completions(Target::new(&index, &snapshot), &asked, &of_work.asked, &context)
    });
    let body = body.await?;
    Ok(json_text(budget.body(body)))
}

async fn similar_by_body(request: Request) -> ApiResult<Response> {
    let (context, index) = (context(&request), request.index()?);
    let state = Arc::clone(request.state());
    let query = SimilarQuery::from_body(&*request.json().await?)?;
    similar(&state, index, query, context).await
}

async fn similar_by_parameters(request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let query = SimilarQuery::from_parameters(&request.query())?;
    similar(request.state(), index, query, context(&request)).await
}

async fn similar(
    state: &Arc<AppState>,
    index: IndexName,
    query: SimilarQuery,
    context: Context,
) -> ApiResult<Response> {
    let instance = Arc::clone(&state.instance);
    let budget = context.budget.clone();
    let written = state.answer(&budget, move || {
        let snapshot = instance.searchable(&index.uid)?;
        run_similar(Target::new(&index, &snapshot), &query, &context)
    });
    let written = written.await?;
    let mut answer = json_text(budget.body(written.body));
    report_limits(&mut answer, &written.cuts);
    Ok(answer)
}
