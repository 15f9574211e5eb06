//! Texts of queries become vectors before the search takes a thread of the pool: a slow provider keeps none waiting.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use lamina_base::error::{ApiError, ApiResult};
use lamina_data::features::Feature;
use lamina_engine::index::settings::{DEFAULT_SEARCH_CUTOFF_MS, EmbedderSettings};
use lamina_engine::search::dimensions;
use lamina_models::embedders::QueryInput;
use lamina_protocol::wire::search::{SearchKind, SearchQuery};
use serde_json::Value;

use crate::answer::search::{Context, EmbeddedTexts};
use crate::app::AppState;

/// A text that a search needs the vector of.
#[derive(Debug)]
pub(super) struct Wanted {
    uid: String,
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

/// The texts that `queries` (with the uid of the index of each) are to be searched by meaning for. Each has the time budget of its
/// index, from when the request was received.
///
/// # Errors
/// `feature_not_enabled` for `media`.
pub(super) fn wanted<'q>(
    state: &AppState,
    queries: impl Iterator<Item = (&'q str, &'q SearchQuery)>,
    context: &Context,
) -> ApiResult<Vec<Wanted>> {
    let queries: Vec<_> = queries.collect();
    queries.iter().try_for_each(|(_, query)| check_media(state, query))?;
    let wanted = queries
        .into_iter()
        .filter_map(|(uid, query)| {
            // What is wrong with a query is reported when it runs.
            let Ok(SearchKind::Semantic(hybrid) | SearchKind::Hybrid(hybrid)) = query.kind() else { return None };
            if query.vector.is_some() {
                return None;
            }
            let snapshot = state.instance.state(uid).ok()?;
            let settings = snapshot.settings.embedder(&hybrid.embedder).filter(|embedder| !embedder.user_provided)?;
            let cutoff_ms = snapshot.settings.search_cutoff_ms.unwrap_or(DEFAULT_SEARCH_CUTOFF_MS);
            let deadline = context.received + Duration::from_millis(cutoff_ms);
            Some(Wanted {
                uid: uid.to_owned(),
                dimensions: dimensions(&snapshot, &hybrid.embedder),
                settings,
                q: query.q.clone(),
                media: query.media.clone(),
                deadline,
            })
        })
        .collect();
    Ok(wanted)
}

/// Texts of one request that are asked for at the same time.
const PARALLEL_TEXTS: usize = 16;

/// Returns the vectors of the texts. Embedders are called side by side, so that a late one takes no time from the others. What fails is
/// noted and reported by the search that needs it.
pub(super) async fn embed(state: &AppState, wanted: Vec<Wanted>) -> EmbeddedTexts {
    let mut asked = HashMap::new();
    for wanted in wanted {
        let key = QueryInput { q: wanted.q.as_deref(), media: wanted.media.as_ref() }.key();
        asked.entry((wanted.uid.clone(), wanted.settings.name.clone(), key)).or_insert(wanted);
    }
    let answers = asked.into_iter().map(|((uid, embedder, key), wanted)| async move {
        let input = QueryInput { q: wanted.q.as_deref(), media: wanted.media.as_ref() };
        let start = Instant::now();
        let result = state.embedders.embed_query(&wanted.settings, input, wanted.dimensions, wanted.deadline).await;
        (uid, embedder, key, result, start.elapsed())
    });
    let mut answers = stream::iter(answers).buffer_unordered(PARALLEL_TEXTS);
    let mut embedded = EmbeddedTexts::default();
    while let Some((uid, embedder, key, result, took)) = answers.next().await {
        embedded.insert(&uid, &embedder, &key, result, took);
    }
    embedded
}
