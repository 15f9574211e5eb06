//! The side that follows.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lamina_engine::index::{Followed, Index, IndexError, ManifestContents, NamedFile, place_manifest};
use thiserror::Error;

use super::beat::{Watch, beat_interval};
use super::carried::{Carried, carried_key};
use super::chain::{Chain, Holder, Setback, newest_number, root_of};
use super::remembered::{Local, Remembered};
use super::root::{PublishedIndex, PublishedManifest, Root};
use super::roster::Signing;
use super::store::{ObjectError, ObjectStore, Wanted, blocking, settle};
use super::unfinished::{Unfinished, link_clone, link_common};
use super::{Bell, Replication, Worker};
use crate::access::KeyLine;
use crate::error::ApiError;
use crate::instance::{Coming, Instance};
use crate::options::{Options, StoreAddress};
use crate::outbound::Outbound;
use crate::stored_names::FolderName;
use crate::tasks::{StoreError, TaskQueue};

/// Between two looks at the store: the first after something new, longer each time there is nothing, at most the last.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(5));

/// Follows while it lives.
#[derive(Debug)]
pub(crate) struct Follower {
    _worker: Worker,
}

/// Takes what a root carries.
type TakeCarried = Box<dyn Fn(&Carried) -> Result<(), ApiError> + Send>;

/// What a follower works with.
pub(crate) struct Following {
    /// The indexes, which nothing else changes.
    pub(crate) instance: Arc<Instance>,
    /// Holds the names of indexes.
    pub(crate) queue: Arc<TaskQueue>,
    /// Takes the keys of the publisher.
    pub(crate) replace_keys: Box<dyn Fn(Vec<KeyLine>) -> Result<(), StoreError> + Send>,
    /// Takes what is carried, but for aliases and rules.
    pub(crate) take_carried: TakeCarried,
    /// Where requests ask how far it is.
    pub(crate) replication: Arc<Replication>,
}

