//! What a replica has put on its disk for states that it does not have yet: the next attempt goes on with it, or removes it.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use lamina_base::stored_names::FolderName;
use lamina_data::instance::Instance;
use lamina_engine::index::{NamedFile, kept_state_count, newest_generation};

use super::store::staging_path;

/// Staging of a process; the next start removes what is left.
#[derive(Debug, Default)]
pub(super) struct Staging {
    /// Folders that this process has begun to fill, of indexes that have no names yet, by where those are published.
    folders: RefCell<BTreeMap<FolderName, FolderName>>,
    /// Folders from which nothing is shown any more.
    left: RefCell<BTreeSet<FolderName>>,
    /// Files beside those of an index that is open, by its folder.
    files: RefCell<BTreeMap<FolderName, BTreeSet<PathBuf>>>,
}

/// Content of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InFolder {
    /// There is no such folder.
    Nothing,
    /// Files, and no state that they make.
    Files,
    /// An index has the folder, or had it: whatever is in there belongs to a history.
    Index,
}

impl InFolder {
    /// Returns what is in a folder. `is_shown`: an index has it; `has_state`: whether there is a manifest in it, of a kept state as well.
    pub(super) fn of(is_shown: bool, exists: bool, has_state: impl FnOnce() -> bool) -> InFolder {
        match is_shown {
            false if !exists => InFolder::Nothing,
            false if !has_state() => InFolder::Files,
            _ => InFolder::Index,
        }
    }
}

/// The folder for a published state that has no place in what is here of its index, or of which nothing is here. `filling`: that which an
/// attempt before has put files into, if there was one; `new` gives a name that no folder ever had.
pub(super) fn folder_for(
    published: &FolderName,
    filling: Option<&FolderName>,
    look: impl Fn(&FolderName) -> InFolder,
    new: impl FnOnce() -> FolderName,
) -> FolderName {
    match filling.filter(|filling| look(filling) != InFolder::Index) {
        Some(filling) => filling.clone(),
        // Under the name that it has where it was published, so that it keeps its keys when this server takes over.
        None if look(published) == InFolder::Nothing => published.clone(),
        None => new(),
    }
}

impl Staging {
    /// The folder for an index that is published in `published`, see [`folder_for`]; and that of an attempt before, which may have files of
    /// it.
    pub(super) fn folder(&self, published: &FolderName, instance: &Instance) -> (FolderName, Option<FolderName>) {
        let look = |folder: &FolderName| {
            let path = instance.index_folder(folder);
            let has_state = || newest_generation(&path).is_some() || kept_state_count(&path) > 0;
            InFolder::of(instance.uid_of(folder).is_some(), path.exists(), has_state)
        };
        let mut folders = self.folders.borrow_mut();
        let before = folders.get(published).cloned();
        let folder = folder_for(published, before.as_ref(), look, FolderName::random);
        folders.insert(published.clone(), folder.clone());
        let before = before.filter(|before| *before != folder);
        self.left.borrow_mut().extend(before.clone());
        (folder, before)
    }

    /// Notes that these files are about to arrive in the folder of an open index, which does not have them in use. What came before and is
    /// not among them is of no use any more; nor is what is there and did not come: a reader that ends removes it.
    pub(super) fn expect(&self, folder: &FolderName, wanted: impl Iterator<Item = PathBuf>) {
        let wanted: BTreeSet<PathBuf> = wanted.collect();
        let before = self.files.borrow_mut().insert(folder.clone(), wanted.clone()).unwrap_or_default();
        for path in before.symmetric_difference(&wanted) {
            // There or not, with its name or the one before.
            let _ = fs::remove_file(path);
            let _ = fs::remove_file(staging_path(path));
        }
    }

    /// The index of this folder has taken its files.
    pub(super) fn arrived(&self, folder: &FolderName) {
        self.files.borrow_mut().remove(folder);
    }

    /// Nothing is shown from these folders any more. They go when all that was published has a name.
    pub(super) fn leave(&self, folders: Vec<FolderName>) {
        self.left.borrow_mut().extend(folders);
    }

    /// All that was published has a name now.
    pub(super) fn named(&self, instance: &Instance) {
        let folders = std::mem::take(&mut *self.folders.borrow_mut());
        for folder in folders.into_values().chain(std::mem::take(&mut *self.left.borrow_mut())) {
            if instance.uid_of(&folder).is_none() {
                instance.remove_index_folder(&folder);
            }
        }
    }
}

/// Links those of `files` whose names a folder has that may hold them: they are not fetched again, nor stored twice.
pub(super) fn link_common(files: &[NamedFile], from: &Path, to: &Path) {
    for file in files {
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
        let (unfinished, folder) = (Staging::default(), FolderName::random());
        let path = |name: &str| at.path().join(name);
        for name in ["a", "b.tmp", "c", "own"] {
            fs::write(path(name), "").unwrap();
        }
        let there = || ["a", "b.tmp", "c", "own"].map(|name| path(name).exists());
        // What is there and was not fetched is of a reader.
        unfinished.expect(&folder, ["a", "b", "c"].map(path).into_iter());
        assert_eq!(there(), [false, false, false, true]);
        for name in ["a", "b.tmp", "c"] {
            fs::write(path(name), "").unwrap();
        }
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
        link_common(&files, from.path(), to.path());
        let mut names: Vec<_> = fs::read_dir(to.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        // Whether it is the one that is wanted is seen by its checksum.
        assert_eq!(names, ["arrived", "common", "other"]);
    }

    #[test]
    fn a_folder_with_a_history_is_never_filled() {
        let [published, filling, new] = [(); 3].map(|()| FolderName::random());
        let choose = |of_published: InFolder, filling: Option<(&FolderName, InFolder)>| {
            let look = |folder: &FolderName| match filling {
                Some((filling, found)) if filling == folder => found,
                _ => of_published,
            };
            folder_for(&published, filling.map(|(filling, _)| filling), look, || new.clone())
        };
        assert_eq!(choose(InFolder::Nothing, None), published);
        assert_eq!(choose(InFolder::Index, None), new, "the history of a former writer");
        assert_eq!(choose(InFolder::Files, None), new, "of a process before");
        for found in [InFolder::Nothing, InFolder::Files] {
            assert_eq!(choose(InFolder::Index, Some((&filling, found))), filling);
        }
        // The attempt before got as far as to place a manifest, which may not be that of the newest root any more.
        assert_eq!(choose(InFolder::Index, Some((&filling, InFolder::Index))), new);
        assert_eq!(choose(InFolder::Index, Some((&published, InFolder::Index))), new);
    }
}
