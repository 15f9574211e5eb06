//! What a store holds, for people who look after it: `lamina store`.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use lamina_base::options::{ObjectStorageOptions, StoreAddress};
use lamina_base::outbound::Outbound;
use lamina_engine::index::{ManifestContents, NamedFile};
use serde_json::{Value, json};
use uuid::Uuid;

use super::chain::{Chain, Holder, Setback, newest_root};
use super::journal::{JOURNAL, PAYLOADS, Record, record_number};
use super::root::{INDEXES, PublishedIndex, ROOTS, Root};
use super::shared_state::{SharedState, shared_state_key};
use super::store::{Leftover, ObjectError, ObjectStore, blocking};

/// The state that a store has, and the objects that are there.
pub struct Inventory {
    store: ObjectStore,
    root: Root,
    root_count: usize,
    indexes: Vec<(PublishedIndex, Manifest)>,
    objects: BTreeSet<String>,
    journal: Waiting,
    leftovers: Vec<Leftover>,
}

/// Content of the journal that the newest root does not cover.
#[derive(Debug, Default)]
struct Waiting {
    /// Objects of the journal, fences and documents included.
    objects: usize,
    /// Records that may be needed by who takes over.
    records: usize,
    tasks: usize,
    /// Key and reason.
    damaged: Vec<(String, String)>,
}

