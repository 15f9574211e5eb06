//! A list in which some items have places of their own, and the others come between them in their order.

use std::ops::Range;

/// The places of pinned items in a list, ascending. An item comes to the place it was given, or behind the pinned ones that are
/// there already, or right behind the end of the list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PinnedPositions(Vec<usize>);

impl PinnedPositions {
    /// Computes the positions of pinned hits in an endless list, in the ascending order of `positions`.
    pub(crate) fn new(positions: impl Iterator<Item = u32>) -> PinnedPositions {
        let mut places: Vec<usize> = Vec::new();
        for position in positions {
            let free = places.last().map_or(0, |last| last + 1);
            places.push(free.max(position as usize));
        }
        PinnedPositions(places)
    }

    /// The same among `count` others.
    pub(crate) fn among(&self, count: usize) -> PinnedPositions {
        PinnedPositions(
            self.0.iter().enumerate().map(|(number, place)| (*place).min(count.saturating_add(number))).collect(),
        )
    }

    /// Pinned items before a place.
    fn before(&self, place: usize) -> usize {
        self.0.partition_point(|pinned| *pinned < place)
    }

    /// Returns the range of the other hits in a window of an endless list. It has at least one hit if the window has a
    /// position: a window of pinned hits only would not show whether the list reaches so far.
    pub(crate) fn ranked_between(&self, from: usize, to: usize) -> (usize, usize) {
        let to = to.max(from);
        let (first, last) = (from - self.before(from), to - self.before(to));
        (first, if from < to { last.max(first.saturating_add(1)) } else { last })
    }

    /// The place of a pinned item.
    pub(crate) fn of_pin(&self, number: usize) -> usize {
        self.0[number]
    }

    /// The place of one of the others.
    pub(crate) fn of_ranked(&self, rank: usize) -> usize {
        self.0.iter().fold(rank, |place, pinned| if *pinned <= place { place.saturating_add(1) } else { place })
    }

    /// The items of a window: `ranked` are the others that belong there, `pin` makes a pinned one.
    pub(crate) fn joined<T>(&self, window: Range<usize>, ranked: Vec<T>, mut pin: impl FnMut(usize) -> T) -> Vec<T> {
        let (mut place, mut number) = (window.start, self.before(window.start));
        let mut ranked = ranked.into_iter();
        let mut joined = Vec::new();
        while place < window.end {
            if self.0.get(number) == Some(&place) {
                joined.push(pin(number));
                number += 1;
            } else {
                let Some(next) = ranked.next() else { break };
                joined.push(next);
            }
            place += 1;
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Builds the list as the protocol defines it, position by position.
    fn whole_list(positions: &[u32], ranked: usize) -> Vec<Result<usize, usize>> {
        let (mut list, mut pins, mut others) = (Vec::new(), (0..positions.len()).peekable(), 0..ranked);
        loop {
            let is_due = pins.peek().is_some_and(|pin| positions[*pin] as usize <= list.len());
            let next = if is_due { None } else { others.next() };
            match next.map(Ok).or_else(|| pins.next().map(Err)).or_else(|| others.next().map(Ok)) {
                Some(item) => list.push(item),
                None => return list,
            }
        }
    }

    proptest! {
        #[test]
        fn every_window_is_a_part_of_the_whole_list(
            mut positions in prop::collection::vec(0u32..20, 0..6), ranked in 0usize..12, from in 0usize..25, limit in 0usize..25
        ) {
            positions.sort_unstable();
            let whole = whole_list(&positions, ranked);
            let places = PinnedPositions::new(positions.iter().copied());
            let (first, last) = places.ranked_between(from, from + limit);
            let found: Vec<Result<usize, usize>> = (first..last.min(ranked)).map(Ok).collect();
            let places = if found.len() < last - first { places.among(ranked) } else { places };
            let joined = places.joined(from..from + limit, found, Err);
            let expected: Vec<_> = whole.iter().skip(from).take(limit).copied().collect();
            prop_assert_eq!(joined, expected);
            let places = PinnedPositions::new(positions.iter().copied()).among(ranked);
            for (place, item) in whole.iter().enumerate() {
                prop_assert_eq!(place, match item { Ok(rank) => places.of_ranked(*rank), Err(pin) => places.of_pin(*pin) });
            }
        }
    }

    #[test]
    fn a_pin_beyond_the_end_is_in_one_window_only() {
        let places = PinnedPositions::new([17].into_iter());
        let window = |from: usize| {
            let (first, last) = places.ranked_between(from, from + 1);
            let found: Vec<Option<usize>> = (first..last.min(5)).map(Some).collect();
            let places = if found.len() < last - first { places.among(5) } else { places.clone() };
            places.joined(from..from + 1, found, |_| None)
        };
        assert_eq!(window(4), [Some(4)]);
        assert_eq!(window(5), [None]);
        assert_eq!(window(17), []);
    }

    #[test]
    fn windows_without_end_are_no_trouble() {
        let places = PinnedPositions::new([0, 0, u32::MAX].into_iter());
        assert_eq!(places.ranked_between(0, usize::MAX), (0, usize::MAX - 3));
        assert_eq!(places.among(1).joined(0..usize::MAX, vec!['a'], |_| 'p'), ['p', 'p', 'a', 'p']);
    }
}
