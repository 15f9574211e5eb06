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

/// How many documents of values are passed in the time that the values of one candidate take.
const CANDIDATE_COST: u64 = 2;

/// The values of `ordinals` that candidates have, ascending, and their counts; at most `limit` of them, the smallest.
///
/// `candidates` are documents of the segment of `doc_count` documents that `column` belongs to. Cost: the candidates'
/// values, or the documents of the values up to the last one given, whichever promises to be less; the values alone when
/// every document is a candidate.
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
    if candidates.len() == doc_count {
        return stored(column, ordinals, limit);
    }
    let passed_max = u64::from(candidates.len()) * CANDIDATE_COST;
    let by_value = (passed_by_value(column, &ordinals, limit) <= passed_max)
        .then(|| by_value(column, ordinals.clone(), candidates, limit, passed_max));
    by_value.flatten().unwrap_or_else(|| by_document(column, ordinals, candidates, limit))
}

/// About how many documents of values are passed before `limit` values are found, if candidates have most values.
fn passed_by_value(column: &Column, ordinals: &Range<u32>, limit: usize) -> u64 {
    let pairs = u64::from(column.pair_count_of(ordinals.clone()));
    let values = ordinals.len() as u64;
    pairs * values.min(limit as u64) / values
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

/// Counts by going through the documents of each value; `None` when these turn out to be more than `passed_max`, because
/// candidates have but a few of the values.
fn by_value(
    column: &Column,
    ordinals: Range<u32>,
    candidates: &DocSet,
    limit: usize,
    passed_max: u64,
) -> Option<Vec<ValueCount>> {
    let mut counted = Vec::new();
    let mut passed = 0;
    for ordinal in ordinals {
        passed += u64::from(column.doc_freq(ordinal));
        if passed > passed_max {
            return None;
        }
        let count = column.count_in(ordinal, candidates);
        if count > 0 {
            counted.push(ValueCount { ordinal, count });
            if counted.len() == limit {
                break;
            }
        }
    }
    Some(counted)
}

/// The counts when every document is a candidate: they are stored.
fn stored(column: &Column, ordinals: Range<u32>, limit: usize) -> Vec<ValueCount> {
    let counted = ordinals.map(|ordinal| ValueCount { ordinal, count: column.doc_freq(ordinal) });
    counted.filter(|value| value.count > 0).take(limit).collect()
}

/// Below one candidate in this many documents, the candidates are read instead of the values from both ends.
const FEW_CANDIDATES_SHARE: u64 = 4;

/// The smallest and the largest number that candidates have. Cost: as [`count_values`], mostly less.
pub(super) fn number_extremes(column: &Column, candidates: &DocSet, doc_count: u32) -> Option<(f64, f64)> {
    let numbers = 0..column.number_count();
    if candidates.is_empty() || numbers.is_empty() {
        return None;
    }
    let (first, last) = if u64::from(candidates.len()) * FEW_CANDIDATES_SHARE < u64::from(doc_count) {
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
