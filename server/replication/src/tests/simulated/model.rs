//! A database as small as one can be: two indexes whose segments hold numbers of tasks. Which folder a state goes to, and which numbers come
//! next, the same functions say as for real indexes.

use std::collections::{BTreeMap, BTreeSet};

use lamina_base::stored_names::FolderName;
use lamina_engine::index::{NamedFile, Way, next_number};
use uuid::Uuid;

use super::before::Old;
use super::folder::{Folder, Manifest, Readable, content};
use super::world::World;
use crate::root::{PublishedIndex, PublishedManifest, Root};
use crate::staging::{InFolder, folder_for};
use crate::state::{Body, State};

/// An index of a server, on its disk, and now and then a clone of it.
#[derive(Clone)]
pub(super) struct Index {
    uid: &'static str,
    folder: FolderName,
    folders: BTreeMap<FolderName, Folder>,
    /// Folders that this process has begun to fill, by where the state is published.
    filling: BTreeMap<FolderName, FolderName>,
    /// Local folder of each published index, and the state in which it was followed.
    followed: BTreeMap<FolderName, (FolderName, PublishedManifest)>,
    /// An attempt to follow has failed, and nothing was followed before.
    is_left: bool,
    /// The least number that the process gives.
    first: u64,
    next_segment: u64,
    /// States that are kept beside the present one.
    keeps: usize,
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

/// Reports whether a task is about books.
pub(super) fn is_of_books(task: u32) -> bool {
    task % 3 == 2
}

impl Indexes {
    /// `number` gives numbers of folders that were never used.
    pub(super) fn new(mut number: impl FnMut() -> u64, keeps: usize) -> Indexes {
        let (films, books) = (Index::new("films", number(), keeps), Index::new("books", number(), keeps));
        Indexes { films, books, is_damaged: false }
    }

    pub(super) fn of(&mut self, task: u32) -> &mut Index {
        if is_of_books(task) { &mut self.books } else { &mut self.films }
    }

    /// The process is the writer of an epoch, whose first number this is.
    pub(super) fn number_from(&mut self, first: u64) {
        (self.films.first, self.books.first) = (first, first);
    }

    /// Number of those with files whose ids are above those of the present state.
    pub(super) fn with_files_above(&self) -> u64 {
        let is_above = |index: &&Index| index.here().next_segment() > index.here().present().next_id();
        [&self.films, &self.books].into_iter().filter(is_above).count() as u64
    }

    /// Checks what numbers mean.
    pub(super) fn check(&self, world: &World) {
        // Kept states stay, and are looked at later.
        let all = world.below(4) == 0;
        world.means(self.films.readable(all).chain(self.books.readable(all)));
    }

    /// Starts another process.
    pub(super) fn start(&mut self, world: &World) {
        self.films.start(world);
        self.books.start(world);
    }

    /// Removes what has no name: all that was published has one.
    pub(super) fn remove_unnamed(&mut self) {
        self.films.remove_unnamed();
        self.books.remove_unnamed();
    }

    fn of_published(&self, published: &PublishedIndex) -> Option<&Index> {
        match published.uid.as_str() {
            "clone" => self.films.clone.as_deref(),
            "books" => Some(&self.books),
            _ => Some(&self.films),
        }
    }

    /// Returns whether the index of this name is in the published state, and was followed to it.
    pub(super) fn shows(&self, published: &PublishedIndex) -> bool {
        self.of_published(published).is_some_and(|index| index.shows(published))
    }

    /// Returns what is to be fetched of a published state; parts of it arrive from now on, maybe no more of them.
    pub(super) fn begin(
        &mut self,
        index: &PublishedIndex,
        manifest: &[u8],
        number: u64,
        world: &World,
    ) -> Vec<NamedFile> {
        let coming: Manifest = serde_json::from_slice(manifest).expect("a manifest");
        match index.uid.as_str() {
            "books" if self.books.way_to(index, &coming, world) == Way::Apart => {
                drop(self.books.begin_to_fill(index, number, world));
            }
            _ => {}
        }
        match self.of_published(index) {
            Some(here) => here.missing(index, &coming, world),
            None => coming.named_files(),
        }
    }

