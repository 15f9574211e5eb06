//! Ranges, histograms and statistics of the values of a facet: numbers, dates or distances.
//!
//! A bucket counts the candidates that have a value in it, each once. Only columns are read: where no document has two
//! values, the counts of values are added; elsewhere each candidate's values are looked at, in whose places of the column the
//! buckets stand already.

mod calendar;
mod statistics;
mod steps;
mod tally;
#[cfg(test)]
mod tests;

use lamina_index::index::settings::GEO_FIELD;
use lamina_index::index::{SegmentView, Snapshot};
use lamina_segment::bits::DocSet;
use lamina_segment::segment::Column;
use lamina_text::filter::{Coordinates, ElementField, attribute_of};
use lamina_text::text::{Moment, NANOS_PER_SECOND};
use rayon::prelude::*;

pub use calendar::{Calendar, UnknownTimeZone};
pub use statistics::{Percentile, Statistics};
pub use steps::Steps;
use tally::Tally;

use super::FacetError;
use super::select::{FacetField, check_one};
use super::values::{columns, summed};
use crate::condition::TimeLimit;

/// Ranges of one measure.
pub const RANGES_MAX: usize = 100;
/// Buckets of a histogram that have documents.
pub(crate) const BUCKETS_MAX: usize = 1000;

/// Measurements requested for the values of one field.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The whole name of the field, or how the field of elements is written.
    pub facet: String,
    /// Only elements that pass a filter are measured.
    pub elements: Option<Box<ElementField>>,
    pub scale: Scale,
    /// At most [`RANGES_MAX`].
    pub ranges: Vec<Span>,
    pub histogram: Option<Histogram>,
    /// Statistics, with these percentiles.
    pub statistics: Option<Vec<Percentile>>,
}

/// Kind of the values that are measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    Numbers,
    /// Dates (a day alone begins at midnight, in the time zone of the histogram if there is one), and numbers, which are seconds since
    /// 1970.
    Dates,
    /// Metres from here to the point of a document.
    Distances(Coordinates),
}

/// A value as it is compared. All keys of a measure are of one kind.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Key {
    Number(f64),
    Moment(Moment),
}

/// From one value on, up to but without another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    pub from: Option<Key>,
    pub to: Option<Key>,
}

/// Division of the values into the buckets of a histogram.
#[derive(Clone, Debug, PartialEq)]
pub enum Histogram {
    Steps(Steps),
    Calendar(Calendar),
}

/// A bucket of a histogram: values from `from` on, without `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bucket {
    pub from: Key,
    pub to: Key,
    /// Candidates with a value in it, at least one.
    pub count: u64,
}

/// Results of a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Candidates with a value in each range.
    pub ranges: Vec<u64>,
    /// Ascending; those without documents are left out.
    pub histogram: Option<Vec<Bucket>>,
    pub statistics: Option<Statistics>,
}

impl Histogram {
    /// The bucket that `key` lies in: where it begins, and where the next one does. `None` before the calendar begins.
    fn around(&self, key: Key) -> Option<(Key, Key)> {
        match (self, key) {
            (Histogram::Steps(steps), Key::Number(number)) => {
                let (from, to) = steps.around(number);
                Some((Key::Number(from), Key::Number(to)))
            }
            (Histogram::Calendar(calendar), Key::Moment(moment)) => {
                let (from, to) = calendar.around(moment)?;
                Some((Key::Moment(from), Key::Moment(to)))
            }
            _ => None,
        }
    }
}

impl Measure {
    /// The key of a text of a document: of dates alone.
    fn key_of_text(&self, text: &str) -> Option<Key> {
        match &self.histogram {
            Some(Histogram::Calendar(calendar)) => calendar.read(text).map(Key::Moment),
            _ => Moment::parse(text).map(Key::Moment),
        }
    }

    /// The key of a number: of dates, it is seconds since 1970.
    pub fn key_of_number(&self, number: f64) -> Option<Key> {
        match self.scale {
            Scale::Dates => Moment::from_unix_seconds(number).map(Key::Moment),
            _ => Some(Key::Number(number)),
        }
    }
}

impl Key {
    /// The number that [`Measure::key_of_number`] makes this key of, if it is a number or a whole second.
    pub fn as_number(self) -> f64 {
        match self {
            Key::Number(number) => number,
            Key::Moment(moment) => (moment.nanos() / NANOS_PER_SECOND) as f64,
        }
    }
}

impl Span {
    /// Returns the range of indexes of `keys`, which ascend, that lie in the span.
    fn places<T>(&self, keys: &[T], key_of: impl Fn(&T) -> Key) -> std::ops::Range<usize> {
        let place = |bound: Key| keys.partition_point(|key| key_of(key) < bound);
        let start = self.from.map_or(0, place);
        start..self.to.map_or(keys.len(), place).max(start)
    }
}

