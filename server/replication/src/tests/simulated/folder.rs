//! A folder of an index: manifests, kept ones, and files that stay for as long as a state or a reader has them.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use lamina_engine::index::{History, NamedFile};
use serde::{Deserialize, Serialize};

use super::before::Old;
use super::counts::Counts;

/// Manifest in the simulation.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Manifest {
    pub(super) generation: u64,
    pub(super) contents: u64,
    pub(super) ancestors: Vec<u64>,
    pub(super) next_segment: u64,
    /// Name, length, checksum.
    pub(super) files: Vec<(String, u64, u32)>,
}

impl Manifest {
    pub(super) fn history(&self) -> History {
        History { generation: self.generation, created_at: 0, ancestors: self.ancestors.clone().into() }
    }

    pub(super) fn named_files(&self) -> Vec<NamedFile> {
        let named = |(name, bytes, checksum): &(String, u64, u32)| NamedFile {
            name: name.clone(),
            bytes: *bytes,
            checksum: *checksum,
        };
        self.files.iter().map(named).collect()
    }

    /// Returns the least id of a segment that is above all that it names.
    pub(super) fn next_id(&self) -> u64 {
        self.files.iter().map(|(name, ..)| next_id(name)).max().unwrap_or(0)
    }

    pub(super) fn checksum(&self) -> u32 {
        crc32fast::hash(&self.to_bytes())
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("names and numbers are JSON")
    }
}

/// A state of an index as a server can read it: its number, that of its last merge, and what is in it.
pub(super) struct Readable {
    pub(super) uid: &'static str,
    pub(super) contents: u64,
    pub(super) generation: u64,
    pub(super) tasks: BTreeSet<u32>,
}

/// A file of a segment: tasks. No two files have the same identity.
#[derive(Clone)]
struct File {
    identity: u64,
    checksum: u32,
    tasks: Rc<BTreeSet<u32>>,
}

/// Content of the folder of an index. The newest manifest is the index.
#[derive(Clone, Default)]
pub(super) struct Folder {
    files: BTreeMap<String, File>,
    manifests: BTreeMap<u64, Manifest>,
    pub(super) kept: Vec<Manifest>,
    /// Files that long readers hold, by name and identity. Some of them belong to no state any more.
    readers: Vec<BTreeMap<(String, u64), bool>>,
    identities: u64,
}

impl Folder {
    /// Returns a copy for a clone, which shares files.
    pub(super) fn linked(&self) -> Folder {
        Folder { kept: Vec::new(), readers: Vec::new(), ..self.clone() }
    }

    pub(super) fn has_state(&self) -> bool {
        !self.manifests.is_empty() || !self.kept.is_empty()
    }

    /// Returns the newest manifest, which is what opening an index finds.
    pub(super) fn present(&self) -> &Manifest {
        self.manifests.values().next_back().expect("an index has a manifest")
    }

    pub(super) fn place(&mut self, manifest: Manifest) {
        self.manifests.insert(manifest.generation, manifest);
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name)
    }

    /// Puts a file under this name, in place of one that may have it. Returns what it is in a manifest.
    pub(super) fn put(&mut self, name: String, tasks: BTreeSet<u32>) -> (String, u64, u32) {
        let bytes = content(&tasks);
        let checksum = crc32fast::hash(&bytes);
        self.identities += 1;
        self.files.insert(name.clone(), File { identity: self.identities, checksum, tasks: Rc::new(tasks) });
        (name, bytes.len() as u64, checksum)
    }

    /// Returns whether it has this file.
    pub(super) fn has_same(&self, file: &NamedFile) -> bool {
        self.files.get(&file.name).is_some_and(|found| found.checksum == file.checksum)
    }

    pub(super) fn file(&self, name: &str) -> &BTreeSet<u32> {
        &self.found(name).tasks
    }

    fn found(&self, name: &str) -> &File {
        self.files.get(name).unwrap_or_else(|| panic!("`{name}` is gone"))
    }

    pub(super) fn tasks(&self, manifest: &Manifest) -> BTreeSet<u32> {
        manifest.files.iter().flat_map(|(name, ..)| self.file(name)).copied().collect()
    }

    /// Returns the files of all states.
    pub(super) fn used(&self) -> Vec<NamedFile> {
        self.manifests.values().chain(&self.kept).flat_map(Manifest::named_files).collect()
    }

    /// Makes `new` the present state. The one before is kept, if it was another one, as long as there is room.
    pub(super) fn replace(&mut self, new: Manifest, keeps: usize, counts: &mut Counts) {
        let old = self.present().clone();
        self.manifests.remove(&old.generation);
        if old.contents != new.contents {
            self.kept.push(old);
        }
        if self.kept.len() > keeps {
            self.kept.remove(0);
        }
        self.place(new);
        let states = self.manifests.values().chain(&self.kept);
        let named: BTreeSet<&String> = states.flat_map(|state| &state.files).map(|(name, ..)| name).collect();
        let readers = &mut self.readers;
        self.files.retain(|name, file| {
            if named.contains(name) {
                return true;
            }
            let mut is_read = false;
            for is_over in readers.iter_mut().filter_map(|reader| reader.get_mut(&(name.clone(), file.identity))) {
                (*is_over, is_read) = (true, true);
            }
            counts.read_on += u64::from(is_read);
            is_read
        });
    }

    /// Has a reader begin with the present state, and stay.
    pub(super) fn begin_to_read(&mut self) {
        let of = |(name, ..): &(String, u64, u32)| ((name.clone(), self.found(name).identity), false);
        let files = self.present().files.iter().map(of).collect();
        self.readers.push(files);
    }

    /// Ends the first reader, and removes what it alone has had.
    pub(super) fn end_to_read(&mut self, old: &[Old], counts: &mut Counts) {
        if self.readers.is_empty() {
            return;
        }
        for (file, is_over) in self.readers.remove(0) {
            if !is_over || self.readers.iter().any(|reader| reader.contains_key(&file)) {
                continue;
            }
            match self.files.get(&file.0) {
                Some(found) if found.identity == file.1 || old.contains(&Old::Guards) => {
                    drop(self.files.remove(&file.0));
                }
                _ => counts.passed_over += 1,
            }
        }
    }

    /// Starts another process: readers are gone, and what no state has goes.
    pub(super) fn start(&mut self) {
        self.readers.clear();
        let named: BTreeSet<String> = self.used().into_iter().map(|file| file.name).collect();
        self.files.retain(|name, _| named.contains(name));
    }

    /// Returns the least id of a segment that is above all that are here.
    pub(super) fn next_segment(&self) -> u64 {
        self.files.keys().map(|name| next_id(name)).max().unwrap_or(0)
    }
}

/// Returns what is in a file.
pub(super) fn content(tasks: &BTreeSet<u32>) -> Vec<u8> {
    serde_json::to_vec(tasks).expect("numbers are JSON")
}

/// Returns the id behind that of a segment.
fn next_id(name: &str) -> u64 {
    name.strip_prefix("seg-").and_then(|id| id.parse::<u64>().ok()).map_or(0, |id| id + 1)
}
