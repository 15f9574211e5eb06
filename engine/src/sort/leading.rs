//! The documents that lead a sorted list, without looking at the others.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{Column, Geo};
use lamina_text::filter::Coordinates;
use lamina_text::id::DocId;

use super::criterion::{SortCriterion, SortTarget};
use super::segment_sort::{SegmentSort, Source, ordinal};
use crate::geo::{Circle, Extreme, Region, nearest, opposite};

/// Distances are compared in whole metres: what is this much farther may still be as near.
const SAME_DISTANCE_M: f64 = 1.0;
/// Documents that may be passed per document of the set before the attempt is given up: where a filter and the order
/// go together, all that is passed may lie outside the set.
const PASSED_MAX: u32 = 2;

impl SegmentSort<'_> {
    /// Every document of `among` (of `doc_count` in the segment) that can be one of the `wanted` first under the first
    /// criterion, equals of the last one included. `None` when looking at all of them costs no more, or turns out to.
    ///
    /// Cost: the documents of the values, or of the surroundings of the point, up to the last one wanted.
    pub fn leading(&self, among: &DocSet, doc_count: u32, wanted: usize) -> Option<DocSet> {
        let (criterion, source) = (self.criteria.first()?, self.sources.first()?);
        // One document in `doc_count / among` of those that are passed belongs to `among`.
        let (matching, wanted_docs) = (u64::from(among.len()), wanted as u64);
        if wanted == 0 || matching.saturating_mul(matching) <= wanted_docs.saturating_mul(u64::from(doc_count)) {
            return None;
        }
        match source {
            Source::Column(Some(column)) => leading_values(column, criterion.ascending, among, wanted),
            Source::Geo(Some(geo)) => leading_distances(geo, criterion, among, wanted),
            Source::Column(None) | Source::Geo(None) | Source::Computed(_) => None,
        }
    }
}

fn leading_values(column: &Column, ascending: bool, among: &DocSet, wanted: usize) -> Option<DocSet> {
    let (numbers, values) = (column.number_count(), column.value_count());
    let single = column.is_single_valued();
    let mut docs: Vec<DocId> = Vec::new();
    let (mut passed, passed_max) = (0, among.len().saturating_mul(PASSED_MAX));
    // Numbers first, then strings, each in the direction of the criterion.
    for range in [0..numbers, numbers..values] {
        for step in 0..range.end - range.start {
            let at = if ascending { range.start + step } else { range.end - 1 - step };
            passed += column.doc_freq(at);
            if passed > passed_max {
                return None;
            }
            column.for_each_doc(at..at + 1, |_, doc| {
                // A document with several values stands where the one that counts stands.
                if among.contains(doc) && (single || ordinal(column, ascending, doc) == Some(at)) {
                    docs.push(doc);
                }
            });
            if docs.len() >= wanted {
                return Some(docs.into_iter().collect());
            }
        }
    }
    // Documents without a value are wanted too.
    None
}

fn leading_distances(geo: &Geo, criterion: &SortCriterion, among: &DocSet, wanted: usize) -> Option<DocSet> {
    let SortTarget::GeoPoint { lat, lng } = criterion.target else { return None };
    let point = Coordinates::new(lat, lng).ok()?;
    let (extreme, center) =
        if criterion.ascending { (Extreme::Nearest, point) } else { (Extreme::Farthest, opposite(point)) };
    let found = nearest(geo, point, extreme, among, wanted, among.len().saturating_mul(PASSED_MAX))?;
    let &(last, _) = found.get(wanted - 1)?;
    let radius_m = Circle { center, radius_m: 0.0 }.distance_to(geo.point(last)?) + SAME_DISTANCE_M;
    let mut docs = Circle { center, radius_m }.documents(geo);
    docs.and_assign(among);
    Some(docs)
}
