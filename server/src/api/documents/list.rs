//! Reading documents.

use std::cmp::Ordering;
use std::sync::Arc;

use lamina_base::aliases::IndexName;
use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_data::features::Feature;
use lamina_data::tasks::blocking;
use lamina_data::telemetry::Facts;
use lamina_engine::bits::DocSet;
use lamina_engine::index::{DocumentAddress, Snapshot};
use lamina_engine::sort::{ElementSorts, SegmentSort, SortCriterion, check_sortable};
use lamina_protocol::wire::documents::{GetParameters, ListQuery};
use lamina_protocol::wire::filter::check_contains;
use lamina_protocol::wire::identifier::decode_path_segment;
use warp::reply::Response;

use super::candidates::{candidates, projection, total_len};
use super::network;
use super::stream::{Begun, DocumentWriter, Listed, Page, SMALL_BYTES};
use crate::answer::search::{Context, filter_time};
use crate::api::report;
use crate::api::search::context::context;
use crate::app::AppState;
use crate::http::json_text;
use crate::http::requests::Request;

pub(super) async fn get_one(request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let GetParameters { fields, retrieve_vectors: with_vectors, at, use_network } =
        GetParameters::from_query(&request.query())?;
    let id = decode_path_segment(request.part("documentId"));
    let asks_others = network::is_asked(request.state(), use_network)?;
    let instance = &request.state().instance;
    let snapshot = instance.state_at(&index.uid, at)?;
    let Some(address) = snapshot.find(&id) else {
        // It may be in what cannot be read.
        snapshot.check_whole()?;
        if asks_others {
            return network::find(request.state(), &index.asked, &id, fields, with_vectors).await;
        }
        return Err(ApiError::document_not_found(&id));
    };
    let budget = request.state().budgets.answer();
    let writer = DocumentWriter { snapshot, projection: projection(fields.as_deref()), with_vectors };
    let bytes = writer.bytes(address)?;
    if budget.take(bytes).is_err() {
        if budget.is_short() {
            budget.reserve().await?;
        }
        budget.take(bytes)?;
    }
    let write = move || {
        let mut body = Vec::new();
        writer.write(address, &mut body)?;
        Ok::<_, ApiError>(body)
    };
    // A usual one takes microseconds: not worth another thread.
    let body = if bytes > SMALL_BYTES { blocking(write).await?? } else { write()? };
    Ok(json_text(budget.body(body)))
}

pub(super) async fn by_parameters(request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let query = ListQuery::from_query(&request.query())?;
    answer(index, query, request.state(), context(&request)).await
}

pub(super) async fn by_body(request: Request) -> ApiResult<Response> {
    let index = request.index()?;
    let (state, context) = (Arc::clone(request.state()), context(&request));
    let query = ListQuery::from_body(&*request.json().await?)?;
    answer(index, query, &state, context).await
}

/// Lists share the queue of the searches, unless the feature says otherwise: a filter and a sort cost as much.
async fn answer(index: IndexName, query: ListQuery, state: &AppState, context: Context) -> ApiResult<Response> {
    let IndexName { asked: name, uid } = index;
    if network::is_asked(state, query.use_network)? {
        return network::list(state, &name, uid, query, context).await;
    }
    let instance = Arc::clone(&state.instance);
    let facts = state
        .telemetry
        .is_on()
        .then(|| Facts::of_fetch(query.filter.as_ref(), query.retrieve_vectors, query.limit, query.offset));
    let budget = context.budget.clone();
    let listing = move || list(&instance.snapshot_at(&uid, query.at)?, &query, &context);
    let listed = match state.features.is_on(Feature::DisableDocumentsFetchQueue) {
        true => blocking(listing).await?,
        false => state.answer(&budget, listing).await,
    };
    let mut answer = match listed? {
        Listed::Whole(body) => json_text(budget.body(body)),
        Listed::Begun(begun) => begun.into_answer(budget, Arc::clone(state.budgets.writing())),
    };
    report(&mut answer, facts);
    Ok(answer)
}

