//! Texts of queries become vectors before the search takes a thread of the pool: a slow provider keeps none waiting.

use std::time::{Duration, Instant};

use lamina_engine::index::settings::{DEFAULT_SEARCH_CUTOFF_MS, EmbedderSettings};

use crate::app::AppState;
use crate::search::EmbeddedTexts;
use crate::wire::search::{SearchKind, SearchQuery};

/// A text that a search needs the vector of.
#[derive(Debug)]
pub(super) struct Wanted {
    uid: String,
    settings: EmbedderSettings,
    text: String,
    deadline: Instant,
}

/// The texts that `queries` (with the index of each) are to be searched by meaning for. Each has the time budget of its
/// index, from `received` on.
pub(super) fn wanted<'q>(
    state: &AppState,
    queries: impl Iterator<Item = (&'q str, &'q SearchQuery)>,
    received: Instant,
) -> Vec<Wanted> {
    queries
        .filter_map(|(uid, query)| {
            // What is wrong with a query is told when it runs.
            let Ok(SearchKind::Semantic(hybrid) | SearchKind::Hybrid(hybrid)) = query.kind() else { return None };
            let text = query.q.as_deref().filter(|_| query.vector.is_none())?;
            let snapshot = state.instance.snapshot(uid).ok()?;
            let settings = snapshot.settings.embedder(&hybrid.embedder).filter(|embedder| !embedder.user_provided)?;
            let cutoff_ms = snapshot.settings.search_cutoff_ms.unwrap_or(DEFAULT_SEARCH_CUTOFF_MS);
            let deadline = received + Duration::from_millis(cutoff_ms);
            Some(Wanted { uid: uid.to_owned(), settings, text: text.to_owned(), deadline })
        })
        .collect()
}

/// Their vectors. What fails is noted and told by the search that needs it.
pub(super) async fn embed(state: &AppState, wanted: Vec<Wanted>) -> EmbeddedTexts {
    let mut embedded = EmbeddedTexts::default();
    for Wanted { uid, settings, text, deadline } in wanted {
        if !embedded.contains(&uid, &settings.name, &text) {
            let result = state.embedders.embed_query(&settings, &text, deadline).await;
            embedded.insert(&uid, &settings.name, &text, result);
        }
    }
    embedded
}
