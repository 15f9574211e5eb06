//! "I have a word or a prefix: which ordinals are those?"
//!
//! An fst maps each term to its rank in byte order. Because the ranks ascend with the terms, the outputs on the way to
//! a node add up to the smallest rank below it: a prefix is a range of ordinals found by two walks, and the term of an
//! ordinal is found by walking down along the outputs. Good for lookups, prefixes and automata; bad for nothing we
//! need, but building needs the terms in order.
//!
//! The fst crate trusts its bytes, so the checksum of this section is compared when the segment is opened.

mod beginnings;

pub use beginnings::{Beginning, NearBeginnings};

use super::error::Damage;
use super::format::TERM_BYTES_MAX;
use crate::storage::OwnedBytes;
use fst::Streamer;
use fst::raw::{Fst, Node};
use lamina_text::id::{FIRST_TERM, TermOrdinal};
use std::ops::Range;

/// The term dictionary of a segment. Ordinals `FIRST_TERM..FIRST_TERM + len()` follow the byte order of the terms.
pub struct Terms {
    fst: Fst<OwnedBytes>,
}

impl Terms {
    pub fn open(bytes: OwnedBytes) -> Result<Terms, Damage> {
        let fst = Fst::new(bytes).map_err(|_| Damage("the fst has no valid frame"))?;
        if u32::try_from(fst.len()).is_err() {
            return Err(Damage("more terms than ordinals"));
        }
        Ok(Terms { fst })
    }

    /// Number of terms.
    pub fn len(&self) -> u32 {
        self.fst.len() as u32
    }

    /// Reports whether there is no term.
    pub fn is_empty(&self) -> bool {
        self.fst.is_empty()
    }

    /// From the first term to the last, without the reserved ones.
    pub fn ordinals(&self) -> Range<TermOrdinal> {
        FIRST_TERM..FIRST_TERM + self.len()
    }

    /// Ordinal of a term.
    pub fn ordinal(&self, term: &[u8]) -> Option<TermOrdinal> {
        self.fst.get(term).map(|rank| FIRST_TERM + rank.value() as u32)
    }

    /// Ordinals of the terms that start with `prefix` (empty prefix: all).
    pub fn prefix_range(&self, prefix: &[u8]) -> Range<TermOrdinal> {
        self.descend(self.root(), prefix).map_or(FIRST_TERM..FIRST_TERM, |place| self.range(place))
    }

    /// Returns the root of the term dictionary, with which all terms begin.
    pub fn root(&self) -> Beginning {
        Beginning { address: self.fst.root().addr(), rank: 0 }
    }

    /// The place that `bytes` lead to from another one, if any term goes on like that.
    pub fn descend(&self, from: Beginning, bytes: &[u8]) -> Option<Beginning> {
        let mut node = self.fst.node(from.address);
        let mut rank = u64::from(from.rank);
        for &byte in bytes {
            let transition = node.transition(node.find_input(byte)?);
            rank += transition.out.value();
            node = self.fst.node(transition.addr);
        }
        Some(Beginning { address: node.addr(), rank: rank as u32 })
    }

    /// Ordinal of the term that ends at a place.
    pub fn ordinal_at(&self, place: Beginning) -> Option<TermOrdinal> {
        let node = self.fst.node(place.address);
        node.is_final().then(|| FIRST_TERM + place.rank + node.final_output().value() as u32)
    }

    /// Ordinals of the terms that begin like that.
    pub fn range(&self, place: Beginning) -> Range<TermOrdinal> {
        let mut node = self.fst.node(place.address);
        let mut rank = u64::from(place.rank);
        if node.is_empty() && !node.is_final() {
            return FIRST_TERM..FIRST_TERM;
        }
        let first = rank + smallest(&node);
        // The last term below the node: always the last branch.
        while let Some(i) = node.len().checked_sub(1) {
            let transition = node.transition(i);
            rank += transition.out.value();
            node = self.fst.node(transition.addr);
        }
        let last = rank + node.final_output().value();
        FIRST_TERM + first as u32..FIRST_TERM + last as u32 + 1
    }