    /// Brings an index to a published state, of which these files were fetched. `number`: of a folder that was never used.
    pub(super) fn follow(
        &mut self,
        index: &PublishedIndex,
        (manifest, files): (&[u8], Vec<(NamedFile, Vec<u8>)>),
        number: u64,
        world: &World,
    ) {
        let coming: Manifest = serde_json::from_slice(manifest).expect("a manifest");
        let segments = files.into_iter().map(|(file, bytes)| {
            assert_eq!(crc32fast::hash(&bytes), file.checksum, "a damaged object");
            (file.name, serde_json::from_slice(&bytes).expect("a segment"))
        });
        let (coming, keeps) = ((&coming, segments.collect()), self.films.keeps);
        match index.uid.as_str() {
            "clone" => {
                let clone = self.films.clone.get_or_insert_with(|| Box::new(Index::new("clone", number, keeps)));
                clone.follow(index, coming, number, world);
            }
            "books" => self.books.follow(index, coming, number, world),
            _ => self.films.follow(index, coming, number, world),
        }
    }

    /// Notes that an attempt to follow has failed.
    pub(super) fn leave(&mut self) {
        self.films.leave();
        self.books.leave();
    }

    /// Has readers come and go, which stay for long.
    pub(super) fn read(&mut self, world: &World) {
        let index = if world.below(2) == 0 { &mut self.films } else { &mut self.books };
        let here = index.here_mut();
        match world.below(4) {
            0 => here.begin_to_read(),
            1 => here.end_to_read(world.old, &mut world.counts.borrow_mut()),
            _ => {}
        }
    }
}

fn folder(number: u64) -> FolderName {
    FolderName::try_from(Uuid::from_u64_pair(7, number).to_string()).expect("a UUID is the name of a folder")
}

impl Index {
    pub(super) fn new(uid: &'static str, number: u64, keeps: usize) -> Index {
        let first = Manifest { generation: 0, contents: 0, ancestors: Vec::new(), next_segment: 0, files: Vec::new() };
        let mut of_first = Folder::default();
        of_first.place(first);
        Index {
            uid,
            folder: folder(number),
            folders: BTreeMap::from([(folder(number), of_first)]),
            filling: BTreeMap::new(),
            followed: BTreeMap::new(),
            is_left: false,
            first: 0,
            next_segment: 0,
            keeps,
            clone: None,
        }
    }

    fn here(&self) -> &Folder {
        &self.folders[&self.folder]
    }

    fn here_mut(&mut self) -> &mut Folder {
        self.folders.get_mut(&self.folder).expect("it is named")
    }

    /// Makes a clone in the place of the one before. `number`: of a folder that was never used.
    pub(super) fn make_clone(&mut self, number: u64) {
        let folders = BTreeMap::from([(folder(number), self.here().linked())]);
        let clone = Index { uid: "clone", folder: folder(number), folders, clone: None, ..self.clone() };
        self.clone = Some(Box::new(clone));
    }

    pub(super) fn remove_clone(&mut self) {
        self.clone = None;
    }

    pub(super) fn has(&self, task: u32) -> bool {
        self.here().tasks(self.here().present()).contains(&task)
    }

    /// Returns the states that can be read, the present one last; kept ones if they are wanted.
    pub(super) fn readable(&self, is_kept_wanted: bool) -> impl Iterator<Item = Readable> + '_ {
        let here = self.here();
        let of = |state: &Manifest| Readable {
            uid: self.uid,
            contents: state.contents,
            generation: state.generation,
            tasks: here.tasks(state),
        };
        here.kept.iter().filter(move |_| is_kept_wanted).chain([here.present()]).map(of)
    }

