//! Groups of documents with their smallest keys, best first, listed as they are asked for.
//!
//! The scan of a level mostly ends within the first few groups, so a group is a number per document until then, or a list
//! that were not read.

use lamina_segment::bits::DocSet;
use lamina_segment::bits::kernels::next_within;
use lamina_segment::segment::PrefixUnion;
use lamina_text::id::DocId;

use crate::rank::key::Key;
use crate::rank::packed_bounds::{PACKED_BITS, PackedBound, PackedBounds};

/// Documents listed at the first pass over the documents, at least.
const FIRST_LISTED: usize = 512;
/// Each further pass lists so many times as many.
const PASS_GROWTH: usize = 4;

/// Documents of a level, with the least of their keys.
pub(crate) struct Base {
    /// The smallest key of any of them.
    pub(crate) bound: Key,
    pub(crate) docs: DocSet,
    /// The bits of a bound that count for them.
    pub(crate) mask: PackedBound,
}

/// Disjoint groups of the documents of a level, best first.
pub(crate) enum Groups<'q> {
    /// Listed already, worst first.
    Whole(Vec<(Key, DocSet)>),
    Packed(PackedGroups<'q>),
    Union(UnionGroups<'q>),
}

impl<'q> Groups<'q> {
    /// The bases themselves, best first.
    pub(crate) fn whole(mut bases: Vec<(Key, DocSet)>) -> Groups<'q> {
        bases.sort_by_key(|base| std::cmp::Reverse(base.0));
        Groups::Whole(bases)
    }

    /// Each base cut by the bounds of its documents. `key`: what a bound adds to the key of a base; a larger one adds no
    /// less. `in_pieces`: a group may come in several parts, documents ascending, so that not all of a large one has to be
    /// listed. Cost: none per document, now.
    pub(crate) fn cut(
        bases: Vec<Base>,
        bounds: PackedBounds,
        in_pieces: bool,
        key: impl Fn(PackedBound) -> Key + 'q,
    ) -> Groups<'q> {
        Groups::Packed(PackedGroups::new(bases, bounds, in_pieces, Box::new(key)))
    }

    /// Each base cut as the documents of a stored union are, which has all of them. `key`: the smallest key of the
    /// documents of a base with a field set code and zone. Cost: none per document, now.
    pub(crate) fn of_union(
        bases: Vec<(Key, DocSet)>,
        union: PrefixUnion<'q>,
        key: impl Fn(Key, u32, u8) -> Key,
    ) -> Groups<'q> {
        let mut left = Vec::new();
        for (base, (bound, docs)) in bases.iter().enumerate().filter(|(_, (_, docs))| !docs.is_empty()) {
            let groups = union.groups().enumerate();
            left.extend(groups.map(|(group, (code, zone))| (key(*bound, code, zone), base, group)));
            debug_assert_eq!(docs.and_len(&union.docs()), docs.len(), "the union has all documents");
        }
        left.sort_by_key(|&(bound, ..)| std::cmp::Reverse(bound));
        Groups::Union(UnionGroups { bases, union, left })
    }

    /// The smallest key of all documents that have not been taken, and a document that none of those with this key
    /// comes before.
    pub(crate) fn bound(&self) -> Option<(Key, DocId)> {
        match self {
            Groups::Whole(groups) => groups.last().map(|(bound, _)| (*bound, 0)),
            Groups::Packed(groups) => groups.bound(),
            Groups::Union(groups) => groups.left.last().map(|group| (group.0, 0)),
        }
    }

    /// Takes the best group; it may have no documents. `admits`: whether a smallest key is of interest, of which no
    /// larger one is when a smaller one is not. What is not may not come at all, now or later.
    pub(crate) fn take(&mut self, admits: impl Fn(Key) -> bool) -> Option<(Key, DocSet)> {
        match self {
            Groups::Whole(groups) => groups.pop(),
            Groups::Packed(groups) => groups.take(admits),
            Groups::Union(groups) => groups.take(),
        }
    }
}

/// Groups that a stored union has.
pub(crate) struct UnionGroups<'q> {
    bases: Vec<(Key, DocSet)>,
    union: PrefixUnion<'q>,
    /// Smallest key, base and group of the union, worst first.
    left: Vec<(Key, usize, usize)>,
}