    /// The term of an ordinal (empty for the reserved ones and past the end).
    pub fn term(&self, ordinal: TermOrdinal) -> Vec<u8> {
        let mut term = Vec::new();
        self.term_into(ordinal, &mut term);
        term
    }

    /// Replaces `out` by the term of an ordinal (empty for the reserved ones and past the end).
    pub fn term_into(&self, ordinal: TermOrdinal, out: &mut Vec<u8>) {
        out.clear();
        let Some(rank) = ordinal.checked_sub(FIRST_TERM).filter(|&rank| rank < self.len()) else { return };
        if !self.fst.get_key_into(u64::from(rank), out) {
            out.clear();
        }
    }

    /// Walks down the dictionary: `step` answers the state after a byte, or `None` to leave out all terms below, and
    /// `found` is called with the state of each term that was reached, in order of the terms. `only` may know of a state
    /// which bytes `step` accepts, at most, ascending: no other one is looked at then.
    pub fn walk<S: Copy, L: AsRef<[u8]>>(
        &self,
        start: S,
        step: impl Fn(S, u8) -> Option<S>,
        only: impl Fn(S) -> Option<L>,
        mut found: impl FnMut(S, &[u8], TermOrdinal),
    ) {
        self.visit(self.root(), start, step, only, |state, term, _, ordinal| {
            if let Some(ordinal) = ordinal {
                found(state, term, ordinal);
            }
        });
    }

    /// The same from any place on, which `start` is the state of, and `visited` is called with each place that was
    /// reached: its state, the bytes from the start on, and the ordinal if a term ends there.
    pub fn visit<S: Copy, L: AsRef<[u8]>>(
        &self,
        from: Beginning,
        start: S,
        step: impl Fn(S, u8) -> Option<S>,
        only: impl Fn(S) -> Option<L>,
        mut visited: impl FnMut(S, &[u8], Beginning, Option<TermOrdinal>),
    ) {
        struct Place<'a, S, L> {
            node: Node<'a>,
            next: usize,
            only: Option<L>,
            state: S,
            rank: u64,
        }
        let mut term = Vec::new();
        let at = |addr, state, rank| Place { node: self.fst.node(addr), next: 0, only: only(state), state, rank };
        let mut path = vec![at(from.address, start, u64::from(from.rank))];
        while let Some(place) = path.last_mut() {
            if place.next == 0 {
                let ends = |node: &Node<'_>| FIRST_TERM + (place.rank + node.final_output().value()) as u32;
                let ordinal = place.node.is_final().then(|| ends(&place.node));
                let beginning = Beginning { address: place.node.addr(), rank: place.rank as u32 };
                visited(place.state, &term, beginning, ordinal);
            }
            let below = loop {
                let transition = match &place.only {
                    None if place.next >= place.node.len() => break None,
                    None => Some(place.next),
                    Some(bytes) => match bytes.as_ref().get(place.next) {
                        Some(&byte) => place.node.find_input(byte),
                        None => break None,
                    },
                };
                place.next += 1;
                if let Some(transition) = transition.map(|transition| place.node.transition(transition))
                    && let Some(state) = step(place.state, transition.inp)
                {
                    break Some((transition, state, place.rank + transition.out.value()));
                }
            };
            match below {
                Some((transition, state, rank)) => {
                    term.push(transition.inp);
                    path.push(at(transition.addr, state, rank));
                }
                None => {
                    term.pop();
                    path.pop();
                }
            }
        }
    }

    /// All terms in order, for merging.
    pub(crate) fn stream(&self) -> fst::raw::Stream<'_> {
        self.fst.stream()
    }

    /// Checks that ranks ascend by one and terms have legal lengths.
    pub(crate) fn validate(&self) -> Result<(), Damage> {
        let mut stream = self.fst.stream();
        let mut expected = 0;
        while let Some((term, rank)) = stream.next() {
            if rank.value() != expected {
                return Err(Damage("ordinals do not follow the order of the terms"));
            }
            if term.is_empty() || term.len() > TERM_BYTES_MAX {
                return Err(Damage("a term has an illegal length"));
            }
            expected += 1;
        }
        if expected == u64::from(self.len()) {
            Ok(())
        } else {
            Err(Damage("the fst has not the number of terms it says"))
        }
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Terms({} terms)", self.len())
    }
}

