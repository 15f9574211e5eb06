//! Groups of documents with their smallest keys, best first, listed as they are asked for.
//!
//! The scan of a level mostly ends within the first few groups, so a group is a number per document until then, or a list
//! that nobody has read.

use crate::bits::DocSet;
use crate::id::DocId;
use crate::rank::key::Key;
use crate::segment::PrefixUnion;

/// Documents listed at the first pass over the documents, at least; each further pass lists twice as many.
const FIRST_LISTED: usize = 512;
/// Counters of a slot.
const COUNTED_BESIDE: usize = 4;
/// Place of a group that is not listed in this pass; so many groups are at most.
const NOT_WANTED: u16 = u16::MAX;

/// The least costs of a document, packed: documents with the same ones are a group.
pub(crate) type Slot = u16;

/// Disjoint groups of the documents of a level, best first.
pub(crate) enum Groups<'q> {
    /// Listed already, worst first.
    Whole(Vec<(Key, DocSet)>),
    Slots(SlotGroups),
    Union(UnionGroups<'q>),
}

impl<'q> Groups<'q> {
    /// The bases themselves, best first.
    pub(crate) fn whole(mut bases: Vec<(Key, DocSet)>) -> Groups<'q> {
        bases.sort_by_key(|base| std::cmp::Reverse(base.0));
        Groups::Whole(bases)
    }

    /// Each base cut by the slots of its documents. `slot_count`: above all slots; `cost`: what a slot adds to the key
    /// of a base. Cost: two loads per document, now.
    pub(crate) fn cut(
        bases: Vec<(Key, DocSet)>,
        slots: Vec<Slot>,
        slot_count: usize,
        cost: impl Fn(Key, Slot) -> Key,
    ) -> Groups<'q> {
        Groups::Slots(SlotGroups::new(bases, slots, slot_count, cost))
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

    /// The smallest key of all documents that have not been taken.
    pub(crate) fn bound(&self) -> Option<Key> {
        match self {
            Groups::Whole(groups) => groups.last().map(|group| group.0),
            Groups::Slots(groups) => groups.bound(),
            Groups::Union(groups) => groups.left.last().map(|group| group.0),
        }
    }

    /// Takes the best group; it may have no documents.
    pub(crate) fn take(&mut self) -> Option<(Key, DocSet)> {
        match self {
            Groups::Whole(groups) => groups.pop(),
            Groups::Slots(groups) => groups.take(),
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
pub(crate) struct SlotGroups {
    /// Documents with the smallest key of any of them.
    bases: Vec<(Key, DocSet)>,
    /// Per document its slot.
    slots: Vec<Slot>,
    /// What is left: the groups that have documents, worst first.
    left: Vec<Group>,
    /// Groups that are listed already, worst first.
    listed: Vec<(Key, DocSet)>,
    wanted: usize,
}

struct Group {
    bound: Key,
    base: usize,
    slot: Slot,
    len: usize,
}

impl SlotGroups {
    fn new(
        bases: Vec<(Key, DocSet)>,
        slots: Vec<Slot>,
        slot_count: usize,
        cost: impl Fn(Key, Slot) -> Key,
    ) -> SlotGroups {
        let mut left = Vec::new();
        // Neighbours mostly have the same slot: counted in turns, an addition does not wait for the one before it.
        let mut counts = vec![[0u32; COUNTED_BESIDE]; slot_count];
        for (base, (key, docs)) in bases.iter().enumerate() {
            counts.fill([0; COUNTED_BESIDE]);
            docs.for_each(|doc| {
                if let Some(count) = counts.get_mut(usize::from(slots[doc as usize])) {
                    count[doc as usize % COUNTED_BESIDE] += 1;
                }
            });
            let counts = (0..).zip(counts.iter().map(|counts| counts.iter().sum::<u32>()));
            left.extend(counts.filter(|&(_, count)| count > 0).map(|(slot, count)| Group {
                bound: *key + cost(*key, slot),
                base,
                slot,
                len: count as usize,
            }));
        }
        left.sort_by_key(|group| std::cmp::Reverse(group.bound));
        SlotGroups { bases, slots, left, listed: Vec::new(), wanted: FIRST_LISTED }
    }

    fn bound(&self) -> Option<Key> {
        self.listed.last().map(|group| group.0).or(self.left.last().map(|group| group.bound))
    }

    fn take(&mut self) -> Option<(Key, DocSet)> {
        if self.listed.is_empty() {
            self.list();
        }
        self.listed.pop()
    }

    /// Lists the best of the groups that are left, in one pass over their bases.
    fn list(&mut self) {
        let mut count = 0;
        let mut batch = Vec::new();
        while count < self.wanted
            && batch.len() < usize::from(NOT_WANTED)
            && let Some(group) = self.left.pop()
        {
            count += group.len;
            batch.push(group);
        }
        self.wanted *= 2;
        let mut lists: Vec<Vec<DocId>> = batch.iter().map(|group| Vec::with_capacity(group.len)).collect();
        for (base, (_, docs)) in self.bases.iter().enumerate() {
            let Some(last) = batch.iter().filter(|g| g.base == base).map(|g| g.slot).max() else { continue };
            let mut places = vec![NOT_WANTED; usize::from(last) + 1];
            for (place, group) in (0..NOT_WANTED).zip(&batch).filter(|(_, g)| g.base == base) {
                places[usize::from(group.slot)] = place;
            }
            docs.for_each(|doc| {
                let place = places.get(usize::from(self.slots[doc as usize])).copied().unwrap_or(NOT_WANTED);
                if let Some(list) = lists.get_mut(usize::from(place)) {
                    list.push(doc);
                }
            });
        }
        let groups = batch.iter().zip(lists).map(|(group, docs)| (group.bound, DocSet::from_sorted(docs)));
        self.listed = groups.rev().collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_document_comes_once_and_the_best_first(
            slots in prop::collection::vec(0u16..40, 1..3000),
            second in any::<bool>(),
        ) {
            let count = slots.len() as u32;
            let half = count / 2;
            let bases = if second {
                vec![(5, DocSet::from_sorted((0..half).collect())), (3, DocSet::from_sorted((half..count).collect()))]
            } else {
                vec![(5, DocSet::full(count))]
            };
            let mut want: Vec<(Key, DocId)> = Vec::new();
            for (key, docs) in &bases {
                want.extend(docs.iter().map(|doc| (key + Key::from(slots[doc as usize]), doc)));
            }
            want.sort_unstable();
            let mut groups = Groups::cut(bases, slots, 40, |_, slot| Key::from(slot));
            let mut got = Vec::new();
            let mut last = 0;
            while let Some(bound) = groups.bound() {
                let (key, docs) = groups.take().expect("there is a bound");
                prop_assert_eq!(bound, key);
                prop_assert!(bound >= last && !docs.is_empty());
                last = bound;
                got.extend(docs.to_vec().into_iter().map(|doc| (key, doc)));
            }
            prop_assert!(groups.take().is_none());
            got.sort_unstable();
            prop_assert_eq!(got, want);
        }
    }
}
