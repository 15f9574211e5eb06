//! Facets: how many of the matching documents have each value of a field, the extremes of its numbers, ranges, histograms and
//! statistics of its values, and the search among them.
//!
//! Counting goes over each segment's column and then merges by value. Within a segment two ways give the same counts:
//! looking at each candidate's values, or at each value's documents; the cheaper one is taken.

mod count;
mod distribution;
mod error;
mod look_alikes;
mod measure;
mod merge;
mod search;
mod select;
#[cfg(test)]
mod tests;
mod used_values;
mod values;

pub use distribution::{FacetStats, FacetValues, FieldFacet, Listing, distribution, distributions, listed_values_max};
pub use error::{FacetError, FacetSearchError};
pub use measure::{
    Bucket, Calendar, Histogram, Key, Measure, Measured, Percentile, RANGES_MAX, Scale, Span, Statistics, Steps,
    UnknownTimeZone, measure, measure_bytes, measure_together, merge_measured,
};
pub use merge::merge_facets;
pub use search::{FacetHit, FacetHits, search_facet};
pub use select::{FacetField, select_facets};
pub use used_values::UsedValues;
