//! Removing what no root names any more.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Chain, Setback};
use crate::replication::carried::carried_key;
use crate::replication::root::PublishedIndex;
use crate::replication::store::Objects;

/// An object that no root names any more stays for so long: replicas may be fetching it.
pub(in crate::replication) const REMAINS: Duration = Duration::from_secs(3600);
/// A removal that failed may still be carried out for so long.
const ON_ITS_WAY: Duration = Duration::from_secs(24 * 3600);

impl<S: Objects> Chain<S> {
    /// Removes all objects that are not `named`, which are those that the newest root names, for nothing but that. How many.
    ///
    /// # Errors
    /// What the store says, also of a server that publishes meanwhile.
    pub(in crate::replication) async fn remove_all_but(mut self, named: &BTreeSet<String>) -> Result<usize, Setback> {
        let over: Vec<String> = self.unsure.keys().filter(|key| !named.contains(*key)).cloned().collect();
        for key in &over {
            // Before each: what is not named now may be in the next root.
            self.is_confirmed = false;
            self.confirm().await?;
            self.store.remove(key).await?;
        }
        Ok(over.len())
    }

    /// Removes objects that no root has named for a while: what merges and deletions have left, and uploads that a crash cut
    /// short. Does nothing once another server publishes. After a publication in which every index was put.
    ///
    /// # Errors
    /// What the store says.
    pub(in crate::replication) async fn collect(&mut self, now: Instant) -> Result<(), Setback> {
        self.puts.retain(|folder, _| self.last.indexes.iter().any(|index| index.folder == *folder));
        let is_known = |index: &PublishedIndex| {
            // Its name may be another one since.
            let put = self.puts.get(&index.folder);
            let parts = |index: &PublishedIndex| (index.manifest.clone(), index.moved.clone(), index.shared.clone());
            put.is_some_and(|(put, _)| parts(put) == parts(index))
        };
        if !self.last.indexes.iter().all(is_known) {
            return Ok(());
        }
        self.unsure.retain(|_, since| since.is_none_or(|since| now.duration_since(since) < ON_ITS_WAY));
        let carried = self.last.carried.as_deref().map(carried_key);
        let named: BTreeSet<&String> = self.puts.values().flat_map(|(_, keys)| keys).chain(&carried).collect();
        self.gone.retain(|key, _| !named.contains(key));
        let of_others = self.unsure.iter().filter(|(_, since)| since.is_none()).map(|(key, _)| key);
        for key in self.sure.iter().chain(of_others).filter(|key| !named.contains(key)) {
            self.gone.entry(key.clone()).or_insert(now);
        }
        let is_over = |since: &Instant| now.duration_since(*since) >= REMAINS;
        let over: Vec<String> =
            self.gone.iter().filter(|(_, since)| is_over(since)).map(|(key, _)| key.clone()).collect();
        if over.is_empty() {
            return Ok(());
        }
        self.is_confirmed = false;
        self.confirm().await?;
        for key in over {
            // Whatever the answer is, it may vanish from now on.
            self.sure.remove(&key);
            self.unsure.insert(key.clone(), Some(now));
            self.store.remove(&key).await?;
            self.gone.remove(&key);
        }
        Ok(())
    }
}
