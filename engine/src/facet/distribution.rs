//! The values of a field among the candidates of a search.

use std::cmp::Reverse;

use hashbrown::HashSet;
use lamina_index::index::Snapshot;
use lamina_index::index::settings::FacetOrder;
use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;
use lamina_text::text::same_facet_number;
use rayon::prelude::*;

use super::count::{count_values, number_extremes};
use super::look_alikes::{LookAlikes, NumberValue, number_like};
use super::select::FacetField;
use super::values::{original_text, summed};

/// Values in the order they are listed, as text, with the number of candidates that have each.
pub type FacetValues = Vec<(String, u64)>;

/// The extremes of a field's numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FacetStats {
    pub min: f64,
    pub max: f64,
}

/// Facet distribution of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldFacet {
    pub name: String,
    /// At most as many as were asked for, unless the listing is to be merged; no text twice.
    pub values: FacetValues,
    /// Indexes of the listed values that are numbers, ascending, with the number of candidates that have the number
    /// itself. The other counted candidates have a text that looks like it.
    pub numbers: Vec<(usize, u64)>,
    /// Statistics of all numbers, listed or not; `None` if no candidate has a number.
    pub stats: Option<FacetStats>,
    /// There are more values.
    pub is_cut: bool,
}

/// Selection of the values to list.
#[derive(Clone, Copy, Debug)]
pub struct Listing {
    /// Maximum number of values: `maxValuesPerFacet` of the settings, unless the request has its own.
    pub values_max: usize,
    /// True if other listings of the same field are merged with this one ([`merge_facets`](super::merge_facets)). Then
    /// numbers ascend by value even if they are few, so that all listings agree. In the order of counts all values are
    /// listed, because a value that leads in the sums may lead in no single listing. Texts that look like numbers are
    /// all listed, the last ones out of order: they are numbers where another listing has these numbers.
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
    let columns = facet.columns(snapshot);
    let texts_of_numbers: usize = match listing.to_be_merged {
        true => columns.iter().map(|(_, column)| number_like(column).len()).sum(),
        false => 0,
    };
    let values: usize = columns.iter().map(|(_, column)| column.value_count() as usize).sum();
    values.min(limit.saturating_add(texts_of_numbers))
}

/// Counts the values of `facet` among `candidates`: live documents, one set per segment of `snapshot`. Lists what
/// `listing` says.
///
/// In the order of values numbers come first, by value (few ones by their text), then strings; in the order of counts the
/// type decides between equal counts only. A number and a string that look alike are one value. Each value has as many
/// candidates as a filter by it finds.
pub fn distribution(snapshot: &Snapshot, candidates: &[DocSet], facet: &FacetField, listing: Listing) -> FieldFacet {
    let order = snapshot.settings.faceting.order_of(&facet.name);
    let limit = if listing.to_be_merged && order == FacetOrder::Count { usize::MAX } else { listing.values_max };
    let candidate_count: u64 = candidates.iter().map(|docs| u64::from(docs.len())).sum();
    let numbers_by_text = candidate_count <= TEXT_ORDER_CANDIDATES_MAX && !listing.to_be_merged;
    let columns = facet.columns(snapshot);
    let look_alikes = LookAlikes::new(snapshot, &columns, candidates);
    // In order of values, the first ones of the index are among the first ones of each segment. One more than are listed
    // shows that some are not, and each number that is listed can take one string with it.
    let limit_per_segment = match order == FacetOrder::Alpha && !numbers_by_text {
        true if look_alikes.may_exist() => limit.saturating_mul(2).saturating_add(1),
        true => limit.saturating_add(1),
        false => usize::MAX,
    };

    let Counts { mut numbers, mut strings, stats } = count(snapshot, &columns, candidates, limit_per_segment);
    if look_alikes.may_exist() {
        if limit_per_segment < usize::MAX {
            numbers.truncate(limit.saturating_add(1));
            look_alikes.find_strings_of(&mut numbers);
        }
        look_alikes.join(&mut numbers, &mut strings, limit_per_segment == usize::MAX);
    }
    let is_cut = numbers.len() + strings.len() > limit;
    if numbers_by_text {
        numbers.sort_by_cached_key(|&(number, _)| number.value.to_string());
    }
    let mut values: Vec<(Value<'_>, u64)> = numbers.into_iter().map(|(n, count)| (Value::Number(n), count)).collect();
    values.extend(strings.into_iter().map(|(string, count)| (Value::String(string), count)));
    let mut values = ordered(values, order, limit);
    if listing.to_be_merged && is_cut {
        let (mut own_numbers, mut own_strings) = (HashSet::new(), HashSet::new());
        for (value, _) in &values {
            match value {
                Value::Number(number) => drop(own_numbers.insert(number.value.to_bits())),
                Value::String(string) => drop(own_strings.insert(*string)),
            }
        }
        let mut others = look_alikes.texts_of_numbers();
        others.retain(|(text, _)| {
            let is_number = same_facet_number(text).is_some_and(|number| own_numbers.contains(&number.to_bits()));
            !is_number && !own_strings.contains(text)
        });
        values.extend(others.into_iter().map(|(text, count)| (Value::String(text), count)));
    }

    let sources: Vec<_> = columns.iter().map(|(place, column)| (&*snapshot.segments[*place].reader, column)).collect();
    let as_number = |(at, (value, _)): (usize, &(Value<'_>, u64))| match value {
        Value::Number(number) => Some((at, number.count)),
        Value::String(_) => None,
    };
    let numbers = values.iter().enumerate().filter_map(as_number).collect();
    let shown = |(value, count)| match value {
        Value::Number(NumberValue { value, .. }) => (value.to_string(), count),
        Value::String(string) => (original_text(string, &sources), count),
    };
    let values = values.into_iter().map(shown).collect();
    FieldFacet { name: facet.name.clone(), values, numbers, stats, is_cut }
}

#[derive(Clone, Copy, Debug)]
enum Value<'c> {
    Number(NumberValue),
    String(&'c str),
}

/// Values of all segments, ascending, with how many candidates have each.
struct Counts<'c> {
    numbers: Vec<(NumberValue, u64)>,
    strings: Vec<(&'c str, u64)>,
    stats: Option<FacetStats>,
}

/// Counts at least the first `limit_per_segment` values of each segment.
fn count<'c>(
    snapshot: &Snapshot,
    columns: &'c [(usize, Column)],
    candidates: &[DocSet],
    limit_per_segment: usize,
) -> Counts<'c> {
    let mut stats: Option<FacetStats> = None;
    let (mut numbers, mut strings) = (Vec::new(), Vec::new());
    for (place, column) in columns {
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
    let numbers = summed(numbers, f64::total_cmp).into_iter();
    let numbers = numbers.map(|(value, count)| (NumberValue { value, count }, count)).collect();
    Counts { numbers, strings: summed(strings, |a, b| a.cmp(b)), stats }
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
