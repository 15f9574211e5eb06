//! Files of the database folder other than its stores.

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use uuid::Uuid;

use super::before_upgrade;
use super::error::{InstanceError, io_error};
use super::quarantine::put_aside;
use super::strangers::check_ours;
use super::version::{Program, Written};
use crate::durably::write_durably;

/// Facts about a folder that an older version wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Older {
    /// Version of the program that wrote it.
    pub version: String,
    /// Folder with a copy of its files. `None` if there can be none.
    pub kept: Option<PathBuf>,
}

/// Creates the folders, takes the lock, checks the version. The lock ends when the file is closed, also by a crash. If an older
/// version wrote the folder, and it `may_upgrade`, its files are kept.
pub(super) fn prepare(
    folder: &Path,
    program: Program,
    may_upgrade: bool,
) -> Result<(File, Option<Older>), InstanceError> {
    check_ours(folder)?;
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    check_plain_database(folder)?;
    for path in [folder.join("indexes"), folder.join("payloads")] {
        fs::create_dir_all(&path).map_err(io_error(&path))?;
    }
    let path = folder.join("lock");
    let lock =
        File::options().create(true).truncate(false).read(true).write(true).open(&path).map_err(io_error(&path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(InstanceError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => return Err(InstanceError::Io { path, source }),
    }
    match program.check(folder, may_upgrade)? {
        Written::AsNow => Ok((lock, None)),
        Written::ByOlder(version) => {
            let kept = before_upgrade::keep(folder);
            if let Err(error) = &kept {
                tracing::warn!(%error, "cannot keep the files from before the upgrade: only a backup leads back");
            }
            Ok((lock, Some(Older { version, kept: kept.ok() })))
        }
        Written::Unknown(reason) => {
            if holds_database(folder) {
                tracing::warn!(
                    %reason,
                    "the file VERSION of the database cannot be used and is rewritten from the formats of the indexes"
                );
            }
            program.set_version(folder)?;
            Ok((lock, None))
        }
    }
}

/// Reports whether the folder holds, or held, a database: its queue, or the folder of an index.
pub fn holds_database(folder: &Path) -> bool {
    let has_indexes = || fs::read_dir(folder.join("indexes")).is_ok_and(|mut entries| entries.next().is_some());
    folder.join("tasks.sqlite").is_file() || has_indexes()
}

/// Below this name are models, which are only read; the tools that fetch them make links.
const MODELS: &str = "models";

/// Refuses links at the top of a database folder and in those below it whose files come and go by their names. An index is
/// looked at when it is opened.
fn check_plain_database(folder: &Path) -> Result<(), InstanceError> {
    check_plain(folder, &[MODELS])?;
    for below in ["indexes", "payloads", "embeddings"] {
        match check_plain(&folder.join(below), &[]) {
            Err(InstanceError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
            other => other?,
        }
    }
    Ok(())
}

/// Refuses a folder that holds anything but files and folders, other than `passed_over`; not what is in folders.
pub(super) fn check_plain(folder: &Path, passed_over: &[&str]) -> Result<(), InstanceError> {
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        let kind = entry.file_type().map_err(io_error(folder))?;
        if !kind.is_file() && !kind.is_dir() && !passed_over.iter().any(|name| entry.file_name() == *name) {
            return Err(InstanceError::NotPlain { path: entry.path() });
        }
    }
    Ok(())
}

/// Takes the lock of a folder that is only looked into, without making one.
///
/// # Errors
/// When another process uses it.
pub fn lock_to_look(folder: &Path) -> Result<Option<File>, InstanceError> {
    let path = folder.join("lock");
    let lock = match File::open(&path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(InstanceError::Io { path, source }),
    };
    match lock.try_lock() {
        Ok(()) => Ok(Some(lock)),
        Err(TryLockError::WouldBlock) => Err(InstanceError::InUse { folder: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(InstanceError::Io { path, source }),
    }
}

/// The uid of the database; a new one when there is none, or it cannot be read.
pub(super) fn instance_uid(folder: &Path) -> Result<Uuid, InstanceError> {
    let path = folder.join("instance-uid");
    match fs::read(&path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(uid) = Uuid::parse_str(text.trim()) {
                return Ok(uid);
            }
            let aside = put_aside(folder, &path)?;
            tracing::warn!("{path:?} did not hold a uid: the database gets a new one; the file is kept in {aside:?}");
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(InstanceError::Io { path, source }),
    }
    let uid = Uuid::new_v4();
    write_durably(&path, &uid.to_string()).map_err(io_error(&path))?;
    Ok(uid)
}

/// Gives a folder that is not in use yet the uid of the database that it becomes.
pub fn set_instance_uid(folder: &Path, uid: Uuid) -> Result<(), InstanceError> {
    let path = folder.join("instance-uid");
    write_durably(&path, &uid.to_string()).map_err(io_error(&path))
}

/// Bytes of files on the disk. One that several names lead to, as the files of clones, counts once.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskBytes {
    /// Bytes of files with a single name.
    single: u64,
    /// Bytes of the other files, by device and inode number.
    shared: HashMap<(u64, u64), u64>,
}

impl DiskBytes {
    pub(super) fn add(&mut self, other: &DiskBytes) {
        self.single += other.single;
        self.shared.extend(&other.shared);
    }

    pub(super) fn total(&self) -> u64 {
        self.single + self.shared.values().sum::<u64>()
    }
}

/// Bytes of all files below `folder`. What vanishes meanwhile counts nothing.
pub(super) fn disk_bytes(folder: &Path) -> DiskBytes {
    disk_bytes_with(folder, &disk_bytes)
}

/// Counts like [`disk_bytes`]; `of_folder` returns the bytes of a folder right below.
pub(super) fn disk_bytes_with(folder: &Path, of_folder: &dyn Fn(&Path) -> DiskBytes) -> DiskBytes {
    let mut bytes = DiskBytes::default();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes.add(&of_folder(&entry.path())),
            Ok(metadata) if metadata.nlink() > 1 => {
                bytes.shared.insert((metadata.dev(), metadata.ino()), metadata.len());
            }
            Ok(metadata) => bytes.single += metadata.len(),
            Err(_) => {}
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::version::{THIS, text_of};
    use super::*;

    #[test]
    fn a_file_with_several_names_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        for folder in [&one, &other] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("own"), "12").unwrap();
        }
        fs::write(one.join("file"), "12345").unwrap();
        assert_eq!(disk_bytes(folder.path()).total(), 9);
        fs::hard_link(one.join("file"), other.join("file")).unwrap();
        assert_eq!(disk_bytes(folder.path()).total(), 9);
        assert_eq!((disk_bytes(&one).total(), disk_bytes(&other).total()), (7, 7));
        assert_eq!(disk_bytes(&folder.path().join("none")).total(), 0);
    }

    #[test]
    fn the_folder_is_locked_while_in_use() {
        let folder = tempfile::tempdir().unwrap();
        let lock = prepare(folder.path(), THIS, false).unwrap();
        assert!(matches!(prepare(folder.path(), THIS, false), Err(InstanceError::InUse { .. })));
        drop(lock);
        prepare(folder.path(), THIS, false).unwrap();
    }

    #[test]
    fn links_lead_nowhere() {
        use std::os::unix::fs::symlink;
        let outside = tempfile::tempdir().unwrap();
        let kept = outside.path().join("kept");
        for name in ["indexes", "payloads", "VERSION", "tasks.sqlite", "instance-uid", "indexes/x", "payloads/x"] {
            fs::write(&kept, "x").unwrap();
            let folder = tempfile::tempdir().unwrap();
            let link = folder.path().join(name);
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(if link.ends_with("x") { &kept } else { outside.path() }, &link).unwrap();
            assert!(
                matches!(prepare(folder.path(), THIS, false), Err(InstanceError::NotPlain { path }) if path == link),
                "{name}"
            );
            assert!(kept.exists(), "{name}");
        }
        let folder = tempfile::tempdir().unwrap();
        symlink(outside.path(), folder.path().join(MODELS)).unwrap();
        prepare(folder.path(), THIS, false).unwrap();
    }

    #[test]
    fn the_uid_stays() {
        let folder = tempfile::tempdir().unwrap();
        let uid = instance_uid(folder.path()).unwrap();
        assert_eq!(instance_uid(folder.path()).unwrap(), uid);
        for damaged in [&b"x"[..], b"", &[0xFF; 36]] {
            fs::write(folder.path().join("instance-uid"), damaged).unwrap();
            let new = instance_uid(folder.path()).unwrap();
            assert_ne!(new, uid);
            assert_eq!(instance_uid(folder.path()).unwrap(), new, "from now on");
        }
        assert_eq!(fs::read_dir(folder.path().join("quarantine")).unwrap().count(), 3);
    }

    #[test]
    fn a_version_that_is_lost_or_damaged_is_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        drop(prepare(folder.path(), THIS, false).unwrap());
        let path = folder.path().join("VERSION");
        let whole = fs::read_to_string(&path).unwrap();
        assert!(whole.starts_with(super::super::VERSION));
        for text in [Some(""), Some("\u{0}\u{0}\u{0}"), Some(super::super::VERSION), None] {
            match text {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            let (lock, older) = prepare(folder.path(), THIS, false).unwrap();
            drop(lock);
            assert_eq!((older, fs::read_to_string(&path).unwrap()), (None, whole.clone()), "{text:?}");
        }
        let older = text_of("0.0.9", 1);
        fs::write(&path, &older).unwrap();
        assert_eq!(prepare(folder.path(), THIS, true).unwrap().1.map(|older| older.version), Some("0.0.9".to_owned()));
        assert_eq!(fs::read_to_string(&path).unwrap(), older, "until the task of the upgrade is stored");
    }

    /// The next program, whose format is not written yet.
    const NEXT: Program = Program { version: "999.1.0", format: THIS.format + 1 };

    #[test]
    fn the_next_format_opens_this_one_and_this_program_not_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let said = |program: Program, folder: &Path| prepare(folder, program, true).map_err(|error| error.to_string());
        drop(said(THIS, path).unwrap());
        fs::create_dir(path.join("indexes/a")).unwrap();
        fs::write(path.join("indexes/a/seg-1.lam"), "of this format").unwrap();

        let refused = prepare(path, NEXT, false).unwrap_err().to_string();
        assert!(
            refused.contains(&format!("written by version {}, this is version 999.1.0", THIS.version)),
            "{refused}"
        );
        assert!(!path.join("before-upgrade").exists(), "who refuses changes nothing");
        let (lock, older) = said(NEXT, path).unwrap();
        let older = older.unwrap();
        assert_eq!(older.version, THIS.version);
        // The machine stops before the task of the upgrade is stored: the next start begins again.
        drop(lock);
        let (lock, again) = said(NEXT, path).unwrap();
        assert_eq!(again.as_ref(), Some(&older));
        NEXT.set_version(path).unwrap();
        drop(lock);
        assert_eq!(said(NEXT, path).unwrap().1, None);

        let refused = said(THIS, path).unwrap_err();
        assert!(refused.contains("start version 999.1.0"), "{refused}");
        let kept = older.kept.unwrap();
        assert_eq!(fs::read_to_string(kept.join("indexes/a/seg-1.lam")).unwrap(), "of this format");
        assert_eq!(said(THIS, &kept).unwrap().1, None, "the way back");
    }

    #[test]
    fn an_upgrade_goes_on_where_nothing_can_be_kept() {
        let folder = tempfile::tempdir().unwrap();
        drop(prepare(folder.path(), THIS, false).unwrap());
        fs::write(folder.path().join("before-upgrade"), "a file in the way").unwrap();
        let (_lock, older) = prepare(folder.path(), NEXT, true).unwrap();
        assert_eq!(older, Some(Older { version: THIS.version.to_owned(), kept: None }));
    }
}
