//! A number for each document of a segment, in memory that is kept for the next search.
//!
//! An array of this size is fresh memory of the system each time, which it clears page by page: for a million documents
//! that takes longer than filling it.

use parking_lot::Mutex;
use std::ops::{Deref, DerefMut};

/// The least costs of a document, packed: documents with the same ones are a group. At most [`PACKED_BITS`] long; all bits
/// set: nothing is known of the document.
pub(crate) type PackedBound = u16;
/// One bit is left, for the sign of a difference of two bounds.
pub(crate) const PACKED_BITS: u32 = PackedBound::BITS - 1;

/// Arrays that are kept: about as many as searches run at once.
const KEPT_MAX: usize = 4;
/// A longer one is given back.
const KEPT_LEN_MAX: usize = 2 << 20;

static KEPT: Mutex<Vec<Vec<PackedBound>>> = Mutex::new(Vec::new());

/// Bounds by document.
#[derive(Debug)]
pub(crate) struct PackedBounds(Vec<PackedBound>);

impl PackedBounds {
    /// `len` times `bound`.
    pub(crate) fn filled(len: usize, bound: PackedBound) -> PackedBounds {
        let mut bounds = KEPT.lock().pop().unwrap_or_default();
        bounds.clear();
        bounds.resize(len, bound);
        PackedBounds(bounds)
    }
}

impl Drop for PackedBounds {
    fn drop(&mut self) {
        let bounds = std::mem::take(&mut self.0);
        let mut kept = KEPT.lock();
        if bounds.capacity() <= KEPT_LEN_MAX && kept.len() < KEPT_MAX {
            kept.push(bounds);
        }
    }
}

impl Deref for PackedBounds {
    type Target = [PackedBound];

    fn deref(&self) -> &[PackedBound] {
        &self.0
    }
}

impl DerefMut for PackedBounds {
    fn deref_mut(&mut self) -> &mut [PackedBound] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_memory_is_filled_again() {
        for (len, bound) in [(1000, 7), (10, 3), (2000, 0)] {
            assert_eq!(*PackedBounds::filled(len, bound), vec![bound; len]);
        }
        drop(PackedBounds::filled(KEPT_LEN_MAX + 1, 0));
        let many: Vec<PackedBounds> = (0..2 * KEPT_MAX).map(|_| PackedBounds::filled(5, 1)).collect();
        drop(many);
        let kept = KEPT.lock();
        assert!(kept.len() <= KEPT_MAX && kept.iter().all(|bounds| bounds.capacity() <= KEPT_LEN_MAX));
    }
}