/// Bytes that [`measure`] needs at most while it works.
pub fn measure_bytes(snapshot: &Snapshot, asked: &Measure, candidates: &[DocSet]) -> usize {
    const ENTRY_BYTES: usize = 96;
    let entries: usize = match asked.scale {
        Scale::Distances(_) => candidates.iter().map(|docs| docs.len() as usize).sum(),
        _ => match snapshot.fields.get(&attribute_of(&asked.facet)) {
            Some(field) => columns(snapshot, field).iter().map(|(_, c)| c.value_count() as usize).sum(),
            None => 0,
        },
    };
    entries.saturating_mul(ENTRY_BYTES)
}

/// Measures the values that `candidates` (live documents, one set per segment of `snapshot`) have, on the threads of the pool
/// that calls. Cost: as for counting the values of a facet; for distances, one of them for each candidate with a point.
///
/// # Errors
/// A field that is not filterable, more than [`BUCKETS_MAX`] buckets, and elements that take longer than `limit`.
pub fn measure(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    asked: &Measure,
    limit: TimeLimit<'_>,
) -> Result<Measured, FacetError> {
    measure_together(&[(snapshot, candidates)], asked, limit)
}

/// Works like [`measure`], for the candidates of several indexes as if they were those of one. Percentiles are exact,
/// too.
///
/// # Errors
/// The errors of [`measure`], of the first index that fails.
pub fn measure_together(
    parts: &[(&Snapshot, &[DocSet])],
    asked: &Measure,
    limit: TimeLimit<'_>,
) -> Result<Measured, FacetError> {
    let mut all = Tally::new(asked);
    for (snapshot, candidates) in parts {
        tallies(snapshot, candidates, asked, limit)?.into_iter().for_each(|tally| all.add(tally));
    }
    let histogram = histogram(asked, std::mem::take(&mut all.buckets))?;
    let statistics = asked.statistics.as_ref().map(|percentiles| Statistics::new(all.values, percentiles));
    Ok(Measured { ranges: all.ranges, histogram, statistics })
}

/// Merges the measurements of several servers as if one server had all of their documents. If percentiles are
/// requested, the statistics must have their `values`.
///
/// # Errors
/// More than [`BUCKETS_MAX`] buckets.
pub fn merge_measured(asked: &Measure, parts: Vec<Measured>) -> Result<Measured, FacetError> {
    let mut ranges = vec![0; asked.ranges.len()];
    let (mut buckets, mut statistics) = (Vec::new(), Vec::new());
    for part in parts {
        ranges.iter_mut().zip(part.ranges).for_each(|(all, one)| *all += one);
        buckets.extend(part.histogram.into_iter().flatten().map(|Bucket { from, to, count }| ((from, to), count)));
        statistics.extend(part.statistics);
    }
    let histogram = histogram(asked, buckets)?;
    let statistics = asked.statistics.as_ref().map(|percentiles| Statistics::merged(statistics, percentiles));
    Ok(Measured { ranges, histogram, statistics })
}

/// The buckets of all parts, if a histogram is asked for.
fn histogram(asked: &Measure, buckets: Vec<((Key, Key), u64)>) -> Result<Option<Vec<Bucket>>, FacetError> {
    if asked.histogram.is_none() {
        return Ok(None);
    }
    let by_start = |a: &(Key, Key), b: &(Key, Key)| a.0.partial_cmp(&b.0).unwrap_or(std::cmp::Ordering::Equal);
    let buckets = summed(buckets, by_start);
    if buckets.len() > BUCKETS_MAX {
        return Err(too_many_buckets(asked));
    }
    Ok(Some(buckets.into_iter().map(|((from, to), count)| Bucket { from, to, count }).collect()))
}

/// Computes the counts of each segment.
fn tallies(
    snapshot: &Snapshot,
    candidates: &[DocSet],
    asked: &Measure,
    limit: TimeLimit<'_>,
) -> Result<Vec<Tally>, FacetError> {
    let columns = match &asked.elements {
        Some(elements) => {
            FacetField::of_elements(&asked.facet, elements, snapshot, candidates, limit)?.columns(snapshot)
        }
        None => {
            check_one(&asked.facet, &snapshot.settings)?;
            let field = snapshot.fields.get(&asked.facet).filter(|_| asked.facet != GEO_FIELD);
            field.map(|field| columns(snapshot, field)).unwrap_or_default()
        }
    };
    if let Scale::Distances(origin) = asked.scale {
        let of_segment = |(segment, docs): (&SegmentView, &DocSet)| {
            segment.reader.geo().map_or_else(|| Ok(Tally::new(asked)), |geo| Tally::of_points(asked, geo, origin, docs))
        };
        return snapshot.segments.par_iter().zip(candidates).map(of_segment).collect();
    }
    let of_column = |(place, column): &(usize, Column)| {
        Tally::of_column(asked, column, &candidates[*place], snapshot.segments[*place].reader.doc_count())
    };
    columns.par_iter().map(of_column).collect()
}

fn too_many_buckets(asked: &Measure) -> FacetError {
    FacetError::TooManyBuckets { facet: asked.facet.clone(), most: BUCKETS_MAX }
}
