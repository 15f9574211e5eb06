//! Which index a document of the store belongs to.
//!
//! What happened in an index belongs to the names that it was asked by, for as long as one of them is a name: an index that is built
//! anew and takes the place of another one goes on with its history. Where no name is left, it belongs to the index, which has
//! another name by then. Where that is gone as well, it is deleted.

use std::collections::HashSet;

use lamina_base::error::{ApiResult, Code};
use lamina_engine::facet::{Listing, distribution, select_facets};
use lamina_engine::index::Snapshot;

use super::document::{fields, identity, name_key, name_of_key};
use super::{Events, matching};
use crate::instance::Instance;

/// A filter for what belongs to the index that is asked for by `name`; `index` is its [`identity`](super::identity).
pub fn of_index(snapshot: &Snapshot, instance: &Instance, name: &str, index: &str) -> String {
    let others = values(snapshot, fields::NAMES).into_iter().filter(|key| instance.has_name(&name_of_key(key)));
    let others: Vec<String> = others.collect();
    let mut renamed = format!("{} = {index}", fields::INDEX);
    if !others.is_empty() {
        renamed = format!("{renamed} AND {}", among(fields::NAMES, "NOT IN", &others));
    }
    format!("({} = {} OR ({renamed}))", fields::NAMES, name_key(name))
}

/// Deletes what belongs to no index any more.
pub(super) fn sweep(events: &Events, instance: &Instance) -> ApiResult<()> {
    let Some(opened) = events.existing()? else { return Ok(()) };
    let snapshot = opened.index.snapshot();
    let is_present = |key: &String| instance.has_name(&name_of_key(key));
    let (present, gone): (Vec<_>, Vec<_>) = values(&snapshot, fields::NAMES).into_iter().partition(is_present);
    if gone.is_empty() {
        return Ok(());
    }
    let mut identities = HashSet::new();
    for uid in instance.uids() {
        match instance.state(&uid) {
            Ok(snapshot) => drop(identities.insert(identity(&snapshot))),
            Err(error) if error.code == Code::IndexNotFound => {}
            // It is there, and nobody knows which one it is: nothing is deleted.
            Err(_) => return Ok(()),
        }
    }
    let mut filter = among(fields::NAMES, "IN", &gone);
    for (field, kept) in [(fields::NAMES, present), (fields::INDEX, identities.into_iter().collect())] {
        if !kept.is_empty() {
            filter = format!("{filter} AND {}", among(field, "NOT IN", &kept));
        }
    }
    let deleted = opened.remove(move |snapshot| matching(snapshot, &filter))?;
    if deleted > 0 {
        tracing::info!(deleted, "deleted the events of indexes that are gone");
    }
    Ok(())
}

/// A filter by values, which are letters and digits.
fn among(field: &str, relation: &str, values: &[String]) -> String {
    format!("{field} {relation} [{}]", values.join(", "))
}

/// The values of a field, which are few.
fn values(snapshot: &Snapshot, field: &str) -> Vec<String> {
    let live: Vec<_> = snapshot.segments.iter().map(|segment| segment.live_set()).collect();
    let Ok(selected) = select_facets(&[field.to_owned()], &snapshot.settings, &snapshot.fields) else {
        return Vec::new();
    };
    let listed = selected.iter().map(|field| distribution(snapshot, &live, field, Listing::up_to(usize::MAX)));
    listed.flat_map(|facet| facet.values.into_iter().map(|(value, _)| value)).collect()
}
