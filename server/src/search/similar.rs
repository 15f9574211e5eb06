//! Documents like another one.

use std::time::Instant;

use lamina_engine::condition::PreparedFilter;
use lamina_engine::filter::Filter;
use lamina_engine::search::{Limit, SearchError, SearchRequest, search_similar};
use serde_json::{Map, json};
use uuid::Uuid;

use super::answer::report_degraded;
use super::multi::Written;
use super::request::{both, filter_time};
use super::{Context, Found, HitWriter, Reach, Target, bounds, hits_bytes, refusal, unknown_embedder};
use crate::engine_errors::Sentence;
use crate::error::{ApiError, ApiResult, Code};
use crate::wire::filter::parse_filter;
use crate::wire::search::{SearchQuery, Window};
use crate::wire::similar::SimilarQuery;

/// Runs the search and writes the body of its answer.
///
/// # Errors
/// A filter that can't be used, an unknown embedder, an unknown document.
pub fn run_similar(target: Target<'_>, query: &SimilarQuery, context: &Context) -> ApiResult<Written> {
    let snapshot = target.snapshot;
    if !snapshot.settings.embedders.contains_key(&query.embedder) {
        return Err(unknown_embedder(&query.embedder, Code::InvalidSimilarEmbedder));
    }
    let retrieved = query.attributes_to_retrieve.as_ref().map_or(0, Vec::len);
    bounds::length("attributesToRetrieve", retrieved, bounds::NAMES_MAX, Code::InvalidSimilarAttributesToRetrieve)?;
    let imposed = context.imposed_filter(target.uid, Code::InvalidSimilarFilter)?;
    let address = snapshot.find(&query.id).filter(|address| is_shown(target, imposed.as_ref(), *address));
    let Some(address) = address else {
        // It may be in what cannot be read.
        snapshot.check_whole()?;
        return Err(ApiError::new(Code::NotFoundSimilarId, format!("Document `{}` not found.", query.id)));
    };
    let filter = match &query.filter {
        Some(filter) => parse_filter(filter, Code::InvalidSimilarFilter, context.contains_filter)?,
        None => None,
    };
    let window = Window::Offset { offset: query.offset, limit: query.limit };
    let window = Reach::new(window, snapshot.settings.pagination.max_total_hits);
    let request = SearchRequest {
        offset: window.offset,
        limit: window.limit,
        filter: both(imposed, filter),
        score_threshold: query.ranking_score_threshold,
        received: context.received,
        ..SearchRequest::default()
    };
    let held = context.budget.hold(hits_bytes(snapshot, &request))?;
    let start = Instant::now();
    let result = search_similar(snapshot, &request, &query.embedder, address).map_err(|error| match error {
        SearchError::Filter(error) => ApiError::new(Code::InvalidSimilarFilter, error.sentence()),
        other => refusal::search(target.uid, &other),
    })?;
    let took = start.elapsed();
    let total = result.total;
    let mut found = Found {
        result,
        sort: Vec::new(),
        facets: None,
        semantic_hit_count: None,
        vector: None,
        steps: Vec::new(),
        window,
        held,
    };
    let shown = SearchQuery {
        attributes_to_retrieve: query.attributes_to_retrieve.clone(),
        retrieve_vectors: query.retrieve_vectors,
        show_ranking_score: query.show_ranking_score,
        show_ranking_score_details: query.show_ranking_score_details,
        ..SearchQuery::default()
    };
    if snapshot.is_degraded() {
        found.result.limits.push(Limit::DamagedSegment);
    }
    let writer = HitWriter::new(target, &shown, &mut found, &context.budget);
    let mut out = Written { body: b"{\"hits\":[".to_vec(), ..Written::default() };
    writer.write_all(&found.result, &mut out.body)?;
    out.body.extend_from_slice(b"]}");
    out.cut_by(found.cuts());
    out.degraded_searches = found.result.degraded.into();
    let millis = u64::try_from(context.received.elapsed().as_millis()).unwrap_or(u64::MAX);
    let mut fields = Map::new();
    fields.insert("id".into(), json!(query.id));
    fields.insert("processingTimeMs".into(), json!(millis));
    fields.insert("limit".into(), json!(query.limit));
    fields.insert("offset".into(), json!(window.offset));
    fields.insert("estimatedTotalHits".into(), json!(snapshot.settings.pagination.estimate(total)));
    fields.insert("requestUid".into(), json!(Uuid::now_v7()));
    report_degraded(&found.result.limits, &mut fields);
    if query.show_performance_details {
        fields.insert("performanceDetails".into(), json!({ "search": format!("{took:.2?}") }));
    }
    report_degraded(&found.result.limits, &mut fields);
    fields.iter().for_each(|(key, value)| out.append_field(key, value));
    Ok(out)
}

/// Whether the caller's rights let it see the document.
fn is_shown(target: Target<'_>, imposed: Option<&Filter>, address: lamina_engine::index::DocumentAddress) -> bool {
    let Some(filter) = imposed else { return true };
    let snapshot = target.snapshot;
    let filter = PreparedFilter::new(filter, &snapshot.settings, &snapshot.fields);
    let passing = filter
        .ok()
        .and_then(|filter| filter.evaluate(&snapshot.segments[address.segment as usize], filter_time()).ok());
    // What is not known to be visible is not shown.
    passing.is_some_and(|passing| passing.contains(address.doc))
}
