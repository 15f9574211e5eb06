//! The rules that name numbers of a field, by number: those of a range are joined from few sets, however many there are.

use std::ops::Range;

use lamina_engine::bits::{BitsetBuilder, DocSet};

use super::sets::set_of;

/// So many sets of a level are one of the next.
const FAN_OUT: usize = 16;

/// Numbers, each with the rule that names it.
#[derive(Debug, Default)]
pub(super) struct Numbers {
    /// Sorted by number; a rule is there with each of its numbers.
    all: Vec<(f64, u32)>,
    /// The rules of each [`FAN_OUT`] numbers, of each [`FAN_OUT`] of these sets, and so on.
    levels: Vec<Vec<DocSet>>,
}

impl Numbers {
    /// `rule_count`: the number of rules there are.
    pub(super) fn new(mut all: Vec<(f64, u32)>, rule_count: u32) -> Numbers {
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let mut levels: Vec<Vec<DocSet>> = Vec::new();
        let mut size = FAN_OUT;
        while size < all.len() {
            let set = |numbers: &[(f64, u32)]| {
                let mut rules: Vec<u32> = numbers.iter().map(|(_, rule)| *rule).collect();
                rules.sort_unstable();
                rules.dedup();
                set_of(rules, rule_count)
            };
            levels.push(all.chunks(size).map(set).collect());
            size *= FAN_OUT;
        }
        Numbers { all, levels }
    }

    /// The place of the first number for which `is_before` is false; it is true for those before.
    pub(super) fn place(&self, is_before: impl Fn(f64) -> bool) -> usize {
        self.all.partition_point(|(number, _)| is_before(*number))
    }

    /// Adds the rules of the numbers between two places. Cost: joining thirty sets a level at most.
    pub(super) fn add(&self, places: Range<usize>, found: &mut BitsetBuilder) {
        let Range { mut start, mut end } = places;
        for level in 0..=self.levels.len() {
            let mut add = |place: usize| match level.checked_sub(1) {
                None => found.insert(self.all[place].1),
                Some(level) => found.insert_set(&self.levels[level][place]),
            };
            let is_last = level == self.levels.len();
            while start < end && (is_last || !start.is_multiple_of(FAN_OUT)) {
                add(start);
                start += 1;
            }
            while start < end && !end.is_multiple_of(FAN_OUT) {
                end -= 1;
                add(end);
            }
            (start, end) = (start / FAN_OUT, end / FAN_OUT);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_rules_of_their_numbers() {
        for count in [0, 1, 15, 16, 17, 256, 300, 5_000] {
            // Rules name several numbers, and several name the same.
            let all: Vec<(f64, u32)> = (0..count).map(|n| (f64::from(n * 7 % 1_013), n % 701)).collect();
            let numbers = Numbers::new(all.clone(), 701);
            for (from, to) in [(0, 2_000), (3, 900), (500, 517), (17, 18), (0, 16), (40, 40), (900, 30)] {
                let (from, to) = (f64::from(from), f64::from(to));
                let places = numbers.place(|number| number < from)..numbers.place(|number| number <= to);
                let mut found = BitsetBuilder::new(701);
                numbers.add(places, &mut found);
                let mut expected: Vec<u32> =
                    all.iter().filter(|(number, _)| (from..=to).contains(number)).map(|(_, rule)| *rule).collect();
                expected.sort_unstable();
                expected.dedup();
                assert_eq!(found.finish().to_vec(), expected, "{count} numbers, from {from} to {to}");
            }
        }
    }
}
