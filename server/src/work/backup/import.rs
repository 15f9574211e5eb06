//! Starting from a copy: the database folder is filled before the server opens it.
//!
//! While a folder is being filled it holds a marker. A process that dies meanwhile leaves the marker behind, and what it
//! wrote is never taken for a database.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lamina_base::options::Options;
use lamina_data::instance::{InstanceError, check_version};
use lamina_engine::index::{IndexError, IndexOptions, leave_numbers_to_original};
use thiserror::Error;

use super::BackupError;
use super::copy::{copy_durably, is_lock, link_folder, sync_folder};
use super::dump::{self, DumpError};

const MARKER: &str = "import-unfinished";

/// Reason why the server does not start from a copy.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The database would be overwritten.
    #[error("database already exists at `{}`, try to delete it or rename it", .0.display())]
    DatabaseExists(PathBuf),
    /// Nothing to start from.
    #[error("dump doesn't exist at {:?}", .0.display().to_string())]
    DumpMissing(PathBuf),
    /// The dump cannot be read.
    #[error(transparent)]
    Dump(#[from] DumpError),
    /// Nothing to start from.
    #[error("snapshot doesn't exist at `{}`", .0.display())]
    SnapshotMissing(PathBuf),
    /// An earlier import did not end.
    #[error(
        "an import into `{}` was interrupted: start again with the same import option, or delete the folder",
        .0.display()
    )]
    Unfinished(PathBuf),
    /// Path that is not a snapshot.
    #[error("`{}` is not a snapshot: it has no `{missing}`", path.display())]
    NoSnapshot {
        /// Path that was given.
        path: PathBuf,
        /// Part that a snapshot must have.
        missing: &'static str,
    },
    /// Path in a snapshot that leads elsewhere.
    #[error("`{}` is neither a file nor a folder: a snapshot holds no links", .0.display())]
    NotPlain(PathBuf),
    /// Another version made the copy, or it is damaged.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// The file system says no.
    #[error("{path:?}: {source}")]
    Io {
        /// Path that was read or written.
        path: PathBuf,
        /// The error of the file system.
        source: io::Error,
    },
    /// Something cannot be copied.
    #[error("{0}")]
    Copy(String),
}

impl From<BackupError> for ImportError {
    fn from(error: BackupError) -> ImportError {
        match error {
            BackupError::Io { path, source } => ImportError::Io { path, source },
            other => ImportError::Copy(other.to_string()),
        }
    }
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> ImportError + '_ {
    move |source| ImportError::Io { path: path.to_owned(), source }
}

/// Fills the database folder from the copy that the options name, if they name one.
///
/// # Errors
/// The folder is as it was then, or empty when an import failed.
pub(crate) fn import(options: &Options, index_options: &IndexOptions) -> Result<(), ImportError> {
    let database = &options.service.db_path;
    let names_copy = options.backups.import_snapshot.is_some() || options.backups.import_dump.is_some();
    if database.join(MARKER).exists() {
        if !names_copy {
            return Err(ImportError::Unfinished(database.clone()));
        }
        tracing::warn!(path = %database.display(), "removing the leftovers of an interrupted import");
        clear(database)?;
    }
    let exists = holds_something(database)?;
    match (&options.backups.import_snapshot, &options.backups.import_dump) {
        (Some(snapshot), _) => match (exists, snapshot.exists()) {
            (false, true) if snapshot.is_file() => {
                fill(database, || restore_archive(snapshot, database, options.service.upgrades()))
            }
            (false, true) => fill(database, || restore_snapshot(snapshot, database, options.service.upgrades())),
            (true, _) if !options.backups.ignore_snapshot_if_db_exists => {
                Err(ImportError::DatabaseExists(database.clone()))
            }
            (_, false) if !options.backups.ignore_missing_snapshot => {
                Err(ImportError::SnapshotMissing(snapshot.clone()))
            }
            _ => Ok(()),
        },
        (None, Some(dump)) => match (exists, dump.exists()) {
            (false, true) => fill(database, || Ok(dump::restore(dump, database, index_options.clone())?)),
            (true, _) if !options.backups.ignore_dump_if_db_exists => {
                Err(ImportError::DatabaseExists(database.clone()))
            }
            (_, false) if !options.backups.ignore_missing_dump => Err(ImportError::DumpMissing(dump.clone())),
            _ => Ok(()),
        },
        (None, None) => Ok(()),
    }
}

/// Fills `database`, which must be absent or empty, from a snapshot: a folder or an archive. One of an older version is upgraded by the
/// next start.
///
/// # Errors
/// The folder is as it was then.
pub fn restore(snapshot: &Path, database: &Path) -> Result<(), ImportError> {
    if database.join(MARKER).exists() {
        clear(database)?;
    }
    if holds_something(database)? {
        return Err(ImportError::DatabaseExists(database.to_owned()));
    }
    if !snapshot.exists() {
        return Err(ImportError::SnapshotMissing(snapshot.to_owned()));
    }
    fill(database, || match snapshot.is_file() {
        true => restore_archive(snapshot, database, true),
        false => restore_snapshot(snapshot, database, true),
    })
}

/// Reports whether the folder exists and is not empty.
fn holds_something(folder: &Path) -> Result<bool, ImportError> {
    match fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_some()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(source) => Err(ImportError::Io { path: folder.to_owned(), source }),
    }
}

