//! Response times counted by size, fine enough for percentiles.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bound of the first size.
const FIRST_MICROS: f64 = 50.0;
/// Sizes within a doubling: a percentile is off by a tenth at most.
const PER_DOUBLING: f64 = 4.0;
/// Sizes: up to a quarter of an hour.
const SIZES: usize = 98;

/// Number of requests of each size.
pub(super) type Counts = [u64; SIZES];

/// Requests since the start. Shared by reference.
#[derive(Debug)]
pub(super) struct Latencies([AtomicU64; SIZES]);

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies(std::array::from_fn(|_| AtomicU64::new(0)))
    }
}

impl Latencies {
    pub(super) fn record(&self, duration: Duration) {
        let size = (duration.as_secs_f64() * 1e6 / FIRST_MICROS).max(1.0).log2() * PER_DOUBLING;
        // A cast of a number that is too large gives the largest.
        let size = (size.ceil() as usize).min(SIZES - 1);
        self.0[size].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn counts(&self) -> Counts {
        std::array::from_fn(|size| self.0[size].load(Ordering::Relaxed))
    }
}

/// The requests between two moments.
pub(super) fn between(earlier: &Counts, later: &Counts) -> Counts {
    std::array::from_fn(|size| later[size].saturating_sub(earlier[size]))
}

/// The time in milliseconds below which this share of the requests stayed; `None` if there were none.
pub(super) fn percentile(counts: &Counts, share: f64) -> Option<f32> {
    let total: u64 = counts.iter().sum();
    let wanted = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
    let mut seen = 0;
    let size = counts.iter().position(|count| {
        seen += count;
        seen >= wanted
    })?;
    // The middle of the size.
    let micros = FIRST_MICROS * ((size as f64 - 0.5) / PER_DOUBLING).exp2();
    Some((micros / 1e3) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_off_by_a_tenth_at_most() {
        for millis in [0.06, 0.3, 1.0, 7.3, 90.0, 1234.0, 59_000.0] {
            let latencies = Latencies::default();
            for _ in 0..100 {
                latencies.record(Duration::from_secs_f64(millis / 1e3));
            }
            for share in [0.0, 0.5, 0.99, 1.0] {
                let found = f64::from(percentile(&latencies.counts(), share).unwrap());
                assert!((found / millis - 1.0).abs() < 0.1, "{millis} {share}: {found}");
            }
        }
    }

    #[test]
    fn a_percentile_is_of_the_requests_between_two_moments() {
        let latencies = Latencies::default();
        latencies.record(Duration::from_secs(100));
        let earlier = latencies.counts();
        assert_eq!(percentile(&between(&earlier, &earlier), 0.5), None);
        for _ in 0..98 {
            latencies.record(Duration::from_millis(1));
        }
        for _ in 0..2 {
            latencies.record(Duration::from_millis(100));
        }
        let counts = between(&earlier, &latencies.counts());
        assert!(percentile(&counts, 0.5).unwrap() < 1.2);
        assert!(percentile(&counts, 0.98).unwrap() < 1.2);
        assert!(percentile(&counts, 0.99).unwrap() > 90.0);
    }

    #[test]
    fn every_time_has_a_size() {
        let latencies = Latencies::default();
        for duration in [Duration::ZERO, Duration::MAX] {
            latencies.record(duration);
        }
        assert_eq!(latencies.counts().iter().sum::<u64>(), 2);
    }
}
