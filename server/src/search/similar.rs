//! Documents like another one.

use super::{Context, Target, parse_filter, refusal, unknown_embedder};
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::similar::SimilarQuery;

/// Checks what can be checked of a request for similar documents and refuses it: there are no vectors to compare yet.
///
/// # Errors
/// Always; the first thing wrong with the request, if anything is.
pub fn run_similar(target: Target<'_>, query: &SimilarQuery, context: &Context) -> ApiResult<Vec<u8>> {
    if let Some(filter) = &query.filter {
        parse_filter(filter, Code::InvalidSimilarFilter, context.contains_filter)?;
    }
    context.imposed_filter(target.uid, Code::InvalidSimilarFilter)?;
    if !target.snapshot.settings.embedders.contains_key(&query.embedder) {
        return Err(unknown_embedder(&query.embedder, Code::InvalidSimilarEmbedder));
    }
    if target.snapshot.find(&query.id).is_none() {
        return Err(ApiError::new(Code::NotFoundSimilarId, format!("Document `{}` not found.", query.id)));
    }
    Err(refusal::vectors_unavailable())
}
