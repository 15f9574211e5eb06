//! What is damaged, or what nothing leads to, is put aside: nothing that may still be wanted is removed.
//!
//! `<db-path>/quarantine/<name>-<time>`; the folder is made when there is something to put into it, and emptied by people.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lamina_base::timestamp::stamp;
use time::OffsetDateTime;

use super::error::{InstanceError, io_error};

/// The folder in the database folder.
pub const QUARANTINE: &str = "quarantine";

/// Moves `path`, a file or a folder of the database in `folder`, aside; where it is then. Durable.
pub(super) fn put_aside(folder: &Path, path: &Path) -> Result<PathBuf, InstanceError> {
    let target = place(folder, path).map_err(io_error(path))?;
    fs::rename(path, &target).map_err(io_error(path))?;
    sync(path.parent()).and_then(|()| sync(target.parent())).map_err(io_error(&target))?;
    Ok(target)
}

/// Something in the quarantine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aside {
    pub name: String,
    pub files: u64,
    pub bytes: u64,
}

/// Returns what was put aside in the database in `folder`, by a start or a repair, by name.
pub fn aside(folder: &Path) -> Vec<Aside> {
    let entries = fs::read_dir(folder.join(QUARANTINE)).into_iter().flatten().flatten();
    let mut found: Vec<Aside> = entries
        .map(|entry| {
            let (files, bytes) = size(&entry.path());
            Aside { name: entry.file_name().to_string_lossy().into_owned(), files, bytes }
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// Files and bytes at `path` and below it.
fn size(path: &Path) -> (u64, u64) {
    let Ok(metadata) = path.symlink_metadata() else { return (0, 0) };
    if !metadata.is_dir() {
        return (1, metadata.len());
    }
    let below = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path()));
    below.fold((0, 0), |(files, bytes), (more, longer)| (files + more, bytes + longer))
}

/// Copies a file aside, which is about to be changed; where the copy is. Durable.
pub(super) fn copy_aside(folder: &Path, path: &Path) -> Result<PathBuf, InstanceError> {
    let target = place(folder, path).map_err(io_error(path))?;
    let copied = fs::copy(path, &target).and_then(|_| File::open(&target)?.sync_all());
    copied.and_then(|()| sync(target.parent())).map_err(io_error(path))?;
    Ok(target)
}

/// A free name for `path` in the quarantine, which is made when there is none.
fn place(folder: &Path, path: &Path) -> io::Result<PathBuf> {
    let quarantine = folder.join(QUARANTINE);
    fs::create_dir_all(&quarantine)?;
    sync(Some(folder))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let stamp = stamp(OffsetDateTime::now_utc());
    let names = std::iter::once(format!("{name}-{stamp}")).chain((2..).map(|n| format!("{name}-{stamp}-{n}")));
    Ok(names.map(|name| quarantine.join(name)).find(|place| !place.exists()).expect("some number is free"))
}

fn sync(folder: Option<&Path>) -> io::Result<()> {
    folder.map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_aside_keeps_its_content_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("payload");
        let mut places = Vec::new();
        for text in ["one", "two", "three"] {
            fs::write(&path, text).unwrap();
            places.push((put_aside(folder.path(), &path).unwrap(), text));
            assert!(!path.exists());
        }
        fs::write(&path, "four").unwrap();
        places.push((copy_aside(folder.path(), &path).unwrap(), "four"));
        assert!(path.exists());
        let all = aside(folder.path());
        assert!(all.iter().all(|aside| aside.files == 1), "{all:?}");
        assert!(all.iter().all(|aside| aside.name.starts_with("payload-")), "{all:?}");
        assert_eq!(all.iter().map(|aside| aside.bytes).collect::<Vec<_>>(), [3, 3, 5, 4]);
        for (place, text) in places {
            assert_eq!(fs::read_to_string(&place).unwrap(), text);
            assert_eq!(place.parent(), Some(&*folder.path().join(QUARANTINE)));
        }
    }
}
