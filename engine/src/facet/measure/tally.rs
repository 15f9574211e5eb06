//! What is counted in one segment.

use lamina_segment::bits::DocSet;
use lamina_segment::segment::{Column, Geo};
use lamina_text::filter::Coordinates;

use super::{BUCKETS_MAX, Key, Measure, RANGES_MAX, Scale, too_many_buckets};
use crate::facet::FacetError;
use crate::facet::count::{ValueCount, count_values};
use crate::geo::distance_m;

/// Counts of one segment, or of several.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Number of values in each requested range.
    pub(super) ranges: Vec<u64>,
    /// Start and end of each bucket. Of one segment they ascend, each once.
    pub(super) buckets: Vec<((Key, Key), u64)>,
    /// For statistics.
    pub(super) values: Vec<(f64, u64)>,
}

/// A value that candidates have.
#[derive(Clone, Copy)]
struct KeyedCount {
    key: Key,
    count: u32,
    /// In the column.
    ordinal: u32,
}

/// No place.
const NONE: u32 = u32::MAX;
// The ranges that a value lies in are bits.
const _: () = assert!(RANGES_MAX <= u128::BITS as usize);

impl Tally {
    /// Nothing counted.
    pub(super) fn new(asked: &Measure) -> Tally {
        Tally { ranges: vec![0; asked.ranges.len()], ..Tally::default() }
    }

    pub(super) fn add(&mut self, other: Tally) {
        self.ranges.iter_mut().zip(other.ranges).for_each(|(all, one)| *all += one);
        self.buckets.extend(other.buckets);
        self.values.extend(other.values);
    }

    /// Distances from `origin`.
    pub(super) fn of_points(
        asked: &Measure,
        geo: &Geo,
        origin: Coordinates,
        candidates: &DocSet,
    ) -> Result<Tally, FacetError> {
        let origin = (origin.latitude(), origin.longitude());
        let mut values = Vec::new();
        candidates.for_each(|doc| {
            values.extend(geo.point(doc).map(|point| {
                let key = Key::Number(distance_m(origin, point));
                KeyedCount { key, count: 1, ordinal: NONE }
            }));
        });
        Tally::of_values(asked, values, None)
    }

    /// The values of a column of a segment of `doc_count` documents.
    pub(super) fn of_column(
        asked: &Measure,
        column: &Column,
        candidates: &DocSet,
        doc_count: u32,
    ) -> Result<Tally, FacetError> {
        let number_count = column.number_count();
        // Numbers come first; where only these are wanted, no more than all of them need be counted.
        let limit = if asked.scale == Scale::Dates { usize::MAX } else { number_count as usize };
        let counted = count_values(column, candidates, doc_count, limit);
        let with_key = |ValueCount { ordinal, count }: ValueCount| {
            let key = match (ordinal < number_count, asked.scale) {
                (true, _) => asked.key_of_number(column.number(ordinal)),
                (false, Scale::Dates) => asked.key_of_text(column.string(ordinal)),
                (false, _) => None,
            };
            Some(KeyedCount { key: key?, count, ordinal })
        };
        let values: Vec<KeyedCount> = counted.into_iter().filter_map(with_key).collect();
        let by_document = (!column.is_single_valued()).then_some((column, candidates));
        Tally::of_values(asked, values, by_document)
    }

    /// `by_document`: the column of values of which a document may have several, and the candidates.
    fn of_values(
        asked: &Measure,
        mut values: Vec<KeyedCount>,
        by_document: Option<(&Column, &DocSet)>,
    ) -> Result<Tally, FacetError> {
        if !values.is_sorted_by(|a, b| a.key <= b.key) {
            values.sort_by(|a, b| a.key.partial_cmp(&b.key).unwrap_or(std::cmp::Ordering::Equal));
        }
        let mut tally = Tally::new(asked);
        if asked.statistics.is_some() {
            tally.values.extend(values.iter().filter_map(|value| match value.key {
                Key::Number(number) => Some((number, u64::from(value.count))),
                Key::Moment(_) => None,
            }));
        }
        let bucket_of = tally.part(asked, &values)?;
        match by_document {
            Some((column, candidates)) => tally.count_documents(asked, &values, &bucket_of, column, candidates),
            None => tally.count_values(asked, &values, &bucket_of),
        }
        tally.buckets.retain(|(_, count)| *count > 0);
        Ok(tally)
    }

    /// Makes the buckets that the values lie in, and answers which one is that of each value.
    fn part(&mut self, asked: &Measure, values: &[KeyedCount]) -> Result<Vec<u32>, FacetError> {
        let Some(histogram) = &asked.histogram else { return Ok(Vec::new()) };
        let mut bucket_of = Vec::with_capacity(values.len());
        for value in values {
            if self.buckets.last().is_none_or(|((_, to), _)| value.key >= *to) {
                let Some(bucket) = histogram.around(value.key) else {
                    bucket_of.push(NONE);
                    continue;
                };
                self.buckets.push((bucket, 0));
                if self.buckets.len() > BUCKETS_MAX {
                    return Err(too_many_buckets(asked));
                }
            }
            bucket_of.push(self.buckets.len() as u32 - 1);
        }
        Ok(bucket_of)
    }

    /// No document has two of the values.
    fn count_values(&mut self, asked: &Measure, values: &[KeyedCount], bucket_of: &[u32]) {
        for (range, total) in asked.ranges.iter().zip(&mut self.ranges) {
            let within = &values[range.places(values, |value| value.key)];
            *total = within.iter().map(|value| u64::from(value.count)).sum();
        }
        for (value, &bucket) in values.iter().zip(bucket_of) {
            if let Some((_, count)) = self.buckets.get_mut(bucket as usize) {
                *count += u64::from(value.count);
            }
        }
    }

    /// A document counts once in each bucket and range, however many of its values lie there.
    fn count_documents(
        &mut self,
        asked: &Measure,
        values: &[KeyedCount],
        bucket_of: &[u32],
        column: &Column,
        candidates: &DocSet,
    ) {
        if asked.ranges.is_empty() && self.buckets.is_empty() {
            return;
        }
        let mut ranges_of = vec![0_u128; values.len()];
        for (bit, range) in asked.ranges.iter().enumerate() {
            ranges_of[range.places(values, |value| value.key)].iter_mut().for_each(|ranges| *ranges |= 1 << bit);
        }
        let mut place_of = vec![NONE; column.value_count() as usize];
        for (place, value) in (0..).zip(values) {
            place_of[value.ordinal as usize] = place;
        }
        let mut buckets: Vec<u32> = Vec::new();
        candidates.for_each(|doc| {
            let mut ranges = 0_u128;
            buckets.clear();
            column.for_each_ordinal(doc, |ordinal| {
                let place = place_of[ordinal as usize] as usize;
                ranges |= ranges_of.get(place).copied().unwrap_or(0);
                buckets.extend(bucket_of.get(place));
            });
            while ranges != 0 {
                self.ranges[ranges.trailing_zeros() as usize] += 1;
                ranges &= ranges - 1;
            }
            buckets.sort_unstable();
            buckets.dedup();
            for &bucket in &buckets {
                if let Some((_, count)) = self.buckets.get_mut(bucket as usize) {
                    *count += 1;
                }
            }
        });
    }
}
