//! The values of a field among the candidates of a search.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rayon::prelude::*;

use super::count::{count_values, number_extremes};
use super::select::FacetField;
use super::values::{columns, original_text, summed};
use crate::bits::DocSet;
use crate::index::Snapshot;
use crate::index::settings::FacetOrder;

/// Values in the order they are listed, as text, with the number of candidates that have each.
pub type FacetValues = Vec<(String, u64)>;

/// The extremes of a field's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacetStats {
    pub min: f64,
    pub max: f64,
}

/// What is known about one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldFacet {
    pub name: String,
    /// At most as many as were asked for; no text twice.
    pub values: FacetValues,
    /// How many of them are numbers: the first ones.
    pub number_count: usize,
    /// Of all numbers, listed or not; `None` when no candidate has a number.
    pub stats: Option<FacetStats>,
    /// There are more values.
    pub is_cut: bool,
}

/// Which values are listed.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// How many: `maxValuesPerFacet` of the settings, unless somebody wants others.
    pub values_max: usize,
    /// Whether other listings of the same field join this one ([`merge_facets`](super::merge_facets)). Numbers ascend by
    /// value then, few ones too, so that all listings agree; in the order of counts all values are listed, since a value
    /// that leads the sums may lead nowhere.
    pub to_be_merged: bool,
}

impl Listing {
    /// The first `values_max` values, as they are shown.
    pub fn up_to(values_max: usize) -> Listing {
        Listing { values_max, to_be_merged: false }
    }
}

/// Up to this many candidates, numbers are ordered by their text, as users of the protocol know it from listings that
/// are small enough to be read. Beyond, they are ordered by value, which can stop at the last one that is listed.
const TEXT_ORDER_CANDIDATES_MAX: u64 = 3000;

/// Counts the values of each of `facets`, on the threads of the pool that calls. See [`distribution`].
pub fn distributions(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    facets: &[FacetField],
    listing: Listing,
) -> Vec<FieldFacet> {
    facets.par_iter().map(|facet| distribution(snapshot, candidates, facet, listing)).collect()
}

/// At least as many values as [`distribution`] lists of `facet`, whatever the candidates are.
pub fn listed_values_max(snapshot: &Snapshot, facet: &FacetField, listing: Listing) -> usize {
    let order = snapshot.settings.faceting.order_of(&facet.name);
    let limit = if listing.to_be_merged && order == FacetOrder::Count { usize::MAX } else { listing.values_max };
    columns(snapshot, facet.field).iter().map(|(_, column)| column.value_count() as usize).sum::<usize>().min(limit)
}

/// Counts the values of `facet` among `candidates`: live documents, one set per segment of `snapshot`. Lists what
/// `listing` says.
///
/// Numbers come first, then strings, each in the order that the settings ask for: by value (few numbers by their text)
/// or by count, equal counts by value. A text that is both a number and a
/// string is listed once, with the count of the string.
pub fn distribution(snapshot: &Snapshot, candidates: &[DocSet], facet: &FacetField, listing: Listing) -> FieldFacet {
    let order = snapshot.settings.faceting.order_of(&facet.name);
    let limit = if listing.to_be_merged && order == FacetOrder::Count { usize::MAX } else { listing.values_max };
    let candidate_count: u64 = candidates.iter().map(|docs| u64::from(docs.len())).sum();
    let numbers_by_text = candidate_count <= TEXT_ORDER_CANDIDATES_MAX && !listing.to_be_merged;
    // In order of values, the first ones of the index are among the first ones of each segment. One more than are listed
    // tells that some are not.
    let limit_per_segment =
        if order == FacetOrder::Alpha && !numbers_by_text { limit.saturating_add(1) } else { usize::MAX };

    let columns = columns(snapshot, facet.field);
    let mut stats: Option<FacetStats> = None;
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    for (place, column) in &columns {
        let (docs, doc_count) = (&candidates[*place], snapshot.segments[*place].reader.doc_count());
        let counted = count_values(column, docs, doc_count, limit_per_segment);
        let extremes = if counted.len() < limit_per_segment {
            // Every value that a candidate has was counted; numbers come first.
            let number_count = counted.partition_point(|value| value.ordinal < column.number_count());
            let ends = counted[..number_count].first().zip(counted[..number_count].last());
            ends.map(|(first, last)| (column.number(first.ordinal), column.number(last.ordinal)))
        } else {
            number_extremes(column, docs)
        };
        if let Some((min, max)) = extremes {
            let known = stats.get_or_insert(FacetStats { min, max });
            *known = FacetStats { min: known.min.min(min), max: known.max.max(max) };
        }
        for value in counted {
            if value.ordinal < column.number_count() {
                numbers.push((column.number(value.ordinal), u64::from(value.count)));
            } else {
                strings.push((column.string(value.ordinal), u64::from(value.count)));
            }
        }
    }
    let mut numbers: FacetValues =
        summed(numbers, f64::total_cmp).into_iter().map(|(number, count)| (number.to_string(), count)).collect();
    if numbers_by_text {
        numbers.sort_unstable();
    }
    let strings = summed(strings, |a, b| a.cmp(b));
    let is_cut = numbers.len() + strings.len() > limit;
    let numbers = ordered(numbers, order, limit);
    let strings = ordered(strings, order, limit - numbers.len());

    let sources: Vec<_> = columns.iter().map(|(place, column)| (&*snapshot.segments[*place].reader, column)).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    if !strings.is_empty() {
        places.extend((0..).zip(&numbers).map(|(place, (text, _))| (text.clone(), place)));
    }
    let number_count = numbers.len();
    let mut values = numbers;
    for (string, count) in strings {
        let text = original_text(string, &sources);
        match places.get(&text) {
            Some(&place) => values[place].1 = count,
            None => values.push((text, count)),
        }
    }
    FieldFacet { name: facet.name.clone(), values, number_count, stats, is_cut }
}

/// The first `limit` values in the order asked for; `values` ascend.
pub(super) fn ordered<K>(mut values: Vec<(K, u64)>, order: FacetOrder, limit: usize) -> Vec<(K, u64)> {
    if order == FacetOrder::Count {
        // Stable: equal counts stay in the order of values.
        values.sort_by_key(|&(_, count)| Reverse(count));
    }
    values.truncate(limit);
    values
}
