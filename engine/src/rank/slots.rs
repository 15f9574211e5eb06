//! A number for each document of a segment, in memory that is kept for the next search.
//!
//! An array of this size is fresh memory of the system each time, which it clears page by page: for a million documents
//! that takes longer than filling it.

use parking_lot::Mutex;
use std::ops::{Deref, DerefMut};

/// The least costs of a document, packed: documents with the same ones are a group. At most [`SLOT_BITS`] long; all bits
/// set: nothing is known of the document.
pub(crate) type Slot = u16;
/// One bit is left, so that a difference of two slots tells whether it is negative.
pub(crate) const SLOT_BITS: u32 = Slot::BITS - 1;

/// Arrays that are kept: about as many as searches run at once.
const KEPT_MAX: usize = 4;
/// A longer one is given back.
const KEPT_SLOTS_MAX: usize = 2 << 20;

static KEPT: Mutex<Vec<Vec<Slot>>> = Mutex::new(Vec::new());

/// Slots by document.
#[derive(Debug)]
pub(crate) struct Slots(Vec<Slot>);

impl Slots {
    /// `len` times `slot`.
    pub(crate) fn filled(len: usize, slot: Slot) -> Slots {
        let mut slots = KEPT.lock().pop().unwrap_or_default();
        slots.clear();
        slots.resize(len, slot);
        Slots(slots)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        let slots = std::mem::take(&mut self.0);
        let mut kept = KEPT.lock();
        if slots.capacity() <= KEPT_SLOTS_MAX && kept.len() < KEPT_MAX {
            kept.push(slots);
        }
    }
}

impl Deref for Slots {
    type Target = [Slot];

    fn deref(&self) -> &[Slot] {
        &self.0
    }
}

impl DerefMut for Slots {
    fn deref_mut(&mut self) -> &mut [Slot] {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_memory_is_filled_again() {
        for (len, slot) in [(1000, 7), (10, 3), (2000, 0)] {
            assert_eq!(*Slots::filled(len, slot), vec![slot; len]);
        }
        drop(Slots::filled(KEPT_SLOTS_MAX + 1, 0));
        let many: Vec<Slots> = (0..2 * KEPT_MAX).map(|_| Slots::filled(5, 1)).collect();
        drop(many);
        let kept = KEPT.lock();
        assert!(kept.len() <= KEPT_MAX && kept.iter().all(|slots| slots.capacity() <= KEPT_SLOTS_MAX));
    }
}
