//! A database as small as one can be: two indexes whose segments hold numbers of tasks. Which folder a state goes to, and which numbers come
//! next, the same functions say as for real indexes.

use std::collections::{BTreeMap, BTreeSet};

use lamina_engine::index::{History, NamedFile, Way, next_number};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::replication::root::{PublishedIndex, PublishedManifest, Root};
use crate::replication::state::{Body, State};
use crate::replication::unfinished::{InFolder, folder_for};
use crate::stored_names::FolderName;
use crate::tasks::{Content, NewTask};

/// What a manifest is here.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    generation: u64,
    contents: u64,
    ancestors: Vec<u64>,
    next_segment: u64,
    /// Name, length, checksum.
    files: Vec<(String, u64, u32)>,
}

/// What a folder of an index holds. The newest manifest is the index.
#[derive(Clone, Default)]
struct Folder {
    /// Tasks by the name of the segment.
    files: BTreeMap<String, BTreeSet<u32>>,
    manifests: BTreeMap<u64, Manifest>,
    kept: Vec<Manifest>,
}

/// An index of a server, on its disk, and now and then a clone of it.
#[derive(Clone)]
pub(super) struct Index {
    uid: &'static str,
    folder: FolderName,
    folders: BTreeMap<FolderName, Folder>,
    /// Folders that this process has begun to fill, by where the state is published.
    filling: BTreeMap<FolderName, FolderName>,
    /// Where a published index is, and in which state it was followed.
    followed: BTreeMap<FolderName, (FolderName, PublishedManifest)>,
    /// The least number that the process gives.
    first: u64,
    next_segment: u64,
    clone: Option<Box<Index>>,
}

/// The indexes of a server.
#[derive(Clone)]
pub(super) struct Indexes {
    pub(super) films: Index,
    pub(super) books: Index,
    /// The files of books cannot be sent.
    pub(super) is_damaged: bool,
}

/// States that are kept beside the present one.
const KEPT: usize = 4;

/// Whether a task is about books.
pub(super) fn is_of_books(task: u32) -> bool {
    task % 3 == 2
}

impl Indexes {
    /// `number` gives numbers of folders that were never used.
    pub(super) fn new(mut number: impl FnMut() -> u64) -> Indexes {
        Indexes { films: Index::new("films", number()), books: Index::new("books", number()), is_damaged: false }
    }

    pub(super) fn of(&mut self, task: u32) -> &mut Index {
        if is_of_books(task) { &mut self.books } else { &mut self.films }
    }

    /// The process is the writer of an epoch, whose first number this is.
    pub(super) fn number_from(&mut self, first: u64) {
        (self.films.first, self.books.first) = (first, first);
    }

    /// Another process: what has no name, or is not finished, is removed.
    pub(super) fn start(&mut self) {
        self.films.remove_unnamed();
        self.books.remove_unnamed();
    }
}

fn folder(number: u64) -> FolderName {
    FolderName::try_from(Uuid::from_u64_pair(7, number).to_string()).expect("a UUID is the name of a folder")
}

fn content(tasks: &BTreeSet<u32>) -> Vec<u8> {
    serde_json::to_vec(tasks).expect("numbers are JSON")
}

/// What a manifest names.
pub(super) fn names(manifest: &[u8]) -> Option<Vec<NamedFile>> {
    let manifest: Manifest = serde_json::from_slice(manifest).ok()?;
    let named = |(name, bytes, checksum)| NamedFile { name, bytes, checksum };
    Some(manifest.files.into_iter().map(named).collect())
}

/// The keys of all objects that a root names.
pub(super) fn keys_of(root: &Root, objects: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for index in &root.indexes {
        let manifest = objects.get(&index.manifest_key());
        let files = manifest.and_then(|manifest| names(manifest)).unwrap_or_default();
        keys.extend(files.iter().map(|file| index.file_key(file)));
        keys.insert(index.manifest_key());
    }
    keys
}

