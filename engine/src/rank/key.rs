//! The ranking key: the costs of the graph rules packed into one integer in the order of the rules.
//!
//! All graph rules are sums over the nodes and edges of a path, and a document takes the path that is best by the
//! first rule, then by the second, and so on. Packed most significant rule first, "add the costs of a step" and "keep
//! the better path" are one addition and one comparison, so the best path is an ordinary shortest path.

use crate::rank::rules::GraphRule;

/// Packed costs; smaller is better.
pub(crate) type Key = u128;

/// Position of the cost of one rule in a [`Key`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slice {
    shift: u32,
    bits: u32,
}

impl Slice {
    /// `cost` at this rule's place.
    pub(crate) fn put(self, cost: u32) -> Key {
        debug_assert!(u64::from(cost) < 1 << self.bits, "cost {cost} in {} bits", self.bits);
        Key::from(cost) << self.shift
    }

    /// The cost of this rule.
    pub(crate) fn get(self, key: Key) -> u32 {
        ((key >> self.shift) & ((1 << self.bits) - 1)) as u32
    }

    /// The bits of this rule.
    pub(crate) fn mask(self) -> Key {
        ((1 << self.bits) - 1) << self.shift
    }
}

/// Places of all graph rules of a query, most significant first.
#[derive(Clone, Debug, Default)]
pub(crate) struct KeyLayout {
    slices: Vec<(GraphRule, Slice)>,
}

impl KeyLayout {
    /// `rules` in their order, each with the largest cost it can reach.
    pub(crate) fn new(rules: &[(GraphRule, u32)]) -> KeyLayout {
        let mut shift = 0;
        let mut slices: Vec<_> = rules
            .iter()
            .rev()
            .map(|&(rule, max)| {
                let bits = (u32::BITS - max.leading_zeros()).max(1);
                let slice = Slice { shift, bits };
                shift += bits;
                (rule, slice)
            })
            .collect();
        assert!(shift <= Key::BITS, "bounded by the number of terms and fields");
        slices.reverse();
        KeyLayout { slices }
    }

    /// The rules whose places lie in `mask`, where they are.
    pub(crate) fn within(&self, mask: Key) -> KeyLayout {
        KeyLayout { slices: self.slices.iter().copied().filter(|(_, slice)| slice.mask() & !mask == 0).collect() }
    }

    /// Place of a rule, if it is one of the index's rules.
    pub(crate) fn slice(&self, rule: GraphRule) -> Option<Slice> {
        self.slices.iter().find(|(r, _)| *r == rule).map(|(_, s)| *s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_rules_dominate() {
        let layout = KeyLayout::new(&[(GraphRule::Words, 3), (GraphRule::Typo, 300), (GraphRule::Proximity, 0)]);
        let (w, t, p) = (
            layout.slice(GraphRule::Words).unwrap(),
            layout.slice(GraphRule::Typo).unwrap(),
            layout.slice(GraphRule::Proximity).unwrap(),
        );
        assert!(w.put(1) > t.put(300) + p.put(0));
        let key = w.put(2) + t.put(299) + p.put(0);
        assert_eq!((w.get(key), t.get(key), p.get(key)), (2, 299, 0));
        assert_eq!(layout.slice(GraphRule::WordPosition), None);
        assert_eq!(w.mask() & t.mask(), 0);
    }
}