/// The documents of a list, or the first of them.
fn list(snapshot: &Arc<Snapshot>, query: &ListQuery, context: &Context) -> ApiResult<Listed> {
    let criteria = sort_criteria(snapshot, query, context)?;
    let among = candidates(snapshot, query, context)?;
    let (offset, limit) = (query.offset, query.limit);
    let total = among.as_ref().map_or_else(|| snapshot.document_count(), |sets| total_len(sets));
    let page = match (among, criteria.as_slice()) {
        (None, []) => Page::all(offset, limit),
        (Some(sets), []) => Page::among(sets, offset, limit),
        (among, criteria) => {
            // All of them are sorted as far as the page needs it.
            let ranked = usize::try_from(total).unwrap_or(usize::MAX).saturating_mul(size_of::<DocumentAddress>());
            let mut held = context.budget.hold(ranked)?;
            let sets = among.unwrap_or_else(|| snapshot.segments.iter().map(|segment| segment.live_set()).collect());
            let mut addresses = sorted_page(snapshot, &sets, criteria, offset, limit)?;
            addresses.shrink_to_fit();
            held.shrink(addresses.len() * size_of::<DocumentAddress>());
            Page::these(addresses, held)
        }
    };
    let end = format!("],\"offset\":{offset},\"limit\":{limit},\"total\":{total}}}");
    let writer = DocumentWriter {
        snapshot: Arc::clone(snapshot),
        projection: projection(query.fields.as_deref()),
        with_vectors: query.retrieve_vectors,
    };
    Begun::list(writer, page, end, &context.budget)
}

fn sort_criteria(snapshot: &Snapshot, query: &ListQuery, context: &Context) -> ApiResult<Vec<SortCriterion>> {
    let refuse = |text: String| ApiError::new(Code::InvalidDocumentSort, text);
    let texts = query.sort.as_deref().unwrap_or_default();
    let criteria: Vec<SortCriterion> = texts
        .iter()
        .map(|text| SortCriterion::parse(text).map_err(|error| refuse(error.sentence())))
        .collect::<ApiResult<_>>()?;
    criteria
        .iter()
        .filter_map(SortCriterion::elements)
        .try_for_each(|field| check_contains(&field.filter, context.contains_filter))?;
    check_sortable(&snapshot.settings, &criteria, false).map_err(|error| refuse(error.sentence()))?;
    Ok(criteria)
}

/// Sorts as much as the page needs; equal documents stay in insertion order.
///
/// # Errors
/// Elements that take too long to look at.
fn sorted_page(
    snapshot: &Snapshot,
    sets: &[DocSet],
    criteria: &[SortCriterion],
    offset: u64,
    limit: u64,
) -> ApiResult<Vec<DocumentAddress>> {
    let refuse = |reason: String| ApiError::new(Code::InvalidDocumentSort, reason);
    let time = filter_time();
    let elements = ElementSorts::new(criteria, snapshot).map_err(|error| refuse(error.sentence()))?;
    let sort = |(segment, docs)| {
        let columns = elements.columns(segment, docs, time).map_err(|error| refuse(error.sentence()))?;
        Ok(SegmentSort::new(snapshot, segment, criteria).with_elements(columns))
    };
    let sorts: Vec<SegmentSort<'_>> = snapshot.segments.iter().zip(sets).map(sort).collect::<ApiResult<_>>()?;
    let mut addresses: Vec<DocumentAddress> = (0u32..)
        .zip(sets)
        .flat_map(|(segment, set)| set.iter().map(move |doc| DocumentAddress { segment, doc }))
        .collect();
    let compare = |one: &DocumentAddress, other: &DocumentAddress| {
        let (first, second) = (&sorts[one.segment as usize], &sorts[other.segment as usize]);
        let by_value = (0..criteria.len())
            .map(|index| {
                if one.segment == other.segment {
                    first.key(index, one.doc).cmp(&first.key(index, other.doc))
                } else {
                    first.compare_across(index, one.doc, second, other.doc)
                }
            })
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal);
        let id =
            |address: &DocumentAddress| snapshot.segments[address.segment as usize].reader.internal_id(address.doc);
        by_value.then_with(|| id(one).cmp(&id(other)))
    };
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let end = count(offset).saturating_add(count(limit)).min(addresses.len());
    if end == 0 {
        return Ok(Vec::new());
    }
    if end < addresses.len() {
        addresses.select_nth_unstable_by(end - 1, compare);
        addresses.truncate(end);
    }
    addresses.sort_unstable_by(compare);
    Ok(addresses.split_off(count(offset).min(end)))
}
