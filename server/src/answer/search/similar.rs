//! Documents like another one.

use std::time::{Duration, Instant};

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::condition::PreparedFilter;
use lamina_engine::filter::Filter;
use lamina_engine::index::DocumentAddress;
use lamina_engine::search::{SearchError, SearchRequest, search_similar};
use lamina_protocol::wire::filter::parse_filter;
use lamina_protocol::wire::similar::SimilarQuery;
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::answer::report_degraded;
use super::by_kind::{DAMAGED_SEGMENT, Searched};
use super::multi::Written;
use super::request::{both, cutoff};
use super::{Context, Found, HitWriter, Reach, Target, filter_time, hits_bytes, refusal, unknown_embedder};

/// Runs the search and writes the body of its answer.
///
/// # Errors
/// A filter that can't be used, an unknown embedder, an unknown document.
pub(crate) fn run_similar(target: Target<'_>, asked: &SimilarQuery, context: &Context) -> ApiResult<Written> {
    if !target.snapshot.settings.embedders.contains_key(&asked.embedder) {
        return Err(unknown_embedder(&asked.embedder, Code::InvalidSimilarEmbedder));
    }
    let imposed = context.imposed_filter(target.name, target.uid, Code::InvalidSimilarFilter)?;
    let address = address(target, asked, imposed.as_ref())?;
    let window = Reach::new(asked.query.window(), target.snapshot.settings.pagination.max_total_hits);
    let request = request(target, asked, context, window, imposed)?;
    let start = Instant::now();
    let mut found = find(target, asked, context, window, &request, address)?;
    let took = start.elapsed();
    let mut out = write_hits(target, asked, context, &mut found)?;
    for (key, value) in &around(target, asked, context, &found, took) {
        out.append_field(key, value);
    }
    Ok(out)
}

/// Returns the address of the document that others are compared with, if the caller may see it.
fn address(target: Target<'_>, asked: &SimilarQuery, imposed: Option<&Filter>) -> ApiResult<DocumentAddress> {
    let address = target.snapshot.find(&asked.id).filter(|address| is_shown(target, imposed, *address));
    let Some(address) = address else {
        // It may be in what cannot be read.
        target.snapshot.check_whole()?;
        return Err(ApiError::new(Code::NotFoundSimilarId, format!("Document `{}` not found.", asked.id)));
    };
    Ok(address)
}

/// The engine's request, with the filter that the caller's rights impose.
fn request(
    target: Target<'_>,
    asked: &SimilarQuery,
    context: &Context,
    window: Reach,
    imposed: Option<Filter>,
) -> ApiResult<SearchRequest> {
    let filter = match &asked.query.filter {
        Some(filter) => parse_filter(filter, Code::InvalidSimilarFilter, context.contains_filter)?,
        None => None,
    };
    Ok(SearchRequest {
        offset: window.offset,
        limit: window.limit,
        filter: both(imposed, filter),
        score_threshold: asked.query.ranking_score_threshold,
        // What is alike does not depend on what else counts.
        boosts: Some(Vec::new()),
        cutoff: Some(cutoff(&target.snapshot.settings)),
        received: context.received,
        ..SearchRequest::default()
    })
}

/// The documents like the one at `address`.
fn find(
    target: Target<'_>,
    asked: &SimilarQuery,
    context: &Context,
    window: Reach,
    request: &SearchRequest,
    address: DocumentAddress,
) -> ApiResult<Found> {
    let held = context.budget.hold(hits_bytes(target.snapshot, request))?;
    let found = search_similar(target.snapshot, request, &asked.embedder, address);
    let result = found.map_err(|error| match error {
        SearchError::Filter(error) => ApiError::new(Code::InvalidSimilarFilter, error.sentence()),
        other => refusal::search(target.name, &other),
    })?;
    let Searched { result, mut limits, .. } = Searched::from(result);
    if target.snapshot.is_degraded() {
        limits.push(DAMAGED_SEGMENT);
    }
    Ok(Found {
        result,
        limits,
        sort: Vec::new(),
        facets: None,
        measured: Vec::new(),
        semantic_hit_count: None,
        vector: None,
        did_you_mean: None,
        pinned: Vec::new(),
        mixed: super::Mixed::default(),
        steps: Vec::new(),
        window,
        held,
    })
}

/// The answer up to the end of its hits.
fn write_hits(target: Target<'_>, asked: &SimilarQuery, context: &Context, found: &mut Found) -> ApiResult<Written> {
    let writer = HitWriter::new(target, &asked.query, found, &context.budget);
    let mut out = Written { body: b"{\"hits\":[".to_vec(), ..Written::default() };
    writer.write_all(&found.result, &mut out.body)?;
    out.body.extend_from_slice(b"]}");
    out.cut_by(found.cuts());
    out.outcomes.degraded = found.result.degraded.into();
    Ok(out)
}

/// Everything but the hits; the search itself `took` so long.
fn around(
    target: Target<'_>,
    asked: &SimilarQuery,
    context: &Context,
    found: &Found,
    took: Duration,
) -> Map<String, Value> {
    let millis = u64::try_from(context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
    let total = target.snapshot.settings.pagination.estimate(found.result.total);
    let mut fields = Map::new();
    fields.insert("id".into(), json!(asked.id));
    fields.insert("processingTimeMs".into(), json!(millis));
    fields.insert("limit".into(), json!(asked.query.limit));
    fields.insert("offset".into(), json!(found.window.offset));
    fields.insert("estimatedTotalHits".into(), json!(total));
    fields.insert("requestUid".into(), json!(Uuid::now_v7()));
    report_degraded(&found.limits, &mut fields);
    if asked.query.show_performance_details {
        fields.insert("performanceDetails".into(), json!({ "search": format!("{took:.2?}") }));
    }
    fields
}

/// Reports whether the rights of the caller permit the document.
fn is_shown(target: Target<'_>, imposed: Option<&Filter>, address: DocumentAddress) -> bool {
    let Some(filter) = imposed else { return true };
    let snapshot = target.snapshot;
    let filter = PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields);
    let passing = filter
        .ok()
        .and_then(|filter| filter.evaluate(&snapshot.segments[address.segment as usize], filter_time()).ok());
    // What is not known to be visible is not shown.
    passing.is_some_and(|passing| passing.contains(address.doc))
}

#[cfg(test)]
mod tests {
    use lamina_protocol::wire::search::Window;

    use super::super::tests::animals;
    use super::*;

    #[test]
    fn it_has_the_time_budget_of_a_search() {
        let snapshot = animals();
        let target = Target { name: "animals", uid: "animals", snapshot: &snapshot };
        let query = SimilarQuery::from_body(&json!({"id": 1, "embedder": "e", "filter": "weight > 4"})).unwrap();
        let window = Reach::new(Window::Offset { offset: 0, limit: 1 }, 10);
        let request = request(target, &query, &Context::now(), window, None).unwrap();
        assert_eq!(request.cutoff, Some(Duration::from_millis(1500)));
    }
}