    /// Commits a task.
    pub(super) fn commit(&mut self, task: u32, world: &World) {
        let files = self.here().present().files.clone();
        self.add([task].into(), (files, true), world);
    }

    fn add(&mut self, tasks: BTreeSet<u32>, (mut files, is_changed): (Vec<(String, u64, u32)>, bool), world: &World) {
        let first_id = if world.has(Old::Ids) { 0 } else { self.first };
        let mut id = self.next_segment.max(first_id);
        if world.has(Old::Fetched) {
            // It does not come to that otherwise.
            id = id.max(self.here().next_segment());
        }
        self.next_segment = id + 1;
        let name = format!("seg-{id}");
        assert!(!self.here().has(&name), "File exists: `{name}`");
        files.push(self.here_mut().put(name, tasks));
        self.make_state(files, is_changed, world);
    }

    fn make_state(&mut self, files: Vec<(String, u64, u32)>, is_changed: bool, world: &World) {
        let first = if world.has(Old::Numbers) { 0 } else { self.first };
        let before = self.here().present();
        let generation = next_number(before.generation, first);
        let contents = if is_changed { generation } else { before.contents };
        let ancestors = before.history().ancestors_of(generation).to_vec();
        let (next_segment, keeps) = (self.next_segment, self.keeps);
        let new = Manifest { generation, contents, ancestors, next_segment, files };
        self.here_mut().replace(new, keeps, &mut world.counts.borrow_mut());
    }

    /// Joins all segments.
    pub(super) fn merge(&mut self, world: &World) {
        let present = self.here().present();
        if present.files.len() > 1 {
            let all = self.here().tasks(present);
            self.add(all, (Vec::new(), false), world);
        }
    }

    /// Deletes all, and brings all back if that is kept: what a user does who restores the state before. The files have the names that they had.
    pub(super) fn clear_and_restore(&mut self, world: &World) {
        let before = self.here().present().files.clone();
        if before.is_empty() || self.keeps == 0 {
            return;
        }
        for files in [Vec::new(), before] {
            self.make_state(files, true, world);
        }
    }

    /// Adds a file that says nothing, takes such files away, or brings them back from a state that is kept: files go and come back while others stay.
    pub(super) fn add_or_take_away(&mut self, world: &World) {
        let is_empty = |(_, bytes, _): &(String, u64, u32)| *bytes == content(&BTreeSet::new()).len() as u64;
        let present = self.here().present().files.clone();
        let (empty, mut others): (Vec<_>, Vec<_>) = present.into_iter().partition(is_empty);
        let kept = self.here().kept.iter().flat_map(|state| &state.files).find(|file| is_empty(file)).cloned();
        match (empty.is_empty(), kept) {
            (false, _) => self.make_state(others, true, world),
            (true, Some(file)) => {
                others.push(file);
                self.make_state(others, true, world);
            }
            (true, None) => self.add(BTreeSet::new(), (others, true), world),
        }
    }

