//! The part that vectors have in a search.

use std::time::Duration;

use lamina_base::engine_errors::limit_name;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::index::embedding::EmbedFailure;
use lamina_engine::search::{
    SearchRequest, SearchResult, SemanticQuery, dimensions, search, search_hybrid, search_semantic,
};
use lamina_models::embedders::QueryInput;
use lamina_protocol::wire::search::{Hybrid, SearchKind, SearchQuery};

use super::embedded::TextKey;
use super::{Context, EmbeddedTexts, Target, refusal};

/// Result of a search of any kind.
#[derive(Debug)]
pub(super) struct Searched {
    pub(super) result: SearchResult,
    /// Reasons why the answer may be cut, as answers name them: the limits of the engine, and then what failed here.
    pub(super) limits: Vec<&'static str>,
    /// Hits that came by their nearness, for searches that look at it.
    pub(super) semantic_hit_count: Option<usize>,
    /// The vector that documents were compared with.
    pub(super) vector: Option<Vec<f32>>,
}

/// The name of a damaged segment, whose documents are missing, among the limits.
pub(super) const DAMAGED_SEGMENT: &str = "damagedSegment";

impl From<SearchResult> for Searched {
    fn from(result: SearchResult) -> Searched {
        let limits = result.limits.iter().map(|limit| limit_name(*limit)).collect();
        Searched { result, limits, semantic_hit_count: None, vector: None }
    }
}

impl Searched {
    /// Returns the result of a search that had no time to run.
    ///
    /// # Errors
    /// Same as [`search_by_kind`], as far as they depend on the request alone.
    pub(super) fn late(target: Target<'_>, query: &SearchQuery) -> ApiResult<Searched> {
        let semantic_hit_count = match query.kind()? {
            SearchKind::Keyword => None,
            SearchKind::Semantic(_) | SearchKind::Hybrid(_) => Some(0),
        };
        Ok(Searched { semantic_hit_count, ..Searched::from(SearchResult::late(target.snapshot)) })
    }
}

/// Runs a search by words, by vectors, or by both, as `query` asks.
///
/// # Errors
/// What the settings do not allow; for searches by vectors alone also that the text got no vector.
pub(super) fn search_by_kind(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
) -> ApiResult<Searched> {
    let mut searched = search_by_requested_kind(target, query, context, request)?;
    if target.snapshot.is_degraded() {
        searched.result.degraded = true;
        searched.limits.push(DAMAGED_SEGMENT);
    }
    Ok(searched)
}

fn search_by_requested_kind(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    request: &SearchRequest,
) -> ApiResult<Searched> {
    let refuse = |error| refusal::search(target.name, &error);
    match query.kind()? {
        SearchKind::Keyword => {
            let result = search(target.snapshot, request).map_err(refuse)?;
            Ok(Searched::from(result))
        }
        SearchKind::Semantic(hybrid) => {
            let vector = vector(target, query, context, hybrid).map_err(|failure| refusal::not_embedded(&failure))?;
            let semantic = SemanticQuery::new(&hybrid.embedder, vector.clone());
            let result = search_semantic(target.snapshot, request, &semantic).map_err(refuse)?;
            let count = Some(result.hits.len());
            Ok(Searched { semantic_hit_count: count, vector: Some(vector), ..Searched::from(result) })
        }
        SearchKind::Hybrid(hybrid) => {
            let (mut used, mut is_let_down) = (None, false);
            let near = || match vector(target, query, context, hybrid) {
                // The words are left, where the embedder knows none of them.
                Ok(vector) if vector.is_empty() => None,
                Ok(vector) => {
                    used = Some(vector.clone());
                    Some(SemanticQuery::new(&hybrid.embedder, vector))
                }
                Err(failure) => {
                    tracing::warn!(index = target.name, %failure, "a hybrid search returns keyword hits only");
                    // Without an embedder of texts it is what the request asked for.
                    is_let_down = makes_vectors(target, hybrid);
                    None
                }
            };
            let found = search_hybrid(
                target.snapshot,
                request,
                f64::from(hybrid.semantic_ratio),
                hybrid.fusion_for(request.matching),
                near,
            );
            let found = found.map_err(refuse)?;
            let count = Some(found.semantic_hit_count);
            // Hits show their passages also where words alone found them.
            let used = used.or_else(|| {
                target.snapshot.settings.embedder(&hybrid.embedder)?.chunks?;
                vector(target, query, context, hybrid).ok().filter(|vector| !vector.is_empty())
            });
            let mut searched = Searched { semantic_hit_count: count, vector: used, ..Searched::from(found.result) };
            if is_let_down {
                searched.result.degraded = true;
                searched.limits.push("embedder");
            }
            Ok(searched)
        }
    }
}

/// Refuses an unknown embedder and a vector of another size, also where the vector may not be needed in the end.
///
/// # Errors
/// Also a vector without an embedder.
pub(super) fn check_embedder(target: Target<'_>, query: &SearchQuery) -> ApiResult<()> {
    let (SearchKind::Semantic(hybrid) | SearchKind::Hybrid(hybrid)) = query.kind()? else { return Ok(()) };
    if !target.snapshot.settings.embedders.contains_key(&hybrid.embedder) {
        return Err(refusal::unknown_embedder(&hybrid.embedder, Code::InvalidSearchEmbedder));
    }
    let expected = dimensions(target.snapshot, &hybrid.embedder).map(|expected| expected as usize);
    match (expected, &query.vector) {
        (Some(expected), Some(vector)) if expected != vector.len() => Err(ApiError::new(
            Code::InvalidVectorDimensions,
            format!("Invalid vector dimensions: expected: `{expected}`, found: `{}`.", vector.len()),
        )),
        _ => Ok(()),
    }
}

/// Returns the time spent waiting for the vector of the text, if a search is by meaning and its vector was made.
pub(super) fn embedding_took(target: Target<'_>, query: &SearchQuery, context: &Context) -> Option<Duration> {
    let Ok(SearchKind::Semantic(hybrid) | SearchKind::Hybrid(hybrid)) = query.kind() else { return None };
    let is_made = query.vector.is_none();
    is_made.then(|| context.embedded.took(&key(target, query, hybrid))).flatten()
}

fn key(target: Target<'_>, query: &SearchQuery, hybrid: &Hybrid) -> TextKey {
    EmbeddedTexts::key(target.uid, &target.snapshot.settings, &hybrid.embedder, &input(query).key())
}

fn input(query: &SearchQuery) -> QueryInput<'_> {
    QueryInput { q: query.q.as_deref(), media: query.media.as_ref() }
}

/// Reports whether the embedder makes vectors of texts.
fn makes_vectors(target: Target<'_>, hybrid: &Hybrid) -> bool {
    target.snapshot.settings.embedder(&hybrid.embedder).is_some_and(|settings| !settings.user_provided)
}

/// The vector of the request, else the one made from its text.
fn vector(
    target: Target<'_>,
    query: &SearchQuery,
    context: &Context,
    hybrid: &Hybrid,
) -> Result<Vec<f32>, EmbedFailure> {
    if let Some(vector) = &query.vector {
        return Ok(vector.clone());
    }
    let text = query.q.as_deref().unwrap_or("");
    if !makes_vectors(target, hybrid) {
        return Err(EmbedFailure::user(format!(
            "attempt to embed the following text in a configuration where embeddings must be user provided:\n  - \
             `{text}`"
        )));
    }
    context.embedded.get(&key(target, query, hybrid))
}
