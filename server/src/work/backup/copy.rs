//! Copying folders of files, by links where the file system has them.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::BackupError;

/// Makes `target` another name of the write-once file `source`, or a durable copy where links do not reach.
pub(super) fn link_or_copy(source: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(source, target) {
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::CrossesDevices | io::ErrorKind::Unsupported | io::ErrorKind::PermissionDenied
            ) =>
        {
            copy_durably(source, target)
        }
        other => other,
    }
}

/// Copies a file that may change later.
pub(super) fn copy_durably(source: &Path, target: &Path) -> io::Result<()> {
    fs::copy(source, target)?;
    File::open(target)?.sync_all()
}

/// Makes the names in a folder durable.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Reports whether a file is a lock, which belongs to a process and not to the data.
pub(super) fn is_lock(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "lock")
}

/// Copies a folder of write-once files with everything below it into the existing, empty `target`.
pub(super) fn link_folder(source: &Path, target: &Path) -> Result<(), BackupError> {
    for entry in fs::read_dir(source).map_err(BackupError::io(source))? {
        let entry = entry.map_err(BackupError::io(source))?;
        let (from, to) = (entry.path(), target.join(entry.file_name()));
        let kind = entry.file_type().map_err(BackupError::io(&from))?;
        if kind.is_dir() {
            fs::create_dir(&to).map_err(BackupError::io(&to))?;
            link_folder(&from, &to)?;
        } else if kind.is_file() && !is_lock(&from) {
            link_or_copy(&from, &to).map_err(BackupError::io(&from))?;
        }
    }
    sync_folder(target).map_err(BackupError::io(target))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_linked_without_their_locks() {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("a"), folder.path().join("b"));
        fs::create_dir_all(source.join("inner")).unwrap();
        fs::create_dir(&target).unwrap();
        fs::write(source.join("inner/file"), "text").unwrap();
        fs::write(source.join("inner/lock"), "").unwrap();
        link_folder(&source, &target).unwrap();
        assert_eq!(fs::read_to_string(target.join("inner/file")).unwrap(), "text");
        assert!(!target.join("inner/lock").exists());
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(target.join("inner/file")).unwrap().nlink(), 2);
    }
}
