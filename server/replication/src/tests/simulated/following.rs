//! What a server does that follows: it looks, brings what a root names, and takes over.

use super::model::{Index, Indexes};
use super::server::Process;
use crate::chain::{Chain, Setback};
use crate::heartbeat::Watch;
use crate::known::newest_to_follow;
use crate::root::{PublishedIndex, Root};
use crate::store::{ObjectError, Objects};

/// Knowledge of a follower about the newest root.
struct Look {
    /// Last root, once all of it is here.
    last: Option<Root>,
    is_first: bool,
}

impl Process {
    pub(super) async fn follow(&self) -> Result<(), Setback> {
        let (who, mut watch) = (self.who(), Watch::new(self.world.now(self.server)));
        let mut look = Look { last: None, is_first: true };
        loop {
            match self.look(&mut look).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                // It tries again, or the process ends.
                Err(setback) if self.world.below(4) == 0 => return Err(setback),
                Err(_) => {
                    watch.could_not_look();
                    self.world.counts.borrow_mut().tried_again += 1;
                    look.last = None;
                }
            }
            let looked_at = self.world.now(self.server);
            if let Some(root) = &look.last
                && (root.holder == who.uid || watch.is_silent(&self.store, root, looked_at).await?)
            {
                let taken = Chain::take_over(self.store.clone(), who.clone(), root.clone()).await;
                let chain = taken.inspect_err(|setback| self.note(setback))?;
                self.world.is_believed(chain.last());
                return self.bring(&chain.last().clone()).await;
            }
            self.world.sleep(250 + self.world.below(2_500)).await;
        }
    }

    /// Follows the newest root, if there is a new one. Returns whether this server is its writer, whose store was away when it started.
    async fn look(&self, look: &mut Look) -> Result<bool, Setback> {
        let (has, uid) = (self.disk.borrow().followed.unwrap_or(0), self.disk.borrow().uid);
        let known = self.known();
        let newest = newest_to_follow(&self.store, has, look.is_first, known.as_ref(), "there").await?;
        if let Some(root) = newest {
            if has == 0 && root.holder == uid {
                return Ok(true);
            }
            look.last = None;
            if let Some(known) = known {
                known.is_continued(&self.store, &root, "there").await?;
            }
            if look.is_first {
                self.disk.borrow_mut().queue.clear();
            }
            self.bring(&root).await?;
            look.last = Some(root);
        }
        look.is_first = false;
        Ok(false)
    }

    /// Fetches what a root names, and becomes it.
    async fn bring(&self, root: &Root) -> Result<(), Setback> {
        let (followed, keeps) = (self.disk.borrow().followed, self.disk.borrow().keeps);
        assert!(followed.is_none_or(|followed| followed <= root.number), "a replica goes back");
        if root.indexes.is_empty() {
            // It has what the root names, and nothing else: what it had as a writer, and did not publish, goes.
            self.disk.borrow_mut().indexes = Indexes::new(|| self.shared.next_folder(), keeps);
        }
        if root.indexes.iter().all(|index| index.uid != "clone") {
            self.disk.borrow_mut().indexes.films.remove_clone();
        }
        if root.indexes.iter().all(|index| index.uid != "books") {
            self.disk.borrow_mut().indexes.books = Index::new("books", self.shared.next_folder(), keeps);
        }
        let mut failure = None;
        for index in &root.indexes {
            // One that does not come keeps no other one from coming.
            match self.bring_one(index).await {
                Ok(true) => self.disk.borrow().indexes.check(&self.world),
                Ok(false) => {}
                Err(error) => failure = Some(error),
            }
            self.disk.borrow_mut().indexes.read(&self.world);
        }
        let mut disk = self.disk.borrow_mut();
        if let Some(failure) = failure {
            disk.indexes.leave();
            return Err(failure.into());
        }
        disk.indexes.remove_unnamed();
        for index in &root.indexes {
            assert!(disk.indexes.shows(index), "`{}` is followed, and in another state: {index:?}", index.uid);
        }
        disk.next_task = disk.next_task.max(root.next_task);
        self.trace(format_args!("has followed to {root:?}"));
        disk.followed = Some(root.number);
        drop(disk);
        self.remember(root);
        self.world.counts.borrow_mut().followed += 1;
        Ok(())
    }

    /// Brings an index to its published state. Returns whether it was in another one before.
    async fn bring_one(&self, index: &PublishedIndex) -> Result<bool, ObjectError> {
        if self.disk.borrow().indexes.shows(index) {
            return Ok(false);
        }
        let manifest = self.fetch(&index.manifest_key()).await?;
        let (mut files, folder) = (Vec::new(), self.shared.next_folder());
        let missing = self.disk.borrow_mut().indexes.begin(index, &manifest, folder, &self.world);
        for file in missing {
            let bytes = self.fetch(&index.file_key(&file)).await?;
            files.push((file, bytes));
        }
        if self.world.below(50) == 0 {
            return Err(ObjectError::Refused("no room on the disk".to_owned()));
        }
        self.disk.borrow_mut().indexes.follow(index, (&manifest, files), folder, &self.world);
        Ok(true)
    }

    async fn fetch(&self, key: &str) -> Result<Vec<u8>, ObjectError> {
        if self.world.is_unreadable(key) {
            return Err(ObjectError::Damaged { key: key.to_owned(), reason: "its checksum does not match" });
        }
        let found = self.store.read(key).await;
        if matches!(found, Err(ObjectError::Missing(_))) && !self.world.has_mounts() {
            assert!(!self.world.is_named(key), "`{key}` is named, and not found");
        }
        found
    }
}
