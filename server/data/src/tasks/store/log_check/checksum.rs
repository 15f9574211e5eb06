//! The checksum of SQLite's write-ahead log, and what follows from it about a single wrong byte.

/// The order of bytes in the words that are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    Little,
    Big,
}

/// Two sums modulo 2^32. Of a pair of words, the first sum grows by the first word and the second sum, the second sum by the
/// second word and the new first sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sum(u32, u32);

impl Sum {
    /// Reads a stored checksum. Its byte order does not depend on that of the summed words.
    pub(super) fn stored(bytes: &[u8]) -> Sum {
        let word = |start: usize| u32::from_be_bytes(bytes[start..start + 4].try_into().expect("four bytes"));
        Sum(word(0), word(4))
    }

    pub(super) fn to_bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.0.to_be_bytes());
        bytes[4..].copy_from_slice(&self.1.to_be_bytes());
        bytes
    }

    /// Returns the number of bytes in which the two checksums differ.
    pub(super) fn differing_bytes(self, other: Sum) -> usize {
        self.to_bytes().iter().zip(other.to_bytes()).filter(|(one, other)| **one != *other).count()
    }

    /// Goes on with `bytes`, a multiple of eight.
    pub(super) fn add(self, order: Order, bytes: &[u8]) -> Sum {
        let Sum(mut first, mut second) = self;
        for pair in bytes.chunks_exact(8) {
            let (one, other) = pair.split_at(4);
            first = first.wrapping_add(word(order, one)).wrapping_add(second);
            second = second.wrapping_add(word(order, other)).wrapping_add(first);
        }
        Sum(first, second)
    }
}

fn word(order: Order, bytes: &[u8]) -> u32 {
    let bytes = bytes.try_into().expect("four bytes");
    match order {
        Order::Little => u32::from_le_bytes(bytes),
        Order::Big => u32::from_be_bytes(bytes),
    }
}

/// The single bytes that would have to be others for `parts` (each a multiple of eight bytes) to sum up from `before` to
/// `wanted`: where each is in all of them, and what it should be. What is added to a word comes back in the sums times a
/// number that depends on its place alone, so all bytes are tried without summing again. A million tries against 64 bits: what
/// was not a single byte is as likely to be taken for one as damage is to go unnoticed. There is one answer unless the highest
/// bits of a word are wrong: of these numbers only the lowest bits matter then, and those come again every few places.
pub(super) fn corrections(before: Sum, order: Order, parts: &[&[u8]], wanted: Sum) -> Vec<(usize, u8)> {
    let sum = parts.iter().fold(before, |sum, part| sum.add(order, part));
    let missing = Sum(wanted.0.wrapping_sub(sum.0), wanted.1.wrapping_sub(sum.1));
    let bytes: Vec<u8> = parts.concat();
    let mut found = Vec::new();
    // What one more in the first and in the second word of a pair adds to the sums at the end; from the last pair on.
    let (mut of_first, mut of_second) = (Sum(1, 1), Sum(0, 1));
    let next = |Sum(first, second): Sum| {
        let first = first.wrapping_add(second);
        Sum(first, second.wrapping_add(first))
    };
    for (pair, chunk) in bytes.chunks_exact(8).enumerate().rev() {
        for (position, &old) in chunk.iter().enumerate() {
            let effect = if position < 4 { of_first } else { of_second };
            let place = position % 4;
            let shift = 8 * if order == Order::Little { place } else { 3 - place };
            let divides = |sum: u32| sum.trailing_zeros() >= shift as u32;
            if !divides(missing.0) || !divides(missing.1) {
                continue;
            }
            let is_right = |new: &u8| {
                let added = (u32::from(*new) << shift).wrapping_sub(u32::from(old) << shift);
                *new != old && effect.0.wrapping_mul(added) == missing.0 && effect.1.wrapping_mul(added) == missing.1
            };
            found.extend((0..=u8::MAX).filter(is_right).map(|new| (8 * pair + position, new)));
        }
        (of_first, of_second) = (next(of_first), next(of_second));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_byte_is_among_those_that_are_found_and_two_are_not_taken_for_one() {
        let whole: Vec<u8> = (0..4104u32).map(|place| (place.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for order in [Order::Little, Order::Big] {
            let before = Sum(7, 99);
            let wanted = before.add(order, &whole);
            for position in (0..whole.len()).step_by(97) {
                let mut damaged = whole.clone();
                damaged[position] ^= 1 << (position % 8);
                let (head, page) = damaged.split_at(8);
                let found = corrections(before, order, &[head, page], wanted);
                assert!(found.contains(&(position, whole[position])), "{order:?}");
                let is_highest = position % 4 == if order == Order::Little { 3 } else { 0 };
                assert!(is_highest || position % 8 == 7 || found.len() == 1, "{order:?}, {position}: {found:?}");
                damaged[(position + 502) % whole.len()] ^= 0x41;
                assert_eq!(corrections(before, order, &[&damaged], wanted), [], "{order:?}, two bytes at {position}");
            }
        }
    }
}
