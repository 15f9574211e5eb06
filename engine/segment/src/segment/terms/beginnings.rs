//! Places in a dictionary, and a small form for many of them.

use crate::bits::varint::{put_varint, read_varint};

/// A place in the dictionary: what some terms begin with, or a whole term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// Address of the node in the fst.
    pub(super) address: usize,
    /// Sum of the outputs on the way to it.
    pub(super) rank: u32,
}

/// Places in the term dictionary at which terms begin like a word, or like one that is a typo away from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NearBeginnings {
    pub exact: Option<Beginning>,
    /// Six bytes each in a dictionary of a megabyte.
    near: Box<[u8]>,
}

impl NearBeginnings {
    pub fn new(exact: Option<Beginning>, near: &[Beginning]) -> NearBeginnings {
        let mut packed = Vec::with_capacity(8 * near.len());
        for place in near {
            put_varint(&mut packed, place.address as u64);
            put_varint(&mut packed, place.rank.into());
        }
        NearBeginnings { exact, near: packed.into_boxed_slice() }
    }

    /// Returns the beginnings one typo away, in the order they came.
    pub fn near(&self) -> impl Iterator<Item = Beginning> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let address = read_varint(&self.near, &mut at)? as usize;
            Some(Beginning { address, rank: read_varint(&self.near, &mut at)? as u32 })
        })
    }

    /// Returns the memory that it takes for each open segment, in bytes.
    pub fn heap_bytes(&self) -> usize {
        self.near.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_come_back() {
        let place = |address, rank| Beginning { address, rank };
        let near = [place(5, 0), place(usize::MAX, u32::MAX), place(300, 7), place(5, 0)];
        let packed = NearBeginnings::new(Some(near[2]), &near);
        assert_eq!((packed.exact, packed.near().collect()), (Some(near[2]), near.to_vec()));
        assert_eq!(NearBeginnings::default().near().next(), None);
    }
}
