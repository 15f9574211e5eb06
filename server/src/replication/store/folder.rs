//! A folder as a store: on one machine, or shared by a network file system whose hard links are atomic.

use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use uuid::Uuid;

use super::{Content, ObjectError};

pub(super) fn create(root: &Path, key: &str, content: Content<'_>) -> Result<(), ObjectError> {
    let path = root.join(key);
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(ObjectError::io(folder))?;
    // Complete under another name first: a link to it appears as a whole, and not where there is such a name.
    let unfinished = root.join(format!("unfinished-{}", Uuid::new_v4()));
    let created = write(&unfinished, content).and_then(|()| fs::hard_link(&unfinished, &path));
    let removed = fs::remove_file(&unfinished);
    match created {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Err(ObjectError::Exists(key.to_owned())),
        Err(source) => return Err(ObjectError::Io { path, source }),
    }
    removed.map_err(ObjectError::io(&unfinished))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(ObjectError::io(folder))
}

pub(super) fn put(root: &Path, key: &str, bytes: &[u8]) -> Result<(), ObjectError> {
    let path = root.join(key);
    let folder = path.parent().unwrap_or(root);
    fs::create_dir_all(folder).map_err(ObjectError::io(folder))?;
    let unfinished = root.join(format!("unfinished-{}", Uuid::new_v4()));
    write(&unfinished, Content::Bytes(bytes)).map_err(ObjectError::io(&unfinished))?;
    fs::rename(&unfinished, &path).map_err(ObjectError::io(&path))
}

fn write(path: &Path, content: Content<'_>) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    match content {
        Content::Bytes(bytes) => file.write_all(bytes)?,
        Content::File(source) => drop(io::copy(&mut File::open(source)?, &mut file)?),
    }
    file.sync_all()
}

pub(super) fn read(root: &Path, key: &str) -> Result<Vec<u8>, ObjectError> {
    let path = root.join(key);
    fs::read(&path).map_err(missing(key, path))
}

pub(super) fn read_piece(root: &Path, key: &str, range: Range<u64>, bytes: u64) -> Result<Bytes, ObjectError> {
    let path = root.join(key);
    let file = File::open(&path).map_err(missing(key, path.clone()))?;
    let damaged = || ObjectError::Damaged { key: key.to_owned(), reason: "it has another length" };
    if file.metadata().map_err(ObjectError::io(&path))?.len() != bytes {
        return Err(damaged());
    }
    let mut piece = vec![0; usize::try_from(range.end - range.start).map_err(|_| damaged())?];
    file.read_exact_at(&mut piece, range.start).map_err(ObjectError::io(&path))?;
    Ok(piece.into())
}

fn missing(key: &str, path: PathBuf) -> impl FnOnce(io::Error) -> ObjectError {
    move |source| match source.kind() {
        io::ErrorKind::NotFound => ObjectError::Missing(key.to_owned()),
        _ => ObjectError::Io { path, source },
    }
}

pub(super) fn list(root: &Path, folder: &str, after: &str) -> Result<Vec<String>, ObjectError> {
    let (mut keys, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let entries = match fs::read_dir(&path) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(source) => return Err(ObjectError::Io { path, source }),
        };
        for entry in entries {
            let entry = entry.map_err(ObjectError::io(&path))?;
            let Some(key) = entry.file_name().to_str().map(|name| format!("{folder}{name}")) else { continue };
            match entry.file_type().map_err(ObjectError::io(&path))?.is_dir() {
                true => folders.push(format!("{key}/")),
                false if key.as_str() > after => keys.push(key),
                false => {}
            }
        }
    }
    keys.sort_unstable();
    Ok(keys)
}

pub(super) fn remove(root: &Path, key: &str) -> Result<(), ObjectError> {
    let path = root.join(key);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(ObjectError::Io { path, source: error }),
        _ => Ok(()),
    }
}