/// Runs `work` with the marker in the folder; an error leaves the folder empty.
fn fill(database: &Path, work: impl FnOnce() -> Result<(), ImportError>) -> Result<(), ImportError> {
    let existed = database.exists();
    fs::create_dir_all(database).map_err(io_error(database))?;
    let marker = database.join(MARKER);
    File::create(&marker).and_then(|file| file.sync_all()).map_err(io_error(&marker))?;
    sync_folder(database).map_err(io_error(database))?;
    let result = work().and_then(|()| {
        fs::remove_file(&marker).map_err(io_error(&marker))?;
        sync_folder(database).map_err(io_error(database))
    });
    if result.is_err() {
        let cleared = clear(database);
        // A folder that was there before, such as a mounted volume, stays.
        if let Err(error) = cleared.and_then(|()| match existed {
            true => Ok(()),
            false => fs::remove_dir(database).map_err(io_error(database)),
        }) {
            tracing::warn!(%error, "cannot remove the leftovers of a failed import");
        }
    }
    result
}

/// Removes everything in a folder, the marker last.
fn clear(folder: &Path) -> Result<(), ImportError> {
    let marker = folder.join(MARKER);
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let path = entry.map_err(io_error(folder))?.path();
        if path != marker {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(io_error(&path))?;
        }
    }
    if marker.exists() { fs::remove_file(&marker).map_err(io_error(&marker)) } else { Ok(()) }
}

/// A snapshot out of an object store: unpacked beside the files of the database, and then one like any other.
fn restore_archive(archive: &Path, database: &Path, may_upgrade: bool) -> Result<(), ImportError> {
    let unpacked = database.join("unpacked-snapshot");
    fs::create_dir(&unpacked).map_err(io_error(&unpacked))?;
    dump::unpack(archive, &unpacked).map_err(|error| ImportError::Copy(error.to_string()))?;
    // The database will hold links to these files.
    sync_files(&unpacked)?;
    restore_snapshot(&unpacked, database, may_upgrade)?;
    fs::remove_dir_all(&unpacked).map_err(io_error(&unpacked))
}

fn sync_files(folder: &Path) -> Result<(), ImportError> {
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let path = entry.map_err(io_error(folder))?.path();
        if path.is_dir() {
            sync_files(&path)?;
        } else {
            File::open(&path).and_then(|file| file.sync_all()).map_err(io_error(&path))?;
        }
    }
    Ok(())
}

/// Refuses a folder with anything but files and folders in it, at any depth.
fn check_plain(folder: &Path) -> Result<(), ImportError> {
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        let kind = entry.file_type().map_err(io_error(folder))?;
        if kind.is_dir() {
            check_plain(&entry.path())?;
        } else if !kind.is_file() {
            return Err(ImportError::NotPlain(entry.path()));
        }
    }
    Ok(())
}

/// Segments are shared with the snapshot by links; everything else is copied.
fn restore_snapshot(snapshot: &Path, database: &Path, may_upgrade: bool) -> Result<(), ImportError> {
    check_plain(snapshot)?;
    for missing in ["tasks.sqlite", "indexes"] {
        if !snapshot.join(missing).exists() {
            return Err(ImportError::NoSnapshot { path: snapshot.to_owned(), missing });
        }
    }
    check_version(snapshot, may_upgrade)?;
    for entry in fs::read_dir(snapshot).map_err(io_error(snapshot))? {
        let entry = entry.map_err(io_error(snapshot))?;
        let (from, to) = (entry.path(), database.join(entry.file_name()));
        if from.is_dir() {
            fs::create_dir(&to).map_err(io_error(&to))?;
            link_folder(&from, &to)?;
        } else if !is_lock(&from) {
            copy_durably(&from, &to).map_err(io_error(&from))?;
        }
    }
    own_numbers(&database.join("indexes"))?;
    sync_folder(database).map_err(io_error(database))
}

/// The database that the snapshot is of has gone on, or will: what it gives a number and what this one gives it are two things.
fn own_numbers(indexes: &Path) -> Result<(), ImportError> {
    for entry in fs::read_dir(indexes).map_err(io_error(indexes))? {
        let folder = entry.map_err(io_error(indexes))?.path();
        if !folder.is_dir() {
            continue;
        }
        match leave_numbers_to_original(&folder) {
            Err(IndexError::Io(source)) => return Err(ImportError::Io { path: folder, source }),
            Err(error) => tracing::warn!(path = %folder.display(), %error, "an index of the snapshot is damaged"),
            Ok(()) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_import_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("data");
        let fails = || {
            fs::write(database.join("file"), "x").unwrap();
            Err(ImportError::Copy("no".into()))
        };
        assert!(fill(&database, fails).is_err());
        assert!(!database.exists());
        fs::create_dir(&database).unwrap();
        assert!(fill(&database, fails).is_err());
        assert!(database.exists());
        assert!(!holds_something(&database).unwrap());
    }

    #[test]
    fn the_marker_is_there_while_it_lasts() {
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("data");
        fill(&database, || {
            assert!(database.join(MARKER).exists());
            Ok(())
        })
        .unwrap();
        assert!(!database.join(MARKER).exists());
    }

    #[test]
    fn links_in_a_snapshot_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (snapshot, database) = (folder.path().join("snapshot"), folder.path().join("data"));
        fs::write(folder.path().join("secret"), "x").unwrap();
        for name in ["VERSION", "notes", "indexes/a/seg-0000000000000001.lam", "payloads"] {
            fs::create_dir_all(snapshot.join("indexes/a")).unwrap();
            let link = snapshot.join(name);
            std::os::unix::fs::symlink(folder.path().join("secret"), &link).unwrap();
            let refused = restore_snapshot(&snapshot, &database, false);
            assert!(matches!(refused, Err(ImportError::NotPlain(path)) if path == link), "{name}");
            assert!(!database.exists());
            fs::remove_dir_all(&snapshot).unwrap();
        }
    }

    #[test]
    fn what_is_no_snapshot_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = restore_snapshot(folder.path(), &folder.path().join("data"), false).unwrap_err().to_string();
        assert!(error.ends_with("is not a snapshot: it has no `tasks.sqlite`"), "{error}");
    }
}
