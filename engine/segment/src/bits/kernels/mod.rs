//! The inner loops over vectors, bitsets and packed fields, with the instructions the machine has: products of floats or of
//! short codes, differing bits, the algebra of sets, equal fields.
//!
//! Each loop is written in safe code that the compiler turns into vector instructions; it is compiled a second time for
//! AVX2 (only [`nibble_dots`] needs code of its own there), and [`dots`] and its like choose at run time. Rows of vectors
//! are the little-endian bytes of a mapped file, so nothing has to be aligned or copied. [`fetch`] asks for bytes of such a
//! file before they are read.

mod dispatch;
mod fields;
mod loops;

pub(crate) use dispatch::CACHE_LINE;
pub use dispatch::common_bits;
pub use dispatch::fields_holding;
pub use dispatch::{add_where, differing_bits, dots, fetch, next_reaching, nibble_dots, share, share_each};
pub use dispatch::{and_not_words, and_words, count_common, count_ones, or_words};
pub use fields::{FIELD_KEYS_MAX, FieldTable};

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
    fn the_largest_products_of_codes_fit() {
        let mut found = [0];
        nibble_dots(&[0xff; 32 * 8], &[127; 64 * 8], &mut found);
        assert_eq!(found, [15 * 127 * 64 * 8]);
        nibble_dots(&[0xff; 32 * 8], &[-127; 64 * 8], &mut found);
        assert_eq!(found, [-15 * 127 * 64 * 8]);
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
            // Rows of two words.
            let expected: Vec<u32> = seed.chunks_exact(16).map(|row| {
                row.iter().zip(&other).map(|(a, b)| (a ^ b).count_ones()).sum()
            }).collect();
            let mut found = vec![0; expected.len()];
            differing_bits(&seed, &other[..other.len().min(16)], &mut found);
            prop_assert_eq!(found, expected);
            let words: Vec<u64> = seed.as_chunks().0.iter().map(|chunk| u64::from_le_bytes(*chunk)).collect();
            let common: u32 = seed.iter().zip(&other).take(words.len() * 8).map(|(a, b)| (a & b).count_ones()).sum();
            prop_assert_eq!(common_bits(&words, &other), common);
        }

        #[test]
        fn sets_of_every_length(
            a in prop::collection::vec(any::<u64>(), 0..40),
            b in prop::collection::vec(any::<u64>(), 0..40),
        ) {
            let other = |at: usize| b.get(at).copied();
            let each = |with: fn(u64, u64) -> u64| -> Vec<u64> {
                a.iter().enumerate().map(|(at, &word)| other(at).map_or(word, |other| with(word, other))).collect()
            };
            let ones = |words: &[u64]| words.iter().map(|word| word.count_ones()).sum::<u32>();
            type Loop = fn(&mut [u64], &[u64]) -> u32;
            type OfWords = fn(u64, u64) -> u64;
            let loops: [(Loop, OfWords); 3] =
                [(and_words, |a, b| a & b), (and_not_words, |a, b| a & !b), (or_words, |a, b| a | b)];
            for (combine, with) in loops {
                let mut words = a.clone();
                let count = combine(&mut words, &b);
                prop_assert_eq!(&words, &each(with));
                prop_assert_eq!(count, ones(&words));
            }
            prop_assert_eq!(count_ones(&a), ones(&a));
            let common: Vec<u64> = a.iter().zip(&b).map(|(a, b)| a & b).collect();
            prop_assert_eq!(count_common(&a, &b), ones(&common));
        }

        #[test]
        fn bytes_of_documents(
            bytes in prop::collection::vec(0u8..100, 0..300),
            words in prop::collection::vec(prop_oneof![Just(0), any::<u64>()], 0..6),
            of in prop::collection::vec(any::<u8>(), 0..300),
            (from, least, added) in (0usize..4, 0u8..120, 0u8..150),
        ) {
            let whole = bytes.len() / 64 * 64;
            let is_set = |at: usize| at < whole && words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1);
            let expected: Vec<u8> =
                bytes.iter().enumerate().map(|(at, byte)| if is_set(at) { byte + added } else { *byte }).collect();
            let mut sums = bytes.clone();
            add_where(&mut sums, &words, added);
            prop_assert_eq!(&sums, &expected);
            let next = (from..whole / 64).find(|at| sums[at * 64..][..64].iter().any(|&byte| byte >= least));
            prop_assert_eq!(next_reaching(&sums, from, least), next.unwrap_or(from.max(whole / 64)));
            let product = |at: usize| of.get(at).map_or(u16::from(sums[at]), |&of| (u16::from(sums[at]) * u16::from(of)).div_ceil(255));
            let expected: Vec<u16> = (0..sums.len()).map(product).collect();
            let mut shares = sums.clone();
            share_each(&mut shares, &of);
            prop_assert_eq!(shares.into_iter().map(u16::from).collect::<Vec<_>>(), expected);
        }

        #[test]
        fn groups_with_a_value_are_found(
            widths in prop::array::uniform4(0u32..33),
            keys in prop::collection::vec(any::<u8>(), 0..FIELD_KEYS_MAX + 1),
            bits in prop::collection::vec(any::<u8>(), 0..300),
            (first, kind, value) in (0u32..8, 0u8..4, any::<u64>()),
        ) {
            // Four fields a key, each of one of four kinds.
            let kinds = |key: u8| (0..4).map(move |field| key >> (2 * field) & 3);
            let width = |kind: u8| widths[usize::from(kind)];
            let begin = |key: u8, field: usize| kinds(key).take(field).map(width).sum::<u32>();
            let read = |at: u32, width: u32| {
                let bit = |at: u32| bits.get(at as usize / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
                (0..width).map(|i| u64::from(bit(at + i)) << i).sum::<u64>()
            };
            // A value that is there, mostly.
            let value = read(value as u32 % 600, width(kind)) as u32;
            let table = FieldTable::new(value, width(kind), |key| {
                let starts = (0..4).filter(move |&field| key >> (2 * field) & 3 == kind).map(move |field| begin(key, field as usize));
                (starts, begin(key, 4) as u8)
            });
            let mut starts = [0; FIELD_KEYS_MAX];
            let (found, end) = fields_holding(&keys, &bits, first, &table, &mut starts);
            let mut plain_starts = [0; FIELD_KEYS_MAX];
            prop_assert_eq!(loops::fields_holding(&keys, &bits, first, &table, &mut plain_starts), (found, end));
            prop_assert_eq!(starts, plain_starts);
            let mut at = first;
            for (place, &key) in keys.iter().enumerate() {
                prop_assert_eq!(starts[place], at);
                let holds = (0..4).any(|field| {
                    key >> (2 * field) & 3 == kind
                        && read(at + begin(key, field as usize), width(kind)) == u64::from(value)
                });
                prop_assert!(!holds || found >> place & 1 == 1, "group {} of {:?}", place, keys);
                at += begin(key, 4);
            }
            prop_assert_eq!(end, at);
        }

        #[test]
        fn products_of_codes(
            blocks in 0usize..9,
            rows in 0usize..5,
            bytes in prop::collection::vec(any::<u8>(), 8 * 32 * 4),
            query in prop::collection::vec(-127i8..=127, 8 * 64),
        ) {
            let (codes, query) = (&bytes[..(blocks * 32 * rows).min(bytes.len())], &query[..blocks.min(8) * 64]);
            let count = codes.len() / (blocks.min(8) * 32).max(1);
            let (mut found, mut expected) = (vec![0; count], vec![0; count]);
            nibble_dots(codes, query, &mut found);
            loops::nibble_dots(codes, query, &mut expected);
            prop_assert_eq!(&found, &expected);
            for (row, found) in codes.chunks_exact((blocks.min(8) * 32).max(1)).zip(found) {
                let number = |place: usize| match place % 64 {
                    low @ 0..32 => row[place / 64 * 32 + low] & 15,
                    high => row[place / 64 * 32 + high - 32] >> 4,
                };
                let each = query.iter().enumerate();
                prop_assert_eq!(found, each.map(|(place, q)| i32::from(*q) * i32::from(number(place))).sum::<i32>());
            }
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
