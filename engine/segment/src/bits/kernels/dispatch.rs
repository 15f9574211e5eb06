//! Which of the compiled loops runs.

use super::fields::{FIELD_KEYS_MAX, FieldTable};
use super::loops;

/// A function of `loops` that is compiled a second time, for AVX2.
macro_rules! compiled_twice {
    ($(#[$doc:meta])* $name:ident, $avx2:ident, ($($argument:ident: $type:ty),*) -> $answer:ty) => {
        $(#[$doc])*
        #[inline]
        pub fn $name($($argument: $type),*) -> $answer {
            #[cfg(target_arch = "x86_64")]
            if has_avx2() {
                #[expect(unsafe_code, reason = "the one way to call code compiled for instructions found at run time")]
                // SAFETY: `has_avx2` found every feature that the function is compiled for; it asks for nothing else.
                return unsafe { $avx2($($argument),*) };
            }
            loops::$name($($argument),*)
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,bmi1,bmi2,fma,popcnt")]
        fn $avx2($($argument: $type),*) -> $answer {
            loops::$name($($argument),*)
        }
    };
}

compiled_twice! {
    /// Leaves the bits of `words` that are in both, and counts all bits of `words` then; past the end of `other`,
    /// `words` stay.
    and_words, and_words_avx2, (words: &mut [u64], other: &[u64]) -> u32
}
compiled_twice! {
    /// Works like [`and_words`], but keeps the bits that are not set in `other`.
    and_not_words, and_not_words_avx2, (words: &mut [u64], other: &[u64]) -> u32
}
compiled_twice! {
    /// Works like [`and_words`], but keeps the bits that are set in either.
    or_words, or_words_avx2, (words: &mut [u64], other: &[u64]) -> u32
}
compiled_twice! {
    /// The number of bits that are in both.
    count_common, count_common_avx2, (words: &[u64], other: &[u64]) -> u32
}
compiled_twice! {
    /// The number of bits.
    count_ones, count_ones_avx2, (words: &[u64]) -> u32
}
compiled_twice! {
    /// Finds the keys whose groups may contain the value, and returns them as bits in the first result. There may be
    /// false positives, but no false negatives. `keys`: at most [`FIELD_KEYS_MAX`], whose groups follow each other in
    /// `bits` from bit `first` on, which is below 8. `starts`: receives the bit offset of each group. The second result
    /// is the bit offset of the end of the last group.
    fields_holding, fields_holding_avx2,
    (keys: &[u8], bits: &[u8], first: u32, table: &FieldTable, starts: &mut [u32; FIELD_KEYS_MAX]) -> (u32, u32)
}
compiled_twice! {
    /// The number of bits that are set in both, over the length of the shorter; `bits` holds little-endian words.
    common_bits, common_bits_avx2, (words: &[u64], bits: &[u8]) -> u32
}
compiled_twice! {
    /// For each of the rows, which follow each other without gaps, the number of bits in which it differs from `query`. Both
    /// are whole words of 64 bits.
    differing_bits, differing_bits_avx2, (rows: &[u8], query: &[u8], out: &mut [u32]) -> ()
}

compiled_twice! {
    /// Adds `byte` to each of `bytes` whose bit is set, in whole words of 64; sums must stay below 256.
    add_where, add_where_avx2, (bytes: &mut [u8], words: &[u64], byte: u8) -> ()
}
compiled_twice! {
    /// The first 64 bytes, counted from the one numbered `from`, of which one is at least `least`; of whole 64 only.
    next_reaching, next_reaching_avx2, (bytes: &[u8], from: usize, least: u8) -> usize
}
compiled_twice! {
    /// Leaves of each byte the share that the other one is of 255, rounded up.
    share_each, share_each_avx2, (bytes: &mut [u8], of: &[u8]) -> ()
}

/// The share of a byte that another one is of 255, rounded up.
#[inline]
pub fn share(byte: u8, of: u8) -> u8 {
    loops::share(byte, of)
}

/// The scalar products of `query` with each of the rows (little-endian `f32`), which follow each other without gaps.
#[inline]
pub fn dots(rows: &[u8], query: &[f32], out: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the one way to call code compiled for instructions found at run time")]
        // SAFETY: `has_avx2` found every feature that `dots_avx2` is compiled for; it asks for nothing else.
        unsafe {
            dots_avx2(rows, query, out);
        }
        return;
    }
    loops::dots::<false>(rows, query, out);
}

/// For each row of `codes`, the sum of its numbers of four bits, each multiplied with the one of `query` in its place.
/// A row is blocks of 32 bytes; the low halves of a block are its first 32 numbers, the high halves the next. `query` has
/// 64 numbers a block, none of them -128.
#[inline]
pub fn nibble_dots(codes: &[u8], query: &[i8], out: &mut [i32]) {
    debug_assert!(query.len().is_multiple_of(loops::NIBBLE_BLOCK), "whole blocks");
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the one way to call code compiled for instructions found at run time")]
        // SAFETY: `has_avx2` found every feature that `nibble_dots_avx2` is compiled for.
        unsafe {
            nibble_dots_avx2(codes, query, out);
        }
        return;
    }
    loops::nibble_dots(codes, query, out);
}

/// Bytes that come from memory together.
pub(crate) const CACHE_LINE: usize = 64;

/// Asks for the cache line in which `values` start, and does not wait for it. Does nothing where the machine cannot.
#[inline]
pub fn fetch<T>(values: &[T]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        #[expect(unsafe_code, reason = "the instruction takes a pointer")]
        // SAFETY: the instruction reads nothing into a register and never faults, and the pointer is one into `values`.
        unsafe {
            _mm_prefetch::<_MM_HINT_T0>(values.as_ptr().cast());
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = values;
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn dots_avx2(rows: &[u8], query: &[f32], out: &mut [f32]) {
    loops::dots::<true>(rows, query, out);
}

/// Written by hand: the compiler does not find the instruction that multiplies bytes.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn nibble_dots_avx2(codes: &[u8], query: &[i8], out: &mut [i32]) {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi16, _mm256_add_epi32,
        _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_maddubs_epi16, _mm256_set1_epi8, _mm256_set1_epi16, _mm256_setzero_si256, _mm256_srli_epi16,
    };
    /// Blocks whose products fit 16 bits: 4 blocks of 4 products of at most 15 * 127.
    const BLOCKS_OF_A_SUM: usize = 4;
    const _: () = assert!(BLOCKS_OF_A_SUM * 4 * 15 * 127 <= i16::MAX as usize);

    #[target_feature(enable = "avx2")]
    #[inline]
    fn load(bytes: &[u8; 32]) -> __m256i {
        #[expect(unsafe_code, reason = "the load takes a pointer")]
        // SAFETY: the reference is to 32 readable bytes, and the load asks for no alignment.
        unsafe {
            _mm256_loadu_si256(bytes.as_ptr().cast())
        }
    }
    #[target_feature(enable = "avx2")]
    #[inline]
    fn load_signed(numbers: &[i8; 32]) -> __m256i {
        #[expect(unsafe_code, reason = "the load takes a pointer")]
        // SAFETY: the reference is to 32 readable bytes, and the load asks for no alignment.
        unsafe {
            _mm256_loadu_si256(numbers.as_ptr().cast())
        }
    }

    let (query, _) = query.as_chunks::<{ loops::NIBBLE_BLOCK }>();
    let (low_half, ones) = (_mm256_set1_epi8(0x0f), _mm256_set1_epi16(1));
    for (row, out) in codes.chunks_exact((query.len() * 32).max(1)).zip(out) {
        let (blocks, _) = row.as_chunks::<32>();
        let mut sums = _mm256_setzero_si256();
        for (blocks, query) in blocks.chunks(BLOCKS_OF_A_SUM).zip(query.chunks(BLOCKS_OF_A_SUM)) {
            let mut short_sums = _mm256_setzero_si256();
            for (block, query) in blocks.iter().zip(query) {
                let (first, second) = query.as_chunks::<32>().0.split_at(1);
                let code = load(block);
                let low = _mm256_and_si256(code, low_half);
                let high = _mm256_and_si256(_mm256_srli_epi16::<4>(code), low_half);
                short_sums = _mm256_add_epi16(short_sums, _mm256_maddubs_epi16(low, load_signed(&first[0])));
                short_sums = _mm256_add_epi16(short_sums, _mm256_maddubs_epi16(high, load_signed(&second[0])));
            }
            sums = _mm256_add_epi32(sums, _mm256_madd_epi16(short_sums, ones));
        }
        let four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
        let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two));
        *out = _mm_cvtsi128_si32(one);
    }
}