impl UnionGroups<'_> {
    fn take(&mut self) -> Option<(Key, DocSet)> {
        let (bound, base, group) = self.left.pop()?;
        Some((bound, self.union.group_docs(group).and(&self.bases[base].1)))
    }
}

/// Groups by a number per document.
pub(crate) struct PackedGroups<'q> {
    bases: Vec<Unlisted>,
    bounds: PackedBounds,
    key: Box<dyn Fn(PackedBound) -> Key + 'q>,
    in_pieces: bool,
    /// Groups that are listed already, worst first.
    listed: Vec<(Key, DocSet)>,
    wanted: usize,
}

/// A base and where the next pass over it begins; `None` when all of it has been listed.
struct Unlisted {
    base: Base,
    next: Option<Start>,
}

/// Everything before this has been listed: smaller bounds, and with this bound the documents before this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    packed: PackedBound,
    doc: DocId,
}

impl<'q> PackedGroups<'q> {
    fn new(
        bases: Vec<Base>,
        bounds: PackedBounds,
        in_pieces: bool,
        key: Box<dyn Fn(PackedBound) -> Key + 'q>,
    ) -> PackedGroups<'q> {
        let bases = bases.into_iter().filter(|base| !base.docs.is_empty());
        let bases = bases.map(|base| Unlisted { base, next: Some(Start { packed: 0, doc: 0 }) }).collect();
        PackedGroups { bases, bounds, key, in_pieces, listed: Vec::new(), wanted: FIRST_LISTED }
    }

    /// The base whose unlisted documents may be best, with their bound.
    fn best_unlisted(&self) -> Option<(Key, DocId, usize)> {
        let next = |(index, unlisted): (usize, &Unlisted)| {
            let Start { packed, doc } = unlisted.next?;
            let key = (self.key)(packed);
            // Nothing is known of the documents of other bounds with the same key.
            let is_only = next_larger(packed, unlisted.base.mask).is_none_or(|larger| (self.key)(larger) > key);
            Some((unlisted.base.bound + key, if is_only { doc } else { 0 }, index))
        };
        self.bases.iter().enumerate().filter_map(next).min()
    }

    fn bound(&self) -> Option<(Key, DocId)> {
        let least = self.listed.last().map_or(0, |(bound, _)| *bound);
        let best = self.listed.iter().rev().take_while(|(bound, _)| *bound == least);
        let listed = best.map(|(bound, docs)| (*bound, docs.first().unwrap_or(0))).min();
        let unlisted = self.best_unlisted().map(|(bound, doc, _)| (bound, doc));
        listed.into_iter().chain(unlisted).min()
    }

    fn take(&mut self, admits: impl Fn(Key) -> bool) -> Option<(Key, DocSet)> {
        while let Some((bound, _, base)) = self.best_unlisted()
            && self.listed.last().is_none_or(|&(listed, _)| bound < listed)
        {
            self.list(base, &admits);
        }
        self.listed.pop()
    }

    /// Lists the best documents that are left of a base, in one pass over it.
    fn list(&mut self, index: usize, admits: impl Fn(Key) -> bool) {
        let Unlisted { base, next } = &mut self.bases[index];
        let Some(start) = *next else { return };
        let bound = base.bound;
        if self.in_pieces {
            let worst = largest(base.mask, |packed| admits(bound + (self.key)(packed)));
            let Some(limit) = worst.filter(|&worst| worst >= start.packed) else {
                *next = None;
                return;
            };
            let mut best = Best::new(start, limit, self.wanted);
            best.select(base, &self.bounds);
            *next = best.left;
            self.wanted *= PASS_GROWTH;
            best.found.sort_by_key(|found| found.0);
            debug_assert!(best.found.is_sorted_by_key(|found| (self.key)(found.0)), "bounds order like keys");
            let groups = best.found.chunk_by(|a, b| a.0 == b.0).map(|group| {
                let docs = group.iter().map(|found| found.1).collect();
                (bound + (self.key)(group[0].0), DocSet::from_sorted(docs))
            });
            self.listed.extend(groups);
        } else {
            let (packed, docs) = least_group(base, &self.bounds, start.packed);
            *next = next_larger(packed, base.mask).map(|packed| Start { packed, doc: 0 });
            if !docs.is_empty() {
                self.listed.push((bound + (self.key)(packed), docs));
            }
        }
        self.listed.sort_by_key(|group| std::cmp::Reverse(group.0));
    }
}