impl Waiting {
    fn read(store: &ObjectStore, root: &Root) -> Result<Waiting, ObjectError> {
        let records = keys(store, JOURNAL)?;
        let mut found = Waiting { objects: records.len() + keys(store, PAYLOADS)?.len(), ..Waiting::default() };
        let Some(position) = &root.journal else { return Ok(found) };
        for (key, number) in records.iter().filter_map(|key| Some((key, record_number(key)?))) {
            if number < position.from {
                continue;
            }
            match store.read(key).and_then(|bytes| Record::read(number, &bytes)) {
                Ok(record) => {
                    let uncovered = record.tasks.iter().filter_map(|(task, _)| task.uid);
                    let count = uncovered.filter(|uid| !position.covers(*uid)).count();
                    found.records += usize::from(count > 0);
                    found.tasks += count;
                }
                // A publication has covered it meanwhile.
                Err(ObjectError::Missing(_)) => {}
                Err(error @ ObjectError::Damaged { .. }) => found.damaged.push((key.clone(), error.to_string())),
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }
}

/// Files named by the manifest of an index, or the reason why they are unknown.
type Manifest = Result<Vec<NamedFile>, String>;

/// Something that is not as it was published.
#[derive(Debug)]
pub struct Damage {
    /// Key of the object.
    pub key: String,
    /// Description of the damage.
    pub reason: String,
}

impl Inventory {
    /// Reads roots, manifests and the list of all objects; `None` where nothing was published.
    ///
    /// # Errors
    /// What the store says.
    pub fn take(
        address: &StoreAddress,
        options: &ObjectStorageOptions,
        outbound: &Outbound,
    ) -> Result<Option<Inventory>, ObjectError> {
        let store = ObjectStore::open(address, options, outbound, Arc::default())?;
        let Some(root) = blocking(newest_root(&store, 0))? else { return Ok(None) };
        // After the root: what it names is there by then.
        let objects = keys(&store, INDEXES)?;
        let root_count = keys(&store, ROOTS)?.len();
        let indexes = root.indexes.iter().map(|index| (index.clone(), manifest(&store, index))).collect();
        let journal = Waiting::read(&store, &root)?;
        let leftovers = store.leftovers()?;
        Ok(Some(Inventory { store, root, root_count, indexes, objects, journal, leftovers }))
    }

    /// Returns the inventory as JSON.
    pub fn show(&self) -> Value {
        let indexes = self.indexes.iter().map(|(index, files)| {
            let files = files.as_ref();
            json!({
                "uid": index.uid,
                "generation": index.manifest.generation,
                "files": files.map_or(0, Vec::len),
                "bytes": files.map_or(0, |files| total_bytes(files)),
                "folder": index.folder,
            })
        });
        json!({
            "root": self.root.number,
            "roots": self.root_count,
            "epoch": self.root.epoch,
            "writer": self.root.writer,
            "batch": self.root.generation,
            "takeoverAfterMs": self.root.takeover_after_ms,
            "keys": self.root.keys.len(),
            "indexes": indexes.collect::<Vec<_>>(),
            "journal": self.root.journal.as_ref().map(|_| json!({
                "objects": self.journal.objects,
                "waitingRecords": self.journal.records,
                "waitingTasks": self.journal.tasks,
                "damaged": self.journal.damaged.len(),
            })),
            "objects": self.objects.len(),
            "unnamed": self.unnamed().len(),
            "unfinished": {
                "files": self.leftovers.len(),
                "bytes": self.leftovers.iter().map(|file| file.bytes).fold(0, u64::saturating_add),
                "old": self.unfinished().count(),
            },
        })
    }

    fn named(&self) -> BTreeSet<String> {
        let mut named: BTreeSet<String> = self.root.carried.iter().map(|name| shared_state_key(name)).collect();
        for (index, files) in &self.indexes {
            named.insert(index.manifest_key());
            named.extend(files.iter().flatten().map(|file| index.file_key(file)));
        }
        named
    }

    /// Objects that the newest root does not name: what is being published, what merges have left for an hour, and remains of
    /// uploads that were cut short.
    pub fn unnamed(&self) -> Vec<&String> {
        let named = self.named();
        self.objects.iter().filter(|key| !named.contains(*key)).collect()
    }

    /// Files in a folder that never got their keys, and have not changed for a day.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.leftovers.iter().filter(|file| file.is_old).map(|file| file.name.as_str())
    }

    /// Number of objects that the newest root names.
    pub fn named_count(&self) -> usize {
        self.named().len()
    }

    /// Reads every object that the newest root names, and compares it with its length and its checksum.
    ///
    /// # Errors
    /// What the store says of anything but the objects.
    pub fn verify(&self, mut found: impl FnMut(Damage)) -> Result<(), ObjectError> {
        for (key, reason) in &self.journal.damaged {
            found(Damage { key: key.clone(), reason: reason.clone() });
        }
        if let Some(name) = &self.root.carried {
            let key = shared_state_key(name);
            let read = self.store.read(&key).and_then(|bytes| SharedState::read(name, &bytes));
            judge(&key, read.map(drop), &mut found)?;
        }
        for (index, files) in &self.indexes {
            match files {
                Err(reason) => found(Damage { key: index.manifest_key(), reason: reason.clone() }),
                Ok(files) => {
                    for file in files {
                        let key = index.file_key(file);
                        judge(&key, self.compare(&key, file), &mut found)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn compare(&self, key: &str, file: &NamedFile) -> Result<(), ObjectError> {
        let nowhere = Path::new("/dev/null");
        let mut sink = File::options()
            .write(true)
            .open(nowhere)
            .map_err(|source| ObjectError::Io { path: nowhere.to_owned(), source })?;
        let checksum = self.store.fetch(key, file.bytes, &mut sink, nowhere)?;
        if checksum == file.checksum {
            return Ok(());
        }
        Err(ObjectError::Damaged { key: key.to_owned(), reason: "its checksum does not match" })
    }

    /// Removes what the newest root does not name, and what is [unfinished](Self::unfinished). First it creates a root of its own, which changes nothing but that a server
    /// which publishes at that moment does not any more. Returns how many objects.
    ///
    /// # Errors
    /// What the store says; [`ObjectError::TakenOver`] when a server publishes meanwhile.
    pub fn remove_unnamed(self) -> Result<usize, ObjectError> {
        let damaged = self.indexes.iter().find_map(|(index, files)| Some((index, files.as_ref().err()?)));
        if let Some((index, reason)) = damaged {
            let key = index.manifest_key();
            return Err(ObjectError::Refused(format!(
                "`{key}`: {reason}. What it names is not known: nothing is removed"
            )));
        }
        let named = self.named();
        let who = Holder {
            uid: self.root.holder,
            nonce: Uuid::new_v4(),
            url: self.root.writer.clone(),
            takeover_after: self.root.takeover_after(),
        };
        let taken_over = |setback| match setback {
            Setback::TakenOver => {
                ObjectError::TakenOver("a server publishes to this store. It removes by itself what is not needed")
            }
            Setback::Object(error) => error,
        };
        let mut chain = blocking(Chain::take_over(self.store.clone(), who, self.root)).map_err(taken_over)?;
        blocking(chain.survey()).map_err(taken_over)?;
        let removed = blocking(chain.remove_all_but(&named)).map_err(taken_over)?;
        Ok(removed + self.store.remove_leftovers()?)
    }
}

/// Damage of an object is found; that the store does not answer is an error.
fn judge(key: &str, result: Result<(), ObjectError>, found: &mut impl FnMut(Damage)) -> Result<(), ObjectError> {
    match result {
        Err(error @ (ObjectError::Missing(_) | ObjectError::Damaged { .. })) => {
            found(Damage { key: key.to_owned(), reason: error.to_string() });
            Ok(())
        }
        other => other,
    }
}

fn manifest(store: &ObjectStore, index: &PublishedIndex) -> Manifest {
    let bytes = store.read(&index.manifest_key()).map_err(|error| error.to_string())?;
    if crc32fast::hash(&bytes) != index.manifest.checksum {
        return Err("its checksum does not match".to_owned());
    }
    ManifestContents::read(&bytes).map(|contents| contents.files).map_err(|error| error.to_string())
}

/// Sums the sizes of files that a manifest names. They may have any value.
fn total_bytes(files: &[NamedFile]) -> u64 {
    files.iter().map(|file| file.bytes).fold(0, u64::saturating_add)
}

/// All keys that begin with `folder`.
fn keys(store: &ObjectStore, folder: &str) -> Result<BTreeSet<String>, ObjectError> {
    let (mut found, mut last) = (BTreeSet::new(), folder.to_owned());
    loop {
        let keys = store.list(folder, &last)?;
        let Some(key) = keys.last() else { return Ok(found) };
        last.clone_from(key);
        found.extend(keys);
    }
}
