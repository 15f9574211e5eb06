//! Sets of rules, in the form that joins fastest.

use lamina_engine::bits::{BitsetBuilder, DocSet};

/// A list is used for fewer than one rule in this many.
const LIST_MAX_SHARE: usize = 32;

/// The set of some rules (strictly ascending) out of `rule_count`: a list of few, a bitmap of many. Joining a list of all rules
/// would cost as much as looking at each of them.
pub(super) fn set_of(rules: Vec<u32>, rule_count: u32) -> DocSet {
    if rules.len() * LIST_MAX_SHARE < rule_count as usize {
        return DocSet::from_sorted(rules);
    }
    let mut set = BitsetBuilder::new(rule_count);
    rules.into_iter().for_each(|rule| set.insert(rule));
    set.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rules_are_a_bitmap() {
        let many = set_of((0..75_000).collect(), 75_000);
        assert!(matches!(many, DocSet::Bitset { count: 75_000, .. }));
        let few = set_of(vec![3, 70_000], 75_000);
        assert!(matches!(&few, DocSet::Sorted(rules) if *rules == [3, 70_000]));
        assert!(set_of(Vec::new(), 0).is_empty());
    }
}
