//! How far means can be trusted: intervals by the bootstrap, differences by a randomisation test. Chance has a seed, so the
//! same figures come out of the same answers.

/// Times that the questions are drawn anew.
const SAMPLES: usize = 10_000;
const SEED: u64 = 0x5EED_0F1A_317A;

/// Confidence interval of a mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Statistical comparison of two lists of measures of the same queries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Comparison {
    /// The mean of the differences, the second less the first.
    pub(super) difference: f64,
    pub(super) interval: Interval,
    /// Probability that chance alone produces a difference at least as large.
    pub(super) p: f64,
    pub(super) better: usize,
    pub(super) worse: usize,
}

/// SplitMix64.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next()) * end as u128) >> 64) as usize
    }

    /// Fisher and Yates.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

pub(super) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The interval of a mean: of the means of as many values, drawn with replacement, those in the middle.
pub(super) fn interval(values: &[f64], confidence: f64) -> Interval {
    if values.is_empty() {
        return Interval { low: 0.0, high: 0.0 };
    }
    let mut chance = Chance(SEED);
    let mut means: Vec<f64> = (0..SAMPLES)
        .map(|_| (0..values.len()).map(|_| values[chance.below(values.len())]).sum::<f64>() / values.len() as f64)
        .collect();
    means.sort_by(f64::total_cmp);
    let outside = (1.0 - confidence) / 2.0;
    let at = |share: f64| means[((share * SAMPLES as f64) as usize).min(SAMPLES - 1)];
    Interval { low: at(outside), high: at(1.0 - outside) }
}

/// Compares the measures of the same questions, in the same order. The test gives the signs of the differences at random: if
/// both ways were the same, either sign would be as likely.
pub(super) fn compare(first: &[f64], second: &[f64], confidence: f64) -> Comparison {
    let differences: Vec<f64> = first.iter().zip(second).map(|(one, other)| other - one).collect();
    let difference = mean(&differences);
    let moved: Vec<f64> = differences.iter().copied().filter(|difference| difference.abs() > NOISE).collect();
    let observed = moved.iter().sum::<f64>().abs();
    let mut chance = Chance(SEED);
    let as_large = (0..SAMPLES)
        .filter(|_| {
            let mut bits = 0;
            let signed = moved.iter().enumerate().map(|(index, difference)| {
                if index.is_multiple_of(64) {
                    bits = chance.next();
                }
                bits = bits.rotate_left(1);
                if bits & 1 == 0 { *difference } else { -difference }
            });
            signed.sum::<f64>().abs() >= observed - NOISE
        })
        .count();
    Comparison {
        difference,
        interval: interval(&differences, confidence),
        p: (as_large + 1) as f64 / (SAMPLES + 1) as f64,
        better: moved.iter().filter(|difference| **difference > 0.0).count(),
        worse: moved.iter().filter(|difference| **difference < 0.0).count(),
    }
}

/// Differences that come of the order of additions.
pub(super) const NOISE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_holds_the_mean_and_narrows_with_more_questions() {
        let values = |count: usize| (0..count).map(|n| f64::from((n % 5) as u32) / 4.0).collect::<Vec<f64>>();
        let (few, many) = (interval(&values(20), 0.95), interval(&values(2000), 0.95));
        assert!(few.low < 0.5);
        assert!(few.high > 0.5);
        assert!(many.low < 0.5);
        assert!(many.high > 0.5);
        assert!(many.high - many.low < (few.high - few.low) / 5.0, "{few:?} {many:?}");
        // The standard error of 20 such values is 0.079: nineteen of twenty lie within two of them.
        assert!((few.high - few.low - 4.0 * 0.079).abs() < 0.05, "{few:?}");
        assert_eq!(interval(&[0.25; 9], 0.95), Interval { low: 0.25, high: 0.25 });
        assert_eq!(interval(&[], 0.95), Interval { low: 0.0, high: 0.0 });
        assert_eq!(interval(&values(20), 0.95), few, "the same figures each time");
    }

    #[test]
    fn what_differs_by_chance_is_not_called_a_difference() {
        let first: Vec<f64> = (0..40).map(|n| f64::from(n % 7) / 7.0).collect();
        let better: Vec<f64> = first.iter().map(|value| value + 0.1).collect();
        let found = compare(&first, &better, 0.95);
        assert!((found.difference - 0.1).abs() < 1e-12, "{found:?}");
        assert!(found.p < 0.001, "{found:?}");
        assert!(found.interval.low > 0.09, "{found:?}");
        assert_eq!((found.better, found.worse), (40, 0));
        let mixed: Vec<f64> =
            first.iter().enumerate().map(|(n, v)| v + if n.is_multiple_of(2) { 0.1 } else { -0.1 }).collect();
        let found = compare(&first, &mixed, 0.95);
        assert!(found.p > 0.5, "{found:?}");
        assert!(found.interval.low < 0.0, "{found:?}");
        assert!(found.interval.high > 0.0, "{found:?}");
        let same = compare(&first, &first, 0.95);
        assert_eq!((same.difference, same.p, same.better, same.worse), (0.0, 1.0, 0, 0));
    }
}
