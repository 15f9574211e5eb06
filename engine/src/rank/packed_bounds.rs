//! The least costs of each document of a segment, packed.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use lamina_index::runtime::ArrayPool;

/// The least costs of a document, packed: documents with the same ones are a group. At most [`PACKED_BITS`] long; all bits
/// set: nothing is known of the document.
pub(crate) type PackedBound = u16;
/// One bit is left, for the sign of a difference of two bounds.
pub(crate) const PACKED_BITS: u32 = PackedBound::BITS - 1;

/// Bounds by document, in memory that is kept for the next search.
#[derive(Debug)]
pub(crate) struct PackedBounds {
    bounds: Vec<PackedBound>,
    pool: Arc<ArrayPool>,
}

impl PackedBounds {
    /// `len` times `bound`.
    pub(crate) fn filled(pool: &Arc<ArrayPool>, len: usize, bound: PackedBound) -> PackedBounds {
        PackedBounds { bounds: pool.take(len, bound), pool: Arc::clone(pool) }
    }
}

impl Drop for PackedBounds {
    fn drop(&mut self) {
        self.pool.give_back(std::mem::take(&mut self.bounds));
    }
}

impl Deref for PackedBounds {
    type Target = [PackedBound];

    fn deref(&self) -> &[PackedBound] {
        &self.bounds
    }
}

impl DerefMut for PackedBounds {
    fn deref_mut(&mut self) -> &mut [PackedBound] {
        &mut self.bounds
    }
}
