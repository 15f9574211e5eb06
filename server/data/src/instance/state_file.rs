//! Small state of a server: a JSON file each, in the database folder, which is replaced whole.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lamina_base::error::ApiResult;
use parking_lot::{Mutex, RwLock};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::quarantine::put_aside;
use crate::durably::write_durably;

/// Reads the file `name` of the database in `folder`.
///
/// # Errors
/// The errors of the file system; `InvalidData` or `UnexpectedEof` when the content is damaged.
pub fn read_state<T: DeserializeOwned>(folder: &Path, name: &str) -> io::Result<T> {
    Ok(serde_json::from_slice(&fs::read(folder.join(name))?)?)
}

/// Reads like [`read_state`], or returns the default: such state is no reason not to start. A damaged file goes to the
/// quarantine, because the next change would overwrite it. `what` ends the message: what the file holds, and how the server
/// continues.
pub fn read_state_or_default<T: DeserializeOwned + Default>(folder: &Path, name: &str, what: &str) -> T {
    read_state(folder, name).unwrap_or_else(|error| {
        if error.kind() != io::ErrorKind::NotFound {
            let path = folder.join(name);
            tracing::error!(path = %path.display(), %error, "cannot read {what}");
            keep_unreadable(folder, &path, &error);
        }
        T::default()
    })
}

/// Replaces the file `name` of the database in `folder`; durable when this returns.
///
/// # Errors
/// The errors of the file system; the file is as before then.
pub fn write_state(folder: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    write_durably(&folder.join(name), &serde_json::to_string(value)?)
}

/// Moves a file aside that could not be read because of `error`, if that is about its content.
fn keep_unreadable(folder: &Path, path: &Path, error: &io::Error) {
    if !matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
        return;
    }
    match put_aside(folder, path) {
        Ok(aside) => tracing::warn!("{path:?} cannot be read: it is kept in {aside:?}"),
        Err(error) => tracing::error!(%error, "cannot move a damaged file aside"),
    }
}

/// A value that requests read and change, and the file that keeps it.
#[derive(Debug)]
pub struct StateFile<T> {
    folder: PathBuf,
    name: &'static str,
    live: RwLock<Arc<T>>,
    /// Held while the file is written, so that the file ends up with the last change.
    writing: Mutex<()>,
}

impl<T: Clone + Default + PartialEq + Serialize + DeserializeOwned> StateFile<T> {
    /// Opens the file `name` of the database in `folder` as [`read_state_or_default`] reads it.
    pub fn open(folder: &Path, name: &'static str, what: &str) -> StateFile<T> {
        StateFile::new(folder, name, read_state_or_default(folder, name, what))
    }

    /// Keeps `value`, and later changes of it, in the file `name`; writes nothing yet.
    pub fn new(folder: &Path, name: &'static str, value: T) -> StateFile<T> {
        StateFile { folder: folder.to_owned(), name, live: RwLock::new(Arc::new(value)), writing: Mutex::new(()) }
    }

    /// Returns the current value.
    pub fn get(&self) -> Arc<T> {
        Arc::clone(&self.live.read())
    }

    /// Changes the value, one caller after the other; blocks until the file is durable. Returns what `edit` returns.
    ///
    /// # Errors
    /// The errors of `edit` and of the file system; nothing changes then.
    pub fn change<R>(&self, edit: impl FnOnce(&mut T) -> ApiResult<R>) -> ApiResult<R> {
        let _one_at_a_time = self.writing.lock();
        let before = self.get();
        let mut value = T::clone(&before);
        let result = edit(&mut value)?;
        if value != *before {
            write_state(&self.folder, self.name, &value)?;
            *self.live.write() = Arc::new(value);
        }
        Ok(result)
    }

    /// Replaces the value; blocks until the file is durable.
    ///
    /// # Errors
    /// The errors of the file system; nothing changes then.
    pub fn replace(&self, value: T) -> ApiResult<()> {
        self.change(|live| {
            *live = value;
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use lamina_base::error::{ApiError, Code};

    use super::super::quarantine::aside;
    use super::*;

    type Names = StateFile<Vec<String>>;

    fn open(folder: &Path) -> Names {
        StateFile::open(folder, "names.json", "the names: there are none")
    }

    #[test]
    fn a_change_survives_and_a_refused_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let names = open(folder.path());
        names.replace(Vec::new()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing changed");
        let add = |name: &str, is_refused: bool| {
            names.change(|names| {
                names.push(name.to_owned());
                if is_refused { Err(ApiError::new(Code::BadRequest, "no")) } else { Ok(names.len()) }
            })
        };
        assert_eq!(add("a", false).unwrap(), 1);
        add("b", true).unwrap_err();
        for names in [&names, &open(folder.path())] {
            assert_eq!(*names.get(), ["a"]);
        }
        fs::remove_dir_all(folder.path()).unwrap();
        add("c", false).unwrap_err();
        assert_eq!(*names.get(), ["a"], "what is not durable is not there");
    }

    #[test]
    fn a_damaged_file_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        for (count, damaged) in [&b"["[..], b"", b"{}", &[0xFF]].into_iter().enumerate() {
            fs::write(folder.path().join("names.json"), damaged).unwrap();
            assert_eq!(*open(folder.path()).get(), Vec::<String>::new());
            assert_eq!(aside(folder.path()).len(), count + 1);
            assert!(read_state::<Vec<String>>(folder.path(), "names.json").is_err());
        }
        fs::create_dir(folder.path().join("names.json")).unwrap();
        open(folder.path());
        assert!(folder.path().join("names.json").exists(), "its content is not what is wrong");
    }
}
