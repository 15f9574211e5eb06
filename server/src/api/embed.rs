//! Texts of queries become vectors before the search takes a thread of the pool: a slow provider keeps none waiting.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use lamina_base::aliases::IndexName;
use lamina_base::error::{ApiError, ApiResult};
use lamina_data::features::Feature;
use lamina_engine::index::Snapshot;
use lamina_engine::index::settings::{DEFAULT_SEARCH_CUTOFF_MS, EmbedderSettings};
use lamina_engine::search::dimensions;
use lamina_models::embedders::QueryInput;
use lamina_protocol::wire::point_in_time::PointInTime;
use lamina_protocol::wire::search::{SearchKind, SearchQuery};
use serde_json::Value;

use crate::answer::points_in_time::NamedSnapshot;
use crate::answer::search::{Context, EmbeddedTexts, Target, TextKey};
use crate::app::AppState;

/// A text that a search needs the vector of.
#[derive(Debug)]
pub(super) struct Wanted {
    key: TextKey,
    settings: EmbedderSettings,
    q: Option<String>,
    media: Option<Value>,
    /// Dimensions of the vectors to compare with, if there are any.
    dimensions: Option<u32>,
    deadline: Instant,
}

/// # Errors
/// `feature_not_enabled` for `media`.
pub(super) fn check_media(state: &AppState, query: &SearchQuery) -> ApiResult<()> {
    if query.media.is_some() && !state.features.is_on(Feature::Multimodal) {
        return Err(ApiError::feature_not_enabled("passing `media` in a search query", "multimodal"));
    }
    Ok(())
}

/// A query that may be searched by meaning.
#[derive(Debug)]
pub(super) struct Asked<'q> {
    /// Index, by the name that the request uses.
    pub index: IndexName,
    pub query: &'q SearchQuery,
    /// The state that is held for the query, if it names one.
    pub point: Option<PointInTime>,
}

impl<'q> Asked<'q> {
    /// A query that is a request of its own.
    pub(super) fn alone(index: &IndexName, query: &'q SearchQuery) -> Asked<'q> {
        Asked { index: index.clone(), query, point: query.point_in_time }
    }

    /// The state that the query searches: its embedder makes the vector.
    fn state(&self, state: &AppState) -> Option<NamedSnapshot> {
        match self.point.and_then(|point| point.id) {
            Some(id) => state.points_in_time.held(id, &self.index),
            None => {
                let snapshot = state.instance.state_at(&self.index.uid, self.query.at).ok()?;
                Some(NamedSnapshot::named(&self.index, snapshot).1)
            }
        }
    }
}

/// The texts that queries are to be searched by meaning for. Each has the time budget of its index, from when the request was received.
///
/// # Errors
/// `feature_not_enabled` for `media`.
pub(super) fn wanted<'q>(
    state: &AppState,
    queries: impl Iterator<Item = Asked<'q>>,
    context: &Context,
) -> ApiResult<Vec<Wanted>> {
    let queries: Vec<_> = queries.collect();
    queries.iter().try_for_each(|asked| check_media(state, asked.query))?;
    let mut wanted = Vec::new();
    for asked in queries {
        if !needs_vector(asked.query) && !context.may_be_assigned() {
            continue;
        }
        let Some(NamedSnapshot { uid, snapshot }) = asked.state(state) else { continue };
        wanted.extend(wanted_by(asked.query, &uid, &snapshot, context));
        // What a variant needs besides, under the name of the index.
        let target = Target { name: &asked.index.asked, uid: &uid, snapshot: &snapshot };
        let assigned = context.assigned(target, asked.query);
        if let Some(Ok((query, other))) = assigned.map(|assigned| assigned.of_variant(target, asked.query, context)) {
            wanted.extend(wanted_by(&query, &uid, other.as_ref().unwrap_or(&snapshot), context));
        }
    }
    Ok(wanted)
}

/// Returns whether a query needs the vector of its text. What is wrong with it is reported when it runs.
fn needs_vector(query: &SearchQuery) -> bool {
    query.vector.is_none() && matches!(query.kind(), Ok(SearchKind::Semantic(_) | SearchKind::Hybrid(_)))
}

/// The text that a query in this state of an index needs the vector of.
fn wanted_by(query: &SearchQuery, uid: &str, snapshot: &Snapshot, context: &Context) -> Option<Wanted> {
    let hybrid = query.hybrid.as_ref().filter(|_| needs_vector(query))?;
    let settings = snapshot.settings.embedder(&hybrid.embedder).filter(|embedder| !embedder.user_provided)?;
    let cutoff_ms = snapshot.settings.search_cutoff_ms.unwrap_or(DEFAULT_SEARCH_CUTOFF_MS);
    Some(Wanted {
        key: EmbeddedTexts::key(uid, &snapshot.settings, &hybrid.embedder, &input(query).key()),
        dimensions: dimensions(snapshot, &hybrid.embedder),
        settings,
        q: query.q.clone(),
        media: query.media.clone(),
        deadline: context.received + Duration::from_millis(cutoff_ms),
    })
}

fn input(query: &SearchQuery) -> QueryInput<'_> {
    QueryInput { q: query.q.as_deref(), media: query.media.as_ref() }
}

/// Texts of one request that are asked for at the same time.
const PARALLEL_TEXTS: usize = 16;

/// Returns the vectors of the texts. Embedders are called side by side, so that a late one takes no time from the others. What fails is
/// noted and reported by the search that needs it.
pub(super) async fn embed(state: &AppState, wanted: Vec<Wanted>) -> EmbeddedTexts {
    let mut asked = HashMap::new();
    for wanted in wanted {
        asked.entry(wanted.key.clone()).or_insert(wanted);
    }
    let answers = asked.into_iter().map(|(key, wanted)| async move {
        let input = QueryInput { q: wanted.q.as_deref(), media: wanted.media.as_ref() };
        let start = Instant::now();
        let result = state.embedders.embed_query(&wanted.settings, input, wanted.dimensions, wanted.deadline).await;
        (key, result, start.elapsed())
    });
    let mut answers = stream::iter(answers).buffer_unordered(PARALLEL_TEXTS);
    let mut embedded = EmbeddedTexts::default();
    while let Some((key, result, took)) = answers.next().await {
        embedded.insert(key, result, took);
    }
    embedded
}
