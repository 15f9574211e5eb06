//! Which of the compiled loops runs.

use super::loops;

/// The scalar products of `query` with each of the rows (little-endian `f32`), which follow each other without gaps.
#[inline]
pub(crate) fn dots(rows: &[u8], query: &[f32], out: &mut [f32]) {
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

/// The number of bits in which the two differ, over the length of the shorter.
#[inline]
pub(crate) fn differing_bits(a: &[u8], b: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if has_avx2() {
        #[expect(unsafe_code, reason = "the one way to call code compiled for instructions found at run time")]
        // SAFETY: `has_avx2` found every feature that `differing_bits_avx2` is compiled for.
        return unsafe { differing_bits_avx2(a, b) };
    }
    loops::differing_bits(a, b)
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
        && std::arch::is_x86_feature_detected!("popcnt")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn dots_avx2(rows: &[u8], query: &[f32], out: &mut [f32]) {
    loops::dots::<true>(rows, query, out);
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,popcnt")]
fn differing_bits_avx2(a: &[u8], b: &[u8]) -> u32 {
    loops::differing_bits(a, b)
}
