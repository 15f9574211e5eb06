//! How hits of different searches compare, by what their scores say.

use std::cmp::Ordering;

use crate::rank::score::SortedValue;

/// Larger first; what differs by rounding alone is equal.
pub fn compare_scores(one: f64, other: f64) -> Ordering {
    if (one - other).abs() <= f64::EPSILON { Ordering::Equal } else { other.total_cmp(&one) }
}

/// Numbers before strings, nothing last, in both directions.
pub fn compare_sorted(one: &SortedValue, other: &SortedValue, ascending: bool) -> Ordering {
    let rank = |value: &SortedValue| match value {
        SortedValue::Number(_) => 0,
        SortedValue::String(_) => 1,
        SortedValue::Missing => 2,
    };
    match (one, other) {
        (SortedValue::Number(one), SortedValue::Number(other)) => in_direction(one.total_cmp(other), ascending),
        (SortedValue::String(one), SortedValue::String(other)) => in_direction(one.cmp(other), ascending),
        _ => rank(one).cmp(&rank(other)),
    }
}

/// `order`, or its reverse when descending.
pub fn in_direction(order: Ordering, ascending: bool) -> Ordering {
    if ascending { order } else { order.reverse() }
}
