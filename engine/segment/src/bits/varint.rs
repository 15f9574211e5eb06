//! Unsigned integers in groups of seven bits, least significant group first; the high bit says "more follows".

/// Appends `value` in 1 to 10 bytes.
#[inline]
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Reads a varint at `*at` and moves `*at` behind it. `None` when it is cut off or longer than 64 bits.
#[inline(always)]
pub(crate) fn read_varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 { Some(u64::from(first)) } else { read_rest(bytes, at, u64::from(first & 0x7f)) }
}

/// The groups behind the first one, which most numbers do not have.
fn read_rest(bytes: &[u8], at: &mut usize, mut value: u64) -> Option<u64> {
    let mut shift = 7;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if shift == 63 && byte > 1 {
            return None;
        }
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn varints_come_back(values in prop::collection::vec(any::<u64>(), 0..50)) {
            let mut bytes = Vec::new();
            for &value in &values {
                put_varint(&mut bytes, value >> (value % 64));
            }
            let mut at = 0;
            for &value in &values {
                prop_assert_eq!(read_varint(&bytes, &mut at), Some(value >> (value % 64)));
            }
            prop_assert_eq!(at, bytes.len());
            prop_assert_eq!(read_varint(&bytes, &mut at), None);
        }

        #[test]
        fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..20)) {
            let mut at = 0;
            while read_varint(&bytes, &mut at).is_some() {}
            prop_assert!(at <= bytes.len());
        }
    }
}
