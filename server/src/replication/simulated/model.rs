//! A database as small as one can be: two indexes whose segments hold numbers of tasks.

use std::collections::{BTreeMap, BTreeSet};

use lamina_engine::index::NamedFile;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::replication::root::{PublishedIndex, Root};
use crate::replication::state::{Body, State};
use crate::stored_names::FolderName;
use crate::tasks::{Content, NewTask};

/// What a manifest is here.
#[derive(Serialize, Deserialize)]
struct Manifest {
    generation: u64,
    /// Name, length, checksum.
    files: Vec<(String, u64, u32)>,
}

/// An index of a server, on its disk, and now and then a clone of it.
#[derive(Clone)]
pub(super) struct Index {
    uid: &'static str,
    folder: FolderName,
    generation: u64,
    next_segment: u64,
    /// Tasks by the name of the segment.
    segments: BTreeMap<String, BTreeSet<u32>>,
    clone: Option<Box<Index>>,
}

/// The indexes of a server.
pub(super) struct Indexes {
    pub(super) films: Index,
    pub(super) books: Index,
    /// The files of books cannot be sent.
    pub(super) is_damaged: bool,
}

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

impl Index {
    pub(super) fn new(uid: &'static str, number: u64) -> Index {
        Index { uid, folder: folder(number), generation: 0, next_segment: 0, segments: BTreeMap::new(), clone: None }
    }

    /// Makes a clone in the place of the one before. `number`: of a folder that was never used.
    pub(super) fn make_clone(&mut self, number: u64) {
        self.clone = Some(Box::new(Index { uid: "clone", folder: folder(number), clone: None, ..self.clone() }));
    }

    pub(super) fn remove_clone(&mut self) {
        self.clone = None;
    }

    pub(super) fn has(&self, task: u32) -> bool {
        self.segments.values().any(|segment| segment.contains(&task))
    }

    /// Commits a task.
    pub(super) fn commit(&mut self, task: u32) {
        self.add([task].into());
    }

    fn add(&mut self, tasks: BTreeSet<u32>) {
        self.segments.insert(format!("seg-{}", self.next_segment), tasks);
        self.next_segment += 1;
        self.generation += 1;
    }

    /// Joins all segments.
    pub(super) fn merge(&mut self) {
        if self.segments.len() > 1 {
            let all = std::mem::take(&mut self.segments).into_values().flatten().collect();
            self.add(all);
        }
    }

    /// Of the index, and of its clone, in the order in which they are put.
    pub(super) fn states(&self) -> Vec<State> {
        let clone = self.clone.iter().map(|clone| {
            let shared = clone.segments.keys().map(|name| (name.clone(), self.folder.clone())).collect();
            State { shared, ..clone.state() }
        });
        clone.chain([self.state()]).collect()
    }

    /// The index as the newest root names it, if it does.
    pub(super) fn published(&self, last: &Root) -> Option<PublishedIndex> {
        let of_folder = last.indexes.iter().find(|index| index.folder == self.folder);
        of_folder.or_else(|| last.indexes.iter().find(|index| index.uid == self.uid)).cloned()
    }

    fn state(&self) -> State {
        let file = |(name, tasks): (&String, &BTreeSet<u32>)| {
            let bytes = content(tasks);
            let file = NamedFile { name: name.clone(), bytes: bytes.len() as u64, checksum: crc32fast::hash(&bytes) };
            (file, Body::Bytes(bytes))
        };
        let files: Vec<(NamedFile, Body)> = self.segments.iter().map(file).collect();
        let named = files.iter().map(|(file, _)| (file.name.clone(), file.bytes, file.checksum)).collect();
        let manifest = Manifest { generation: self.generation, files: named };
        State {
            uid: self.uid.to_owned(),
            folder: self.folder.clone(),
            generation: self.generation,
            manifest: serde_json::to_vec(&manifest).expect("names and numbers are JSON"),
            files,
            shared: BTreeMap::new(),
        }
    }

    /// As [`Index::follow`], of a clone; nothing is known of one before.
    pub(super) fn follow_clone(&mut self, index: &PublishedIndex, files: Vec<(NamedFile, Vec<u8>)>, number: u64) {
        let mut clone = Index::new("clone", number);
        clone.follow(index, files, number);
        self.clone = Some(Box::new(clone));
    }

    /// Becomes a published state, whose segments were fetched. `number`: of a folder that was never used.
    pub(super) fn follow(&mut self, index: &PublishedIndex, files: Vec<(NamedFile, Vec<u8>)>, number: u64) {
        let mut segments = BTreeMap::new();
        for (file, bytes) in files {
            assert_eq!(crc32fast::hash(&bytes), file.checksum, "a damaged object");
            segments.insert(file.name, serde_json::from_slice(&bytes).expect("a segment"));
        }
        let is_other =
            |(name, tasks): (&String, &BTreeSet<u32>)| self.segments.get(name).is_some_and(|have| have != tasks);
        let has_parted = self.folder == index.folder
            && (segments.iter().any(is_other)
                || self.generation > index.manifest.generation
                || self.generation == index.manifest.generation && self.segments != segments);
        self.folder = if has_parted { folder(number) } else { index.folder.clone() };
        let number_of = |name: &String| name["seg-".len()..].parse::<u64>().expect("a number");
        self.next_segment = segments.keys().map(|name| number_of(name) + 1).max().unwrap_or(0);
        (self.generation, self.segments) = (index.manifest.generation, segments);
    }
}

/// A task of this number under its uid.
pub(super) fn task_of(uid: u32, task: u32) -> NewTask {
    NewTask { uid: Some(uid), ..NewTask::for_index(task.to_string(), Content::Clear) }
}

/// The number of a task, and its uid.
pub(super) fn numbers(task: &NewTask) -> (u32, u32) {
    let number = task.index_uid.as_ref().and_then(|text| text.parse().ok());
    (task.uid.expect("a uid"), number.expect("a number"))
}