/// The tasks of a root all of whose objects are there.
pub(super) fn tasks_of(root: &Root, objects: &BTreeMap<String, Vec<u8>>) -> BTreeSet<u32> {
    let mut tasks = BTreeSet::new();
    for index in &root.indexes {
        for file in names(&objects[&index.manifest_key()]).expect("a manifest") {
            let segment: BTreeSet<u32> = serde_json::from_slice(&objects[&index.file_key(&file)]).expect("a segment");
            tasks.extend(segment);
        }
    }
    tasks
}

impl Folder {
    /// Of the newest manifest, which is what opening an index finds.
    fn present(&self) -> &Manifest {
        self.manifests.values().next_back().expect("an index has a manifest")
    }

    fn tasks(&self, manifest: &Manifest) -> BTreeSet<u32> {
        let of = |(name, ..): &(String, u64, u32)| {
            self.files
                .get(name)
                .unwrap_or_else(|| panic!("`{name}` is gone, a file of generation {}", manifest.generation))
        };
        manifest.files.iter().flat_map(of).copied().collect()
    }

    fn named(&self) -> BTreeMap<&String, u32> {
        let states = self.manifests.values().chain(&self.kept);
        states.flat_map(|state| &state.files).map(|(name, _, checksum)| (name, *checksum)).collect()
    }

    /// Makes `new` the present state. The one before is kept, if it was another one, as long as there is room.
    fn replace(&mut self, new: Manifest) {
        let old = self.present().clone();
        self.manifests.remove(&old.generation);
        if old.contents != new.contents {
            self.kept.push(old);
        }
        if self.kept.len() > KEPT {
            self.kept.remove(0);
        }
        self.manifests.insert(new.generation, new);
        let named: BTreeSet<String> = self.named().into_keys().cloned().collect();
        self.files.retain(|name, _| named.contains(name));
    }
}

fn history(manifest: &Manifest) -> History {
    History { generation: manifest.generation, created_at: 0, ancestors: manifest.ancestors.clone().into() }
}

fn checksum(manifest: &Manifest) -> u32 {
    crc32fast::hash(&serde_json::to_vec(manifest).expect("names and numbers are JSON"))
}

impl Index {
    pub(super) fn new(uid: &'static str, number: u64) -> Index {
        let first = Manifest { generation: 0, contents: 0, ancestors: Vec::new(), next_segment: 0, files: Vec::new() };
        let of_first = Folder { manifests: BTreeMap::from([(0, first)]), ..Folder::default() };
        Index {
            uid,
            folder: folder(number),
            folders: BTreeMap::from([(folder(number), of_first)]),
            filling: BTreeMap::new(),
            followed: BTreeMap::new(),
            first: 0,
            next_segment: 0,
            clone: None,
        }
    }

    fn here(&self) -> &Folder {
        &self.folders[&self.folder]
    }

    /// Makes a clone in the place of the one before. `number`: of a folder that was never used.
    pub(super) fn make_clone(&mut self, number: u64) {
        let own = Folder { kept: Vec::new(), ..self.here().clone() };
        let folders = BTreeMap::from([(folder(number), own)]);
        let clone = Index { uid: "clone", folder: folder(number), folders, clone: None, ..self.clone() };
        self.clone = Some(Box::new(clone));
    }

    pub(super) fn remove_clone(&mut self) {
        self.clone = None;
    }

    pub(super) fn has(&self, task: u32) -> bool {
        self.here().tasks(self.here().present()).contains(&task)
    }

