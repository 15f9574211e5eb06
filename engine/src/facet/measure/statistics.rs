//! Sum, mean and percentiles of numbers.

use crate::facet::values::summed;

/// Percentile: a number of percent with three decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Percentile {
    thousandths: u32,
}

impl Percentile {
    /// `None` unless it is from 0 to 100 with at most three decimals.
    pub fn new(percent: f64) -> Option<Percentile> {
        let thousandths = (percent * 1000.0).round();
        let is_exact = (0.0..=100_000.0).contains(&thousandths) && thousandths / 1000.0 == percent;
        is_exact.then_some(Percentile { thousandths: thousandths as u32 })
    }

    /// From 0 to 100.
    pub fn percent(self) -> f64 {
        f64::from(self.thousandths) / 1000.0
    }

    /// Returns the rank (from 1) of the percentile among `count` ascending values: that of the first value such that at
    /// least the given percentage of the values is not greater.
    fn rank(self, count: u64) -> u64 {
        let rank = (u128::from(count) * u128::from(self.thousandths)).div_ceil(100_000);
        (rank as u64).max(1)
    }
}

/// Statistics of the values of all candidates. A document with several different values counts with each of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// Number of values.
    pub count: u64,
    pub sum: f64,
    /// Mean of the values; `None`, as the next fields, without values.
    pub mean: Option<f64>,
    pub min: Option<f64>,
    pub max: Option<f64>,
    /// In the order they were asked for; each is one of the values.
    pub percentiles: Vec<(Percentile, Option<f64>)>,
    /// Each value, ascending, and how many candidates have it: percentiles of several servers take them all.
    pub values: Vec<(f64, u64)>,
}

impl Statistics {
    /// Computes the statistics of values that come with the number of candidates that have each.
    pub(super) fn new(values: Vec<(f64, u64)>, percentiles: &[Percentile]) -> Statistics {
        let values = summed(values, f64::total_cmp);
        let ends: Vec<u64> = values
            .iter()
            .scan(0, |end, (_, count)| {
                *end += count;
                Some(*end)
            })
            .collect();
        let count = ends.last().copied().unwrap_or(0);
        let sum = compensated_sum(values.iter().map(|&(value, count)| value * count as f64));
        let ranked = |percentile: Percentile| {
            let place = ends.partition_point(|&end| end < percentile.rank(count));
            values.get(place).map(|(value, _)| *value)
        };
        Statistics {
            count,
            sum,
            mean: (count > 0).then(|| sum / count as f64),
            min: values.first().map(|(value, _)| *value),
            max: values.last().map(|(value, _)| *value),
            percentiles: percentiles.iter().map(|&percentile| (percentile, ranked(percentile))).collect(),
            values,
        }
    }

    /// Merges the statistics of several servers. If there are percentiles, the statistics must have their `values`.
    pub(super) fn merged(parts: Vec<Statistics>, percentiles: &[Percentile]) -> Statistics {
        if !percentiles.is_empty() {
            return Statistics::new(parts.into_iter().flat_map(|part| part.values).collect(), percentiles);
        }
        let count = parts.iter().map(|part| part.count).sum();
        let sum = compensated_sum(parts.iter().map(|part| part.sum));
        Statistics {
            count,
            sum,
            mean: (count > 0).then(|| sum / count as f64),
            min: parts.iter().filter_map(|part| part.min).min_by(f64::total_cmp),
            max: parts.iter().filter_map(|part| part.max).max_by(f64::total_cmp),
            percentiles: Vec::new(),
            values: Vec::new(),
        }
    }
}

/// Adds with what each addition loses kept apart: millions of prices add up to the cent.
fn compensated_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for value in values {
        let next = sum + value;
        lost += if sum.abs() >= value.abs() { (sum - next) + value } else { (value - next) + sum };
        sum = next;
    }
    sum + lost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values() {
        let asked: Vec<Percentile> =
            [0.0, 7.0, 50.0, 99.9, 100.0].map(|percent| Percentile::new(percent).unwrap()).to_vec();
        let hundred = Statistics::new((1..=100).map(|n| (f64::from(n), 1)).collect(), &asked);
        let values: Vec<Option<f64>> = hundred.percentiles.iter().map(|(_, value)| *value).collect();
        assert_eq!(values, [1.0, 7.0, 50.0, 100.0, 100.0].map(Some));
        assert_eq!((hundred.count, hundred.sum, hundred.mean), (100, 5050.0, Some(50.5)));
        let nothing = Statistics::new(Vec::new(), &asked[..1]);
        assert_eq!((nothing.count, nothing.mean, nothing.percentiles[0].1), (0, None, None));
        let few = Statistics::new(vec![(2.0, 1), (1.0, 2), (2.0, 1)], &[Percentile::new(50.0).unwrap()]);
        assert_eq!((few.sum, few.min, few.max, few.percentiles[0].1), (6.0, Some(1.0), Some(2.0), Some(1.0)));
        for wrong in [-1.0, 100.1, 50.0001, f64::NAN] {
            assert_eq!(Percentile::new(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn servers_together_say_what_one_with_all_values_would() {
        let half = |values: &[f64], asked: &[Percentile]| {
            Statistics::new(values.iter().map(|&value| (value, 1)).collect(), asked)
        };
        for asked in [&[][..], &[Percentile::new(50.0).unwrap()][..]] {
            let parts = vec![half(&[1.0, 9.0], asked), half(&[], asked), half(&[2.0, 9.0, 4.0], asked)];
            let merged = Statistics::merged(parts, asked);
            let whole = Statistics { values: merged.values.clone(), ..half(&[1.0, 2.0, 4.0, 9.0, 9.0], asked) };
            assert_eq!(merged, whole);
        }
        assert_eq!(Statistics::merged(Vec::new(), &[]).mean, None);
    }

    #[test]
    fn small_numbers_are_not_lost_beside_large_ones() {
        let values = std::iter::once(1e16).chain(std::iter::repeat_n(1.0, 1000)).chain(std::iter::once(-1e16));
        assert_eq!(compensated_sum(values), 1000.0);
    }
}