/// Why a root is not followed.
#[derive(Debug, Error)]
enum FollowError {
    #[error(transparent)]
    Object(#[from] ObjectError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Api(String),
    #[error(transparent)]
    Index(#[from] IndexError),
    #[error("{path:?}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
}

impl From<ApiError> for FollowError {
    fn from(error: ApiError) -> FollowError {
        FollowError::Api(error.message)
    }
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> FollowError + '_ {
    move |source| FollowError::Io { path: path.to_owned(), source }
}

impl Follower {
    /// Begins to follow.
    ///
    /// # Errors
    /// Where the options of the store are not complete. A store that does not answer is asked again and again.
    pub(crate) fn start(
        address: &StoreAddress,
        options: &Options,
        outbound: &Outbound,
        following: Following,
    ) -> Result<Follower, ObjectError> {
        let store = ObjectStore::open(address, &options.object_storage, outbound, following.replication.traffic())?;
        let has = Remembered::read(following.instance.folder()).unwrap_or_default();
        if has.root == 0 {
            following.instance.expect(Coming::Unknown);
        }
        let standby = options.replication.standby.then(|| Standby {
            who: Holder::of(&options.replication, following.instance.uid()),
            watch: Watch::new(Instant::now()),
        });
        let signing = Signing::new(&store, options, following.instance.uid());
        let work = move |bell: &Arc<Bell>| {
            let (bell, unfinished) = (Arc::clone(bell), Unfinished::default());
            Run { store, following, has, last: None, is_first: true, standby, signing, unfinished, bell }.run();
        };
        let worker =
            Worker::start("follower", work).map_err(|source| ObjectError::Io { path: "follower".into(), source })?;
        Ok(Follower { _worker: worker })
    }
}

/// The thread's own.
struct Run {
    store: ObjectStore,
    following: Following,
    has: Remembered,
    /// The newest root, once all of it is here.
    last: Option<Root>,
    is_first: bool,
    standby: Option<Standby>,
    signing: Signing,
    unfinished: Unfinished,
    bell: Arc<Bell>,
}

/// What a standby needs besides.
struct Standby {
    who: Holder,
    watch: Watch,
}

impl Run {
    fn run(mut self) {
        let mut pause = PAUSES.0;
        loop {
            let found = self.look();
            if self.bell.is_stopped() {
                return self.signing.leave();
            }
            // Only with all that the store has: one that shows less, or nothing, is not that of the group.
            let taken_over = match &found {
                Ok(_) => self.take_over_if_due(),
                Err(_) => {
                    self.standby.iter_mut().for_each(|standby| standby.watch.could_not_look());
                    Ok(false)
                }
            };
            match taken_over {
                Ok(true) => {
                    self.signing.leave();
                    return self.following.replication.begin_again();
                }
                Ok(false) => {}
                Err(error) => self.following.replication.fails(error.to_string()),
            }
            pause = match found {
                Ok(true) => PAUSES.0,
                Ok(false) => (pause * 3 / 2).min(self.pause_max()),
                Err(error) => {
                    self.following.replication.fails(error.to_string());
                    (pause * 3 / 2).min(PAUSES.1)
                }
            };
            self.signing.sign(&self.following.replication);
            if !self.bell.pause(pause) {
                return self.signing.leave();
            }
        }
    }

    fn pause_max(&self) -> Duration {
        let after = self.last.as_ref().and_then(Root::takeover_after).filter(|_| self.standby.is_some());
        after.map_or(PAUSES.1, |after| beat_interval(after).min(PAUSES.1))
    }

    /// Takes over, if the writer is silent or this server is the writer already. Whether this one is the writer now.
    fn take_over_if_due(&mut self) -> Result<bool, FollowError> {
        let (Some(standby), Some(root)) = (&mut self.standby, &self.last) else { return Ok(false) };
        let now = Instant::now();
        let is_due = root.holder == standby.who.uid || blocking(standby.watch.is_silent(&self.store, root, now))?;
        if !is_due {
            return Ok(false);
        }
        match blocking(Chain::take_over(self.store.clone(), standby.who.clone(), root.clone())) {
            Ok(chain) => {
                let root = chain.last().clone();
                let before = self.last.as_ref().and_then(|before| before.writer.clone());
                tracing::warn!(
                    root = root.number,
                    epoch = root.epoch,
                    before,
                    "no heartbeat from the writer: this server takes over"
                );
                self.follow(&root)?;
                Ok(true)
            }
            Err(Setback::TakenOver) => {
                tracing::info!("another standby has taken over");
                Ok(false)
            }
            Err(Setback::Object(error)) => Err(error.into()),
        }
    }

    /// Follows the newest root, if there is a new one. Whether there was.
    fn look(&mut self) -> Result<bool, FollowError> {
        let start = Instant::now();
        // The one that is here is listed as well, for as long as no thousand others are behind it.
        let has = self.has.root;
        let root = match blocking(newest_number(&self.store, has.saturating_sub(1)))? {
            None if has > 0 => return Err(FollowError::Api(went_back(has))),
            // After a start the last one is followed again: what is here may be less than what it was.
            Some(number) if number > has || self.is_first => Some(blocking(root_of(&self.store, number))?),
            _ => None,
        };
        let (generation, writer) = match &root {
            Some(root) => {
                self.last = None;
                self.follow(root)?;
                self.last = Some(root.clone());
                (root.generation, root.writer.clone())
            }
            None => {
                // Nothing was published, or nothing since.
                self.following.instance.expect(Coming::Nothing);
                (self.following.replication.generation(), self.following.replication.writer())
            }
        };
        self.is_first = false;
        self.following.replication.level(start, generation, writer);
        Ok(root.is_some())
    }

    fn follow(&mut self, root: &Root) -> Result<(), FollowError> {
        // First, for an index says which batch it has applied last: one that the queue does not know of would be damage, and
        // a replica that takes over gives no uid twice.
        self.following.queue.store().settle_loss(&[], root.next_task, root.next_batch)?;
        let carried = match &root.carried {
            Some(name) if self.has.carried != root.carried => {
                Some(Carried::read(name, &self.store.read(&carried_key(name))?)?)
            }
            _ => None,
        };
        let aliases = carried.as_ref().map(Carried::aliases);
        let indexes = match self.has.root {
            0 => self.bring_one_by_one(root, carried.as_ref())?,
            _ => self.bring_all(&root.indexes)?,
        };
        let names: Vec<(String, FolderName)> =
            indexes.iter().map(|local| (local.published.uid.clone(), local.folder.clone())).collect();
        let Following { instance, queue, replace_keys, .. } = &self.following;
        queue.store().set_indexes(&names, aliases.as_ref())?;
        for folder in instance.set_indexes(names, aliases) {
            instance.remove_index_folder(&folder);
        }
        replace_keys(root.keys.clone())?;
        if let Some(carried) = &carried {
            self.take(carried)?;
        }
        instance.expect(Coming::Nothing);
        self.unfinished.named(instance);
        self.has = Remembered { root: root.number, carried: root.carried.clone(), indexes };
        self.has.write(instance.folder()).map_err(io(instance.folder()))
    }

    /// Brings all that can be brought: damage of one index keeps no other one from going on.
    fn bring_all(&self, published: &[PublishedIndex]) -> Result<Vec<Local>, FollowError> {
        let bring =
            |published: &PublishedIndex| Ok(Local { folder: self.bring(published)?, published: published.clone() });
        let brought: Vec<Result<Local, FollowError>> = published.iter().map(bring).collect();
        brought.into_iter().collect()
    }

    /// Brings the indexes to a server that has nothing, small ones first, and shows each as soon as it is here: keys and what else
    /// belongs to all of them come before. Each is durable a moment later; a machine that stops before that has nothing of it.
    fn bring_one_by_one(&self, root: &Root, carried: Option<&Carried>) -> Result<Vec<Local>, FollowError> {
        let Following { instance, queue, replace_keys, .. } = &self.following;
        replace_keys(root.keys.clone())?;
        if let Some(carried) = carried {
            self.take(carried)?;
        }
        // What an attempt before has brought is here.
        let is_published = |(uid, folder): &(String, FolderName)| {
            root.indexes.iter().any(|index| (&index.uid, &index.folder) == (uid, folder))
        };
        let mut names: Vec<(String, FolderName)> = instance.folders().into_iter().filter(is_published).collect();
        names.iter().try_for_each(|(_, folder)| settle(&instance.index_folder(folder)))?;
        let sized = self.by_size(&root.indexes)?;
        let mut brought: Vec<Local> = Vec::with_capacity(sized.len());
        for place in 0..=sized.len() {
            let is_coming = |(_, published, _): &&WithSize<'_>| names.iter().all(|(uid, _)| *uid != published.uid);
            let coming = sized.iter().filter(is_coming).map(|(_, published, _)| published.uid.clone()).collect();
            let aliases = carried.map(Carried::aliases);
            self.unfinished.leave(instance.set_indexes(names.clone(), aliases.clone()));
            instance.expect(Coming::Indexes(coming));
            let last = brought.last().map(|last: &Local| instance.index_folder(&last.folder));
            let settle_last = || {
                last.as_deref().map_or(Ok(()), settle)?;
                Ok::<_, FollowError>(queue.store().set_indexes(&names, aliases.as_ref())?)
            };
            let Some((_, published, manifest)) = sized.get(place) else {
                settle_last()?;
                break;
            };
            // The disk is waited for while the next one comes.
            let (folder, settled) = std::thread::scope(|scope| {
                let settling = scope.spawn(settle_last);
                let folder = self.bring_to(published, self.open(published), manifest);
                (folder, settling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            });
            settled?;
            let folder = folder?;
            names.retain(|(uid, _)| *uid != published.uid);
            names.push((published.uid.clone(), folder.clone()));
            brought.push(Local { folder, published: (*published).clone() });
        }
        Ok(brought)
    }

    /// The indexes with the bytes of their files and their manifests, small ones first.
    fn by_size<'a>(&self, published: &'a [PublishedIndex]) -> Result<Vec<WithSize<'a>>, FollowError> {
        let keys: Vec<String> = published.iter().map(PublishedIndex::manifest_key).collect();
        let mut sized = Vec::with_capacity(published.len());
        for (index, manifest) in published.iter().zip(self.store.read_all(&keys)?) {
            let files = contents(index, &manifest)?.files;
            sized.push((files.iter().map(|file| file.bytes).sum::<u64>(), index, manifest));
        }
        sized.sort_by_key(|(bytes, ..)| *bytes);
        Ok(sized)
    }

    /// Takes what a root carries besides indexes, keys and aliases.
    fn take(&self, carried: &Carried) -> Result<(), FollowError> {
        let Following { instance, queue, take_carried, .. } = &self.following;
        let changes = carried.rule_changes(&instance.rules().all());
        queue.store().change_search_rules(&changes)?;
        instance.rules().follow(&changes);
        Ok(take_carried(carried)?)
    }

    /// What is here of an index, held open while its files arrive: opening an index removes what its manifest does not name.
    fn open(&self, published: &PublishedIndex) -> Option<(Local, Arc<Index>)> {
        let instance = &self.following.instance;
        let local = self.has.indexes.iter().find(|local| local.published.folder == published.folder).cloned();
        // A server that was the writer has it under the same name.
        let local = local.or_else(|| {
            let folder = published.folder.clone();
            instance.uid_of(&folder)?;
            let manifest = PublishedManifest { generation: 0, checksum: 0 };
            Some(Local { published: PublishedIndex { manifest, ..published.clone() }, folder })
        })?;
        let index = instance.index(&instance.uid_of(&local.folder)?).ok()?;
        Some((local, index))
    }

    /// Brings an index to its published state; the folder that it is in, under which it may have no name yet.
    fn bring(&self, published: &PublishedIndex) -> Result<FolderName, FollowError> {
        let open = self.open(published);
        if let Some((local, _)) = &open
            && local.published.manifest == published.manifest
            && !self.is_first
        {
            return Ok(local.folder.clone());
        }
        let manifest = self.store.read(&published.manifest_key())?;
        let before = open.as_ref().map(|(local, _)| local.folder.clone());
        let folder = self.bring_to(published, open, &manifest)?;
        if before.as_ref() != Some(&folder) {
            settle(&self.following.instance.index_folder(&folder))?;
        }
        Ok(folder)
    }

    /// Brings an index, of which this is open here, to the state of its manifest. What is here already moves to it durably; what
    /// comes anew is durable once it is settled.
    fn bring_to(
        &self,
        published: &PublishedIndex,
        open: Option<(Local, Arc<Index>)>,
        manifest: &[u8],
    ) -> Result<FolderName, FollowError> {
        let files = contents(published, manifest)?.files;
        let Following { instance, queue, .. } = &self.following;
        let mut before = None;
        if let Some((Local { folder, .. }, index)) = open {
            let have = index.snapshot().named_files().unwrap_or_default();
            for path in self.fetch(published, &files, &folder, Some(&have))? {
                File::open(&path).and_then(|file| file.sync_all()).map_err(io(&path))?;
            }
            match index.follow(manifest) {
                Ok(Followed::Unchanged | Followed::Advanced) => {
                    self.unfinished.arrived(&folder);
                    return Ok(folder);
                }
                Ok(Followed::Diverged) => {
                    tracing::info!(index = published.uid, "following another history of an index")
                }
                Err(error) => tracing::error!(index = published.uid, %error, "fetching an index again"),
            }
            before = Some((instance.index_folder(&folder), have));
        }
        let folder = self.unfinished.folder(&published.folder, instance);
        // Until it has a name, the next start removes it.
        queue.store().intend_folder(&folder)?;
        let path = instance.index_folder(&folder);
        // What an attempt before has fetched is there.
        fs::create_dir_all(&path).map_err(io(&path))?;
        if let Some((from, have)) = &before {
            link_common(&files, (from, have), &path);
        }
        for file in &files {
            if let Some(origin) = published.shared.get(&file.name) {
                link_clone(&file.name, &self.folder_of(origin), &path);
            }
        }
        self.fetch(published, &files, &folder, None)?;
        place_manifest(&path, manifest)?;
        Ok(folder)
    }

    /// Where the index is here that is published in `folder`, if there is one.
    fn folder_of(&self, folder: &FolderName) -> PathBuf {
        let local = self.has.indexes.iter().find(|local| local.published.folder == *folder);
        self.following.instance.index_folder(local.map_or(folder, |local| &local.folder))
    }

    /// Fetches the files of an index that are not there. `have`: those that are in use there, if it is open, whose checksums are
    /// known. The paths of all others.
    fn fetch(
        &self,
        published: &PublishedIndex,
        files: &[NamedFile],
        folder: &FolderName,
        have: Option<&[NamedFile]>,
    ) -> Result<Vec<PathBuf>, FollowError> {
        let path = self.following.instance.index_folder(folder);
        // One of the same name and another checksum is in use: the index says that it diverged.
        let is_in_use = |file: &&NamedFile| have.unwrap_or_default().iter().any(|have| have.name == file.name);
        let others: Vec<(&NamedFile, PathBuf)> =
            files.iter().filter(|file| !is_in_use(file)).map(|file| (file, path.join(&file.name))).collect();
        if have.is_some() {
            self.unfinished.expect(folder, others.iter().map(|(_, path)| path.clone()));
        }
        let wanted = others.iter().filter(|(file, path)| !is_there(path, file)).map(|(file, path)| Wanted {
            key: published.file_key(file),
            bytes: file.bytes,
            checksum: file.checksum,
            path: path.clone(),
        });
        let bell = &*self.bell;
        self.store.fetch_all(&wanted.collect::<Vec<_>>(), &|| !bell.is_stopped())?;
        Ok(others.into_iter().map(|(_, path)| path).collect())
    }
}

/// What a replica says that has followed to a root which the store does not have.
fn went_back(root: u64) -> String {
    format!(
        "the store has no root {root}, to which this replica has followed, and none behind it: it is not the store of before, or \
         was put back. This replica answers from what it has. Start it on an empty folder to follow what is there now"
    )
}

/// The bytes of the files of an index, and its manifest.
type WithSize<'a> = (u64, &'a PublishedIndex, Vec<u8>);

/// What the manifest of an index says, if it is the one that was published.
fn contents(published: &PublishedIndex, manifest: &[u8]) -> Result<ManifestContents, FollowError> {
    if crc32fast::hash(manifest) != published.manifest.checksum {
        let reason = "its checksum does not match";
        return Err(ObjectError::Damaged { key: published.manifest_key(), reason }.into());
    }
    Ok(ManifestContents::read(manifest)?)
}

/// Whether a file is there as it was published.
fn is_there(path: &Path, file: &NamedFile) -> bool {
    let Ok(mut found) = File::open(path) else { return false };
    if !found.metadata().is_ok_and(|metadata| metadata.len() == file.bytes) {
        return false;
    }
    let (mut hasher, mut buffer) = (crc32fast::Hasher::new(), vec![0; 1 << 20]);
    loop {
        match std::io::Read::read(&mut found, &mut buffer) {
            Ok(0) => return hasher.finalize() == file.checksum,
            Ok(count) => hasher.update(&buffer[..count]),
            Err(_) => return false,
        }
    }
}
