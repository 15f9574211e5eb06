//! What a server knows of its store, whatever it is at the moment: where a store is that a server has published to or followed, an
//! empty one is none, and neither is another one.

use std::io::ErrorKind;
use std::path::Path;

use lamina_base::options::StoreAddress;
use uuid::Uuid;

use super::chain::{newest_number, newest_root, root_of};
use super::known_root::{self, KnownRoot};
use super::replica_state::{self, ReplicaState};
use super::root::{Root, root_key};
use super::store::{LOST, ObjectError, Objects};

/// Knowledge of a server that has published to a store, or followed one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    /// A root that the store has had; `None` if that cannot be read any more.
    seen: Option<KnownRoot>,
}

impl Known {
    /// Reads the knowledge of the server with the database in `folder`. If it is unreadable, its existence at least is
    /// known.
    pub(super) fn read(folder: &Path) -> Option<Known> {
        let followed = ReplicaState::read(folder).and_then(|state| state.seen);
        let has_none = |path: &Path| path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
        if followed.is_none() && has_none(&replica_state::path(folder)) && has_none(&known_root::path(folder)) {
            return None;
        }
        Some(Known { seen: followed.or_else(|| KnownRoot::read(folder)) })
    }

    pub(super) fn of(seen: KnownRoot) -> Known {
        Known { seen: Some(seen) }
    }

