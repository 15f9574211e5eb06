//! The inner loops over vectors: products of floats and differing bits, with the instructions the machine has.
//!
//! Each loop is written once, in safe code that the compiler turns into vector instructions; it is compiled a second
//! time for AVX2, and [`dots`] and its like choose at run time. Rows are the little-endian bytes of a mapped file, so
//! nothing has to be aligned or copied.

mod dispatch;
mod loops;

pub(crate) use dispatch::{differing_bits, dots};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(vector: &[f32]) -> Vec<u8> {
        vector.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    fn dot(row: &[u8], query: &[f32]) -> f32 {
        let mut out = [0.0];
        dots(row, query, &mut out);
        out[0]
    }

    fn naive(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    #[test]
    fn rows_of_every_length_around_the_lanes() {
        for length in [0, 1, 7, 31, 32, 33, 63, 64, 65, 100, 384] {
            let a: Vec<f32> = (0..length).map(|i| (i as f32).sin()).collect();
            let b: Vec<f32> = (0..length).map(|i| (i as f32).cos()).collect();
            let found = f64::from(dot(&bytes(&a), &b));
            assert!((found - naive(&a, &b)).abs() < 1e-4, "{length}: {found}");
        }
    }

    proptest! {
        #[test]
        fn dispatched_loops_equal_the_plain_ones(
            a in prop::collection::vec(-1.0f32..1.0, 0..200),
            seed in prop::collection::vec(any::<u8>(), 0..64),
        ) {
            let b: Vec<f32> = a.iter().rev().copied().collect();
            let found = dot(&bytes(&a), &b);
            prop_assert!((f64::from(found) - naive(&a, &b)).abs() < 1e-3);
            let other: Vec<u8> = seed.iter().rev().copied().collect();
            let expected: u32 = seed.iter().zip(&other).map(|(a, b)| (a ^ b).count_ones()).sum();
            prop_assert_eq!(differing_bits(&seed, &other), expected);
        }

        #[test]
        fn many_rows_are_as_one_by_one(rows in prop::collection::vec(prop::array::uniform12(-1.0f32..1.0), 0..20)) {
            let query: Vec<f32> = (0..12).map(|i| i as f32 - 6.0).collect();
            let block: Vec<u8> = rows.iter().flat_map(|row| bytes(row)).collect();
            let mut all = vec![0.0; rows.len()];
            dots(&block, &query, &mut all);
            for (row, found) in rows.iter().zip(all) {
                prop_assert!((dot(&bytes(row), &query) - found).abs() < 1e-4);
            }
        }
    }
}
