//! Numbers that no two writers give, and no two indexes, and which state another one goes on from.
//!
//! Several servers may write an index one after the other, and one that was the writer may have made commits that no other one knows. So
//! the number of a state, and the ids of segments, begin with the epoch of the writer that gives them, of which each taker-over has one of
//! its own: what a number meant once, it means for ever. A server without others has epoch 0.
//!
//! Names come to stand for other indexes, and clients that know a name only keep the numbers. So the states of each index are counted from
//! a number of its own, drawn at random, and those of a copy go on further up.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::snapshot::Snapshot;

/// Bits of what one writer counts, below its epoch.
const COUNT_BITS: u32 = 32;
/// Numbers stay exact where all numbers are double-precision.
const EPOCHS: u64 = 1 << (53 - COUNT_BITS);
/// Numbers above the first one of its writer at which an index may begin. The others are for its commits.
const STARTS: u64 = 1 << 30;
/// Numbers above that of a copy at which it may go on.
const GAPS: u64 = 1 << 24;
/// Writers before the present one that a state remembers: what comes from an earlier one is no state before it for all that is known.
const ANCESTORS_MAX: usize = 32;

/// The first number of the writer of an epoch; `None` for one that no number can hold.
pub fn first_number(epoch: u64) -> Option<u64> {
    (epoch < EPOCHS).then_some(epoch << COUNT_BITS)
}

/// The epoch of the writer that gave a number.
pub fn epoch_of(number: u64) -> u64 {
    number >> COUNT_BITS
}

/// The number behind `last`, of a writer that gives none below `first`.
pub fn next_number(last: u64, first: u64) -> u64 {
    (last + 1).max(first)
}

/// The number of the first state of a new index, of a writer that gives none below `first`.
pub(super) fn start_from(first: u64) -> u64 {
    first + any_below(STARTS)
}

fn any_below(end: u64) -> u64 {
    // Its keys are drawn by the system.
    RandomState::new().hash_one(end) % end
}

/// A number above `last` that a copy of its index goes on from; [`None`] where numbers begin with an epoch, because the next writer of a copy
/// has another one.
pub(super) fn start_of_copy(last: u64) -> Option<u64> {
    (epoch_of(last) == 0).then(|| last + 1 + any_below(GAPS))
}

/// The least number that indexes give: of all of a process, which learns it when it takes over. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct FirstNumber(Arc<AtomicU64>);

impl FirstNumber {
    /// No number below `first` is given from now on.
    pub fn raise(&self, first: u64) {
        self.0.fetch_max(first, Ordering::Relaxed);
    }

    /// Returns the number.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A state of an index, and the states before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// See [`Snapshot::generation`].
    pub generation: u64,
    /// Time at which the index was created, in nanoseconds since 1970.
    pub created_at: u64,
    /// The last generation of each writer before the present one that this state goes on from, ascending.
    pub ancestors: Arc<[u64]>,
}

impl History {
    /// The writers before of a state `generation` that goes on from this one.
    pub fn ancestors_of(&self, generation: u64) -> Arc<[u64]> {
        if epoch_of(generation) == epoch_of(self.generation) {
            return Arc::clone(&self.ancestors);
        }
        let surplus = (self.ancestors.len() + 1).saturating_sub(ANCESTORS_MAX);
        self.ancestors.iter().skip(surplus).copied().chain([self.generation]).collect()
    }

    /// Reports whether this snapshot descends from `before`. `is_published`: `before` is known to be a published
    /// snapshot, so that all those published later descend from it; this decides where the numbers do not.
    pub fn goes_on_from(&self, before: &History, is_published: bool) -> bool {
        if self.generation <= before.generation || self.created_at != before.created_at {
            return false;
        }
        let epoch = epoch_of(before.generation);
        if epoch == epoch_of(self.generation) {
            // Outside of groups, copies of a folder go on with the same numbers.
            return epoch > 0 || is_published;
        }
        let last = self.ancestors.iter().find(|last| epoch_of(**last) == epoch);
        last.map_or(is_published, |last| before.generation <= *last)
    }
}

impl Snapshot {
    /// Returns what it comes from.
    pub fn history(&self) -> History {
        History {
            generation: self.generation,
            created_at: self.created_at_nanos,
            ancestors: Arc::clone(&self.ancestors),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(generation: u64, ancestors: &[u64]) -> History {
        History { generation, created_at: 7, ancestors: ancestors.into() }
    }

    fn first(epoch: u64) -> u64 {
        first_number(epoch).unwrap()
    }

    #[test]
    fn numbers_of_an_epoch_are_below_those_of_the_next_and_exact_as_doubles() {
        assert_eq!((first(0), first(1)), (0, 1 << 32));
        let last = first_number(EPOCHS - 1).unwrap() + u64::from(u32::MAX);
        assert!(last < 1 << 53);
        assert!((last as f64) as u64 == last);
        assert_eq!(first_number(EPOCHS), None);
        assert_eq!(
            (next_number(4, 0), next_number(4, first(3)), next_number(first(3) + 2, first(3))),
            (5, first(3), first(3) + 3)
        );
    }

    #[test]
    fn indexes_begin_with_numbers_of_their_own() {
        let mut starts: Vec<u64> = (0..100).map(|_| start_from(first(3))).collect();
        assert!(starts.iter().all(|start| epoch_of(*start) == 3));
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "{starts:?}");
        assert!(starts[99] - starts[0] > STARTS / 2);
    }

    #[test]
    fn a_state_goes_on_from_what_its_writers_had() {
        let before = state(9, &[]);
        let taken_over = state(first(3), &before.ancestors_of(first(3)));
        assert_eq!(*taken_over.ancestors, [9]);
        assert!(taken_over.goes_on_from(&before, false));
        assert!(taken_over.goes_on_from(&state(6, &[]), false));
        // What the writer before committed and did not publish.
        assert!(!taken_over.goes_on_from(&state(10, &[]), false));
        assert!(!taken_over.goes_on_from(&state(10, &[]), true));
        assert!(!taken_over.goes_on_from(&state(first(2), &[9]), false), "of a writer that it does not know");
        let later = state(first(5) + 7, &state(first(3) + 4, &[9]).ancestors_of(first(5) + 7));
        assert_eq!(*later.ancestors, [9, first(3) + 4]);
        assert!(later.goes_on_from(&taken_over, false));
        assert!(later.goes_on_from(&before, false));
        assert!(!later.goes_on_from(&state(first(3) + 5, &[9]), false));
        assert!(!before.goes_on_from(&taken_over, true), "no state goes back");
        assert!(later.goes_on_from(&state(first(5) + 2, &[9, first(3) + 4]), false), "the same writer");
        let other = History { created_at: 8, ..later.clone() };
        assert!(!other.goes_on_from(&before, true), "another index of the name");
    }

    #[test]
    fn numbers_without_epochs_say_nothing() {
        assert!(!state(12, &[]).goes_on_from(&state(10, &[]), false));
        assert!(state(12, &[]).goes_on_from(&state(10, &[]), true), "but that it was published does");
    }

    #[test]
    fn a_state_remembers_so_many_writers() {
        let mut now = state(0, &[]);
        for epoch in 1..100 {
            now = state(first(epoch), &now.ancestors_of(first(epoch)));
        }
        assert_eq!(now.ancestors.len(), ANCESTORS_MAX);
        assert!(now.goes_on_from(&state(first(98), &[]), false));
        assert!(!now.goes_on_from(&state(first(1), &[]), false));
    }
}
