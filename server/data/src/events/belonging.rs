//! Index that a document of the store belongs to.
//!
//! An event or search in an index belongs to the names that it was asked by, for as long as one of them is a name: an index that is built
//! anew and takes the place of another one goes on with its history. Where no name is left, it belongs to the index, which has
//! another name by then. Where that is gone as well, it is deleted.

use std::collections::HashSet;

use lamina_engine::facet::{Listing, distribution, select_facets};
use lamina_engine::index::Snapshot;

use super::document::{fields, name_key};

/// Returns a filter for what belongs to the index that is asked for by `name`; `index` is its [`identity`](super::identity), and
/// `names` are the keys of all names that there are now.
pub fn of_index(snapshot: &Snapshot, name: &str, index: &str, names: &HashSet<String>) -> String {
    let others: Vec<String> = values(snapshot, fields::NAMES).into_iter().filter(|key| names.contains(key)).collect();
    let mut renamed = format!("{} = {index}", fields::INDEX);
    if !others.is_empty() {
        renamed = format!("{renamed} AND {}", among(fields::NAMES, "NOT IN", &others));
    }
    format!("({} = {} OR ({renamed}))", fields::NAMES, name_key(name))
}

/// Returns a filter for what belongs to no index any more, if there may be such a thing. `names` are the keys of all names that there
/// are now, and `identities` says which indexes there are, or nothing where that cannot be known; it is called only where a name is gone.
pub(super) fn of_no_index(
    snapshot: &Snapshot,
    names: &HashSet<String>,
    identities: impl FnOnce() -> Option<HashSet<String>>,
) -> Option<String> {
    let keys = values(snapshot, fields::NAMES).into_iter();
    let (present, gone): (Vec<_>, Vec<_>) = keys.partition(|key| names.contains(key));
    if gone.is_empty() {
        return None;
    }
    let mut filter = among(fields::NAMES, "IN", &gone);
    for (field, kept) in [(fields::NAMES, present), (fields::INDEX, identities()?.into_iter().collect())] {
        if !kept.is_empty() {
            filter = format!("{filter} AND {}", among(field, "NOT IN", &kept));
        }
    }
    Some(filter)
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