/// The next larger bound that has only bits of the mask.
fn next_larger(packed: PackedBound, mask: PackedBound) -> Option<PackedBound> {
    let larger = (packed | !mask).wrapping_add(1) & mask;
    (larger > packed).then_some(larger)
}

/// The largest bound within a mask that `is_within` accepts, if it accepts any; it accepts all smaller ones as well.
fn largest(mask: PackedBound, is_within: impl Fn(PackedBound) -> bool) -> Option<PackedBound> {
    if !is_within(0) {
        return None;
    }
    let bits = (0..PACKED_BITS).rev().map(|bit| 1 << bit & mask).filter(|&bit| bit != 0);
    Some(bits.fold(0, |packed, bit| if is_within(packed | bit) { packed | bit } else { packed }))
}

/// Calls `f` with the bounds and documents of a base, ascending by document, that are not before `start` and at most the
/// limit that the call before answered, first `limit`, and maybe with others; ends with an answer of `None`.
fn for_each_within(
    base: &Base,
    bounds: &[PackedBound],
    Start { packed: start, doc: first }: Start,
    mut limit: PackedBound,
    mut f: impl FnMut(PackedBound, DocId) -> Option<PackedBound>,
) {
    let packed = |doc: DocId| bounds.get(doc as usize).map_or(PackedBound::MAX, |packed| *packed) & base.mask;
    let DocSet::Bitset { words, .. } = &base.docs else {
        base.docs.iter().try_for_each(|doc| f(packed(doc), doc).map(|_| ()));
        return;
    };
    // With a single bound left, what is before the first document was listed.
    let mut at = if limit == start { (first / u64::BITS) as usize } else { 0 };
    loop {
        at = next_within(words, bounds, at, [base.mask, start, limit - start]);
        let Some(&word) = words.get(at) else { return };
        let mut bits = word;
        while bits != 0 {
            let doc = at as DocId * u64::BITS + bits.trailing_zeros();
            bits &= bits - 1;
            match f(packed(doc), doc) {
                Some(lower) => limit = lower,
                None => return,
            }
        }
        at += 1;
    }
}

/// The least bound of a base from `start` on, and all documents that have it; the largest one without any.
fn least_group(base: &Base, bounds: &[PackedBound], start: PackedBound) -> (PackedBound, DocSet) {
    let mut least = base.mask;
    let mut found = Vec::new();
    for_each_within(base, bounds, Start { packed: start, doc: 0 }, PackedBound::MAX >> 1, |packed, doc| {
        if (start..=least).contains(&packed) {
            if packed < least {
                found.clear();
                least = packed;
            }
            found.push(doc);
        }
        Some(least)
    });
    // Whether a document belongs to a large group is asked often.
    (least, DocSet::from_sorted(found).into_bitset(bounds.len() as u32))
}

/// The documents of the smallest bounds, found in one pass: as soon as there are enough, only better ones count, and later
/// ones of the worst bound are left for another pass.
struct Best {
    start: Start,
    wanted: usize,
    /// Bounds and documents, ascending by document.
    found: Vec<(PackedBound, DocId)>,
    /// `found` is cut to the best when it gets this long: by then so many are better than the worst at the last cut that it
    /// is the worst no more.
    room: usize,
    /// Bounds above this do not count any more.
    limit: PackedBound,
    /// Start of the documents that were left out.
    left: Option<Start>,
}

impl Best {
    /// `limit`: the worst bound that counts.
    fn new(start: Start, limit: PackedBound, wanted: usize) -> Best {
        Best { start, wanted, found: Vec::new(), room: 2 * wanted, limit, left: None }
    }

