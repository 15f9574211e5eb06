//! Counts of values within one segment.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;

/// A value of a column and the number of candidates that have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ValueCount {
    pub(super) ordinal: u32,
    /// At least 1.
    pub(super) count: u32,
}

/// Time to look for a document of a value in a bitset of candidates. The unit is about a quarter of a nanosecond, but
/// only the proportions matter.
const LISTED_COST: u64 = 5;
/// Time to look for it in a list of candidates.
const SEARCHED_COST: u64 = 60;
/// Time for 64 documents of a value that is kept as a bitset.
const WORD_COST: u64 = 1;
/// Time for the value of a candidate.
const CANDIDATE_COST: u64 = 6;
/// Time for a candidate and one of its values, where there may be several.
const CANDIDATE_OF_MANY_COST: u64 = 20;
/// Time to look up how many documents a value has.
const STORED_COST: u64 = 40;

/// The values that candidates have, ascending, and their counts; at most `limit` of them, the smallest.
///
/// `candidates` are documents of the segment of `doc_count` documents that `column` belongs to. Cost: the values of the
/// candidates or of all others, or the documents of the values up to the last one given (words of them, for values that
/// many have), whichever promises to be least; the values alone when every document is a candidate.
pub(super) fn count_values(column: &Column, candidates: &DocSet, doc_count: u32, limit: usize) -> Vec<ValueCount> {
    if candidates.is_empty() || column.value_count() == 0 || limit == 0 {
        return Vec::new();
    }
    if candidates.len() == doc_count {
        return stored(column, limit);
    }
    let document_cost = if column.is_single_valued() { CANDIDATE_COST } else { CANDIDATE_OF_MANY_COST };
    let by_candidate_cost = u64::from(candidates.len()) * document_cost;
    let by_other_cost =
        u64::from(doc_count - candidates.len()) * document_cost + u64::from(column.value_count()) * STORED_COST;
    let by_document_cost = by_candidate_cost.min(by_other_cost);
    let by_value = (by_value_cost(column, candidates, doc_count, limit) <= by_document_cost)
        .then(|| by_value(column, candidates, doc_count, limit, by_document_cost));
    by_value.flatten().unwrap_or_else(|| match by_other_cost < by_candidate_cost {
        true => by_other_document(column, &candidates.complement(doc_count), limit),
        false => by_document(column, candidates, limit),
    })
}

/// Time to count the first `limit` values one by one, if candidates have most values.
fn by_value_cost(column: &Column, candidates: &DocSet, doc_count: u32, limit: usize) -> u64 {
    let values = 0..column.value_count();
    let (listed, dense) = (u64::from(column.listed_count_of(values.clone())), u64::from(column.dense_count()));
    let all = listed * listed_cost(candidates) + dense * dense_cost(candidates, doc_count);
    let values = values.len() as u64;
    all * values.min(limit as u64) / values
}

/// Time for a document of a value that is kept as a list.
fn listed_cost(candidates: &DocSet) -> u64 {
    match candidates {
        DocSet::Sorted(_) => SEARCHED_COST,
        DocSet::Bitset { .. } => LISTED_COST,
    }
}

/// Time to count the documents of a value that is kept as a bitset.
fn dense_cost(candidates: &DocSet, doc_count: u32) -> u64 {
    match candidates {
        DocSet::Sorted(docs) => docs.len() as u64 * LISTED_COST,
        DocSet::Bitset { .. } => u64::from(doc_count / 64) * WORD_COST,
    }
}

fn by_document(column: &Column, candidates: &DocSet, limit: usize) -> Vec<ValueCount> {
    // A few documents leave most of a large dictionary untouched: gather what they have instead of a counter a value.
    if candidates.len() < column.value_count() / 8 {
        let mut seen = Vec::new();
        candidates.for_each(|doc| column.for_each_ordinal(doc, |ordinal| seen.push(ordinal)));
        seen.sort_unstable();
        let groups = seen.chunk_by(|a, b| a == b).take(limit);
        return groups.map(|same| ValueCount { ordinal: same[0], count: same.len() as u32 }).collect();
    }
    listed((0..).zip(counts_of(column, candidates)), limit)
}

/// Counts the values of all documents and subtracts those of `others`, the documents that are not candidates.
fn by_other_document(column: &Column, others: &DocSet, limit: usize) -> Vec<ValueCount> {
    let counts = (0..).zip(counts_of(column, others));
    listed(counts.map(|(ordinal, others)| (ordinal, column.doc_freq(ordinal).saturating_sub(others))), limit)
}

fn counts_of(column: &Column, docs: &DocSet) -> Vec<u32> {
    let mut counts = vec![0u32; column.value_count() as usize];
    column.add_counts(docs, &mut counts);
    counts
}

fn listed(counts: impl Iterator<Item = (u32, u32)>, limit: usize) -> Vec<ValueCount> {
    counts.filter(|&(_, count)| count > 0).take(limit).map(|(ordinal, count)| ValueCount { ordinal, count }).collect()
}

/// Counts value by value; `None` when that turns out to take longer than `cost_max`, because candidates have but a few
/// of the values.
fn by_value(
    column: &Column,
    candidates: &DocSet,
    doc_count: u32,
    limit: usize,
    cost_max: u64,
) -> Option<Vec<ValueCount>> {
    let mut counted = Vec::new();
    let mut cost = 0;
    let (listed_cost, dense_cost) = (listed_cost(candidates), dense_cost(candidates, doc_count));
    for ordinal in 0..column.value_count() {
        cost += match column.listed_count_of(ordinal..ordinal + 1) {
            0 => dense_cost,
            listed => u64::from(listed) * listed_cost,
        };
        if cost > cost_max {
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
fn stored(column: &Column, limit: usize) -> Vec<ValueCount> {
    listed((0..column.value_count()).map(|ordinal| (ordinal, column.doc_freq(ordinal))), limit)
}

/// The smallest and the largest number that candidates have. Cost: the documents of the values outside of them, or at
/// most twice the candidates' values.
pub(super) fn number_extremes(column: &Column, candidates: &DocSet) -> Option<(f64, f64)> {
    let numbers = 0..column.number_count();
    if candidates.is_empty() || numbers.is_empty() {
        return None;
    }
    // From both ends to the first that a candidate has, unless that is far in.
    let passed = std::cell::Cell::new(0);
    let held = |&ordinal: &u32| {
        passed.set(passed.get() + column.doc_freq(ordinal));
        passed.get() > candidates.len() || column.docs_of(ordinal).any(|doc| candidates.contains(doc))
    };
    let ends = numbers.clone().find(held).zip(numbers.clone().rev().find(held));
    let (first, last) = if passed.get() <= candidates.len() {
        ends?
    } else {
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
    };
    Some((column.number(first), column.number(last)))
}
