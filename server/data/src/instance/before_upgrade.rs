//! `before-upgrade`: the files of a database as an older version left them, from its upgrade until the next start.
//!
//! Files that never change are links, which take no room until the database no longer needs them. Files that SQLite and the lock
//! change in place are copies. The folder is a database: the older version starts from it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::version::VERSION_FILE;
use crate::tasks::{Store, StoreError};

/// The folder in the database folder.
const FOLDER: &str = "before-upgrade";
/// The same while it is filled or removed.
const UNFINISHED: &str = "before-upgrade.tmp";
/// Files that are changed in place begin so.
const CHANGED: [&str; 2] = ["tasks.sqlite", "lock"];
/// Parts that a database can do without, or that are no part of it.
const LEFT_OUT: [&str; 10] = [
    FOLDER,
    UNFINISHED,
    "tasks.sqlite-shm",
    "crashed",
    "dumps",
    "embeddings",
    "models",
    "quarantine",
    "snapshots",
    "unpacked-snapshot",
];

/// Keeps the files of the database in `folder`, which is locked; the folder that has them. One that an upgrade of the same
/// version has left when it was cut short stays: the files may have changed since.
pub(super) fn keep(folder: &Path) -> io::Result<PathBuf> {
    let (kept, unfinished) = (folder.join(FOLDER), folder.join(UNFINISHED));
    let version = |folder: &Path| fs::read(folder.join(VERSION_FILE));
    if version(&kept).is_ok_and(|of_kept| version(folder).is_ok_and(|own| own == of_kept)) {
        return Ok(kept);
    }
    remove_all(&unfinished)?;
    fs::create_dir(&unfinished)?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if LEFT_OUT.contains(&&*name) {
            continue;
        }
        let target = unfinished.join(&*name);
        if CHANGED.iter().any(|changed| name.starts_with(changed)) {
            fs::copy(entry.path(), target)?;
        } else {
            link(&entry.path(), &target)?;
        }
    }
    sync_file_system(&unfinished)?;
    remove_all(&kept)?;
    fs::rename(&unfinished, &kept)?;
    File::open(folder)?.sync_all()?;
    Ok(kept)
}

/// Makes all files of a folder durable with one call, however many folders there are below it.
#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(folder)?)?)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> io::Result<()> {
    rustix::fs::sync();
    Ok(())
}

/// Links a file, or all files of a folder.
fn link(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::hard_link(from, to);
    }
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        link(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Removes the files that were kept, unless the upgrade has not succeeded: it is tried again at each start.
pub(super) fn forget(folder: &Path, store: &Store) -> Result<(), StoreError> {
    let (kept, unfinished) = (folder.join(FOLDER), folder.join(UNFINISHED));
    if !kept.exists() && !unfinished.exists() {
        return Ok(());
    }
    if let Some(uid) = store.unfinished_upgrade()? {
        tracing::warn!("{kept:?} stays until the upgrade, task {uid}, has succeeded");
        return Ok(());
    }
    // Half of it would look like a database.
    let removed = match fs::rename(&kept, &unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => remove_all(&unfinished),
    };
    if let Err(error) = removed {
        tracing::warn!(%error, "{kept:?} cannot be removed: the next start tries again");
    }
    Ok(())
}

fn remove_all(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    fn database() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("VERSION", "old"),
            ("lock", "marks"),
            ("tasks.sqlite", "tasks"),
            ("tasks.sqlite-wal", "log"),
            ("tasks.sqlite-shm", "memory"),
            ("network.json", "{}"),
            ("indexes/a/manifest-1.lam", "manifest"),
            ("embeddings/newer", "vectors"),
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    #[test]
    fn files_are_linked_unless_they_change_in_place() {
        let folder = database();
        let kept = keep(folder.path()).unwrap();
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        for (name, is_linked) in [
            ("VERSION", true),
            ("network.json", true),
            ("indexes/a/manifest-1.lam", true),
            ("lock", false),
            ("tasks.sqlite", false),
            ("tasks.sqlite-wal", false),
        ] {
            let (own, of_kept) = (folder.path().join(name), kept.join(name));
            assert_eq!(fs::read(&own).unwrap(), fs::read(&of_kept).unwrap(), "{name}");
            assert_eq!(inode(&own) == inode(&of_kept), is_linked, "{name}");
        }
        for name in ["tasks.sqlite-shm", "embeddings", FOLDER] {
            assert!(!kept.join(name).exists(), "{name}");
        }
    }

    #[test]
    fn an_upgrade_that_was_cut_short_keeps_what_was_before_it() {
        let folder = database();
        let kept = keep(folder.path()).unwrap();
        fs::write(folder.path().join("tasks.sqlite"), "changed").unwrap();
        keep(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(kept.join("tasks.sqlite")).unwrap(), "tasks");
        // The files of another version replace them, whatever a crash has left.
        fs::create_dir(folder.path().join(UNFINISHED)).unwrap();
        fs::remove_file(folder.path().join("VERSION")).unwrap();
        fs::write(folder.path().join("VERSION"), "newer").unwrap();
        keep(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(kept.join("tasks.sqlite")).unwrap(), "changed");
        assert!(!folder.path().join(UNFINISHED).exists());
    }
}