    /// Looks at the documents of a base from the start on.
    fn select(&mut self, base: &Base, bounds: &[PackedBound]) {
        for_each_within(base, bounds, self.start, self.limit, |packed, doc| self.offer(packed, doc));
    }

    /// Takes a document if it is among the best so far. Answers the worst bound that still counts, if any does.
    #[inline]
    fn offer(&mut self, packed: PackedBound, doc: DocId) -> Option<PackedBound> {
        let is_listed = packed < self.start.packed || (packed == self.start.packed && doc < self.start.doc);
        if packed <= self.limit && !is_listed {
            self.found.push((packed, doc));
            if self.found.len() >= self.room {
                return self.cut(doc);
            }
        }
        Some(self.limit)
    }

    /// Leaves out all but the best, after `last` was found. Answers the worst bound that still counts, if any does.
    fn cut(&mut self, last: DocId) -> Option<PackedBound> {
        let mut bounds: Vec<PackedBound> = self.found.iter().map(|found| found.0).collect();
        let (_, &mut worst, _) = bounds.select_nth_unstable(self.wanted - 1);
        self.found.retain(|found| found.0 <= worst);
        self.room = self.found.len() + self.wanted;
        self.left = Some(Start { packed: worst, doc: last + 1 });
        self.limit = worst.checked_sub(1).filter(|&limit| limit >= self.start.packed)?;
        Some(self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_document_comes_once_and_the_best_first(
            bounds in prop::collection::vec(prop_oneof![0u16..4, 0u16..40, Just(PackedBound::MAX)], 1..6000),
            (second, in_pieces) in any::<(bool, bool)>(),
            (mask, stride) in (prop_oneof![Just(63u16), Just(62), Just(60), Just(45), Just(31), Just(28)], 1usize..3),
            // Each group taken lowers the bar to so much above its key.
            slack in prop_oneof![Just(Key::MAX), 0..40u128],
            // So many bounds in a row have one key.
            packed_per_key in 1..4u128,
        ) {
            let key = move |packed: PackedBound| Key::from(packed) / packed_per_key;
            let count = bounds.len() as u32;
            let half = count / 2;
            let bases = if second {
                vec![(5, DocSet::from_sorted((0..half).collect())), (3, DocSet::from_sorted((half..count).step_by(stride).collect()))]
            } else {
                vec![(5, DocSet::full(count))]
            };
            let mut want: Vec<(Key, DocId)> = Vec::new();
            for (bound, docs) in &bases {
                want.extend(docs.iter().map(|doc| (bound + key(bounds[doc as usize] & mask), doc)));
            }
            want.sort_unstable();
            let bases = bases.into_iter().map(|(bound, docs)| Base { bound, docs, mask }).collect();
            let mut numbers = PackedBounds::filled(&std::sync::Arc::default(), bounds.len(), 0);
            numbers.copy_from_slice(&bounds);
            let mut groups = Groups::cut(bases, numbers, in_pieces, key);
            let mut got = Vec::new();
            let (mut last, mut bar) = (0, Key::MAX);
            // By key: no document comes before this one any more.
            let mut promised: std::collections::BTreeMap<Key, DocId> = std::collections::BTreeMap::new();
            while let Some((bound, first)) = groups.bound() {
                let Some((key, docs)) = groups.take(|key| key <= bar) else { break };
                prop_assert!(bound <= key);
                prop_assert!(bound >= last);
                prop_assert!(!docs.is_empty());
                let promise = promised.entry(bound).or_default();
                *promise = first.max(*promise);
                prop_assert!(docs.first() >= promised.get(&key).copied());
                last = bound;
                bar = bar.min(key.saturating_add(slack));
                got.extend(docs.to_vec().into_iter().map(|doc| (key, doc)));
            }
            prop_assert!(groups.take(|key| key <= bar).is_none());
            // What is worse than the bar comes or not.
            let counts = |all: Vec<(Key, DocId)>| all.into_iter().filter(|&(key, _)| key <= bar).collect::<Vec<_>>();
            prop_assert!(got.is_sorted_by(|a, b| a.0 <= b.0));
            got.sort_unstable();
            prop_assert_eq!(counts(got), counts(want));
        }
    }
}
