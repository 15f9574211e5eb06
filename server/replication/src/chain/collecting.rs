//! Removing what no root names any more.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::{Chain, Setback};
use crate::root::PublishedIndex;
use crate::shared_state::shared_state_key;
use crate::store::Objects;

/// An object that no root names any more stays for so long: replicas may be fetching it.
pub(crate) const REMAINS: Duration = Duration::from_secs(3600);
/// A removal that failed may still be carried out for so long.
const ON_ITS_WAY: Duration = Duration::from_secs(24 * 3600);

impl<S: Objects> Chain<S> {
    /// Removes all objects that are not `named`, which are those that the newest root names, for nothing but that. How many.
    ///
    /// # Errors
    /// What the store says, also of a server that publishes meanwhile.
    pub(crate) async fn remove_all_but(mut self, named: &BTreeSet<String>) -> Result<usize, Setback> {
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
    pub(crate) async fn collect(&mut self, now: Instant) -> Result<(), Setback> {
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
        let carried = self.last.carried.as_deref().map(shared_state_key);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lamina_base::stored_names::FolderName;
    use lamina_engine::index::NamedFile;
    use uuid::Uuid;

    use super::super::{Holder, Rules};
    use super::*;
    use crate::root::Root;
    use crate::state::{Body, State};
    use crate::store::{MemoryObjects, blocking};

    /// A state with a file of each of these names.
    fn state(folder: &FolderName, names: &str) -> State {
        let file = |name: char| NamedFile { name: name.to_string(), bytes: 1, checksum: 0 };
        State {
            uid: "films".to_owned(),
            folder: folder.clone(),
            generation: names.len() as u64,
            manifest: names.as_bytes().to_vec(),
            files: names.chars().map(|name| (file(name), Body::Bytes(vec![0]))).collect(),
            shared: BTreeMap::new(),
        }
    }

    #[test]
    fn a_file_that_came_back_stays_for_an_hour_after_it_left_again() {
        let who = Holder { uid: Uuid::from_u128(1), nonce: Uuid::from_u128(2), url: None, takeover_after: None };
        let chain = blocking(Chain::take_over(MemoryObjects::default(), who, Root::none())).unwrap();
        let mut chain = chain.with_rules(Rules { names: |_| None, roots_kept: 9 });
        let (folder, start) = (FolderName::random(), Instant::now());
        let mut publish = |names: &str, minutes: Option<u64>| {
            let index = blocking(chain.put_index(&state(&folder, names))).unwrap();
            let key = index.file_key(&state(&folder, "b").files[0].0);
            let root = Root { indexes: vec![index], ..Root::none() };
            blocking(chain.publish(root, false)).unwrap();
            if let Some(minutes) = minutes {
                blocking(chain.collect(start + Duration::from_secs(60 * minutes))).unwrap();
            }
            blocking(chain.store().read(&key)).is_ok()
        };
        assert!(publish("ab", Some(0)));
        assert!(publish("a", Some(1)));
        // The process that publishes it does not get as far as to remove anything.
        assert!(publish("ab", None));
        assert!(publish("a", Some(30)));
        assert!(publish("a", Some(62)), "it was named until the thirtieth minute");
        assert!(!publish("a", Some(91)));
    }
}
