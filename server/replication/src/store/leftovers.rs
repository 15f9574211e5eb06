//! What processes that were killed have left in a folder: objects that never got their keys.

use std::fs;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime};

use super::folder::STAGED_PREFIX;
use super::{ObjectError, ObjectStore, Place};

/// A file that has not changed for so long is not written any more.
const OLD: Duration = Duration::from_secs(24 * 3600);

/// A file that has no key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub name: String,
    pub bytes: u64,
    /// True if the file has not changed for a day.
    pub(crate) is_old: bool,
}

impl ObjectStore {
    /// Returns what is there without a key, by name. A bucket shows no such thing.
    ///
    /// # Errors
    /// What the file system says.
    pub(crate) fn leftovers(&self) -> Result<Vec<Leftover>, ObjectError> {
        let Place::Folder(root) = &self.place else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for entry in fs::read_dir(root).map_err(ObjectError::io(root))? {
            let entry = entry.map_err(ObjectError::io(root))?;
            let Some(name) =
                entry.file_name().to_str().filter(|name| name.starts_with(STAGED_PREFIX)).map(str::to_owned)
            else {
                continue;
            };
            let metadata = match entry.metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                metadata => metadata.map_err(ObjectError::io(&entry.path()))?,
            };
            let age = metadata.modified().ok().and_then(|at| SystemTime::now().duration_since(at).ok());
            if metadata.is_file() {
                found.push(Leftover { name, bytes: metadata.len(), is_old: age.is_some_and(|age| age >= OLD) });
            }
        }
        found.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(found)
    }

    /// Removes what is old of it; how many files.
    ///
    /// # Errors
    /// What the file system says, or [`ObjectError::Gone`].
    pub(crate) fn remove_leftovers(&self) -> Result<usize, ObjectError> {
        let mut old = self.leftovers()?;
        old.retain(|leftover| leftover.is_old);
        old.iter().try_for_each(|leftover| self.remove(&leftover.name))?;
        Ok(old.len())
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use super::*;

    fn file(folder: &Path, name: &str, age: Duration) {
        fs::write(folder.join(name), name).unwrap();
        File::options().write(true).open(folder.join(name)).unwrap().set_modified(SystemTime::now() - age).unwrap();
    }

    #[test]
    fn only_old_files_without_a_key_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let store = ObjectStore::of_folder(folder.path());
        fs::create_dir(folder.path().join("root")).unwrap();
        file(folder.path(), "unfinished-a", OLD + Duration::from_secs(60));
        file(folder.path(), "unfinished-b", Duration::ZERO);
        file(folder.path(), "notes", OLD * 2);
        file(folder.path(), "root/unfinished-c", OLD * 2);
        let names =
            || store.leftovers().unwrap().into_iter().map(|found| (found.name, found.is_old)).collect::<Vec<_>>();
        assert_eq!(names(), [("unfinished-a".to_owned(), true), ("unfinished-b".to_owned(), false)]);
        assert_eq!(store.remove_leftovers().unwrap(), 1);
        assert_eq!(names(), [("unfinished-b".to_owned(), false)]);
        assert!(folder.path().join("notes").exists());
        assert!(folder.path().join("root/unfinished-c").exists());
    }
}
