//! The beginning of a text in a register, to sort many texts without fetching most of them.

/// The first eight bytes as a number that orders like them; zeros stand for missing ones.
#[inline]
pub(crate) fn first_bytes(text: &[u8]) -> u64 {
    if let Some(first) = text.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    // Two overlapping loads instead of a copy of unknown length.
    let length = text.len();
    match (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        (Some(head), Some(tail)) => {
            let (head, tail) = (u64::from(u32::from_be_bytes(*head)), u64::from(u32::from_be_bytes(*tail)));
            head << 32 | tail << (8 * (8 - length))
        }
        _ => text.iter().enumerate().fold(0, |all, (i, &byte)| all | u64::from(byte) << (56 - 8 * i)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_order_like_texts(a in prop::collection::vec(any::<u8>(), 0..12), b in prop::collection::vec(any::<u8>(), 0..12)) {
            let padded = |word: &[u8]| word.iter().copied().chain(std::iter::repeat(0)).take(8).collect::<Vec<u8>>();
            prop_assert_eq!(first_bytes(&a).cmp(&first_bytes(&b)), padded(&a).cmp(&padded(&b)));
        }
    }
}
