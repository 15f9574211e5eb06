//! Numbers in steps of one length.

/// Steps from zero in both directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    length: f64,
    /// The length as a fraction of integers, if it has few decimals: multiples of it are then the nearest numbers, `0.3` and
    /// not `0.30000000000000004`.
    fraction: Option<(f64, f64)>,
}

/// Decimals of a length that is a fraction.
const DECIMALS_MAX: i32 = 9;
/// Integers up to this (2^53) are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Steps {
    /// `None` unless the length is finite and greater than zero.
    pub fn new(length: f64) -> Option<Steps> {
        let fraction = (0..=DECIMALS_MAX).find_map(|decimals| {
            let scale = 10_f64.powi(decimals);
            let units = (length * scale).round();
            ((1.0..EXACT).contains(&units) && units / scale == length).then_some((units, scale))
        });
        (length.is_finite() && length > 0.0).then_some(Steps { length, fraction })
    }

    fn start(&self, step: f64) -> f64 {
        // No minus zero.
        0.0 + match self.fraction {
            Some((units, scale)) => step * units / scale,
            None => step * self.length,
        }
    }

    /// The start of the step that `number` lies in, and that of the next one: the first is not greater, the second is. Where
    /// numbers are so large that steps vanish beside them, each has a step of its own.
    pub(super) fn around(&self, number: f64) -> (f64, f64) {
        let mut step = (number / self.length).floor();
        if self.start(step) > number {
            step -= 1.0;
        } else if self.start(step + 1.0) <= number {
            step += 1.0;
        }
        let (start, end) = (self.start(step), self.start(step + 1.0));
        if start <= number && number < end && start.is_finite() { (start, end) } else { (number, number.next_up()) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_are_those_of_the_length() {
        let around = |length, number| Steps::new(length).unwrap().around(number);
        assert_eq!(around(0.1, 0.3), (0.3, 0.4));
        assert_eq!(around(0.1, 0.25), (0.2, 0.3));
        assert_eq!(around(10.0, -0.5), (-10.0, 0.0));
        assert_eq!(around(10.0, 10.0), (10.0, 20.0));
        assert_eq!(around(2.5, 7.5), (7.5, 10.0));
        assert_eq!(around(1e-3, 1e300), (1e300, 1e300_f64.next_up()));
        for length in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Steps::new(length), None);
        }
    }

    proptest! {
        /// Whatever the floats: a number is in its step, and steps do not overlap.
        #[test]
        fn numbers_are_in_their_steps(length in 1e-6..1e6, number in -1e9..1e9) {
            let steps = Steps::new(length).unwrap();
            let (from, to) = steps.around(number);
            prop_assert!(from <= number);
            prop_assert!(number < to);
            prop_assert_eq!(steps.around(from), (from, to));
            prop_assert_eq!(steps.around(to).0, to);
        }
    }
}
