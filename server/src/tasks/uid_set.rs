//! A set of task uids, small even when it holds a million of them.

use serde::{Deserialize, Serialize};

/// Sorted, disjoint, non-adjacent ranges, both ends included: what a filter matched is nearly always a few runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UidSet(Vec<(u32, u32)>);

impl UidSet {
    /// Number of uids.
    pub(crate) fn len(&self) -> u64 {
        self.0.iter().map(|&(first, last)| u64::from(last - first) + 1).sum()
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `uid` is a member. Logarithmic in the number of runs.
    pub(crate) fn contains(&self, uid: u32) -> bool {
        let run = self.0.partition_point(|&(_, last)| last < uid);
        self.0.get(run).is_some_and(|&(first, _)| first <= uid)
    }

    /// The runs, ascending, both ends included.
    pub(crate) fn runs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().copied()
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
    fn runs_are_joined_and_searched() {
        let set: UidSet = [0, 1, 2, 5, 7, 8].into_iter().collect();
        assert_eq!(set.runs().collect::<Vec<_>>(), [(0, 2), (5, 5), (7, 8)]);
        assert_eq!(set.len(), 6);
        let members: Vec<u32> = (0..10).filter(|&uid| set.contains(uid)).collect();
        assert_eq!(members, [0, 1, 2, 5, 7, 8]);
        assert!(UidSet::default().is_empty() && !UidSet::default().contains(0));
    }
}
