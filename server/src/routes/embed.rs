//! Texts of queries become vectors before the search takes a thread of the pool: a slow provider keeps none waiting.

use std::time::{Duration, Instant};

use lamina_engine::index::settings::{DEFAULT_SEARCH_CUTOFF_MS, EmbedderSettings};

use serde_json::Value;

use crate::app::AppState;
use crate::embedders::QueryInput;
use crate::error::{ApiError, ApiResult};
use crate::features::Feature;
use crate::search::EmbeddedTexts;
use crate::wire::search::{SearchKind, SearchQuery};

/// A text that a search needs the vector of.
#[derive(Debug)]
pub(super) struct Wanted {
    uid: String,
    settings: EmbedderSettings,
    q: Option<String>,
    media: Option<Value>,
    deadline: Instant,
}

/// The texts that `queries` (with the index of each) are to be searched by meaning for. Each has the time budget of its
/// index, from `received` on.
///
/// # Errors
/// `feature_not_enabled` for `media`.
pub(super) fn wanted<'q>(
    state: &AppState,
    queries: impl Iterator<Item = (&'q str, &'q SearchQuery)>,
    received: Instant,
) -> ApiResult<Vec<Wanted>> {
    let queries: Vec<_> = queries.collect();
    if !state.features.is_on(Feature::Multimodal) && queries.iter().any(|(_, query)| query.media.is_some()) {
        return Err(ApiError::feature_not_enabled("passing `media` in a search query", "multimodal"));
    }
    let wanted = queries
        .into_iter()
        .filter_map(|(uid, query)| {
            // What is wrong with a query is told when it runs.
            let Ok(SearchKind::Semantic(hybrid) | SearchKind::Hybrid(hybrid)) = query.kind() else { return None };
            if query.vector.is_some() {
                return None;
            }
            let snapshot = state.instance.snapshot(uid).ok()?;
            let settings = snapshot.settings.embedder(&hybrid.embedder).filter(|embedder| !embedder.user_provided)?;
            let cutoff_ms = snapshot.settings.search_cutoff_ms.unwrap_or(DEFAULT_SEARCH_CUTOFF_MS);
            let deadline = received + Duration::from_millis(cutoff_ms);
            Some(Wanted { uid: uid.to_owned(), settings, q: query.q.clone(), media: query.media.clone(), deadline })
        })
        .collect();
    Ok(wanted)
}

/// Their vectors. What fails is noted and told by the search that needs it.
pub(super) async fn embed(state: &AppState, wanted: Vec<Wanted>) -> EmbeddedTexts {
    let mut embedded = EmbeddedTexts::default();
    for Wanted { uid, settings, q, media, deadline } in wanted {
        let input = QueryInput { q: q.as_deref(), media: media.as_ref() };
        let key = input.key();
        if !embedded.contains(&uid, &settings.name, &key) {
            let result = state.embedders.embed_query(&settings, input, deadline).await;
            embedded.insert(&uid, &settings.name, &key, result);
        }
    }
    embedded
}