/// The smallest rank below a node, relative to the outputs on the way to it: the node's own when a term ends here.
fn smallest(node: &Node<'_>) -> u64 {
    if node.is_final() {
        node.final_output().value()
    } else if node.is_empty() {
        0
    } else {
        // Outputs are pushed towards the root, so exactly the branch with the smallest rank carries what is left.
        node.transition(0).out.value()
    }
}

/// Builds the section from terms in strictly ascending byte order.
pub(crate) struct TermsBuilder {
    builder: fst::raw::Builder<Vec<u8>>,
    next: u64,
}

impl TermsBuilder {
    pub(crate) fn new() -> TermsBuilder {
        TermsBuilder { builder: fst::raw::Builder::memory(), next: 0 }
    }

    pub(crate) fn push(&mut self, term: &[u8]) {
        debug_assert!(!term.is_empty());
        debug_assert!(term.len() <= TERM_BYTES_MAX);
        self.builder.insert(term, self.next).expect("terms come in order and writing to memory does not fail");
        self.next += 1;
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.builder.into_inner().expect("writing to memory does not fail")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn build(terms: &BTreeSet<String>) -> Terms {
        let mut builder = TermsBuilder::new();
        terms.iter().for_each(|t| builder.push(t.as_bytes()));
        let terms = Terms::open(OwnedBytes::from(builder.finish())).unwrap();
        terms.validate().unwrap();
        terms
    }

    #[test]
    fn no_terms() {
        let terms = build(&BTreeSet::new());
        assert_eq!(terms.len(), 0);
        assert_eq!(terms.ordinal(b"a"), None);
        assert!(terms.prefix_range(b"").is_empty());
        assert!(terms.prefix_range(b"a").is_empty());
        assert!(terms.term(FIRST_TERM).is_empty());
    }

    proptest! {
        #[test]
        fn ordinals_follow_the_order(words in prop::collection::btree_set("[abc]{1,6}|[a-zé日]{1,4}", 0..200),
                                     prefixes in prop::collection::vec("[abcé]{0,3}", 20)) {
            let terms = build(&words);
            prop_assert_eq!(terms.len() as usize, words.len());
            let list: Vec<&String> = words.iter().collect();
            for (rank, word) in list.iter().enumerate() {
                let ordinal = FIRST_TERM + rank as u32;
                prop_assert_eq!(terms.ordinal(word.as_bytes()), Some(ordinal));
                prop_assert_eq!(terms.term(ordinal), word.as_bytes());
            }
            for prefix in prefixes.iter().chain(list.iter().copied()) {
                let range = terms.prefix_range(prefix.as_bytes());
                let expected: Vec<&String> = list.iter().copied().filter(|w| w.starts_with(prefix.as_str())).collect();
                let found: Vec<Vec<u8>> = range.map(|o| terms.term(o)).collect();
                prop_assert_eq!(found, expected.iter().map(|w| w.as_bytes().to_vec()).collect::<Vec<_>>());
                let mut searched = 0;
                let prefix = prefix.as_bytes();
                let step = |at: usize, byte| prefix.get(at).is_none_or(|&b| b == byte).then_some(at + 1);
                let only = |at: usize| prefix.get(at..=at).filter(|_| at.is_multiple_of(2));
                terms.walk(0, step, only, |at, term, ordinal| {
                    if at >= prefix.len() {
                        assert_eq!((term, at), (&*terms.term(ordinal), term.len()));
                        searched += 1;
                    }
                });
                prop_assert_eq!(searched, expected.len());
            }
        }
    }
}
