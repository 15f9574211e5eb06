//! What a publisher does with the store, without knowing what an index is: the steps that safety rests on. Tests drive them
//! through thousands of schedules, see `tests::simulated`.
//!
//! * Creating root n+1 is the one commit point. Who creates it with a higher epoch has taken over: whatever published before
//!   finds its next root refused.
//! * After each creation the roots behind it are listed. A publisher that was stopped for so long that its number had been used
//!   and removed again would create it a second time, and finds out by that.
//! * Each root rests on the one before it: where that is not there any more, this is not the store of before.
//! * An object that a publisher before may still remove is never relied on: the file gets another key.

mod collecting;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use lamina_engine::index::{ManifestContents, NamedFile};
use thiserror::Error;
use uuid::Uuid;

use lamina_base::options::Replication as Options;
use lamina_base::stored_names::FolderName;

#[cfg(test)]
pub(super) use collecting::REMAINS;

use super::position::Position;
use super::root::{INDEXES, PublishedIndex, PublishedManifest, ROOTS, Root, root_key, root_number};
use super::shared_state::shared_state_key;
use super::state::State;
use super::store::{Content, ObjectError, Objects};

/// Roots that stay for replicas and publishers that are slow to notice a newer one.
const ROOTS_KEPT: u64 = 1000;

/// Reason why a step was not taken.
#[derive(Debug, Error)]
pub(super) enum Setback {
    /// Another server publishes now.
    #[error("another server publishes to this store now")]
    TakenOver,
    /// The store failed; the next time may go better.
    #[error(transparent)]
    Object(#[from] ObjectError),
}

/// Publisher.
#[derive(Clone, Debug)]
pub(super) struct Holder {
    /// Uid of the database.
    pub(super) uid: Uuid,
    /// Nonce of the process, or of one attempt to take over.
    pub(super) nonce: Uuid,
    /// Address at which it takes writes, if it announces one.
    pub(super) url: Option<String>,
    /// Without a sign of life for so long, another server may take over.
    pub(super) takeover_after: Option<Duration>,
}

impl Holder {
    /// A process with these options, over the database `uid`.
    pub(super) fn of(options: &Options, uid: Uuid) -> Holder {
        Holder { uid, nonce: Uuid::new_v4(), url: options.public_url.clone(), takeover_after: options.takeover_after() }
    }
}

/// The number of the newest root behind number `after`.
pub(super) async fn newest_number<S: Objects>(store: &S, after: u64) -> Result<Option<u64>, ObjectError> {
    let (mut newest, mut last) = (None, root_key(after));
    loop {
        let keys = store.list(ROOTS, &last).await?;
        let Some(key) = keys.last() else { return Ok(newest) };
        newest = keys.iter().rev().find_map(|key| root_number(key)).or(newest);
        last.clone_from(key);
    }
}

/// The root of this number, which was listed.
pub(super) async fn root_of<S: Objects>(store: &S, number: u64) -> Result<Root, ObjectError> {
    Root::read(number, &store.read(&root_key(number)).await?)
}

/// The newest root behind number `after`.
pub(super) async fn newest_root<S: Objects>(store: &S, after: u64) -> Result<Option<Root>, ObjectError> {
    match newest_number(store, after).await? {
        Some(number) => root_of(store, number).await.map(Some),
        None => Ok(None),
    }
}

/// The files that a manifest names.
fn named_files(manifest: &[u8]) -> Option<Vec<NamedFile>> {
    ManifestContents::read(manifest).ok().map(|contents| contents.files)
}

/// A publisher and what it knows of the store.
#[derive(Debug)]
pub(super) struct Chain<S> {
    store: S,
    who: Holder,
    epoch: u64,
    last: Root,
    /// True if no root followed the last one when it had been created.
    is_confirmed: bool,
    /// Objects that stay until this publisher removes them: named by the root that it began with, or put by it.
    sure: BTreeSet<String>,
    /// Objects that may vanish at any moment: a publisher before may be removing them (`None`), or this one has, since then.
    unsure: BTreeMap<String, Option<Instant>>,
    /// Objects that no root names, and since when at least.
    gone: BTreeMap<String, Instant>,
    /// Objects put for each index, with all their keys.
    puts: BTreeMap<FolderName, (PublishedIndex, Vec<String>)>,
    /// Suffixes for keys of objects whose original keys are unsure; `other_count` counts them.
    others: BTreeMap<String, String>,
    other_count: u64,
    rules: Rules,
}

/// Differences of a store of another kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// Reads what a manifest names.
    pub(super) names: fn(&[u8]) -> Option<Vec<NamedFile>>,
    /// Roots that stay behind the newest one.
    pub(super) roots_kept: u64,
}

