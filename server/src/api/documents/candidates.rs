//! Which documents a list is made of, and what it shows of each.

use lamina_base::engine_errors::Sentence;
use lamina_base::error::{ApiError, ApiResult, Code};
use lamina_engine::bits::DocSet;
use lamina_engine::condition::PreparedFilter;
use lamina_engine::highlight::{Projection, Selection};
use lamina_engine::index::Snapshot;
use lamina_protocol::wire::documents::ListQuery;
use lamina_protocol::wire::filter::parse_filter;
use serde_json::Value;

use crate::answer::search::{Context, filter_time, resolve_foreign};

pub(super) fn projection(fields: Option<&[String]>) -> Projection {
    // What is displayed in searches does not matter here. Vectors come from elsewhere.
    let retrieved = fields.map_or(Selection::All, Selection::new);
    Projection { displayed: Selection::All, retrieved, with_vectors: false }
}

pub(super) fn total_len(sets: &[DocSet]) -> u64 {
    sets.iter().map(|set| u64::from(set.len())).sum()
}

/// The documents that filter and ids leave, by segment; `None` when neither is given.
pub(super) fn candidates(snapshot: &Snapshot, query: &ListQuery, context: &Context) -> ApiResult<Option<Vec<DocSet>>> {
    let filtered = query.filter.as_ref().map(|filter| matching(snapshot, filter, context)).transpose()?.flatten();
    let named = query.ids.as_ref().map(|ids| with_ids(snapshot, ids));
    Ok(match (filtered, named) {
        (Some(filtered), Some(named)) => Some(filtered.iter().zip(&named).map(|(one, other)| one.and(other)).collect()),
        (one, other) => one.or(other),
    })
}

fn matching(snapshot: &Snapshot, filter: &Value, context: &Context) -> ApiResult<Option<Vec<DocSet>>> {
    let code = Code::InvalidDocumentFilter;
    let Some(filter) = parse_filter(filter, code, context.contains_filter)? else { return Ok(None) };
    let filter = resolve_foreign(filter, &snapshot.settings, context, code)?;
    let filter = PreparedFilter::new(&filter, &snapshot.settings, &snapshot.fields)
        .map_err(|error| ApiError::new(code, error.sentence()))?;
    let limit = filter_time();
    let sets = snapshot.segments.iter().map(|segment| filter.evaluate(segment, limit));
    let sets = sets.collect::<Result<_, _>>().map_err(|error| ApiError::new(code, error.sentence()))?;
    snapshot.check_health()?;
    Ok(Some(sets))
}

fn with_ids(snapshot: &Snapshot, ids: &[String]) -> Vec<DocSet> {
    let mut docs = vec![Vec::new(); snapshot.segments.len()];
    for address in ids.iter().filter_map(|id| snapshot.find(id)) {
        docs[address.segment as usize].push(address.doc);
    }
    docs.into_iter()
        .map(|mut docs| {
            docs.sort_unstable();
            docs.dedup();
            DocSet::from_sorted(docs)
        })
        .collect()
}
