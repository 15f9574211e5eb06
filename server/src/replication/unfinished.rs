//! What a replica has put on its disk for states that it does not have yet: the next attempt goes on with it, or removes it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lamina_engine::index::NamedFile;

use super::store::unfinished_path;
use crate::instance::Instance;
use crate::stored_names::FolderName;

/// Of a process; the next start removes what is left.
#[derive(Debug, Default)]
pub(super) struct Unfinished {
    /// Folders of indexes that have no names yet, by where those are published.
    folders: RefCell<BTreeMap<FolderName, FolderName>>,
    /// Files beside those of an index that is open, by its folder.
    files: RefCell<BTreeMap<FolderName, BTreeSet<PathBuf>>>,
}

impl Unfinished {
    /// The folder for an index that is published in `published`: that of the attempt before, or a new one.
    pub(super) fn folder(&self, published: &FolderName, instance: &Instance) -> FolderName {
        let is_free = |folder: &FolderName| instance.uid_of(folder).is_none();
        let mut folders = self.folders.borrow_mut();
        if let Some(before) = folders.get(published).filter(|before| is_free(before)) {
            return before.clone();
        }
        // Under the name that it has where it was published, so that it keeps its keys when this server takes over.
        let folder = if is_free(published) { published.clone() } else { FolderName::random() };
        folders.insert(published.clone(), folder.clone());
        folder
    }

    /// These files are about to arrive in the folder of an open index. Those that came before and are not among them are of no
    /// use any more.
    pub(super) fn expect(&self, folder: &FolderName, wanted: impl Iterator<Item = PathBuf>) {
        let wanted: BTreeSet<PathBuf> = wanted.collect();
        let before = self.files.borrow_mut().insert(folder.clone(), wanted.clone()).unwrap_or_default();
        for path in before.difference(&wanted) {
            // There or not, with its name or the one before.
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(unfinished_path(path));
        }
    }

    /// The index of this folder has taken its files.
    pub(super) fn arrived(&self, folder: &FolderName) {
        self.files.borrow_mut().remove(folder);
    }

    /// Nothing is shown from these folders any more. They go when all that was published has a name.
    pub(super) fn leave(&self, folders: Vec<FolderName>) {
        self.folders.borrow_mut().extend(folders.into_iter().map(|folder| (folder.clone(), folder)));
    }

    /// All that was published has a name now.
    pub(super) fn named(&self, instance: &Instance) {
        for folder in std::mem::take(&mut *self.folders.borrow_mut()).into_values() {
            if instance.uid_of(&folder).is_none() {
                instance.remove_index_folder(&folder);
            }
        }
    }
}

/// Links those of `files` that are in the folder of another history of the index: they are not fetched again, nor stored twice.
/// `have`: what that history has, under whose names there may be other files.
pub(super) fn link_common(files: &[NamedFile], (from, have): (&Path, &[NamedFile]), to: &Path) {
    let is_other = |file: &NamedFile| have.iter().any(|have| have.name == file.name && have != file);
    for file in files.iter().filter(|file| !is_other(file)) {
        // One that cannot be linked is fetched, and so is one that is not what it should be.
        let _ = fs::hard_link(from.join(&file.name), to.join(&file.name));
    }
}

/// Links a file that a clone has from its origin, if that is here.
pub(super) fn link_clone(name: &str, from: &Path, to: &Path) {
    // Otherwise it is fetched.
    let _ = fs::hard_link(from.join(name), to.join(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, checksum: u32) -> NamedFile {
        NamedFile { name: name.into(), bytes: 1, checksum }
    }

    #[test]
    fn files_that_are_wanted_no_more_are_removed() {
        let at = tempfile::tempdir().unwrap();
        let (unfinished, folder) = (Unfinished::default(), FolderName::random());
        let path = |name: &str| at.path().join(name);
        for name in ["a", "b.tmp", "c", "own"] {
            fs::write(path(name), "").unwrap();
        }
        let there = || ["a", "b.tmp", "c", "own"].map(|name| path(name).exists());
        unfinished.expect(&folder, ["a", "b", "c"].map(path).into_iter());
        assert_eq!(there(), [true; 4]);
        unfinished.expect(&FolderName::random(), std::iter::empty());
        unfinished.expect(&folder, ["c", "d"].map(path).into_iter());
        assert_eq!(there(), [false, false, true, true]);
        unfinished.arrived(&folder);
        unfinished.expect(&folder, std::iter::empty());
        assert_eq!(there(), [false, false, true, true]);
    }

    #[test]
    fn common_files_are_linked() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for name in ["common", "other", "arrived"] {
            fs::write(from.path().join(name), name).unwrap();
        }
        let files = [file("common", 1), file("other", 2), file("arrived", 3), file("missing", 4)];
        link_common(&files, (from.path(), &[file("common", 1), file("other", 7)]), to.path());
        let mut names: Vec<_> = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["arrived", "common"]);
    }
}