impl Default for Rules {
    fn default() -> Rules {
        Rules { names: named_files, roots_kept: ROOTS_KEPT }
    }
}

impl<S: Objects> Chain<S> {
    /// Makes the state of `last`, the newest root, one of this server: whatever published before is refused from now on.
    ///
    /// # Errors
    /// [`Setback::TakenOver`] where another server was faster. After other errors it may have happened.
    pub(super) async fn take_over(store: S, who: Holder, last: Root) -> Result<Chain<S>, Setback> {
        let mut chain = Chain {
            epoch: last.epoch + 1,
            store,
            who,
            is_confirmed: true,
            sure: BTreeSet::new(),
            unsure: BTreeMap::new(),
            gone: BTreeMap::new(),
            puts: BTreeMap::new(),
            others: BTreeMap::new(),
            other_count: 0,
            rules: Rules::default(),
            last,
        };
        if chain.last.number > 0 {
            chain.store.rest_on(chain.last.anchor());
        }
        let root = chain.next(chain.last.clone());
        chain.create_root(root).await?;
        chain.confirm().await?;
        Ok(chain)
    }

    /// With these rules from now on.
    #[cfg(test)]
    pub(super) fn with_rules(self, rules: Rules) -> Chain<S> {
        Chain { rules, ..self }
    }

