//! How a follower brings indexes to their published states: damage of one keeps no other one from going on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_base::stored_names::FolderName;
use lamina_data::instance::PendingIndexes;
use lamina_data::tasks::free_bytes;
use lamina_engine::index::{Index, ManifestContents, NamedFile, Way, place_manifest};

use super::fetched::{FetchedIndexes, FollowError, has_room, io};
use super::follow::{Following, Run};
use super::replica_state::{Local, is_in_state};
use super::root::{PublishedIndex, PublishedManifest, Root};
use super::shared_state::SharedState;
use super::staging::{link_clone, link_common};
use super::store::{ObjectError, Wanted, settle, staging_path};

impl Run {
    /// Brings all that can be brought.
    pub(super) fn fetch_all(&self, published: &[PublishedIndex]) -> FetchedIndexes {
        let mut brought = FetchedIndexes::default();
        for published in published {
            let error = match self.fetch_index(published) {
                Ok(folder) => {
                    brought.indexes.push(Local { folder, published: published.clone() });
                    continue;
                }
                Err(error) => error,
            };
            brought.failure.get_or_insert(error);
            match self.has.indexes.iter().find(|local| local.published.folder == published.folder) {
                Some(Local { folder, published: before }) => {
                    let before = PublishedIndex { uid: published.uid.clone(), ..before.clone() };
                    brought.indexes.push(Local { folder: folder.clone(), published: before });
                }
                None => drop(brought.missing.insert(published.uid.clone())),
            }
        }
        if !brought.missing.is_empty() {
            self.keep_others(published, &mut brought);
        }
        brought
    }

    /// Keeps the indexes that are not published any more: what takes their place is not here.
    fn keep_others(&self, published: &[PublishedIndex], brought: &mut FetchedIndexes) {
        for local in &self.has.indexes {
            let Local { published: before, .. } = local;
            let is_published = published.iter().any(|published| published.folder == before.folder);
            if !is_published && brought.indexes.iter().all(|other| other.published.uid != before.uid) {
                brought.missing.remove(&before.uid);
                brought.indexes.push(local.clone());
            }
        }
    }