    /// The states that can be read, the present one last: their numbers, and what is in them.
    pub(super) fn readable(&self) -> impl Iterator<Item = (&'static str, u64, BTreeSet<u32>)> + '_ {
        let here = self.here();
        let of = |state: &Manifest| (self.uid, state.contents, here.tasks(state));
        here.kept.iter().chain([here.present()]).map(of)
    }

    /// Commits a task.
    pub(super) fn commit(&mut self, task: u32) {
        let files = self.here().present().files.clone();
        self.add([task].into(), files, true);
    }

    fn add(&mut self, tasks: BTreeSet<u32>, mut files: Vec<(String, u64, u32)>, is_changed: bool) {
        let id = self.next_segment.max(self.first);
        self.next_segment = id + 1;
        let (name, bytes, before) = (format!("seg-{id}"), content(&tasks), self.here().present().clone());
        let there = self.folders.get_mut(&self.folder).expect("it is named");
        assert!(there.files.insert(name.clone(), tasks).is_none(), "File exists: `{name}`");
        files.push((name, bytes.len() as u64, crc32fast::hash(&bytes)));
        let generation = next_number(before.generation, self.first);
        let contents = if is_changed { generation } else { before.contents };
        let ancestors = history(&before).ancestors_of(generation).to_vec();
        there.replace(Manifest { generation, contents, ancestors, next_segment: id + 1, files });
    }

    /// Joins all segments.
    pub(super) fn merge(&mut self) {
        let present = self.here().present();
        if present.files.len() > 1 {
            let all = self.here().tasks(present);
            self.add(all, Vec::new(), false);
        }
    }

    /// Deletes all, and brings all back: what a user does who restores the state before. The files have the names that they had.
    pub(super) fn clear_and_restore(&mut self) {
        let before = self.here().present().clone();
        if before.files.is_empty() {
            return;
        }
        for files in [Vec::new(), before.files] {
            let present = self.here().present().clone();
            let generation = next_number(present.generation, self.first);
            let ancestors = history(&present).ancestors_of(generation).to_vec();
            let next_segment = self.next_segment;
            let there = self.folders.get_mut(&self.folder).expect("it is named");
            there.replace(Manifest { generation, contents: generation, ancestors, next_segment, files });
        }
    }

    /// Of the index, and of its clone, in the order in which they are put.
    pub(super) fn states(&self) -> Vec<State> {
        let clone = self.clone.iter().map(|clone| {
            let shared = clone.here().present().files.iter().map(|(name, ..)| (name.clone(), self.folder.clone()));
            State { shared: shared.collect(), ..clone.state() }
        });
        clone.chain([self.state()]).collect()
    }

    /// The index as the newest root names it, if it does.
    pub(super) fn published(&self, last: &Root) -> Option<PublishedIndex> {
        let of_folder = last.indexes.iter().find(|index| index.folder == self.folder);
        of_folder.or_else(|| last.indexes.iter().find(|index| index.uid == self.uid)).cloned()
    }

    fn state(&self) -> State {
        let present = self.here().present();
        let files = present.files.iter().map(|(name, bytes, checksum)| {
            let file = NamedFile { name: name.clone(), bytes: *bytes, checksum: *checksum };
            (file, Body::Bytes(content(&self.here().files[name])))
        });
        State {
            uid: self.uid.to_owned(),
            folder: self.folder.clone(),
            generation: present.generation,
            manifest: serde_json::to_vec(present).expect("names and numbers are JSON"),
            files: files.collect(),
            shared: BTreeMap::new(),
        }
    }

    /// As [`Index::follow`], of a clone; nothing is known of one before.
    pub(super) fn follow_clone(&mut self, index: &PublishedIndex, fetched: Fetched, number: u64) {
        let mut clone = Index::new("clone", number);
        clone.follow(index, fetched, number);
        self.clone = Some(Box::new(clone));
    }

    /// Becomes a published state, whose segments were fetched. `number`: of a folder that was never used.
    pub(super) fn follow(&mut self, index: &PublishedIndex, (manifest, files): Fetched, number: u64) {
        let coming: Manifest = serde_json::from_slice(&manifest).expect("a manifest");
        let segments: BTreeMap<String, BTreeSet<u32>> = files
            .into_iter()
            .map(|(file, bytes)| {
                assert_eq!(crc32fast::hash(&bytes), file.checksum, "a damaged object");
                (file.name, serde_json::from_slice(&bytes).expect("a segment"))
            })
            .collect();
        let local = self.followed.get(&index.folder);
        let at = local.map_or(&index.folder, |(folder, _)| folder);
        let way = match (*at == self.folder).then(|| self.here()) {
            None => Way::Apart,
            Some(here) => {
                let present = here.present();
                let has_followed = |(_, followed): &(FolderName, PublishedManifest)| {
                    (followed.generation, followed.checksum) == (present.generation, checksum(present))
                };
                let way = Way::by_history(
                    &history(present),
                    &history(&coming),
                    *present == coming,
                    local.is_some_and(has_followed),
                );
                let named = here.named();
                let is_other = |(name, _, sum): &(String, u64, u32)| named.get(name).is_some_and(|used| used != sum);
                if coming.files.iter().any(is_other) { Way::Apart } else { way }
            }
        };
        match way {
            Way::Here => {}
            Way::On { .. } => {
                let there = self.folders.get_mut(&self.folder).expect("it is named");
                there.files.extend(segments);
                there.replace(coming.clone());
            }
            Way::Apart => self.fill(index, &coming, segments, number),
        }
        self.next_segment = coming.next_segment;
        self.followed.insert(index.folder.clone(), (self.folder.clone(), index.manifest.clone()));
    }

    /// Makes the state in a folder of its own, and gives that the name.
    fn fill(
        &mut self,
        index: &PublishedIndex,
        coming: &Manifest,
        segments: BTreeMap<String, BTreeSet<u32>>,
        number: u64,
    ) {
        let look = |folder: &FolderName| match self.folders.get(folder) {
            None => InFolder::Nothing,
            Some(there) if there.manifests.is_empty() && *folder != self.folder => InFolder::Files,
            Some(_) => InFolder::Index,
        };
        let chosen = folder_for(&index.folder, self.filling.get(&index.folder), look, || folder(number));
        self.filling.insert(index.folder.clone(), chosen.clone());
        let there = self.folders.entry(chosen.clone()).or_default();
        there.files.extend(segments);
        there.manifests.insert(coming.generation, coming.clone());
        self.folder = chosen;
    }

    /// A part of a state arrives, and no more of it.
    pub(super) fn begin_to_fill(&mut self, index: &PublishedIndex, number: u64) {
        if self.followed.contains_key(&index.folder) || index.folder == self.folder {
            return;
        }
        let look = |folder: &FolderName| match self.folders.get(folder) {
            None => InFolder::Nothing,
            Some(there) if there.manifests.is_empty() && *folder != self.folder => InFolder::Files,
            Some(_) => InFolder::Index,
        };
        let chosen = folder_for(&index.folder, self.filling.get(&index.folder), look, || folder(number));
        self.folders.entry(chosen.clone()).or_default();
        self.filling.insert(index.folder.clone(), chosen);
    }

    /// All that was published has a name, or a process starts: other folders go.
    pub(super) fn remove_unnamed(&mut self) {
        let named = self.folder.clone();
        self.folders.retain(|folder, _| *folder == named);
        self.filling.clear();
    }

    /// The server is the writer, and remembers nothing of what it has followed.
    pub(super) fn forget_following(&mut self) {
        self.followed.clear();
    }
}

/// A manifest, and the files that it names.
pub(super) type Fetched = (Vec<u8>, Vec<(NamedFile, Vec<u8>)>);

/// A task of this number under its uid.
pub(super) fn task_of(uid: u32, task: u32) -> NewTask {
    NewTask { uid: Some(uid), ..NewTask::for_index(task.to_string(), Content::Clear { mark: None }) }
}

/// The number of a task, and its uid.
pub(super) fn numbers(task: &NewTask) -> (u32, u32) {
    let number = task.index_uid.as_ref().and_then(|text| text.parse().ok());
    (task.uid.expect("a uid"), number.expect("a number"))
}
