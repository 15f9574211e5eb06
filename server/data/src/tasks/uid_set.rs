//! A set of task uids, small even when it holds a million of them.

use roaring::RoaringBitmap;
use serde::{Deserialize, Serialize};

/// Sorted, disjoint, non-adjacent ranges, both ends included: what a filter matched is nearly always a few runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UidSet(Vec<(u32, u32)>);

impl UidSet {
    /// Number of uids.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|&(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Reports whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether `uid` is a member. Logarithmic in the number of runs.
    pub fn contains(&self, uid: u32) -> bool {
        let run = self.0.partition_point(|&(_, last)| last < uid);
        self.0.get(run).is_some_and(|&(first, _)| first <= uid)
    }

    /// The runs, ascending, both ends included.
    pub fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied()
    }

    /// The portable bytes of a Roaring bitmap.
    pub(crate) fn to_bitmap(&self) -> Vec<u8> {
        let mut bitmap = RoaringBitmap::new();
        for (first, last) in self.runs() {
            bitmap.insert_range(first..=last);
        }
        let mut bytes = Vec::with_capacity(bitmap.serialized_size());
        bitmap.serialize_into(&mut bytes).expect("memory takes all bytes");
        bytes
    }

    /// From the portable bytes of a Roaring bitmap. Cost: the bytes, however many uids they stand for.
    pub fn from_bitmap(bytes: &[u8]) -> Option<UidSet> {
        let bitmap = RoaringBitmap::deserialize_from(bytes).ok()?;
        let (mut runs, mut uids) = (Vec::new(), bitmap.iter());
        while let Some(run) = uids.next_range() {
            runs.push(run.into_inner());
        }
        Some(UidSet(runs))
    }
}

impl FromIterator<u32> for UidSet {
    /// From ascending uids.
    fn from_iter<I: IntoIterator<Item = u32>>(uids: I) -> UidSet {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for uid in uids {
            match runs.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(uid) => *last = uid,
                Some((_, last)) => {
                    debug_assert!(*last < uid, "uids ascend");
                    runs.push((uid, uid));
                }
                None => runs.push((uid, uid)),
            }
        }
        UidSet(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bitmaps_go_both_ways() {
        let one: UidSet = [0].into_iter().collect();
        let bytes = [58, 48, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, 0, 0];
        assert_eq!((one.to_bitmap(), UidSet::from_bitmap(&bytes)), (bytes.to_vec(), Some(one)));
        let set: UidSet = [0, 1, 2, 5, 65_535, 65_536, 70_000].into_iter().collect();
        assert_eq!(UidSet::from_bitmap(&set.to_bitmap()), Some(set));
        assert_eq!(UidSet::from_bitmap(&UidSet::default().to_bitmap()), Some(UidSet::default()));
        assert_eq!(UidSet::from_bitmap(b"no bitmap"), None);
    }

    #[test]
    fn runs_are_joined_and_searched() {
        let set: UidSet = [0, 1, 2, 5, 7, 8].into_iter().collect();
        assert_eq!(set.runs().collect::<Vec<_>>(), [(0, 2), (5, 5), (7, 8)]);
        assert_eq!(set.len(), 6);
        let members: Vec<u32> = (0..10).filter(|&uid| set.contains(uid)).collect();
        assert_eq!(members, [0, 1, 2, 5, 7, 8]);
        assert!(UidSet::default().is_empty());
        assert!(!UidSet::default().contains(0));
    }
}
