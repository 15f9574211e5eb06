//! An index that was built without a server, alone in a store: replicas can follow it, and a server can attach it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lamina_base::options::{ObjectStorageOptions, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_base::stored_names::FolderName;
use lamina_data::tasks::free_bytes;
use lamina_engine::index::{IndexError, ManifestContents, Snapshot, place_manifest};
use uuid::Uuid;

use super::chain::{Chain, Holder, Setback, newest_root};
use super::root::Root;
use super::state::{Body, State};
use super::store::{ObjectError, ObjectStore, Wanted, blocking, settle};

/// The generation that replicas of such a store show.
const GENERATION: u32 = 0;

/// A store for one built index, or for several below it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BuiltStore {
    store: ObjectStore,
}

fn refused(text: impl Into<String>) -> ObjectError {
    ObjectError::Refused(text.into())
}

fn of_index(error: IndexError) -> ObjectError {
    refused(error.to_string())
}

fn taken_over(setback: Setback) -> ObjectError {
    match setback {
        Setback::TakenOver => ObjectError::TakenOver("another process publishes to this store"),
        Setback::Object(error) => error,
    }
}

/// Reports whether a root is empty, which is what a build leaves that ended before it published.
fn is_blank(root: &Root) -> bool {
    root.indexes.is_empty() && root.generation.is_none() && root.carried.is_none() && root.journal.is_none()
}

impl BuiltStore {
    /// # Errors
    /// [`ObjectError::Storage`] where the options of the store are not complete.
    pub fn open(
        address: &StoreAddress,
        options: &ObjectStorageOptions,
        outbound: &Outbound,
    ) -> Result<BuiltStore, ObjectError> {
        Ok(BuiltStore { store: ObjectStore::open(address, options, outbound, Arc::default())? })
    }

    /// The store in the folder `name` of this one.
    pub fn below(&self, name: &str) -> BuiltStore {
        BuiltStore { store: self.store.below(name) }
    }

    /// Checks that the store can be used, and that nothing has been published there.
    ///
    /// # Errors
    /// [`ObjectError::Unfit`], [`ObjectError::Refused`], or what the store says.
    pub fn check_unused(&self) -> Result<(), ObjectError> {
        self.store.probe()?;
        self.unused_root().map(drop)
    }

    fn unused_root(&self) -> Result<Root, ObjectError> {
        match blocking(newest_root(&self.store, 0))? {
            None => Ok(Root::none()),
            Some(root) if is_blank(&root) => Ok(root),
            Some(_) => Err(refused("something has been published to this store already: choose another prefix")),
        }
    }

    /// Publishes an index, which is in `folder`, under the name `uid`.
    ///
    /// # Errors
    /// The errors of [`BuiltStore::check_unused`], and what the index says. Nothing can be followed or attached then.
    pub fn publish(&self, uid: &str, snapshot: &Snapshot, folder: &Path) -> Result<(), ObjectError> {
        let who = Holder { uid: Uuid::new_v4(), nonce: Uuid::new_v4(), url: None, takeover_after: None::<Duration> };
        let files = snapshot.named_files().map_err(of_index)?.into_iter();
        let state = State {
            uid: uid.to_owned(),
            folder: FolderName::random(),
            generation: snapshot.generation,
            manifest: snapshot.to_manifest().map_err(of_index)?,
            files: files.map(|file| (file.clone(), Body::File(folder.join(&file.name)))).collect(),
            shared: BTreeMap::new(),
        };
        let last = self.unused_root()?;
        let mut chain = blocking(Chain::take_over(self.store.clone(), who, last)).map_err(taken_over)?;
        let index = blocking(chain.put_index(&state)).map_err(taken_over)?;
        let next_batch = GENERATION + 1;
        let root = Root { generation: Some(GENERATION), next_batch, indexes: vec![index], ..Root::none() };
        blocking(chain.publish(root, false)).map_err(taken_over).map(drop)
    }

    /// Fetches the only index of the store into the folder `into`, which exists, while `goes_on`. Durable when this returns.
    ///
    /// # Errors
    /// [`ObjectError::Refused`] where there is not one index, [`ObjectError::Damaged`], or what the store says.
    pub fn fetch(&self, into: &Path, goes_on: &(dyn Fn() -> bool + Sync)) -> Result<(), ObjectError> {
        if self.store.is_link() {
            return Err(refused("it is a link, which may lead anywhere: put the folder itself there"));
        }
        let root = blocking(newest_root(&self.store, 0))?.filter(|root| !is_blank(root));
        let root = root.ok_or_else(|| refused("nothing has been published there"))?;
        let [index] = root.indexes.as_slice() else {
            let count = root.indexes.len();
            return Err(refused(format!("there are {count} indexes, and not one that `lamina build` has made")));
        };
        let manifest = self.store.read(&index.manifest_key())?;
        if crc32fast::hash(&manifest) != index.manifest.checksum {
            return Err(ObjectError::Damaged { key: index.manifest_key(), reason: "its checksum does not match" });
        }
        let contents = ManifestContents::read(&manifest).map_err(of_index)?;
        // Before room for its pieces is made in memory: the store may say anything.
        let needed: u64 = contents.files.iter().map(|file| file.bytes).sum();
        let free = free_bytes(into).map_err(|source| ObjectError::Io { path: into.to_owned(), source })?;
        if needed > free {
            let text = format!("its files have {needed} bytes, and {free} bytes are free");
            let source = std::io::Error::new(std::io::ErrorKind::StorageFull, text);
            return Err(ObjectError::Io { path: into.to_owned(), source });
        }
        let wanted = contents.files.iter().map(|file| Wanted {
            key: index.file_key(file),
            bytes: file.bytes,
            checksum: file.checksum,
            path: into.join(&file.name),
        });
        self.store.fetch_all(&wanted.collect::<Vec<_>>(), goes_on)?;
        place_manifest(into, &manifest).map_err(of_index)?;
        settle(into)
    }
}