    /// Returns the states of the index and of its clone, in the order in which they are put.
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
            (file, Body::Bytes(content(self.here().file(name))))
        });
        State {
            uid: self.uid.to_owned(),
            folder: self.folder.clone(),
            generation: present.generation,
            manifest: present.to_bytes(),
            files: files.collect(),
            shared: BTreeMap::new(),
        }
    }

    /// Becomes a published state, of which these segments were fetched. `number`: of a folder that was never used.
    fn follow(&mut self, index: &PublishedIndex, (coming, fetched): (&Manifest, Fetched), number: u64, world: &World) {
        match self.way_to(index, coming, world) {
            Way::Here => {}
            Way::On { .. } => {
                let keeps = self.keeps;
                let here = self.here_mut();
                for (name, tasks) in fetched {
                    here.put(name, tasks);
                }
                here.replace(coming.clone(), keeps, &mut world.counts.borrow_mut());
            }
            Way::Apart => {
                world.counts.borrow_mut().apart += 1;
                let chosen = self.begin_to_fill(index, number, world);
                let common = coming.named_files().into_iter().filter(|file| self.here().has_same(file));
                let linked: Vec<_> = common.map(|file| (self.here().file(&file.name).clone(), file.name)).collect();
                let there = self.folders.entry(chosen.clone()).or_default();
                for (name, tasks) in linked.into_iter().map(|(tasks, name)| (name, tasks)).chain(fetched) {
                    there.put(name, tasks);
                }
                there.place(coming.clone());
                self.folder = chosen;
            }
        }
        self.next_segment = match world.has(Old::Ids) {
            true => coming.next_id(),
            false => coming.next_segment,
        };
        self.is_left = false;
        self.followed.insert(index.folder.clone(), (self.folder.clone(), index.manifest.clone()));
    }

    /// Returns what is to be fetched of a published state.
    fn missing(&self, index: &PublishedIndex, coming: &Manifest, world: &World) -> Vec<NamedFile> {
        let (way, here) = (self.way_to(index, coming, world), self.here());
        let is_there = |file: &NamedFile| match &way {
            Way::Here => true,
            Way::On { in_use } => in_use.contains(file) || world.has(Old::Left) && here.has_same(file),
            Way::Apart => here.has_same(file),
        };
        coming.named_files().into_iter().filter(|file| !is_there(file)).collect()
    }

    fn way_to(&self, index: &PublishedIndex, coming: &Manifest, world: &World) -> Way {
        let local = self.followed.get(&index.folder);
        if *local.map_or(&index.folder, |(folder, _)| folder) != self.folder || world.has(Old::Folder) && self.is_left {
            return Way::Apart;
        }
        let (here, present) = (self.here(), self.here().present());
        let has_followed = |(_, followed): &(FolderName, PublishedManifest)| {
            (followed.generation, followed.checksum) == (present.generation, present.checksum())
        };
        let is_published = local.is_some_and(has_followed);
        let way = Way::by_history(&present.history(), &coming.history(), present == coming, is_published);
        let used = if world.has(Old::Fetched) { present.named_files() } else { here.used() };
        way.beside(used.iter(), coming.named_files().iter(), |_| false)
    }

    fn shows(&self, published: &PublishedIndex) -> bool {
        let present = self.here().present();
        let PublishedManifest { generation, checksum } = published.manifest;
        present.generation == generation
            && present.checksum() == checksum
            && self.followed.contains_key(&published.folder)
    }

    /// Returns the folder in which the state is made, which may be begun already.
    fn begin_to_fill(&mut self, index: &PublishedIndex, number: u64, world: &World) -> FolderName {
        if world.has(Old::Folder) && self.is_left {
            return index.folder.clone();
        }
        let look = |folder: &FolderName| {
            let there = self.folders.get(folder);
            InFolder::of(*folder == self.folder, there.is_some(), || there.is_some_and(Folder::has_state))
        };
        let chosen = folder_for(&index.folder, self.filling.get(&index.folder), look, || folder(number));
        self.folders.entry(chosen.clone()).or_default();
        self.filling.insert(index.folder.clone(), chosen.clone());
        chosen
    }

    fn leave(&mut self) {
        self.is_left = self.followed.is_empty();
    }

    /// Removes other folders: all that was published has a name, or a process starts.
    fn remove_unnamed(&mut self) {
        let named = self.folder.clone();
        self.folders.retain(|folder, _| *folder == named);
        self.filling.clear();
    }

    fn start(&mut self, world: &World) {
        self.remove_unnamed();
        self.here_mut().start();
        if !world.has(Old::Ids) {
            self.next_segment = self.here().present().next_segment.max(self.here().next_segment());
        }
    }

    /// The server is the writer, and remembers nothing of what it has followed.
    pub(super) fn forget_following(&mut self) {
        self.followed.clear();
    }
}

/// Segments by their names.
type Fetched = BTreeMap<String, BTreeSet<u32>>;
