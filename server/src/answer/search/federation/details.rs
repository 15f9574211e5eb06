//! Ranges, histograms and statistics of a merged list: of each index, or of all together.

use lamina_base::error::ApiResult;
use lamina_protocol::wire::multi_search::Federation;
use lamina_protocol::wire::search::FacetMeasure;
use serde_json::{Map, Value};

use super::at_facets;
use super::merge::Candidates;
use crate::answer::points_in_time::Snapshots;
use crate::answer::search::multi::target;
use crate::answer::search::{Context, measures};

/// Adds what is asked for to the answer: to `facetsByIndex`, or, where facets are merged, as `facetDetails`, in the order in which the
/// indexes ask for it. Equal objects of several indexes are one. Another server that merges them gets what that takes.
///
/// # Errors
/// What an index does not allow.
pub(super) fn put(
    snapshots: &Snapshots,
    federation: &Federation,
    candidates: &Candidates<'_>,
    context: &Context,
    fields: &mut Map<String, Value>,
) -> ApiResult<()> {
    if federation.measures_by_index.is_empty() {
        return Ok(());
    }
    if federation.merge_facets.is_some() {
        let asked = different(federation);
        let together = asked.into_iter().map(|one| measured(snapshots, federation, candidates, context, one, None));
        fields.insert("facetDetails".into(), Value::Array(together.collect::<ApiResult<_>>()?));
        return Ok(());
    }
    for (uid, asked) in &federation.measures_by_index {
        let each = asked.iter().map(|one| measured(snapshots, federation, candidates, context, one, Some(uid)));
        let details = Value::Array(each.collect::<ApiResult<_>>()?);
        let shown = fields.get_mut("facetsByIndex").and_then(|all| all.get_mut(uid)).and_then(Value::as_object_mut);
        if let Some(shown) = shown {
            shown.insert("details".into(), details);
        }
    }
    Ok(())
}

/// Returns the measures that the indexes request, in their order, each once.
pub(crate) fn different(federation: &Federation) -> Vec<&FacetMeasure> {
    let mut asked: Vec<&FacetMeasure> = Vec::new();
    for one in federation.measures_by_index.values().flatten() {
        if !asked.iter().any(|known| known.is_same(one)) {
            asked.push(one);
        }
    }
    asked
}

/// Returns a measure of one index, or of all indexes that request it.
fn measured(
    snapshots: &Snapshots,
    federation: &Federation,
    candidates: &Candidates<'_>,
    context: &Context,
    asked: &FacetMeasure,
    only: Option<&String>,
) -> ApiResult<Value> {
    let asks = |name: &&String| match only {
        Some(only) => *name == only,
        None => federation.measures_by_index[*name].iter().any(|one| one.is_same(asked)),
    };
    let (mut parts, mut measured) = (Vec::new(), Vec::new());
    let mut last = "";
    for name in federation.measures_by_index.keys().filter(asks) {
        last = name;
        let target = target(snapshots, name).map_err(|error| at_facets(error, name, false))?;
        // An index that is asked for by two names is measured once.
        if let Some(sets) = candidates.get(target.uid).filter(|_| !measured.contains(&target.uid)) {
            measured.push(target.uid);
            parts.push((target.snapshot, sets.as_slice()));
        }
    }
    measures::run_together(&parts, asked, context).map_err(|error| at_facets(error, last, true))
}