    /// Returns whether it is of a store that was elsewhere.
    pub(super) fn is_elsewhere(&self, address: &StoreAddress) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.address != address.to_string())
    }

    /// Returns what is wrong with a store that has no root, or only older ones.
    pub(super) fn lost(&self, place: &str) -> String {
        format!(
            "the store {place} has no root {}, to which this server has followed or which it has published, and none behind it. \
             {LOST}",
            self.seen.as_ref().map_or(0, |seen| seen.root)
        )
    }

    /// Returns whether `root`, the newest one, goes on from what is known.
    ///
    /// # Errors
    /// [`ObjectError::Refused`], or what the store says.
    pub(super) async fn is_continued<S: Objects>(
        &self,
        store: &S,
        root: &Root,
        place: &str,
    ) -> Result<(), ObjectError> {
        let refused = |text: String| Err(ObjectError::Refused(text));
        let Some(seen) = &self.seen else { return Ok(()) };
        if root.nonce == seen.nonce && root.number >= seen.root {
            return Ok(());
        }
        if root.store != seen.store {
            return refused(format!("the store {place} is another one than that which this server knows. {LOST}"));
        }
        // The same server goes on, maybe from an older state of the store: what it has contains what it had.
        if root.holder == seen.holder && root.next_task >= seen.next_task && root.nonce != seen.nonce {
            return Ok(());
        }
        if root.number < seen.root {
            return refused(self.lost(place));
        }
        let there = match store.read(&root_key(seen.root)).await {
            Ok(bytes) => Root::read(seen.root, &bytes),
            Err(error) => Err(error),
        };
        match there {
            Ok(there) if (there.epoch, there.nonce) != (seen.epoch, seen.nonce) => refused(format!(
                "the store {place} has gone back, and on from there with another history: its root {} is not the one that this \
                 server knows. {LOST}. To follow what is there now, start this server on an empty folder",
                seen.root
            )),
            // It was removed since, for it is old, or is damaged: nothing speaks against it.
            Ok(_) | Err(ObjectError::Missing(_) | ObjectError::Damaged { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Returns the newest root, if a follower has not followed to it yet. `has`: the number of the root that it has followed to, or 0; `is_first`:
/// it has not looked since it started, and what is here may be less than what it was.
///
/// # Errors
/// [`ObjectError::Refused`] where a store that is known has no root, or what the store says.
pub(super) async fn newest_to_follow<S: Objects>(
    store: &S,
    has: u64,
    is_first: bool,
    known: Option<&Known>,
    place: &str,
) -> Result<Option<Root>, ObjectError> {
    // The one that is here is listed as well, for as long as no thousand others are behind it.
    match (newest_number(store, has.saturating_sub(1)).await?, known) {
        // None that is as new. One that goes on from what is known may be there all the same.
        (None, Some(known)) => {
            let lost = || ObjectError::Refused(known.lost(place));
            newest_root(store, 0).await?.ok_or_else(lost).map(Some)
        }
        (Some(number), _) if number > has || is_first => root_of(store, number).await.map(Some),
        _ => Ok(None),
    }
}

/// Returns the newest root, for a server that is about to write after it. None at all is one that a server that knows of no other may make a
/// first one after. Nothing is written from now on where that root is not.
///
/// # Errors
/// [`ObjectError::Refused`] where the store is not the one that is known, or what the store says.
pub(super) async fn newest_to_go_on_from<S: Objects>(
    store: &S,
    uid: Uuid,
    known: Option<&Known>,
    place: &str,
) -> Result<Root, ObjectError> {
    let Some(last) = newest_root(store, 0).await? else {
        return known.map_or(Ok(Root::none()), |known| Err(ObjectError::Refused(known.lost(place))));
    };
    // What this server published itself is in what it has.
    if let Some(known) = known.filter(|_| last.holder != uid) {
        known.is_continued(store, &last, place).await?;
    }
    store.rest_on(last.anchor());
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::super::store::{Content, MemoryObjects, blocking};
    use super::*;

    fn root(number: u64, epoch: u64, nonce: u128) -> Root {
        let (store, holder) = (Uuid::from_u128(9), Uuid::from_u128(nonce));
        Root { number, epoch, nonce: Uuid::from_u128(nonce), holder, store, next_task: 10, ..Root::none() }
    }

    fn address(text: &str) -> StoreAddress {
        text.parse().unwrap()
    }

    /// Returns what a server that knows `before` says of a store with these roots, of which the last one is the newest.
    fn said(before: &Root, roots: &[Root]) -> Option<String> {
        let store = MemoryObjects::default();
        for root in roots {
            blocking(store.create(&root_key(root.number), Content::Bytes(&root.to_bytes()))).unwrap();
        }
        let known = Known::of(KnownRoot::of(before, &address("file:///store")));
        blocking(known.is_continued(&store, roots.last().unwrap(), "there")).err().map(|error| error.to_string())
    }

    #[test]
    fn a_store_goes_on_or_is_another_one() {
        let before = root(7, 2, 20);
        let goes_on = [
            &[before.clone()][..],
            // Of the same process, of another one behind it, of one that began long after it.
            &[root(9, 2, 20)],
            &[before.clone(), root(8, 3, 30)],
            &[root(2000, 4, 40)],
            // What it has published was lost, and it has done so again.
            &[Root { holder: before.holder, next_task: 11, ..root(7, 3, 31) }],
            &[root(3, 1, 10), Root { holder: before.holder, next_task: 11, ..root(5, 2, 31) }],
        ];
        for roots in goes_on {
            assert_eq!(said(&before, roots), None, "{roots:?}");
        }
        let other = Root { store: Uuid::from_u128(8), ..root(9, 3, 30) };
        for (roots, text) in [
            (&[before.clone(), other][..], "is another one"),
            (&[root(6, 1, 10)], "has no root 7"),
            // Its own older one.
            (&[root(6, 2, 20)], "has no root 7"),
            (&[root(7, 2, 30), root(9, 2, 30)], "with another history"),
            // The same server, which was put back as well.
            (&[Root { holder: before.holder, next_task: 9, ..root(7, 3, 31) }], "with another history"),
        ] {
            let said = said(&before, roots).unwrap_or_default();
            assert!(said.contains(text), "{roots:?}: {said}");
            assert!(said.contains("not mounted"), "{roots:?}: {said}");
        }
    }

    #[test]
    fn a_server_that_has_published_or_followed_knows_it() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Known::read(folder.path()), None);
        let seen = KnownRoot::of(&root(7, 2, 20), &address("file:///store/"));
        seen.write(folder.path()).unwrap();
        let known = Known::read(folder.path()).unwrap();
        assert_eq!(known, Known::of(seen.clone()));
        assert!(!known.is_elsewhere(&address("file:///store")));
        assert!(known.is_elsewhere(&address("s3://store/")));
        // What it follows now is newer.
        let seen = KnownRoot { root: 8, ..seen };
        let remembered = ReplicaState { root: 8, seen: Some(seen.clone()), ..ReplicaState::default() };
        remembered.write(folder.path()).unwrap();
        assert_eq!(Known::read(folder.path()), Some(Known::of(seen)));
        // What cannot be read is no reason to take an empty store for a new one.
        for path in [replica_state::path(folder.path()), known_root::path(folder.path())] {
            std::fs::write(path, "{").unwrap();
        }
        assert_eq!(Known::read(folder.path()), Some(Known::default()));
        std::fs::remove_file(replica_state::path(folder.path())).unwrap();
        assert_eq!(Known::read(folder.path()), Some(Known::default()));
    }
}