    /// Brings the indexes to a server that has followed to no root yet, small ones first, and shows each as soon as it is here: keys and what
    /// else belongs to all of them come before. Each is durable a moment later; a machine that stops before that has nothing of it.
    ///
    /// # Errors
    /// What keeps all of them from coming, or from being shown.
    pub(super) fn fetch_one_by_one(
        &self,
        root: &Root,
        carried: Option<&SharedState>,
    ) -> Result<FetchedIndexes, FollowError> {
        let (instance, queue) = (&self.following.instance, &self.following.queue);
        // What an attempt before has brought is here, and what a former writer has of its own is shown until it is replaced.
        let is_published = |(uid, folder): &(String, FolderName)| {
            let is_here = |index: &PublishedIndex| index.folder == *folder || self.local(index, folder).is_some();
            root.indexes.iter().any(|index| index.uid == *uid && is_here(index))
        };
        let mut names: Vec<(String, FolderName)> = instance.folders().into_iter().filter(is_published).collect();
        names.iter().try_for_each(|(_, folder)| settle(&instance.index_folder(folder)))?;
        let (sized, failure) = self.by_size(&root.indexes)?;
        let mut brought = FetchedIndexes { failure, ..FetchedIndexes::default() };
        for place in 0..=sized.len() {
            let is_pending = |published: &&PublishedIndex| names.iter().all(|(uid, _)| *uid != published.uid);
            let pending = root.indexes.iter().filter(is_pending).map(|published| published.uid.clone()).collect();
            let aliases = carried.map(SharedState::aliases);
            self.unfinished.leave(instance.set_indexes(names.clone(), aliases.clone()));
            instance.expect(PendingIndexes::Indexes(pending));
            let last = brought.indexes.last().map(|last: &Local| instance.index_folder(&last.folder));
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
                let folder = self.fetch_folder(published, self.open(published), manifest);
                (folder, settling.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            });
            settled?;
            match folder {
                Ok(folder) => {
                    names.retain(|(uid, _)| *uid != published.uid);
                    names.push((published.uid.clone(), folder.clone()));
                    brought.indexes.push(Local { folder, published: (*published).clone() });
                }
                Err(error) if self.bell.is_stopped() => return Err(error),
                Err(error) => drop(brought.failure.get_or_insert(error)),
            }
        }
        self.leave_as_shown(root, names, &mut brought);
        Ok(brought)
    }

    /// Keeps indexes that were not fetched in the state that is shown, if there is one.
    fn leave_as_shown(&self, root: &Root, names: Vec<(String, FolderName)>, brought: &mut FetchedIndexes) {
        for published in &root.indexes {
            if brought.indexes.iter().any(|local| local.published.uid == published.uid) {
                continue;
            }
            match names.iter().find(|(uid, _)| *uid == published.uid) {
                None => drop(brought.missing.insert(published.uid.clone())),
                Some((uid, folder)) => match self.local(published, folder) {
                    Some(local) => brought.indexes.push(local.clone()),
                    None => brought.own.push((uid.clone(), folder.clone())),
                },
            }
        }
    }

    /// Returns what was brought of a published index, if that is in `folder`.
    fn local(&self, published: &PublishedIndex, folder: &FolderName) -> Option<&Local> {
        self.has.indexes.iter().find(|local| local.published.folder == published.folder && local.folder == *folder)
    }

    /// The indexes with the bytes of their files and their manifests, small ones first; and why one is not among them.
    fn by_size<'a>(
        &self,
        published: &'a [PublishedIndex],
    ) -> Result<(Vec<WithSize<'a>>, Option<FollowError>), FollowError> {
        let keys: Vec<String> = published.iter().map(PublishedIndex::manifest_key).collect();
        let manifests: Vec<Result<Vec<u8>, ObjectError>> = match self.store.read_all(&keys) {
            Ok(manifests) => manifests.into_iter().map(Ok).collect(),
            Err(ObjectError::Missing(_) | ObjectError::Io { .. }) => {
                keys.iter().map(|key| self.store.read(key)).collect()
            }
            Err(error) => return Err(error.into()),
        };
        let (mut sized, mut failure) = (Vec::with_capacity(published.len()), None);
        for (index, manifest) in published.iter().zip(manifests) {
            let read = manifest.map_err(FollowError::from);
            match read.and_then(|manifest| Ok((contents(index, &manifest)?.files, manifest))) {
                Ok((files, manifest)) => {
                    sized.push((files.iter().map(|file| file.bytes).sum::<u64>(), index, manifest));
                }
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        sized.sort_by_key(|(bytes, ..)| *bytes);
        Ok((sized, failure))
    }

    /// Opens the local copy of an index while its files arrive. An index must be held open, because opening it removes
    /// files that its manifest does not name.
    fn open(&self, published: &PublishedIndex) -> Option<Here> {
        let instance = &self.following.instance;
        let local = self.has.indexes.iter().find(|local| local.published.folder == published.folder);
        // A server that was the writer has it under the same name.
        let folder = local.map_or(&published.folder, |local| &local.folder).clone();
        let manifest = local.map(|local| local.published.manifest.clone());
        let path = instance.index_folder(&folder);
        let is_published = manifest.as_ref().is_some_and(|manifest| is_in_state(&path, manifest));
        let index = instance.index(&instance.uid_of(&folder)?).ok()?;
        Some(Here { folder, index, is_published, manifest })
    }

    /// Brings an index to its published state; the folder that it is in, under which it may have no name yet.
    fn fetch_index(&self, published: &PublishedIndex) -> Result<FolderName, FollowError> {
        let here = self.open(published);
        if let Some(here) = &here
            && here.manifest.as_ref() == Some(&published.manifest)
            && !self.is_first
        {
            return Ok(here.folder.clone());
        }
        let manifest = self.store.read(&published.manifest_key())?;
        let before = here.as_ref().map(|here| here.folder.clone());
        let folder = self.fetch_folder(published, here, &manifest)?;
        if before.as_ref() != Some(&folder) {
            settle(&self.following.instance.index_folder(&folder))?;
        }
        Ok(folder)
    }

    /// Brings an index, of which this is open here, to the state of its manifest. What is here already moves to it durably; what
    /// comes anew is durable once it is settled.
    fn fetch_folder(
        &self,
        published: &PublishedIndex,
        here: Option<Here>,
        manifest: &[u8],
    ) -> Result<FolderName, FollowError> {
        let files = contents(published, manifest)?.files;
        if let Some(here) = &here
            && self.advance(published, here, (manifest, &files))?
        {
            return Ok(here.folder.clone());
        }
        let Following { instance, queue, .. } = &self.following;
        let (folder, begun) = self.unfinished.folder(&published.folder, instance);
        // Until it has a name, the next start removes it.
        queue.store().intend_folder(&folder)?;
        let path = instance.index_folder(&folder);
        // What an attempt before has fetched is there.
        fs::create_dir_all(&path).map_err(io(&path))?;
        let of_name =
            || instance.folders().into_iter().find(|(uid, _)| *uid == published.uid).map(|(_, folder)| folder);
        for from in here.map(|here| here.folder).or_else(of_name).into_iter().chain(begun) {
            link_common(&files, &instance.index_folder(&from), &path);
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

    /// Brings an index to the state of a manifest in the folder where it is, if that state goes on from what is there. Whether it does.
    ///
    /// # Errors
    /// What may go better the next time.
    fn advance(
        &self,
        published: &PublishedIndex,
        here: &Here,
        (manifest, files): (&[u8], &[NamedFile]),
    ) -> Result<bool, FollowError> {
        let Here { folder, index, is_published, .. } = here;
        let followed = match index.way_to(manifest, *is_published) {
            Ok(Way::Apart) => {
                tracing::info!(index = published.uid, "following another history of an index");
                return Ok(false);
            }
            Ok(Way::On { in_use }) => {
                for path in self.fetch(published, files, folder, Some(&in_use))? {
                    File::open(&path).and_then(|file| file.sync_all()).map_err(io(&path))?;
                }
                index.follow(manifest, *is_published)
            }
            Ok(Way::Here) => index.follow(manifest, *is_published),
            Err(error) => Err(error),
        };
        match followed {
            Ok(()) => {
                self.unfinished.arrived(folder);
                Ok(true)
            }
            Err(error) if error.is_momentary() => Err(error.into()),
            // A damaged segment is set aside until the index is opened anew. What is sound is linked.
            Err(error) => {
                tracing::error!(index = published.uid, %error, "fetching an index again");
                Ok(false)
            }
        }
    }

    /// Returns the local folder of the index that is published in `folder`, if there is one.
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
        let (wanted, bell): (Vec<Wanted>, _) = (wanted.collect(), &*self.bell);
        let needed: u64 = wanted.iter().map(|file| file.bytes).sum();
        if needed > 0 {
            has_room(needed, free_bytes(&path).map_err(io(&path))?)?;
        }
        match self.store.fetch_all(&wanted, &|| !bell.is_stopped()).map_err(FollowError::from) {
            // It may be another file that has no room then.
            Err(error) if error.is_full_disk() => {
                wanted.iter().for_each(|file| drop(fs::remove_file(staging_path(&file.path))));
                return Err(FollowError::NoRoom(error.to_string()));
            }
            fetched => fetched?,
        }
        Ok(others.into_iter().map(|(_, path)| path).collect())
    }
}

/// Local copy of a published index.
struct Here {
    folder: FolderName,
    index: Arc<Index>,
    /// True if a followed state has the file.
    is_published: bool,
    /// Manifest that was followed last, if any was.
    manifest: Option<PublishedManifest>,
}

/// The bytes of the files of an index, and its manifest.
type WithSize<'a> = (u64, &'a PublishedIndex, Vec<u8>);

/// Reads the manifest of an index, if it is the one that was published.
fn contents(published: &PublishedIndex, manifest: &[u8]) -> Result<ManifestContents, FollowError> {
    if crc32fast::hash(manifest) != published.manifest.checksum {
        let reason = "its checksum does not match";
        return Err(ObjectError::Damaged { key: published.manifest_key(), reason }.into());
    }
    Ok(ManifestContents::read(manifest)?)
}

/// Reports whether a file exists as published.
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
