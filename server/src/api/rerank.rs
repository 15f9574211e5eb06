//! Providers put the first hits of a search into another order before its answer takes a thread of the pool: a slow provider
//! keeps none waiting.

use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_base::aliases::IndexName;
use lamina_base::error::ApiResult;
use lamina_engine::index::Snapshot;
use lamina_models::rerankers::{Place, best_first};
use lamina_protocol::wire::point_in_time::PointInTime;
use lamina_protocol::wire::search::SearchQuery;

use crate::answer::points_in_time::{NamedSnapshot, PointsInTime};
use crate::answer::search::{Candidates, Context, Reranked, Target, candidates, reranker};
use crate::app::AppState;

/// A state that is held is kept at least for as long as a provider may take, and the search behind it.
const HELD_TIME: Duration = Duration::from_secs(60);

/// The order for the first hits of a search of `index`, if it asks for one and has words that they can be compared
/// with. A provider that fails or is late leaves the hits as they are.
///
/// # Errors
/// What the search would be refused for.
pub(super) async fn rerank(
    state: &Arc<AppState>,
    index: &IndexName,
    query: &SearchQuery,
    context: &Context,
) -> ApiResult<Option<Arc<Reranked>>> {
    if query.rerank.is_none() || query.text().is_none() {
        return Ok(None);
    }
    let NamedSnapshot { uid, snapshot } = searched_state(state, index, query, context)?;
    let index = IndexName { asked: index.asked.clone(), uid: (*uid).to_owned() };
    rerank_in(state, &index, &snapshot, query, context).await
}

/// Reranks like [`rerank`], for a search that sees `snapshot`.
///
/// # Errors
/// Same as [`rerank`].
pub(super) async fn rerank_in(
    state: &Arc<AppState>,
    index: &IndexName,
    snapshot: &Arc<Snapshot>,
    query: &SearchQuery,
    context: &Context,
) -> ApiResult<Option<Arc<Reranked>>> {
    let (Some(rerank), Some(text)) = (query.rerank.clone(), query.text().map(str::to_owned)) else { return Ok(None) };
    let snapshot = Arc::clone(snapshot);
    let reranker = reranker(Target::new(index, &snapshot), &rerank)?;
    let found = {
        let (index, query, context, rerank) = (index.clone(), query.clone(), context.clone(), rerank.clone());
        let (snapshot, reranker) = (Arc::clone(&snapshot), reranker.clone());
        let budget = context.budget.clone();
        let work = move || candidates(Target::new(&index, &snapshot), &query, &rerank, &reranker, &context);
        state.answer(&budget, work).await?
    };
    let Candidates { texts, addresses, held } = found;
    let start = Instant::now();
    let scores = if texts.is_empty() {
        Ok(Vec::new())
    } else {
        let deadline = start + rerank.timeout;
        match &reranker.place {
            Place::Elsewhere(provider) => provider.rerank(&state.outbound, &text, &texts, deadline).await,
            Place::Here { model, revision } => {
                let scores = state.embedders.cross_encode([model, revision], &text, &texts, deadline).await;
                scores.map(|scores| best_first(scores.into_iter().enumerate()))
            }
        }
    };
    drop(held);
    let scores = scores.inspect_err(|reason| {
        tracing::warn!(
            index = index.asked,
            reranker = %rerank.reranker,
            %reason,
            "a search keeps its order because its reranker failed"
        );
    });
    let scores = scores.ok().map(|scores| scores.into_iter().map(|(place, score)| (addresses[place], score)).collect());
    Ok(Some(Arc::new(Reranked { snapshot, took: start.elapsed(), scores })))
}

/// The state that the search sees: one that is held, or the present one, which a new view would hold.
fn searched_state(
    state: &AppState,
    index: &IndexName,
    query: &SearchQuery,
    context: &Context,
) -> ApiResult<NamedSnapshot> {
    let present = || state.instance.searchable_at(&index.uid, query.at);
    match query.point_in_time {
        Some(asked @ PointInTime { id: Some(_), .. }) => {
            let asked = PointInTime { keep_alive: asked.keep_alive.max(HELD_TIME), ..asked };
            let points: &PointsInTime = &state.points_in_time;
            let states = || Ok([NamedSnapshot::named(index, present()?)].into());
            let held = points.hold(std::iter::once(index), asked, &context.rights, states)?;
            Ok(held.snapshots[&index.asked].clone())
        }
        _ => present().map(|snapshot| NamedSnapshot::named(index, snapshot).1),
    }
}
