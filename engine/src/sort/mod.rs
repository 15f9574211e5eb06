//! Orders documents by the values of a field or by their distance from a point.
//!
//! Numbers come before strings and documents without a value last, in both directions. Of several values the smallest
//! counts when ascending, the largest when descending; numbers are looked at first.

mod criterion;
mod elements;
mod leading;
mod segment_sort;
#[cfg(test)]
mod tests;
mod value;

pub use criterion::{SortCriterion, SortError, SortTarget, check_sortable};
pub use elements::{ElementColumns, ElementSorts};
pub use segment_sort::{Computed, SegmentSort};
pub use value::SortedValue;
