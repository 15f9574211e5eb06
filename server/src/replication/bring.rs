//! How a follower brings indexes to their published states: damage of one keeps no other one from going on.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_engine::index::{Followed, Index, ManifestContents, NamedFile, place_manifest};

use super::brought::{Brought, FollowError, has_room, io};
use super::carried::Carried;
use super::follow::{Following, Run};
use super::remembered::Local;
use super::root::{PublishedIndex, PublishedManifest, Root};
use super::store::{ObjectError, Wanted, settle, unfinished_path};
use super::unfinished::{link_clone, link_common};
use crate::instance::Coming;
use crate::payload::free_bytes;
use crate::stored_names::FolderName;

impl Run {
    /// Brings all that can be brought.
    pub(super) fn bring_all(&self, published: &[PublishedIndex]) -> Brought {
        let mut brought = Brought::default();
        for published in published {
            let error = match self.bring(published) {
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
    fn keep_others(&self, published: &[PublishedIndex], brought: &mut Brought) {
        for local in &self.has.indexes {
            let Local { published: before, .. } = local;
            let is_published = published.iter().any(|published| published.folder == before.folder);
            if !is_published && brought.indexes.iter().all(|other| other.published.uid != before.uid) {
                brought.missing.remove(&before.uid);
                brought.indexes.push(local.clone());
            }
        }
    }

    /// Brings the indexes to a server that has nothing, small ones first, and shows each as soon as it is here: keys and what else
    /// belongs to all of them come before. Each is durable a moment later; a machine that stops before that has nothing of it.
    ///
    /// # Errors
    /// The first one that kept an index from coming; the others are here.
    pub(super) fn bring_one_by_one(&self, root: &Root, carried: Option<&Carried>) -> Result<Vec<Local>, FollowError> {
        let (instance, queue) = (&self.following.instance, &self.following.queue);
        // What an attempt before has brought is here.
        let is_published = |(uid, folder): &(String, FolderName)| {
            root.indexes.iter().any(|index| (&index.uid, &index.folder) == (uid, folder))
        };
        let mut names: Vec<(String, FolderName)> = instance.folders().into_iter().filter(is_published).collect();
        names.iter().try_for_each(|(_, folder)| settle(&instance.index_folder(folder)))?;
        let (sized, mut failure) = self.by_size(&root.indexes)?;
        let mut brought: Vec<Local> = Vec::with_capacity(sized.len());
        for place in 0..=sized.len() {
            let is_coming = |published: &&PublishedIndex| names.iter().all(|(uid, _)| *uid != published.uid);
            let coming = root.indexes.iter().filter(is_coming).map(|published| published.uid.clone()).collect();
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
            match folder {
                Ok(folder) => {
                    names.retain(|(uid, _)| *uid != published.uid);
                    names.push((published.uid.clone(), folder.clone()));
                    brought.push(Local { folder, published: (*published).clone() });
                }
                Err(error) if self.bell.is_stopped() => return Err(error),
                Err(error) => drop(failure.get_or_insert(error)),
            }
        }
        failure.map_or(Ok(brought), Err)
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
        match open.map(|(local, index)| (local.folder, index.snapshot().named_files(), index)) {
            Some((folder, Ok(have), index)) => {
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
            // A damaged segment is set aside until the index is opened anew. What is sound is linked.
            Some((folder, Err(_), _)) => before = Some((instance.index_folder(&folder), Vec::new())),
            None => {}
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
        let (wanted, bell): (Vec<Wanted>, _) = (wanted.collect(), &*self.bell);
        let needed: u64 = wanted.iter().map(|file| file.bytes).sum();
        if needed > 0 {
            has_room(needed, free_bytes(&path).map_err(io(&path))?)?;
        }
        match self.store.fetch_all(&wanted, &|| !bell.is_stopped()).map_err(FollowError::from) {
            // It may be another file that has no room then.
            Err(error) if error.is_full_disk() => {
                wanted.iter().for_each(|file| drop(fs::remove_file(unfinished_path(&file.path))));
                return Err(FollowError::NoRoom(error.to_string()));
            }
            fetched => fetched?,
        }
        Ok(others.into_iter().map(|(_, path)| path).collect())
    }
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
