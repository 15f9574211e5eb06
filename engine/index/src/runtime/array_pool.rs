//! Arrays with a number for each document of a segment, kept for the next search.
//!
//! An array of this size is fresh memory of the system each time, which it clears page by page: for a million documents
//! that takes longer than filling it.

use parking_lot::Mutex;

/// Arrays that are kept: about as many as searches run at once.
const KEPT_MAX: usize = 4;
/// A longer one is given back.
const KEPT_LEN_MAX: usize = 2 << 20;

/// At most four arrays of at most 4 MiB each.
#[derive(Debug, Default)]
pub struct ArrayPool(Mutex<Vec<Vec<u16>>>);

impl ArrayPool {
    /// `len` times `number`, in memory that was used before if there is any.
    pub fn take(&self, len: usize, number: u16) -> Vec<u16> {
        let mut array = self.0.lock().pop().unwrap_or_default();
        array.clear();
        array.resize(len, number);
        array
    }

    /// Keeps the memory of an array, if there is room for it.
    pub fn give_back(&self, array: Vec<u16>) {
        let mut kept = self.0.lock();
        if array.capacity() <= KEPT_LEN_MAX && kept.len() < KEPT_MAX {
            kept.push(array);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_memory_is_filled_again() {
        let pool = ArrayPool::default();
        for (len, number) in [(1000, 7), (10, 3), (2000, 0)] {
            let array = pool.take(len, number);
            assert_eq!(array, vec![number; len]);
            pool.give_back(array);
        }
        assert!(pool.take(1, 1).capacity() >= 2000, "memory is used again");
        pool.give_back(vec![0; KEPT_LEN_MAX + 1]);
        (0..2 * KEPT_MAX).for_each(|_| pool.give_back(vec![1; 5]));
        let kept = pool.0.lock();
        assert_eq!(kept.len(), KEPT_MAX);
        assert!(kept.iter().all(|array| array.capacity() <= KEPT_LEN_MAX));
    }
}