    /// Lists the objects of the store. Called before the first index is put.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn survey(&mut self) -> Result<(), Setback> {
        let mut last = INDEXES.to_owned();
        loop {
            let keys = self.store.list(INDEXES, &last).await?;
            let Some(key) = keys.last() else { return Ok(()) };
            last.clone_from(key);
            self.unsure.extend(keys.into_iter().map(|key| (key, None)));
        }
    }

    pub(super) fn store(&self) -> &S {
        &self.store
    }

    /// The last root that was created.
    pub(super) fn last(&self) -> &Root {
        &self.last
    }

    /// `root` as the next one of this server.
    fn next(&self, root: Root) -> Root {
        Root {
            number: self.last.number + 1,
            epoch: self.epoch,
            nonce: self.who.nonce,
            holder: self.who.uid,
            store: if self.last.number == 0 { self.who.nonce } else { self.last.store },
            writer: self.who.url.clone(),
            takeover_after_ms: self.who.takeover_after.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
            ..root
        }
    }

    /// Puts what an index is made of, the manifest last. What is there already is not sent.
    ///
    /// # Errors
    /// What the store says; nothing is visible then.
    pub(super) async fn put_index(&mut self, state: &State) -> Result<PublishedIndex, Setback> {
        let manifest = PublishedManifest { generation: state.generation, checksum: crc32fast::hash(&state.manifest) };
        let before = self.last.indexes.iter().find(|index| index.folder == state.folder).cloned();
        if let Some(before) = &before {
            let same = (before.manifest == manifest).then_some(state.manifest.as_slice());
            self.learn(before, same).await?;
        }
        let (uid, folder) = (state.uid.clone(), state.folder.clone());
        let mut index = PublishedIndex { uid, folder, manifest, moved: BTreeMap::new(), shared: BTreeMap::new() };
        let mut keys = Vec::with_capacity(state.files.len() + 1);
        for (file, _) in &state.files {
            keys.extend(self.share(&mut index, file, before.as_ref(), state.shared.get(&file.name)));
        }
        let moved = before.map(|before| before.moved).unwrap_or_default();
        for (file, body) in &state.files {
            if index.shared.contains_key(&file.name) {
                continue;
            }
            let key = self.key_for(&mut index, &moved, &file.name, file.checksum);
            self.create(&key, body.content(file)).await?;
            keys.push(key);
        }
        let (name, checksum) = (index.manifest.name(), index.manifest.checksum);
        let key = self.key_for(&mut index, &moved, &name, checksum);
        self.create(&key, Content::Bytes(&state.manifest)).await?;
        keys.push(key);
        // A file may come back that no root has named for a while: it stays as long as any other after the root that names it now.
        self.gone.retain(|key, _| !keys.contains(key));
        self.puts.insert(state.folder.clone(), (index.clone(), keys));
        Ok(index)
    }

    /// Has an index name the object of another one for a file, if that stays: one that it named before, or one that the index in
    /// the folder `origin` names now. Its key.
    fn share(
        &self,
        index: &mut PublishedIndex,
        file: &NamedFile,
        before: Option<&PublishedIndex>,
        origin: Option<&FolderName>,
    ) -> Option<String> {
        let of_origin = || self.puts.get(origin?).map(|(put, _)| put);
        let other = before.or_else(of_origin)?;
        let (key, folder) = (other.file_key(file), other.shared.get(&file.name).unwrap_or(&other.folder));
        let is_put = || self.puts.get(&other.folder).is_some_and(|(_, keys)| keys.contains(&key));
        if *folder == index.folder || !self.sure.contains(&key) || before.is_none() && !is_put() {
            return None;
        }
        index.shared.insert(file.name.clone(), folder.clone());
        if let Some(addition) = other.moved.get(&file.name) {
            index.moved.insert(file.name.clone(), addition.clone());
        }
        Some(key)
    }

    /// The objects that the newest root names of an index are sure: a publisher that removes objects has published it, or
    /// has another one refused first. `manifest`, if it is known.
    async fn learn(&mut self, index: &PublishedIndex, manifest: Option<&[u8]>) -> Result<(), Setback> {
        let key = index.manifest_key();
        if self.sure.contains(&key) {
            return Ok(());
        }
        let files = match manifest {
            Some(manifest) => (self.rules.names)(manifest),
            None => match self.store.read(&key).await {
                Ok(manifest) => (self.rules.names)(&manifest),
                Err(ObjectError::Missing(_)) => None,
                Err(error) => return Err(error.into()),
            },
        };
        // One that is lost or cannot be read names nothing that could be relied on.
        for file in files.unwrap_or_default() {
            self.rely_on(index.file_key(&file));
        }
        self.rely_on(key);
        Ok(())
    }

    fn rely_on(&mut self, key: String) {
        if self.unsure.remove(&key).is_some() {
            self.sure.insert(key);
        }
    }

    /// The key for a file: its own one, unless what is there may vanish.
    fn key_for(
        &mut self,
        index: &mut PublishedIndex,
        moved: &BTreeMap<String, String>,
        name: &str,
        checksum: u32,
    ) -> String {
        let plain = index.key(name, checksum);
        if let Some(other) = moved.get(name) {
            let key = format!("{plain}.{other}");
            if self.sure.contains(&key) {
                index.moved.insert(name.to_owned(), other.clone());
                return key;
            }
        }
        if !self.unsure.contains_key(&plain) {
            return plain;
        }
        let other = self.other(&plain, '.');
        let key = format!("{plain}.{other}");
        index.moved.insert(name.to_owned(), other);
        key
    }

    /// Returns a suffix for a key that is unsure. A suffix is used once in the life of a store.
    fn other(&mut self, plain: &str, joined_by: char) -> String {
        if let Some(other) = self.others.get(plain)
            && !self.unsure.contains_key(&format!("{plain}{joined_by}{other}"))
        {
            return other.clone();
        }
        self.other_count += 1;
        let other = format!("{:x}-{:x}", self.epoch, self.other_count);
        self.others.insert(plain.to_owned(), other.clone());
        other
    }

    /// Puts what is carried; `name` is that of its content. The name for the root.
    ///
    /// # Errors
    /// What the store says.
    pub(super) async fn put_shared_state(&mut self, name: &str, bytes: &[u8]) -> Result<String, Setback> {
        if let Some(last) = self.last.carried.clone().filter(|last| last.starts_with(name)) {
            self.rely_on(shared_state_key(&last));
            if self.sure.contains(&shared_state_key(&last)) {
                self.gone.remove(&shared_state_key(&last));
                return Ok(last);
            }
        }
        let plain = shared_state_key(name);
        let name = match self.unsure.contains_key(&plain) {
            true => format!("{name}-{}", self.other(&plain, '-')),
            false => name.to_owned(),
        };
        self.create(&shared_state_key(&name), Content::Bytes(bytes)).await?;
        self.gone.remove(&shared_state_key(&name));
        Ok(name)
    }

    /// Creates an object whose key names its checksum: one that is there is the same.
    async fn create(&mut self, key: &str, content: Content<'_>) -> Result<(), Setback> {
        if self.sure.contains(key) {
            return Ok(());
        }
        match self.store.create(key, content).await {
            Ok(()) | Err(ObjectError::Exists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        self.sure.insert(key.to_owned());
        Ok(())
    }

    /// Makes everything before it visible, if it is other than what is. Whether it was. `rests_on_last`: it repeats something of the
    /// last root. If an earlier attempt turns out to have succeeded, that may be older than what is published.
    ///
    /// # Errors
    /// After any but [`Setback::TakenOver`] it may have happened.
    pub(super) async fn publish(&mut self, root: Root, rests_on_last: bool) -> Result<bool, Setback> {
        let mut is_news = false;
        loop {
            self.confirm().await?;
            if root.says_the_same(&self.last) {
                return Ok(is_news);
            }
            if is_news && rests_on_last {
                let text = "an attempt to publish that seemed to fail has succeeded: the next one goes on from it";
                return Err(ObjectError::Refused(text.to_owned()).into());
            }
            is_news = true;
            self.create_root(self.next(root.clone())).await?;
        }
    }

    /// Creates a root that says the same, and where the journal begins.
    ///
    /// # Errors
    /// After any but [`Setback::TakenOver`] it may have happened.
    pub(super) async fn announce(&mut self, journal: Position) -> Result<(), Setback> {
        self.confirm().await?;
        // Who takes over gives no uid that the journal would take for one that has ended.
        let next_task = self.last.next_task.max(journal.next_task);
        self.create_root(self.next(Root { next_task, journal: Some(journal), ..self.last.clone() })).await?;
        self.confirm().await
    }

    /// Removes objects that were listed by this publisher, and are of no use to it or to any that comes after it.
    ///
    /// # Errors
    /// What the store says; [`Setback::TakenOver`] before anything is removed.
    pub(super) async fn remove_unneeded(&mut self, keys: &[String]) -> Result<(), Setback> {
        if keys.is_empty() {
            return Ok(());
        }
        // After the list: what another one has put is not among them.
        self.is_confirmed = false;
        self.confirm().await?;
        for key in keys {
            self.store.remove(key).await?;
        }
        Ok(())
    }

    async fn create_root(&mut self, root: Root) -> Result<(), Setback> {
        let key = root_key(root.number);
        match self.store.create(&key, Content::Bytes(&root.to_bytes())).await {
            Ok(()) => self.last = root,
            Err(ObjectError::Exists(_)) => {
                let there = match self.store.read(&key).await {
                    Ok(bytes) => Root::read(root.number, &bytes)?,
                    // It was removed since, so there are many behind it.
                    Err(ObjectError::Missing(_)) => return Err(Setback::TakenOver),
                    Err(error) => return Err(error.into()),
                };
                if (there.nonce, there.epoch) != (root.nonce, root.epoch) {
                    return Err(Setback::TakenOver);
                }
                // Ours: the answer to an earlier attempt was lost, whose content may have been another.
                self.last = there;
            }
            Err(error) => return Err(error.into()),
        }
        self.store.rest_on(self.last.anchor());
        self.is_confirmed = false;
        Ok(())
    }

    /// Makes sure that the last root is the newest one.
    async fn confirm(&mut self) -> Result<(), Setback> {
        if self.is_confirmed {
            return Ok(());
        }
        let own = root_key(self.last.number);
        let keys = self.store.list(ROOTS, &root_key(self.last.number.saturating_sub(1))).await?;
        if keys.iter().any(|key| *key > own) {
            return Err(Setback::TakenOver);
        }
        // A store that is away for a moment has nothing behind it either.
        if !keys.contains(&own) {
            return Err(ObjectError::Missing(own).into());
        }
        self.is_confirmed = true;
        if let Some(old) = self.last.number.checked_sub(self.rules.roots_kept) {
            self.store.remove(&root_key(old)).await?;
        }
        Ok(())
    }
}
