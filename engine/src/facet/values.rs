//! Values of all segments brought together.

use lamina_index::index::Snapshot;
use lamina_segment::segment::{Column, SegmentReader};
use lamina_text::id::FieldId;

/// The column of `field` in each segment that has one, with the place of the segment in the snapshot.
pub(super) fn columns(snapshot: &Snapshot, field: FieldId) -> Vec<(usize, Column)> {
    let segments = snapshot.segments.iter().enumerate();
    segments.filter_map(|(place, segment)| Some((place, segment.reader.columns().get(field)?))).collect()
}

/// Sums the counts of equal keys. The input is a concatenation of ascending runs, which sorting takes advantage of.
pub(super) fn summed<K>(mut counts: Vec<(K, u64)>, compare: impl Fn(&K, &K) -> std::cmp::Ordering) -> Vec<(K, u64)> {
    counts.sort_by(|a, b| compare(&a.0, &b.0));
    counts.dedup_by(|next, kept| {
        let same = compare(&next.0, &kept.0).is_eq();
        if same {
            kept.1 += next.1;
        }
        same
    });
    counts
}

/// Returns the string as the first of the documents with it wrote it.
pub(super) fn original_text(value: &str, columns: &[(&SegmentReader, &Column)]) -> String {
    let written = columns.iter().filter_map(|(reader, column)| {
        let ordinal = column.find_string(value).ok()?;
        let first = column.docs_of(ordinal).next()?;
        Some((reader.internal_id(first), column.original(ordinal)))
    });
    written.min_by_key(|&(id, _)| id).map_or(value, |(_, original)| original).to_owned()
}
