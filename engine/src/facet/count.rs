//! Counts of values within one segment.

use std::ops::Range;

use crate::bits::DocSet;
use crate::segment::Column;

/// A value of a column and the number of candidates that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueCount {
    pub(super) ordinal: u32,
    /// At least 1.
    pub(super) count: u32,
}

/// Reading a document's values jumps through the column, reading a value's documents does not: how much more one of
/// the former costs.
const JUMP_COST: u64 = 4;

/// The values of `ordinals` that candidates have, ascending, and their counts; at most `limit` of them, the smallest.
///
/// `candidates` are documents of the segment of `doc_count` documents that `column` belongs to. Cost: the candidates'
/// values, or the documents of the values up to the last one given, whichever is less.
pub(super) fn count_values(
    column: &Column,
    ordinals: Range<u32>,
    candidates: &DocSet,
    doc_count: u32,
    limit: usize,
) -> Vec<ValueCount> {
    if candidates.is_empty() || ordinals.is_empty() || limit == 0 {
        return Vec::new();
    }
    if u64::from(candidates.len()) * JUMP_COST < u64::from(doc_count) {
        by_document(column, ordinals, candidates, limit)
    } else {
        by_value(column, ordinals, candidates, doc_count, limit)
    }
}

fn by_document(column: &Column, ordinals: Range<u32>, candidates: &DocSet, limit: usize) -> Vec<ValueCount> {
    // A few documents leave most of a large dictionary untouched: gather what they have instead of a counter a value.
    if (candidates.len() as usize) < ordinals.len() / 8 {
        let mut seen = Vec::new();
        candidates.for_each(|doc| {
            column.for_each_ordinal(doc, |ordinal| {
                if ordinals.contains(&ordinal) {
                    seen.push(ordinal);
                }
            });
        });
        seen.sort_unstable();
        let groups = seen.chunk_by(|a, b| a == b).take(limit);
        return groups.map(|same| ValueCount { ordinal: same[0], count: same.len() as u32 }).collect();
    }
    let mut counts = vec![0u32; ordinals.len()];
    candidates.for_each(|doc| {
        column.for_each_ordinal(doc, |ordinal| {
            if let Some(count) = ordinal.checked_sub(ordinals.start).and_then(|at| counts.get_mut(at as usize)) {
                *count += 1;
            }
        });
    });
    let counted = ordinals.zip(counts).filter(|&(_, count)| count > 0).take(limit);
    counted.map(|(ordinal, count)| ValueCount { ordinal, count }).collect()
}

fn by_value(
    column: &Column,
    ordinals: Range<u32>,
    candidates: &DocSet,
    doc_count: u32,
    limit: usize,
) -> Vec<ValueCount> {
    let everything = candidates.len() == doc_count;
    let counted = ordinals.map(|ordinal| {
        let count = if everything { column.doc_freq(ordinal) } else { column.count_in(ordinal, candidates) };
        ValueCount { ordinal, count }
    });
    counted.filter(|value| value.count > 0).take(limit).collect()
}

/// The smallest and the largest number that candidates have. Cost: as [`count_values`], mostly less.
pub(super) fn number_extremes(column: &Column, candidates: &DocSet, doc_count: u32) -> Option<(f64, f64)> {
    let numbers = 0..column.number_count();
    if candidates.is_empty() || numbers.is_empty() {
        return None;
    }
    let (first, last) = if u64::from(candidates.len()) * JUMP_COST < u64::from(doc_count) {
        let (mut first, mut last) = (u32::MAX, 0);
        candidates.for_each(|doc| {
            column.for_each_ordinal(doc, |ordinal| {
                if ordinal < numbers.end {
                    first = first.min(ordinal);
                    last = last.max(ordinal);
                }
            });
        });
        (first <= last).then_some((first, last))?
    } else {
        let held = |&ordinal: &u32| column.docs_of(ordinal).any(|doc| candidates.contains(doc));
        (numbers.clone().find(held)?, numbers.rev().find(held)?)
    };
    Some((column.number(first), column.number(last)))
}
