//! The only place that converts between integers and bytes. Everything on disk is little-endian.

/// The `u16` at byte `at`, or `None` past the end.
#[inline]
pub(crate) fn read_u16(bytes: &[u8], at: usize) -> Option<u16> {
    let chunk = bytes.get(at..)?.first_chunk::<2>()?;
    Some(u16::from_le_bytes(*chunk))
}

/// The `u32` at byte `at`, or `None` past the end.
#[inline]
pub fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    let chunk = bytes.get(at..)?.first_chunk::<4>()?;
    Some(u32::from_le_bytes(*chunk))
}

/// The `u64` at byte `at`, or `None` past the end.
#[inline]
pub(crate) fn read_u64(bytes: &[u8], at: usize) -> Option<u64> {
    let chunk = bytes.get(at..)?.first_chunk::<8>()?;
    Some(u64::from_le_bytes(*chunk))
}

/// The `u64` at byte `at`, with zeros for the bytes past the end.
#[inline]
pub(crate) fn read_u64_padded(bytes: &[u8], at: usize) -> u64 {
    let Some(rest) = bytes.get(at..) else { return 0 };
    if let Some(chunk) = rest.first_chunk::<8>() {
        return u64::from_le_bytes(*chunk);
    }
    let mut padded = [0u8; 8];
    padded[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(padded)
}

/// The `f64` at byte `at`, or `None` past the end.
#[inline]
pub(crate) fn read_f64(bytes: &[u8], at: usize) -> Option<f64> {
    read_u64(bytes, at).map(f64::from_bits)
}

/// Appends `value`.
#[inline]
pub(crate) fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value`.
#[inline]
pub(crate) fn put_u32(out: &mut Vec<u8>, value: u32) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends `value`.
#[inline]
pub(crate) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_stop_at_the_end() {
        let bytes = [1u8, 2, 3, 4, 5, 6, 7, 8];
        assert_eq!(read_u16(&bytes, 6), Some(0x0807));
        assert_eq!(read_u16(&bytes, 7), None);
        assert_eq!(read_u32(&bytes, 4), Some(0x0807_0605));
        assert_eq!(read_u32(&bytes, 5), None);
        assert_eq!(read_u64(&bytes, 0), Some(0x0807_0605_0403_0201));
        assert_eq!(read_u64(&bytes, usize::MAX), None);
        assert_eq!(read_u64_padded(&bytes, 6), 0x0807);
        assert_eq!(read_u64_padded(&bytes, 8), 0);
        assert_eq!(read_u64_padded(&bytes, usize::MAX), 0);
    }
}
